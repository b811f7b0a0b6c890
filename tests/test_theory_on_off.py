"""Theorem 2 against the theorem's own constants, integrals, and a Markov source drawn and filtered."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from paceline.theory import on_off

PEAK, ON, OFF = 2e6, 0.1, 0.2
R1, R2 = 1 / OFF, 1 / ON  # of the paper: on at r1, off at r2


def printed(tau: float, alpha: float) -> float:
    """Eq. (6) as the paper writes it."""
    both = R1 + R2
    if alpha == both:
        return PEAK**2 * R1 * R2 / (2 * both**2) * (1 + alpha * tau) * math.exp(-alpha * tau)
    a = alpha**2 * PEAK**2 * R1 * R2 / (both**2 * (alpha + both) * (alpha - both))
    b = -alpha * PEAK**2 * R1 * R2 / (both * (alpha + both) * (alpha - both))
    return a * math.exp(-both * tau) + b * math.exp(-alpha * tau)


@pytest.mark.parametrize("alpha", [0.5, 3.0, 14.0, 15.0, 16.0, 100.0, 1e5])
def test_eq_5_and_6_as_printed(alpha: float) -> None:
    for tau in (0, 0.001, 0.05, 0.3, 2):
        before = PEAK**2 * R1 * R2 / (R1 + R2) ** 2 * math.exp(-(R1 + R2) * tau)
        assert on_off.covariance(tau, PEAK, ON, OFF) == pytest.approx(before)
        after = on_off.paced_covariance(tau, PEAK, ON, OFF, alpha)
        assert after == pytest.approx(printed(tau, alpha), rel=1e-6)
    assert on_off.paced_covariance(0, PEAK, ON, OFF, alpha) < on_off.covariance(0, PEAK, ON, OFF)


def test_near_the_double_root_nothing_jumps() -> None:
    around = 15 * (1 + np.array([-3e-5, -1e-5, -3e-6, 0, 3e-6, 1e-5, 3e-5]))
    values = [on_off.paced_covariance(0.07, PEAK, ON, OFF, float(alpha)) for alpha in around]
    assert values == pytest.approx([values[3]] * 7, rel=1e-4)


@pytest.mark.parametrize("alpha", [None, 4.0, 15.0, 60.0])
@pytest.mark.parametrize("lag", [0, 1, 5])
def test_means_over_intervals_are_integrals(alpha: float | None, lag: int) -> None:
    """The covariance of two intervals' means: a double integral over both, by the midpoint rule."""
    length, points = 0.05, 400
    middles = (np.arange(points) + 0.5) * length / points
    apart = np.abs(lag * length + middles[:, None] - middles[None, :])
    if alpha is None:
        rough = on_off.covariance(apart, PEAK, ON, OFF).mean()
        exact = on_off.covariance(lag * length, PEAK, ON, OFF, interval=length)
    else:
        rough = on_off.paced_covariance(apart, PEAK, ON, OFF, alpha).mean()
        exact = on_off.paced_covariance(lag * length, PEAK, ON, OFF, alpha, interval=length)
    assert exact == pytest.approx(rough, rel=1e-4)
    if lag == 0:
        spread = on_off.variation(length, PEAK, ON, OFF, alpha)
        assert spread == pytest.approx(math.sqrt(rough) / on_off.mean_rate(PEAK, ON, OFF), rel=1e-4)


def drawn(seed: int, alpha: float, step: float, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A Markov source sampled every `step`, and the filter's output, solved exactly between its changes."""
    random = np.random.default_rng(seed)
    up = random.random() < ON / (ON + OFF)
    now, change, mu = 0.0, random.exponential(ON if up else OFF), PEAK * ON / (ON + OFF)
    before, after = np.empty(count), np.empty(count)
    for k in range(count):
        until = k * step
        while change < until:
            rate = PEAK * up
            mu = rate + (mu - rate) * math.exp(-alpha * (change - now))
            now, up = change, not up
            change += random.exponential(ON if up else OFF)
        rate = PEAK * up
        mu = rate + (mu - rate) * math.exp(-alpha * (until - now))
        now = until
        before[k], after[k] = rate, mu
    return before, after


@pytest.mark.parametrize("alpha", [5.0, 15.0])
def test_a_drawn_source_has_these_covariances(alpha: float) -> None:
    """Eight draws of 1000 s: means within four standard errors, which are narrower than 5 % of the variance."""
    step, lags = 0.01, [0, 3, 10, 30]
    draws = [drawn(seed, alpha, step, 100_000) for seed in range(8)]
    mean = on_off.mean_rate(PEAK, ON, OFF)
    for lag in lags:
        pairs = ((0, on_off.covariance(lag * step, PEAK, ON, OFF)),)
        pairs += ((1, on_off.paced_covariance(lag * step, PEAK, ON, OFF, alpha)),)
        for which, theory in pairs:
            found = []
            for draw in draws:
                series = draw[which] - mean
                found.append(float(np.mean(series[lag:] * series[: series.size - lag])))
            error = float(np.std(found, ddof=1)) / math.sqrt(len(found))
            assert abs(np.mean(found) - theory) < 4 * error
            assert error < 0.05 * on_off.paced_covariance(0, PEAK, ON, OFF, alpha)
