"""Section II-A: "the convex hull can be computed in O(1) amortised time".

Criteria were fixed from the text before the runs that judge them. Amortised O(1) is that a constant bounds the mean
work of a packet, however many packets the pacer holds and whatever number of flows they are of. The constant is the
algorithm's own: each deadline is pushed once and popped at most once, and of the slopes that an arrival compares one
at most pops nothing; so one pop and two comparisons a packet at most, in each run, at each backlog from a packet to a
thousand and each number of flows from one to a thousand. That the envelope whose work is counted is the one that ran,
its releases show: each within a microsecond of the simulated pacer's. Told and not judged is by how much the mean
changes from a hundred packets held to a thousand. A draft wanted it within 5 %, which O(1) does not say, and a quick
run did not keep: ON-OFF traffic nears the bound more slowly. It also wanted the interval of the mean below the bound;
that touches it, and "at most, in each run" is what the bound says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host import exits
from paceline.results import Results
from paceline.scenario import Scenario
from paceline.theory import exit_curves

DELAYS = (1, 3, 10, 30, 100, 300, 1000)
FLOWS = (1, 10, 100, 1000)
HELD, COUNT = "pacing.delay", "traffic.source.count"
#: By how much the tenfold backlogs differ, and what flows share, Mbit/s, with which bound, ms.
LONG, LONGEST = 100, 1000
SHARED, FLOWS_DELAY = 100, 10
KINDS = ("Poisson packets", "ON-OFF")


class Work(NamedTuple):
    """Of one setting.

    Attributes:
        compared: slopes compared a packet; its interval is the range of the seeds.
        pops: points popped a packet, likewise.
        most: slopes compared for one packet, at most.
        held: packets held as one arrives, mean.
        apart: of its releases and those simulated, at most, us.
    """

    compared: Interval
    pops: Interval
    most: Interval
    held: Interval
    apart: Interval


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Two kinds of traffic over d, and TCP over flows."""
    duration = length.choose("22 s", "10 s")
    found = {name: exits.scenario(name, duration).over({HELD: [f"{d} ms" for d in DELAYS]}) for name in KINDS}
    flows = exits.scenario("TCP", length.choose("10 s", "5 s"), f"{SHARED} Mbit/s")
    found["TCP"] = flows.set(HELD, f"{FLOWS_DELAY} ms").over({COUNT: list(FLOWS)})
    return {name: scenario.seeds(length.seed_count(5, 3)) for name, scenario in found.items()}


def check(runs: Runs) -> Verdict:
    """Work a packet over backlog and flows, and whose it is."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    apart = 0.0
    for name, work in works(runs).items():
        evidence += [
            bounded(f"slopes compared a packet, {name}", work.compared, 2),
            bounded(f"points popped a packet, {name}", work.pops, 1),
            criteria.below(f"largest difference from the releases simulated, {name}, us", work.apart, 1, "us"),
            criteria.inform(f"packets held, {name}", work.held, f"one packet compared {work.most.mean:.0f} at most"),
        ]
        ours |= {
            f"compared, {name}": round(work.compared.mean, 3),
            f"held, {name}": round(work.held.mean, 1),
            f"most, {name}": round(work.most.mean, 1),
        }
        apart = max(apart, work.apart.mean)
    for name in KINDS:
        long, longest = (ours[f"compared, {name}, d = {delay} ms"] for delay in (LONG, LONGEST))
        times = ours[f"held, {name}, d = {LONGEST} ms"] / ours[f"held, {name}, d = {LONG} ms"]
        what = f"slopes compared a packet, {name}: with {times:.1f} times as many held, over before"
        evidence.append(criteria.inform(what, longest / long, "a bound need not be near"))
    theirs = {"work a packet": "O(1), amortised"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(ours), evidence)


def bounded(statistic: str, found: Interval, most: int) -> Evidence:
    """The bound is of each run: the whole range of the seeds keeps it, not the interval of their mean."""
    words = f"{most} at most, in each run: {found.high:.4f}"
    return Evidence(statistic, found.mean, None, words, found.high <= most)


def works(runs: Runs) -> dict[str, Work]:
    """By setting, in words."""
    found = {}
    for name in KINDS:
        for delay in DELAYS:
            some = runs[name].where({HELD: f"{delay} ms"})
            found[f"{name}, d = {delay} ms"] = work_of(some, delay * 1e-3)
    for flows in FLOWS:
        some = runs["TCP"].where({COUNT: str(flows)})
        found[f"TCP, {flows} flows"] = work_of(some, FLOWS_DELAY * 1e-3)
    return found


def work_of(results: Results, held: float) -> Work:
    """Of the runs of one setting, from their first packet on: the bounds are of all packets since then."""
    rows: list[dict[int, float]] = [{} for _ in Work._fields]
    for seed, run in exits.by_run(results):
        online = exit_curves.online(run.arrivals, run.sizes, held)
        # what came after the last packet that left is not known here, and moves what was left of it
        known = run.arrivals <= run.arrivals[-1] - held
        known = known if known.any() else np.arange(len(known)) == 0
        values = (
            online.compared.mean(),
            online.pops.mean(),
            online.compared.max(),
            online.held.mean(),
            1e6 * np.abs(online.releases - run.releases)[known].max(),
        )
        for row, value in zip(rows, values, strict=True):
            row[seed] = float(value)
    ranges = [exits.range_of(row) for row in rows[:2]]
    return Work(*ranges, *(exits.over_seeds(row) for row in rows[2:]))


def note(ours: Mapping[str, float]) -> str:
    """What work there is, over backlog and flows."""

    def each(what: str, names: Sequence[str], digits: int) -> str:
        return ", ".join(f"{ours[f'{what}, {name}']:.{digits}f}" for name in names)

    over = {name: [f"{name}, d = {delay} ms" for delay in DELAYS] for name in KINDS}
    lines = "; ".join(
        f"{name} {each('compared', some, 2)} with {each('held', some, 0)} held" for name, some in over.items()
    )
    flows = [f"TCP, {number} flows" for number in FLOWS]
    most = max(value for name, value in ours.items() if name.startswith("most"))
    return (
        f"Slopes compared a packet, mean: {lines}; TCP {each('compared', flows, 2)} with "
        f"{', '.join(map(str, FLOWS))} flows. "
        "It nears two and never reaches it: of what an arrival compares one at most pops nothing, and each point is "
        f"popped once. A single packet compares up to {most:.0f}: the bound is of the mean."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """Slopes compared a packet over what is held, and over flows."""
    figure, (left, right) = drawing.axes(2)
    found = works(runs)
    for slot, name in enumerate(KINDS):
        some = [found[f"{name}, d = {delay} ms"] for delay in DELAYS]
        drawing.curve(left, [work.held.mean for work in some], [work.compared for work in some], name, slot)
    drawing.curve(right, FLOWS, [found[f"TCP, {flows} flows"].compared for flows in FLOWS], "TCP", len(KINDS))
    drawing.logarithmic(left, "x", (1, 10, 100, 1000))
    drawing.logarithmic(right, "x", FLOWS)
    left.set_xlabel("packets held, mean")
    right.set_xlabel("flows")
    left.set_ylabel("slopes compared a packet")
    for ax in (left, right):
        ax.set_ylim(0, 2.1)
        ax.axhline(2, color=drawing.INK, linewidth=0.8, linestyle=":")
        drawing.legend(ax, loc="lower right")
    caption = "What a packet costs the pacer, in slopes compared: means over seeds with their range; dotted, the bound."
    return [drawing.picture(figure, "cost", caption)]


CLAIM = Claim(
    id="edge-cost",
    paper="edge-vs-host",
    where="II-A, O(1) cost",
    kind="number",
    says="The pacer's envelope of deadlines takes O(1) amortised time a packet.",
    printed={},
    assumptions=(
        Assumption(
            "What work is: the text says time.",
            "Slopes compared, and points popped from the envelope; nothing else depends on what is held.",
            "A clock tells the machine too. What instructions the pacer itself takes a packet, benches/pacer_cost.py "
            "counts.",
        ),
        Assumption(
            "Which traffic.",
            f"{KINDS[0]} and a Markov ON-OFF source of {exits.MEAN:g} Mbit/s, d from 1 ms to 1 s; and 1 to "
            "1000 TCP flows over "
            f"{SHARED} Mbit/s, d = {FLOWS_DELAY} ms.",
            "From a packet held to a thousand, and from one flow to the paper's thousand.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
