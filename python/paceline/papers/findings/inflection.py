"""Where is the point of inflection, over round trip, buffer and size of calls, and is there one of completion times?"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.fig4 import leads, overtaking
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

#: Numbers of flows, of N*; beyond the last nothing is known.
OVER_N_STAR, QUICK = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0), (0.5, 1.0, 2.0, 4.0)
PACKET = 1448


@dataclass(frozen=True)
class Cell:
    """A place of the map.

    Attributes:
        round_trip: ms.
        n_star: C RTT / B, flows, by which the buffer is set.
        call: KB.
    """

    round_trip: int = 30
    n_star: int = 29
    call: int = 1000

    @property
    def buffer(self) -> int:
        """Bytes, at 1 Gbit/s."""
        return self.round_trip * 125_000 // self.n_star

    @property
    def words(self) -> str:
        return f"{self.round_trip} ms, N* {self.n_star}, calls of {self.call} KB"


#: Along three axes through the paper's own set-up; each axis in the order in which the point over N* is to grow.
CELLS: Mapping[str, Cell] = {
    "base": Cell(),
    "rtt-10": Cell(round_trip=10),
    "rtt-100": Cell(round_trip=100),
    "buffer-58": Cell(n_star=58),
    "buffer-14": Cell(n_star=14),
    "call-300": Cell(call=300),
    "call-100": Cell(call=100),
}
#: In the note: what differs from the paper's set-up.
SHORT: Mapping[str, str] = {
    "base": "30 ms, N* 29, 1 MB",
    "rtt-10": "10 ms",
    "rtt-100": "100 ms",
    "buffer-58": "N* 58",
    "buffer-14": "N* 14",
    "call-300": "300 KB",
    "call-100": "100 KB",
}
AXES: Mapping[str, Sequence[str]] = {
    "round trip": ("rtt-10", "base", "rtt-100"),
    "buffer": ("buffer-58", "base", "buffer-14"),
    "size of calls, from large to small": ("base", "call-300", "call-100"),
}
#: What is compared; utilisation is better when greater, times when smaller.
PARTS: Mapping[str, tuple[str, float]] = {
    "utilisation": (UTILISATION, 1.0),
    "mean time": (FCT, -1.0),
    "99th percentile": (FCT_P99, -1.0),
}
#: The two points are one if they differ by no more than this share of N*; the tail's lies so far beyond.
ALIKE, LATER = 0.25, 0.5

STATISTIC = Assumption(
    "The statistic.",
    "The number of flows at which unpaced overtakes paced over N*, seed by seed, from half of N* to 4 N*; none up to "
    "there "
    "counts as 4, and unpaced always ahead as a half. By utilisation it grows at each step of each axis (10, 30, 100 "
    "ms; "
    "N* of 58, 29, 14; calls of 1000, 300, 100 KB), outside the interval of the paired difference; by the mean time "
    "it is "
    "the same to a quarter of N*, and by the 99th percentile it is later than by utilisation by half of N* at least, "
    "intervals included, in each of seven cells.",
    "N* is the paper's own scale, so a number that grows along an axis says what the scale leaves out. Connections "
    "always have a call under way, so that by Little's law the mean time goes with throughput; the tail need not.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep a cell over numbers of flows."""
    return {name: over(length, cell) for name, cell in CELLS.items()}


def over(length: Length, cell: Cell) -> Scenario:
    """Paced and unpaced over numbers of flows about N*."""
    scenario = Scenario(tomllib.loads(TESTBED)).set("title", f"The point of inflection: {cell.words}")
    slow = cell.round_trip > 50
    duration, warmup = length.choose(("30 s", "12 s") if slow else ("15 s", "4 s"), ("12 s", "4 s"))
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
    counts = [max(round(share * cell.n_star / HOSTS), 1) for share in length.choose(OVER_N_STAR, QUICK)]
    return scenario.over({"pacing": METHODS, COUNT: counts}).seeds(length.seed_count(5, 2))


def check(runs: Runs) -> Verdict:
    """Growth along each axis; the mean's point beside utilisation's, and the tail's beyond it."""
    places = {name: {part: points(runs[name], CELLS[name], part) for part in PARTS} for name in CELLS}
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for axis, names in AXES.items():
        for before, after in pairwise(names):
            step = gap(places[after]["utilisation"], places[before]["utilisation"])
            what = f"point of inflection over N*, {axis}: {CELLS[after].words} − {CELLS[before].words}"
            evidence.append(criteria.order(what, step))
    for name, cell in CELLS.items():
        base = places[name]["utilisation"]
        apart = gap(places[name]["mean time"], base)
        far = max(abs(apart.low), abs(apart.high))
        what = f"distance of the point by mean time, over N*, {cell.words}"
        evidence.append(Evidence(what, apart.mean, (apart.low, apart.high), f"within ±{ALIKE:g}", far <= ALIKE))
        what = f"point by 99th percentile − by utilisation, over N*, {cell.words}"
        evidence.append(criteria.above(what, gap(places[name]["99th percentile"], base), LATER))
    for name, cell in CELLS.items():
        for part in PARTS:
            found = interval(places[name][part].values())
            assert found is not None
            ours[f"{cell.words}, {part}"] = round(found.mean, 2)
            beyond = sum(place >= OVER_N_STAR[-1] for place in places[name][part].values())
            words = f"{beyond} of {found.count} seeds have none up to 4 N*"
            evidence.append(criteria.inform(f"point over N* by {part}, {cell.words}", found, words))
    theirs = {"the paper": "from 1 to 2, everywhere"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(ours, places), evidence)


def points(results: Results, cell: Cell, part: str) -> dict[int, float]:
    """Where unpaced overtakes by this number, over N*, seed by seed; the ends where it does not, or always has."""
    path, sign = PARTS[part]
    flows = flows_of(results)
    ahead = leads([(at(results, NONE, number), at(results, PACED, number)) for number in flows], path, sign)
    return {seed: place(flows, gaps) / cell.n_star for seed, gaps in ahead.items()}


def place(flows: Sequence[int], ahead: Sequence[float]) -> float:
    """The point in flows; the largest number run where unpaced never comes to lead, the least where it always leads."""
    found = overtaking(flows, ahead)
    if found is not None:
        return found
    return float(flows[0]) if sum(gap > 0 for gap in ahead) > len(ahead) / 2 else float(flows[-1])


def gap(one: Mapping[int, float], other: Mapping[int, float]) -> Interval:
    """The difference, seed by seed."""
    found = interval(one[seed] - other[seed] for seed in sorted(one.keys() & other.keys()))
    assert found is not None
    return found


def note(ours: Mapping[str, float], places: Mapping[str, Mapping[str, Mapping[int, float]]]) -> str:
    """The answer in two sentences, and how far it holds."""
    last = OVER_N_STAR[-1]

    def each(part: str) -> str:
        return ", ".join(f"{ours[f'{CELLS[name].words}, {part}']:.1f} ({SHORT[name]})" for name in CELLS)

    inside = sum(all(1 <= place <= 2 for place in places[name]["utilisation"].values()) for name in CELLS)
    torn = [
        SHORT[name]
        for name in CELLS
        if {place >= last for place in places[name]["utilisation"].values()} == {True, False}
        and min(places[name]["utilisation"].values()) < 1
    ]
    tail = [SHORT[name] for name in CELLS if ours[f"{CELLS[name].words}, 99th percentile"] >= last]
    ends = [SHORT[name] for name in CELLS if ours[f"{CELLS[name].words}, utilisation"] > last - LATER]
    text = (
        "It hangs on the round trip, the buffer and the call as much as on N*: by utilisation unpaced overtakes at "
        "so many "
        f"times N*: {each('utilisation')}; from 1 to 2 under every seed in {inside} of {len(CELLS)} cells. By the "
        "mean time of a call "
        "it "
        f"is the same, {each('mean time')}, but by the 99th percentile paced calls are still the shorter ones at "
        f"{last:g} N*, under every seed, in {len(tail)} of {len(CELLS)}: who waits for the slowest call may pace far "
        f"beyond the point. {last:g} stands for none up to there"
    )
    if ends:
        text += f"; so of {', '.join(ends)} it cannot be told how much later the tail's point is"
    if torn:
        text += f"; of {', '.join(torn)} some seeds have unpaced ahead from the start and some never, and so no point"
    return (
        f"{text}. How far: calls back to back over kept connections on four pairs of hosts, 1 Gbit/s, CUBIC of 2010, "
        "one "
        "axis at a time."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """The point over N* along each axis, by three measures."""
    figure, panels = drawing.axes(len(AXES))
    ticks = {"round trip": "round_trip", "buffer": "n_star", "size of calls, from large to small": "call"}
    labels = {"round_trip": "round trip, ms", "n_star": "N* by the buffer, flows", "call": "size of a call, KB"}
    for ax, (axis, names) in zip(panels, AXES.items(), strict=True):
        for slot, part in enumerate(PARTS):
            found = [
                interval(points(runs[name], CELLS[name], part).values()) or Interval(0.0, None, 0) for name in names
            ]
            drawing.curve(ax, range(len(names)), found, part, slot)
        ax.set_xticks(range(len(names)), [str(getattr(CELLS[name], ticks[axis])) for name in names])
        ax.set_xlabel(labels[ticks[axis]])
        for bound in (1, 2):
            ax.axhline(bound, color=drawing.PRINTED, linewidth=0.9, linestyle=":")
        ax.set_ylim(0, 4.3)
    panels[0].set_ylabel("unpaced overtakes at, over N*")
    drawing.legend(panels[0], loc="upper left", bbox_to_anchor=(0, 0.9))
    caption = (
        "Where unpaced flows overtake paced ones, over N* = C RTT / B: means over seeds with 95 % intervals; 4 is "
        "none up "
        "to there. Dotted, N* and 2 N*, between which the paper has it."
    )
    return [drawing.picture(figure, "inflection", caption)]


CLAIM = Claim(
    id="finding-inflection",
    paper="findings",
    where="point of inflection",
    kind="shape",
    question="From how many flows on does pacing at hosts cost?",
    says="N* is not the scale of it: over N* the point of inflection grows with the round trip, with the buffer and "
    "with "
    "smaller calls. By the mean time of a call it is the same as by the use of the link, by the 99th percentile far "
    "later.",
    printed={},
    assumptions=(
        seen(
            "Runs of dc-poi (points at 75, 43 and 60 flows where N* is 58, 29 and 14) and quick runs of dc-setups "
            "(with "
            "twice N* unpaced is behind at 100 ms); single runs: no point by the 99th percentile up to 100 flows, "
            "calls "
            "of 100 KB near 198 flows. Of 10 ms, calls of 300 KB and the mean time nothing had been seen."
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
