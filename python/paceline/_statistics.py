"""Means and their 95 % intervals over seeds by Student's t, and paired comparisons.

Seed k means the same random draws under every setting, so two settings are compared seed by seed: the interval of the
differences is far narrower than the two intervals side by side suggest, and it is the one that decides who wins.

The quantile of t comes from the finite sums for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4),
inverted by bisection: exact to the last digits of a double, and no library of a hundred megabytes for one number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

_PROBABILITY = 0.95
#: Differences below this fraction of the values are rounding, not results.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the half width of its 95 % interval.

    Attributes:
        mean: in the unit of the samples.
        half: the same unit; ``None`` with fewer than two samples, or where all are of one run repeated.
        count: number of samples.

    Examples:
        >>> goodput = pl.Interval(mean=81.5, half=0.2, count=5)  # kbit/s, five seeds
        >>> f"{goodput.low:.1f} to {goodput.high:.1f}"
        '81.3 to 81.7'
    """

    mean: float
    half: float | None
    count: int

    @property
    def low(self) -> float:
        """Lower end; the mean itself where there is no interval.

        Examples:
            >>> pl.Interval(10.0, 2.0, 5).low, pl.Interval(10.0, None, 1).low
            (8.0, 10.0)
        """
        return self.mean - (self.half or 0.0)

    @property
    def high(self) -> float:
        """Upper end; the mean itself where there is no interval.

        Examples:
            >>> pl.Interval(10.0, 2.0, 5).high, pl.Interval(10.0, None, 1).high
            (12.0, 10.0)
        """
        return self.mean + (self.half or 0.0)

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval supports a difference from zero; never where there is no interval.

        Examples:
            >>> [pl.Interval(mean, 2.0, 5).excludes_zero for mean in (1.0, 3.0, -3.0)]
            [False, True, True]
        """
        return self.half is not None and abs(self.mean) > self.half


def interval(samples: Iterable[float | None]) -> Interval | None:
    """Mean and 95 % interval of the samples that are there; ``None`` where none is."""
    values = [value for value in samples if value is not None]
    if not values:
        return None
    count = len(values)
    # Equal values have no spread: what they are computed from, and their sum, divided, may be off by a last digit.
    if math.isclose(min(values), max(values), rel_tol=ROUNDING, abs_tol=0.0):
        return Interval(values[0], 0.0 if count > 1 else None, count)
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Interval(mean, student_t(count - 1) * math.sqrt(variance / count), count)


def paired(
    a: Mapping[int, float], b: Mapping[int, float], *, relative: bool = False, once: bool = False
) -> Interval | None:
    """Interval of a - b over the seeds that both have; with `relative`, of a / b - 1, ``None`` where a b is 0.

    With `once`, both are of runs that every seed repeats: there is one difference, and no interval.
    """
    differences: list[float] = []
    for seed in sorted(a.keys() & b.keys()):
        x, y = a[seed], b[seed]
        if relative and y == 0:
            return None
        difference = 0.0 if math.isclose(x, y, rel_tol=ROUNDING, abs_tol=0.0) else x - y
        differences.append(difference / y if relative else difference)
    return interval(differences[:1] if once else differences)


def welch(a: Iterable[float], b: Iterable[float]) -> Interval | None:
    """Interval of mean(a) - mean(b) of samples that are not paired; ``None`` where one has fewer than two.

    Degrees of freedom by Welch and Satterthwaite, rounded down, which makes the interval no narrower.
    """
    first, second = list(a), list(b)
    if min(len(first), len(second)) < 2:
        return None
    means, shares = [], []
    for values in (first, second):
        mean = math.fsum(values) / len(values)
        means.append(mean)
        shares.append(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    total = sum(shares)
    difference = means[0] - means[1]
    if total == 0:
        return Interval(difference, 0.0, len(first) + len(second))
    freedom = total**2 / sum(s**2 / (len(v) - 1) for s, v in zip(shares, (first, second), strict=True))
    half = student_t(max(1, math.floor(freedom * (1 + ROUNDING)))) * math.sqrt(total)
    return Interval(difference, half, len(first) + len(second))


def leaders(
    candidates: Mapping[str, Mapping[int, float]], better: int, repeated: frozenset[str] = frozenset()
) -> tuple[str | None, frozenset[str]]:
    """The best candidate and those it ties with.

    `better` is +1 where more is better and -1 where less is. The first item is ``None`` where the best is not ahead of
    every other by more than the interval of the paired differences; the set then holds all that tie for best. With a
    single seed, or between two of those that are `repeated` by every seed, nothing can be told, and the set is empty.
    """
    means = {name: e.mean for name, values in candidates.items() if (e := interval(values.values()))}
    if len(means) < 2:
        return None, frozenset()
    best = max(means, key=lambda name: better * means[name])
    tied = {best}
    for name in means:
        if name == best:
            continue
        difference = paired(candidates[best], candidates[name], once={best, name} <= repeated)
        if difference is None or difference.half is None:
            return None, frozenset()
        if not difference.excludes_zero:
            tied.add(name)
    return (best, frozenset()) if len(tied) == 1 else (None, frozenset(tied))


@cache
def student_t(freedom: int, probability: float = _PROBABILITY) -> float:
    """The t that holds |T| with this probability, for `freedom` (1 or more) degrees of freedom."""
    if freedom < 1:
        raise ValueError("needs one degree of freedom at least")
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
