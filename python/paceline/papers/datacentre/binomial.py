"""Section III: the packets of N paced flows that arrive within δ are taken to be Binomial(N, p), p = W δ / RTT.

Criteria were fixed from the text before the runs that judge them. In its steady state, C RTT = N W, a variable of that
law has a coefficient of variation of √((1 - p) / (N p)), a number at each N; measured at the bottleneck, that must lie
within 5 % of it. "The probability distribution of X becomes larger as N increases, causing an increase in burstiness":
it must rise at each step of N, outside the interval of the paired difference. Unpaced, of which the best case has the
same bursts whatever the number of flows, it is told.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import METHODS, NONE, PACED, PACING, network
from paceline.papers.qlbp import variation
from paceline.scenario import Scenario

STEADY = """\
title    = "Paced flows with constant windows, which just fill the link"
duration = "13 s"
warmup   = "9 s"
seed     = 1

[network]
template = "dumbbell"
core   = { rate = "1 Gbit/s", delay = "14.9 ms", buffer = "4 MB" }
access = { hosts = 4, rate = "100 Gbit/s", delay = "50 us" }       # that it does not pace

[[traffic]]
name  = "bulk"
kind  = "bulk"
start = "0 s .. 5 s"

[traffic.tcp]
variant    = "reno"
profile    = "rfc"
payload    = "1448 B"
delayed_ack = false
max_window = "625 packets"

[pacing]
method = "none"

[probes]
rate_variation = { at = "arrival", finest = "24 us", coarsest = "24 us" }
"""

#: Numbers of flows, and of packets that 1 Gbit/s and 30 ms hold.
FLOWS, PIPE = (4, 6, 10, 20, 50, 100), 2500
#: δ, two packet times: less than the gap of a paced flow at any number of flows, so that p is a probability.
DELTA_S, PACKETS = 24e-6, 2.0
#: Flows that fill less of the link leave it without a queue; a share of C RTT.
FILL = 0.95
RATE = "links.core.utilisation"
#: What may decide, in words.
WHY = {
    "why-access": "access links of 1 Gbit/s",
    "why-open": "the same rates without feedback, at random phases",
    "why-calls": "paced calls of 1 MB over 128 KB, as in Fig. 5",
}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep a number of flows, paced and unpaced; then behind access links of 1 Gbit/s, which space packets."""
    found = {}
    for flows in FLOWS:
        found[f"flows-{flows}"] = over(length, flows).over({PACING: METHODS}).seeds(length.seed_count(10, 3))
        slow = over(length, flows).set("network.access.rate", "1 Gbit/s")
        found[f"why-access-{flows}"] = slow.over({PACING: METHODS[1:]}).seeds(length.seed_count(5, 2))
        found[f"why-open-{flows}"] = open_loop(length, flows).seeds(length.seed_count(40, 10))
        calls = network(length, 128, flows).set("pacing", METHODS[1]).set("duration", length.choose("20 s", "12 s"))
        calls = calls.set("probes", over(length, flows).to_dict()["probes"])
        found[f"why-calls-{flows}"] = calls.seeds(length.seed_count(5, 2))
    return found


def open_loop(length: Length, flows: int) -> Scenario:
    """The same flows without feedback: each sends at a constant rate, from an instant of its own."""
    source = {
        "name": "cbr",
        "kind": "cbr",
        "packet": "1500 B",
        "rate": f"{FILL * 1e9 / flows:.10g} bit/s",
        "start": "0 s .. 1 s",
    }
    # it repeats itself after a gap of each flow, and one run is one draw of phases
    return over(length, flows).set("traffic", [source]).set("duration", "1.5 s").set("warmup", "1 s")


def over(length: Length, flows: int) -> Scenario:
    """So many flows with equal constant windows, each a host of its own."""
    scenario = Scenario(tomllib.loads(STEADY)).set("network.access.hosts", flows)
    scenario = scenario.set("traffic.bulk.tcp.max_window", f"{round(FILL * PIPE / flows)} packets")
    return scenario.set("duration", "11 s") if length.quick else scenario


def law(flows: int, mean: float) -> float:
    """Coefficient of variation of Binomial(N, p) whose mean is `mean` packets."""
    return math.sqrt((1 - mean / flows) / mean)


def check(runs: Runs) -> Verdict:
    """Measured against the law at each number of flows; and it rises with that."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for flows in FLOWS:
        found, told = spread(runs, f"flows-{flows}", PACED), expected(runs, flows)
        ours[f"{flows} flows"], theirs[f"{flows} flows"] = round(found.mean, 4), round(told, 4)
        what = f"coefficient of variation of arrivals in {1e6 * DELTA_S:g} us, {flows} flows"
        evidence.append(criteria.within(what, found, round(told, 4)))
    for few, many in pairwise(FLOWS):
        less, more = (by_seed(runs, f"flows-{flows}", PACED) for flows in (few, many))
        rise = interval(more[seed] - less[seed] for seed in sorted(less.keys() & more.keys()))
        assert rise is not None
        evidence.append(criteria.order(f"growth of it from {few} to {many} flows", rise))
    for flows in FLOWS:
        what = f"coefficient of variation of arrivals, {flows} flows"
        evidence.append(criteria.inform(what, spread(runs, f"flows-{flows}", NONE), "unpaced"))
        evidence += [criteria.inform(what, spread(runs, f"{why}-{flows}"), words) for why, words in WHY.items()]
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, ours, theirs), evidence)


def by_seed(runs: Runs, name: str, pacing: str | None = None) -> dict[int, float]:
    """The coefficient of variation of arrivals in δ, by seed."""
    results = runs[name]
    return variation.by_seed(results if pacing is None else results.where({PACING: pacing}), DELTA_S)


def spread(runs: Runs, name: str, pacing: str | None = None) -> Interval:
    """The same over seeds."""
    return variation.mean(by_seed(runs, name, pacing))


def expected(runs: Runs, flows: int) -> float:
    """The law's, of as many packets as arrive in the mean."""
    used = criteria.mean(runs[f"flows-{flows}"].where({PACING: PACED}), RATE).mean
    return law(flows, PACKETS * used)


def note(runs: Runs, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """How far the law holds, and what decides."""
    worst = max(ours, key=lambda name: abs(theirs[name] / ours[name] - 1))

    def each(why: str) -> str:
        # of squares, for the law is one of variances, and with few flows a draw of phases decides
        squares = {flows: [value**2 for value in by_seed(runs, f"{why}-{flows}").values()] for flows in FLOWS}
        return ", ".join(f"{math.sqrt(sum(some) / len(some)):.2f} ({flows})" for flows, some in squares.items())

    told = ", ".join(f"{theirs[f'{flows} flows']:.2f} ({flows})" for flows in FLOWS)
    mine = ", ".join(f"{ours[f'{flows} flows']:.2f} ({flows})" for flows in FLOWS)
    return (
        f"Paced flows with constant windows vary by {min(ours[name] / theirs[name] for name in ours):.0%} to "
        f"{max(ours[name] / theirs[name] for name in ours):.0%} of what the law says, least at {worst}. Coefficient of "
        f"variation by the number of flows: {mine}; the law's: {told}. "
        f"Feedback decides: the same rates without it, at random phases, have {each('why-open')} (why-open). Packets "
        "that "
        "come together leave the bottleneck one after the other, so their acknowledgements come, and the next packets "
        "go, spaced: phases of flows with constant windows are not random for long. Of the paper's own paced calls, "
        f"whose windows grow and fall, it is {each('why-calls')} (why-calls), and behind access links as fast as the "
        "core "
        f"{each('why-access')} (why-access)."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """Measured and the law, over flows."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    drawing.curve(ax, FLOWS, [spread(runs, f"flows-{flows}", PACED) for flows in FLOWS], "paced", 1)
    for slot, (why, words) in enumerate((("why-open", "without feedback"), ("why-calls", "paced calls of 1 MB")), 2):
        drawing.curve(ax, FLOWS, [spread(runs, f"{why}-{flows}") for flows in FLOWS], words, slot)
    drawing.law(ax, FLOWS, [expected(runs, flows) for flows in FLOWS], "Binomial(N, p)", 4, linestyle="--")
    drawing.logarithmic(ax, "x", FLOWS)
    drawing.from_zero(ax)
    ax.set_xlabel("flows")
    ax.set_ylabel(f"CV of arrivals in {1e6 * DELTA_S:g} µs")
    drawing.legend(ax, loc="center right")
    caption = "How much the arrivals of paced flows vary at the bottleneck: means over seeds with 95 % intervals."
    return [drawing.picture(figure, "binomial", caption)]


CLAIM = Claim(
    id="dc-binomial",
    paper="datacentre",
    where="III, arrivals of paced flows",
    kind="number",
    says="Of N paced flows as many packets arrive in an interval as Binomial(N, p) says, which is burstier the more "
    "flows there are.",
    printed={},
    assumptions=(
        Assumption(
            "In which network and over which interval.",
            "1 Gbit/s and 30 ms as in its figures, flows with equal constant windows that fill 95 % of the link, and "
            "access links of 100 Gbit/s; intervals of two packet times, 24 us.",
            "The section speaks of a steady state in which windows add up to C RTT; with windows of 594 packets at "
            "four flows a longer interval would have p above 1. Access links of 1 Gbit/s space packets, see "
            "why-access.",
        ),
        Assumption(
            "The rule by which flows pace.",
            "A packet each smoothed round trip over the window; each starts at a time drawn from 5 s.",
            "A perfectly paced world, in the section's words; it draws phases at random.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
