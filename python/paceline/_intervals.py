"""Means and their 95 % intervals over seeds, by Student's t.

The quantile comes from the finite sums for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4),
inverted by bisection: exact to the last digits of a double, and no library of a hundred megabytes for one number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the half width of its 95 % interval.

    Attributes:
        mean: in the unit of the samples.
        half: the same unit; ``None`` with fewer than two samples, or where all are of one run repeated.
        count: number of samples.
    """

    mean: float
    half: float | None
    count: int


def interval(samples: Iterable[float | None]) -> Interval | None:
    """Mean and 95 % interval of the samples that are there; ``None`` where none is."""
    values = [value for value in samples if value is not None]
    if not values:
        return None
    count = len(values)
    # Equal values have no spread: their sum, divided, may be off by its last digit.
    mean = values[0] if min(values) == max(values) else math.fsum(values) / count
    if count < 2:
        return Interval(mean, None, count)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Interval(mean, student_t(count - 1) * math.sqrt(variance / count), count)


@cache
def student_t(freedom: int, probability: float = 0.95) -> float:
    """The t that holds |T| with this probability, for `freedom` (1 or more) degrees of freedom."""
    if freedom < 1 or not 0 < probability < 1:
        raise ValueError("needs one degree of freedom at least, and a probability between 0 and 1")
    low, high = 0.0, 1.0
    while _within(high, freedom) < probability:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _within(middle, freedom) < probability else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """P(|T| <= t)."""
    theta = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(3 if odd else 2, freedom, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (theta + sine * total) if odd else sine * total
