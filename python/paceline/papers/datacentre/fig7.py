"""Fig. 7, section IV-C: at exactly N* = C RTT / B flows, over buffers.

All three panels are judged, the 99th percentile too: the text has "the bottleneck link utilization and flow completion
times" plotted, and of them that "paced and non-paced cases perform similarly".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import (
    ASSUMPTIONS,
    FCT,
    FCT_P99,
    METHODS,
    MS,
    NONE,
    PACED,
    PACING,
    UTILISATION,
    network,
)
from paceline.results import Results
from paceline.scenario import Scenario

#: Buffers, KB. Bandwidth times round trip is 3750 KB.
FULL = (40, 64, 96, 128, 192, 256)
QUICK = (64, 128, 256)
#: What each panel shows.
PANELS = {"utilisation": UTILISATION, "mean time of a call": FCT, "99th percentile": FCT_P99}
#: About the same: paced and unpaced differ by no more than this share of the unpaced.
ALIKE = 0.10

STATISTIC = Assumption(
    "What counts as performing about the same, and at which buffers.",
    "Utilisation, the mean time of a call and its 99th percentile differ by no more than 10 % at each of six buffers, "
    "40 to 256 KB.",
    "The paper shows curves and gives no number; its own figures move by a few percent from point to point.",
)


def n_star(size: int) -> int:
    """Whole flows in C RTT / B, with 1 Gbit/s and 30 ms; `size` in KB."""
    return 3750 // size


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep a buffer."""
    sizes = length.choose(FULL, QUICK)
    found = {
        f"main-{size}": network(length, size, n_star(size)).over({PACING: METHODS}).seeds(length.seed_count())
        for size in sizes
    }
    if not length.quick:
        for size in QUICK:
            twice = network(length, size, 2 * n_star(size)).over({PACING: METHODS})
            found[f"why-twice-{size}"] = twice.seeds(length.seed_count(3))
    return found


def check(runs: Runs) -> Verdict:
    """Differences no larger than 10 %."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for size in sizes(runs):
        unpaced, paced = both(runs[f"main-{size}"])
        for what, path in PANELS.items():
            gap = criteria.difference(paced, unpaced, path, relative=True)
            ours[f"{what}, {size} KB"] = round(gap.mean, 4)
            name = f"{what}: paced over unpaced − 1, {size} KB, {n_star(size)} flows"
            ends = None if gap.half is None else (gap.mean - gap.half, gap.mean + gap.half)
            evidence.append(Evidence(name, gap.mean, ends, f"within ±{ALIKE:g}", abs(gap.mean) <= ALIKE))
    evidence += [
        criteria.inform(
            f"utilisation: paced over unpaced − 1, {size} KB, {2 * n_star(size)} flows",
            ahead(runs[f"why-twice-{size}"]),
            "why-twice: at 2 N* flows",
        )
        for size in QUICK
        if f"why-twice-{size}" in runs
    ]
    return Verdict(criteria.judge(evidence), ours, {"difference": "about none"}, note(runs, ours), evidence)


def note(runs: Runs, ours: Mapping[str, float]) -> str:
    """What paced is ahead by at N* flows, buffer by buffer, and at 2 N*."""
    leads = {name.rpartition(", ")[2]: gap for name, gap in ours.items() if name.startswith("utilisation")}
    tails = {name.rpartition(", ")[2]: gap for name, gap in ours.items() if name.startswith("99th percentile")}
    told, slowest = (
        ", ".join(f"{round(gap, 2) + 0:+.0%} ({size})" for size, gap in found.items()) for found in (leads, tails)
    )
    text = f"With N* flows pacing changes the use of the link by {told}, and the 99th percentile of calls by {slowest}."
    if min(leads.values()) > -ALIKE and max(leads.values()) > ALIKE:
        text += (
            " That agrees with the paper's Theorem 1, by which N* bounds the point of inflection from below, better "
            "than "
            "with its Fig. 7, which has both alike."
        )
    twice = [(size, ahead(runs[f"why-twice-{size}"]).mean) for size in QUICK if f"why-twice-{size}" in runs]
    if twice:
        gaps = ", ".join(f"{gap:+.0%} ({size} KB)" for size, gap in twice)
        text += f" With 2 N* flows it changes the use of the link by {gaps} (why-twice)."
    return text


def ahead(results: Results) -> Interval:
    """Paced over unpaced utilisation, less one."""
    unpaced, paced = both(results)
    return criteria.difference(paced, unpaced, UTILISATION, relative=True)


def both(results: Results) -> tuple[Results, Results]:
    """Unpaced and paced runs."""
    return results.where({PACING: NONE}), results.where({PACING: PACED})


def sizes(runs: Runs) -> list[int]:
    """Buffers that were run, KB."""
    return sorted(int(name.partition("-")[2]) for name in runs if name.startswith("main-"))


def draw(runs: Runs) -> Sequence[Picture]:
    """Three panels over buffers."""
    figure, panels = drawing.axes(3)
    columns = (
        (UTILISATION, 1.0, "utilisation of the core"),
        (FCT, MS, "mean time of a call, ms"),
        (FCT_P99, MS, "99th percentile, ms"),
    )
    for ax, (path, scale, words) in zip(panels, columns, strict=True):
        for slot, pacing in enumerate((NONE, PACED)):
            values = [criteria.mean(runs[f"main-{size}"].where({PACING: pacing}), path, scale) for size in sizes(runs)]
            drawing.curve(ax, sizes(runs), values, pacing, slot)
        ax.set_xlabel("buffer of the core link, KB")
        ax.set_ylabel(words)
        drawing.from_zero(ax)
    drawing.legend(panels[0], loc="lower right")
    caption = "N* = C RTT / B flows at each buffer. The paper: paced and unpaced about the same."
    return [drawing.picture(figure, "fig7", caption)]


CLAIM = Claim(
    id="dc-fig7",
    paper="datacentre",
    where="Fig. 7, IV-C",
    kind="shape",
    says="With exactly N* flows paced and unpaced perform about the same, whatever the buffer.",
    printed={},
    assumptions=(*ASSUMPTIONS, STATISTIC),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
