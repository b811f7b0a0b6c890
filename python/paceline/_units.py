"""Decimal steps of units, largest first, in which rates, times and sizes are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Factor and name of each step, by the unit itself.
STEPS: Mapping[str, Sequence[tuple[float, str]]] = {
    "bit/s": ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")),
}


def step_for(value: float, steps: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """The largest step that is not above the value; the smallest where all are."""
    return next((step for step in steps if abs(value) >= step[0]), steps[-1])
