"""Fig. 3, section IV-B, base case (ii): a second connection makes the core a bottleneck; pacing saves losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.fig2 import ROUND_TRIP, base_case
from paceline.papers.datacentre.testbed import (
    FCT,
    FCT_P99,
    KERNEL,
    LOSS,
    METHODS,
    MS,
    NONE,
    PACED,
    PACER,
    PACING,
    PERCENT,
    WINDOW,
)
from paceline.results import Result, Results
from paceline.scenario import Scenario

RATE = 1e9
#: The run is cut into so many parts: the points over the printed range, which is the whole run.
PARTS = 5
#: Almost no drops, of all packets: a fiftieth of what the paper sees unpaced.
ALMOST_NONE = 1e-4

#: The experiment in which hosts are exact, and of a departure and an arrival at one instant the departure goes first.
EXACT = "why-exact"

POINTS = Assumption(
    "At which points an order over one pair of curves is to be judged.",
    "Utilisation in five equal parts of the time after the warm-up; times of calls and losses over all of it.",
    "Fig. 3(a) shows utilisation through the whole run; the other quantities have one value a run.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Two servers and two clients."""
    scenario = base_case(length, 2, 31).set("probes", {"throughput": {"every": "1 s"}})
    found = {"main": scenario.over({PACING: METHODS}).seeds(length.seed_count())}
    if not length.quick:
        found[EXACT] = scenario.set("network.ties", "departure").over({PACING: METHODS}).seeds(length.seed_count())
    return found


def check(runs: Runs) -> Verdict:
    """Paced above unpaced in utilisation, below it in times of calls and in loss."""
    unpaced, paced = (runs["main"].where({PACING: pacing}) for pacing in (NONE, PACED))
    evidence: list[Evidence] = []
    for part in range(PARTS):
        gap = gap_of(unpaced, paced, part)
        ok = gap.half is not None and gap.mean > gap.half
        ends = None if gap.half is None else (gap.mean - gap.half, gap.mean + gap.half)
        name = f"utilisation: paced − unpaced, part {part + 1} of {PARTS} of the run"
        evidence.append(Evidence(name, gap.mean, ends, "above 0, interval included", ok))
    evidence += [
        criteria.ahead("mean time of a call: unpaced − paced, ms", unpaced, paced, FCT, MS),
        criteria.ahead("99th percentile: unpaced − paced, ms", unpaced, paced, FCT_P99, MS),
        criteria.ahead("loss: unpaced − paced, %", unpaced, paced, LOSS, PERCENT),
        criteria.below("loss, paced", criteria.mean(paced, LOSS), ALMOST_NONE),
        criteria.inform(
            "loss, unpaced, %", criteria.mean(unpaced, LOSS, PERCENT), "the paper prints about 0.5 %, see the note"
        ),
    ]
    ours = {
        f"{name}_{what}": round(criteria.mean(some, path, scale).mean, 4)
        for name, some in (("unpaced", unpaced), ("paced", paced))
        for what, path, scale in (
            ("loss_percent", LOSS, PERCENT),
            ("fct_ms", FCT, MS),
            ("fct_p99_ms", FCT_P99, MS),
        )
    }
    exact = [runs[EXACT].where({PACING: pacing}) for pacing in (NONE, PACED)] if EXACT in runs else []
    for part in range(PARTS) if exact else ():
        name = f"utilisation: paced − unpaced, part {part + 1} of {PARTS} of the run, exact hosts"
        evidence.append(criteria.inform(name, gap_of(exact[0], exact[1], part), EXACT))
    note = noted(
        [row.ok for row in evidence[:PARTS]], ours["unpaced_loss_percent"], unpaced, paced, exact[0] if exact else None
    )
    theirs = {"unpaced_loss_percent": 0.5, "paced_loss_percent": 0.0}
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def gap_of(unpaced: Results, paced: Results, part: int) -> Interval:
    """By how much more of the core the paced connections use in a part of the run: the mean over paired seeds."""
    gap = interval(utilisation(b, part) - utilisation(a, part) for a, b in zip(unpaced, paced, strict=True))
    assert gap is not None
    return gap


def noted(held: Sequence[bool | None], loss: float, unpaced: Results, paced: Results, exact: Results | None) -> str:
    """What came of the order, and why; `exact` is `unpaced` with exact hosts."""
    lost = (
        f"Unpaced loses {loss:g} % where the paper says about 0.5 %: two connections that keep to 694 packets lose a "
        "burst only where their calls overlap. That number is no part of the order."
    )
    if all(held):
        return f"The order of utilisation holds. {lost}"
    all_paced = max(utilisation(run, PARTS - 1) for run in paced)

    def in_turns(runs: Results) -> str:
        ahead = sum(utilisation(run, PARTS - 1) > all_paced for run in runs)
        return f"{ahead} of {len(runs)} runs"

    parts = ", ".join(str(number) for number, ok in enumerate(held, 1) if not ok)
    most = max(utilisation(run, PARTS - 1) for run in unpaced)
    note = (
        f"The order does not hold in part {parts} of {PARTS} of the run. Unpaced connections lose where their calls "
        "overlap, and a loss shifts one against the other. Once they take turns, each sending its window while the "
        "other waits for acknowledgements, nothing is lost and nothing shifts them any more. In the last part "
        f"{in_turns(unpaced)} are ahead of the paced ones, at up to {most:.2f} of the core; paced connections "
        f"use {all_paced:.2f}, since each window takes a whole round trip."
    )
    if exact is not None:
        note += f" With exact hosts, and the departure first at a tie, {in_turns(exact)} are ({EXACT})."
    return f"{note} {lost}"


def utilisation(run: Result, part: int) -> float:
    """Of the core in one of the equal parts of the window of the statistics."""
    table = run.instrument("carried")
    times, carried = table["x"].to_numpy(), table["y"].to_numpy()
    edges = edges_of(run)[part : part + 2]
    start, end = np.interp(edges, times, carried)
    return float((end - start) * 8 / (edges[1] - edges[0]) / RATE)


def edges_of(run: Result) -> npt.NDArray[np.float64]:
    """Where the parts of a run begin and end, s."""
    start, end = run.window_s
    return np.linspace(start, end, PARTS + 1)


def draw(runs: Runs) -> Sequence[Picture]:
    """Utilisation over time, and times of calls."""
    figure, (left, right) = drawing.axes(2)
    for slot, pacing in enumerate((NONE, PACED)):
        some = runs["main"].where({PACING: pacing})
        edges = edges_of(some[0])
        values = [interval(utilisation(run, part) for run in some) or Interval(0.0, None, 0) for part in range(PARTS)]
        drawing.curve(left, [float(x) for x in (edges[1:] + edges[:-1]) / 2], values, pacing, slot)
        times = [criteria.mean(some, path, MS) for path in (FCT, FCT_P99)]
        drawing.curve(right, [0, 1], times, pacing, slot, linestyle="none")
    left.set_xlabel("time, s")
    left.set_ylabel("utilisation of the core")
    left.set_ylim(bottom=0)
    right.set_xticks([0, 1], ["mean", "99th percentile"])
    right.set_xlim(-0.5, 1.5)
    drawing.logarithmic(right, "y", (50, 100, 200, 500, 1000))
    right.set_ylim(40, 1200)
    right.set_ylabel("time of a call, ms")
    drawing.legend(left, loc="lower right")
    caption = (
        "Two connections with calls of 1 MB share 1 Gbit/s and 64 KB of buffer. The paper: paced is higher throughout."
    )
    return [drawing.picture(figure, "fig3", caption)]


CLAIM = Claim(
    id="dc-base-over",
    paper="datacentre",
    where="Fig. 3, IV-B",
    kind="order",
    says="Two connections: paced has the higher utilisation, almost no drops (unpaced about 0.5 %) and shorter calls "
    "in the mean and at the 99th percentile.",
    printed={},
    assumptions=(PACER, WINDOW, ROUND_TRIP, POINTS, KERNEL),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
