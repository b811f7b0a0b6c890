"""The emulator's link of CS244: its queue against Linux's own rule, packet by packet, and against the simulator's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import paceline as pl
import pytest
import synthetic
from numpy.typing import NDArray
from paceline.papers import Length, select
from paceline.papers.cs244 import netem

(CLAIM,) = select(["cs244-netem"])
SERVICE = netem.PACKET * 8 / netem.RATE


def served(times: NDArray[np.float64]) -> netem.Arrivals:
    """Arrivals at an endless queue."""
    ends, last = [], 0.0
    for time in times:
        last = max(last, time) + SERVICE
        ends.append(last)
    return netem.Arrivals(times, np.array(ends))


def enqueue(times: NDArray[np.float64], limit: int, delay: float) -> float:
    """Linux's netem_enqueue with a rate and a delay: dropped where the queue's length has reached the limit.

    A packet is due after its delay, counted from now, and then takes its time on the wire behind the one before
    (net/sched/sch_netem.c: ``delay -= last - now``, ``now = last``, ``delay += packet_time``); it is in the queue
    until then. Returns the time of the first drop.
    """
    queue: list[float] = []
    for time in times:
        queue = [due for due in queue if due > time]
        if len(queue) >= limit:
            return float(time)
        now, wait = time, delay
        if queue:
            wait = max(wait - (queue[-1] - now), 0.0)
            now = queue[-1]
        queue.append(now + wait + SERVICE)
    return float(times[-1])


@pytest.mark.parametrize("seed", range(20))
def test_the_first_drop_is_that_of_linuxs_netem(seed: int) -> None:
    draw = np.random.default_rng(seed)
    bursts = np.cumsum(draw.exponential(0.02, 60))
    times = np.sort((bursts[:, None] + np.arange(40) * SERVICE / draw.uniform(1.5, 6)).ravel())
    delay, limit = float(draw.uniform(0.001, 0.03)), int(draw.integers(20, 250))
    assert netem.first_refused(served(times), limit, delay) == enqueue(times, limit, delay)


def test_the_first_drop_of_a_plain_queue_is_the_simulators() -> None:
    endless = CLAIM.sweeps(Length(quick=True))["original"].set("pacing", "none").seeds([1])
    result = pl.run(endless)
    run = result if isinstance(result, pl.Result) else next(iter(result))
    lost = netem.first_refused(netem.arrivals(run), netem.B_OLD, None)
    limited = endless.set("network.core.buffer", f"{netem.B_OLD} packets").set("probes", {})
    for until, some in ((lost - 1e-4, False), (lost + 1e-4, True)):
        found = pl.run(limited.set("duration", f"{until:.6f} s"))
        one = found if isinstance(found, pl.Result) else next(iter(found))
        assert bool(one.links["core"].dropped_packets) == some


def test_the_formula_leaves_as_many_places_whatever_the_delay() -> None:
    for delay in (0.0, 0.005, 0.02, 0.1):
        assert abs(netem.places(delay) - (netem.B_OLD - 1)) <= 1  # netem counts the packet on the wire too


def burst(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
    """A burst that netem with B_new takes and a plain queue does not, or paced packets that all find the link idle."""
    gap = SERVICE * (2 if settings["pacing"] != "none" else 0.25)
    times = 0.1 + np.arange(700) * gap
    ends = served(times).ends
    came = (times - netem.BEFORE_DELAY - netem.PACKET * netem.BEFORE_BYTE_S) * 1e9
    went = (ends - SERVICE) * 1e9
    return {
        "series": {
            "link": [netem.BEFORE] * len(times) + ["core"] * len(times),
            "time_ns": np.concatenate([came, went]),
            "bytes": np.full(2 * len(times), netem.PACKET),
        }
    }


def test_a_burst_is_lost_later_over_the_enlarged_queue() -> None:
    runs = synthetic.runs(CLAIM, burst)
    verdict = CLAIM.check(runs)
    assert verdict.verdict == "reproduced"
    assert all(value < 0 for name, value in verdict.ours.items() if "B_old" in name)
    assert len(CLAIM.draw(runs)) == 1


def test_without_bursts_it_is_lost_no_later() -> None:
    def smooth(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        return burst({"pacing": "host ideal"}, seed)

    assert CLAIM.check(synthetic.runs(CLAIM, smooth)).verdict == "partly"
