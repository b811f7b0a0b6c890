"""Verdicts on disk: a folder a claim, with all that it takes to look at it, or to recompute it.

``DIR/<full|quick>/<id>/`` holds ``verdict.json`` (`Record`), a scenario a sweep (``main.toml``), ``runs.parquet`` with
a row a run, whose ``sweep`` and ``key`` name its sweep and its archive ``DIR/store/<key>.zip``, and its pictures.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline import _core
from paceline.errors import StoreError
from paceline.files.atomic_writes import replacing
from paceline.papers.claim import Claim, Evidence, Length, Picture, Verdict
from paceline.results import ties
from paceline.results.repeated_runs import same_rows
from paceline.scenario import Scenario


@dataclass(frozen=True)
class Record:
    """A verdict with where it comes from.

    Attributes:
        claim: its id.
        verdict: as `check` gave it.
        length: ``full`` or ``quick``.
        seeds: how many were asked for; ``None`` for the claim's own number.
        core: version that ran.
        fingerprint: of the core that ran, as in the store's keys; empty in verdicts of earlier versions.
        cpu_s: processor time of its runs, those that it shares included.
        core_packets: data packets that its runs delivered.
        runs: how many.
        sweeps: file of the scenario of each sweep, in the claim's folder.
        pictures: name, file and caption of each.
        repeated: settings of its sweeps whose seeds all gave the same run, and have no interval therefore.
        settings: how many its sweeps have.
        tied: a sentence where much hung on the order of an arrival and a departure of one instant, else empty.
    """

    claim: str
    verdict: Verdict
    length: str
    seeds: int | None
    core: str
    cpu_s: float
    core_packets: int
    runs: int
    sweeps: Mapping[str, str]
    pictures: Sequence[Mapping[str, str]]
    repeated: int = 0
    settings: int = 0
    tied: str = ""
    fingerprint: str = ""


def folder(out: Path, claim: Claim, length: Length) -> Path:
    """Where a claim's verdict lies."""
    return out / length.name / claim.id


def save(
    out: Path,
    claim: Claim,
    length: Length,
    verdict: Verdict,
    scenarios: Mapping[str, Scenario],
    pictures: Sequence[Picture],
    runs: Sequence[Mapping[str, Any]],
) -> Record:
    """Writes a verdict, the record last. `runs` are rows of ``runs.parquet``. Raises `StoreError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = folder(out, claim, length)
    groups = _by_setting(runs)
    files = {name: f"{_file_name(name)}.toml" for name in scenarios}
    record = Record(
        claim.id,
        _plain_verdict(verdict),
        length.name,
        length.seeds,
        _core.version(),
        sum(run.get("engine.cpu_s") or 0.0 for run in runs),
        sum(int(run.get("engine.core_packets") or 0) for run in runs),
        len(runs),
        files,
        [{"name": one.name, "file": f"{one.name}.svg", "caption": one.caption} for one in pictures],
        sum(same_rows(rows) for rows in groups),
        len(groups),
        ties.sentence(runs) or "",
        _core.fingerprint(),
    )
    with _as_store_error(place):
        place.mkdir(parents=True, exist_ok=True)
        for name, scenario in scenarios.items():
            _write(place / files[name], scenario.placed().to_toml().encode())
        for one in pictures:
            _write(place / f"{one.name}.svg", one.svg.encode())
        names = dict.fromkeys(name for run in runs for name in run)
        table = pa.table({name: pa.array([run.get(name) for run in runs]) for name in names})
        with replacing(place / "runs.parquet") as file:
            pq.write_table(table, file)
        about = {"paper": claim.paper, "where": claim.where, "kind": claim.kind, "says": claim.says}
        entry = {"id": claim.id} | about | {"printed": claim.printed} | dataclasses.asdict(record)
        del entry["claim"]
        entry["assumptions"] = [dataclasses.asdict(one) for one in claim.assumptions]
        entry |= entry.pop("verdict")
        text = json.dumps(_plain(entry), indent=1, allow_nan=False)
        _write(place / "verdict.json", f"{text}\n".encode())
    return record


def load(out: Path, claim: Claim, length: Length) -> Record | None:
    """The last verdict of a claim, or ``None``; one that cannot be read counts as none."""
    return read(folder(out, claim, length) / "verdict.json")


def read(path: Path) -> Record | None:
    """A verdict from its file, or ``None``."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        evidence = [_evidence(row) for row in entry["evidence"]]
        verdict = Verdict(entry["verdict"], entry["ours"], entry["theirs"], entry["note"], evidence)
        names = [item.name for item in dataclasses.fields(Record) if item.name not in ("claim", "verdict")]
        of_later = {"repeated": 0, "settings": 0, "tied": "", "fingerprint": ""}  # earlier versions had none
        return Record(entry["id"], verdict, **{name: (of_later | entry)[name] for name in names})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _by_setting(runs: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Rows of ``runs.parquet`` by their sweep and setting."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in runs:
        swept = tuple(item for item in row.items() if item[0] == "sweep" or item[0].startswith("settings."))
        found.setdefault(swept, []).append(row)
    return list(found.values())


def _file_name(sweep: str) -> str:
    return re.sub(r"[^\w.-]+", "-", sweep)


def _write(path: Path, data: bytes) -> None:
    with replacing(path) as file:
        file.write(data)


def _plain_verdict(verdict: Verdict) -> Verdict:
    evidence = [_evidence(_plain(dataclasses.asdict(row))) for row in verdict.evidence]
    return dataclasses.replace(
        verdict, ours=_plain(dict(verdict.ours)), theirs=_plain(dict(verdict.theirs)), evidence=evidence
    )


def _evidence(row: dict[str, Any]) -> Evidence:
    ends = row["interval"]
    return Evidence(**(row | {"interval": tuple(ends) if ends and None not in ends else None}))


def _plain(value: Any) -> Any:
    """In the types of JSON: NumPy's numbers as Python's, what is not a number as null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    raise TypeError(f"{value!r} has no place in a verdict")


@contextlib.contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from None
