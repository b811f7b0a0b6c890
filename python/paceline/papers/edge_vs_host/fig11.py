"""Fig. 11, section IV: goodput against the core's buffer for four delay bounds of the edge pacer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host import curves
from paceline.papers.edge_vs_host.curves import GOODPUT, KBPS, THROUGHPUT, at
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, EDGE, METHODS, NONE, dumbbell
from paceline.results import Results
from paceline.scenario import Scenario

FULL = (3, 5, 10, 20, 30, 50)
QUICK = (3, 5, 20, 50)
SMALL, LARGE = 5, 20
SHORT, LONG = "edge 1 ms", ("edge 100 ms", "edge 200 ms")
BOUNDS = (SHORT, EDGE, *LONG)
#: A good compromise gives up at most so much of the best bound's goodput.
GOOD = 0.02


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Data paced; then acknowledgements too."""
    methods = [METHODS[0], *({"method": "edge", "delay": bound.removeprefix("edge ")} for bound in BOUNDS)]
    both = [{"method": "edge", "delay": bound.removeprefix("edge "), "acks": True} for bound in BOUNDS[1:]]
    return {
        "main": curves.sweep(dumbbell(), length, length.choose(FULL, QUICK), methods),
        "why-acks-too": curves.sweep(dumbbell(), length, length.choose((5, 20, 50), (5, 50)), both),
    }


def check(runs: Runs) -> Verdict:
    """1 ms has less than half of 10 ms's gain at small buffers, 100 and 200 ms lose to it at large ones."""
    main = runs["main"]
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for size in curves.sizes(main, 0, SMALL):
        share = _gain(main, SHORT, size) / _gain(main, EDGE, size)
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
    evidence += _why(runs)
    theirs = {"1 ms": "little at small buffers", "100, 200 ms": "less at large ones", "10 ms": "good at all"}
    return Verdict(criteria.judge(evidence), ours, theirs, _note(runs, evidence), evidence)


def _gain(results: Results, bound: str, size: int) -> float:
    return criteria.difference(at(results, bound, size), at(results, NONE, size), GOODPUT, KBPS).mean


def _why(runs: Runs) -> list[Evidence]:
    rows = []
    main, both = runs["main"], runs["why-acks-too"]
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

    return (
        f"{curves.held(evidence)} criteria hold. Against 10 ms, the long bounds change goodput at {size} KB by "
        f"{changes(main, '')}, and by {changes(both, ' acks')} where acknowledgements are paced too."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """The paper's one panel."""
    figure, (ax,) = drawing.axes(1, (6.0, 3.8))
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
    "is good at all.",
    printed={"delays_ms": [1, 10, 100, 200]},
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            'What "relatively ineffective", "detrimental" and "a good compromise" mean.',
            "1 ms has less than half of the gain of 10 ms at 5 KB and below; 100 and 200 ms give less than 10 ms from "
            "20 KB on, outside the interval of the paired difference; 10 ms is within 2 % of the best of the four.",
            "The weakest statistics that the paper's sentences need to be of use to somebody who chooses a bound.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
