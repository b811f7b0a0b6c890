"""A source at a constant rate through one QLBP pacer: the set-up of Table II and of Theorem 1.

The paper's pacing delay is what a packet waits longer than in a plain queue (definition 1), so each setting also runs
without the pacer, and the difference is taken seed by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paceline._statistics import Interval, interval
from paceline.papers import criteria
from paceline.papers.claim import Assumption
from paceline.results import Result, Results
from paceline.scenario import Scenario

#: Where the source's rate is swept.
RATE = "traffic.cbr.rate"
ASSUMPTIONS = (
    Assumption(
        "When the pacer looks at its queue.",
        "At each arrival it computes anew when its head leaves, with a queue that counts the head.",
        "Of the readings of eq. (1), this one gives all eight rows of Table II; a gap that is fixed when a packet "
        "leaves gives other queues, and half the utilisation of Fig. 18.",
    ),
    Assumption(
        "How large a packet is on the wire.",
        "As long as its payload, without headers.",
        "The paper's own bounds count so: ten packets of 8000 bits, 100 of 1500 bytes.",
    ),
)


@dataclass(frozen=True)
class Setting:
    """A pacer and its link, as text with units.

    Attributes:
        link: rate of every link, C.
        packet: size of all packets.
        mu_min, mu_max, q_max: the pacer's.
        delay: propagation of each link.
        links: how many there are; the pacer stands before the last.
        q_lim: what the pacer may hold.
    """

    link: str
    packet: str
    mu_min: str
    mu_max: str
    q_max: str
    delay: str = "10 ms"
    links: int = 1
    q_lim: str | None = None


def scenario(setting: Setting, rates: Sequence[str], *, duration: str, warmup: str) -> Scenario:
    """Every rate, with the pacer and without."""
    cable = {"rate": setting.link, "delay": setting.delay}
    names = [f"link.{number}" for number in range(setting.links - 1)] + ["paced"]
    cables = [{"name": name} | cable for name in names]
    if setting.q_lim:
        cables[-1]["pacer_buffer"] = setting.q_lim
    pacer = {"method": "qlbp", "mu_min": setting.mu_min, "mu_max": setting.mu_max, "q_max": setting.q_max}
    document = {
        "title": f"QLBP, a steady source: mu_max {setting.mu_max}, Q_max {setting.q_max}",
        "duration": duration,
        "warmup": warmup,
        "network": {"template": "path", "core": "paced", "links": cables},
        # any phase of the source against the pacer
        "traffic": [
            {"name": "cbr", "kind": "cbr", "packet": setting.packet, "rate": rates[0], "start": "0 s .. 10 ms"},
        ],
        "pacing": {"method": "none", "at": "paced"},
        "probes": {"delay": {}},
    }
    pacers = [{"method": "none", "at": "paced"}, pacer | {"at": "paced"}]
    return Scenario(document).over({"pacing": pacers, RATE: list(rates)})


def rates(results: Results) -> list[str]:
    """The rates that were run, in order."""
    return list(dict.fromkeys(run.settings[RATE] for run in results))


def paced(results: Results, rate: str, *, by: bool = True) -> Results:
    """The runs of one rate, with the pacer or without."""
    runs = [run for run in results.where({RATE: rate}) if run.settings["pacing"].startswith("qlbp") is by]
    return Results(runs)


def mean_delay(results: Results, rate: str) -> Interval:
    """What pacing adds in the mean, ms."""
    plain, slowed = paced(results, rate, by=False), paced(results, rate)
    return criteria.difference(slowed, plain, "flows.network_delay_mean_s", 1e-3)


def largest_delay(results: Results, rate: str) -> Interval:
    """What pacing adds to the packet that waits longest, over the mean without it, ms."""
    plain = criteria.by_seed(paced(results, rate, by=False), "flows.network_delay_mean_s")
    found = interval(1e3 * (_largest(run) - plain[run.seed]) for run in paced(results, rate))
    if found is None:
        raise ValueError(f"{rate}: no run with the pacer")
    return found


def queue(results: Results, rate: str, packet_bytes: float) -> Interval:
    """Mean queue of the pacer, packets."""
    return criteria.mean(paced(results, rate), "links.paced.queue_mean_bytes", packet_bytes)


def megabits(rate: str) -> float:
    """``"12 Mbit/s"`` → 12."""
    return float(rate.split()[0])


def _largest(run: Result) -> float:
    """The longest delay of any packet, seconds: the end of its distribution."""
    places = run.instrument("delay").column("x").to_pylist()
    return float(max(places))
