"""Means, Student t intervals and paired comparisons over seeds.

Seed k means the same random draws under every setting, so two settings are compared seed by seed: the interval of the
differences is far narrower than the two intervals side by side suggest, and it is the one that decides who wins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paceline._intervals import student_t

#: Differences below this fraction of the values are rounding, not results.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A mean over `n` seeds and the half-width of its 95 % interval, `None` where one seed allows none."""

    mean: float
    half: float | None
    n: int

    @property
    def low(self) -> float:
        return self.mean - (self.half or 0.0)

    @property
    def high(self) -> float:
        return self.mean + (self.half or 0.0)

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval supports a difference from zero; never where there is no interval."""
        return self.half is not None and abs(self.mean) > self.half


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and 95 % Student t interval of finite values; `None` where there are none."""
    finite = [v for v in values if math.isfinite(v)]
    n = len(finite)
    if n == 0:
        return None
    mean = math.fsum(finite) / n
    if n == 1:
        return Estimate(mean, None, 1)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in finite) / (n - 1))
    return Estimate(mean, student_t(n - 1) * deviation / math.sqrt(n), n)


def paired(
    a: Mapping[int, float], b: Mapping[int, float], *, relative: bool = False, once: bool = False
) -> Estimate | None:
    """Interval of a - b over the seeds that both have; with `relative`, of a / b - 1.

    With `once`, both are of runs that every seed repeats: there is one difference, and no interval.
    """
    differences: list[float] = []
    for seed in sorted(a.keys() & b.keys()):
        x, y = a[seed], b[seed]
        if relative and y == 0:
            return None
        difference = 0.0 if math.isclose(x, y, rel_tol=ROUNDING, abs_tol=0.0) else x - y
        differences.append(difference / y if relative else difference)
    return estimate(differences[:1] if once else differences)


def leaders(
    candidates: Mapping[str, Mapping[int, float]], better: int, repeated: frozenset[str] = frozenset()
) -> tuple[str | None, frozenset[str]]:
    """The best candidate and those it ties with.

    `better` is +1 where more is better and -1 where less is. The first item is `None` where the best is not ahead of
    every other by more than the interval of the paired differences; the set then holds all that tie for best. With a
    single seed, or between two of those that are `repeated` by every seed, nothing can be told, and the set is empty.
    """
    means = {name: e.mean for name, values in candidates.items() if (e := estimate(list(values.values())))}
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
