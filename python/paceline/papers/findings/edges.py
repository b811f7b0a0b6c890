"""Over how many edges may edge pacing be spread? The paper on it says over any number (section IV)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host.curves import BUFFER, GOODPUT, KBPS, PACING, THROUGHPUT
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, EDGE, METHODS, NONE, dumbbell
from paceline.papers.findings import seen
from paceline.results import Results
from paceline.scenario import Scenario
from paceline.theory import periodic_streams

FLOWS = 1000
FULL, QUICK = (5, 10, 20, 50, 100), (10, 50)
SIZES, QUICK_SIZES = (3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30), (5, 8, 12, 20)
#: Where the gain is judged, KB; and the load that says how much buffer is needed.
SMALL, TARGET = 5, 0.97
#: A packet on the wire, bytes: ns-2's rule has room for as many as are less than the buffer, beside that on the wire.
PACKET = 1040
#: The exponent of a square root, and what counts as one.
LOW, HIGH = 0.4, 0.6
MBPS = 1e6
#: In rows of evidence.
EVEN = f"buffer for {TARGET:.0%} of the core, evenly spaced streams"

STATISTIC = Assumption(
    "The statistic.",
    "What edge pacing of 10 ms gains over none at 5 KB, in throughput of the core, falls at each step from 5 to 100 "
    "edges, "
    "paired by seeds; and the least-squares exponent of the buffer for 97 % of the core over the number of edges, seed "
    "by "
    "seed, lies between 0.4 and 0.6 with its interval.",
    "A square root is what superposed periodic streams would give: E smooth streams at random phases fill a queue that "
    "grows as √E (the ΣD/D/1 queue in heavy traffic).",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep a number of edges, 1000 flows in all; longer delay bounds and fast access beside."""
    edges = length.choose(FULL, QUICK)
    sizes = length.choose(SIZES, QUICK_SIZES)
    found = {f"edges-{count}": over(length, count, METHODS[2:], sizes) for count in edges}
    found |= {f"none-{count}": over(length, count, METHODS[:1], (SMALL,)) for count in edges}
    if not length.quick:
        longer = [{"method": "edge", "delay": delay} for delay in ("30 ms", "100 ms")]
        for count in (10, 50):
            found[f"why-longer-{count}"] = over(length, count, longer, (SMALL,))
            found[f"why-fast-access-{count}"] = over(length, count, [METHODS[0], METHODS[2]], (SMALL,), fast=True)
    return found


def over(
    length: Length, count: int, methods: Sequence[Mapping[str, Any]], sizes: Sequence[int], *, fast: bool = False
) -> Scenario:
    """1000 flows over so many edges, by method and buffer in KB."""
    scenario = dumbbell().set("title", f"1000 flows over {count} edges")
    scenario = scenario.set("network.edge.count", count).set("network.access.per_edge", FLOWS // count)
    if fast:
        scenario = scenario.set("network.access.rate", "100 Mbit/s")
    duration, warmup = length.choose(("100 s", "40 s"), ("40 s", "15 s"))
    scenario = scenario.set("duration", duration).set("warmup", warmup)
    return scenario.over({PACING: methods, BUFFER: [f"{size} KB" for size in sizes]}).seeds(length.seed_count(5, 3))


def check(runs: Runs) -> Verdict:
    """The gain falls with the number of edges; the buffer needed grows as its square root."""
    edges = numbers(runs)
    gains = {count: gain(runs, count) for count in edges}
    evidence: list[Evidence] = []
    for few, many in pairwise(edges):
        less = interval(gains[few][seed] - gains[many][seed] for seed in sorted(gains[few].keys() & gains[many].keys()))
        assert less is not None
        evidence.append(criteria.order(f"gain at {SMALL} KB, Mbit/s: {few} − {many} edges", less))
    exact = exponent(runs)
    if exact is None:
        words = "exponent of the buffer over the number of edges"
        evidence.append(Evidence(words, "some seed does not reach the load", None, f"{LOW:g} to {HIGH:g}", False))
    else:
        evidence.append(criteria.above("exponent of the buffer over the number of edges", exact, LOW))
        evidence.append(criteria.below("exponent of the buffer over the number of edges", exact, HIGH))
    ours: dict[str, float | None] = {"exponent": None if exact is None else round(exact.mean, 3)}
    for count in edges:
        value = interval(gains[count].values())
        assert value is not None
        ours[f"gain, {count} edges, Mbit/s"] = round(value.mean, 2)
        evidence.append(criteria.inform(f"gain at {SMALL} KB, {count} edges, Mbit/s", value, "over none"))
        need = interval(needs(runs[f"edges-{count}"]).values())
        text: Interval | str = need if need is not None else f"more than {SIZES[-1]}"
        evidence.append(criteria.inform(f"buffer for {TARGET:.0%} of the core, {count} edges, KB", text, "each number"))
        goodput = criteria.mean(at(runs[f"edges-{count}"], EDGE, SMALL), GOODPUT, KBPS)
        evidence.append(criteria.inform(f"goodput at {SMALL} KB, {count} edges, kbit/s", goodput, "a flow"))
    evidence += experiments(runs) + superposed(runs)
    theirs = {"exponent": "0.5", "gain": "falls with the number of edges"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, evidence, ours), evidence)


def numbers(runs: Runs) -> list[int]:
    """Numbers of edges that were run, ascending."""
    return sorted(int(name.partition("-")[2]) for name in runs if name.startswith("edges-"))


def at(results: Results, pacing: str, size: int) -> Results:
    """The runs of one method and buffer, KB."""
    return results.where({PACING: pacing, BUFFER: f"{size} KB"})


def gain(runs: Runs, count: int) -> dict[int, float]:
    """Throughput of edge pacing less that of none at 5 KB, Mbit/s, by seed."""
    paced = criteria.by_seed(at(runs[f"edges-{count}"], EDGE, SMALL), THROUGHPUT, MBPS)
    unpaced = criteria.by_seed(at(runs[f"none-{count}"], NONE, SMALL), THROUGHPUT, MBPS)
    return {seed: paced[seed] - unpaced[seed] for seed in sorted(paced.keys() & unpaced.keys())}


def needs(results: Results) -> dict[int, float]:
    """The buffer at which the load is first reached, KB, by seed; straight in the logarithm between two buffers.

    Seeds that do not reach it, or have it at the smallest buffer already, are left out.
    """
    curves: dict[int, list[tuple[int, float]]] = {}
    for run in results.where({PACING: EDGE}):
        used = run.links["core"].utilisation
        assert used is not None
        curves.setdefault(run.seed, []).append((int(run.settings[BUFFER].split()[0]), used))
    return {seed: need for seed, points in curves.items() if (need := reached(points)) is not None}


def reached(points: Sequence[tuple[int, float]]) -> float | None:
    """Where a curve of utilisation over the buffer, KB, first reaches the load."""
    for (low, below), (high, above) in pairwise(sorted(points)):
        if below < TARGET <= above:
            part = (TARGET - below) / (above - below)
            return math.exp(math.log(low) + part * (math.log(high) - math.log(low)))
    return None


def periodic(runs: Runs, count: int, load: float | None = None) -> float | None:
    """The buffer that as many evenly spaced streams at random phases need, KB (ΣD/D/1 with that buffer).

    They offer what came to the core in the runs at each buffer, on the mean of seeds, or `load` of its rate.
    """
    results = runs[f"edges-{count}"]
    points = []
    for size in sorted({int(run.settings[BUFFER].split()[0]) for run in results}):
        some = at(results, EDGE, size)
        used, lost = (criteria.mean(some, f"links.core.{name}").mean for name in ("utilisation", "loss_ratio"))
        offered = used / (1 - lost) if load is None else load
        points.append((size, periodic_streams.utilisation(count, offered, (1000 * size - 1) // PACKET)))
        if points[-1][1] >= TARGET:
            break
    return reached(points)


def power(needed: Mapping[int, float]) -> float:
    """Least-squares exponent of a buffer over the number of edges."""
    return float(np.polyfit(np.log(list(needed)), np.log(list(needed.values())), 1)[0])


def exponent(runs: Runs) -> Interval | None:
    """Least-squares exponent of the needed buffer over the number of edges, over seeds; of those that reach the "
    "load."""
    by_count = {count: needs(runs[f"edges-{count}"]) for count in numbers(runs)}
    seeds = set.intersection(*(set(one) for one in by_count.values()))
    if not seeds:
        return None
    return interval(power({count: one[seed] for count, one in by_count.items()}) for seed in sorted(seeds))


def experiments(runs: Runs) -> list[Evidence]:
    """Longer delay bounds, and fast access."""
    rows = []
    for name, results in runs.items():
        if name.startswith("why-longer"):
            count = int(name.rpartition("-")[2])
            for label in dict.fromkeys(run.settings[PACING] for run in results):
                value = criteria.difference(
                    at(results, label, SMALL), at(runs[f"none-{count}"], NONE, SMALL), THROUGHPUT, MBPS
                )
                rows.append(criteria.inform(f"gain at {SMALL} KB, {count} edges, Mbit/s", value, label))
        elif name.startswith("why-fast-access"):
            count = int(name.rpartition("-")[2])
            value = criteria.difference(at(results, EDGE, SMALL), at(results, NONE, SMALL), THROUGHPUT, MBPS)
            rows.append(criteria.inform(f"gain at {SMALL} KB, {count} edges, Mbit/s", value, "access of 100 Mbit/s"))
    return rows


def superposed(runs: Runs) -> list[Evidence]:
    """What evenly spaced streams at random phases need, and the exponents of that."""
    rows = []
    same = {count: need for count in numbers(runs) if (need := periodic(runs, count)) is not None}
    full = {count: need for count in numbers(runs) if (need := periodic(runs, count, 1.0)) is not None}
    for count, need in same.items():
        rows.append(criteria.inform(f"{EVEN}, {count} edges, KB", need, "ΣD/D/1, as much offered"))
    for needed, words in ((same, "ΣD/D/1, as much offered"), (full, "ΣD/D/1, offered the link's rate")):
        if len(needed) > 1:
            rows.append(criteria.inform("exponent of evenly spaced streams", power(needed), words))
    return rows


def law(runs: Runs) -> str:
    """How near what was needed is to what evenly spaced streams need, in a clause of the note; empty if none is known.

    A square root is the limit of that law for large buffers; at a few packets it is a smaller power.
    """
    found = {}
    for count in numbers(runs):
        ours, even = interval(needs(runs[f"edges-{count}"]).values()), periodic(runs, count)
        if ours is not None and even is not None:
            found[count] = (ours.mean, even)
    if len(found) < 2:
        return ""
    off = max(abs(even / ours - 1) for ours, even in found.values())
    each = power({count: even for count, (_, even) in found.items()})
    return (
        f"; what as many evenly spaced streams at random phases need that offer as much (ΣD/D/1 with that buffer) is "
        f"within {math.ceil(100 * off)} % of it at each number, and grows as the number to the power {each:.2f}"
    )


def note(runs: Runs, evidence: Sequence[Evidence], ours: Mapping[str, float | None]) -> str:
    """The answer in two sentences, and how far it holds."""
    edges = numbers(runs)
    first, last = edges[0], edges[-1]
    exact = ours["exponent"]
    grows = (
        "is not known, for some seed never reaches it"
        if exact is None
        else f"grows as the number to the power {exact:.2f}"
    )
    told = "; ".join(
        f"{re.sub(r'^edge ', 'a bound of ', row.criterion)}, {row.statistic.split(', ')[1]}: {row.value:+.1f} Mbit/s"
        for row in evidence
        if row.ok is None and isinstance(row.value, float) and row.criterion.startswith(("edge ", "access"))
    )
    return (
        f"Not over any number: what edge pacing gains at {SMALL} KB goes from "
        f"{ours[f'gain, {first} edges, Mbit/s']:+.1f} Mbit/s with {first} edges to "
        f"{ours[f'gain, {last} edges, Mbit/s']:+.1f} with {last}. The buffer that it needs for {TARGET:.0%} of the "
        f"core {grows}{law(runs)}. How far: 1000 Reno flows behind access links of 8 to 12 Mbit/s, {first} to {last} "
        f"edges of 100 Mbit/s each and a bound of 10 ms{'; ' + told if told else ''}."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """The gain at 5 KB, and the buffer needed, over the number of edges."""
    figure, (left, right) = drawing.axes(2)
    edges = numbers(runs)
    found = [interval(gain(runs, count).values()) or Interval(0.0, None, 0) for count in edges]
    drawing.curve(left, edges, found, EDGE, 2)
    left.axhline(0, color=drawing.INK, linewidth=0.8)
    left.set_ylabel(f"gain over unpaced at {SMALL} KB, Mbit/s")
    known = [(count, value) for count in edges if (value := interval(needs(runs[f"edges-{count}"]).values()))]
    drawing.curve(right, [count for count, _ in known], [value for _, value in known], EDGE, 2)
    if known:
        count, value = known[0]
        root = [value.mean * math.sqrt(other / count) for other in edges]
        drawing.law(right, edges, root, "√ of the number", 3, linestyle="--")
    even = {count: need for count in edges if (need := periodic(runs, count)) is not None}
    if even:
        drawing.law(right, list(even), list(even.values()), "evenly spaced streams", 4, linestyle=":")
    drawing.logarithmic(right, "y", (2, 3, 4, 5, 6, 8, 10, 15, 20, 30))
    right.set_ylabel(f"buffer for {100 * TARGET:.0f} % of the core, KB")
    for ax in (left, right):
        drawing.logarithmic(ax, "x", edges)
        ax.set_xlabel("edges that share 1000 flows")
    drawing.legend(right, loc="upper left")
    caption = (
        "What edge pacing gains, and how much buffer it needs, over the number of edges: means over seeds with 95 % "
        "intervals; dashed, a square root through the first point; dotted, evenly spaced streams at random phases; "
        "buffers on a logarithmic scale."
    )
    return [drawing.picture(figure, "edges", caption)]


CLAIM = Claim(
    id="finding-edges",
    paper="findings",
    where="edges",
    kind="shape",
    question="Over how many edges may edge pacing be spread?",
    says="Not over any number: at 5 KB its gain falls as the same flows are spread over more edges, and the buffer "
    "that it needs grows as the square root of their number.",
    printed={},
    assumptions=(
        seen(
            "Single runs of 200 s: at 5 KB edge pacing gained 10.2 Mbit/s with 10 edges, 4.1 with 50, 2.5 with 100 and "
            "1.8 "
            "with 250. The exponent had not been seen.",
        ),
        STATISTIC,
        *ASSUMPTIONS[:2],
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
