"""What is asked: a network's bottleneck, its traffic, what may change, and what matters.

All quantities are in bit/s, seconds, bytes and packets by here; `reading` makes a `Question` of text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: Pacers by how much they ask of who deploys them: where evidence does not tell two apart, the first is advised.
EFFORT = ("none", "host", "port", "token-bucket", "edge", "qlbp")
#: The parameter that may be written without its name.
_FIRST = {"host": "rule", "port": "gain", "edge": "delay", "qlbp": "mu_min", "token-bucket": "rate"}


@dataclass(frozen=True, slots=True)
class Bound:
    """What a measure must be: at least, or at most, so much.

    Attributes:
        measure: its name, as ``utilisation``. at_least: else at most. value: in the measure's unit.
    """

    measure: str
    at_least: bool
    value: float


@dataclass(frozen=True, slots=True)
class Pacing:
    """A pacing method with its parameters, as a scenario has it.

    Attributes:
        name: as the answer calls it. value: for ``pacing`` of a scenario. method: the method alone.
    """

    name: str
    value: Any = field(compare=False)
    method: str

    @property
    def effort(self) -> int:
        return EFFORT.index(self.method) if self.method in EFFORT else len(EFFORT)

    @property
    def parameters(self) -> dict[str, Any]:
        """By their names, of a table or of a text: what stands alone is the method's first."""
        if isinstance(self.value, Mapping):
            return {key: one for key, one in self.value.items() if key != "method"}
        found: dict[str, Any] = {}
        rest = str(self.value).strip().removeprefix(self.method).strip()
        for part in filter(None, (one.strip() for one in rest.split(","))):
            key, equals, text = part.partition("=")
            name = key.strip() if equals else _FIRST.get(self.method, "delay")
            found[name] = _plain(text.strip() if equals else part)
        return found


def _plain(text: str) -> Any:
    """A number or a truth where a text is one."""
    try:
        return {"true": True, "false": False}[text] if text in ("true", "false") else float(text)
    except ValueError:
        return text


@dataclass(frozen=True, slots=True)
class Candidate:
    """One setting of what may change.

    Attributes:
        buffer: of the core, packets. pacing: which. queue: the discipline's name.
    """

    buffer: int
    pacing: Pacing
    queue: str

    def __lt__(self, other: Candidate) -> bool:
        return self.buffer < other.buffer

    @property
    def name(self) -> str:
        return f"{self.buffer} packets, {self.pacing.name}, {self.queue}"


@dataclass(frozen=True)
class Question:
    """A question in numbers.

    Attributes:
        rate_bps: of the core. round_trips_s: groups of flows by their round trips, each a range. flows: how many.
        access_bps: of each host's link. edges: how many links gather the hosts on each side; 0 for none.
        tcp: shares of the flows and their ``tcp`` tables. size: of a file, where flows are users who fetch them.
        think: between two files. packet_bytes: on the wire. buffers: packets, rising. pacings, queues: what may be.
        goal: a measure, or ``buffer``. bounds: what the others must be. sure: of 1. precision: of an interval's half
        width, relative. within_s: wall time. seed: the first. runs: of the search, at
        most; ``None`` for a share of an exhaustive one. inferred: what a capture shows of it,
        in sentences. tables: the question as it was written, completed.
    """

    rate_bps: float
    round_trips_s: tuple[tuple[float, float], ...]
    flows: int
    access_bps: float
    edges: int
    tcp: tuple[tuple[float, Mapping[str, Any]], ...]
    size: Any
    think: Any
    packet_bytes: int
    buffers: tuple[int, ...]
    pacings: tuple[Pacing, ...]
    queues: tuple[str, ...]
    goal: str
    bounds: tuple[Bound, ...]
    sure: float
    precision: float
    within_s: float
    seed: int
    runs: int | None
    inferred: tuple[str, ...]
    tables: Mapping[str, Any] = field(repr=False)

    @property
    def round_trip_s(self) -> float:
        """Mean over flows."""
        return sum(low + high for low, high in self.round_trips_s) / 2 / len(self.round_trips_s)

    @property
    def longest_s(self) -> float:
        return max(high for _, high in self.round_trips_s)

    @property
    def bdp_packets(self) -> float:
        return self.rate_bps * self.round_trip_s / 8 / self.packet_bytes

    @property
    def share_packets(self) -> float:
        """A flow's part of the bandwidth-delay product: its mean window."""
        fair = min(self.rate_bps / self.flows, self.access_bps)
        return fair * self.round_trip_s / 8 / self.packet_bytes

    @property
    def candidates(self) -> list[Candidate]:
        """All that may be, the least effort first, buffers rising within it."""
        return [
            Candidate(buffer, pacing, queue)
            for queue in self.queues
            for pacing in self.pacings
            for buffer in self.buffers
        ]

    @property
    def key(self) -> str:
        """What the answer is known by: all that is asked but how much it may take."""
        known = {name: value for name, value in self.tables.items() if name not in ("within", "runs")}
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
