"""A Markov ON-OFF source before and after QLBP: mean, auto-covariance (Theorem 2), variation over intervals.

The source sends at `peak` while on and not at all while off; both last for exponential times. So its rate has the
auto-covariance V e^(-s τ) (5), s = 1/on + 1/off. QLBP under the paper's assumption 1 (mu_min = 0, mu_max = C, never
full) is the linear filter d mu/dt = alpha (lambda - mu), whose output has (6): a smaller variance, and a longer tail.

A rate has to be measured over intervals: `interval` gives the covariance of the mean rates of two intervals of that
length, `lag` apart from start to start, which is what the instrument `auto_covariance` estimates.

Source: Y. Cai, T. Wolf, W. Gong, IEEE JSAC 29(5), 2011, Theorem 2, eq. (4) to (6), appendix B. The averages over
intervals are integrals of these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paceline.theory.quantities import Amount, Numbers, answer, number, rate, time

_Array = NDArray[np.float64]


def mean_rate(peak: Amount, on: Amount, off: Amount) -> Numbers:
    """Bit/s: peak · on / (on + off). `on` and `off` are mean lengths."""
    up, down = time(on, "on", above=0), time(off, "off", above=0)
    return answer(rate(peak, "peak", above=0) * up / (up + down))


def covariance(lag: Amount, peak: Amount, on: Amount, off: Amount, *, interval: Amount = 0.0) -> Numbers:
    """Eq. (5), (bit/s)², of the source's rate; of its means over `interval`s where that is above 0. `lag` from 0."""
    apart, length = _lag(lag, interval)
    variance, decay = _source(peak, on, off)
    return answer(variance * _exponential(apart, length, decay))


def paced_covariance(
    lag: Amount, peak: Amount, on: Amount, off: Amount, alpha: Amount, *, interval: Amount = 0.0
) -> Numbers:
    """Eq. (6), (bit/s)², of the rate that leaves QLBP; `alpha` its response constant, per second, above 0."""
    apart, length = _lag(lag, interval)
    variance, decay = _source(peak, on, off)
    response = number(alpha, "alpha", above=0)
    # Both cases of (6) are V a / (a + s) · (a e^(-s τ) - s e^(-a τ)) / (a - s), whose limit at a = s is the second one.
    gap = response - decay
    equal = np.abs(gap) < 1e-5 * decay
    safe = np.where(equal, 1.0, gap)
    apart_terms = response * _exponential(apart, length, decay) - decay * _exponential(apart, length, response)
    together = _exponential(apart, length, decay) - decay * _slope(apart, length, decay)
    return answer(variance * response / (response + decay) * np.where(equal, together, apart_terms / safe))


def variation(interval: Amount, peak: Amount, on: Amount, off: Amount, alpha: Amount | None = None) -> Numbers:
    """Standard deviation over mean of the rate in intervals of this length; behind QLBP where `alpha` is given."""
    time(interval, "interval", above=0)
    if alpha is None:
        square = covariance(0.0, peak, on, off, interval=interval)
    else:
        square = paced_covariance(0.0, peak, on, off, alpha, interval=interval)
    return answer(np.sqrt(square) / mean_rate(peak, on, off))


def _source(peak: Amount, on: Amount, off: Amount) -> tuple[_Array, _Array]:
    """Variance of the rate and its decay, per second."""
    up, down = time(on, "on", above=0), time(off, "off", above=0)
    mean = mean_rate(peak, on, off)
    return np.asarray(mean * (rate(peak, "peak", above=0) - mean)), 1 / up + 1 / down


def _lag(lag: Amount, interval: Amount) -> tuple[_Array, _Array]:
    return time(lag, "lag", least=0), time(interval, "interval", least=0)


def _exponential(lag: _Array, length: _Array, decay: _Array) -> _Array:
    """Mean of e^(-decay |lag + u - v|) over u and v from 0 to `length`."""
    if not np.any(length > 0):
        return np.asarray(np.exp(-decay * lag))
    # The mean is the second difference of G(x) = (decay |x| - 1 + e^(-decay |x|)) / decay², G'' = e^(-decay |x|).
    return (_twice(lag + length, decay) - 2 * _twice(lag, decay) + _twice(lag - length, decay)) / length**2


def _twice(x: _Array, decay: _Array) -> _Array:
    """e^(-decay |x|), integrated twice from 0."""
    y = decay * np.abs(x)
    return np.asarray((y + np.expm1(-y)) / decay**2)


def _slope(lag: _Array, length: _Array, decay: _Array) -> _Array:
    """Derivative of `_exponential` by `decay`."""
    if not np.any(length > 0):
        return np.asarray(-lag * np.exp(-decay * lag))
    parts = [_twice_slope(x, decay) for x in (lag + length, lag, lag - length)]
    return (parts[0] - 2 * parts[1] + parts[2]) / length**2


def _twice_slope(x: _Array, decay: _Array) -> _Array:
    """Derivative of `_twice` by `decay`."""
    return np.asarray((-np.abs(x) * np.expm1(-decay * np.abs(x)) / decay - 2 * _twice(x, decay)) / decay)
