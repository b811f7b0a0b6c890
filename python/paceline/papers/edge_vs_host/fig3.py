"""Fig. 3, section III-A: throughput and goodput of 1000 flows against the core's buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline.papers import criteria, drawing
from paceline.papers.claim import Claim, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, EDGE, HOST, METHODS, NONE, dumbbell
from paceline.results import Results
from paceline.scenario import Scenario

THROUGHPUT, GOODPUT, LOSS = "links.core.throughput_bps", "flows.goodput_mean_bps", "links.core.loss_ratio"
KBPS, MBPS = 1e3, 1e6
FULL = (2, 3, 5, 6, 8, 10, 12, 15, 20, 30)
QUICK = (2, 3, 5, 7, 9, 12, 15)
#: Where edge pacing leads, by the paper.
REGION = (5, 15)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """The same runs for all three claims."""
    scenario = dumbbell()
    if length.quick:
        scenario = scenario.set("duration", "40 s").set("warmup", "15 s")
    buffers = [f"{size} KB" for size in length.choose(FULL, QUICK)]
    scenario = scenario.over({"pacing": METHODS, "network.core.buffer": buffers})
    return {"main": scenario.seeds(length.seed_count())}


def check_goodput(runs: Runs) -> Verdict:
    """Three printed numbers at 5 KB."""
    theirs = {"unpaced_kbps": 82, "host_kbps": 82, "edge_kbps": 93}
    means = {
        name: criteria.mean(at(runs, pacing, 5), GOODPUT, KBPS) for name, pacing in zip(theirs, LABELS, strict=True)
    }
    evidence = [
        criteria.within(f"goodput at 5 KB, {LABELS[number]}, kbit/s", means[name], theirs[name], "kbit/s")
        for number, name in enumerate(theirs)
    ]
    ours = {name: round(value.mean, 2) for name, value in means.items()}
    return Verdict(criteria.judge(evidence), ours, theirs, "All three means lie within 5 % of those printed.", evidence)


def check_loss(runs: Runs) -> Verdict:
    """Loss above 15 % at 2 and 3 KB under every method."""
    evidence = []
    ours: dict[str, float] = {}
    for size in (2, 3):
        for pacing in LABELS:
            loss = criteria.mean(at(runs, pacing, size), LOSS)
            ours[f"{pacing}, {size} KB"] = round(loss.mean, 4)
            evidence.append(criteria.above(f"loss at {size} KB, {pacing}", loss, 0.15))
    note = f"The least loss of the six is {min(ours.values()):.1%}."
    return Verdict(criteria.judge(evidence), ours, {"loss_above": 0.15}, note, evidence)


def check_region(runs: Runs) -> Verdict:
    """Edge above host and unpaced at every buffer from 5 to 15 KB, in throughput and goodput."""
    evidence = [
        criteria.ahead(
            f"{what}: edge − {other} at {size} KB, {unit}", at(runs, EDGE, size), at(runs, other, size), path, scale
        )
        for what, path, scale, unit in (
            ("throughput", THROUGHPUT, MBPS, "Mbit/s"),
            ("goodput", GOODPUT, KBPS, "kbit/s"),
        )
        for other in (NONE, HOST)
        for size in sizes(runs)
        if REGION[0] <= size <= REGION[1]
    ]
    ours = {row.statistic: row.value for row in evidence}
    note = f"Edge pacing leads at {sum(bool(row.ok) for row in evidence)} of {len(evidence)} points."
    return Verdict(criteria.judge(evidence), ours, {"order": "edge above host and unpaced"}, note, evidence)


def draw(runs: Runs) -> Sequence[Picture]:
    """Both panels, as in the paper."""
    figure, (left, right) = drawing.axes(2)
    for slot, pacing in enumerate(LABELS):
        for ax, path, scale in ((left, THROUGHPUT, MBPS), (right, GOODPUT, KBPS)):
            values = [criteria.mean(at(runs, pacing, size), path, scale) for size in sizes(runs)]
            drawing.curve(ax, sizes(runs), values, pacing, slot)
    left.set_ylabel("core throughput, Mbit/s")
    right.set_ylabel("goodput of a flow, kbit/s")
    drawing.printed(right, 5, 93, "edge: 93")
    drawing.printed(right, 5, 82, "unpaced, host: 82")
    for ax in (left, right):
        ax.set_xlabel("buffer of the core link, KB")
    drawing.legend(left, loc="lower right")
    caption = (
        "1000 Reno flows over 100 Mbit/s: means over seeds with 95 % intervals; crosses are what the paper prints."
    )
    return [drawing.picture(figure, "fig3", caption)]


LABELS = (NONE, HOST, EDGE)


def at(runs: Runs, pacing: str, size: int) -> Results:
    """The runs of one method and buffer."""
    return runs["main"].where({"pacing": pacing, "network.core.buffer": f"{size} KB"})


def sizes(runs: Runs) -> list[int]:
    """The buffers that were run, KB."""
    return sorted({int(run.settings["network.core.buffer"].split()[0]) for run in runs["main"]})


CLAIMS = [
    Claim(
        id="edge-fig3-goodput",
        paper="edge-vs-host",
        where="Fig. 3(b), III-A",
        kind="number",
        says="With 5 KB of buffer a flow gets 82 kbit/s unpaced or paced at the host, and 93 kbit/s paced at the edge.",
        printed={"buffer_kb": 5, "unpaced_kbps": 82, "host_kbps": 82, "edge_kbps": 93},
        assumptions=ASSUMPTIONS,
        sweeps=sweeps,
        check=check_goodput,
        draw=draw,
    ),
    Claim(
        id="edge-fig3-loss",
        paper="edge-vs-host",
        where="III-A",
        kind="number",
        says="With 2 to 3 KB more than 15 % of packets are lost at the core, however paced: pacing gains nothing.",
        printed={"buffer_kb": [2, 3], "loss_above": 0.15},
        assumptions=ASSUMPTIONS,
        sweeps=sweeps,
        check=check_loss,
        draw=draw,
    ),
    Claim(
        id="edge-fig3-region",
        paper="edge-vs-host",
        where="Fig. 3, III-A",
        kind="order",
        says="From 5 to 15 KB edge pacing gives more throughput and goodput than host pacing and than none.",
        printed={},
        assumptions=ASSUMPTIONS,
        sweeps=sweeps,
        check=check_region,
        draw=draw,
    ),
]
