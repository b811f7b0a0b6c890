"""Packet traces of ns-2 and of Paceline as rows that can be compared."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import paceline as pl

TOLERANCE_NS = 100_000
WRAP = 90  # a shipped trace shows numbers modulo this

Arrival = tuple[int, int, int, str]  # nanoseconds, flow, number of the packet modulo WRAP, fate


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


def sections(path: Path) -> dict[str, list[tuple[int, int, int]]]:
    """The series that raw2xg draws, by name: nanoseconds, flow, number."""
    series: dict[str, list[tuple[int, int, int]]] = {}
    name = ""
    with gzip.open(path, "rt") as file:
        lines = file.read().splitlines()
    for line in lines:
        if line.startswith('"'):
            name = line[1:]
        elif line.strip() and ":" not in line:
            time, number = line.split()
            flow, seq = divmod(round(float(number) * 100), 100)
            series.setdefault(name, []).append((round(float(time) * 1e9), flow, seq))
    return series


def marked(series: dict[str, list[tuple[int, int, int]]]) -> list[tuple[int, int, int]]:
    """What is marked as it arrives, or leaves: drawn apart, its first four lines twice."""
    lines = series.get("ecn_packets", [])
    return lines[min(4, len(lines) // 2) :]


def shipped(path: Path) -> list[Arrival]:
    """A trace as raw2xg draws it: `time flow.number`, a line as a packet arrives and one as it leaves; drops apart."""
    series = sections(path)
    drops = list(dict.fromkeys(series.get("drops", [])))
    arrivals: list[Arrival] = [(*drop, "drop") for drop in drops]
    queue: list[tuple[int, int]] = []
    for time, *packet in sorted([*series["packets"], *marked(series)], key=lambda line: line[0]):
        flow, seq = packet
        if (time, flow, seq) in drops:
            continue  # refused by a full queue: it arrives, and that is all
        if queue and queue[0] == (flow, seq):
            queue.pop(0)
        else:
            queue.append((flow, seq))
            arrivals.append((time, flow, seq, "enqueue"))
    return in_order(arrivals)


def in_order(arrivals: list[Arrival]) -> list[Arrival]:
    """By time; a shipped trace does not say which came first of what is dropped and what is not at one instant."""
    return sorted(arrivals, key=lambda arrival: (arrival[0], arrival[3], arrival[1]))


def phases(sources: Sequence[str], resets: int = 0) -> list[float]:
    """Where in a tick the clocks of a script's agents stand at time zero (`boot_time_` over tcpTick_).

    ns-2's default generator is MRG32k3a (L'Ecuyer 1999), seeded with 1. Each agent draws once when it is made, and
    again when the run begins, which is what counts: node by node, in the order in which Tcl lists an array of so few:
    4, 0, 5, 1 (s3, s1, s4, s2). The last `resets` of them draw once more when they start.
    """
    agents = len(sources)
    m1, m2 = 2**32 - 209, 2**32 - 22853
    a, b, draws = [1] * 3, [1] * 3, []
    for _ in range(2 * agents + resets):
        a = [*a[1:], (1403580 * a[1] - 810728 * a[0]) % m1]
        b = [*b[1:], (527612 * b[2] - 1370589 * b[0]) % m2]
        draws.append(((a[2] - b[2]) % m1 or m1) / (m1 + 1))
    order = sorted(range(agents), key=lambda agent: ("s3", "s1", "s4", "s2").index(sources[agent]))
    found = dict(zip(order, draws[agents:], strict=False))
    found |= dict(enumerate(draws[2 * agents :], agents - resets))
    return [found[agent] for agent in range(agents)]
