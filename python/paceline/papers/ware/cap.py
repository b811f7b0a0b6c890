"""The abstract's key lesson: under competition BBR is limited by its cap on what is in flight, not by its rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.ware import network
from paceline.papers.ware.network import ASSUMPTIONS, BUFFER, COUNT, OTHERS, VARIANT, at, label
from paceline.results import Result
from paceline.results.instruments import Numbers
from paceline.scenario import Scenario

FLOWS, BUFFERS = (1, 16), (8, 32)
#: A window of four packets, as it falls to it and leaves it, is ProbeRTT.
PROBING = 8.0
#: Samples are taken over so long, s.
STEP, SPAN = 0.2, 1.0
#: Samples that a curve of the picture is a mean of.
ROUND = 20

STATISTIC = Assumption(
    "By which number the limit shows.",
    "What is in flight, delivered bytes a second times the smoothed round trip, over the window, which is BBR's cap: "
    "the median over the second half of the time between two ProbeRTTs is 1 within 5 %.",
    "A flow that its rate limits has less in flight than its window. In the first half BBR comes back from its drain, "
    "which the model counts apart.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """One other flow or sixteen, over 8 and over 32 BDP, with the window and what is delivered."""
    watched = network.network(length)
    watched = watched.set("probes.window", {"flows": ["bbr.0"], "every": f"{STEP * 1000:g} ms"})
    watched = watched.set("probes.throughput", {"flows": ["bbr.0"], "by": "flow", "every": f"{STEP * 1000:g} ms"})
    flows, buffers = length.choose(FLOWS, FLOWS[:1]), length.choose(BUFFERS, BUFFERS[:1])
    over: dict[str, Sequence[object]] = {
        VARIANT: list(OTHERS.values()),
        COUNT: list(flows),
        BUFFER: [label(size) for size in buffers],
    }
    found = {"main": watched.over(over).seeds(length.seed_count())}
    if not length.quick:
        alone = watched.set("traffic.other.size", "1 packets").over({BUFFER: [label(BUFFERS[0])]})
        found["why-alone"] = alone.seeds(length.seed_count())
    return found


def check(runs: Runs) -> Verdict:
    """In flight over the window, late between two ProbeRTTs, for each kind, number and buffer."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    early: list[Evidence] = []
    for name, variant in OTHERS.items():
        for number in sorted({int(run.settings[COUNT]) for run in runs["main"]}):
            for size in sorted({int(run.settings[BUFFER].split()[0]) for run in runs["main"]}):
                some = at(runs["main"], variant, number, size)
                where = f"{number} {name}, {size} BDP"
                late = over_seeds([used(run, late=True) for run in some])
                ours[where] = round(late.mean, 3)
                evidence.append(criteria.within(f"in flight over the window, second half, {where}", late, 1.0))
                first = over_seeds([used(run, late=False) for run in some])
                words = f"in flight over the window, first half, {where}"
                early.append(criteria.inform(words, first, "coming back from ProbeRTT"))
    alone = None
    if "why-alone" in runs:
        alone = over_seeds([used(run, late=True) for run in runs["why-alone"]])
        early.append(criteria.inform("in flight over the window, second half, alone, 8 BDP", alone, "why-alone"))
    theirs = {"in flight over the window": "1, limited by the cap"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(ours, alone), [*evidence, *early])


def note(ours: Mapping[str, float], alone: Interval | None) -> str:
    """How much of its window BBR has in flight, alone and beside others, and why not all."""
    one = [100 * value for where, value in ours.items() if where.startswith("1 ")]
    least = min(ours, key=lambda where: ours[where])
    return (
        (
            f"Alone BBR has {alone.mean:.2f} of its window in flight, as a flow does that its rate limits (why-alone). "
            if alone
            else ""
        )
        + f"Beside another flow it has {min(one):.0f} to {max(one):.0f} % of it, and least, {100 * ours[least]:.0f} %, "
        f"beside {least}: it leans on the cap, and is not always at it. The window follows the highest rate of ten "
        "round trips, what is in flight the mean; probing lasts one round trip of eight, another is spent at three "
        "quarters of the rate, and a loss of its own holds the window back for a round trip. Over 32 BDP the round "
        "trip is so long that ProbeRTT comes again before the cap is reached, see ware-share."
    )


def over_seeds(values: Sequence[float]) -> Interval:
    """Mean over seeds."""
    found = interval(values)
    assert found is not None
    return found


def used(run: Result, *, late: bool) -> float:
    """Median of what is in flight over the window, in the second half or the first of the time between ProbeRTTs."""
    times, window, ratio = samples(run)
    return float(np.median(ratio[half(times, window, late=late)]))


def samples(run: Result) -> tuple[Numbers, Numbers, Numbers]:
    """Times, s, windows, packets, and what is in flight over the window."""
    cwnd, srtt, delivered = (run.instrument(name) for name in ("cwnd", "srtt", "delivered"))
    times, window = cwnd["x"].to_numpy(), cwnd["y"].to_numpy()
    inside = (times > run.window_s[0]) & (times < run.window_s[1] - SPAN)
    times, window = times[inside], window[inside]
    round_trip = np.interp(times, srtt["x"].to_numpy(), srtt["y"].to_numpy())
    x, so_far = delivered["x"].to_numpy(), delivered["y"].to_numpy()
    rate = (np.interp(times + SPAN / 2, x, so_far) - np.interp(times - SPAN / 2, x, so_far)) / SPAN
    payload = 1448
    return times, window, rate * round_trip / (window * payload)


def half(times: Numbers, window: Numbers, *, late: bool) -> NDArray[np.bool_]:
    """Which samples lie in that half of the time between two ProbeRTTs; all outside of it where there are none."""
    low = times[window <= PROBING]
    away = window > PROBING
    if len(low) < 2:
        return away
    place = np.searchsorted(low, times)
    between = (place > 0) & (place < len(low))
    before, after = low[np.clip(place - 1, 0, None)], low[np.clip(place, None, len(low) - 1)]
    long = after - before > 2 * SPAN
    part = (times - before) / np.maximum(after - before, 1e-9)
    return away & between & long & ((part > 0.5) if late else (part <= 0.5))


def draw(runs: Runs) -> Sequence[Picture]:
    """In flight over the window, and windows, of the first seed against one other at each buffer."""
    some = [run for run in runs["main"] if run.settings[COUNT] == "1"]
    first = min(run.seed for run in some)
    figure, (left, right) = drawing.axes(2)
    shown = [run for run in some if run.seed == first]
    for slot, run in enumerate(shown):
        times, window, ratio = samples(run)
        until = times < run.window_s[0] + 40
        kind = {variant: name for name, variant in OTHERS.items()}[run.settings[VARIANT]]
        name = f"{kind}, {run.settings[BUFFER]}"
        drawing.curve(left, list(times[until]), list(window[until]), name, slot, marker="none", capsize=0)
        away = (window > PROBING) & (ratio < 2)  # what was sent before ProbeRTT is still in flight as it begins
        around = np.ones(ROUND)
        smooth = np.convolve(ratio * away, around, "same") / np.maximum(np.convolve(away, around, "same"), 1)
        smooth[~away] = np.nan
        drawing.curve(right, list(times[until]), list(smooth[until]), name, slot, marker="none", capsize=0)
    left.set_ylabel("BBR's window, packets")
    right.set_ylabel("in flight over the window")
    right.set_ylim(0, 1.2)
    for ax in (left, right):
        ax.set_xlabel("time, s")
    drawing.legend(left, loc="upper left", ncols=2)
    left.set_ylim(top=1.3 * left.get_ylim()[1])
    caption = (
        "One BBR v1 flow against one other; what is in flight as means of 4 s, without ProbeRTT. The paper: once it "
        "has probed, its window limits it, and that is 1."
    )
    return [drawing.picture(figure, "cap", caption)]


CLAIM = Claim(
    id="ware-cap",
    paper="ware",
    where="Abstract, the cap",
    kind="number",
    says="Under competition BBR is limited by its cap on what is in flight, two bandwidth-delay products as it "
    "estimates them, and no longer by its rate.",
    printed={"cap_bdp": 2},
    assumptions=(*ASSUMPTIONS, STATISTIC),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
