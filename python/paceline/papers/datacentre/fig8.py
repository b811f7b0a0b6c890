"""Fig. 8, section IV-D: whose packet follows whose, and the drop rate, of a hundred flows and fewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from paceline._statistics import interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre import fig4
from paceline.papers.datacentre.testbed import (
    ASSUMPTIONS,
    LINUX,
    LINUX_PACED,
    LOSS,
    METHODS,
    NONE,
    PACED,
    PACING,
    PERCENT,
    at,
    flows_of,
    network,
)
from paceline.results import Result, Results
from paceline.scenario import Scenario

FLOWS = 100
#: Flows of the one host that is watched: its answers, on its own link.
NAMES = tuple(f"rpc.{flow}.back" for flow in range(FLOWS // 4))
#: A packet's follower is one of so many flows; chance alone would be their share.
CHANCE = 1 / len(NAMES)
#: A heavy diagonal: the next packet is more likely of the same flow than of all others together.
HEAVY = 0.5

STATISTIC = Assumption(
    "What a heavy and a weak diagonal are.",
    "Heavy: the next packet is of the same flow with a probability above one half, for every flow. Light: below "
    "chance, one in 25, for every flow.",
    "The paper shows colours: the diagonal has the lightest, most likely, unpaced, and the darkest paced.",
)
WHERE = Assumption(
    "Where the order of packets was recorded.",
    "On the access link of one server, 25 flows.",
    "The paper shows the matrix of one of the hosts, with 25 flows of each host.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Fig. 4's runs for the drop rate; a hundred flows with an eye on one server's link."""
    watched = network(length, 64, FLOWS).set("duration", length.choose("30 s", "8 s"))
    watched = watched.set("probes", {"succession": {"links": "access.l.0", "flows": list(NAMES)}})
    found = {
        "drops": fig4.main(length, 64),
        "order": watched.over({PACING: METHODS}).seeds(length.seed_count()),
    }
    if not length.quick:
        found["why-linux"] = watched.over({PACING: [LINUX]}).seeds(length.seed_count(3))
    return found


def check(runs: Runs) -> Verdict:
    """The diagonals, and paced loss below unpaced at every number of flows."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for pacing, name in ((NONE, "unpaced"), (PACED, "paced")):
        diagonals = [np.diag(matrix(run)) for run in runs["order"].where({PACING: pacing})]
        mean = interval(float(diagonal.mean()) for diagonal in diagonals)
        assert mean is not None
        ours[f"diagonal_{name}"] = round(mean.mean, 4)
        if pacing == NONE:
            least = interval(float(diagonal.min()) for diagonal in diagonals)
            assert least is not None
            evidence.append(criteria.above("least of the diagonal, unpaced", least, HEAVY))
        else:
            most = interval(float(diagonal.max()) for diagonal in diagonals)
            assert most is not None
            evidence.append(criteria.below("greatest of the diagonal, paced", most, CHANCE))
        evidence.append(criteria.inform(f"mean of the diagonal, {name}", mean, "probability"))
    results = runs["drops"]
    evidence += [
        criteria.ahead(
            f"loss: unpaced − paced, {flows} flows, %",
            at(results, NONE, flows),
            at(results, PACED, flows),
            LOSS,
            PERCENT,
        )
        for flows in flows_of(results)
    ]
    linux = runs.get("why-linux")
    if linux is not None:
        mean = interval(float(np.diag(matrix(run)).mean()) for run in linux.where({PACING: LINUX_PACED}))
        assert mean is not None
        words = "why-linux: it sends two packets and more together, so a weak diagonal needs packets paced one by one"
        evidence.append(criteria.inform("mean of the diagonal, Linux's present rule", mean, words))
    note = (
        f"Unpaced, a packet is followed by one of its own flow with probability {ours['diagonal_unpaced']:g}; paced, "
        f"with {ours['diagonal_paced']:g}. Paced loses less wherever the rows of loss hold."
    )
    return Verdict(
        criteria.judge(evidence), ours, {"unpaced": "heavy diagonal", "paced": "weak diagonal"}, note, evidence
    )


def matrix(run: Result) -> npt.NDArray[np.float64]:
    """Row i, column j: how likely a packet of flow i is followed by one of flow j."""
    table = run.instrument("succession")
    places = {name: number for number, name in enumerate(NAMES)}
    found = np.zeros((len(NAMES), len(NAMES)))
    columns = (table.column(name).to_pylist() for name in ("flow", "next", "y"))
    for flow, following, share in zip(*columns, strict=True):
        if flow in places and following in places:
            found[places[flow], places[following]] = share
    return found


def mean_matrix(results: Results) -> npt.NDArray[np.float64]:
    """Over seeds."""
    return np.asarray(np.mean([matrix(run) for run in results], axis=0))


def draw(runs: Runs) -> Sequence[Picture]:
    """Drop rates, and both matrices in one range of colours."""
    figure, (left, middle, right) = drawing.axes(3)
    results = runs["drops"]
    flows = flows_of(results)
    for slot, pacing in enumerate((NONE, PACED)):
        values = [criteria.mean(at(results, pacing, number), LOSS, PERCENT) for number in flows]
        drawing.curve(left, flows, values, pacing, slot)
    left.set_xlabel("flows")
    left.set_ylabel("loss at the core, %")
    drawing.from_zero(left)
    drawing.legend(left, loc="best")
    for ax, pacing, name in ((middle, NONE, "unpaced"), (right, PACED, "paced")):
        shares = mean_matrix(runs["order"].where({PACING: pacing}))
        image = ax.pcolormesh(shares, vmin=0, vmax=1 if pacing == NONE else 2 * CHANCE, cmap="viridis")
        ax.set_title(name, color=drawing.INK, fontsize="medium")
        ax.set_xlabel("flow of the next packet")
        ax.set_ylabel("flow of a packet")
        ax.grid(visible=False)
        bar = figure.colorbar(image, ax=ax, label="probability")
        bar.ax.tick_params(colors=drawing.INK, labelsize="small")
        bar.ax.yaxis.label.set_color(drawing.INK)
    caption = (
        "Loss against flows, and whose packet follows whose on the link of one of four servers, of a hundred flows in "
        "all (mind the two ranges of colour). The paper: heavy diagonal unpaced, weak one paced; paced always loses "
        "less."
    )
    return [drawing.picture(figure, "fig8", caption)]


CLAIM = Claim(
    id="dc-fig8-clustering",
    paper="datacentre",
    where="Fig. 8, IV-D",
    kind="shape",
    says="Unpaced, packets of a flow follow each other; paced, they are mixed with those of all others. Paced always "
    "loses less.",
    printed={},
    assumptions=(*ASSUMPTIONS, STATISTIC, WHERE),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
