"""Section III-B1, eq. (3) and Fig. 6: how the pacer's output follows a source that begins at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.results import Result, Results
from paceline.scenario import Scenario
from paceline.theory import qlbp_response

MU_MIN, MU_MAX, PACKET_BITS = "2 Mbit/s", "10 Mbit/s", 800
#: Two response constants, as in Fig. 6: 40 and 10 per second.
QUEUES = ("25 KB", "100 KB")
RATES = ("3 Mbit/s", "6 Mbit/s", "9 Mbit/s")
#: Ends of the windows in which the output is compared, in 1/alpha.
WINDOWS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
_QMAX, _RATE = "pacing.q_max", "traffic.step.rate"


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Three steps into two pacers."""
    link = {"rate": "15 Mbit/s", "delay": "1 ms"}
    document = {
        "title": "QLBP: the answer to a step",
        "duration": "0.6 s",
        "network": {"template": "path", "core": "paced", "links": [{"name": "first"} | link, {"name": "paced"} | link]},
        "traffic": [{"name": "step", "kind": "cbr", "packet": "100 B", "rate": RATES[0], "start": "0 s .. 10 ms"}],
        "pacing": {"method": "qlbp", "at": "paced", "mu_min": MU_MIN, "mu_max": MU_MAX, "q_max": QUEUES[0]},
        "probes": {"departures": {"links": "paced", "from": "0 s"}},
    }
    scenario = Scenario(document).over({_QMAX: list(QUEUES), _RATE: list(RATES)})
    return {"main": scenario.seeds(length.seed_count())}


def check(runs: Runs) -> Verdict:
    """In each window after the step, the output's rate is the mean of the closed form's."""
    evidence: list[Evidence] = []
    ours: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    for q_max in QUEUES:
        alpha = _alpha(q_max)
        for rate in RATES:
            name = f"{rate}, alpha {alpha:g}/s"
            measured = output(_at(runs["main"], q_max, rate), alpha)
            expected = [_mean(rate, *window) for window in _windows()]
            for (start, end), value, theory in zip(_windows(), measured, expected, strict=True):
                what = f"output, source {name}, {start:g} to {end:g} 1/alpha on, Mbit/s"
                evidence.append(criteria.within(what, value, theory, "Mbit/s"))
            ours[name] = [round(value.mean, 4) for value in measured]
            theirs[name] = [round(value, 4) for value in expected]
    off = max(abs(mine / other - 1) for name in ours for mine, other in zip(ours[name], theirs[name], strict=True))
    note = (
        f"The rate of departures, from the gaps in eight windows after each of six steps, lies within {off:.1%} of "
        "the mean of the closed form over the same window; the larger alpha is there four times as soon, as in Fig. "
        "6. Packets are small (100 B) so that a window holds enough of them to have a rate."
    )
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def draw(runs: Runs) -> Sequence[Picture]:
    """Rates against time, lines the closed form."""
    figure, panels = drawing.axes(2)
    for ax, q_max in zip(panels, QUEUES, strict=True):
        alpha = _alpha(q_max)
        fine = np.linspace(0, WINDOWS[-1] / alpha, 121)
        for slot, rate in enumerate(RATES, 1):
            curve = qlbp_response.step_response(fine, rate, MU_MIN, MU_MAX, q_max) / 1e6
            drawing.law(ax, list(fine * 1e3), list(curve), "", slot)
            middles = [500 * (start + end) / alpha for start, end in _windows()]
            points = output(_at(runs["main"], q_max, rate), alpha)
            drawing.curve(ax, middles, points, f"source {rate}", slot, linestyle="none")
        ax.set_xlabel("time after the step, ms")
        ax.set_ylabel("output of the pacer, Mbit/s")
        ax.set_title(f"alpha = {alpha:g} per second", loc="left", fontsize="medium", color=drawing.INK)
        ax.set_ylim(0, 10)
    drawing.legend(panels[0], loc="lower right")
    caption = (
        "What leaves QLBP (mu_min 2, mu_max 10 Mbit/s) after a constant source begins: points simulated, each a "
        "window of departures; lines the paper's closed form. Alpha of 40 per second is Q_max = 25 KB, of "
        "10 is 100 KB: a quarter of the response constant."
    )
    return [drawing.picture(figure, "response", caption)]


def output(results: Results, alpha: float) -> list[Interval]:
    """Rate of departures in each window, Mbit/s: means over seeds."""
    rows = [_rates(_departures(run), alpha) for run in results]
    means = [interval(column) for column in zip(*rows, strict=True)]
    if not rows or None in means:
        raise ValueError("no run has departures in every window")
    return [value for value in means if value is not None]


def _departures(run: Result) -> NDArray[np.float64]:
    """Times of the paced link's departures, seconds, from the first on, which a packet makes as it arrives."""
    series = run.series
    if series is None:
        raise ValueError("departures were not recorded")
    kept = (np.asarray(series["link"]) == "paced") & (np.asarray(series["kind"]) == "departure")
    times = np.sort(np.asarray(series["time_ns"], dtype=np.float64)[kept]) * 1e-9
    return np.asarray(times - times[0])


def _rates(times: NDArray[np.float64], alpha: float) -> list[float | None]:
    """Mbit/s in each window: packets between two ends, read off the line through the departures."""
    count = np.interp(np.asarray(WINDOWS) / alpha, times, np.arange(times.size))
    rates = np.diff(count) * PACKET_BITS * alpha / np.diff(WINDOWS) / 1e6
    return [float(rate) for rate in rates]


def _mean(rate: str, start: float, end: float) -> float:
    """Mean of the closed form over a window given in 1/alpha, Mbit/s."""
    source, slowest = float(rate.split()[0]), float(MU_MIN.split()[0])
    return source - (source - slowest) * (math.exp(-start) - math.exp(-end)) / (end - start)


def _windows() -> list[tuple[float, float]]:
    return list(pairwise(WINDOWS))


def _alpha(q_max: str) -> float:
    return float(qlbp_response.response_constant(MU_MIN, MU_MAX, q_max))


def _at(results: Results, q_max: str, rate: str) -> Results:
    return results.where({_QMAX: q_max, _RATE: rate})


CLAIM = Claim(
    id="qlbp-response",
    paper="qlbp",
    where="III-B1, eq. (3), Fig. 6",
    kind="number",
    says="After a source of rate λ₀ begins, the pacer's output is λ₀ − (λ₀ − mu_min) exp(−alpha t), with "
    "alpha = (mu_max − mu_min) / Q_max: the larger alpha, the sooner it follows.",
    printed={},
    assumptions=(
        Assumption(
            "Rates and queue: Fig. 6 is a sketch.",
            "mu_min 2 and mu_max 10 Mbit/s as in Table II, steps to 3, 6 and 9 Mbit/s, Q_max of 25 and 100 KB.",
            "They cover the linear range; alpha is 40 and 10 per second.",
        ),
        Assumption(
            "Packets: the equation is about a fluid.",
            "100 B, so that Q_max holds 250 or 1000 of them.",
            "The rate of a window needs many packets.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
