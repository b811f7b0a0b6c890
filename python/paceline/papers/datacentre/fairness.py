"""Section II: "better short-term fairness among flows of similar RTTs by improving the worst flow latency".

Criteria were fixed from the text before the first run. Fairness is Jain's index of what connections get in a window of
100 ms and of 1 s, mean over time; the worst flow's latency is the 99th percentile, which section I defines: "the 99th
percentile tail latency; i.e., the completion time of the slowest flows". Paced is better in each of the three at each
of five numbers of flows up to the point of inflection, 80 at 64 KB, up to which the paper has pacing improve the tail;
beyond it all is told, and so are windows of a round trip and of 10 s, and the slowest call of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paceline._statistics import Interval, interval, paired
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import (
    ASSUMPTIONS,
    COUNT,
    FCT_P99,
    LINUX,
    LINUX_PACED,
    METHODS,
    MS,
    NONE,
    PACED,
    PACING,
    at,
    counts,
    flows_of,
    network,
)
from paceline.results import Result, Results
from paceline.results.instruments import curves_of
from paceline.scenario import Scenario

#: Numbers of flows: judged, and told, beyond the point of inflection at 64 KB.
FLOWS, BEYOND, QUICK = (8, 16, 32, 48, 64), (80, 100), (16, 48, 100)
#: Of experiments.
SOME = (16, 48)
#: Windows of the index, ms: judged, and all that are taken, from a round trip on.
JUDGED_MS: Sequence[int] = (100, 1000)
WINDOWS_MS: Sequence[int] = (30, 100, 1000, 10_000)
#: Connections' way back: the forward one carries requests of 20 B, which would halve the index.
ANSWERS = "rpc.*.back"
#: What else may decide, by name: settings of the scenario, and in words.
CHOICES: Mapping[str, tuple[Mapping[str, object], str]] = {
    "in-step": ({"network.access.rate": "1 Gbit/s"}, "access links of 1 Gbit/s to the bit"),
    "newreno": ({"traffic.rpc.tcp.variant": "newreno"}, "NewReno in place of CUBIC"),
    "large": ({"network.core.buffer": "256 KB"}, "a buffer of 256 KB"),
}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Paced and unpaced over numbers of flows; in full, experiments at two of them."""
    flows = length.choose((*FLOWS, *BEYOND), QUICK)
    found = {"main": watched(length).over({PACING: METHODS, COUNT: counts(flows)}).seeds(length.seed_count())}
    if not length.quick:
        few = length.seed_count(3)
        for name, (settings, _) in CHOICES.items():
            scenario = watched(length)
            for path, value in settings.items():
                scenario = scenario.set(path, value)
            found[f"why-{name}"] = scenario.over({PACING: METHODS, COUNT: counts(SOME)}).seeds(few)
        found["why-linux"] = watched(length).over({PACING: [LINUX], COUNT: counts(SOME)}).seeds(few)
    return found


def watched(length: Length) -> Scenario:
    """Jain's index in windows of each length, one probe each in the order of `WINDOWS_MS`, and every call's time."""
    scenario = network(length).set("duration", length.choose("40 s", "16 s"))
    warmup = scenario.to_dict()["warmup"]
    probes = [{"flows": ANSWERS, "window": f"{ms} ms", "every": f"{ms} ms", "from": warmup} for ms in WINDOWS_MS]
    return scenario.set("probes", {"fairness": probes, "transfers": {}})


def check(runs: Runs) -> Verdict:
    """More even in short windows, and a shorter tail, at each number of flows up to the point of inflection."""
    results = runs["main"]
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for flows in flows_of(results):
        unpaced, paced = (at(results, pacing, flows) for pacing in (NONE, PACED))
        for ms in WINDOWS_MS:
            words = f"Jain's index in {ms} ms, {flows} flows"
            gap = more_even(paced, unpaced, ms)
            if ms in JUDGED_MS and flows in FLOWS:
                evidence.append(criteria.order(f"{words}: paced − unpaced", gap))
            else:
                why = "other windows" if flows in FLOWS else "beyond the point of inflection"
                evidence.append(criteria.inform(f"{words}: paced − unpaced", gap, why))
            if ms in JUDGED_MS:
                for name, some in (("unpaced", unpaced), ("paced", paced)):
                    ours[f"{words}, {name}"] = round(index(some, ms).mean, 3)
        words = f"99th percentile of calls, {flows} flows: unpaced − paced, ms"
        tail = criteria.difference(unpaced, paced, FCT_P99, MS)
        if flows in FLOWS:
            evidence.append(criteria.order(words, tail))
        else:
            evidence.append(criteria.inform(words, tail, "beyond the point of inflection"))
        worst = paired(slowest(unpaced), slowest(paced))
        assert worst is not None
        words = f"slowest call of a run, {flows} flows: unpaced − paced, ms"
        evidence.append(criteria.inform(words, worst, "the slowest of all"))
    evidence += experiments(runs)
    theirs = {"paced flows": "better short-term fairness, by improving the worst flow latency"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, evidence), evidence)


def of_run(run: Result, ms: int) -> float:
    """Mean over time of the index in windows of this length; curves of several probes stand one after the other."""
    (all_of_them,) = curves_of(run.instrument("jain"))
    parts = np.split(all_of_them.y, np.flatnonzero(np.diff(all_of_them.x) < 0) + 1)
    if len(parts) != len(WINDOWS_MS):
        raise ValueError(f"{len(parts)} curves of Jain's index for {len(WINDOWS_MS)} windows")
    return float(parts[WINDOWS_MS.index(ms)].mean())


def index(results: Results, ms: int) -> Interval:
    """The index in windows of this length, over seeds."""
    found = interval(of_run(run, ms) for run in results)
    assert found is not None
    return found


def more_even(one: Results, other: Results, ms: int) -> Interval:
    """By how much the index of one is above that of the other, paired by seeds."""
    found = paired(*({run.seed: of_run(run, ms) for run in some} for some in (one, other)))
    assert found is not None
    return found


def slowest(results: Results) -> dict[int, float]:
    """The longest completion time of a call, ms, by seed."""
    return {run.seed: max(float(curve.x.max()) for curve in curves_of(run.instrument("fct"))) / MS for run in results}


def experiments(runs: Runs) -> list[Evidence]:
    """The same differences under other choices."""
    rows = []
    for name in (*CHOICES, "linux"):
        results = runs.get(f"why-{name}")
        if results is None:
            continue
        for flows in flows_of(results):
            unpaced, paced = pair(runs, name, flows)
            for ms in JUDGED_MS:
                words = f"Jain's index in {ms} ms, {flows} flows, {told(name)}: paced − unpaced"
                rows.append(criteria.inform(words, more_even(paced, unpaced, ms), f"why-{name}"))
            words = f"99th percentile of calls, {flows} flows, {told(name)}: unpaced − paced, ms"
            rows.append(criteria.inform(words, criteria.difference(unpaced, paced, FCT_P99, MS), f"why-{name}"))
    return rows


def pair(runs: Runs, name: str, flows: int) -> tuple[Results, Results]:
    """Unpaced and paced runs of a choice; Linux's rule stands beside the unpaced flows of the main runs."""
    results = runs[f"why-{name}"]
    if name == "linux":
        return at(runs["main"], NONE, flows), at(results, LINUX_PACED, flows)
    return at(results, NONE, flows), at(results, PACED, flows)


def told(name: str) -> str:
    """A choice in words."""
    return "Linux's rule of pacing" if name == "linux" else CHOICES[name][1]


def note(runs: Runs, evidence: Sequence[Evidence]) -> str:
    """What pacing does to fairness and tail, and what decides."""
    results = runs["main"]
    flows = flows_of(results)

    def each(ms: int) -> str:
        pairs = [(index(at(results, NONE, some), ms).mean, index(at(results, PACED, some), ms).mean) for some in flows]
        return ", ".join(f"{one:.2f} and {other:.2f} ({some})" for some, (one, other) in zip(flows, pairs, strict=True))

    tails = ", ".join(
        f"{criteria.difference(at(results, PACED, some), at(results, NONE, some), FCT_P99, relative=True).mean:+.0%} "
        f"({some})"
        for some in flows
    )
    judged = [row for row in evidence if row.ok is not None or row.undecided]
    fair = [row for row in judged if row.statistic.startswith("Jain")]
    slow = [row for row in judged if not row.statistic.startswith("Jain")]
    few = [some for some in flows if some in FLOWS]
    text = (
        f"Paced connections share more evenly in {sum(bool(row.ok) for row in fair)} of {len(fair)} comparisons, and "
        f"have the shorter tail in {sum(bool(row.ok) for row in slow)} of {len(slow)}, with "
        f"{', '.join(map(str, few))} flows, below the point of inflection. Jain's index, unpaced and "
        f"paced, by flows: in 100 ms {each(100)}; in 1 s {each(1000)}. What pacing does to the 99th percentile of "
        f"calls: {tails}."
    )
    less = [
        some for some in flows if more_even(at(results, PACED, some), at(results, NONE, some), WINDOWS_MS[0]).mean < 0
    ]
    if less:
        numbers = ", ".join(map(str, less))
        text += f" Within a round trip paced ones share less evenly with {numbers} flows."
    moved = [
        f"{told(name)} {more_even(paced, unpaced, 100).mean:+.2f} and {more_even(paced, unpaced, 1000).mean:+.2f}"
        for name in (*CHOICES, "linux")
        if f"why-{name}" in runs
        for unpaced, paced in [pair(runs, name, SOME[-1])]
    ]
    if moved:
        usual = [more_even(at(results, PACED, SOME[-1]), at(results, NONE, SOME[-1]), ms).mean for ms in JUDGED_MS]
        text += (
            f" What pacing adds to the index with {SOME[-1]} flows, in 100 ms and in 1 s: as judged {usual[0]:+.2f} "
            f"and {usual[1]:+.2f}; {'; '.join(moved)}."
        )
    return text


def draw(runs: Runs) -> Sequence[Picture]:
    """Jain's index in each judged window, and the tail, over flows."""
    results = runs["main"]
    flows = flows_of(results)
    figure, panels = drawing.axes(3)
    for slot, pacing in enumerate((NONE, PACED)):
        for ax, ms in zip(panels, JUDGED_MS, strict=False):
            drawing.curve(ax, flows, [index(at(results, pacing, some), ms) for some in flows], pacing, slot)
        tails = [criteria.mean(at(results, pacing, some), FCT_P99, MS) for some in flows]
        drawing.curve(panels[2], flows, tails, pacing, slot)
    for ax, words in zip(
        panels,
        (*(f"Jain's index, windows of {ms} ms" for ms in JUDGED_MS), "99th percentile of a call, ms"),
        strict=True,
    ):
        ax.set_ylabel(words)
        ax.set_xlabel("flows")
    for ax in panels[:2]:
        ax.set_ylim(0, 1.02)
    drawing.from_zero(panels[2])
    drawing.legend(panels[0], loc="lower left")
    caption = (
        "How evenly connections share a link of 1 Gbit/s in short windows, 1 being evenly, and the time of the slowest "
        "calls: means over seeds with 95 % intervals. The paper prints no number of this."
    )
    return [drawing.picture(figure, "fairness", caption)]


CLAIM = Claim(
    id="dc-fairness",
    paper="datacentre",
    where="II, short-term fairness",
    kind="order",
    says="Pacing offers better short-term fairness among flows of similar round trips, by improving the latency of the "
    "worst flow.",
    printed={},
    assumptions=(
        *ASSUMPTIONS[:-1],
        Assumption(
            "Where the benefit is, and how short a short term.",
            "In the network of Fig. 4, 64 KB of buffer, with 8 to 64 connections; in windows of 100 ms and of 1 s, one "
            "after the other, both of which must hold, of 30 s after a warm-up of 10 s.",
            "Text and figures name no window: three round trips are less than a call takes, 1 s is that of a few "
            "calls. Windows of a round trip and of 10 s are told. Up to the point of inflection, 80 flows there, the "
            "paper finds pacing to improve the 99th percentile.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
