"""How much a link's rate varies: coefficients of variation from the instrument, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from paceline._statistics import Interval, interval
from paceline.papers import criteria
from paceline.papers.claim import Evidence
from paceline.results import Results


def by_seed(results: Results, scale_s: float) -> dict[int, float]:
    """Coefficient of variation in intervals of `scale_s` seconds, by seed; of one setting's runs with one such link."""
    found: dict[int, float] = {}
    for run in results:
        curve = run.instrument("rate_variation")
        for x, y in zip(curve["x"].to_pylist(), curve["y"].to_pylist(), strict=True):
            if math.isclose(x, scale_s, rel_tol=1e-6):
                found[run.seed] = y
    return found


def ratio(over: Mapping[int, float], under: Mapping[int, float]) -> dict[int, float]:
    """One divided by the other, seed by seed."""
    return {seed: over[seed] / under[seed] for seed in sorted(over.keys() & under.keys())}


def mean(values: Mapping[int, float]) -> Interval:
    """Over the seeds. Raises `ValueError` where there are none."""
    return _known(interval(values.values()))


def falls(statistic: str, before: Mapping[int, float], after: Mapping[int, float]) -> Evidence:
    """One step of a fall: `before` less `after` is above zero with its whole 95 % interval, seed by seed."""
    return criteria.order(statistic, fall(before, after))


def fall(before: Mapping[int, float], after: Mapping[int, float]) -> Interval:
    """`before` less `after`, seed by seed."""
    return _known(interval(before[seed] - after[seed] for seed in sorted(before.keys() & after.keys())))


def scales(results: Results) -> list[float]:
    """The lengths of intervals that every run has, seconds."""
    common = set.intersection(*(set(_lengths(run.instrument("rate_variation")["x"].to_pylist())) for run in results))
    return sorted(common)


def _lengths(values: Iterable[float]) -> Iterable[float]:
    return (round(value, 9) for value in values)


def _known(found: Interval | None) -> Interval:
    if found is None:
        raise ValueError("the two have no seed in common")
    return found
