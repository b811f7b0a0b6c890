"""Fig. 4 to 6, section IV-C: the number of flows at which unpaced overtakes paced, by the core's buffer.

Criteria were fixed from the text before the runs that judge them: the three points of inflection and their bounds;
that below the point paced has shorter calls too, in the mean and at the 99th percentile (Fig. 4 to 6, panels b and c);
that over 128 KB paced loses less at every number of flows, "even after the PoI" (of Fig. 4, 64 KB, `fig8` judges it);
that a buffer of 256 KB, 6.8 % of the product of rate and round trip, "is enough to have no packet drops"; and that the
bound C RTT / B is 58, 29 and 14 flows, which the paper rounds down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import (
    ASSUMPTIONS,
    COUNT,
    FCT,
    FCT_P99,
    LINUX,
    LINUX_PACED,
    LOSS,
    METHODS,
    MS,
    NONE,
    PACED,
    PACING,
    PERCENT,
    UTILISATION,
    at,
    counts,
    flows_of,
    network,
)
from paceline.results import Results
from paceline.scenario import Scenario
from paceline.theory import inflection as theory

#: The bound C RTT / B of the paper and the points of inflection that it prints, by buffer in KB.
N_STAR = {64: 58, 128: 29, 256: 14}
PRINTED_POI = {64: 80, 128: 48, 256: 19}
#: Here it saw fewer drops paced, with any number of flows, and here no drops at all.
ALWAYS_LESS_KB = 128
LOSSLESS_KB = 256
PRINTED = {"buffer_kb": list(N_STAR), "n_star": list(N_STAR.values()), "poi": list(PRINTED_POI.values())}

FULL: Mapping[int, Sequence[int]] = {
    64: (8, 16, 32, 48, 56, 64, 72, 80, 88, 100),
    128: (8, 16, 24, 32, 40, 48, 56, 64, 80, 100),
    256: (8, 12, 16, 20, 24, 28, 32, 40, 64, 100),
}
QUICK: Mapping[int, Sequence[int]] = {64: (32, 56, 72, 100), 128: (24, 40, 56, 100), 256: (12, 24, 40, 100)}
#: Of experiments: about the crossings.
NEAR = {64: (56, 72, 80, 100), 128: (32, 40, 48, 64), 256: (16, 20, 24, 32, 40)}
TCP = "traffic.rpc.tcp"
#: What else may decide, by name: settings of the scenario, and in words.
CHOICES: Mapping[str, tuple[Mapping[str, object], str]] = {
    "today": ({f"{TCP}.rack": True, f"{TCP}.count_packets": True}, "Linux of today"),
    "newreno": ({f"{TCP}.variant": "newreno"}, "NewReno in place of CUBIC"),
    "cubic-2007": ({f"{TCP}.constants": "linux-2007"}, "CUBIC's constants before 2.6.25, beta 0.8"),
    "in-step": ({"network.access.rate": "1 Gbit/s"}, "access links of 1 Gbit/s to the bit"),
}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep a buffer, over flows; experiments near the crossings."""
    found = {f"main-{size}": main(length, size) for size in N_STAR}
    if length.quick:
        return found
    for size, near in NEAR.items():
        scenario = network(length, size)
        found[f"why-linux-{size}"] = scenario.over({PACING: [LINUX], COUNT: counts(near)}).seeds(length.seed_count(3))
        short = scenario.set("duration", "30 s")
        for name, (settings, _) in CHOICES.items():
            changed = short
            for path, value in settings.items():
                changed = changed.set(path, value)
            found[f"why-{name}-{size}"] = changed.over({PACING: METHODS, COUNT: counts(near)}).seeds(
                length.seed_count(3)
            )
    return found


def main(length: Length, size: int) -> Scenario:
    """Paced and unpaced over the numbers of flows of a figure; `size` of the buffer in KB."""
    flows = length.choose(FULL, QUICK)[size]
    return network(length, size).over({PACING: METHODS, COUNT: counts(flows)}).seeds(length.seed_count())


def check(runs: Runs) -> Verdict:
    """Three printed numbers of flows, and the bounds that the paper finds around each."""
    evidence: list[Evidence] = []
    ours: dict[str, float | None] = {}
    for size, bound in N_STAR.items():
        found = inflection(runs[f"main-{size}"], runs[f"main-{size}"])
        ours[f"poi_{size}kb"] = None if found is None else round(found.mean, 1)
        name = f"flows at which unpaced overtakes paced, {size} KB"
        criterion = f"{PRINTED_POI[size]} flows within 5 %"
        bounds = f"{name}: from N* = {bound} to 2 N*"
        if found is None:
            evidence += [
                Evidence(name, None, None, criterion, False),
                Evidence(bounds, None, None, f"{bound} to {2 * bound}", False),
            ]
            continue
        evidence.append(criteria.within(name, found, PRINTED_POI[size], "flows"))
        kept = bound <= found.mean <= 2 * bound
        evidence.append(Evidence(bounds, found.mean, _ends(found), f"{bound} to {2 * bound}", kept))
    evidence += times(runs) + losses(runs) + lower_bounds() + experiments(runs)
    theirs = {f"poi_{size}kb": flows for size, flows in PRINTED_POI.items()}
    return Verdict(criteria.judge(evidence), ours, theirs, f"{_points(ours)} {NOTE}", evidence)


def _points(ours: Mapping[str, float | None]) -> str:
    told = ", ".join(
        f"{'some seed has none' if point is None else f'{point:g} flows'} at "
        f"{name.removeprefix('poi_').removesuffix('kb')} KB"
        for name, point in ours.items()
    )
    return f"The number of flows at which unpaced overtakes paced in utilisation: {told}."


NOTE = (
    "Where it lies depends on what the paper does not say: TCP's recovery and growth (why-newreno, why-cubic-2007, "
    "why-today) and the pacer's rule (why-linux) move it, for both curves lie within a few percent of each other for "
    "tens of flows around it. With "
    "hosts exactly in step (why-in-step) unpaced flows lock each other out. At 256 KB the paper saw no drops at all, "
    "even unpaced; here TCP grows until it loses, at any buffer."
)


def inflection(unpaced: Results, paced: Results, pacing: str = PACED) -> Interval | None:
    """The number of flows at which unpaced overtakes, over seeds; ``None`` where some seed has no such point."""
    flows = [number for number in flows_of(paced) if number in flows_of(unpaced)]
    ahead = leads([(at(unpaced, NONE, number), at(paced, pacing, number)) for number in flows])
    points = [overtaking(flows, gaps) for gaps in ahead.values() if len(gaps) == len(flows)]
    return None if None in points else interval(points)


def leads(
    pairs: Sequence[tuple[Results, Results]], path: str = UTILISATION, sign: float = 1.0
) -> dict[int, list[float]]:
    """By how much the first of each pair is ahead in a number, seed by seed; `sign` is -1 where less is better."""
    ahead: dict[int, list[float]] = {}
    for unpaced, paced in pairs:
        theirs = criteria.by_seed(paced, path)
        for seed, value in criteria.by_seed(unpaced, path).items():
            if seed in theirs:
                ahead.setdefault(seed, []).append(sign * (value - theirs[seed]))
    return ahead


def overtaking(flows: Sequence[int], ahead: Sequence[float]) -> float | None:
    """Where `ahead` turns positive, by a straight line between two numbers of flows; ``None`` if it does not.

    Of several places, that which leaves the fewest points on the wrong side.
    """

    def wrong(place: int) -> int:
        return sum(gap > 0 for gap in ahead[:place]) + sum(gap <= 0 for gap in ahead[place:])

    place = min(range(len(ahead) + 1), key=wrong)
    if place in (0, len(ahead)):
        return None
    below, above = ahead[place - 1], ahead[place]
    return flows[place - 1] + (flows[place] - flows[place - 1]) * below / (below - above)


def times(runs: Runs) -> list[Evidence]:
    """Below the printed point paced calls are shorter too, in the mean and at the 99th percentile."""
    rows = []
    for size, point in PRINTED_POI.items():
        results = runs[f"main-{size}"]
        for flows in (number for number in flows_of(results) if number < point):
            unpaced, paced = (at(results, pacing, flows) for pacing in (NONE, PACED))
            for what, path in (("mean time of a call", FCT), ("99th percentile", FCT_P99)):
                name = f"{what}, {flows} flows, {size} KB: unpaced − paced, ms"
                rows.append(criteria.ahead(name, unpaced, paced, path, MS))
    return rows


def losses(runs: Runs) -> list[Evidence]:
    """Drops: less paced at 128 KB, Fig. 5; none at 256 KB, with as many flows as the paper ran, paced or not."""
    rows = []
    results = runs[f"main-{ALWAYS_LESS_KB}"]
    for flows in flows_of(results):
        unpaced, paced = (at(results, pacing, flows) for pacing in (NONE, PACED))
        name = f"loss: unpaced − paced, {flows} flows, {ALWAYS_LESS_KB} KB, %"
        rows.append(criteria.ahead(name, unpaced, paced, LOSS, PERCENT))
    for size in N_STAR:
        results = runs[f"main-{size}"]
        flows = flows_of(results)[-1]
        for pacing in (NONE, PACED):
            loss = criteria.mean(at(results, pacing, flows), LOSS, PERCENT)
            name = f"loss at {flows} flows, {size} KB, {pacing}, %"
            if size == LOSSLESS_KB:
                rows.append(Evidence(name, loss.mean, None, "0", loss.mean == 0))
            else:
                rows.append(criteria.inform(name, loss, "the paper: none at 256 KB"))
    return rows


def lower_bounds() -> list[Evidence]:
    """N* by the formula."""
    return [
        criteria.within(f"N* = C RTT / B, {size} KB", float(theory.flows("1 Gbit/s", "30 ms", f"{size} KB")), bound)
        for size, bound in N_STAR.items()
    ]


def experiments(runs: Runs) -> list[Evidence]:
    """The point of inflection under other choices."""
    rows = []
    for name, (_, words) in CHOICES.items():
        for size in N_STAR:
            results = runs.get(f"why-{name}-{size}")
            if results is not None:
                rows.append(_moved(inflection(results, results), size, words, f"why-{name}"))
    for size in N_STAR:
        results = runs.get(f"why-linux-{size}")
        if results is not None:
            words = "Linux's rule of pacing"
            rows.append(_moved(inflection(runs[f"main-{size}"], results, LINUX_PACED), size, words, "why-linux"))
    return rows


def _moved(found: Interval | None, size: int, words: str, name: str) -> Evidence:
    statistic = f"flows at which unpaced overtakes, {size} KB, {words}"
    printed = f"{name}; the paper {PRINTED_POI[size]}"
    return criteria.inform(statistic, "no such point for some seed" if found is None else found, printed)


def _ends(found: Interval) -> tuple[float, float] | None:
    return None if found.half is None else (found.mean - found.half, found.mean + found.half)


def draw(runs: Runs) -> Sequence[Picture]:
    """A picture a figure: utilisation, mean and 99th percentile of the times of calls."""
    pictures = []
    for number, size in enumerate(N_STAR, 4):
        results = runs[f"main-{size}"]
        flows = flows_of(results)
        figure, panels = drawing.axes(3)
        columns = ((UTILISATION, 1.0), (FCT, MS), (FCT_P99, MS))
        for ax, (path, scale) in zip(panels, columns, strict=True):
            for slot, pacing in enumerate((NONE, PACED)):
                values = [criteria.mean(at(results, pacing, some), path, scale) for some in flows]
                drawing.curve(ax, flows, values, pacing, slot)
            ax.axvline(PRINTED_POI[size], color=drawing.PRINTED, linewidth=1.2, linestyle="--")
            ax.axvline(N_STAR[size], color=drawing.PRINTED, linewidth=1.4, linestyle=":")
            ax.set_xlabel("flows")
        for ax, words in zip(
            panels, ("utilisation of the core", "mean time of a call, ms", "99th percentile, ms"), strict=True
        ):
            ax.set_ylabel(words)
        # intervals of two seeds reach where no utilisation and no time is
        for ax, most in zip(panels, (1.02, float("inf")), strict=False):
            low, high = ax.get_ylim()
            ax.set_ylim(max(low, 0.0), min(high, most))
        drawing.logarithmic(panels[2], "y", (100, 200, 500, 1000, 2000, 5000))
        drawing.legend(panels[0], loc="lower right")
        caption = (
            f"Buffer of {size} KB: means over seeds with 95 % intervals. Dashed: the paper's point of inflection, "
            f"{PRINTED_POI[size]} flows; dotted: its bound N*, {N_STAR[size]}."
        )
        pictures.append(drawing.picture(figure, f"fig{number}", caption))
    return pictures


CLAIM = Claim(
    id="dc-poi",
    paper="datacentre",
    where="Fig. 4-6, IV-C",
    kind="number",
    says="Beyond 80, 48 and 19 flows, with 64, 128 and 256 KB of buffer, unpaced flows fill the link better than paced "
    "ones: from once to twice N* = C RTT / B, which is 58, 29 and 14 flows. With fewer paced calls are shorter too; "
    "with "
    "256 KB nothing is lost.",
    printed=PRINTED,
    assumptions=ASSUMPTIONS,
    sweeps=sweeps,
    check=check,
    draw=draw,
)
