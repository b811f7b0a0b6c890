"""Loads a study from a directory of results, or from runs in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paceline.report.study import Record, Setting, Study, study
from paceline.results.instruments import Curve, curves_of
from paceline.results.loading import read_runs


def load(place: Path, file_name: str = "") -> Study:
    """The study of a directory of results, or of its `runs.parquet`.

    `file_name` is that of the scenario as it was given, for want of a title.

    Raises:
        InputError: there is no `runs.parquet`.
    """
    file, table = read_runs(place)
    directory = file.parent
    found = study(table.to_pylist(), _read(directory / "scenario.toml"), {}, FromFile(directory / "series.parquet"))
    found.description = _description(directory, found.scenario)
    found.file_name = file_name
    if (directory / "instruments.parquet").is_file():
        found.findings = FindingsFromFile(directory / "instruments.parquet")
    return found


@dataclass(frozen=True)
class FindingsFromFile:
    """The curves in an `instruments.parquet`, read as they are asked for."""

    path: Path

    def names(self) -> list[str]:
        table = pq.read_table(self.path, columns=["instrument"])
        return [str(v) for v in pc.unique(table.column("instrument")).to_pylist() if v is not None]

    def of(self, setting: Setting, name: str) -> dict[int, list[Curve]]:
        wanted = [("instrument", "==", name), ("run", "in", list(setting.numbers.values()))]
        table = pq.read_table(self.path, filters=wanted)
        found: dict[int, list[Curve]] = {}
        for seed, number in setting.numbers.items():
            rows = table.filter(pc.equal(table.column("run"), number))
            if rows.num_rows:
                found[seed] = curves_of(rows)
        return found


@dataclass(frozen=True)
class FromFile:
    """The series in a `series.parquet`; read one run at a time, since together they may be large."""

    path: Path

    def links(self, kind: str) -> list[str]:
        if not self.path.is_file():
            return []
        table = pq.read_table(self.path, columns=["link"], filters=[("kind", "==", kind)])
        return [str(v) for v in pc.unique(table.column("link")).to_pylist()]

    def of(self, setting: Setting, kind: str, link: str) -> Record | None:
        if not self.path.is_file() or not setting.numbers:
            return None
        seed = min(setting.numbers)
        wanted = [("run", "==", setting.numbers[seed]), ("kind", "==", kind), ("link", "==", link)]
        table = pq.read_table(self.path, columns=["time_ns", "bytes"], filters=wanted)
        return _record(table, link, seed)


@dataclass(frozen=True)
class FromMemory:
    """The series of runs that were never written: columns by the number of the run."""

    columns: Mapping[int, pa.Table]

    def links(self, kind: str) -> list[str]:
        found: dict[str, None] = {}
        for table in self.columns.values():
            picked = table.filter(pc.equal(table.column("kind"), kind))
            found |= dict.fromkeys(str(v) for v in pc.unique(picked.column("link")).to_pylist())
        return list(found)

    def of(self, setting: Setting, kind: str, link: str) -> Record | None:
        seed = min(setting.numbers, default=0)
        table = self.columns.get(setting.numbers.get(seed, -1))
        if table is None:
            return None
        both = pc.and_(pc.equal(table.column("kind"), kind), pc.equal(table.column("link"), link))
        return _record(table.filter(both), link, seed)


def _record(table: pa.Table, link: str, seed: int) -> Record | None:
    if table.num_rows == 0:
        return None
    table = table.sort_by("time_ns")
    times, sizes = (table.column(name).to_numpy().astype(np.int64) for name in ("time_ns", "bytes"))
    return Record(link, seed, times, sizes)


def _description(directory: Path, scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The network as the core draws it: as left beside the results, else asked of the core; empty where neither is."""
    try:
        found = json.loads(_read(directory / "description.json"))
    except json.JSONDecodeError:
        try:
            from paceline.scenario import Scenario

            found = Scenario(scenario, source=str(directory / "scenario.toml")).describe()
        except Exception:  # a picture less, whatever the reason; the results are there
            found = {}
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
