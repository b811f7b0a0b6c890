"""What the gallery shows: every claim with its last verdict, and why that verdict may not hold any more."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paceline import _core
from paceline.papers import Claim, Length, claims, verdicts
from paceline.papers.verdicts import Record

#: What a claim without a verdict is.
NOT_RUN = "not run"


@dataclass(frozen=True)
class Entry:
    """A claim and what became of it.

    Attributes:
        claim: which.
        place: folder of its verdict.
        record: the verdict; ``None`` where there is none.
        doubts: sentences: why the verdict is out of date, or what is wrong with its files.
    """

    claim: Claim
    place: Path
    record: Record | None = None
    doubts: Sequence[str] = ()

    @property
    def standing(self) -> str:
        """The verdict, or `NOT_RUN`."""
        return self.record.verdict.verdict if self.record else NOT_RUN

    @property
    def quick(self) -> bool:
        """Whether it was a quick look."""
        return self.record is not None and self.record.length == "quick"

    @property
    def tags(self) -> list[str]:
        """What must be said beside the verdict: ``quick``, ``5 seeds``, ``out of date``."""
        if self.record is None:
            return []
        seeds = self.record.seeds
        found = ["quick"] if self.quick else []
        found += [f"{seeds} seed{'s' * (seeds != 1)}"] if seeds else []
        return found + (["out of date"] if self.doubts else [])

    @property
    def command(self) -> str:
        """What runs it again."""
        seeds = f" --seeds {self.record.seeds}" if self.record and self.record.seeds else ""
        return f"paceline reproduce {self.claim.id}{' --quick' if self.quick else ''}{seeds}"


@dataclass
class Cost:
    """What all shown verdicts took; runs that claims share are counted once.

    Attributes:
        cpu_s: processor time, s.
        core_packets: data packets delivered.
        runs: how many.
    """

    cpu_s: float = 0.0
    core_packets: int = 0
    runs: int = 0
    _seen: set[str] = field(default_factory=set)

    def add(self, runs: Sequence[Mapping[str, Any]]) -> None:
        """Adds rows of ``runs.parquet``."""
        for run in runs:
            if run["key"] in self._seen:
                continue
            self._seen.add(run["key"])
            self.runs += 1
            self.cpu_s += run.get("engine.cpu_s") or 0.0
            self.core_packets += int(run.get("engine.core_packets") or 0)


def entries(results: Path) -> list[Entry]:
    """Every claim, with its verdict in full length where `results` has one, else that of a quick look."""
    return [_entry(results, claim) for claim in claims()]


def cost(shown: Sequence[Entry]) -> Cost:
    """What the verdicts took. Runs that cannot be read count as none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    total = Cost()
    for entry in shown:
        try:
            if entry.record is not None:
                columns = ["key", "engine.cpu_s", "engine.core_packets"]
                total.add(pq.read_table(entry.place / "runs.parquet", columns=columns).to_pylist())
        except (OSError, pa.ArrowException):
            continue
    return total


def _entry(results: Path, claim: Claim) -> Entry:
    unreadable: list[str] = []
    for length in (Length(), Length(quick=True)):
        place = verdicts.folder(results, claim, length)
        record = verdicts.load(results, claim, length)
        if record is not None:
            return Entry(claim, place, record, [*unreadable, *_doubts(claim, place, record)])
        if (place / "verdict.json").exists():
            unreadable.append(f"The verdict in {length.name} length is there, but this version cannot read it.")
    return Entry(claim, verdicts.folder(results, claim, Length()), None, unreadable)


def _doubts(claim: Claim, place: Path, record: Record) -> Iterator[str]:
    if record.core != _core.version():
        yield f"It was run by version {record.core}; this is {_core.version()}."
    elif record.fingerprint != _core.fingerprint():
        yield f"It was run by another build of version {record.core}, whose numbers may differ."
    entry = json.loads((place / "verdict.json").read_text(encoding="utf-8"))
    ours = {"where": claim.where, "kind": claim.kind, "says": claim.says, "printed": claim.printed}
    if any(entry.get(name) != json.loads(json.dumps(value, default=dict)) for name, value in ours.items()):
        yield "What the claim says, or how it is judged, has been changed since."
    length = Length(record.length == "quick", record.seeds)
    now = {name: scenario.placed().to_toml() for name, scenario in claim.sweeps(length).items()}
    kept = {name: _text(place / file) for name, file in record.sweeps.items()}
    if now != kept:
        changed = [name for name in now if name in kept and now[name] != kept[name]]
        added, gone = [name for name in now if name not in kept], [name for name in kept if name not in now]
        parts = [("changed", changed), ("new", added), ("gone", gone)]
        told = "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)
        yield f"Its scenarios are others today ({told})."
    missing = [one["name"] for one in record.pictures if not (place / one["file"]).exists()]
    if missing:
        yield f"Pictures are missing: {', '.join(missing)}."


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
