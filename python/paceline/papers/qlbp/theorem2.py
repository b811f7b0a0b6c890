"""Theorem 2, eq. (5) and (6): auto-covariance of a Markov ON-OFF source before and after the pacer; and its remark.

Remark: "C_mumu(τ) ≈ α / (α + r₁ + r₂) [1 + (r₁ + r₂) τ] C_λλ(τ) < C_λλ(τ) for small τ, which means the short-term
burstiness is reduced. The compromise is a slower decay of the auto-covariance for large τ." It is judged in the same
runs, by criteria that were fixed from these words, and before a look at any number of the remark. A lag is small where
it is at most 0.3 of 1/α and of 1/(r₁ + r₂): the approximation is (6) to the first order in both. It is large at 200 ms,
three times 1/(r₁ + r₂).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.results import Results
from paceline.scenario import Scenario
from paceline.theory import on_off, qlbp_response

PEAK, ON, OFF, CAPACITY = "2 Mbit/s", "100 ms", "200 ms", "10 Mbit/s"
#: The rate is a mean over intervals of this length, s; lags are whole numbers of them.
INTERVAL = 0.02
LAGS = (0, 1, 2, 3, 4, 5)
#: Queues whose response constants are a third of 1/on + 1/off, equal to it, and three times it.
QUEUES = {"250000 B": 5.0, "83333 B": 15.0, "27778 B": 45.0}
BEFORE, AFTER = "first", "paced"
#: 1/on + 1/off, per second.
DECAY = 15.0
#: What share of either time constant a small lag has at most, and how many intervals a large one is.
SMALL, LARGE = 0.3, 10
_QMAX = "pacing.q_max"


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """One source, three pacers; and larger packets, which are no fluid."""
    duration, warmup = length.choose(("1900 s", "100 s"), ("700 s", "20 s"))
    link = {"rate": CAPACITY, "delay": "2 ms"}
    document = {
        "title": "QLBP behind a Markov ON-OFF source",
        "duration": duration,
        "warmup": warmup,
        "network": {"template": "path", "core": AFTER, "links": [{"name": BEFORE} | link, {"name": AFTER} | link]},
        "traffic": [
            {
                "name": "source",
                "kind": "on-off",
                "packet": "200 B",
                "rate": PEAK,
                "on": {"exponential": ON},
                "off": {"exponential": OFF},
            }
        ],
        "pacing": {"method": "qlbp", "at": AFTER, "mu_min": "1 bit/s", "mu_max": CAPACITY, "q_max": "83333 B"},
        "probes": {"auto_covariance": {"links": [BEFORE, AFTER], "interval": "20 ms", "lags": 40}},
    }
    scenario = Scenario(document)
    # ten seeds, as the runs of Fig. 15 with the same source
    main = scenario.over({_QMAX: list(QUEUES)}).seeds(length.seed_count(10, 4))
    coarse = scenario.over({"traffic.source.packet": ["200 B", "1000 B"]}).seeds(length.seed_count(10, 2))
    return {"main": main, "why-fluid": coarse}


def check(runs: Runs) -> Verdict:
    """At each lag up to 100 ms, covariances measured over intervals of 20 ms are the theorem's integrals."""
    evidence: list[Evidence] = []
    ours: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    for q_max, alpha in QUEUES.items():
        for link in (BEFORE, AFTER):
            name = f"{'before' if link == BEFORE else 'after'}, alpha {alpha:g}/s"
            curve = covariances(runs["main"].where({_QMAX: q_max}), link)
            theory = [_theory(link, lag, _alpha(q_max)) / 1e12 for lag in LAGS]
            evidence += [
                criteria.within(f"covariance {name}, lag {1e3 * lag * INTERVAL:g} ms, (Mbit/s)²", curve[lag], expected)
                for lag, expected in zip(LAGS, theory, strict=True)
            ]
            ours[name] = [round(curve[lag].mean, 5) for lag in LAGS]
            theirs[name] = [round(value, 5) for value in theory]
    off = [
        abs(row.value / expected - 1)
        for row, expected in zip(evidence, (one for values in theirs.values() for one in values), strict=True)
        if isinstance(row.value, float)
    ]
    after, told = remark(runs, theirs)
    evidence += after
    variances = []
    for packet in ("200 B", "1000 B"):
        lone = covariances(runs["why-fluid"].where({"traffic.source.packet": packet}), AFTER)[0]
        variances.append(lone.mean / (_theory(AFTER, 0, _alpha("83333 B")) / 1e12))
        evidence.append(
            criteria.inform(f"variance after, packets of {packet}, alpha 15/s, (Mbit/s)²", lone, "a fluid has none")
        )
    note = (
        f"The {len(off)} covariances lie within {max(off):.1%} of the theorem, in the mean {np.mean(off):.1%}: before "
        "the pacer and after, with a response slower than the source's changes, as fast, and faster. A rate has to be "
        "counted over intervals, so the theorem's curves are averaged over pairs of intervals of 20 ms. With packets "
        f"of 200 B the variance behind the pacer is {variances[0]:.3f} of the fluid's, with the 1000 B of the paper's "
        f"runs {variances[1]:.3f}: what a packet adds to the variance of so short an interval. {told}"
    )
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def remark(runs: Runs, theirs: dict[str, list[float]]) -> tuple[list[Evidence], str]:
    """At small lags the approximation, which is less than before the pacer; at a large one more than before."""
    evidence: list[Evidence] = []
    off: list[float] = []
    late: list[str] = []
    for q_max, alpha in QUEUES.items():
        some = runs["main"].where({_QMAX: q_max})
        curve = covariances(some, AFTER)
        exact = [_theory(AFTER, lag, _alpha(q_max)) / 1e12 for lag in LAGS]
        near = [approximation(lag, _alpha(q_max)) / 1e12 for lag in LAGS]
        theirs[f"remark, alpha {alpha:g}/s"] = [round(value, 5) for value in near]
        for lag in LAGS:
            name = f"alpha {alpha:g}/s, lag {1e3 * lag * INTERVAL:g} ms, (Mbit/s)²"
            if lag * INTERVAL * max(alpha, DECAY) <= SMALL * (1 + 1e-9):
                evidence.append(
                    criteria.within(f"covariance after, as the remark has it, {name}", curve[lag], near[lag])
                )
                evidence.append(criteria.order(f"covariance after − before, {name}", lower(some, lag), sign=-1.0))
                off.append(abs(near[lag] / curve[lag].mean - 1))
            else:
                what = f"no small lag; the remark has {near[lag]:.4f}, the theorem {exact[lag]:.4f}"
                evidence.append(criteria.inform(f"covariance after, {name}", curve[lag], what))
        name = f"alpha {alpha:g}/s, lag {1e3 * LARGE * INTERVAL:g} ms, (Mbit/s)²"
        evidence.append(criteria.order(f"covariance after − before, {name}", lower(some, LARGE)))
        late.append(f"{near[-1] / exact[-1]:.2f}")
    told = (
        f"The remark's approximation is within {max(off):.1%} of what is measured at lags of at most {SMALL:g} time "
        f"constants. At {1e3 * LAGS[-1] * INTERVAL:g} ms, which is none of them, it is {', '.join(late)} of eq. (6) "
        "with the three pacers; it is eq. (6) itself where alpha is r₁ + r₂, and it promises less than before the "
        "pacer only up to a lag of 1/alpha."
    )
    return evidence, told


def lower(results: Results, lag: int) -> Interval:
    """Covariance after the pacer less that before it, by seed, (Mbit/s)²."""
    gaps = []
    for run in results:
        table = run.instrument("auto_covariance").to_pydict()
        found = {
            where: y / 1e12
            for where, x, y in zip(table["link"], table["x"], table["y"], strict=True)
            if round(x / INTERVAL) == lag
        }
        gaps.append(found[AFTER] - found[BEFORE])
    gap = interval(gaps)
    assert gap is not None
    return gap


def approximation(lag: float, alpha: float) -> float:
    """The remark's, averaged over pairs of intervals `lag` of them apart, (bit/s)²."""
    shift = np.linspace(-1, 1, 2001)
    apart = np.abs(lag + shift) * INTERVAL
    source = np.asarray(on_off.covariance(apart, PEAK, ON, OFF))
    near = alpha / (alpha + DECAY) * (1 + DECAY * apart) * source
    return float(np.average(near, weights=1 - np.abs(shift)))


def draw(runs: Runs) -> Sequence[Picture]:
    """Covariances over the source's variance against the lag, lines the theorem's."""
    figure, (ax,) = drawing.axes(1, size=(5.6, 3.8))
    fine = np.linspace(0, 0.4, 161)
    variance = float(on_off.covariance(0.0, PEAK, ON, OFF)) / 1e12
    settings = [(BEFORE, "83333 B", "before", 0)]
    settings += [
        (AFTER, q_max, f"after, alpha {alpha:g}/s", slot) for slot, (q_max, alpha) in enumerate(QUEUES.items(), 1)
    ]
    for link, q_max, words, slot in settings:
        curve = covariances(runs["main"].where({_QMAX: q_max}), link)
        lags = [lag for lag in sorted(curve) if lag * INTERVAL <= 0.4]
        theory = [_theory(link, x / INTERVAL, _alpha(q_max)) / 1e12 / variance for x in fine]
        drawing.law(ax, list(fine * 1e3), theory, "", slot)
        points = [Interval(curve[k].mean / variance, (curve[k].half or 0) / variance, curve[k].count) for k in lags]
        drawing.curve(ax, [1e3 * lag * INTERVAL for lag in lags], points, words, slot, linestyle="none")
    ax.set_xlabel("lag, ms")
    ax.set_ylabel("auto-covariance over the source's variance")
    drawing.legend(ax)
    caption = (
        "Auto-covariance of a Markov ON-OFF source (2 Mbit/s, on 100 ms, off 200 ms) in intervals of 20 ms, before "
        "QLBP and after it: points simulated, with 95 % intervals over seeds; lines the paper's eq. (5) and (6), "
        "averaged over such intervals."
    )
    return [drawing.picture(figure, "theorem2", caption)]


def covariances(results: Results, link: str) -> dict[int, Interval]:
    """Measured auto-covariance by lag, a whole number of intervals, (Mbit/s)²: means over seeds."""
    samples: dict[int, list[float]] = {}
    for run in results:
        table = run.instrument("auto_covariance").to_pydict()
        for where, x, y in zip(table["link"], table["x"], table["y"], strict=True):
            if where == link:
                samples.setdefault(round(x / INTERVAL), []).append(y / 1e12)
    found = {lag: interval(values) for lag, values in samples.items()}
    return {lag: value for lag, value in found.items() if value is not None}


def _alpha(q_max: str) -> float:
    """Response constant of a pacer, per second. mu_min is 1 bit/s: the scenario language knows no rate of 0."""
    return float(qlbp_response.response_constant("1 bit/s", CAPACITY, q_max))


def _theory(link: str, lag: float, alpha: float) -> float:
    """Eq. (5) before the pacer, (6) after it, (bit/s)²."""
    apart = lag * INTERVAL
    if link == BEFORE:
        return float(on_off.covariance(apart, PEAK, ON, OFF, interval=INTERVAL))
    return float(on_off.paced_covariance(apart, PEAK, ON, OFF, alpha, interval=INTERVAL))


CLAIM = Claim(
    id="qlbp-theorem2",
    paper="qlbp",
    where="Theorem 2, eq. (5), (6)",
    kind="number",
    says="QLBP turns the auto-covariance V exp(−(r₁ + r₂) τ) of a Markov ON-OFF source into A exp(−(r₁ + r₂) τ) + "
    "B exp(−alpha τ): less variance at short lags, about alpha / (alpha + r₁ + r₂) [1 + (r₁ + r₂) τ] of the source's, "
    "and a longer tail.",
    printed={},
    assumptions=(
        Assumption(
            "The source and the pacer: the theorem is general, with mu_min = 0 and mu_max = C.",
            "The source of Fig. 15 (2 Mbit/s, on 100 ms, off 200 ms), C of 10 Mbit/s, mu_min of 1 bit/s, and three "
            "Q_max that make alpha a third of r₁ + r₂, equal to it, and three times it.",
            "Both of the theorem's cases, and either side of them, are met.",
        ),
        Assumption(
            "How a rate is measured at an instant.",
            "Over intervals of 20 ms, a fifth of a mean ON period; theory is averaged over the same intervals.",
            "Packets have no rate at an instant.",
        ),
        Assumption(
            "Which τ is small, and which large, in the remark.",
            f"Up to {SMALL:g} of 1/alpha and of 1/(r₁ + r₂); {1e3 * LARGE * INTERVAL:g} ms, three times 1/(r₁ + r₂).",
            "The approximation is eq. (6) to the first order in both; less than the source's it is up to a lag of "
            "1/alpha.",
        ),
        Assumption(
            "Packets: the theorem is about a fluid.",
            "200 B, 0.8 ms apart at the peak.",
            "Varied in why-fluid: packets of 1000 B add to the variance behind the pacer.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
