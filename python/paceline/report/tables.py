"""Who wins, as tables: a row a setting, a column a metric, the best of each place on the axis marked."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from .data import Series, Study
from .findings import against_baseline, headline_metric, standing
from .formatting import scale_for, short, signed_percent
from .metrics import Metric, group_metrics
from .statistics import Estimate, paired

_WAITING = ("queue_mean", "queue_p99", "delay_mean", "delay_p99", "network_delay", "fct_mean", "fct_p99")
_IN_GROUPS = ("goodput", "timeouts", "jain", "delay_mean", "delay_p99", "fct_mean")


#: A column's title, and the relative difference that it shows of a series at a place.
Difference = tuple[str, Callable[[Series, str], Estimate | None]]


@dataclass(frozen=True)
class Cell:
    """A number as shown; `mark` is `best`, `tie` or empty."""

    text: str
    mark: str = ""


@dataclass(frozen=True)
class Column:
    title: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class TableRow:
    name: str
    series: Series
    cells: list[Cell]


@dataclass(frozen=True)
class Section:
    """The rows of one place on the axis."""

    title: str
    rows: list[TableRow]


@dataclass(frozen=True)
class Table:
    columns: list[Column]
    sections: list[Section]
    marked: bool


def main_tables(study: Study) -> list[tuple[str, Table]]:
    """Every metric that the runs have, in two tables that fit a page: what gets through, then what it waits for."""
    first = headline_metric(study)
    metrics = sorted(study.metrics, key=lambda m: m is not first)
    waiting = [m for m in metrics if m.key in _WAITING and m is not first]
    through = [m for m in metrics if m not in waiting]
    baseline = study.baseline
    difference: Difference | None = None
    if first and baseline:
        difference = (
            f"against {short(baseline.name, 24)}",
            lambda series, position: against_baseline(study, series, position, first),
        )
    found = [("What gets through", _table(study, through, difference))] if through else []
    if waiting:
        found.append(("How long it takes", _table(study, waiting, None)))
    return found


def group_tables(study: Study) -> list[tuple[str, Table]]:
    """A table each group of flows, where flows are grouped."""
    found: list[tuple[str, Table]] = []
    for group in study.groups:
        metrics = [m for m in group_metrics(group) if m.key in _IN_GROUPS]
        metrics = [m for m in metrics if any(study.by_seed(s, m) for s in study.settings)]
        if metrics:
            found.append((group, _table(study, metrics, _against_the_others(study, group, metrics[0]))))
    return found


def _against_the_others(study: Study, group: str, metric: Metric) -> Difference | None:
    """Paced flows beside the unpaced ones of the same run."""
    if group != "paced" or "unpaced" not in study.groups:
        return None
    other = next((m for m in group_metrics("unpaced") if m.key == metric.key), None)

    def difference(series: Series, position: str) -> Estimate | None:
        setting = study.setting(series, position)
        if setting is None or other is None:
            return None
        own, others = study.by_seed(setting, metric), study.by_seed(setting, other)
        return paired(own, others, relative=True, once=setting.repeats)

    return "against unpaced flows of the same run", difference


def _table(study: Study, metrics: list[Metric], difference: Difference | None) -> Table:
    """`difference` follows the first metric."""
    columns: list[Column] = []
    by_row: dict[tuple[str, str], list[Cell]] = {}
    marked = False
    for metric in metrics:
        estimates = {
            (s.name, p): study.estimate(setting, metric) if (setting := study.setting(s, p)) else None
            for p in study.positions
            for s in study.series
        }
        there = [e for e in estimates.values() if e]
        scale = scale_for(metric.kind, [e.mean for e in there], [e.half for e in there])
        columns.append(Column(metric.title, scale.unit, metric.meaning))
        for position in study.positions:
            stand = standing(study, metric, position)
            everyone = len(stand.tied) == len(study.series)
            for series in study.series:
                mark = "best" if stand.leader == series.name else ""
                if series.name in stand.tied and not everyone:
                    mark = "tie"
                marked = marked or bool(mark)
                text = scale.estimate(estimates[series.name, position])
                by_row.setdefault((series.name, position), []).append(Cell(text, mark))
        if difference and metric is metrics[0]:
            title, between = difference
            meaning = "Relative difference, each seed compared with the same seed, and its 95 % interval."
            columns.append(Column(title, "", meaning))
            for series, position in itertools.product(study.series, study.positions):
                value = between(series, position)
                clear = value is None or value.excludes_zero
                by_row[series.name, position].append(Cell(signed_percent(value), "" if clear else "unclear"))

    def rows(series: Series, position: str, name: str) -> list[TableRow]:
        if study.setting(series, position) is None or (series.name, position) not in by_row:
            return []
        return [TableRow(name, series, by_row[series.name, position])]

    axis = study.axis
    if axis and len(study.series) == 1:
        only = study.series[0]
        sections = [Section("", [row for p in study.positions for row in rows(only, p, f"{axis.title} {p}")])]
    else:
        sections = [
            Section(
                f"{axis.title} {position}" if axis else "",
                [row for series in study.series for row in rows(series, position, series.name)],
            )
            for position in study.positions
        ]
    return Table(columns, [s for s in sections if s.rows], marked)
