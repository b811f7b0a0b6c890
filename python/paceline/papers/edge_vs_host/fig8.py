"""Fig. 8, section III-F: the small buffer is not at the bottleneck."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host import curves
from paceline.papers.edge_vs_host.curves import LABELS, LOSS, MBPS, THROUGHPUT, at
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, METHODS, NONE, dumbbell
from paceline.results import Results
from paceline.scenario import Scenario

FULL = (2, 3, 4, 6, 8, 10, 12)
QUICK = (2, 4, 6, 8, 10, 12)
#: From here on nothing is lost, by the paper, KB.
LOSSLESS = 10
#: Loss falls along a straight line on its log scale: correlation of log10(loss) with the buffer.
STRAIGHT = -0.95


def slow_access() -> Scenario:
    """Section III-F: access links of 1 to 2 Mbit/s are the bottlenecks."""
    scenario = dumbbell().set("title", "Edge versus host pacing, the core is no bottleneck, 100 flows")
    scenario = scenario.set("network.core.rate", "200 Mbit/s").set("network.edge.rate", "40 Mbit/s")
    return scenario.set("network.access.rate", "1 Mbit/s .. 2 Mbit/s").set("network.access.per_edge", 10)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """And with ns-2's default queue of 50 packets before each access link; with one flow an edge, as fast as ten."""
    queued = slow_access().set("network.access.buffer", "50 packets")
    alone = slow_access().set("network.access.per_edge", 1).set("network.access.rate", "20 Mbit/s")
    return {
        "main": curves.sweep(slow_access(), length, length.choose(FULL, QUICK), METHODS),
        "access queues of 50 packets": curves.sweep(queued, length, (4, 10), METHODS),
        "why-one-flow-an-edge": curves.sweep(alone, length, (LOSSLESS,), METHODS),
    }


def check(runs: Runs) -> Verdict:
    """Nothing dropped from 10 KB on; log10(loss) falls straight below; throughput of all three within 5 %."""
    main = runs["main"]
    evidence: list[Evidence] = []
    ours: dict[str, float | None] = {}
    for pacing in LABELS:
        for size in curves.sizes(main, LOSSLESS):
            dropped = most(at(main, pacing, size))
            what = f"packets dropped at {size} KB, {pacing}, most of a seed"
            evidence.append(Evidence(what, dropped, None, "0", dropped == 0))
            ours[f"dropped at {size} KB, {pacing}"] = dropped
        slope, straight = fall(runs, pacing)
        ours[f"decades of loss a KB, {pacing}"] = slope and round(slope, 3)
        what = f"correlation of log10(loss) with the buffer below {LOSSLESS} KB, {pacing}"
        evidence.append(
            Evidence(what, straight, None, f"at most {STRAIGHT}", straight is not None and straight <= STRAIGHT)
        )
    for pacing in LABELS[1:]:
        for size in curves.sizes(main):
            unpaced = criteria.mean(at(main, NONE, size), THROUGHPUT, MBPS).mean
            what = f"throughput at {size} KB, {pacing}, Mbit/s: as unpaced"
            paced = criteria.mean(at(main, pacing, size), THROUGHPUT, MBPS)
            evidence.append(criteria.within(what, paced, round(unpaced, 2), "Mbit/s"))
    evidence += _variant(runs)
    theirs = {"dropped from 10 KB on": 0, "loss": "falls on a log scale", "throughput": "about equal"}
    return Verdict(criteria.judge(evidence), ours, theirs, _note(runs, evidence), evidence)


def fall(runs: Runs, pacing: str) -> tuple[float | None, float | None]:
    """Slope of log10(loss) a KB and its correlation, over the buffers below 10 KB that lose packets."""
    points = []
    for size in curves.sizes(runs["main"], 0, LOSSLESS - 1):
        loss = criteria.mean(at(runs["main"], pacing, size), LOSS).mean
        if loss > 0:
            points.append((size, math.log10(loss)))
    if len(points) < 3:
        return None, None
    x, y = np.array(points).T
    return float(np.polyfit(x, y, 1)[0]), float(np.corrcoef(x, y)[0, 1])


def _variant(runs: Runs) -> list[Evidence]:
    rows = []
    queued = runs["access queues of 50 packets"]
    for size in curves.sizes(queued):
        for pacing in LABELS:
            loss = criteria.mean(at(queued, pacing, size), LOSS)
            what = "ns-2's default queue of 50 packets before each access link"
            rows.append(criteria.inform(f"loss at the core at {size} KB, {pacing}", loss, what))
    for pacing in LABELS:
        alone = at(runs["why-one-flow-an-edge"], pacing, LOSSLESS)
        what = "one flow an edge, access links of 20 Mbit/s"
        rows.append(criteria.inform(f"packets dropped at {LOSSLESS} KB, {pacing}, most of a seed", most(alone), what))
    return rows


def most(results: Results) -> float:
    """The most packets that the core dropped under one seed."""
    return max(criteria.by_seed(results, "links.core.dropped_packets").values())


def _note(runs: Runs, evidence: Sequence[Evidence]) -> str:
    slopes = ", ".join(f"{10 ** -(fall(runs, pacing)[0] or 0.0):.1f}-fold ({pacing})" for pacing in LABELS)
    main = runs["main"]
    counts = ", ".join(f"{most(at(main, pacing, LOSSLESS)):.0f} ({pacing})" for pacing in LABELS)
    carried = criteria.mean(at(main, NONE, LOSSLESS), "links.core.arrived_packets").mean
    alone = max(most(at(runs["why-one-flow-an-edge"], pacing, LOSSLESS)) for pacing in LABELS)
    return (
        f"{curves.held(evidence)} criteria hold. Each KB cuts the loss {slopes}. At {LOSSLESS} KB a run still loses up "
        f"to {counts} packets of {carried / 1e6:.1f} million, on a scale where 2 KB lose one in a hundred. The paper's "
        "argument, that ten edges bring ten packets at most at one time, holds for one flow an edge: at 20 Mbit/s each "
        f"these lose {alone:.0f}. Of ten flows an edge, two may send at one time."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """Both panels, as in the paper."""
    figure, (left, right) = drawing.axes(2)
    curves.lines(left, runs["main"], THROUGHPUT, MBPS)
    for slot, pacing in enumerate(LABELS):
        points = [
            (size, loss)
            for size in curves.sizes(runs["main"])
            if (loss := criteria.mean(at(runs["main"], pacing, size), LOSS).mean) > 0
        ]
        drawing.curve(right, [size for size, _ in points], [loss for _, loss in points], pacing, slot)
    right.set_yscale("log")
    right.set_xlabel("buffer of the core link, KB")
    right.axvline(LOSSLESS, color=drawing.PRINTED, linewidth=1.0)
    right.annotate(
        "paper: no loss",
        (LOSSLESS, 0.9),
        (3, 0),
        ("data", "axes fraction"),
        "offset points",
        color=drawing.PRINTED,
        fontsize="small",
    )
    left.set_ylabel("core throughput, Mbit/s")
    right.set_ylabel("share of packets lost at the core")
    drawing.legend(left, loc="lower right")
    caption = (
        "100 Reno flows behind access links of 1 to 2 Mbit/s over a core of 200 Mbit/s: means over seeds, "
        "throughput with 95 % intervals; no loss, no mark."
    )
    return [drawing.picture(figure, "fig8", caption)]


CLAIM = Claim(
    id="edge-fig8-non-bottleneck",
    paper="edge-vs-host",
    where="Fig. 8, III-F",
    kind="shape",
    says="With access links of 1 to 2 Mbit/s as bottlenecks and a core of 200 Mbit/s, loss falls on a log scale to "
    "none at 10 KB, and throughput is about the same however paced.",
    printed={"lossless_kb": 10},
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            "How much waits before an access link, now the bottleneck.",
            "Without limit.",
            "A limit of 50 packets, ns-2's default, changes the core's loss little (below).",
        ),
        Assumption(
            'What "on a log scale" and "approximately the same" mean.',
            f"A correlation of log10(loss) with the buffer of {STRAIGHT} or less below 10 KB; within 5 % of unpaced.",
            "A straight fall on the paper's logarithmic axis; the tolerance of all printed numbers.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
