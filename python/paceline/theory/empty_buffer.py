"""How load rises with the buffer: rho = 1 - exp(-B/B*), the edge-vs-host paper's section IV.

Many TCP flows keep the bottleneck's buffer empty for a share of time that falls exponentially with its size B. B* is
of the network: the paper found 2 to 10 KB. `fit` finds it from measured loads.

Source: H. Habibi Gharakheili et al., IFIP Networking 2013, section IV, after A. Vishwanath, V. Sivaraman, G. Rouskas,
"Anomalous Loss Performance for Mixed Real-Time and TCP Traffic", IEEE/ACM Transactions on Networking 19(4), 2011.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paceline._statistics import interval, student_t
from paceline.errors import InputError
from paceline.theory.quantities import Amount, Numbers, answer, number, size


@dataclass(frozen=True, slots=True)
class Fit:
    """B* with its 95 % interval.

    Attributes:
        scale_bytes: B*, bytes.
        half_bytes: half width of its interval, bytes: over seeds where several were given, else of the least squares.
        residual: root mean square of what the loads are off the curve, over all points.
        count: of loads.
    """

    scale_bytes: float
    half_bytes: float
    residual: float
    count: int


def load(buffer: Amount, scale: Amount) -> Numbers:
    """rho = 1 - exp(-B/B*), of 1. `buffer` from 0, `scale` B* above 0: both sizes, or both numbers in one unit."""
    return answer(-np.expm1(-size(buffer, "buffer", least=0) / size(scale, "scale", above=0)))


def buffer_for(load: Amount, scale: Amount) -> Numbers:
    """The buffer, bytes, that gives this load: -B* ln(1 - load). `load` in [0, 1)."""
    return answer(-size(scale, "scale", above=0) * np.log1p(-number(load, "load", least=0, below=1)))


def fit(buffer: Amount, load: Amount) -> Fit:
    """B* by least squares of the loads.

    Args:
        buffer: at least two sizes.
        load: of 1, at each buffer; or a row a seed. With two seeds or more the interval is Student's over the seeds'
            own fits; with one, that of the least squares.

    Raises:
        InputError: the shapes do not fit, or a load is outside [0, 1].
    """
    sizes = size(buffer, "buffer", above=0)
    rows = np.atleast_2d(number(load, "load", least=0, most=1))
    if sizes.ndim != 1 or sizes.size < 2 or rows.ndim != 2 or rows.shape[1] != sizes.size:
        raise InputError("load: write a load for each of two or more buffers, or a row of them for each seed")
    scale = _least_squares(sizes, rows.mean(axis=0))
    off = rows + np.expm1(-sizes / scale)
    residual = float(np.sqrt(np.mean(off**2)))
    if len(rows) > 1:
        seeds = interval(_least_squares(sizes, row) for row in rows)
        assert seeds is not None
        half = seeds.half or 0.0
    else:
        slope = _slope(sizes, scale)
        freedom = sizes.size - 1
        half = student_t(freedom) * math.sqrt(float(np.sum(off**2)) / freedom / float(slope @ slope))
    return Fit(scale, half, residual, rows.size)


def _least_squares(sizes: NDArray[np.float64], loads: NDArray[np.float64]) -> float:
    """The B* of least squared error: a scan over six decades, then golden section between its neighbours."""

    def error(logarithm: float) -> float:
        return float(np.sum((loads + np.expm1(-sizes / math.exp(logarithm))) ** 2))

    scan = np.linspace(math.log(sizes.min() / 1e3), math.log(sizes.max() * 1e3), 400)
    curves = -np.expm1(-sizes / np.exp(scan)[:, None])
    best = int(np.argmin(np.sum((loads - curves) ** 2, axis=1)))
    low, high = float(scan[max(best - 1, 0)]), float(scan[min(best + 1, scan.size - 1)])
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    while high - low > 1e-10:
        if error(left) < error(right):
            high, right = right, left
            left = high - golden * (high - low)
        else:
            low, left = left, right
            right = low + golden * (high - low)
    return math.exp((low + high) / 2)


def _slope(sizes: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Derivative of the curve by B*."""
    return -sizes / scale**2 * np.exp(-sizes / scale)
