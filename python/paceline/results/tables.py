"""Results as tables: columns for Parquet and data frames, and the summary that people read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline._statistics import Interval
from paceline.results.quantities import numeric, unit_of, values_name

if TYPE_CHECKING:
    import pyarrow

    from paceline._core import Columns
    from paceline.results import Results

_GROUPS = ("paced", "unpaced")


def flatten(run: Mapping[str, Any]) -> dict[str, Any]:
    """One run as a row: ``settings.*``, ``seed``, ``window_s.start``, ``links.core.throughput_bps``, ``flows.jain``…"""
    row: dict[str, Any] = {f"settings.{path}": label for path, label in run["settings"].items()}
    row["seed"] = run["seed"]
    row["window_s.start"], row["window_s.end"] = run["window_s"]
    for part in ("links", "groups"):
        for name, numbers in (run.get(part) or {}).items():
            row |= {f"{part}.{name}.{key}": value for key, value in (numbers or {}).items()}
    for part in ("flows", "engine"):
        row |= {f"{part}.{key}": value for key, value in run[part].items()}
    return row


def runs_table(runs: Iterable[Mapping[str, Any]], about: Mapping[str, str] | None = None) -> pyarrow.Table:
    """One row a run. A number that a run does not have is null; a column that none has is a float's.

    Settings whose labels all are numbers of one unit stand as numbers too, as ``values.network.core.buffer_bytes``.
    """
    return _described([flatten(run) for run in runs], about, "run")


def links_table(runs: Iterable[Mapping[str, Any]], about: Mapping[str, str] | None = None) -> pyarrow.Table:
    """One row a run and link: ``run``, ``settings.*``, ``values.*``, ``seed``, ``link``, then the link's numbers."""
    rows = []
    for number, run in enumerate(runs):
        named: dict[str, Any] = {"run": number} | {f"settings.{path}": label for path, label in run["settings"].items()}
        rows += [named | {"seed": run["seed"], "link": name} | dict(one) for name, one in run["links"].items()]
    return _described(rows, about, None)


def _described(rows: Sequence[Mapping[str, Any]], about: Mapping[str, str] | None, index: str | None) -> pyarrow.Table:
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    names.sort(key=lambda name: 0 if name == "run" else 1 if name.startswith("settings.") else 2)  # keeps their order
    columns: dict[str, Any] = {} if index is None else {index: pa.array(range(len(rows)), pa.uint32())}
    swept = {}
    for name in names:
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if kinds <= {int, float} and float in kinds:
            values = [None if value is None else float(value) for value in values]
        columns[name] = pa.array(values, None if kinds else pa.float64())
        if name.startswith("settings.") and (found := numeric(values)):
            path = name.removeprefix("settings.")
            swept[values_name(path, found[0])] = pa.array(found[2], pa.float64())
    settled = sum(name == "run" or name.startswith("settings.") for name in columns)
    pairs = list(columns.items())
    return described(pa.table(dict([*pairs[:settled], *swept.items(), *pairs[settled:]])), about)


def described(table: pyarrow.Table, about: Mapping[str, str] | None) -> pyarrow.Table:
    """The table with its columns' units, as ``unit`` of each field, and with what wrote it, as ``paceline.version``."""
    return table.cast(described_schema(table.schema, about))


def described_schema(schema: pyarrow.Schema, about: Mapping[str, str] | None) -> pyarrow.Schema:
    """The same of a schema."""
    import pyarrow as pa

    fields = [
        field.with_metadata({"unit": unit}) if (unit := unit_of(field.name)) else field.remove_metadata()
        for field in schema
    ]
    return pa.schema(fields, {f"paceline.{key}": value for key, value in about_now(about).items()})


def about_now(about: Mapping[str, str] | None) -> Mapping[str, str]:
    """What wrote a table: of runs in memory, this version and core."""
    return about or {"version": _core.version(), "core": _core.fingerprint()}


def columns_table(columns: Columns) -> pyarrow.Table:
    """Columns of the core as a table; text is dictionary-encoded."""
    import pyarrow as pa

    encoded = {
        name: pa.array(column, pa.string()).dictionary_encode()
        if isinstance(column, list)
        else pa.array(column, from_pandas=True)  # not a number is no number
        for name, column in columns.items()
    }
    return pa.table(encoded)


def with_constants(table: pyarrow.Table, constants: Mapping[str, Any]) -> pyarrow.Table:
    """The table with columns in front that hold one value each; text is dictionary-encoded."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name, value in constants.items():
        if isinstance(value, str):
            codes = pa.repeat(pa.scalar(0, pa.int32()), table.num_rows)
            columns[name] = pa.DictionaryArray.from_arrays(codes, pa.array([value], pa.string()))
        else:
            columns[name] = pa.repeat(pa.scalar(value, pa.uint64()), table.num_rows)
    return pa.table(columns | dict(zip(table.column_names, table.columns, strict=True)))


def summary_rows(results: Results) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table after a run: a row a combination of settings, means with 95 % intervals over seeds."""
    link = results.bottleneck
    columns = [(f"{link} throughput", f"links.{link}.throughput_bps", "bit/s")] if link else []
    if link:
        columns += [("utilisation", f"links.{link}.utilisation", "%")]
    columns += [("goodput a flow", "flows.goodput_mean_bps", "bit/s")]
    for group in _GROUPS:
        if len({name for run in results for name in run.groups if name in _GROUPS}) == len(_GROUPS):
            columns.append((group, f"groups.{group}.goodput_mean_bps", "bit/s"))
    if any(run.flows.transfers for run in results):
        columns += [("mean transfer", "flows.fct_mean_s", "s")]
    if link:
        columns += [("loss", f"links.{link}.loss_ratio", "%")]
        numbers = [run.links[link] for run in results if link in run.links]
        if any(one.marked_packets for one in numbers):
            columns.append(("marks", f"links.{link}.marked_packets", ""))
        for cause in ("early", "forced", "policer", "pacer", "memory"):
            if any(getattr(one, f"{cause}_drops") for one in numbers):
                columns.append((f"{cause} drops", f"links.{link}.{cause}_drops", ""))
    columns += [("timeouts", "flows.timeouts", ""), ("Jain", "flows.jain", "")]
    if link:
        columns += [("mean queue", f"links.{link}.queue_mean_bytes", "B")]

    groups = results.by_settings()
    axes = list(groups[0][0]) if groups else []
    cells: list[list[str]] = [[settings[axis] for axis in axes] for settings, _ in groups]
    head = list(axes)
    seeds = {len(runs) for _, runs in groups}
    if seeds != {1}:
        head.append("runs")
        for row, (_, runs) in zip(cells, groups, strict=True):
            row.append(str(len(runs)))
    for title, path, unit in columns:
        intervals = [_interval(runs, path) for _, runs in groups]
        scale, name = _scale(intervals, unit)
        head.append(f"{title}, {name}" if name else title)
        for row, one in zip(cells, intervals, strict=True):
            row.append(format_interval(one, scale))
    return head, cells


def format_interval(value: Interval | None, scale: float = 1.0) -> str:
    """``87.71 ± 0.12``, the interval to two digits and the mean to the same place; ``–`` where there is none,
    the mean alone where one seed, or seeds of one value, allow no interval."""
    if value is None:
        return "–"
    mean = value.mean / scale
    if not value.half:  # one run; or seeds that agree, which is no certainty
        return _rounded(mean, _decimals(mean, 4))
    half = value.half / scale
    places = min(_decimals(half, 2), max(_decimals(mean, 6), 0)) if mean else _decimals(half, 2)
    return f"{_rounded(mean, places)} ± {_rounded(half, places)}"


def to_json(runs: Iterable[Mapping[str, Any]]) -> str:
    """The array of the JSON contract, a line a run."""
    lines = [json.dumps(run, allow_nan=False) for run in runs]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def _interval(runs: Results, path: str) -> Interval | None:
    try:
        return runs.interval(path)
    except KeyError:
        return None


def _scale(intervals: list[Interval | None], unit: str) -> tuple[float, str]:
    largest = max((abs(one.mean) for one in intervals if one), default=0.0)
    if unit == "%":
        return 0.01, "%"
    if unit == "s" and 0 < largest < 1:
        return 1e-3, "ms"
    if unit:
        for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k" if unit == "bit/s" else "K")):
            if largest >= factor:
                return factor, prefix + unit
    return 1.0, unit


def _decimals(value: float, digits: int) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    return digits - 1 - math.floor(math.log10(abs(value)))


def _rounded(value: float, places: int) -> str:
    return f"{value:.{max(places, 0)}f}"
