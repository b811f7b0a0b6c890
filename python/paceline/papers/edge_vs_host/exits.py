"""Traffic through one pacer, packet by packet: what reached it, and when it let each go."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paceline._statistics import Interval, interval
from paceline.results import Result, Results
from paceline.scenario import Scenario
from paceline.theory import exit_curves

#: Packets reach the pacer over a link so fast that none waits for it, and come to it so much later, ns.
FAST, IN_NS = "100 Gbit/s", 1_000_000
IN, PACED = "in", "paced"
#: The mean rate, Mbit/s, in packets of 1000 B, but for TCP.
MEAN, PACKET_BITS = 10.0, 8000.0
#: What comes.
TRAFFIC: Mapping[str, Mapping[str, Any]] = {
    "Poisson packets": {"kind": "poisson", "packet": "1000 B", "rate": f"{MEAN:g} Mbit/s"},
    "ON-OFF": {
        "kind": "on-off",
        "packet": "1000 B",
        "rate": "50 Mbit/s",
        "on": {"exponential": "10 ms"},
        "off": {"exponential": "40 ms"},
    },
    "bursts": {"kind": "on-off", "packet": "1000 B", "rate": "10 Gbit/s", "on": "100 us", "off": "99900 us"},
    "TCP": {"kind": "bulk", "count": 20, "start": "0 s .. 1 s", "tcp": {"variant": "newreno", "profile": "ns2"}},
}


class Exits(NamedTuple):
    """Of one run.

    Attributes:
        arrivals: of each packet at the pacer, s.
        releases: when it let it go, s.
        sizes: bytes.
        window: s; what happens before or after does not count.
    """

    arrivals: NDArray[np.float64]
    releases: NDArray[np.float64]
    sizes: NDArray[np.float64]
    window: tuple[float, float]


def scenario(traffic: str, duration: str, core: str = f"{MEAN:g} Mbit/s") -> Scenario:
    """This traffic into one pacer; TCP goes on to a bottleneck of that rate, other traffic to none."""
    last: dict[str, Any] = {"name": "core", "rate": FAST, "delay": "20 ms"}
    if traffic == "TCP":
        last |= {"rate": core, "buffer": "20 packets"}
    document: dict[str, Any] = {
        "title": f"{traffic} through a pacer, packet by packet",
        "duration": duration,
        "warmup": "2 s",
        "network": {
            "template": "path",
            "core": "core",
            "links": [
                {"name": IN, "rate": FAST, "delay": "1 ms"},
                {"name": PACED, "rate": FAST, "delay": "1 ms"},
                last,
            ],
        },
        "traffic": [{"name": "source", **TRAFFIC[traffic]}],
        "pacing": {"method": "edge", "delay": "10 ms", "at": PACED},
        "probes": {"departures": {"links": [IN, PACED], "from": "0 s"}},
    }
    return Scenario(document)


def exits(run: Result) -> Exits:
    """Of the packets that have left by the end of the run."""
    assert run.series is not None
    link, time, size = (np.asarray(run.series[name]) for name in ("link", "time_ns", "bytes"))
    came, went = link == IN, link == PACED
    number = int(went.sum())
    sizes = size[came][:number].astype(np.float64)
    wire_ns = sizes * 8 / 100  # at 100 Gbit/s
    arrivals = (time[came][:number] + IN_NS + wire_ns) * 1e-9
    return Exits(arrivals, time[went] * 1e-9, sizes, run.window_s)


def rates(releases: NDArray[np.float64], found: Exits, held: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rates, Mbit/s, and how long each lasts, s: a packet's bytes over the time until the next; in the window.

    What comes in the last `held` seconds is left out: what would have followed decides how it goes.
    """
    gaps = np.diff(releases)
    start, end = found.window
    kept = (releases[:-1] >= start) & (releases[1:] <= end - 2 * held)
    return found.sizes[:-1][kept] * 8e-6 / gaps[kept], gaps[kept]


def largest(releases: NDArray[np.float64], found: Exits, held: float) -> float:
    """The highest rate, Mbit/s."""
    return float(rates(releases, found, held)[0].max())


def variance(releases: NDArray[np.float64], found: Exits, held: float) -> float:
    """Of the rate over time, (Mbit/s)²."""
    rate, lasts = rates(releases, found, held)
    mean = float(np.average(rate, weights=lasts))
    return float(np.average((rate - mean) ** 2, weights=lasts))


def variation(releases: NDArray[np.float64], found: Exits, held: float) -> float:
    """Standard deviation of the rate over its mean, both over time."""
    rate, lasts = rates(releases, found, held)
    return math.sqrt(variance(releases, found, held)) / float(np.average(rate, weights=lasts))


def path(found: Exits, held: float) -> NDArray[np.float64]:
    """When the shortest path, of one who knows all arrivals, would let each go, s."""
    curve = exit_curves.smoothest(found.arrivals, found.sizes, held)
    return exit_curves.releases(curve, found.sizes)


def by_run(results: Results) -> Iterator[tuple[int, Exits]]:
    """Each run's, by seed."""
    for run in results:
        yield run.seed, exits(run)


def range_of(values: Mapping[int, float]) -> Interval:
    """Their middle, and the distance from it to the largest and the least."""
    low, high = min(values.values()), max(values.values())
    return Interval((low + high) / 2, (high - low) / 2, len(values))


def over_seeds(values: Mapping[int, float]) -> Interval:
    """Their mean with its interval."""
    found = interval(values.values())
    if found is None:
        raise ValueError("no runs")
    return found
