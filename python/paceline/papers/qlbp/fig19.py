"""Fig. 19, section IV-E: how packet delay is distributed, retransmissions included."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from paceline._palette import COLOURS
from paceline.papers import criteria, drawing
from paceline.papers.claim import Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp import table3
from paceline.papers.qlbp.dumbbell import at, method, over_buffers
from paceline.papers.qlbp.table3 import METHODS, PACKETS, WORDS
from paceline.papers.qlbp.variation import falls, mean
from paceline.results import Result, Results
from paceline.scenario import Scenario

#: Delays beyond which a packet counts to the tail, seconds: no packet is that late without a retransmission before it.
TAILS_S = (0.1, 0.3)
P99 = "flows.delay_p99_s"


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """The runs of Table III."""
    return {name: over_buffers(method(name), (PACKETS,), length) for name in METHODS}


def check(runs: Runs) -> Verdict:
    """The 99th percentile and the share of late packets fall from none to Q_max 40 to 160."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    steps = list(itertools.pairwise(METHODS))
    results = {name: at(runs[name], PACKETS) for name in METHODS}
    measures = {"99th percentile, s": {name: criteria.by_seed(results[name], P99) for name in METHODS}}
    for limit in TAILS_S:
        measures[f"share beyond {limit * 1e3:.0f} ms"] = {name: late(results[name], limit) for name in METHODS}
    for words, values in measures.items():
        ours |= {f"{words}, {WORDS[name]}": round(mean(values[name]).mean, 5) for name in METHODS}
        evidence += [
            falls(f"fall of the {words}, {WORDS[left]} to {WORDS[right]}", values[left], values[right])
            for left, right in steps
        ]
    theirs = {"tail": "shrinks from no pacing to Q_max 40 to Q_max 160"}
    tail = [ours[f"99th percentile, s, {WORDS[name]}"] for name in METHODS]
    note = "The 99th percentile of delay is {:.3f}, {:.3f} and {:.3f} s, unpaced, with Q_max 40 and 160.".format(*tail)
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def late(results: Results, limit_s: float) -> dict[int, float]:
    """The share of packets with a greater delay, by seed."""
    found = {}
    for run in results:
        delays, shares = distribution(run)
        below = shares[delays <= limit_s]
        found[run.seed] = 1 - float(below[-1]) if below.size else 1.0
    return found


def distribution(run: Result) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Delays, seconds, and the share of packets with each or less."""
    curve = run.instrument("delay")
    delays, shares = (np.asarray(curve[name].to_pylist(), float) for name in ("x", "y"))
    return delays, shares


def draw(runs: Runs) -> Sequence[Picture]:
    """The share of packets that are later, on a log scale."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    for slot, name in zip((0, 3, 5), METHODS, strict=True):
        delays, shares = distribution(at(runs[name], PACKETS)[0])
        ax.step(1e3 * delays, 1 - shares, where="post", label=WORDS[name], color=COLOURS[slot], linewidth=1.6)
    ax.set_yscale("log")
    ax.set_ylim(1e-5, 1)
    ax.set_xlim(0, 1500)
    ax.set_xlabel("delay of a packet, ms")
    ax.set_ylabel("share of packets that are later")
    drawing.legend(ax, loc="upper right")
    caption = (
        "From a packet's first transmission to its delivery in order, one seed, buffer of 20 packets. The paper's "
        "three histograms lose their tail with more pacing."
    )
    return [drawing.picture(figure, "fig19", caption)]


CLAIM = Claim(
    id="qlbp-fig19",
    paper="qlbp",
    where="Fig. 19, IV-E",
    kind="shape",
    says="The tail of the distribution of packet delay at the transport layer, retransmissions included, shrinks with "
    "more pacing: none, Q_max 40, Q_max 160.",
    printed={},
    assumptions=table3.CLAIM.assumptions,
    sweeps=sweeps,
    check=check,
    draw=draw,
)
