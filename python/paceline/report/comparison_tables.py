"""Who wins, as tables: a row a setting, a column a metric, the best of each place on the axis marked."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from paceline._statistics import Interval, paired
from paceline.report.conclusions import against_baseline, headline_metric, standing
from paceline.report.formatting import listed, scale_for, short, signed_percent
from paceline.report.metrics import Metric, group_metrics
from paceline.report.scenario_facts import table, tables
from paceline.report.study import Series, Study
from paceline.results.quantities import path_words

_WAITING = (
    "queue_mean",
    "queue_p99",
    "delay_mean",
    "delay_p99",
    "network_delay",
    "fct_mean",
    "fct_p99",
    "fct_data_mean",
    "fct_data_p99",
)
_IN_GROUPS = ("goodput", "timeouts", "jain", "delay_mean", "delay_p99", "fct_mean")


#: A column's title, and the relative difference that it shows, in a part of the study, of a series at a place.
Difference = tuple[str, Callable[[Study, Series, str], Interval | None]]


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
    baseline = study.parts[0].baseline
    difference: Difference | None = None
    if first and baseline:
        difference = (
            f"against {short(baseline.name, 24)}",
            lambda part, series, position: against_baseline(part, series, position, first),
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
    if group != "paced" or "unpaced" not in study.groups or unlike_groups(study):
        return None
    other = next((m for m in group_metrics("unpaced") if m.key == metric.key), None)

    def difference(study: Study, series: Series, position: str) -> Interval | None:
        setting = study.setting(series, position)
        if setting is None or other is None:
            return None
        own, others = study.by_seed(setting, metric), study.by_seed(setting, other)
        return paired(own, others, relative=True, once=setting.repeats)

    return "against unpaced flows of the same run", difference


def unlike_groups(study: Study) -> str | None:
    """Why groups of flows are not alike, in a sentence: their difference is then not what pacing does; else `None`."""
    if len(study.groups) < 2:
        return None
    traffics = [str(t.get("name") or t.get("kind")) for t in tables(study.scenario.get("traffic"))]
    if len(traffics) > 1:
        return (
            f"Paced and unpaced flows are each of several kinds of traffic ({listed(traffics)}), in shares of their "
            "own: what they get is not compared."
        )
    own, swept = study.scenario.get("pacing"), table(study.scenario.get("sweep"))
    entries = [table(own), *tables(own), *tables(swept.get("pacing"))]
    if any("at" in one and "share" not in one for one in entries) and "pacing.share" not in swept:
        return (
            "Which flows are paced follows from where they enter the network, not from a draw: what paced and unpaced "
            "flows get is not compared."
        )
    return None


def _table(study: Study, metrics: list[Metric], difference: Difference | None) -> Table:
    """`difference` follows the first metric. Each part of the study is a section, or several."""
    columns: list[Column] = []
    by_row: dict[tuple[int, str, str], list[Cell]] = {}
    marked = False
    for metric in metrics:
        estimates = {
            (n, s.name, p): part.estimate(setting, metric)
            for n, part in enumerate(study.parts)
            for p in part.positions
            for s in part.series
            if (setting := part.setting(s, p))
        }
        there = [e for e in estimates.values() if e]
        scale = scale_for(metric.kind, [e.mean for e in there], [e.half for e in there])
        columns.append(Column(metric.title, scale.unit, metric.meaning))
        for n, part in enumerate(study.parts):
            for position in part.positions:
                stand = standing(part, metric, position)
                everyone = len(stand.tied) == len(part.series)
                for series in part.series:
                    mark = "best" if stand.leader == series.name else ""
                    if series.name in stand.tied and not everyone:
                        mark = "tie"
                    marked = marked or bool(mark)
                    text = scale.estimate(estimates.get((n, series.name, position)))
                    by_row.setdefault((n, series.name, position), []).append(Cell(text, mark))
        if difference and metric is metrics[0]:
            title, between = difference
            meaning = "Relative difference, each seed compared with the same seed, and its 95 % interval."
            columns.append(Column(title, "", meaning))
            for n, part in enumerate(study.parts):
                for series, position in itertools.product(part.series, part.positions):
                    value = between(part, series, position)
                    clear = value is None or value.excludes_zero
                    by_row[n, series.name, position].append(Cell(signed_percent(value), "" if clear else "unclear"))
    sections = [section for n, part in enumerate(study.parts) for section in _sections(n, part, by_row)]
    return Table(columns, [s for s in sections if s.rows], marked)


def _sections(n: int, part: Study, cells: dict[tuple[int, str, str], list[Cell]]) -> list[Section]:
    """The rows of one part: a section a place on the axis, or one of all places where there is one series."""

    def rows(series: Series, position: str, name: str) -> list[TableRow]:
        if part.setting(series, position) is None or (n, series.name, position) not in cells:
            return []
        return [TableRow(name, series, cells[n, series.name, position])]

    axis, given = part.axis, [f"{path_words(path)} {text}" for path, text in part.condition.items()]
    if axis and len(part.series) == 1:
        only = part.series[0]
        found = [row for p in part.positions for row in rows(only, p, f"{axis.title} {p}")]
        return [Section(", ".join(given), found)]
    return [
        Section(
            ", ".join([*given, f"{axis.title} {position}"] if axis else given),
            [row for series in part.series for row in rows(series, position, series.name)],
        )
        for position in part.positions
    ]
