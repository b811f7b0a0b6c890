"""Section III-C: eq. (7), the least burstiness that a delay tolerance D_max allows, and the rule of thumb for it.

Criteria were fixed from the text before the runs that judge them. Eq. (7) minimises the burstiness B "subject to d <=
D_max", for which the rule sets mu_max = (1 + rho) C / 2, mu_min = rho C / 2 and Q_max = D_max mu_max. So under the rule
no packet's pacing delay may exceed D_max, at each load and D_max; and of all settings tried with the same bound Q_max /
mu_max its B must be the least, within the 5 % of every number. B is the paper's own measure of section IV-C, the
coefficient of variation of bytes in 50 ms, of its own source there, a Markov ON-OFF process.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp import variation
from paceline.results import Results
from paceline.scenario import Scenario

#: The link, Mbit/s, its loads, and delay tolerances, ms; other settings are tried with the middle one.
CAPACITY = 10.0
LOADS = (0.3, 0.5, 0.7, 0.9)
TOLERANCES, MIDDLE = (10, 40, 160), 40
SCALE_S = 0.05
#: Other settings, of the link's rate: mu_min as a function of the load, and mu_max.
OTHERS: Mapping[str, tuple[float, float]] = {
    "mu_min C/100, mu_max (1 + rho) C/2": (0.0, 0.0),
    "mu_min rho C, mu_max (1 + rho) C/2": (2.0, 0.0),
    "mu_min C/100, mu_max C": (0.0, 1.0),
    "mu_min rho C/2, mu_max C": (1.0, 1.0),
    "mu_min rho C, mu_max C": (2.0, 1.0),
}
RULE, NONE = "rule", "none"
ON_MS = 100
WAIT = "flows.network_delay_mean_s"

TRAFFIC = Assumption(
    "For which traffic the problem is solved: F depends on λ(t).",
    "A Markov ON-OFF source that sends at the link's rate for 100 ms in the mean, and is off so long that the load is "
    "30, 50, 70 and 90 %; packets of 1000 B over 10 Mbit/s.",
    "The source of section IV-C1 with the same mean time on; at the link's rate it never waits without a pacer, so "
    "that "
    "all of a packet's delay is pacing.",
)
MEASURE = Assumption(
    "What B is: the text calls it 'a measure of the burstiness', and a definition lacking.",
    "The coefficient of variation of bytes in 50 ms.",
    "Section IV-C measures pacing by it.",
)
GRID = Assumption(
    "Which other settings the rule is held against.",
    "mu_min of C/100, rho C/2 and rho C, mu_max of (1 + rho) C/2 and of C, each with Q_max = D_max mu_max and D_max "
    "of 40 "
    "ms.",
    "All have the same bound by Theorem 1, so that each is a solution of eq. (7) in steady state.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep a load: unpaced, by the rule for each D_max, and by other settings for one."""
    return {f"load-{load:g}": over(length, load) for load in LOADS}


def over(length: Length, load: float) -> Scenario:
    """One load, every setting."""
    document: dict[str, Any] = {
        "title": f"A Markov ON-OFF source of load {load:g} through one QLBP pacer",
        "duration": length.choose("600 s", "130 s"),
        "warmup": length.choose("100 s", "10 s"),
        "network": {
            "template": "path",
            "core": "paced",
            "links": [{"name": "paced", "rate": f"{CAPACITY:g} Mbit/s", "delay": "1 ms"}],
        },
        "traffic": [
            {
                "name": "source",
                "kind": "on-off",
                "rate": f"{CAPACITY:g} Mbit/s",
                "packet": "1000 B",
                "on": {"exponential": f"{ON_MS} ms"},
                "off": {"exponential": f"{ON_MS * (1 - load) / load:.6g} ms"},
            }
        ],
        "pacing": {"method": NONE, "at": "paced"},
        "probes": {
            "rate_variation": {"links": "paced", "finest": "50 ms", "coarsest": "50 ms"},
            "delay": {},
        },
    }
    methods = [{"method": NONE, "at": "paced"}]
    methods += [by_rule(load, tolerance) for tolerance in TOLERANCES]
    methods += [by_hand(load, *setting) for setting in OTHERS.values()]
    return Scenario(document).over({"pacing": methods}).seeds(length.seed_count(10, 3))


def by_rule(load: float, tolerance: int) -> dict[str, Any]:
    """The rule's parameters, which the pacer takes from load and tolerance (ms)."""
    return {"method": "qlbp", "at": "paced", "load": load, "max_delay": f"{tolerance} ms"}


def by_hand(load: float, least: float, most: float) -> dict[str, Any]:
    """Another setting: `least` times rho C/2 as mu_min, or C/100; mu_max the rule's, or C."""
    slowest = least * load / 2 * CAPACITY if least else CAPACITY / 100
    fastest = CAPACITY if most else (1 + load) / 2 * CAPACITY
    held = MIDDLE * 1e-3 * fastest * 1e6 / 8
    return {
        "method": "qlbp",
        "at": "paced",
        "mu_min": f"{slowest:.6g} Mbit/s",
        "mu_max": f"{fastest:.6g} Mbit/s",
        "q_max": f"{held:.0f} B",
    }


def named(results: Results) -> dict[str, Results]:
    """Runs by what was set, in the order in which they were asked for."""
    labels = list(dict.fromkeys(run.settings["pacing"] for run in results))
    names = [NONE, *(f"{RULE}, {tolerance} ms" for tolerance in TOLERANCES), *OTHERS]
    return {name: results.where({"pacing": label}) for name, label in zip(names, labels, strict=True)}


def check(runs: Runs) -> Verdict:
    """No packet is held longer than D_max; and no other setting with the same bound leaves less variation."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for load in LOADS:
        by_name = named(runs[f"load-{load:g}"])
        for tolerance in TOLERANCES:
            worst = longest(by_name, f"{RULE}, {tolerance} ms")
            ours[f"longest delay over D_max, load {load:g}, {tolerance} ms"] = round(worst.mean / tolerance, 3)
            what = f"longest pacing delay, load {load:g}, D_max {tolerance} ms"
            evidence.append(criteria.below(what, worst, tolerance, "ms"))
        mine = variation.by_seed(by_name[f"{RULE}, {MIDDLE} ms"], SCALE_S)
        for other in OTHERS:
            ratio = variation.mean(variation.ratio(mine, variation.by_seed(by_name[other], SCALE_S)))
            ours[f"burstiness, load {load:g}, over {other}"] = round(ratio.mean, 4)
            what = f"burstiness, load {load:g}: the rule over {other}"
            evidence.append(criteria.below(what, ratio, 1 + criteria.RELATIVE))
    for load in LOADS:
        by_name = named(runs[f"load-{load:g}"])
        unpaced = variation.by_seed(by_name[NONE], SCALE_S)
        for name, some in by_name.items():
            left = variation.mean(variation.ratio(variation.by_seed(some, SCALE_S), unpaced))
            what = f"burstiness over unpaced, load {load:g}, {name}"
            evidence.append(criteria.inform(what, left, f"longest delay {longest(by_name, name).mean:.1f} ms"))
        what = f"pacing delay in the mean, load {load:g}, rule, {MIDDLE} ms"
        evidence.append(criteria.inform(what, mean_delay(by_name), "of 40 ms"))
        what = f"longest delay over D_max, load {load:g}: a full queue that drains alone"
        evidence.append(criteria.inform(what, drained(load), "closed form"))
    theirs = {"longest delay over D_max": "1 at most", "burstiness": "the least"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, ours), evidence)


def longest(by_name: Mapping[str, Results], name: str) -> Interval:
    """The longest pacing delay of a packet, ms: its delay less that of packets without a pacer."""
    plain = criteria.by_seed(by_name[NONE], WAIT)
    found = interval(
        1e3 * (float(np.max(run.instrument("delay").column("x").to_numpy())) - plain[run.seed]) for run in by_name[name]
    )
    assert found is not None
    return found


def mean_delay(by_name: Mapping[str, Results]) -> Interval:
    """What the rule adds in the mean, ms, with the middle tolerance."""
    return criteria.difference(by_name[f"{RULE}, {MIDDLE} ms"], by_name[NONE], WAIT, 1e-3)


def drained(load: float) -> float:
    """The time in which a queue of Q_max drains alone to a packet, over D_max.

    By eq. (1) dq/dt = -mu(q): from Q_max to 0 it is Q_max / (mu_max - mu_min) · ln(mu_max / mu_min), which for the rule
    is D_max (1 + rho) ln((1 + rho) / rho).
    """
    return (1 + load) * math.log((1 + load) / load)


def note(runs: Runs, ours: Mapping[str, float]) -> str:
    """Where the tolerance is exceeded and by how much, and which setting does better."""
    longest_over = [ours[f"longest delay over D_max, load {load:g}, {MIDDLE} ms"] for load in LOADS]
    over_it = ", ".join(f"{value:.2f} ({load:g})" for load, value in zip(LOADS, longest_over, strict=True))
    told = ", ".join(f"{drained(load):.2f} ({load:g})" for load in LOADS)
    least = {load: max((ours[f"burstiness, load {load:g}, over {other}"], other) for other in OTHERS) for load in LOADS}
    better = "; ".join(
        f"load {load:g}: {100 * (1 - 1 / ratio):.0f} % less with {other}, whose longest delay is "
        f"{longest(named(runs[f'load-{load:g}']), other).mean:.0f} ms"
        for load, (ratio, other) in least.items()
        if ratio > 1
    )
    means = ", ".join(f"{mean_delay(named(runs[f'load-{load:g}'])).mean:.0f} ms ({load:g})" for load in LOADS)
    return (
        f"The rule delays packets by up to {max(longest_over):.2f} times D_max. Longest pacing delay over D_max, of "
        f"{MIDDLE} ms, by load: {over_it}. Theorem 1 bounds a steady source; after a "
        "burst the rate falls with the queue, and the last packet of a full one waits (1 + rho) ln((1 + rho) / rho) "
        f"times D_max: {told}. In the mean packets are held {means}. "
        f"Less variation than the rule's, with the same bound: {better or 'no setting tried has'}."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """Burstiness over the longest delay, a panel a load."""
    figure, panels = drawing.axes(len(LOADS), (12.4, 3.4), columns=len(LOADS))
    for ax, load in zip(panels, LOADS, strict=True):
        by_name = named(runs[f"load-{load:g}"])
        unpaced = variation.by_seed(by_name[NONE], SCALE_S)

        def point(name: str, by_name: Mapping[str, Results] = by_name, plain: Any = unpaced) -> tuple[float, Interval]:
            left = variation.mean(variation.ratio(variation.by_seed(by_name[name], SCALE_S), plain))
            return longest(by_name, name).mean, left

        rule = [point(f"{RULE}, {tolerance} ms") for tolerance in TOLERANCES]
        drawing.curve(ax, [x for x, _ in rule], [y for _, y in rule], "rule, D_max 10, 40, 160 ms", 1)
        others = [point(name) for name in OTHERS]
        words = "others, D_max 40 ms"
        drawing.curve(ax, [x for x, _ in others], [y for _, y in others], words, 2, linestyle="none")
        ax.set_ylim(0, 1.06)  # a mark near 1 is not cut
        drawing.logarithmic(ax, "x", (10, 20, 50, 100, 200))
        ax.set_xlabel("longest pacing delay, ms")
        ax.set_title(f"load {load:g}", fontsize="medium", loc="left", color=drawing.INK)
    panels[0].set_ylabel("CV in 50 ms, over unpaced")
    drawing.legend(panels[0], loc="lower left")
    caption = "What each setting leaves of the variation, and what it costs: means over seeds with 95 % intervals."
    return [drawing.picture(figure, "rule", caption)]


CLAIM = Claim(
    id="qlbp-rule",
    paper="qlbp",
    where="III-C, eq. (7)",
    kind="number",
    says="Parameters are to make burstiness least subject to a greatest delay, eq. (7); the rule of thumb for it is "
    "mu_max = (1 + rho) C / 2, mu_min = rho C / 2, Q_max = D_max mu_max.",
    printed={},
    assumptions=(TRAFFIC, MEASURE, GRID),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
