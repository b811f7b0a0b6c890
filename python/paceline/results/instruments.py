"""Curves of instruments, and their means with intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from paceline._statistics import student_t

if TYPE_CHECKING:
    import pyarrow

    from paceline.results import Result, Results

Numbers = npt.NDArray[np.float64]
#: `steps`: y stands from x on. `share`: the share of all that is no larger than x. `grid`: the same x in every run.
Form = Literal["steps", "share", "grid"]

#: Every instrument, in the order in which a report shows them, and how its y depends on x.
FORMS: Mapping[str, Form] = {
    "cwnd": "steps",
    "ssthresh": "steps",
    "srtt": "steps",
    "rate_variation": "grid",
    "auto_covariance": "grid",
    "succession": "grid",
    "burst_size": "share",
    "drop_event_flows": "share",
    "drop_event_packets": "share",
    "drops": "grid",
    "delay": "share",
    "arrival_delay": "share",
    "sojourn": "share",
    "fct": "share",
    "jain": "grid",
    "carried": "grid",
    "delivered": "grid",
}
#: Columns of a curve's points, beside its name.
COLUMNS = ("link", "flow", "next", "x", "y", "count", "x_unit", "y_unit")


@dataclass(frozen=True)
class Place:
    """Where a curve was taken: each empty where it says nothing. `next` is who follows, of a succession."""

    link: str = ""
    flow: str = ""
    next: str = ""


@dataclass(frozen=True)
class Curve:
    """y against ascending x, and how many observations stand behind each point."""

    place: Place
    x: Numbers
    y: Numbers
    count: npt.NDArray[np.int64]
    x_unit: str
    y_unit: str


@dataclass(frozen=True)
class Mean:
    """A curve averaged over seeds.

    Attributes:
        x: where.
        y: means over the seeds that have a value there.
        half: half widths of their 95 % intervals; not a number where there are fewer than two seeds, or one run
            repeated.
        seeds: how many have a value there.
    """

    x: Numbers
    y: Numbers
    half: Numbers
    seeds: npt.NDArray[np.int64]


def curves_of(table: pyarrow.Table) -> list[Curve]:
    """The curves in rows of one instrument and one run, in their order."""
    texts = {name: _texts(table, name) for name in ("link", "flow", "next", "x_unit", "y_unit")}
    numbers = {name: table.column(name).to_numpy().astype(np.float64) for name in ("x", "y")}
    counts = table.column("count").to_numpy().astype(np.int64)
    places: dict[Place, list[int]] = {}
    for row, (link, flow, following) in enumerate(zip(texts["link"], texts["flow"], texts["next"], strict=True)):
        places.setdefault(Place(link, flow, following), []).append(row)
    return [
        Curve(
            place,
            numbers["x"][rows],
            numbers["y"][rows],
            counts[rows],
            texts["x_unit"][rows[0]],
            texts["y_unit"][rows[0]],
        )
        for place, rows in places.items()
    ]


def mean_of(curves: Sequence[Curve], form: Form, *, repeated: bool = False) -> Mean:
    """The mean of one place's curves, one a seed; without intervals where the seeds `repeated` one run."""
    x = np.unique(np.concatenate([curve.x for curve in curves]))  # one nan stands for all
    values = np.stack([_at(curve, x, form) for curve in curves])
    there = ~np.isnan(values)
    seeds = there.sum(axis=0)
    y = np.where(there, values, 0.0).sum(axis=0) / np.maximum(seeds, 1)
    squares = np.where(there, (values - y) ** 2, 0.0).sum(axis=0)
    t = np.array([student_t(int(n) - 1) if n > 1 and not repeated else np.nan for n in seeds])
    half = t * np.sqrt(squares / np.maximum(seeds - 1, 1) / np.maximum(seeds, 1))
    kept = seeds > 0
    return Mean(x[kept], y[kept], half[kept], seeds[kept])


def by_place(runs: Iterable[Iterable[Curve]]) -> dict[Place, list[Curve]]:
    """Curves of several runs by their place, in order of appearance."""
    found: dict[Place, list[Curve]] = {}
    for curves in runs:
        for curve in curves:
            found.setdefault(curve.place, []).append(curve)
    return found


def of_run(run: Result, name: str) -> pyarrow.Table:
    """The rows of one instrument in one run. Raises `KeyError` with the names that there are."""
    import pyarrow as pa

    if run.instruments is None:
        raise KeyError(f"{name}: columns of this run were not kept in memory; see instruments.parquet beside it")
    kinds = np.asarray(run.instruments["instrument"], dtype=object)
    rows = np.flatnonzero(kinds == name)
    if not len(rows):
        there = ", ".join(dict.fromkeys(str(kind) for kind in kinds))
        raise KeyError(f"{name}: no such instrument in this run; there is {there or 'none: see [probes]'}")
    columns: dict[str, Any] = {}
    for column in COLUMNS:
        values = run.instruments[column]
        if isinstance(values, list):
            columns[column] = pa.array([values[row] for row in rows], pa.string()).dictionary_encode()
        else:
            columns[column] = pa.array(values[rows], from_pandas=True)  # not a number is no number
    return pa.table(columns)


def of_runs(runs: Results, name: str) -> pyarrow.Table:
    """The rows of one instrument in several runs, each named by ``run``, ``settings.*`` and ``seed``."""
    import pyarrow as pa

    from paceline.results.tables import with_constants

    tables = []
    missing: KeyError | None = None
    for number, run in enumerate(runs):
        try:
            found = of_run(run, name)
        except KeyError as error:
            missing = error
            continue
        named: dict[str, Any] = {"run": number} | {f"settings.{path}": label for path, label in run.settings.items()}
        tables.append(with_constants(found, named | {"seed": run.seed}))
    if not tables:
        raise missing or KeyError(f"{name}: there are no runs")
    return pa.concat_tables(tables, promote_options="default").unify_dictionaries()


def means_of(runs: Results, name: str) -> pyarrow.Table:
    """Means over the seeds of each setting, with half widths of their 95 % intervals."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for settings, group in runs.by_settings():
        found = []
        for run in group:
            try:
                found.append(curves_of(of_run(run, name)))
            except KeyError:
                if run.instruments is None:
                    raise
        for place, curves in by_place(found).items():
            mean = mean_of(curves, FORMS.get(name, "grid"), repeated=group.repeats)
            units = {"x_unit": curves[0].x_unit or None, "y_unit": curves[0].y_unit or None}
            rows += list(_mean_rows(settings, place, mean, units))
    if not rows:
        return of_runs(runs, name)  # says what is missing
    return pa.Table.from_pylist(rows)


def _mean_rows(
    settings: Mapping[str, str], place: Place, mean: Mean, units: dict[str, str | None]
) -> Iterator[dict[str, Any]]:
    fixed: dict[str, Any] = {f"settings.{path}": label for path, label in settings.items()}
    fixed |= {"link": place.link or None, "flow": place.flow or None, "next": place.next or None}
    for x, y, half, seeds in zip(mean.x, mean.y, mean.half, mean.seeds, strict=True):
        numbers = {"x": _or_none(x), "y": float(y), "half": _or_none(half), "seeds": int(seeds)}
        yield fixed | numbers | units


def _at(curve: Curve, x: Numbers, form: Form) -> Numbers:
    """The curve's values at places of other curves; not a number where it has none."""
    if form == "grid":
        places = np.searchsorted(curve.x, x).clip(max=len(curve.x) - 1)
        same = (curve.x[places] == x) | (np.isnan(curve.x[places]) & np.isnan(x))
        return np.where(same, curve.y[places], np.nan)
    before = np.searchsorted(curve.x, x, side="right") - 1
    start = 0.0 if form == "share" else np.nan
    return np.where(before >= 0, curve.y[before.clip(min=0)], start)


def _texts(table: pyarrow.Table, name: str) -> list[str]:
    return ["" if text is None else str(text) for text in table.column(name).to_pylist()]


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
