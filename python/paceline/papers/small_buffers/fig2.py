"""Fig. 2, section II: throughput against the core's buffer, by how many access links are fast.

Criteria are the text's own numbers, fixed before the runs that judge them: 5, "roughly 10" and 15 packets for 90 %, "a
two-fold increase" where half of the links are fast and "three-fold" where all are. Both are of whole packets, as the
text has them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.small_buffers.network import (
    ASSUMPTIONS,
    BUFFER,
    MIXES,
    TARGET,
    UTILISATION,
    at,
    buffer_for,
    crossing,
    crossings,
    dumbbell,
    label,
    sizes,
)
from paceline.results import Results
from paceline.scenario import Scenario

#: Buffers of each mix, packets: close to where the paper has 90 %, and wide apart elsewhere.
FULL = {"slow": (4, 5, 6, 10, 15, 20), "half": (5, 8, 9, 10, 20), "fast": (5, 13, 14, 15, 20)}
QUICK = {"slow": (4, 5, 6, 10), "half": (8, 9, 10), "fast": (13, 14, 15)}
PRINTED = {"slow_access": 5, "half_fast": 10, "all_fast": 15}
#: How many times the buffer of slow access, by mix.
FOLD = {"half": 2, "fast": 3}
WORDS = {"slow": "all at 10 Mbit/s", "half": "half at 1 Gbit/s", "fast": "all at 1 Gbit/s"}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep over buffers for each mix."""
    return {mix: over_buffers(dumbbell(mix), length.choose(FULL, QUICK)[mix], length) for mix in MIXES}


def over_buffers(scenario: Scenario, packets: Sequence[int], length: Length, full: int = 5) -> Scenario:
    """The scenario over these buffers, at this length, under `full` seeds where that is full."""
    if length.quick:
        scenario = scenario.set("duration", "40 s").set("warmup", "15 s")
    return scenario.over({BUFFER: [label(size) for size in packets]}).seeds(length.seed_count(full))


def check(runs: Runs) -> Verdict:
    """The buffer that gives 90 %, for each mix, and how many times that of slow access it is."""
    evidence: list[Evidence] = []
    ours: dict[str, float | None] = {}
    for mix, (name, printed) in zip(MIXES, PRINTED.items(), strict=True):
        found = buffer_for(runs[mix])
        evidence.append(enough(f"smallest buffer for {TARGET:.0%} of the core, access {WORDS[mix]}", found, printed))
        if where := crossing(runs[mix]):
            evidence.append(
                criteria.inform(f"where {TARGET:.0%} is crossed, {WORDS[mix]}, packets", where, "not whole")
            )
        ours[name] = None if found is None else round(found.mean, 1)
        if printed in sizes(runs[mix]):
            value = criteria.mean(at(runs[mix], printed), UTILISATION)
            evidence.append(
                criteria.inform(f"throughput at {printed} packets, {WORDS[mix]}, of the core", value, "nearly 0.9")
            )
    theirs: dict[str, float] = dict(PRINTED)
    for mix, printed in FOLD.items():
        ratio = fold(runs["slow"], runs[mix])
        what = f"buffer over that of slow access, {WORDS[mix]}"
        evidence.append(
            Evidence(what, "beyond the buffers run", None, f"{printed:g} within 5 %", False)
            if ratio is None
            else criteria.within(what, ratio, printed)
        )
        ours[f"{mix}_over_slow"] = None if ratio is None else round(ratio.mean, 2)
        theirs[f"{mix}_over_slow"] = printed
    return Verdict(criteria.judge(evidence), ours, theirs, note(evidence, ours), evidence)


def fold(few: Results, many: Results) -> Interval | None:
    """How many times the buffer that `few` need `many` do, in whole packets, seed by seed."""
    less, more = crossings(few), crossings(many)
    ratios = [
        math.ceil(b) / math.ceil(a) for seed in less.keys() & more.keys() if (a := less[seed]) and (b := more[seed])
    ]
    return interval(ratios) if len(ratios) == len(less) else None


def note(evidence: Sequence[Evidence], ours: Mapping[str, float | None]) -> str:
    """Whether the buffers are as printed, and their ratios."""
    text = (
        "For every mix the smallest buffer that gives 90 % of the core is within one packet of the paper's."
        if all(row.ok is not False for row in evidence if row.statistic.startswith("smallest"))
        else "Where a mix needs another buffer, its rows say by how much; runs of 40 s have not settled."
    )
    ratios = [ours[f"{mix}_over_slow"] for mix in FOLD]
    if None in ratios:
        return text
    return (
        f"{text} Of that of slow access the others are {ratios[0]:g} and {ratios[1]:g} times, where the text has two- "
        "and threefold: a packet more or less of five moves that by a fifth."
    )


def enough(statistic: str, found: Interval | None, printed: float) -> Evidence:
    """Whether the buffer that gives 90 % is the one printed, within a packet."""
    if found is None:
        return Evidence(statistic, "beyond the buffers run", None, f"{printed:g} packets within one", False)
    return criteria.packets(statistic, found, printed)


def draw(runs: Runs) -> Sequence[Picture]:
    """The three curves of the paper."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    for slot, mix in enumerate(MIXES):
        found = sizes(runs[mix])
        values = [criteria.mean(at(runs[mix], size), UTILISATION, 0.01) for size in found]
        drawing.curve(ax, found, values, WORDS[mix], slot)
    for packets in PRINTED.values():
        drawing.printed(ax, packets, 100 * TARGET, f"{packets}", offset=(3, -14))
    ax.set_xlabel("buffer of the core link, packets")
    ax.set_ylabel("throughput, % of 200 Mbit/s")
    drawing.legend(ax, loc="lower right")
    caption = (
        "1000 unpaced Reno flows: means over seeds with 95 % intervals. Crosses: the buffers that the paper names for "
        "90 %, 5, 10 and 15 packets."
    )
    return [drawing.picture(figure, "fig2", caption)]


CLAIM = Claim(
    id="zhao-fig2",
    paper="small-buffers",
    where="Fig. 2, II",
    kind="number",
    says="For 90 % of the core, 5 packets of buffer do behind slow access links, roughly 10 if half of them are fast, "
    "and 15 if all are: two- and threefold.",
    printed=PRINTED | {f"{mix}_over_slow": times for mix, times in FOLD.items()},
    assumptions=ASSUMPTIONS,
    sweeps=sweeps,
    check=check,
    draw=draw,
)
