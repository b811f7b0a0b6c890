"""Results in the tables of other packages: pandas, Polars, xarray, none of which Paceline needs by itself."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paceline._arguments import one_of
from paceline._optional import needed
from paceline.errors import InputError
from paceline.results.quantities import numeric, unit_of
from paceline.results.tables import about_now, links_table, runs_table

if TYPE_CHECKING:
    import polars
    import pyarrow
    import xarray

    from paceline.results import Results

TABLES = ("runs", "links")


def arrow(results: Results, table: str) -> pyarrow.Table:
    """The table of this name. Raises `InputError` where there is none."""
    one_of(table, "table", "table of results", TABLES)
    runs = [run._dict for run in results]
    return (runs_table if table == "runs" else links_table)(runs, results.about)


def to_polars(results: Results, table: str) -> polars.DataFrame:
    frame: polars.DataFrame = needed("polars", "to_polars").from_arrow(arrow(results, table))
    return frame


def to_xarray(results: Results) -> xarray.Dataset:
    """Every number over the swept settings and the seed. Raises `InputError` where a run is there twice."""
    xr = needed("xarray", "to_xarray")
    needed("pandas", "to_xarray")  # xarray's own indices are
    table = runs_table([run._dict for run in results], results.about)
    coordinates: dict[str, Any] = {}
    places: list[list[int]] = []
    for path in dict.fromkeys(path for run in results for path in run.settings):
        labels = [run.settings.get(path) for run in results]
        marks, where, attributes = _axis(path, labels)
        coordinates[path] = ([path], marks, attributes)
        places.append(where)
    seeds = sorted({run.seed for run in results})
    coordinates["seed"] = (["seed"], np.array(seeds, dtype=np.int64), {"long_name": "seed"})
    places.append([seeds.index(run.seed) for run in results])
    at = list(zip(*places, strict=True))
    if len(set(at)) < len(at):
        raise InputError("to_xarray: a setting has a seed twice, so that its runs have one place; keep one of them")
    dims = list(coordinates)
    shape = tuple(len(coordinates[one][1]) for one in dims)
    variables = {}
    for field in table.schema:
        if field.name in ("run", "seed") or field.name.startswith(("settings.", "values.")):
            continue
        variables[field.name] = (dims, _grid(table.column(field.name).to_pylist(), at, shape), _attributes(field.name))
    dataset: xarray.Dataset = xr.Dataset(variables, coordinates, dict(about_now(results.about)))
    return dataset


def _axis(path: str, labels: list[str | None]) -> tuple[Any, list[int], Mapping[str, str]]:
    """A coordinate's marks, where each run is on it, and its attributes: numbers ascend, text is as it came."""
    found = numeric(labels)
    if found is not None and None not in found[2] and len(set(found[2])) == len(set(labels)):
        marks = sorted({value for value in found[2] if value is not None})
        place = {value: number for number, value in enumerate(marks)}
        where = [place[value] for value in found[2] if value is not None]
        return np.array(marks), where, {"units": found[1], "long_name": path}
    texts = list(dict.fromkeys("" if label is None else label for label in labels))
    where = [texts.index("" if label is None else label) for label in labels]
    return np.array(texts, dtype=str), where, {"long_name": path}


def _grid(values: list[Any], at: list[tuple[int, ...]], shape: tuple[int, ...]) -> Any:
    """The values in their places, not a number where there is no run, or it has none."""
    is_text = any(isinstance(value, str) for value in values)
    grid = np.full(shape, "" if is_text else np.nan, dtype=object if is_text else np.float64)
    for place, value in itertools.zip_longest(at, values):
        if value is not None:
            grid[place] = value
    return grid.astype(str) if is_text else grid


def _attributes(column: str) -> dict[str, str]:
    unit = unit_of(column)
    return {"long_name": column} | ({"units": unit} if unit else {})
