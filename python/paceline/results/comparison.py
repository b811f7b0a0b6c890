"""Compares two sets of runs, setting by setting: differences of their numbers, with intervals where runs give them.

Seed k means the same draws in both, so where both have the same seeds the differences are paired; else the interval is
Welch's. One seed, or seeds that repeat one run, give no interval: then any difference is one, since a run is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal

from paceline._statistics import ROUNDING, Interval, interval, paired, welch
from paceline.errors import InputError
from paceline.results.one_run import number, numbers_of, unknown
from paceline.results.quantities import quantity, unit_of
from paceline.results.results import Results

#: Compared where nothing else is asked for; `{link}` is what both are about.
DEFAULTS = (
    *("links.{link}.throughput_bps", "links.{link}.loss_ratio", "links.{link}.queue_mean_bytes"),
    *("flows.goodput_mean_bps", "flows.fct_mean_s", "flows.timeouts", "flows.jain"),
)


@dataclass(frozen=True)
class Difference:
    """One number of one setting.

    Attributes:
        settings: labels by path, as the first has them. metric: path of the number. a, b: means over seeds, those of
        the pairs where they are paired, ``None`` where there is none. difference: of b - a, with its 95 % interval
        where the runs give one. method: of it.
        differs: beyond chance, as far as runs tell it, and beyond what was allowed.
    """

    settings: Mapping[str, str]
    metric: str
    a: float | None
    b: float | None
    difference: Interval | None
    method: Literal["paired", "welch", "single"] | None
    differs: bool

    @property
    def relative(self) -> float | None:
        """The difference as a share of a; ``None`` where a is 0 or is not there."""
        return None if self.difference is None or not self.a else self.difference.mean / abs(self.a)

    def to_dict(self) -> dict[str, Any]:
        """An object of the JSON; a number that does not exist is null."""
        found = self.difference
        return {
            "settings": dict(self.settings),
            "metric": self.metric,
            "unit": unit_of(self.metric),
            "a": self.a,
            "b": self.b,
            "difference": found and found.mean,
            "half": found and found.half,
            "relative": self.relative,
            "method": self.method,
            "differs": self.differs,
        }


@dataclass(frozen=True)
class Comparison:
    """All of it.

    `only_a` and `only_b` are settings that the other does not have, `apart` constants that differ; `unpaired_a` and
    `unpaired_b` seeds of settings that are paired by other seeds, which therefore count for nothing.
    """

    rows: Sequence[Difference]
    only_a: Sequence[Mapping[str, str]]
    only_b: Sequence[Mapping[str, str]]
    apart: Mapping[str, tuple[str | None, str | None]]
    unpaired_a: Sequence[int]
    unpaired_b: Sequence[int]

    @property
    def differs(self) -> bool:
        return bool(self.only_a or self.only_b) or any(row.differs for row in self.rows)


def compare(a: Results, b: Results, metrics: Sequence[str] = (), limit: float = 0.0) -> Comparison:
    """Compares b with a. A difference of at most `limit`, a share of a's mean, counts as none.

    Raises `InputError` where a metric is not there, or no setting is in both.
    """
    for metric in metrics:
        if not any(_has(run._dict, metric) for runs in (a, b) for run in runs):
            there = numbers_of(a[0]._dict) if len(a) else []
            raise InputError(unknown(metric, "number of these runs", there), "metric")
    chosen = metrics or _defaults(a, b)
    paths = list(dict.fromkeys(path for runs in (a, b) for run in runs for path in run.settings))
    constant = {path for path in paths if all(len(_labels(runs, path)) == 1 for runs in (a, b))}
    apart = {p: (*_labels(a, p), *_labels(b, p)) for p in paths if p in constant}
    apart = {p: pair for p, pair in apart.items() if _known_by(pair[0]) != _known_by(pair[1])}
    first, second = (_aligned(runs, [p for p in paths if p not in constant]) for runs in (a, b))
    both = [key for key in first if key in second]
    if not both:
        raise InputError(f"no setting is in both; one sweeps {_swept(a)}, the other {_swept(b)}")
    rows = [_difference(first[key], second[key], metric, limit) for key in both for metric in chosen]
    return Comparison(
        [row for row in rows if row.a is not None or row.b is not None],
        [one[0].settings for key, one in first.items() if key not in second],
        [one[0].settings for key, one in second.items() if key not in first],
        {path: (pair[0], pair[1]) for path, pair in apart.items()},
        *_unpaired([(first[key], second[key]) for key in both]),
    )


def _unpaired(both: Sequence[tuple[Results, Results]]) -> tuple[list[int], list[int]]:
    """Seeds that only one side of a pair of settings has, where there are seeds to pair."""
    only_a: set[int] = set()
    only_b: set[int] = set()
    for a, b in both:
        of_a, of_b = ({run.seed for run in runs} for runs in (a, b))
        if _pairs(of_a, of_b):
            only_a |= of_a - of_b
            only_b |= of_b - of_a
    return sorted(only_a), sorted(only_b)


def _pairs(of_a: Set[int], of_b: Set[int]) -> list[int]:
    """Seeds that both have, where they are compared by them: two at least, or the only one that a side has."""
    both = sorted(of_a & of_b)
    return both if len(both) >= min(2, len(of_a), len(of_b)) else []


def _difference(a: Results, b: Results, metric: str, limit: float) -> Difference:
    of_a, of_b = _by_seed(a, metric), _by_seed(b, metric)
    pairs = _pairs(of_a.keys(), of_b.keys())
    if pairs:  # the means that are shown differ by the difference that is shown
        of_a, of_b = ({seed: of[seed] for seed in pairs} for of in (of_a, of_b))
    mean_a, mean_b = (known.mean if (known := interval(of.values())) else None for of in (of_a, of_b))
    if mean_a is None or mean_b is None:
        return Difference(a[0].settings, metric, mean_a, mean_b, None, None, mean_a is not mean_b)
    found: Interval | None = None
    method: Literal["paired", "welch", "single"] = "single"
    repeated = (a.repeats or len(of_a) < 2, b.repeats or len(of_b) < 2)
    if len(pairs) >= 2 and not all(repeated):
        found, method = paired(of_b, of_a), "paired"
    elif not any(repeated):
        found, method = welch(of_b.values(), of_a.values()), "welch"
    if found is None:
        same = math.isclose(mean_b, mean_a, rel_tol=ROUNDING, abs_tol=0.0)
        found, method = Interval(0.0 if same else mean_b - mean_a, None, 1), "single"
    if found.half == 0:  # pairs, or samples, without any spread do not tell how large it is
        found = Interval(found.mean, None, found.count)
    told = found.mean != 0 if found.half is None else found.excludes_zero
    beyond = abs(found.mean) > limit * abs(mean_a)
    return Difference(a[0].settings, metric, mean_a, mean_b, found, method, told and beyond)


def _by_seed(runs: Results, metric: str) -> dict[int, float]:
    found = {}
    for run in runs:
        try:
            value = number(run._dict, metric)
        except KeyError:
            continue
        if value is not None:
            found[run.seed] = value
    return found


def _defaults(a: Results, b: Results) -> list[str]:
    link = a.bottleneck if a.bottleneck == b.bottleneck else None
    return [metric.format(link=link) for metric in DEFAULTS if link or "{link}" not in metric]


def _has(run: Mapping[str, Any], metric: str) -> bool:
    try:
        number(run, metric)
    except KeyError:
        return False
    return metric in numbers_of(run)


def _labels(runs: Results, path: str) -> list[str | None]:
    return list(dict.fromkeys(run.settings.get(path) for run in runs))


def _known_by(label: str | None) -> object:
    """What a label is known by: ``5 KB`` is ``5000 B``."""
    return None if label is None else quantity(label) or label


def _aligned(runs: Results, paths: Sequence[str]) -> dict[tuple[object, ...], Results]:
    """The runs of each setting by what it is known by."""
    return {tuple(_known_by(one.get(p)) for p in paths): found for one, found in runs.by_settings()}


def _swept(runs: Results) -> str:
    paths = dict.fromkeys(path for run in runs for path in run.settings)
    return ", ".join(f"{p} ({', '.join(str(one) for one in _labels(runs, p)[:6])})" for p in paths) or "nothing"
