"""The dumbbell of Fig. 1: a thousand hosts behind slow or fast access links, one core link of a few packets."""

from __future__ import annotations

import itertools
import math
import tomllib
from typing import Any

from paceline._statistics import Interval, interval
from paceline.papers import criteria
from paceline.papers.claim import Assumption
from paceline.results import Results
from paceline.scenario import Scenario

DUMBBELL = """\
title    = "Very small buffers behind slow and fast access links"
duration = "400 s"
warmup   = "100 s"
seed     = 1

[network]
template = "dumbbell"
counts   = "ns2"
core   = { rate = "200 Mbit/s", delay = "50 ms", buffer = "5 packets" }
access = { hosts = 1000, rate = "10 Mbit/s", delay = "0.5 ms .. 12.5 ms" }

[[traffic]]
name  = "bulk"
kind  = "bulk"
start = "0 s .. 10 s"

[traffic.tcp]
variant    = "reno"
profile    = "ns2"
payload    = "1000 B"
header     = "40 B"                # ns-2 adds them to a data packet; an acknowledgement has no more
ack        = "40 B"
max_window = "1000 packets"        # never reached: a fair window is three packets

[pacing]
method = "none"
"""

#: Rates of access links by the paper's mix: its three curves.
SLOW, FAST = "10 Mbit/s", "1 Gbit/s"
MIXES = ("slow", "half", "fast")
FLOWS = 1000
BUFFER = "network.core.buffer"
UTILISATION, GOODPUT = "links.core.utilisation", "flows.goodput_mean_bps"
#: The throughput that the buffer is to give, of the core's rate.
TARGET = 0.9

ASSUMPTIONS = (
    Assumption(
        "How the round trip is divided: access links of 1 to 25 ms and a core of 50 ms are said to give 102 to 150 ms.",
        "Each of a flow's two access links has half of it, 0.5 to 12.5 ms.",
        "2 (50 + 1) = 102 and 2 (50 + 25) = 150: the 1 to 25 ms belong to both access links together. The sum of two "
        "draws lies more often in its middle; why-round-trip has 1 to 25 ms on each.",
    ),
    Assumption(
        "How large a data packet is on the wire: the paper says 1000 bytes.",
        "1000 bytes of payload and ns-2's header of 40.",
        "ns-2's TCP adds 40 bytes to packetSize_; without them throughput at 5 packets moves by half a percent.",
    ),
    Assumption(
        "How a buffer of n packets counts.",
        "ns-2's drop-tail queue: n - 1 wait, beside the one on the wire.",
        "The paper ran ns-2. Our runs agree with ns-2 2.35 in this very set-up within 0.2 %; see docs/fidelity.md.",
    ),
    Assumption(
        "What throughput is: 'end-to-end', in percent of the core's rate.",
        "What leaves the core link, in bits on the wire.",
        "Only so do its own 90 % at 5, 10 and 15 packets come about: payload delivered once is at most 96 % of the "
        "link, and 83 % at 5 packets.",
    ),
)


def dumbbell(mix: str) -> Scenario:
    """Section II: 1000 long Reno flows behind `mix` of access links, unpaced."""
    return shared({"slow": 0.0, "half": 0.5, "fast": 1.0}[mix])


def shared(fast: float) -> Scenario:
    """The same, where this share of the access links is fast: 0 to 1."""
    scenario = Scenario(tomllib.loads(DUMBBELL))
    access = scenario.to_dict()["network"]["access"]
    hosts = round(FLOWS * fast)
    if hosts == FLOWS:
        return scenario.set("network.access", access | {"rate": FAST})
    if hosts == 0:
        return scenario
    groups: list[dict[str, Any]] = [
        access | {"name": name, "hosts": count, "rate": rate}
        for name, count, rate in (("slow", FLOWS - hosts, SLOW), ("fast", hosts, FAST))
    ]
    return scenario.set("network.access", groups)


def at(results: Results, packets: int) -> Results:
    """The runs of one buffer."""
    return results.where({BUFFER: label(packets)})


def label(packets: int) -> str:
    """A buffer as scenarios write it."""
    return f"{packets} packets"


def sizes(results: Results) -> list[int]:
    """The buffers that were run, packets."""
    return sorted({int(run.settings[BUFFER].split()[0]) for run in results})


def buffer_for(results: Results, target: float = TARGET) -> Interval | None:
    """The smallest buffer, in whole packets, that gives `target` of the core, seed by seed.

    Between the buffers that were run throughput goes by straight lines. ``None`` where a seed stays below `target`, or
    is above it from the first.
    """
    found = crossings(results, target).values()
    return interval(math.ceil(one) for one in found if one is not None) if None not in found else None


def crossings(results: Results, target: float = TARGET) -> dict[int, float | None]:
    """Where each seed's straight lines cross `target`, packets; ``None`` as in `buffer_for`."""
    return {seed: _crossing(curve, target) for seed, curve in _curves(results).items()}


def crossing(results: Results, target: float = TARGET) -> float | None:
    """Where the straight lines through the mean throughputs cross `target`, packets; ``None`` as in `buffer_for`."""
    curve = [(size, criteria.mean(at(results, size), UTILISATION).mean) for size in sizes(results)]
    return _crossing(curve, target)


def _curves(results: Results) -> dict[int, list[tuple[int, float]]]:
    """Throughput by buffer, a curve a seed."""
    curves: dict[int, list[tuple[int, float]]] = {}
    for packets in sizes(results):
        for seed, value in criteria.by_seed(at(results, packets), UTILISATION).items():
            curves.setdefault(seed, []).append((packets, value))
    return curves


def _crossing(curve: list[tuple[int, float]], target: float) -> float | None:
    for (left, low), (right, high) in itertools.pairwise(curve):
        if low < target <= high:
            return left + (right - left) * (target - low) / (high - low)
    return None
