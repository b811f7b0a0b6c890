"""Distributions that sources draw from: sizes, pauses, and the dialogues and on-off sources made of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Distribution:
    """Sizes in bytes or times in seconds that are drawn.

    Attributes:
        shape: ``fixed``, ``uniform``, ``exponential`` or ``pareto``.
        first: mean of a fixed or exponential one; the least value of the others.
        second: the greatest value of a uniform one, the tail's exponent of a Pareto.
    """

    shape: str
    first: float
    second: float = 0.0

    @property
    def random(self) -> bool:
        return self.shape != "fixed"

    def mean(self, draws: float = math.inf) -> float:
        """The mean that so many draws come to as a rule.

        A Pareto's mean hangs on values that few draws ever reach: of n draws, the largest is about m n^(1/a), so the
        mean is taken below that.
        """
        if self.shape == "uniform":
            return (self.first + self.second) / 2
        if self.shape != "pareto":
            return self.first
        least, tail = self.first, self.second
        if draws == math.inf:
            return least * tail / (tail - 1) if tail > 1 else math.inf
        draws = max(draws, 2.0)
        top: float = draws ** (1 / tail)  # in units of the least
        if abs(tail - 1) < 1e-6:
            return least * math.log(top) / (1 - 1 / draws)
        return float(least * tail / (tail - 1) * (1 - top ** (1 - tail)) / (1 - 1 / draws))

    def variation(self, draws: float) -> float:
        """Variance over the mean's square, of a Pareto below what so many draws reach."""
        if self.shape == "exponential":
            return 1.0
        if self.shape == "uniform":
            return (self.second - self.first) ** 2 / 12 / self.mean() ** 2
        if self.shape != "pareto":
            return 0.0
        tail, draws = self.second, max(draws, 2.0)
        top: float = draws ** (1 / tail)
        power = 2 - tail
        square = tail * (math.log(top) if abs(power) < 1e-6 else (top**power - 1) / power)
        square = square * self.first**2 / (1 - 1 / draws)
        return max(0.0, square / self.mean(draws) ** 2 - 1)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One side of a conversation: a pause, a message, and again.

    Attributes:
        kind: ``closed-loop``, ``rpc`` or ``cvec``.
        opens: it opens the connection; else it answers the flow before it in the list.
        size: of a message, bytes.
        pause: before a message, seconds; the first of a closed loop or a caller has none.
        most: so many messages at most.
        new_connections: one each; else it is kept.
        is_concurrent: the sides do not wait for each other.
    """

    kind: str
    opens: bool
    size: Distribution
    pause: Distribution
    most: int | None
    new_connections: bool
    is_concurrent: bool

    @classmethod
    def of(cls, said: dict[str, Any] | None) -> Dialogue | None:
        """As the core says it."""
        return (
            None
            if said is None
            else cls(**said | {"size": Distribution(**said["size"]), "pause": Distribution(**said["pause"])})
        )


@dataclass(frozen=True, slots=True)
class Bursts:
    """A source that sends at `rate_bps` while on, and nothing while off."""

    rate_bps: float
    on: Distribution
    off: Distribution

    @classmethod
    def of(cls, said: dict[str, Any] | None) -> Bursts | None:
        """As the core says it."""
        return None if said is None else cls(said["rate_bps"], Distribution(**said["on"]), Distribution(**said["off"]))


@dataclass(frozen=True, slots=True)
class Replay:
    """A capture that is sent once."""

    packets: int
    bytes: int
    lasts_s: float

    @classmethod
    def of(cls, said: dict[str, Any] | None) -> Replay | None:
        """As the core says it."""
        return None if said is None else cls(said["packets"], said["bytes"], said["lasts_ns"] * 1e-9)
