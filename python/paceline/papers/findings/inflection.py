"""Where is the point of inflection, over round trip, buffer and size of calls, and is there one of completion times?

Its first two sentences are as they were when seven cells along one axis at a time were judged, up to 4 N*. What is
judged now is a map of all 27 crossings, up to 16 N*; its statistic, with factors for differences, and the last sentence
of the hypothesis, on calls that fit into the buffer, were written after one run a cell under seed 5001, which judges
nothing, and before the first run of the map under the seeds that do.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import (
    COUNT,
    FCT,
    FCT_P99,
    HOSTS,
    IN_STEP,
    KERNEL,
    METHODS,
    NONE,
    PACED,
    PACER,
    TESTBED,
    UTILISATION,
    WINDOW,
    at,
    flows_of,
)
from paceline.papers.findings import seen
from paceline.results import Results
from paceline.scenario import Scenario

#: Numbers of flows that are searched, of N*. Where N* is 58, 16 N* are 928 calls of 1 MB at once, each 7 s long.
OVER_N_STAR, QUICK = (0.5, 1.0, 1.5, 2.5, 4.0, 8.0, 16.0), (0.5, 1.0, 2.5, 8.0)
FARTHEST = {58: 8.0, 29: 16.0, 14: 16.0}
PACKET = 1448
#: Paced is ahead where its lead adds up to so much of what unpaced has, over numbers of flows; less is noise.
LEAST_LEAD = 0.01
#: The two points are one within this factor; the tail's lies so much farther out.
ALIKE, LATER = 1.25, 1.5


@dataclass(frozen=True)
class Cell:
    """A place of the map.

    Attributes:
        round_trip: ms.
        n_star: C RTT / B, flows, by which the buffer is set.
        call: KB.
    """

    round_trip: int
    n_star: int
    call: int

    @property
    def name(self) -> str:
        return f"rtt-{self.round_trip}-n-{self.n_star}-call-{self.call}"

    @property
    def buffer(self) -> int:
        """Bytes, at 1 Gbit/s."""
        return self.round_trip * 125_000 // self.n_star

    @property
    def words(self) -> str:
        return f"{self.round_trip} ms, N* {self.n_star}, calls of {self.call} KB"

    @property
    def holds(self) -> bool:
        """Whether the buffer holds a call."""
        return self.buffer > 1000 * self.call


#: Each axis in the order in which the point over N* is to grow.
ROUND_TRIPS, N_STARS, CALLS = (10, 30, 100), (58, 29, 14), (1000, 300, 100)
CELLS: Sequence[Cell] = [Cell(rtt, n_star, call) for call in CALLS for rtt in ROUND_TRIPS for n_star in N_STARS]
AXES: Mapping[str, tuple[str, Sequence[int], str]] = {
    "round_trip": ("round trip", ROUND_TRIPS, "ms"),
    "n_star": ("buffer, as N*", N_STARS, "flows"),
    "call": ("size of calls", CALLS, "KB"),
}
#: What is compared; utilisation is better when greater, times when smaller.
PARTS: Mapping[str, tuple[str, float]] = {
    "utilisation": (UTILISATION, 1.0),
    "mean time": (FCT, -1.0),
    "99th percentile": (FCT_P99, -1.0),
}

#: How a picture shows what was found: a line to what has a point or none, over it what has none, and what never leads.
LOOKS: Sequence[tuple[Sequence[str], dict[str, Any]]] = (
    (("yes", "none"), {}),
    (("none",), {"linestyle": "none", "marker": "^", "markersize": 10}),
    (("never",), {"linestyle": "none", "marker": "x", "markersize": 8}),
)

STATISTIC = Assumption(
    "The statistic.",
    "Paced leads over the run of neighbouring numbers of flows over which its relative lead adds up to most, if to 1 % "
    "at least; the point is where that ends, over N*, seed by seed, from half of N* to 16 N* (8 where N* is 58). No "
    "end up to there counts as the last number, no lead at all as a half. By utilisation it grows at each step of each "
    "axis (10, 30, 100 ms; N* of 58, 29, 14; calls of 1000, 300, 100 KB), as the mean factor over the nine lines of "
    "the map along that axis, interval included. In each of nine cells a round trip the point by the mean time is the "
    "same within a factor of 1.25, and by the 99th percentile farther out by a factor of 1.5, or without an end, "
    "wherever that by utilisation has one under every seed; and with half of N* unpaced uses more of the link if the "
    "buffer holds a call, and less if not.",
    "N* is the paper's own scale, so a number that grows along an axis says what the scale leaves out. Connections "
    "always have a call under way, so that by Little's law the mean time goes with throughput; the tail need not. What "
    "fits into the buffer loses nothing at first, and to spread it only takes time.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep a cell over numbers of flows."""
    return {cell.name: over(length, cell) for cell in CELLS}


def over(length: Length, cell: Cell) -> Scenario:
    """Paced and unpaced over numbers of flows about N*; long enough for calls of the most flows."""
    scenario = Scenario(tomllib.loads(TESTBED)).set("title", f"The point of inflection: {cell.words}")
    slow, large = cell.round_trip > 50, cell.call == CALLS[0]
    long = (("24 s", "10 s") if slow else ("12 s", "4 s")) if large else (("16 s", "7 s") if slow else ("8 s", "3 s"))
    duration, warmup = length.choose(long, ("8 s", "3 s"))
    packets = -(-cell.call * 1000 // PACKET)
    for path, value in {
        "duration": duration,
        "warmup": warmup,
        "network.core.delay": f"{cell.round_trip / 2 - 0.1:g} ms",
        "network.core.buffer": f"{cell.buffer} B",
        "traffic.rpc.response": f"{cell.call} KB",
        "traffic.rpc.tcp.max_window": f"{packets + 3} packets",
    }.items():
        scenario = scenario.set(path, value)
    return scenario.over({"pacing": METHODS, COUNT: connections(length, cell)}).seeds(length.seed_count(5, 2))


def connections(length: Length, cell: Cell) -> list[int]:
    """Of each pair of hosts."""
    shares = [share for share in length.choose(OVER_N_STAR, QUICK) if share <= FARTHEST[cell.n_star]]
    return [max(round(share * cell.n_star / HOSTS), 1) for share in shares]


@dataclass(frozen=True)
class Point:
    """Where unpaced overtakes under one seed, over N*; the last number of flows where it does not, else the first.

    Attributes:
        found: ``yes``, ``none`` up to the last number, or ``never`` did paced lead.
    """

    place: float
    found: str


def point(flows: Sequence[int], gaps: Sequence[float], n_star: int, least: float = LEAST_LEAD) -> Point:
    """The end of the stretch in which paced leads, by a straight line between two numbers of flows.

    `gaps` is by how much unpaced is ahead, relative. The stretch is that of the greatest sum of paced's leads, of
    `least` at least.
    """
    size = len(gaps)
    stretches = [(first, last) for first in range(size) for last in range(first + 1, size + 1)]
    first, last = max(stretches, key=lambda ends: -sum(gaps[ends[0] : ends[1]]))
    if -sum(gaps[first:last]) < least:
        return Point(flows[0] / n_star, "never")
    if last == size:
        return Point(flows[-1] / n_star, "none")
    below, above = min(gaps[last - 1], 0.0), max(gaps[last], 0.0)
    share = below / (below - above) if below < above else 0.5
    return Point((flows[last - 1] + (flows[last] - flows[last - 1]) * share) / n_star, "yes")


def points(results: Results, cell: Cell, part: str, least: float = LEAST_LEAD) -> dict[int, Point]:
    """The point by seed."""
    flows = flows_of(results)
    return {seed: point(flows, gaps, cell.n_star, least) for seed, gaps in leads(results, part).items()}


def leads(results: Results, part: str) -> dict[int, list[float]]:
    """By how much unpaced is ahead, relative, at each number of flows, by seed."""
    path, sign = PARTS[part]
    found: dict[int, list[float]] = {}
    for flows in flows_of(results):
        theirs = criteria.by_seed(at(results, PACED, flows), path)
        for seed, value in criteria.by_seed(at(results, NONE, flows), path).items():
            found.setdefault(seed, []).append(sign * (value / theirs[seed] - 1))
    return found


Map = Mapping[Cell, Mapping[str, Mapping[int, Point]]]


def check(runs: Runs, least: float = LEAST_LEAD) -> Verdict:
    """Growth along each axis; the mean's point beside utilisation's, the tail's beyond it; few flows."""
    places: Map = {cell: {part: points(runs[cell.name], cell, part, least) for part in PARTS} for cell in CELLS}
    evidence = growth(places)
    half = {cell: interval(gaps[0] for gaps in leads(runs[cell.name], "utilisation").values()) for cell in CELLS}
    for rtt in ROUND_TRIPS:
        cells = [cell for cell in CELLS if cell.round_trip == rtt]
        sure = [cell for cell in cells if everywhere(places[cell])]
        near = [cell for cell in sure if alike(places[cell])]
        evidence.append(all_of(f"have the same point by mean time, cells of {rtt} ms", near, sure))
        far = [cell for cell in sure if beyond(places[cell])]
        evidence.append(all_of(f"have the tail's point farther out, cells of {rtt} ms", far, sure))
        kept = [cell for cell in cells if (gap := half[cell]) and (gap.low > 0 if cell.holds else gap.high < 0)]
        words = f"lead unpaced at half of N* just if the buffer holds a call, cells of {rtt} ms"
        evidence.append(all_of(words, kept, cells))
    ours: dict[str, float | str] = {}
    for cell in CELLS:
        for part in PARTS:
            found = places[cell][part]
            ours[f"{cell.words}, {part}"] = text(found, cell)
            value = interval(one.place for one in found.values())
            assert value is not None
            evidence.append(criteria.inform(f"point over N* by {part}, {cell.words}", value, kinds(found, cell)))
        if (gap := half[cell]) is not None:
            words = f"utilisation at half of N*, {cell.words}: unpaced over paced − 1"
            evidence.append(criteria.inform(words, gap, f"a buffer of {cell.buffer / 1000:.0f} KB"))
    theirs = {"the paper": "from 1 to 2, everywhere"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(places), evidence)


def growth(places: Map) -> list[Evidence]:
    """At each step of each axis the mean factor by which the point over N* grows, over the lines along the axis."""
    rows = []
    for axis, (words, values, unit) in AXES.items():
        for before, after in pairwise(values):
            name = f"point of inflection over N*, {words}: doublings from {before} to {after} {unit}"
            rows.append(criteria.order(name, step(places, axis, before, after)))
    return rows


def step(places: Map, axis: str, before: int, after: int) -> Interval:
    """Doublings of the point from one value of an axis to the next, mean over the lines, by seed."""
    by_seed: dict[int, list[float]] = {}
    for cell in CELLS:
        if getattr(cell, axis) == before:
            other = places[replace(cell, **{axis: after})]["utilisation"]
            for seed, one in places[cell]["utilisation"].items():
                by_seed.setdefault(seed, []).append(math.log2(other[seed].place / one.place))
    found = interval(sum(some) / len(some) for some in by_seed.values())
    assert found is not None
    return found


def factor(places: Mapping[str, Mapping[int, Point]], part: str) -> Interval:
    """Doublings from the point by utilisation to that by another number, seed by seed."""
    base = places["utilisation"]
    found = interval(math.log2(one.place / base[seed].place) for seed, one in places[part].items())
    assert found is not None
    return found


def everywhere(places: Mapping[str, Mapping[int, Point]]) -> bool:
    """Whether utilisation has a point under every seed."""
    return all(one.found == "yes" for one in places["utilisation"].values())


def alike(places: Mapping[str, Mapping[int, Point]]) -> bool:
    """Whether mean time and utilisation have one point, interval included."""
    apart = factor(places, "mean time")
    return max(abs(apart.low), abs(apart.high)) <= math.log2(ALIKE)


def beyond(places: Mapping[str, Mapping[int, Point]]) -> bool:
    """Whether the tail's point lies farther out, interval included, or has no end under any seed."""
    if all(one.found == "none" for one in places["99th percentile"].values()):
        return True
    return factor(places, "99th percentile").low > math.log2(LATER)


def all_of(words: str, some: Sequence[Cell], cells: Sequence[Cell]) -> Evidence:
    """A row that holds if each of these cells is among `some`, and there is one."""
    criterion = f"all {len(cells)}" + ("" if len(cells) == len(CELLS) // 3 else " that have a point")
    return Evidence(words, float(len(some)), None, criterion, bool(cells) and len(some) == len(cells))


def kinds(found: Mapping[int, Point], cell: Cell) -> str:
    """How many seeds have no point, and why."""
    none, never = (sum(one.found == kind for one in found.values()) for kind in ("none", "never"))
    return f"{none} of {len(found)} seeds have none up to {FARTHEST[cell.n_star]:g} N*, {never} no lead of paced"


def middle(found: Iterable[Point]) -> Point:
    """The median seed's, by place."""
    ordered = sorted(found, key=lambda one: one.place)
    return ordered[(len(ordered) - 1) // 2]


def text(found: Mapping[int, Point], cell: Cell) -> str:
    """``1.8``, ``none to 16`` or ``never``, of the median seed."""
    one = middle(found.values())
    return {"yes": f"{one.place:.1f}", "none": f"none to {FARTHEST[cell.n_star]:g}", "never": "never"}[one.found]


def note(places: Map) -> str:
    """The answer in two sentences, and how far it holds."""
    medians = {cell: middle(places[cell]["utilisation"].values()) for cell in CELLS}
    sure = [cell for cell, one in medians.items() if one.found == "yes"]
    inside = [cell for cell in sure if 1 <= medians[cell].place <= 2]
    never = [cell for cell, one in medians.items() if one.found == "never"]
    tails = [cell for cell in CELLS if middle(places[cell]["99th percentile"].values()).found == "none"]
    ranges = ", ".join(
        f"{min(some):.1f} to {max(some):.1f} ({rtt} ms)"
        for rtt in ROUND_TRIPS
        if (some := [medians[cell].place for cell in sure if cell.round_trip == rtt])
    )

    def line(call: int, rtt: int) -> str:
        cells = [Cell(rtt, n_star, call) for n_star in N_STARS]
        return f"{rtt} ms: {', '.join(text(places[cell]['utilisation'], cell) for cell in cells)}"

    table = ". ".join(f"Calls of {call} KB, {'; '.join(line(call, rtt) for rtt in ROUND_TRIPS)}" for call in CALLS)
    always = [cell for cell in CELLS if everywhere(places[cell])]
    near, held = sum(alike(places[cell]) for cell in always), [cell for cell in never if cell.holds]
    return (
        f"{'N* alone does not say it: by' if len(inside) < len(CELLS) / 2 else 'By'} the use of the link unpaced "
        f"overtakes at {ranges} times N*, between N* and 2 N* in {len(inside)} of {len(CELLS)} cells, and in "
        f"{len(never)} paced never leads, {'all' if held == never else len(held)} of them with a buffer that holds a "
        f"call. By the mean time of a call it is the same in {near} of the {len(always)} cells that have a point under "
        f"every seed; by the 99th percentile paced calls are still the shorter ones at the most flows that were "
        f"run in {len(tails)} of {len(CELLS)} cells: who waits for the slowest call may pace far beyond the point. "
        f"Where unpaced overtakes, over N*, for N* of {', '.join(map(str, N_STARS))}, in the median of seeds. {table}. "
        "How far: calls back to back over kept connections on four pairs of hosts, 1 Gbit/s, CUBIC of 2010, 8 to 24 s "
        "a run. Never: paced does not lead from half of N* on. None to 16: it leads up to 16 N* and perhaps beyond."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """The point over N* by utilisation, against the round trip: a panel a size of calls, a curve a buffer."""
    figure, panels = drawing.axes(len(CALLS))
    tails = sum(middle(points(runs[cell.name], cell, "99th percentile").values()).found == "none" for cell in CELLS)
    for ax, call in zip(panels, CALLS, strict=True):
        for slot, n_star in enumerate(N_STARS):
            cells = [Cell(rtt, n_star, call) for rtt in ROUND_TRIPS]
            found = [middle(points(runs[cell.name], cell, "utilisation").values()) for cell in cells]
            # beside each other, where several are at an end of the scale
            places = [(rtt * 1.06 ** (slot - 1), one) for rtt, one in zip(ROUND_TRIPS, found, strict=True)]
            for kinds_of, look in LOOKS:
                some = [(x, one.place) for x, one in places if one.found in kinds_of]
                name = "_" if look else f"N* of {n_star}"
                drawing.curve(ax, [x for x, _ in some], [y for _, y in some], name, slot, **look)
        drawing.logarithmic(ax, "x", ROUND_TRIPS)
        drawing.logarithmic(ax, "y", (0.5, 1, 2, 4, 8, 16))
        ax.set_xlim(8, 125)
        ax.set_ylim(0.36, 26)
        ax.set_xlabel("round trip, ms")
        ax.set_title(f"calls of {call} KB", fontsize="medium", loc="left", color=drawing.INK)
        for bound in (1, 2):
            ax.axhline(bound, color=drawing.PRINTED, linewidth=0.9, linestyle=":")
    panels[0].set_ylabel("unpaced overtakes at, flows over N*")
    drawing.legend(panels[0], loc="upper left")
    caption = (
        "Where unpaced flows overtake paced ones by use of the link, in numbers of flows over N* = C RTT / B: the "
        "median of seeds. A triangle: not up to there; a cross: paced never leads. Dotted, N* and 2 N*, between which "
        f"the paper has it. By the 99th percentile of calls {tails} of {len(CELLS)} cells have no point up to 8 N* "
        "(N* of 58) and 16 N*."
    )
    return [drawing.picture(figure, "inflection", caption)]


CLAIM = Claim(
    id="finding-inflection",
    paper="findings",
    where="point of inflection",
    kind="shape",
    question="From how many flows on does pacing at hosts cost?",
    says="N* is not the scale of it: over N* the point of inflection grows with the round trip, with the buffer and "
    "with smaller calls. By the mean time of a call it is the same as by the use of the link, by the 99th percentile "
    "far later. Few flows gain by pacing unless the buffer holds a call.",
    printed={},
    assumptions=(
        seen(
            "For the first two sentences, runs of dc-poi (points at 75, 43 and 60 flows where N* is 58, 29 and 14) and "
            "quick runs of dc-setups (with twice N* unpaced is behind at 100 ms); single runs: no point by the 99th "
            "percentile up to 100 flows, calls of 100 KB near 198 flows. Since then seven cells along one axis at a "
            "time, judged up to 4 N*, of which the sentences came out in part. For the last sentence, a run a cell of "
            "the map under seed 5001, with 0.5, 1, 2, 4 and 8 N*, which judges nothing."
        ),
        STATISTIC,
        PACER,
        WINDOW,
        IN_STEP,
        KERNEL,
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
