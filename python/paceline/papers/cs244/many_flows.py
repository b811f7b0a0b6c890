"""TCP Pacing, fifty flows: started together in ns-2 (Aggarwal's Fig. 6 and 7), and one after the other with Linux."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paceline.intervals import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.cs244.network import METHODS, NONE, PACED, PACER, PACING, PATH, TCP, VARIANT, dumbbell, with_linux
from paceline.papers.cs244.one_flow import both, carried
from paceline.results import Result
from paceline.scenario import Scenario

#: Statistics of the steady state, from the time on when all have started and slow start is over, s.
FROM = 20
#: Of fairness at the start, s.
EARLY = 3

START = Assumption(
    "When flows start.",
    "In the original all at once; in the rerun over 5 s.",
    "The page: in ns-2 flows that start at the same time stay together, in Mininet they are started one after the "
    "other.",
)
STATISTIC = Assumption(
    "What losing throughput to synchronisation is, and what no such loss.",
    "Paced carries less than unpaced from 20 s to the end of the minute, outside the interval; in the rerun its "
    "shortfall is less than half of the original's.",
    "Both print curves only. The start is left out, where paced slow start takes longer in either set-up.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Fifty pairs with a flow each, and five with ten."""
    scenario = dumbbell(length).set("duration", length.choose("60 s", "30 s"))
    scenario = scenario.set("probes.fairness", {"window": "1 s"})
    original = scenario.set("network.access.hosts", 50).set(VARIANT, "reno")
    pairs = scenario.set("network.access.hosts", 5).set("traffic.bulk.count", 10)
    rerun = with_linux(pairs.set("traffic.bulk.start", "0 s .. 5 s"))
    seeds = length.seed_count()
    found = {
        "original": original.set("traffic.bulk.start", "0 s .. 1 ms").over({PACING: METHODS}).seeds(seeds),
        "rerun": rerun.over({PACING: METHODS}).seeds(seeds),
    }
    if not length.quick:
        few = length.seed_count(3)
        spread = original.set("traffic.bulk.start", "0 s .. 5 s")
        found["why-spread-start"] = spread.over({PACING: METHODS}).seeds(few)
        jitter = [{"method": "host", "rule": "ideal", "jitter": 0.5}]
        found["why-jitter"] = original.set("traffic.bulk.start", "0 s .. 1 ms").over({PACING: jitter}).seeds(few)
        together = with_linux(pairs)
        found["why-together"] = together.set("traffic.bulk.start", "0 s .. 1 ms").over({PACING: METHODS}).seeds(few)
        found["why-sack"] = (
            with_linux(pairs.set("traffic.bulk.start", "0 s .. 5 s"), "rfc6675").over({PACING: METHODS}).seeds(few)
        )
    return found


def check(runs: Runs) -> Verdict:
    """The shortfall of paced throughput in both; fairness at the start of the original."""
    original, rerun = (shortfall(runs, name) for name in ("original", "rerun"))
    early = fairness(runs, "original")
    bound = original.mean / 2
    evidence: list[Evidence] = [
        criteria.above(f"original: shortfall of paced from {FROM} s on, of unpaced", original, 0),
        criteria.below(f"rerun: shortfall of paced from {FROM} s on, of unpaced", rerun, bound),
        criteria.above(f"original: Jain's index over the first {EARLY} s, paced − unpaced", early, 0),
        criteria.inform("rerun: the same over all of it", fairness(runs, "rerun", None), "the page: no improvement"),
        criteria.inform("original: the same over all of it", fairness(runs, "original", None), "over the whole run"),
    ]
    for name, words in EXPERIMENTS.items():
        if name in runs:
            evidence.append(
                criteria.inform(f"shortfall of paced from {FROM} s on: {words}", shortfall(runs, name), name)
            )
    if "why-jitter" in runs:
        used = interval(throughput(run) for run in runs["why-jitter"])
        steady = interval(throughput(run) for run in both(runs["original"])[1])
        if used and steady:
            evidence.append(
                criteria.inform(
                    "original, each gap drawn within ±50 %: throughput, Mbit/s",
                    used,
                    f"why-jitter; {steady.mean:.1f} without",
                )
            )
    ours = {
        "original_shortfall": round(original.mean, 4),
        "rerun_shortfall": round(rerun.mean, 4),
        "original_early_fairness_gain": round(early.mean, 3),
    }
    theirs = {"original": "paced loses throughput, and is fairer", "rerun": "no such loss"}
    return Verdict(criteria.judge(evidence), ours, theirs, NOTE, evidence)


EXPERIMENTS = {
    "why-spread-start": "the original, starts over 5 s",
    "why-together": "the rerun, started together",
    "why-sack": "the rerun with SACK",
}
NOTE = (
    "Paced flows that start together fill the buffer together, lose together and leave the link idle together; "
    "unpaced ones lose by turns. Rows why-… say what it takes: starts that are spread, gaps that are drawn, or a TCP "
    "that repairs many losses at once."
)


def shortfall(runs: Runs, name: str) -> Interval:
    """1 - paced / unpaced throughput once all have started, seed by seed."""
    unpaced, paced = both(runs[name])
    found = interval(1 - throughput(b) / throughput(a) for a, b in zip(unpaced, paced, strict=True))
    assert found is not None
    return found


def throughput(run: Result) -> float:
    """Of the core from `FROM` on, Mbit/s."""
    end = run.window_s[1]
    return (carried(run, end) - carried(run, FROM)) * 8 / (end - FROM)


def fairness(runs: Runs, name: str, until: float | None = EARLY) -> Interval:
    """Paced minus unpaced of Jain's index, mean over the windows that end by then."""
    unpaced, paced = both(runs[name])
    found = interval(jain(b, until) - jain(a, until) for a, b in zip(unpaced, paced, strict=True))
    assert found is not None
    return found


def jain(run: Result, until: float | None) -> float:
    """Mean of Jain's index over windows of 1 s."""
    table = run.instrument("jain")
    times, index = table["x"].to_numpy(), table["y"].to_numpy()
    return float(np.nanmean(index if until is None else index[times <= until + 1e-9]))


def draw(runs: Runs) -> Sequence[Picture]:
    """For each set-up: throughput in seconds, and fairness over time, of the first seed."""
    pictures = []
    for name in ("original", "rerun"):
        figure, (left, right) = drawing.axes(2)
        for slot, some in enumerate(both(runs[name])):
            label = (NONE, PACED)[slot]
            run = some[0]
            seconds = np.arange(0, int(run.window_s[1]) + 1)
            rates = np.diff([carried(run, float(second)) for second in seconds]) * 8
            drawing.curve(
                left,
                [float(second) for second in seconds[1:]],
                [float(rate) for rate in rates],
                label,
                slot,
                marker="none",
                capsize=0,
            )
            table = run.instrument("jain")
            drawing.curve(
                right, list(table["x"].to_numpy()), list(table["y"].to_numpy()), label, slot, marker="none", capsize=0
            )
        left.set_ylabel("throughput of the core, Mbit/s")
        right.set_ylabel("Jain's index over 1 s")
        for ax in (left, right):
            ax.set_xlabel("time, s")
        right.set_ylim(0, 1.02)
        drawing.legend(right, loc="lower right")
        words = {"original": "ns-2's Reno, all started at once", "rerun": "Linux's NewReno, started over 5 s"}[name]
        pictures.append(
            drawing.picture(figure, name, f"Fifty flows: {words}. The paper: paced loses throughput in the first only.")
        )
    return pictures


CLAIM = Claim(
    id="cs244-many-flows",
    paper="cs244",
    where="TCP Pacing, many flows",
    kind="shape",
    says="Fifty paced flows that start together synchronise and lose throughput, though they are fairer at first; "
    "rerun with Linux, started one after the other, they lose none.",
    printed={},
    assumptions=(PATH, PACER, TCP, START, STATISTIC),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
