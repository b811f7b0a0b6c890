"""Fig. 15, section IV-C1: how much one to three pacers take from the variation of a Markov ON-OFF source."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence

from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp import variation
from paceline.results import Results
from paceline.scenario import Scenario

TANDEM = """\
title    = "A Markov ON-OFF source through pacers in a row"
duration = "1900 s"
warmup   = "100 s"
seed     = 1

[network]
template = "path"
links = [
  { name = "source", rate = "10 Mbit/s", delay = "2 ms" },
  { name = "p1", rate = "10 Mbit/s", delay = "2 ms" },
  { name = "p2", rate = "10 Mbit/s", delay = "2 ms" },
  { name = "p3", rate = "10 Mbit/s", delay = "2 ms" },
]

[[traffic]]
name   = "source"
kind   = "on-off"
rate   = "2 Mbit/s"
packet = "1000 B"
on     = { exponential = "100 ms" }
off    = { exponential = "200 ms" }

[pacing]
method = "none"

[probes]
rate_variation = { links = "p3", finest = "50 ms", coarsest = "50 ms" }
"""

SCALE_S = 0.05
PACERS = (1, 2, 3)
QUEUES = (10, 20, 40, 80, 160)
THROUGHPUT = "links.p3.throughput_bps"
#: A mean rate counts as unchanged if it moves by no more than this share; what pacers hold at the end is some packets.
UNCHANGED = 1e-3

ASSUMPTIONS = (
    Assumption(
        "What the network looks like with fewer pacers.",
        "All four links stand there always, and only the first pacers pace.",
        "A link of 10 Mbit/s never delays 2 Mbit/s: it adds 2.8 ms to each packet, and nothing to the variation.",
    ),
    Assumption(
        "How the source sends and how it starts.",
        "Packets at equal gaps while on, as ns-2's exponential source; on or off at first as if it had run for long.",
        "That source is ns-2's; statistics begin after 100 s as in the paper, 300 periods later.",
    ),
    Assumption(
        "Where bytes are counted: 'arriving at node 1'.",
        "As their transmission on the last link begins.",
        "It differs from their arrival by 2.8 ms for every packet.",
    ),
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """No pacer; then one, two and three, each over Q_max."""
    scenario = Scenario(tomllib.loads(TANDEM))
    if length.quick:
        scenario = scenario.set("duration", "400 s")
    scenario = scenario.seeds(length.seed_count(10, 3))
    found = {"none": scenario}
    for count in PACERS:
        pacing = {
            "method": "qlbp",
            "mu_min": "10 kbit/s",
            "mu_max": "10 Mbit/s",
            "q_max": "10 packets",
            "at": [f"p{number}" for number in range(1, count + 1)],
        }
        queues = [f"{size} packets" for size in QUEUES]
        found[f"pacers-{count}"] = scenario.set("pacing", pacing).over({"pacing.q_max": queues})
    return found


def check(runs: Runs) -> Verdict:
    """Each doubling of Q_max and each further pacer lowers the coefficient of variation; the mean rate stays."""
    evidence: list[Evidence] = []
    ratios = normalised(runs)
    for count in PACERS:
        for size, double in itertools.pairwise(QUEUES):
            evidence.append(
                variation.falls(
                    f"fall of the ratio from Q_max {size} to {double}, pacers: {count}",
                    ratios[count, size],
                    ratios[count, double],
                )
            )
    for size in QUEUES:
        for fewer, more in ((0, 1), (1, 2), (2, 3)):
            evidence.append(
                variation.falls(
                    f"fall of the ratio from {fewer} to {more} pacers, Q_max {size}",
                    ratios[fewer, size],
                    ratios[more, size],
                )
            )
    shifts = [
        criteria.difference(at(runs, count, size), runs["none"], THROUGHPUT, relative=True)
        for count in PACERS
        for size in QUEUES
    ]
    worst = max(shifts, key=lambda shift: abs(shift.mean))
    evidence.append(
        criteria.below("greatest relative shift of the mean rate", abs(worst.mean), UNCHANGED, "of the rate")
    )
    ours = {
        f"pacers {count}, Q_max {size}": round(variation.mean(ratios[count, size]).mean, 4)
        for count in PACERS
        for size in QUEUES
    }
    theirs = {"order": "the ratio falls with Q_max and with the number of pacers; the mean rate is the same"}
    ends = ours["pacers 1, Q_max 10"], ours["pacers 3, Q_max 160"]
    note = (
        f"The ratio falls at every step, from {ends[0]:.2f} with one pacer of Q_max 10 to {ends[1]:.2f} with three of "
        f"160, outside the interval of the paired difference; no mean rate moves by more than {abs(worst.mean):.3%}."
        if criteria.judge(evidence) == "reproduced"
        else "Steps at which the fall is not outside its interval are marked; ten runs of 1900 s decide them."
    )
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def at(runs: Runs, count: int, size: int) -> Results:
    """The runs with so many pacers of this Q_max."""
    return runs[f"pacers-{count}"].where({"pacing.q_max": f"{size} packets"})


def normalised(runs: Runs) -> dict[tuple[int, int], dict[int, float]]:
    """The coefficient of variation at 50 ms over that without pacers, by seed, for each number of pacers and Q_max."""
    unpaced = variation.by_seed(runs["none"], SCALE_S)
    found = {(0, size): variation.ratio(unpaced, unpaced) for size in QUEUES}
    for count in PACERS:
        for size in QUEUES:
            found[count, size] = variation.ratio(variation.by_seed(at(runs, count, size), SCALE_S), unpaced)
    return found


def draw(runs: Runs) -> Sequence[Picture]:
    """As in the paper: a curve for each number of pacers."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    ratios = normalised(runs)
    for count in PACERS:
        values = [variation.mean(ratios[count, size]) for size in QUEUES]
        drawing.curve(ax, QUEUES, values, f"{count} pacer{'s' if count > 1 else ''}", count)
    ax.set_xscale("log", base=2)
    ax.set_xticks(QUEUES, [str(size) for size in QUEUES])
    ax.set_ylim(0, 1.06)  # a mark near 1 is not cut
    ax.set_xlabel("Q_max, packets")
    ax.set_ylabel("CV of bytes in 50 ms, over the unpaced CV")
    drawing.legend(ax, loc="lower left")
    caption = (
        "A source of 2 Mbit/s that is on for 100 ms and off for 200 ms in the mean, through one to three QLBP pacers: "
        "means of ten runs with 95 % intervals. The paper says: lower with a larger Q_max, and with more pacers."
    )
    return [drawing.picture(figure, "fig15", caption)]


CLAIM = Claim(
    id="qlbp-fig15",
    paper="qlbp",
    where="Fig. 15, IV-C1",
    kind="shape",
    says="The coefficient of variation per 50 ms, over that of the unpaced series, falls with Q_max from 10 to 160 "
    "packets and with one, two and three pacers in a row; the mean rate stays.",
    printed={},
    assumptions=ASSUMPTIONS,
    sweeps=sweeps,
    check=check,
    draw=draw,
)
