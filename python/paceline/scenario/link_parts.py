"""What a resolved link may have beside a buffer and a pacer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory that links share: each takes a packet while it holds less than `alpha` times what is free."""

    bytes: int | None
    packets: int | None
    alpha: float
    links: int


@dataclass(frozen=True, slots=True)
class Jitter:
    """What a link adds to its delay, packet by packet: ``uniform`` or ``normal``; packets overtake if `reorder`."""

    mean_s: float
    spread_s: float
    shape: str
    reorder: bool


@dataclass(frozen=True, slots=True)
class Policer:
    """A policer before a link's pacer and buffer: it drops what comes faster, once `burst_bytes` are used up."""

    rate_bps: float
    burst_bytes: int
