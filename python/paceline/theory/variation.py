"""Measures of burstiness, of measured series and in closed form.

The coefficient of variation is that of bytes or packets in intervals of one length: standard deviation over mean, as
the QLBP paper's figures 15 and 16 and the instrument `rate_variation` have it.

Sources: Y. Cai, T. Wolf, W. Gong, IEEE JSAC 29(5), 2011, section IV-C; W. Leland, M. Taqqu, W. Willinger, D. Wilson,
"On the Self-Similar Nature of Ethernet Traffic", IEEE/ACM Transactions on Networking 2(1), 1994 (scales and H); M.
Taqqu, W. Willinger, R. Sherman, "Proof of a Fundamental Result in Self-Similar Traffic Modeling", CCR 27(2), 1997 (H
of ON-OFF sources).
"""

from __future__ import annotations

import numpy as np

from paceline.errors import InputError
from paceline.theory.quantities import Amount, Numbers, answer, number, time


def coefficient(series: Amount) -> float:
    """Standard deviation over mean of a series of two or more numbers, from 0, not all 0."""
    values = number(series, "series", least=0)
    if values.ndim != 1 or values.size < 2 or not values.any():
        raise InputError("series: has no variation; write two numbers or more, not all of them 0")
    return float(values.std() / values.mean())


def dispersion(series: Amount) -> float:
    """Variance over mean of counts: 1 for Poisson arrivals, 0 for equal gaps. As `coefficient`."""
    values = number(series, "series", least=0)
    return coefficient(series) ** 2 * float(values.mean())


def peak_to_mean(series: Amount) -> float:
    """Largest over mean. As `coefficient`."""
    coefficient(series)
    values = number(series, "series", least=0)
    return float(values.max() / values.mean())


def poisson(packets_per_second: Amount, interval: Amount) -> Numbers:
    """Coefficient of variation of Poisson arrivals in intervals: 1 / √(rate · interval)."""
    expected = number(packets_per_second, "packets_per_second", above=0) * time(interval, "interval", above=0)
    return answer(1 / np.sqrt(expected))


def self_similar(at: Amount, interval: Amount, coefficient: Amount, hurst: Amount) -> Numbers:
    """Coefficient of variation at one time scale from that at another: falls as (at / interval)^(H - 1).

    Args:
        at: the time scale asked for.
        interval: the one at which it is `coefficient`.
        coefficient: above 0.
        hurst: H, in (0, 1); 0.5 is without memory.
    """
    scale = time(at, "at", above=0) / time(interval, "interval", above=0)
    exponent = number(hurst, "hurst", above=0, below=1) - 1
    return answer(number(coefficient, "coefficient", above=0) * scale**exponent)


def hurst_of_on_off(shape: Amount) -> Numbers:
    """H = (3 - a) / 2 of many ON-OFF sources whose periods are Pareto of shape a, in (1, 2)."""
    return answer((3 - number(shape, "shape", above=1, below=2)) / 2)
