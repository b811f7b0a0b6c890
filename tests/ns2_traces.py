"""Packet traces of ns-2 and of Paceline as rows that can be compared."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import paceline as pl

TOLERANCE_NS = 100_000


@dataclass(frozen=True)
class Row:
    """A data packet at the second link, or an acknowledgement at the sender."""

    time_ns: int
    event: str
    seq: int
    size: int

    def __str__(self) -> str:
        return f"{self.time_ns / 1e9:12.6f} s  {self.event:<8} {self.seq:>5}  {self.size:>5} B"


def simulate(text: str, place: Path, link: str = "second") -> dict[str, list[Row]]:
    """Run it and read the same rows from the packet trace: data at a link, acknowledgements at the sender."""
    (place / "case.toml").write_text(text)
    pl.run(place / "case.toml", trace=place / "trace.csv")
    rows: dict[str, list[Row]] = {"data": [], "ack": []}
    with (place / "trace.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            here = row["place"] == link and row["event"] in {"enqueue", "drop"}
            if here if row["kind"] == "data" else row["event"] == "receive":
                rows[row["kind"]].append(Row(int(row["time_ns"]), row["event"], int(row["seq"]), int(row["bytes"])))
    return rows


def differs(ours: Row, theirs: Row) -> bool:
    """Whether two rows are more than rounding apart."""
    same = (ours.event, ours.seq, ours.size) == (theirs.event, theirs.seq, theirs.size)
    return not same or abs(ours.time_ns - theirs.time_ns) > TOLERANCE_NS


def beside(ours: list[Row], theirs: list[Row], at: int) -> str:
    """Both sequences around the first difference."""
    lines = [f"first difference at row {at}:", f"{'ns-2':<45}  paceline"]
    for n in range(max(0, at - 8), at + 5):
        left = str(theirs[n]) if n < len(theirs) else "(no more)"
        right = str(ours[n]) if n < len(ours) else "(no more)"
        lines.append(f"{left:<45}  {right}{'   <--' if n == at else ''}")
    return "\n".join(lines)
