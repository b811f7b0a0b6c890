"""TCP Pacing, fifty flows: started together in ns-2 (Aggarwal's Fig. 6 and 7), and one after the other with Linux.

The page reckons that with 50 flows the original's buffer of 312 packets, more than the rule's 180, leaves the link
"never ... under-utilized", so that paced flows cannot carry more than unpaced ones in steady state. That is a
criterion, fixed from the text before the run that judges it: unpaced flows fill the link from 20 s on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.cs244.buffer_sizing import FULL_LINK
from paceline.papers.cs244.network import METHODS, NONE, PACED, PACER, PACING, PATH, TCP, VARIANT, dumbbell, with_linux
from paceline.papers.cs244.one_flow import both, carried
from paceline.results import Result
from paceline.scenario import Scenario

#: Statistics of the steady state, from the time on when all have started and slow start is over, s.
FROM = 20
#: Of fairness at the start, s.
EARLY = 3
#: The original's bottleneck, Mbit/s.
RATE = 100

START = Assumption(
    "When flows start.",
    "In the original all at once; in the rerun over 5 s.",
    "The page: in ns-2 flows that start at the same time stay together, in Mininet they are started one after the "
    "other.",
)
RENO = Assumption(
    "Which of ns-2's TCPs the original ran.",
    "Reno.",
    "Aggarwal, Savage and Anderson name it; with NewReno paced flows lose nothing, see why-newreno.",
)
STATISTIC = Assumption(
    "What losing throughput to synchronisation is, and what no such loss.",
    "In the original paced carries less than unpaced outside the interval; in the rerun its shortfall is less than "
    "half of that. Both over the whole minute, and from 20 s on, when all have started and left slow start.",
    "Both print curves of cumulative throughput, and no number. A full link is 98 %, as in cs244-buffer-sizing.",
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
        newreno = original.set(VARIANT, "newreno").set("traffic.bulk.start", "0 s .. 1 ms")
        found["why-newreno"] = newreno.over({PACING: METHODS}).seeds(few)
        prompt = rerun.set("traffic.bulk.tcp.delayed_ack", False)
        found["why-prompt-acks"] = prompt.over({PACING: METHODS}).seeds(few)
        together = with_linux(pairs)
        found["why-together"] = together.set("traffic.bulk.start", "0 s .. 1 ms").over({PACING: METHODS}).seeds(few)
        sequence = pairs.set("traffic.bulk.start", "0 s .. 5 s")
        found["why-rerun-newreno"] = with_linux(sequence, "newreno").over({PACING: METHODS}).seeds(few)
    return found


def check(runs: Runs) -> Verdict:
    """The shortfall of paced throughput in both; fairness at the start of the original."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for since, words in ((0, "over the whole run"), (FROM, f"from {FROM} s on")):
        original, rerun = (shortfall(runs, name, since) for name in ("original", "rerun"))
        half = original.mean / 2
        evidence += [
            criteria.above(f"original: shortfall of paced {words}, of unpaced", original, 0),
            criteria.below(f"rerun: shortfall of paced {words}, of unpaced, half of the original's", rerun, half),
        ]
        ours |= {f"original, {words}": round(original.mean, 4), f"rerun, {words}": round(rerun.mean, 4)}
    full = filled(runs, "original")
    what = f"original: utilisation, unpaced, from {FROM} s on: a full link"
    evidence.append(criteria.above(what, full, FULL_LINK))
    evidence += [
        criteria.inform(f"utilisation, unpaced, from {FROM} s on: {words}", filled(runs, name), name)
        for name, words in FILLING.items()
        if name in runs
    ]
    ours["original, utilisation unpaced"] = round(full.mean, 4)
    early = fairness(runs, "original")
    ours["original, early gain in Jain's index"] = round(early.mean, 3)
    evidence += [
        criteria.above(f"original: Jain's index over the first {EARLY} s, paced − unpaced", early, 0),
        unimproved(fairness(runs, "rerun", None)),
        criteria.inform("original: the same over all of it", fairness(runs, "original", None), "over the whole run"),
    ]
    for name, words in EXPERIMENTS.items():
        if name in runs:
            for since in (0, FROM):
                found = shortfall(runs, name, since)
                evidence.append(criteria.inform(f"shortfall of paced from {since} s on: {words}", found, name))
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
    theirs = {
        "original": "paced loses throughput, and is fairer",
        "original, utilisation unpaced": "full",
        "rerun": "no such loss, and not fairer",
    }
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs), evidence)


EXPERIMENTS = {
    "why-newreno": "the original with NewReno",
    "why-spread-start": "the original, starts over 5 s",
    "why-together": "the rerun, started together",
    "why-prompt-acks": "the rerun without delayed acknowledgements",
    "why-rerun-newreno": "the rerun without SACK",
}


#: Whose unpaced flows may fill the link.
FILLING = {"why-newreno": EXPERIMENTS["why-newreno"], "rerun": "the rerun, which has SACK"}


def note(runs: Runs) -> str:
    """What came of both, and of each choice varied."""

    def told(name: str) -> str:
        whole, late = (shortfall(runs, name, since).mean for since in (0, FROM))
        return f"{whole:+.1%} over the whole run and {late:+.1%} from {FROM} s on"

    varied = "; ".join(f"{words} {told(name)} ({name})" for name, words in EXPERIMENTS.items() if name in runs)
    text = (
        f"The shortfall of paced throughput is {told('original')} in the original, where Reno flows start together, "
        "and "
        f"{told('rerun')} in the rerun. Unpaced flows of the original have {filled(runs, 'original').mean:.1%} of the "
        f"link from {FROM} s on."
    )
    if not varied:
        return text
    return (
        f"{text} Under other choices: {varied}. What a flow makes of several losses in a window decides, which paced "
        "flows "
        f"suffer together: Reno stalls, NewReno does not. Of the link unpaced NewReno has "
        f"{filled(runs, 'why-newreno').mean:.1%}, and Linux's reno of the rerun, which has SACK, "
        f"{filled(runs, 'rerun').mean:.1%}."
    )


def filled(runs: Runs, name: str) -> Interval:
    """What unpaced flows use of the link in the steady state."""
    found = interval(throughput(run) / RATE for run in both(runs[name])[0])
    assert found is not None
    return found


def shortfall(runs: Runs, name: str, since: float) -> Interval:
    """1 - paced / unpaced throughput from then on, s, seed by seed."""
    unpaced, paced = both(runs[name])
    found = interval(1 - throughput(b, since) / throughput(a, since) for a, b in zip(unpaced, paced, strict=True))
    assert found is not None
    return found


def throughput(run: Result, since: float = FROM) -> float:
    """Of the core from then on, s, in Mbit/s."""
    end = run.window_s[1]
    return (carried(run, end) - carried(run, since)) * 8 / (end - since)


def unimproved(gain: Interval) -> Evidence:
    """The page of its rerun: "our fairness plot does not show any improvement when pacing is on"."""
    ends = (gain.low, gain.high) if gain.half else None
    what = "rerun: Jain's index over all of it, paced − unpaced"
    return Evidence(what, gain.mean, ends, "not above 0, interval included", gain.low <= 0)


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
        drawing.legend(left, loc="lower right")
        words, said = {
            "original": ("ns-2's Reno, all started at once", "loses throughput"),
            "rerun": ("Linux's reno, started over 5 s", "loses none"),
        }[name]
        pictures.append(drawing.picture(figure, name, f"Fifty flows: {words}. The paper: here paced {said}."))
    return pictures


CLAIM = Claim(
    id="cs244-many-flows",
    paper="cs244",
    where="TCP Pacing, many flows",
    kind="shape",
    says="Fifty paced flows that start together synchronise and lose throughput, though they are fairer at first; "
    "rerun with Linux, started one after the other, they lose none. Unpaced ones fill the link over "
    "312 packets of buffer.",
    printed={"bdp_packets": 1250, "buffer_packets": 312, "flows": 50},
    assumptions=(PATH, PACER, RENO, TCP, START, STATISTIC),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
