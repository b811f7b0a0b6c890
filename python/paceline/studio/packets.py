"""Packets to look at: a window of the events of both worlds, as columns that the page animates.

They are those that `paceline run --trace` writes, of the same scenario and seed: watching changes nothing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from paceline.errors import InputError
from paceline.runs.trace import COLUMNS, EVENTS, KINDS
from paceline.studio.refinement import Work
from paceline.studio.worlds import World

#: Events of one world that the page gets at most.
MOST_EVENTS = 30_000
#: A window begins no later than where so much of the run has been traced, s of processor time.
LATEST_S = 0.25
#: Tracing takes so many times as long as running.
TRACED = 8.0
_SENT = ("event", "place", "flow", "kind", "seq", "bytes")


class _WindowFullError(Exception):
    """The window is full."""


class Window:
    """Takes chunks of events from the core, and keeps those from `from_ns` on, so many at most."""

    def __init__(self, from_ns: int, most: int = MOST_EVENTS) -> None:
        self.places: list[str] = []
        self.whole = True
        self._from_ns = from_ns
        self._left = most
        self._kept: dict[str, list[Any]] = {name: [] for name in COLUMNS if name != "cwnd"}

    def __call__(self, chunk: Mapping[str, Any]) -> None:
        if "places" in chunk:
            self.places = list(chunk["places"])
        times = np.asarray(chunk["time_ns"])
        begin = int(np.searchsorted(times, self._from_ns))
        end = min(len(times), begin + self._left)
        for name, parts in self._kept.items():
            parts.append(np.asarray(chunk[name])[begin:end].copy())
        self._left -= end - begin
        if end < len(times):
            self.whole = False
            raise _WindowFullError

    def columns(self) -> dict[str, Any]:
        """What was kept."""
        return {name: np.concatenate(parts) if parts else np.array([]) for name, parts in self._kept.items()}


def start_of(world: World, work: Work, asked_s: float | None) -> float:
    """Where the window begins, s: as asked; else the warm-up's end, or earlier where a trace would take long."""
    duration_s = float(world.seen["duration_s"])
    if asked_s is not None:
        if not 0 <= asked_s < duration_s:
            raise InputError(
                f"{asked_s} s is not within the run; write 0 to {duration_s:g} s, its end left out", "from_s"
            )
        return asked_s
    expected_s = work.expected_s(world.json()) * TRACED
    return float(min(world.seen["warmup_s"], duration_s / 2, duration_s * LATEST_S / max(expected_s, LATEST_S)))


def traced(world: World, work: Work, from_s: float) -> str:
    """The events of one world from `from_s` on, JSON, on the thread that calls. Raises as `Work.simulate` does.

    They begin a round trip before, at `from_ns`, since when times are counted in ns: what is under way at `from_s`,
    which is `begin_ns`, is to be seen too. `until_ns` is the time up to which events are whole.
    """
    begin_ns = round(from_s * 1e9)
    from_ns = max(0, begin_ns - round(world.network["rtt_max_s"] * 1e9))
    window = Window(from_ns)
    with contextlib.suppress(_WindowFullError):
        work.simulate(world.json(), world.seed, window)
    columns = window.columns()
    times = columns["time_ns"].astype(np.int64) - from_ns
    end_ns = int(world.seen["duration_s"] * 1e9) - from_ns
    until_ns = end_ns if window.whole else int(times[-1]) if len(times) else 0
    facts = {
        "world": world.name,
        "from_ns": from_ns,
        "begin_ns": min(begin_ns - from_ns, until_ns // 3),
        "until_ns": until_ns,
        "events": EVENTS,
        "kinds": KINDS,
        "places": window.places,
        "links": links_of(world),
    }
    parts = [json.dumps(facts)[:-1]]
    for name, column in {"time_ns": times, **{name: columns[name] for name in _SENT}}.items():
        work.check()
        parts.append(f'"{name}": {json.dumps(column.tolist())}')  # milliseconds in which no other thread gets on
    return ", ".join(parts) + "}"


def links_of(world: World) -> dict[str, dict[str, Any]]:
    """Of each link: rate, delay, how many packets may wait at it (`None` for no limit), whether a pacer is there."""
    sizes = [flow["packet_bytes"] for flow in world.seen["flows"]]
    packet = max(sizes, default=1500)
    found = {}
    for link in world.seen["links"]:
        buffer = link["buffer"]
        places = buffer["packets"]
        if places is None and buffer["bytes"] is not None:
            places = max(0, buffer["bytes"] // packet)
        found[link["name"]] = {
            "rate_bps": link["rate_bps"],
            "delay_ns": link["delay_ns"],
            "places": places,
            "paced": link["pacer"] is not None and world.name == "paced",
        }
    return found
