"""Fig. 11, section IV: goodput against the core's buffer for four delay bounds of the edge pacer.

Criteria were fixed from the text before the runs that judge them. That 1 ms is "relatively ineffective at small buffer
sizes" is judged where the paper finds that pacing has an effect (section III-A: from 5 KB on, nothing below), by the
gap to 10 ms as well as by the share of its gain. "Pacing with larger delays is increasingly beneficial as the
bottleneck buffers become smaller, especially when they fall below 10 KB": what each longer bound gives more than 1 ms
must grow at each step from 10 KB to 5, outside the interval of the paired difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from paceline._statistics import interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host import curves
from paceline.papers.edge_vs_host.curves import GOODPUT, KBPS, THROUGHPUT, at
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, EDGE, METHODS, NONE, dumbbell
from paceline.results import Results
from paceline.scenario import Scenario

FULL = (3, 5, 7, 10, 20, 30, 50)
QUICK = (3, 5, 10, 20, 50)
#: Where pacing has an effect in small buffers, by the paper, and where buffers are large, KB.
SMALL, LARGE = (5, 10), 20
SHORT, LONG = "edge 1 ms", ("edge 100 ms", "edge 200 ms")
BOUNDS = (SHORT, EDGE, *LONG)
#: A good compromise gives up at most so much of the best bound's goodput.
GOOD = 0.02
#: What may decide how much a short bound does: sweep, path, value, words.
WHY = (
    ("why-fast-access", "network.access.rate", "100 Mbit/s", "access links of 100 Mbit/s, which space nothing"),
    ("why-slow-access", "network.access.rate", "2 Mbit/s .. 3 Mbit/s", "access links a quarter as fast"),
    ("why-few-flows", "network.access.per_edge", 10, "100 flows, with windows ten times as large"),
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Data paced; then acknowledgements too; then 1 and 10 ms behind other access links, and for fewer flows."""
    methods = [METHODS[0], *({"method": "edge", "delay": bound.removeprefix("edge ")} for bound in BOUNDS)]
    both = [{"method": "edge", "delay": bound.removeprefix("edge "), "acks": True} for bound in BOUNDS[1:]]
    found = {
        "main": curves.sweep(dumbbell(), length, length.choose(FULL, QUICK), methods),
        "why-acks-too": curves.sweep(dumbbell(), length, length.choose((5, 20, 50), (5, 50)), both),
    }
    for name, path, value, _ in WHY:
        sizes = length.choose((3, *SMALL), SMALL)
        found[name] = curves.sweep(dumbbell().set(path, value), length, sizes, methods[:3], 3)
    return found


def check(runs: Runs) -> Verdict:
    """1 ms is behind 10 ms, with less than half of its gain, at small buffers; 100 and 200 ms are at large ones."""
    main = runs["main"]
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for size in curves.sizes(main, *SMALL):
        what = f"goodput at {size} KB: {EDGE} − {SHORT}, kbit/s"
        evidence.append(criteria.ahead(what, at(main, EDGE, size), at(main, SHORT, size), GOODPUT, KBPS))
        share = _share(main, size)
        ours[f"{SHORT} of {EDGE}'s gain at {size} KB"] = round(share, 3)
        evidence.append(criteria.below(f"gain of {SHORT} over that of {EDGE} at {size} KB", share, 0.5))
    for bound in LONG:
        for size in curves.sizes(main, LARGE):
            what = f"goodput at {size} KB: {EDGE} − {bound}, kbit/s"
            row = criteria.ahead(what, at(main, EDGE, size), at(main, bound, size), GOODPUT, KBPS)
            ours[what] = row.value if isinstance(row.value, float) else 0.0
            evidence.append(row)
    for size in curves.sizes(main):
        best = max(criteria.mean(at(main, bound, size), GOODPUT).mean for bound in BOUNDS)
        behind = 1 - criteria.mean(at(main, EDGE, size), GOODPUT).mean / best
        ours[f"{EDGE} behind the best at {size} KB"] = round(behind, 4)
        evidence.append(criteria.below(f"{EDGE} behind the best of the four at {size} KB", behind, GOOD))
    evidence += _growth(main)
    evidence += _why(runs)
    theirs = {"1 ms": "little at small buffers", "100, 200 ms": "less at large ones", "10 ms": "good at all"}
    return Verdict(criteria.judge(evidence), ours, theirs, _note(runs, evidence), evidence)


def _growth(results: Results) -> list[Evidence]:
    """What longer bounds give more than the shortest, at a smaller buffer less at the next larger one."""
    rows = []
    for bound in BOUNDS[1:]:
        for small, large in pairwise(curves.sizes(results, *SMALL)):
            ends = [
                criteria.by_seed(at(results, pacing, size), GOODPUT, KBPS)
                for size in (small, large)
                for pacing in (bound, SHORT)
            ]
            seeds = sorted(set.intersection(*(set(one) for one in ends)))
            grown = interval((ends[0][seed] - ends[1][seed]) - (ends[2][seed] - ends[3][seed]) for seed in seeds)
            if grown is None:
                raise ValueError(f"{bound}: {small} and {large} KB have no seed in common")
            what = f"growth of goodput, {bound} − {SHORT}, from {large} to {small} KB, kbit/s"
            rows.append(criteria.order(what, grown))
    return rows


def _share(results: Results, size: int) -> float:
    """What 1 ms has of the gain of 10 ms."""
    return _gain(results, SHORT, size) / _gain(results, EDGE, size)


def _gain(results: Results, bound: str, size: int) -> float:
    return criteria.difference(at(results, bound, size), at(results, NONE, size), GOODPUT, KBPS).mean


def _why(runs: Runs) -> list[Evidence]:
    rows = []
    main, both = runs["main"], runs["why-acks-too"]
    for size in curves.sizes(main, 0, SMALL[0] - 1):
        for bound in (SHORT, EDGE):
            gain = criteria.difference(at(main, bound, size), at(main, NONE, size), GOODPUT, KBPS)
            rows.append(
                criteria.inform(f"goodput at {size} KB: {bound} − none, kbit/s", gain, "below the range judged")
            )
    for name, _, _, words in WHY:
        for size in curves.sizes(runs[name]):
            for bound in (SHORT, EDGE):
                gain = criteria.difference(at(runs[name], bound, size), at(runs[name], NONE, size), GOODPUT, KBPS)
                rows.append(criteria.inform(f"goodput at {size} KB: {bound} − none, kbit/s", gain, words))
    for bound in LONG:
        for size in curves.sizes(main, LARGE):
            gap = criteria.difference(at(main, EDGE, size), at(main, bound, size), THROUGHPUT, 1e6)
            rows.append(criteria.inform(f"throughput at {size} KB: {EDGE} − {bound}, Mbit/s", gap, "beside goodput"))
        for size in curves.sizes(both):
            gap = criteria.difference(at(both, f"{EDGE} acks", size), at(both, f"{bound} acks", size), GOODPUT, KBPS)
            what = "acknowledgements paced too"
            rows.append(criteria.inform(f"goodput at {size} KB: {EDGE} − {bound}, kbit/s", gap, what))
    return rows


def _note(runs: Runs, evidence: Sequence[Evidence]) -> str:
    main, both = runs["main"], runs["why-acks-too"]
    size = curves.sizes(main)[-1]

    def changes(results: Results, suffix: str) -> str:
        found = [
            (
                bound,
                criteria.difference(
                    at(results, bound + suffix, size), at(results, EDGE + suffix, size), GOODPUT, relative=True
                ),
            )
            for bound in LONG
        ]
        return ", ".join(f"{change.mean:+.1%} ({bound})" for bound, change in found)

    def shares(results: Results, sizes: Sequence[int]) -> str:
        return ", ".join(f"{_share(results, size):.0%} at {size} KB" for size in sizes)

    small = curves.sizes(main, *SMALL)
    failed = [row.statistic for row in evidence if row.ok is False]
    below = curves.sizes(main, 0, SMALL[0] - 1)
    under = "".join(
        f" Below the range judged, at {size} KB, "
        f"{', '.join(f'{bound} gains {_gain(main, bound, size):+.1f}' for bound in BOUNDS)} "
        "kbit/s."
        for size in below
    )
    others = "; ".join(f"{words}: {shares(runs[name], curves.sizes(runs[name], *SMALL))}" for name, _, _, words in WHY)
    return (
        f"Of what 10 ms gain, 1 ms has {shares(main, small)}"
        + (f"; not met: {'; '.join(failed)}. " if failed else ". ")
        + f"What is varied moves that ({others}). Against 10 ms, "
        f"the long bounds change goodput at {size} KB by {changes(main, '')}, and by {changes(both, ' acks')} where "
        f"acknowledgements are paced too.{under}"
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """The paper's one panel."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    curves.lines(ax, runs["main"], GOODPUT, KBPS, slot=2)
    ax.set_ylabel("goodput of a flow, kbit/s")
    drawing.legend(ax, loc="lower right")
    caption = "1000 Reno flows over 100 Mbit/s, paced at the edge: means over seeds with 95 % intervals."
    return [drawing.picture(figure, "fig11", caption)]


CLAIM = Claim(
    id="edge-fig11-delays",
    paper="edge-vs-host",
    where="Fig. 11, IV",
    kind="shape",
    says="A bound of 1 ms does little at small buffers, bounds of 100 and 200 ms cost goodput at large ones, and 10 ms "
    "is good at all; below 10 KB longer bounds gain the more the smaller the buffer.",
    printed={"delays_ms": [1, 10, 100, 200], "increasingly_below_kb": 10},
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            'What "relatively ineffective", "detrimental" and "a good compromise" mean.',
            "1 ms gives less than 10 ms outside the interval of the paired difference, and less than half of its gain, "
            "from 5 to 10 KB; 100 and 200 ms give less than 10 ms from 20 KB on, outside that interval; 10 ms is "
            "within "
            "2 % of the best of the four.",
            "The weakest statistics that the paper's sentences need to be of use to somebody who chooses a bound.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
