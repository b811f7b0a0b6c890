"""When a claim counts as reproduced. These rules are fixed for all claims, and are not widened for one.

*number*: each printed value lies within 5 % of ours; numbers of packets within one packet, probabilities within 0.05;
bounds are kept. *order*: the order holds outside the 95 % interval of the paired difference, at no fewer than five
points spread over the printed range. *shape*: a rise, fall or crossing, by a statistic that the claim names.

Seed k means the same draws under every setting, so differences are taken seed by seed; intervals are Student's t. With
two seeds its quantile is 12.7: where their mean keeps a bound and their interval does not, the row is undecided.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from paceline._statistics import Interval, interval, paired
from paceline.papers.claim import Evidence, Outcome
from paceline.results import Results

RELATIVE = 0.05
PACKETS = 1.0
PROBABILITY = 0.05
#: An order needs so many points.
POINTS = 5
#: So many seeds give an interval, but one too wide to judge an order by.
FEW = 2


def by_seed(results: Results, path: str, scale: float = 1.0) -> dict[int, float]:
    """One number of each run, as ``links.core.throughput_bps``, divided by `scale`, by seed; of one setting's runs."""
    found: dict[int, float] = {}
    for run in results:
        if run.seed in found:
            raise ValueError(f"{path}: runs of more than one setting; narrow them by Results.where")
        value = run.number(path)
        if value is not None:
            found[run.seed] = value / scale
    return found


def mean(results: Results, path: str, scale: float = 1.0) -> Interval:
    """Mean over the seeds of one setting, divided by `scale`. Raises `ValueError` where no run has the number."""
    found = interval(by_seed(results, path, scale).values())
    if found is None:
        raise ValueError(f"{path}: no run has it")
    return Interval(found.mean, None, 1) if results.repeats else found


def difference(a: Results, b: Results, path: str, scale: float = 1.0, *, relative: bool = False) -> Interval:
    """The paired difference a - b over the seeds that both have; with `relative`, a / b - 1."""
    both = a.repeats and b.repeats  # then every seed is the same pair of runs again
    found = paired(by_seed(a, path, scale), by_seed(b, path, scale), relative=relative, once=both)
    if found is None:
        raise ValueError(f"{path}: the two have no seed in common" + (", or the second is 0" if relative else ""))
    return found


def within(statistic: str, ours: Interval | float, printed: float, unit: str = "") -> Evidence:
    """A number: the printed value lies within 5 % of ours."""
    value = _value(ours)
    return _row(statistic, ours, f"{_text(printed, unit)} within 5 %", abs(printed - value) <= RELATIVE * abs(value))


def packets(statistic: str, ours: Interval | float, printed: float) -> Evidence:
    """A number of packets: the printed one within one packet."""
    return _row(statistic, ours, f"{_text(printed, 'packets')} within one", abs(printed - _value(ours)) <= PACKETS)


def probability(statistic: str, ours: Interval | float, printed: float) -> Evidence:
    """A probability or share, 0 to 1: the printed one within 0.05."""
    return _row(statistic, ours, f"{printed:g} within 0.05", abs(printed - _value(ours)) <= PROBABILITY)


def above(statistic: str, ours: Interval | float, bound: float, unit: str = "") -> Evidence:
    """A bound from below, kept by the whole interval where there is one."""
    return _bounded(_row(statistic, ours, f"above {_text(bound, unit)}", _ends(ours)[0] > bound), ours, bound, 1.0)


def below(statistic: str, ours: Interval | float, bound: float, unit: str = "") -> Evidence:
    """A bound from above, kept by the whole interval where there is one."""
    return _bounded(_row(statistic, ours, f"below {_text(bound, unit)}", _ends(ours)[1] < bound), ours, bound, -1.0)


def order(statistic: str, gap: Interval, *, sign: float = 1.0) -> Evidence:
    """A paired difference above 0, or below it where `sign` is -1, interval included; without an interval it fails."""
    ok = gap.half is not None and sign * gap.mean > gap.half
    words = f"{'above' if sign > 0 else 'below'} 0, interval included"
    return _bounded(_row(statistic, gap, words, ok), gap, 0.0, sign)


def ahead(statistic: str, a: Results, b: Results, path: str, scale: float = 1.0) -> Evidence:
    """One point of an order: `a` is above `b`, outside the 95 % interval of the paired difference.

    One pair of seeds gives no interval, and is not enough.
    """
    return order(statistic, difference(a, b, path, scale))


def judge(evidence: Sequence[Evidence]) -> Outcome:
    """All criteria hold: reproduced; some: partly; none: not reproduced. Rows that only inform do not count.

    With undecided rows a claim is undecided, unless other rows make it partly already.
    """
    counted = [row.ok for row in evidence if row.ok is not None]
    if any(row.undecided for row in evidence):
        return "partly" if any(counted) and not all(counted) else "undecided"
    if counted and all(counted):
        return "reproduced"
    return "partly" if any(counted) else "not reproduced"


def inferred(row: Evidence) -> Evidence:
    """A criterion in an inferred set-up: told with what it would say, and not counted."""
    told = "undecided" if row.undecided else "holds" if row.ok else "does not hold"
    words = f"inferred set-up, not counted: {row.criterion}: {told}"
    return dataclasses.replace(row, criterion=words, ok=None, undecided=False)


def inform(statistic: str, ours: Interval | float | str, what: str) -> Evidence:
    """A row that explains: an experiment's number, with what it is for."""
    if isinstance(ours, str):
        return Evidence(statistic, ours, None, what, None)
    return _row(statistic, ours, what, None)


def _row(statistic: str, ours: Interval | float, criterion: str, ok: bool | None) -> Evidence:
    # equal values of several seeds show no spread, which is not the same as none
    has_interval = isinstance(ours, Interval) and bool(ours.half)
    return Evidence(statistic, _value(ours), _ends(ours) if has_interval else None, criterion, ok)


def _bounded(row: Evidence, ours: Interval | float, bound: float, sign: float) -> Evidence:
    """The row, or that it is undecided: two seeds, whose mean alone keeps the bound."""
    few = isinstance(ours, Interval) and ours.count == FEW and ours.half is not None
    if row.ok or not few or sign * (_value(ours) - bound) <= 0:
        return row
    words = f"{row.criterion}: undecided, two seeds"
    return dataclasses.replace(row, criterion=words, ok=None, undecided=True)


def _value(ours: Interval | float) -> float:
    return ours.mean if isinstance(ours, Interval) else float(ours)


def _ends(ours: Interval | float) -> tuple[float, float]:
    return (ours.low, ours.high) if isinstance(ours, Interval) else (ours, ours)


def _text(value: float, unit: str) -> str:
    return f"{value:g} {unit}".strip()
