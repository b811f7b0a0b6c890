"""Numbers as people read them: one unit a column, as many digits as the interval allows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paceline._statistics import Interval
from paceline._units import STEPS, step_for

DASH = "—"
MINUS = "\u2212"
THIN = "\u202f"

_STEPS: dict[str, Sequence[tuple[float, str]]] = {
    "bps": STEPS["bit/s"],
    "s": STEPS["s"],
    "bytes": STEPS["B"],
    "bps²": ((1e18, "(Gbit/s)²"), (1e12, "(Mbit/s)²"), (1e6, "(kbit/s)²"), (1.0, "(bit/s)²")),
    "share": ((1e-2, "%"),),
    "number": ((1.0, ""),),
    "count": ((1.0, ""),),
}


_UNITS = "|".join(name for steps in STEPS.values() for _, name in steps)
_BEFORE_UNIT = re.compile(rf"(?<=\d) (?=%|(?:{_UNITS}|packets?)\b)|(?<=[≥≤±]) (?=\d)|(?<=\d) (?=±)")


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


def unbroken(text: str) -> str:
    """The same with each number, the sign before it, its interval and its unit on one line."""
    return _BEFORE_UNIT.sub("\u00a0", text)


def steps_of(kind: str) -> Sequence[tuple[float, str]]:
    """The units of a kind of quantity, largest first; of one that is counted, its own name."""
    return _STEPS.get(kind, ((1.0, kind),))


def scale_for(kind: str, values: Iterable[float], halves: Iterable[float | None] = ()) -> Scale:
    """The unit that keeps the largest value at one or more, and the decimals that the intervals deserve."""
    magnitudes = [abs(v) for v in values if math.isfinite(v)]
    largest = max(magnitudes, default=0.0)
    steps = steps_of(kind)
    divisor, unit = step_for(largest, steps)
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
