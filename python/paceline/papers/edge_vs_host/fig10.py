"""Fig. 10, section IV: throughput against the edge pacer's delay bound, with a small buffer and a large one.

Criteria were fixed from the text before the runs that judge them: at 50 KB "throughput falls with pacing delay", at
each delay that is run and not at the longest alone; at 5 KB it rises, saturates at 10 ms, and its curve "is concave".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from paceline._statistics import interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host import curves
from paceline.papers.edge_vs_host.curves import GOODPUT, KBPS, MBPS, THROUGHPUT, at
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, METHODS, NONE, dumbbell
from paceline.results import Results
from paceline.scenario import Scenario

#: Delay bounds, ms; 0 is no pacing. The paper's Fig. 9 ends at 100.
DELAYS = (0, 1, 2, 5, 10, 20, 50, 100)
SMALL, LARGE = 5, 50
#: Throughput rises to here and saturates, by the paper, ms.
KNEE = 10
#: What is varied to explain, at 50 KB: a timer that leaves the link idle now and then, which no bound can fill.
WHY = "why-slow-timer"


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Data paced; then acknowledgements too, as the paper's model has it."""
    chosen = length.choose(DELAYS, (0, 2, 10, 50, 100))
    methods = [METHODS[0], *({"method": "edge", "delay": f"{d} ms"} for d in chosen if d)]
    both = [{"method": "edge", "delay": f"{d} ms", "acks": True} for d in length.choose((10, 20, 50, 100), (10, 100))]
    return {
        "main": curves.sweep(dumbbell(), length, (SMALL, LARGE), methods),
        "acks too": curves.sweep(dumbbell(), length, (SMALL, LARGE), both),
        WHY: curves.sweep(dumbbell().set("traffic.bulk.tcp.min_rto", "1 s"), length, (LARGE,), methods, seeds=3),
    }


def label(delay: int, *, acks: bool = False) -> str:
    """What results call this delay bound in ms."""
    return (f"edge {delay} ms" + " acks" * acks) if delay else NONE


def delays(results: Results) -> list[int]:
    """The bounds that were run, ms."""
    return [0 if pacing == NONE else int(pacing.split()[1]) for pacing in curves.labels(results)]


def check(runs: Runs) -> Verdict:
    """At 5 KB each step up to 10 ms gains, beyond there is little, the curve is concave; at 50 KB each bound costs."""
    main = runs["main"]
    known = delays(main)
    rising = [delay for delay in known if delay <= KNEE]
    evidence = [_step(main, before, after, SMALL, falls=False) for before, after in pairwise(rising)]
    gain = criteria.difference(at(main, label(KNEE), SMALL), at(main, NONE, SMALL), THROUGHPUT, MBPS).mean
    best = max(criteria.mean(at(main, label(d), SMALL), THROUGHPUT, MBPS).mean for d in known)
    unpaced = criteria.mean(at(main, NONE, SMALL), THROUGHPUT, MBPS).mean
    share = gain / (best - unpaced) if best > unpaced else 0.0
    evidence.append(criteria.above(f"share of the largest gain at {SMALL} KB that {KNEE} ms have", share, 0.8))
    evidence += [_above_chord(main, delay, known[-1]) for delay in known[1:-1]]
    evidence += [_step(main, 0, delay, LARGE, falls=True) for delay in known[1:]]
    evidence += [_not_above(main, before, after) for before, after in pairwise(known)]
    evidence += _acks(runs)
    slow = runs[WHY]
    for before, after in pairwise(known):
        gap = criteria.difference(at(slow, label(after), LARGE), at(slow, label(before), LARGE), THROUGHPUT, MBPS)
        what = f"throughput at {LARGE} KB: d = {after} ms − d = {before} ms, Mbit/s"
        evidence.append(criteria.inform(what, gap, f"a least timeout of 1 s ({WHY})"))
    ours = {
        f"{size} KB, d = {delay} ms, Mbit/s": round(
            criteria.mean(at(main, label(delay), size), THROUGHPUT, MBPS).mean, 2
        )
        for size in (SMALL, LARGE)
        for delay in known
    }
    theirs = {"5 KB": "rises, concave, saturates near 10 ms", "50 KB": "falls"}
    return Verdict(criteria.judge(evidence), ours, theirs, _note(runs, share), evidence)


def _above_chord(main: Results, delay: int, last: int) -> Evidence:
    """A concave curve lies above the straight line between its ends: throughput by this bound less that line's."""
    start, here, end = (criteria.by_seed(at(main, label(d), SMALL), THROUGHPUT, MBPS) for d in (0, delay, last))
    seeds = sorted(start.keys() & here.keys() & end.keys())
    found = interval(here[seed] - start[seed] - (end[seed] - start[seed]) * delay / last for seed in seeds)
    if found is None:
        raise ValueError(f"{SMALL} KB: the bounds have no seed in common")
    return criteria.order(f"throughput at {SMALL} KB: d = {delay} ms − the line from 0 to {last} ms, Mbit/s", found)


def _step(main: Results, before: int, after: int, size: int, *, falls: bool) -> Evidence:
    one, other = (before, after) if falls else (after, before)
    what = f"throughput at {size} KB: d = {one} ms − d = {other} ms, Mbit/s"
    return criteria.ahead(what, at(main, label(one), size), at(main, label(other), size), THROUGHPUT, MBPS)


def _not_above(main: Results, before: int, after: int) -> Evidence:
    """A full link cannot rise: no step at 50 KB may gain 0.1 % of the link."""
    gap = criteria.difference(at(main, label(after), LARGE), at(main, label(before), LARGE), THROUGHPUT, MBPS)
    return criteria.below(
        f"throughput at {LARGE} KB: d = {after} ms − d = {before} ms, Mbit/s", gap.mean, 0.1, "Mbit/s"
    )


def _acks(runs: Runs) -> list[Evidence]:
    rows = []
    both = runs["acks too"]
    for size in (SMALL, LARGE):
        for pacing in curves.labels(both):
            found = criteria.mean(at(both, pacing, size), THROUGHPUT, MBPS)
            rows.append(
                criteria.inform(f"throughput at {size} KB, {pacing}, Mbit/s", found, "acknowledgements paced too")
            )
    for pacing in curves.labels(runs["main"]):
        found = criteria.mean(at(runs["main"], pacing, LARGE), GOODPUT, KBPS)
        rows.append(criteria.inform(f"goodput at {LARGE} KB, {pacing}, kbit/s", found, "beside throughput"))
    return rows


def _note(runs: Runs, share: float) -> str:
    main, both = runs["main"], runs["acks too"]
    last = delays(main)[-1]

    def lost(results: Results, acks: bool) -> float:
        paced = criteria.mean(at(results, label(last, acks=acks), LARGE), THROUGHPUT, MBPS).mean
        return criteria.mean(at(main, NONE, LARGE), THROUGHPUT, MBPS).mean - paced

    return (
        f"At {SMALL} KB a bound of {KNEE} ms has {share:.0%} of all that any bound gains. At {LARGE} KB the link is "
        f"full unpaced, so nothing rises, and {last} ms cost {lost(main, False):.2f} Mbit/s, or "
        f"{lost(both, True):.2f} where acknowledgements are paced too, as the paper's model of the round trip has it. "
        f"Of the bounds run, {_falling(main)} cost throughput outside the interval: a full link stays full until the "
        "bound is a good part of the round trip of 250 ms. With a least timeout of 1 s the link is not full "
        "unpaced: it "
        f"carries {criteria.mean(at(runs[WHY], NONE, LARGE), THROUGHPUT, MBPS).mean:.2f} Mbit/s, for "
        f"{criteria.mean(at(main, NONE, LARGE), THROUGHPUT, MBPS).mean:.2f} here, and {_falling(runs[WHY])} "
        f"cost ({WHY})."
    )


def _falling(main: Results) -> str:
    """The bounds that cost throughput at the large buffer, in words."""
    found = [delay for delay in delays(main)[1:] if _step(main, 0, delay, LARGE, falls=True).ok]
    return ", ".join(f"{delay} ms" for delay in found) or "none"


def draw(runs: Runs) -> Sequence[Picture]:
    """Both panels, as in the paper."""
    figure, panels = drawing.axes(2)
    for ax, size in zip(panels, (SMALL, LARGE), strict=True):
        for name, results, acks, slot in (
            ("data paced", runs["main"], False, 2),
            ("acks too", runs["acks too"], True, 3),
        ):
            known = delays(results)
            found = [
                criteria.mean(at(results, label(delay, acks=acks), size), THROUGHPUT, KBPS * 1000) for delay in known
            ]
            drawing.curve(ax, known, found, name, slot)
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xticks(DELAYS, [str(delay) for delay in DELAYS])
        ax.set_xlabel("delay bound of the edge pacer, ms")
        ax.set_ylabel("throughput a flow, kbit/s")
        ax.set_title(f"{size} KB", fontsize="medium", loc="left", color=drawing.INK)
    panels[0].axvline(KNEE, color=drawing.PRINTED, linewidth=1.0)
    panels[0].annotate(
        "paper: saturates",
        (KNEE, 0.05),
        (4, 0),
        ("data", "axes fraction"),
        "offset points",
        color=drawing.PRINTED,
        fontsize="small",
    )
    drawing.legend(panels[0], loc="upper left")
    caption = (
        "Core throughput, divided by 1000 Reno flows, against the delay bound (logarithmic from 1 ms on): means over "
        "seeds with 95 % intervals."
    )
    return [drawing.picture(figure, "fig10", caption)]


CLAIM = Claim(
    id="edge-fig10-delay",
    paper="edge-vs-host",
    where="Fig. 10, IV",
    kind="shape",
    says="With 5 KB of buffer throughput rises with the pacer's delay bound, in a concave curve, and saturates near "
    "10 ms; with 50 KB it falls with the bound.",
    printed={"knee_ms": KNEE},
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            "Whether acknowledgements are paced where they enter the core from the other side.",
            "Data only, in all figures.",
            "Both are run here: they differ in how much a long bound costs, and by less than 1 % at 10 ms.",
        ),
        Assumption(
            "What saturation and a fall are.",
            "Each step up to 10 ms gains outside the interval of the paired difference, and 10 ms have 80 % of the "
            "largest gain; a concave curve lies above the line between its ends at each bound; at 50 KB no step gains "
            "0.1 Mbit/s, and each bound loses to none outside the interval.",
            "Where the paper says that throughput falls with delay, it does so from the first ms on, as in Fig. 9(b).",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
