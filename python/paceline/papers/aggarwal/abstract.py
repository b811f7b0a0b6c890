"""The abstract: better in some situations, and often worse.

Criteria were fixed from the abstract's words before the runs that judge them. "Better fairness, throughput, and lower
drop rates in some situations": for each of the three there is a situation run here in which paced is ahead outside the
interval. "Often has significantly worse throughput": at more than half of the numbers of flows, outside the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.aggarwal.network import (
    HOSTS,
    JAIN,
    LOSS,
    METHODS,
    NONE,
    PACED,
    PACER,
    PACING,
    PATH,
    START,
    UTILISATION,
    at,
    flows_of,
    network,
)
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.results import Results
from paceline.scenario import Scenario

FULL, QUICK = (1, 2, 5, 10, 25, 50, 100), (1, 5, 10, 25, 50)
#: Situations by sweep, in words; over numbers of flows each.
SITUATIONS = {
    "main": "long flows that start together",
    "spread": "long flows whose starts are spread over 10 s",
    "small buffer": "a buffer of 31 packets",
}
BETTER = {"fairness, Jain's index": (JAIN, 1.0), "throughput": (UTILISATION, 1.0), "drop rate": (LOSS, -1.0)}

SOME = Assumption(
    "Which situations are meant.",
    "Seven numbers of flows from 1 to 100, started together, spread over 10 s, or with a tenth of the buffer.",
    "The paper's sections, as others tell them, are on one flow and on many.",
)
OFTEN = Assumption(
    "What often and significantly are.",
    "At more than half of the numbers of flows that start together, outside the interval of the paired difference.",
    "The weakest reading of often; that the same is said of real networks is not judged.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Each situation over numbers of flows; NewReno beside."""
    flows = list(length.choose(FULL, QUICK))
    spread = network(length).set("traffic.bulk.start", "0 s .. 10 s")
    found = {
        "main": network(length),
        "spread": spread,
        "small buffer": network(length).set("network.core.buffer", "31 packets"),
        "why-newreno": network(length).set("traffic.bulk.tcp.variant", "newreno"),
    }
    seeds = length.seed_count()
    return {name: scenario.over({PACING: METHODS, HOSTS: flows}).seeds(seeds) for name, scenario in found.items()}


def check_some(runs: Runs) -> Verdict:
    """For each of fairness, throughput and drop rate some situation in which paced is better."""
    evidence: list[Evidence] = []
    ours: dict[str, float | None] = {}
    told = []
    for what, (path, sign) in BETTER.items():
        found = [
            (name, flows)
            for name in SITUATIONS
            for flows in flows_of(runs[name])
            if (gap := gap_at(runs[name], path, flows)).half is not None and sign * gap.mean > gap.half
        ]
        number = sum(len(flows_of(runs[name])) for name in SITUATIONS)
        ours[what] = len(found)
        words = f"situations of {number} in which paced has the better {what}, outside the interval"
        evidence.append(Evidence(words, float(len(found)), None, "1 or more", bool(found)))
        told.append(f"{what} in {len(found)} of {number}")
    for name, words in SITUATIONS.items():
        for flows in flows_of(runs[name]):
            for what, (path, _) in BETTER.items():
                gap = gap_at(runs[name], path, flows)
                evidence.append(criteria.inform(f"{what}, {flows} flows: paced − unpaced", gap, words))
    note = f"Situations in which paced is better outside the interval: {', '.join(told)}."
    return Verdict(criteria.judge(evidence), ours, {"better": "in some situations"}, note, evidence)


def check_often(runs: Runs) -> Verdict:
    """Less throughput at more than half of the numbers of flows that start together."""
    results = runs["main"]
    flows = flows_of(results)
    worse = [n for n in flows if (gap := gap_at(results, UTILISATION, n)).half is not None and gap.high < 0]
    what = f"numbers of flows, of {len(flows)}, at which paced has less throughput outside the interval"
    evidence = [Evidence(what, float(len(worse)), None, f"more than {len(flows) / 2:g}", len(worse) > len(flows) / 2)]
    for name, some in runs.items():
        for number in flows_of(some):
            words = SITUATIONS.get(name, "NewReno")
            row = f"utilisation, {number} flows: paced − unpaced"
            evidence.append(criteria.inform(row, gap_at(some, UTILISATION, number), words))
    other = [n for n in flows_of(runs["why-newreno"]) if gap_at(runs["why-newreno"], UTILISATION, n).high < 0]
    note = (
        f"Of {_list(flows)} flows that were run, paced Reno has less throughput with {_list(worse)}, and paced NewReno "
        f"with {_list(other)} (why-newreno): what a flow makes of several losses in a window decides, which paced "
        "flows suffer together."
    )
    return Verdict(criteria.judge(evidence), {"worse_at_flows": worse}, {"worse": "often"}, note, evidence)


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers) or "no number"


def gap_at(results: Results, path: str, flows: int) -> Interval:
    """Paced less unpaced of a number of a run."""
    return criteria.difference(at(results, PACED, flows), at(results, NONE, flows), path)


def draw(runs: Runs) -> Sequence[Picture]:
    """Throughput of both over flows, a panel a situation."""
    figure, panels = drawing.axes(len(SITUATIONS))
    for ax, (name, words) in zip(panels, SITUATIONS.items(), strict=True):
        flows = flows_of(runs[name])
        for slot, pacing in enumerate((NONE, PACED)):
            values = [criteria.mean(at(runs[name], pacing, number), UTILISATION) for number in flows]
            drawing.curve(ax, flows, values, pacing, slot)
        drawing.logarithmic(ax, "x", flows)
        ax.set_xlabel("flows")
        ax.set_ylabel("utilisation of the core")
        ax.set_title(words, fontsize="medium", loc="left", color=drawing.INK)
    drawing.legend(panels[0], loc="lower right")
    caption = (
        "Reno over 1250 packets a round trip and a buffer of 312, but where it is named: means over seeds with 95 % "
        "intervals."
    )
    return [drawing.picture(figure, "abstract", caption)]


CLAIMS = [
    Claim(
        id="aggarwal-some",
        paper="aggarwal",
        where="Abstract, better in some",
        kind="order",
        says="Pacing offers better fairness, throughput, and lower drop rates in some situations.",
        printed={},
        assumptions=(PATH, PACER, START, SOME),
        sweeps=sweeps,
        check=check_some,
        draw=draw,
    ),
    Claim(
        id="aggarwal-often",
        paper="aggarwal",
        where="Abstract, often worse",
        kind="order",
        says="Pacing often has significantly worse throughput than regular TCP.",
        printed={},
        assumptions=(PATH, PACER, START, OFTEN),
        sweeps=sweeps,
        check=check_often,
        draw=draw,
    ),
]
