"""Section IV: eq. (3) is said to bound losses "irrespective of the number of edge nodes that pace traffic".

Criteria were fixed from the text before the runs that judge them: Poisson traffic of one total rate, dealt to 1 to 1000
edges that pace each its own by the same bound d, loses no more in a link without a buffer than eq. (3) says, at each
number of edges, d and load; "loss falls monotonically as the pacer delay d is increased", so at each step of d. A
packet takes 1 ms, so that d in ms, as the paper's figures count, is d in packet times, as eq. (3) does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host.fig9 import DELAY, LOSS
from paceline.results import Results
from paceline.scenario import Scenario
from paceline.theory import edge_delay

EDGES, QUICK_EDGES = (1, 3, 10, 30, 100, 300, 1000), (1, 10, 100, 1000)
LOADS = (0.8, 0.9)
DELAYS = (2, 5, 10, 20, 40)
HELD = "pacing.delay"
#: The core without a buffer, Mbit/s; packets of 1000 B take 1 ms.
CORE = 8.0
#: The experiment: a buffer of so many packets at the core, as the paper's own 5 KB holds.
BUFFER = 4
#: What is varied to explain, in words.
WHY = {
    "why-buffer": f"{BUFFER} packets of buffer",
    "why-finish": "pacers that hold a single packet until d, too",
}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Each number of edges and load over d; with a buffer, and with pacers that hold single packets too, beside."""
    edges = length.choose(EDGES, QUICK_EDGES)
    found = {f"{count}-{load:g}": over(length, count, load) for count in edges for load in LOADS}
    for count in edges:
        found[f"why-buffer-{count}"] = over(length, count, LOADS[0], f"{BUFFER} packets")
        found[f"why-finish-{count}"] = over(length, count, LOADS[0]).set("pacing.release", "finish")
    return found


def over(length: Length, count: int, load: float, buffer: str = "0 packets") -> Scenario:
    """Poisson packets of this total load through so many edges, into one link."""
    duration, warmup = length.choose(("210 s", "10 s"), ("65 s", "5 s"))
    document: dict[str, Any] = {
        "title": f"Paced Poisson packets of {count} edges",
        "duration": duration,
        "warmup": warmup,
        "network": {
            "template": "dumbbell",
            "core": {"rate": f"{CORE:g} Mbit/s", "delay": "1 ms", "buffer": buffer},
            "access": {"hosts": count, "rate": "1 Gbit/s", "delay": "1 ms"},
        },
        "traffic": [
            {
                "name": "poisson",
                "kind": "poisson",
                "packet": "1000 B",
                "rate": f"{1e6 * CORE * load / count:.10g} bit/s",
            },
        ],
        "pacing": {"method": "edge", "delay": "10 ms"},
        "probes": {},
    }
    return Scenario(document).over({HELD: [f"{delay} ms" for delay in DELAYS]}).seeds(length.seed_count(5, 3))


def check(runs: Runs) -> Verdict:
    """The bound, and the fall with d, at each number of edges and load."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for load in LOADS:
        for count in numbers(runs):
            results = runs[f"{count}-{load:g}"]
            for delay in DELAYS:
                found = loss(results, delay)
                bound = float(edge_delay.loss_bound(load, delay))
                evidence.append(criteria.below(f"loss, {count} edges, load {load:g}, d = {delay} ms", found, bound))
            for less, more in pairwise(DELAYS):
                step = criteria.difference(at(results, less), at(results, more), LOSS)
                what = f"fall of loss from d = {less} to {more} ms, {count} edges, load {load:g}"
                evidence.append(criteria.order(what, step))
            ours[f"loss, {count} edges, load {load:g}, {DELAYS[-1]} ms"] = round(loss(results, DELAYS[-1]).mean, 5)
    for name, words in WHY.items():
        for count in numbers(runs):
            for delay in (DELAYS[0], DELAYS[-1]):
                value = loss(runs[f"{name}-{count}"], delay)
                bound = float(edge_delay.loss_bound(LOADS[0], delay))
                what = f"loss, {count} edges, load {LOADS[0]:g}, d = {delay} ms"
                evidence.append(criteria.inform(what, value, f"{words}; eq. (3): {bound:.2g}"))
    return Verdict(
        criteria.judge(evidence), ours, {"loss": "below eq. (3) at any number of edges"}, note(runs), evidence
    )


def numbers(runs: Runs) -> list[int]:
    """Numbers of edges that were run, ascending."""
    return sorted({int(name.partition("-")[0]) for name in runs if not name.startswith("why")})


def at(results: Results, delay: int) -> Results:
    """The runs of one d, ms."""
    return results.where({HELD: f"{delay} ms"})


def loss(results: Results, delay: int) -> Interval:
    """Loss in the core with this d, ms."""
    return criteria.mean(at(results, delay), LOSS)


def note(runs: Runs) -> str:
    """What the number of edges does to the loss, and which choice decides."""
    load, delay = LOADS[0], DELAYS[-1]
    edges = numbers(runs)
    bound = float(edge_delay.loss_bound(load, delay))

    def each(names: Mapping[int, str], held: int = delay) -> str:
        return ", ".join(f"{loss(runs[name], held).mean:.1%} ({count})" for count, name in names.items())

    beyond = [
        f"{count} edges, load {one:g}, d = {held} ms"
        for one in LOADS
        for count in edges
        for held in DELAYS
        if loss(runs[f"{count}-{one:g}"], held).mean > float(edge_delay.loss_bound(one, held))
    ]
    points = len(LOADS) * len(edges) * len(DELAYS)
    exceeded = f" (the first: {beyond[0]})" if beyond else ""
    waits = [1e3 * criteria.mean(at(runs[f"{n}-{load:g}"], delay), DELAY).mean for n in (edges[0], edges[-1])]
    most = max(loss(runs[f"why-buffer-{count}"], delay).mean for count in edges)
    kept = "within the bound" if most < bound else "beyond the bound"
    alone, buffered = f"why-finish-{edges[-1]}", {count: f"why-buffer-{count}" for count in edges}
    return (
        f"At {len(beyond)} of {points} points more is lost than eq. (3) allows{exceeded}. At load {load:g} with d = "
        f"{delay} ms, where it allows {bound:.1%}, loss is, by the number of edges, "
        f"{each({count: f'{count}-{load:g}' for count in edges})}. Streams of many edges meet at random, however "
        "even each is, and a link without a buffer loses of "
        f"them as it does of Poisson packets. Nor has an edge much to smooth that sees few packets within d: they take "
        f"{waits[0]:.0f} ms through one edge and {waits[1]:.0f} through each of {edges[-1]}. Pacers that hold each "
        f"packet until d change nothing: {loss(runs[alone], delay).mean:.1%} with {edges[-1]} (why-finish). With "
        f"{BUFFER} packets of buffer, nearer to the fluid that eq. (3) is of, loss is {each(buffered)}, {kept}, and at "
        f"d = {DELAYS[0]} ms {each(buffered, DELAYS[0])}: what d gains goes with the number of edges (why-buffer)."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """Loss over the number of edges, a curve a d, with eq. (3)'s bounds."""
    figure, panels = drawing.axes(len(LOADS))
    for ax, load in zip(panels, LOADS, strict=True):
        edges = numbers(runs)
        for slot, delay in enumerate(DELAYS):
            found = [loss(runs[f"{count}-{load:g}"], delay) for count in edges]
            drawing.curve(ax, edges, found, f"d = {delay} ms", slot)
            bound = float(edge_delay.loss_bound(load, delay))
            drawing.law(ax, [edges[0], edges[-1]], [bound, bound], "", slot, linestyle="--")
        drawing.logarithmic(ax, "x", edges)
        drawing.from_zero(ax)
        ax.set_xlabel("edges")
        ax.set_title(f"load {load:g}", fontsize="medium", loc="left", color=drawing.INK)
    panels[0].set_ylabel("loss in a link without a buffer")
    drawing.legend(panels[0])
    caption = (
        "Loss of paced Poisson traffic by the number of edges that share it: means over seeds with 95 % intervals; "
    )
    return [drawing.picture(figure, "any-edges", caption + "dashed, eq. (3)'s bound of the same d.")]


CLAIM = Claim(
    id="edge-any-edges",
    paper="edge-vs-host",
    where="IV, eq. (3)",
    kind="number",
    says="Eq. (3) bounds the loss of paced Poisson traffic irrespective of the number of edges that pace it, as long "
    "as its total rate is the same; loss falls with d.",
    printed={},
    assumptions=(
        Assumption(
            "What link the bound is of.",
            "One without a buffer, that packets of 1 ms reach from 1 to 1000 edges, each with Poisson packets of its "
            "share of the rate.",
            "The text: a bufferless fluid approximation. What 4 packets of buffer make of it is beside (why-buffer); "
            "what TCP makes of the number of edges is finding-edges.",
        ),
        Assumption(
            "In what d is counted.",
            "In packet times, which are ms here.",
            "Eq. (3) wants it so, see edge-fig9-analysis; and the paper's figures count ms.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
