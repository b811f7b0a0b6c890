"""Numbers as people read them: one unit a column, as many digits as the interval allows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from paceline._statistics import Interval

DASH = "—"
MINUS = "\u2212"
THIN = "\u202f"

_STEPS: dict[str, tuple[tuple[float, str], ...]] = {
    "bps": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")),
    "bps²": ((1e18, "(Gbit/s)²"), (1e12, "(Mbit/s)²"), (1e6, "(kbit/s)²"), (1.0, "(bit/s)²")),
    "share": ((1e-2, "%"),),
    "number": ((1.0, ""),),
    "count": ((1.0, ""),),
}

_UNITS: dict[str, tuple[str, float]] = {
    "": ("number", 1.0),
    "%": ("share", 1e-2),
    "b": ("bytes", 1.0),
    "kb": ("bytes", 1e3),
    "mb": ("bytes", 1e6),
    "gb": ("bytes", 1e9),
    "kib": ("bytes", 1024.0),
    "mib": ("bytes", 1024.0**2),
    "gib": ("bytes", 1024.0**3),
    "packet": ("packets", 1.0),
    "packets": ("packets", 1.0),
    "bdp": ("BDP", 1.0),
    "ns": ("s", 1e-9),
    "us": ("s", 1e-6),
    "µs": ("s", 1e-6),
    "ms": ("s", 1e-3),
    "s": ("s", 1.0),
    "min": ("s", 60.0),
    "bit/s": ("bps", 1.0),
    "kbit/s": ("bps", 1e3),
    "mbit/s": ("bps", 1e6),
    "gbit/s": ("bps", 1e9),
}

_QUANTITY = re.compile(r"^\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµ/%]*)\s*$")


@dataclass(frozen=True)
class Scale:
    """The unit and the decimals that a column or an axis shows all its values with."""

    unit: str
    divisor: float
    decimals: int = 0

    def number(self, value: float | None, decimals: int | None = None) -> str:
        if value is None or not math.isfinite(value):
            return DASH
        return plain(value / self.divisor, self.decimals if decimals is None else decimals)

    def estimate(self, value: Interval | None) -> str:
        """`92.4 ± 0.3`, or the mean alone where one seed, or seeds of one value, allow no interval."""
        if value is None:
            return DASH
        if not value.half:
            return self.number(value.mean)
        half = self.number(value.half)
        if not any(digit in "123456789" for digit in half):
            half = f"<{plain(10.0**-self.decimals, self.decimals)}"
        return f"{self.number(value.mean)}\u00a0± {half}"

    def with_unit(self, text: str) -> str:
        return f"{text}\u00a0{self.unit}" if self.unit else text


def plain(value: float, decimals: int) -> str:
    """A number with thin spaces between thousands and a true minus sign; never a negative zero."""
    text = f"{abs(value):,.{decimals}f}".replace(",", THIN)
    negative = value < 0 and any(c in "123456789" for c in text)
    return (MINUS if negative else "") + text


def scale_for(kind: str, values: Iterable[float], halves: Iterable[float | None] = ()) -> Scale:
    """The unit that keeps the largest value at one or more, and the decimals that the intervals deserve."""
    magnitudes = [abs(v) for v in values if math.isfinite(v)]
    largest = max(magnitudes, default=0.0)
    steps = _STEPS.get(kind, ((1.0, kind),))
    divisor, unit = next(((d, u) for d, u in steps if largest >= d), steps[-1])
    widths = sorted(h / divisor for h in halves if h)
    if kind == "count":
        decimals = 0
    elif widths:
        # the narrower quarter shows one digit, or two where the first is a 1
        decimals = max(0, math.ceil(-math.log10(widths[len(widths) // 4]) + 0.3))
    else:
        decimals = 4 - len(str(int(largest / divisor))) if largest else 0
    most = (4 if kind == "number" else 5) - len(str(int(largest / divisor)))
    return Scale(unit, divisor, min(max(decimals, 0), max(most, 0)))


def quantity(text: str) -> tuple[str, float] | None:
    """Dimension and value of `5 KB`, `10 ms`, `0.3`; `None` where the text is something else."""
    found = _QUANTITY.match(text)
    if found is None:
        return None
    unit = _UNITS.get(found[2].lower())
    if unit is None:
        return None
    return unit[0], float(found[1].replace("_", "")) * unit[1]


def signed_percent(value: Interval | None) -> str:
    """`+13.1 ± 0.4 %` of a relative difference."""
    if value is None:
        return DASH
    decimals = 1
    if value.half is not None and value.half < 0.0005:
        decimals = 2
    sign = "+" if value.mean > 0 else ""
    text = sign + plain(100 * value.mean, decimals)
    if value.half:
        text += f" ± {plain(100 * value.half, decimals)}"
    return text + "\u00a0%"


def percent_words(value: Interval) -> str:
    """`13 % more`, `0.8 % less`: a relative difference in a sentence."""
    size = abs(value.mean) * 100
    decimals = 0 if size >= 9.95 else 1 if size >= 0.095 else 2
    return f"{plain(size, decimals)}\u00a0% {'more' if value.mean > 0 else 'less'}"


def short(text: str, most: int) -> str:
    """The text, cut in the middle where it is too long to draw."""
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return text[:head].rstrip() + "…" + text[len(text) - (most - 1 - head) :].lstrip()


def listed(items: Iterable[str], joint: str = "and") -> str:
    """`a, b and c`."""
    all_items = list(items)
    if len(all_items) < 2:
        return "".join(all_items)
    return ", ".join(all_items[:-1]) + f" {joint} " + all_items[-1]
