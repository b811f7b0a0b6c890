"""Fig. 3, section IV-B, base case (ii): a second connection makes the core a bottleneck; pacing saves losses.

Criteria were fixed from the text before the runs that judge them. Fig. 3(a) is one pair of curves "through the entire
300 seconds" of readings every 12 s: paced must be ahead over the whole run, outside the interval over seeds, and at
every reading under every seed. Parts of one run are no points of an order of their own. "Around 0.5 %" of drops and
"mostly two RTTs" are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.fig2 import ROUND_TRIP, RTT_MS, base_case
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
    UTILISATION,
    WINDOW,
)
from paceline.results import Result, Results
from paceline.scenario import Scenario

RATE = 1e9
#: The switch is read so often, s; and parts of the run that the note and the picture tell.
READING_S, PARTS = 12.0, 5
#: Drops of unpaced flows, %, and times of paced calls, round trips.
LOSS_PRINTED, ROUND_TRIPS = 0.5, 2
#: Almost no drops, of all packets: a fiftieth of what the paper sees unpaced.
ALMOST_NONE = 1e-4

#: The experiment in which hosts are exact, and of a departure and an arrival at one instant the departure goes first.
EXACT = "why-exact"

POINTS = Assumption(
    "At which points an order over one pair of curves is to be judged.",
    "Over the whole run, by the interval over seeds, and at each reading of 12 s under each seed; times of calls and "
    "losses over all of it.",
    "Fig. 3(a) shows utilisation through the whole run, from a switch that is read every 12 s; the other quantities "
    "have one value a run.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Two servers and two clients."""
    scenario = base_case(length, 2, RTT_MS).set("probes", {"throughput": {"every": "1 s"}})
    found = {"main": scenario.over({PACING: METHODS}).seeds(length.seed_count())}
    if not length.quick:
        found[EXACT] = scenario.set("network.ties", "departure").over({PACING: METHODS}).seeds(length.seed_count())
    return found


def check(runs: Runs) -> Verdict:
    """Paced above unpaced in utilisation, below it in times of calls and in loss."""
    unpaced, paced = (runs["main"].where({PACING: pacing}) for pacing in (NONE, PACED))
    evidence: list[Evidence] = []
    evidence.append(criteria.ahead("utilisation: paced − unpaced, the whole run", paced, unpaced, UTILISATION))
    fewest = min(readings_ahead(a, b) for a, b in zip(unpaced, paced, strict=True))
    name = f"share of readings of {READING_S:g} s at which paced is ahead, least of a seed"
    evidence.append(Evidence(name, fewest, None, "1, all of them", fewest == 1))
    parts = [gap_of(unpaced, paced, part) for part in range(PARTS)]
    evidence += [
        criteria.ahead("mean time of a call: unpaced − paced, ms", unpaced, paced, FCT, MS),
        criteria.ahead("99th percentile: unpaced − paced, ms", unpaced, paced, FCT_P99, MS),
        criteria.ahead("loss: unpaced − paced, %", unpaced, paced, LOSS, PERCENT),
        criteria.below("loss, paced", criteria.mean(paced, LOSS), ALMOST_NONE),
        criteria.within("loss, unpaced, %", criteria.mean(unpaced, LOSS, PERCENT), LOSS_PRINTED, "%"),
        criteria.within("mean time of a call, paced, ms", criteria.mean(paced, FCT, MS), ROUND_TRIPS * RTT_MS, "ms"),
        *(
            criteria.inform(f"utilisation: paced − unpaced, part {part} of {PARTS} of the run", gap, "over time")
            for part, gap in enumerate(parts, 1)
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
    held = [gap.half is not None and gap.mean > gap.half for gap in parts]
    note = noted(held, ours["unpaced_loss_percent"], unpaced, paced, exact[0] if exact else None)
    theirs = {"unpaced_loss_percent": LOSS_PRINTED, "paced_loss_percent": 0.0, "paced_fct_ms": ROUND_TRIPS * RTT_MS}
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def readings_ahead(unpaced: Result, paced: Result) -> float:
    """The share of the switch's readings at which the paced run used more of the core than the unpaced one."""
    start, end = unpaced.window_s
    edges = np.arange(start, end - READING_S / 2, READING_S)
    edges = np.append(edges, edges[-1] + READING_S) if edges[-1] + READING_S <= end else edges
    used = [np.diff(carried(run, edges)) for run in (unpaced, paced)]
    return float(np.mean(used[1] > used[0]))


def gap_of(unpaced: Results, paced: Results, part: int) -> Interval:
    """By how much more of the core the paced connections use in a part of the run: the mean over paired seeds."""
    gap = interval(utilisation(b, part) - utilisation(a, part) for a, b in zip(unpaced, paced, strict=True))
    assert gap is not None
    return gap


def noted(held: Sequence[bool | None], loss: float, unpaced: Results, paced: Results, exact: Results | None) -> str:
    """What came of the order, and why; `exact` is `unpaced` with exact hosts."""
    lost = (
        f"Unpaced loses {loss:g} % where the paper says about 0.5 %: two connections that keep to 694 packets lose a "
        "burst only where their calls overlap."
    )
    if all(held):
        return f"The order of utilisation holds in each of {PARTS} parts of the run. {lost}"
    all_paced = max(utilisation(run, PARTS - 1) for run in paced)

    def in_turns(runs: Results) -> str:
        ahead = sum(utilisation(run, PARTS - 1) > all_paced for run in runs)
        return f"{ahead} of {len(runs)} runs"

    failed = [str(number) for number, ok in enumerate(held, 1) if not ok]
    where = f"any of {PARTS} parts" if len(failed) == PARTS else f"part {', '.join(failed)} of {PARTS}"
    most = max(utilisation(run, PARTS - 1) for run in unpaced)
    note = (
        f"The order does not hold in {where} of the run. Unpaced connections lose where their calls "
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
    edges = edges_of(run)[part : part + 2]
    start, end = carried(run, edges)
    return float((end - start) * 8 / (edges[1] - edges[0]) / RATE)


def carried(run: Result, times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Bytes that the core has carried by then."""
    table = run.instrument("carried")
    sent: npt.NDArray[np.float64] = np.interp(times, table["x"].to_numpy(), table["y"].to_numpy())
    return sent


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
    drawing.from_zero(left)
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
    says="Two connections: paced has the higher utilisation throughout, almost no drops (unpaced about 0.5 %) and "
    "shorter calls, of two round trips, in the mean and at the 99th percentile.",
    printed={"unpaced_loss_percent": LOSS_PRINTED, "paced_round_trips": ROUND_TRIPS},
    assumptions=(PACER, WINDOW, ROUND_TRIP, POINTS, KERNEL),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
