"""What the page offers to choose, from the core's lists: pacers with their sliders, queue disciplines, TCPs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from paceline import _core

#: What acts in hosts, which the core's list of link pacers does not have: meaning, and parameters with what they are.
_IN_HOSTS: dict[str, tuple[str, dict[str, str]]] = {
    "host": ("each TCP sender spreads its window over the round trip", {"gain": "number"}),
    "port": ("one gap for all flows of a host, beside their own pacing", {"gain": "number"}),
}
#: Sliders of parameters: least, most, and what a method begins with; a parameter that is not here keeps its default.
_SLIDERS: dict[str, tuple[float, float, str | float]] = {
    "edge.delay": (0.1e-3, 0.1, "10 ms"),
    "qlbp.load": (0.05, 1.0, 0.5),
    "qlbp.max_delay": (0.1e-3, 0.1, "10 ms"),
    "token-bucket.rate": (1e6, 1e9, "10 Mbit/s"),
    "token-bucket.burst": (1500.0, 1e6, "15 KB"),
    "host.gain": (0.5, 3.0, 1.0),
    "port.gain": (0.5, 3.0, 1.0),
}
_KINDS = {"time": "time", "rate": "rate", "bytes": "size", "number": "number"}


def choices() -> dict[str, Any]:
    """Pacers by method, queue disciplines, TCP variants and profiles."""
    options = {one["option"]: one for one in json.loads(_core.tcp_options())[0]["options"]}
    return {
        "pacers": {name: {"meaning": meaning, "knobs": knobs} for name, meaning, knobs in _pacers()},
        "queues": [{"name": name, "meaning": meaning} for name, meaning in _named(_core.queues())],
        "variants": re.findall(r'"([^"]+)"', options["variant"]["meaning"].partition(", or ")[0]),
        "profiles": [one["profile"] for one in json.loads(_core.tcp_options())],
    }


def _pacers() -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    rows = list(_rows(_core.pacers()))
    for name, meaning in _named(_core.pacers()):
        own = _parameters(name, rows)
        yield name, meaning, [knob for key, kind in own.items() if (knob := _knob(name, key, kind))]
        if name == "none":
            for method, (words, kinds) in _IN_HOSTS.items():
                yield method, words, [knob for key, kind in kinds.items() if (knob := _knob(method, key, kind))]


def _knob(method: str, key: str, unit: str) -> dict[str, Any] | None:
    slider = _SLIDERS.get(f"{method}.{key}")
    if slider is None:
        return None
    kind = _KINDS[unit.split(" ")[0]]
    return {"key": key, "kind": kind, "least": slider[0], "most": slider[1], "begin": slider[2]}


def _rows(table: str) -> Iterator[list[str]]:
    """Cells of a Markdown table, its head aside."""
    for line in table.strip().splitlines()[2:]:
        yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def _named(table: str) -> Iterator[tuple[str, str]]:
    """Names in the first column, with what they are."""
    for row in _rows(table):
        if row[0]:
            yield row[0].strip("`"), row[2]


def _parameters(method: str, rows: list[list[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    at = ""
    for row in rows:
        at = row[0].strip("`") or at
        if at == method and row[1]:
            found[row[1].strip("`")] = row[3]
    return found
