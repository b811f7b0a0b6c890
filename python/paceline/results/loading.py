"""Runs from the tables that ``paceline run --out`` has written: whatever core they are of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from paceline.errors import InputError
from paceline.files.regular_files import check_regular, read_bounded
from paceline.results.numbers import FlowStats, LinkStats

if TYPE_CHECKING:
    import pyarrow

    from paceline._core import Columns

#: The tables beside ``runs.parquet``, by what `Result` calls them.
_TABLES = {"per_flow": "flows", "series": "series", "instruments": "instruments"}
_ABOUT = b"paceline."
#: A scenario with all of its traffic written out is smaller.
_MOST_SCENARIO = 1 << 26
_REMEDY = "name a directory that results were written to, or its runs.parquet"


def read_runs(place: Path) -> tuple[Path, pyarrow.Table]:
    """The file of the runs, of a directory or of itself, and its table. Raises `InputError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = place / "runs.parquet" if place.is_dir() else place
    try:
        check_regular(file)
        table = pq.read_table(file, partitioning=None)
    except FileNotFoundError:
        what = _instead(place) if place.is_dir() else f"no such file or directory; {_REMEDY}"
        raise InputError(what, str(place)) from None
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{_why(error)}; {_REMEDY}", str(file)) from None
    missing = [name for name in ("seed", "window_s.start", "window_s.end") if name not in table.column_names]
    if missing:
        raise InputError(f"has no column {missing[0]}, so these are no runs; {_REMEDY}", str(file))
    return file, table


def _instead(place: Path) -> str:
    """What a directory without results has."""
    below = sorted(str(found.parent) for found in place.glob("*/runs.parquet"))
    if below:
        more = f" and {len(below) - 3} more" if len(below) > 3 else ""
        return f"has no runs.parquet; there are results in {', '.join(below[:3])}{more}"
    if (place / "store").is_dir():
        return (
            "has runs in store, but no runs.parquet: what ran there was interrupted, or is still at it; "
            "the same command again goes on, and writes it"
        )
    return f"has no runs.parquet; {_REMEDY}"


def _why(error: Exception) -> str:
    """Why there is no table; Arrow's own words are several lines."""
    return getattr(error, "strerror", None) or "is no Parquet file, or a broken one"


def about(table: pyarrow.Table) -> dict[str, str]:
    """What the file says of itself: `version`, `core`, `scenario_sha256`, `title`; empty of an earlier version's."""
    said = table.schema.metadata or {}
    return {
        key.removeprefix(_ABOUT).decode(): value.decode(errors="replace")
        for key, value in said.items()
        if key.startswith(_ABOUT)
    }


def runs_of(table: pyarrow.Table) -> list[dict[str, Any]]:
    """The objects of the JSON contract that the rows came from; a link or a group is there where it has a number."""
    return [_run(row) for row in table.to_pylist()]


def _run(row: Mapping[str, Any]) -> dict[str, Any]:
    run: dict[str, Any] = {"settings": {}, "seed": row["seed"], "window_s": []}
    run["window_s"] = [row["window_s.start"], row["window_s.end"]]
    run |= {"links": {}, "flows": {}, "groups": {}, "engine": {}}
    own = {"links": LinkStats.keys(), "groups": FlowStats.keys()}
    for column, value in row.items():
        part, _, rest = column.partition(".")
        if part == "settings" and value is not None:
            run["settings"][rest] = value
        elif part in ("flows", "engine"):
            run[part][rest] = value
        elif part in own:
            name, _, key = rest.rpartition(".")
            run[part].setdefault(name, {})[key] = value
    for part, keys in own.items():
        there = {name: one for name, one in run[part].items() if any(value is not None for value in one.values())}
        # a column of another setting's discipline is null here: it was not there
        run[part] = {
            name: {key: value for key, value in one.items() if value is not None or key in keys}
            for name, one in there.items()
        }
    run["engine"] = {key: value for key, value in run["engine"].items() if value is not None}
    return run


def core_of(directory: Path) -> str | None:
    """The link that the scenario beside the runs is about, as this core draws it; ``None`` where it cannot."""
    from paceline.scenario import Scenario

    try:
        check_regular(directory / "scenario.toml")
        return str(Scenario.load(directory / "scenario.toml").describe()["core"])
    except Exception:  # one of a later version, or with files that are gone; the results are there
        return None


def scenario_digest(directory: Path) -> str | None:
    """SHA-256 of the scenario beside the runs, as ``sha256sum`` prints it."""
    try:
        return hashlib.sha256(read_bounded(directory / "scenario.toml", _MOST_SCENARIO)).hexdigest()
    except OSError:
        return None


def columns_of(file: Path, number: int) -> dict[str, Columns | None]:
    """The tables beside the runs, of the run of this number, each read when it is first looked at."""
    return {
        name: cast("Columns", FileColumns(path, number))
        if (path := file.parent / f"{table}.parquet").is_file()
        else None
        for name, table in _TABLES.items()
    }


class FileColumns(Mapping[str, Any]):
    """The rows of one run in a table of many, as the core gives them: arrays, and lists of text."""

    def __init__(self, file: Path, number: int) -> None:
        self._file = file
        self._number = number
        self._loaded: dict[str, Any] | None = None

    def __getitem__(self, column: str) -> Any:
        return self._columns()[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns())

    def __len__(self) -> int:
        return len(self._columns())

    def _columns(self) -> dict[str, Any]:
        if self._loaded is None:
            import pyarrow as pa
            import pyarrow.parquet as pq

            try:
                table = pq.read_table(self._file, partitioning=None, filters=[("run", "==", self._number)])
            except (OSError, pa.ArrowException) as error:
                raise InputError(f"{_why(error)}; run the scenario again", str(self._file)) from None
            self._loaded = {
                field.name: column.to_numpy() if _is_number(field.type) else column.to_pylist()
                for field, column in zip(table.schema, table.columns, strict=True)
                if field.name not in ("run", "seed") and not field.name.startswith("settings.")
            }
        return self._loaded


def _is_number(kind: pyarrow.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
