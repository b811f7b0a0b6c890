"""Verdicts on disk: a folder a claim, with all that it takes to look at it, or to recompute it.

``DIR/<full|quick>/<id>/`` holds ``verdict.json`` (`Record`), a scenario a sweep (``main.toml``), ``runs.parquet`` with
a row a run, whose ``sweep`` and ``key`` name its sweep and its archive ``DIR/store/<key>.zip``, and its pictures.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline import _core
from paceline.atomic import replacing
from paceline.errors import StoreError
from paceline.papers.claim import Claim, Length, Picture, Verdict
from paceline.scenario import Scenario


@dataclass(frozen=True)
class Record:
    """A verdict with where it comes from.

    Attributes:
        claim: its id.
        verdict: as `check` gave it.
        length: ``full`` or ``quick``.
        core: version that ran.
        cpu_s: processor time of its runs, those that it shares included.
        core_packets: data packets that its runs delivered.
        runs: how many.
        sweeps: file of the scenario of each sweep, in the claim's folder.
        pictures: name, file and caption of each.
    """

    claim: str
    verdict: Verdict
    length: str
    core: str
    cpu_s: float
    core_packets: int
    runs: int
    sweeps: Mapping[str, str]
    pictures: Sequence[Mapping[str, str]]


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
    record = Record(
        claim.id,
        verdict,
        length.name,
        _core.version(),
        sum(run.get("engine.cpu_s") or 0.0 for run in runs),
        sum(int(run.get("engine.core_packets") or 0) for run in runs),
        len(runs),
        {name: f"{name}.toml" for name in scenarios},
        [{"name": one.name, "file": f"{one.name}.svg", "caption": one.caption} for one in pictures],
    )
    with _as_store_error(place):
        place.mkdir(parents=True, exist_ok=True)
        for name, scenario in scenarios.items():
            _write(place / f"{name}.toml", scenario.placed().to_toml().encode())
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
        _write(place / "verdict.json", (json.dumps(entry, indent=1, default=_plain) + "\n").encode())
    return record


def load(out: Path, claim: Claim, length: Length) -> Record | None:
    """The last verdict of a claim, or ``None``; one that cannot be read counts as none."""
    return read(folder(out, claim, length) / "verdict.json")


def read(path: Path) -> Record | None:
    """A verdict from its file, or ``None``."""
    from paceline.papers.claim import Evidence

    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        evidence = [
            Evidence(**(row | {"interval": tuple(row["interval"]) if row["interval"] else None}))
            for row in entry["evidence"]
        ]
        verdict = Verdict(entry["verdict"], entry["ours"], entry["theirs"], entry["note"], evidence)
        names = [item.name for item in dataclasses.fields(Record) if item.name not in ("claim", "verdict")]
        return Record(entry["id"], verdict, **{name: entry[name] for name in names})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, data: bytes) -> None:
    with replacing(path) as file:
        file.write(data)


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, mappings and sequences of other kinds as JSON's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{value!r} has no place in a verdict")


@contextlib.contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from None
