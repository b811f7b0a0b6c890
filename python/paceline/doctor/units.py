"""Numbers with units, as they are written in a scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from paceline._units import STEPS

_MINUTES = ((60.0, "min"), *STEPS["s"])


def rate(bps: float) -> str:
    """``8.32 kbit/s``: three digits."""
    return _scaled(bps, STEPS["bit/s"])


def time(seconds: float) -> str:
    """``252 ms``: three digits; minutes from two on."""
    return _scaled(seconds, STEPS["s"] if seconds < 120 else _MINUTES)


def size(count: float) -> str:
    """``5 KB``: three digits."""
    return _scaled(count, STEPS["B"])


def number(value: float) -> str:
    """Three digits, or all of a whole number."""
    if math.isinf(value):
        return "unlimited"
    if abs(value) >= 1000 or value == int(value):
        return f"{value:.0f}"
    places = 2 - math.floor(math.log10(abs(value)))
    text = f"{value:.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def about(value: float) -> str:
    """Two digits: an estimate."""
    return number(float(f"{value:.2g}")) if math.isfinite(value) else number(value)


def percent(share: float) -> str:
    """``13 %``."""
    return f"{about(100 * share)} %"


def count(of: float, one: str, several: str | None = None) -> str:
    """``1 flow``, ``1000 flows``."""
    text = number(of)
    return f"{text} {one if text == '1' else several or one + 's'}"


def span(values: Iterable[float], words: Callable[[float], str]) -> str:
    """``8 .. 12 Mbit/s``, or one value where both ends read the same."""
    known = list(values)
    low, high = words(min(known)), words(max(known))
    if low == high:
        return low
    unit = high.rpartition(" ")[2]
    if low.endswith(f" {unit}"):
        low = low.removesuffix(f" {unit}")
    return f"{low} .. {high}"


def listed(items: Iterable[str], joint: str = "and", most: int = 5) -> str:
    """``a, b and c``; the rest counted."""
    known = list(items)
    if len(known) > most:
        known = [*known[: most - 1], f"{len(known) - most + 1} more"]
    if len(known) < 2:
        return "".join(known)
    return ", ".join(known[:-1]) + f" {joint} " + known[-1]


def round_up(value: float) -> int:
    """A round number not below it: 1, 2 or 5 times a power of ten."""
    if value <= 1:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9)))


def _scaled(value: float, units: Sequence[tuple[float, str]]) -> str:
    if math.isinf(value):
        return "unlimited"
    scale, unit = next(((one, name) for one, name in units if abs(value) >= one * 0.9995), units[-1])
    if value == 0:
        scale, unit = next((one, name) for one, name in units if one <= 1)
    return f"{number(value / scale)} {unit}"
