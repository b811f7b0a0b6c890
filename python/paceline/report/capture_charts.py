"""Pictures of a capture: rate over time, burstiness against time scale, gaps and bursts; a line a pacer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paceline._extent import Extent
from paceline._units import STEPS
from paceline.capture.analysis import Group, Histogram, Stream
from paceline.report.formatting import plain, scale_for
from paceline.report.metric_charts import BOTTOM, HEIGHT, LEFT, TOP, WIDTH
from paceline.report.series_marks import dash, mark, marker
from paceline.report.svg import Drawing, decimals_of, number, polyline, ticks

RIGHT = 14.0
#: Histograms are drawn with so many ranges to a doubling.
PER_DOUBLING = 2

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """From where to where, on which scale, and what stands at its marks."""

    low: float
    high: float
    logarithmic: bool
    marks: Sequence[tuple[float, str]]
    title: str = ""
    unit: str = ""
    divisor: float = 1.0
    steps: Sequence[tuple[float, str]] = ()

    def extent(self, title: str) -> Extent:
        """The axis for the page's script."""
        if self.logarithmic:
            return Extent(title, self.low, self.high, logarithmic=True, steps=self.steps)
        return Extent(title, self.low / self.divisor, self.high / self.divisor, self.unit)

    def place(self, value: float, start: float, end: float) -> float:
        """A value's position between two ends."""
        low, high = (math.log(self.low), math.log(self.high)) if self.logarithmic else (self.low, self.high)
        at = math.log(max(value, self.low)) if self.logarithmic else value
        return start + (at - low) / ((high - low) or 1.0) * (end - start)


def lines_of(group: Group) -> list[tuple[str, int, Stream]]:
    """The name, slot of colour and stream of each line."""
    return [(pacer or "as captured", slot, stream) for slot, (pacer, stream, _) in enumerate(group.streams())]


def rate_over_time(group: Group, width: float) -> Drawing:
    """The mean rate over each of at most 1024 intervals, from the group's first packet on."""
    shown: list[tuple[str, int, Points]] = []
    start = group.captured.first_ns or 0
    interval = max(stream.rate_interval_s for _, _, stream in lines_of(group))
    for name, slot, stream in lines_of(group):
        first = ((stream.first_ns or start) - start) / 1e9
        merged = max(1, round(interval / stream.rate_interval_s))
        sums = [sum(stream.rate_bytes[at : at + merged]) for at in range(0, len(stream.rate_bytes), merged)]
        # the last interval is seldom whole
        rates = [count * 8 / interval for count in (sums[:-1] or sums)]
        points = [(first + at * interval, rate) for at, rate in enumerate(rates)]
        shown.append((name, slot, [*points, (first + len(rates) * interval, rates[-1])] if rates else []))
    highest = max((y for _, _, points in shown for _, y in points), default=1.0)
    longest = max((x for _, _, points in shown for x, _ in points), default=1.0)
    scale, unit = scale_for("bps", [highest]), scale_for("s", [longest])
    levels = ticks(0.0, highest / scale.divisor)
    times = ticks(0.0, longest / unit.divisor)
    times = times[:-1] if times[-1] > 1.001 * longest / unit.divisor else times
    vertical = Axis(
        0.0, levels[-1] * scale.divisor, False, _marks(levels, scale.divisor), "", scale.unit, scale.divisor
    )
    marks = _marks(times, unit.divisor)
    horizontal = Axis(0.0, longest, False, marks, f"time, {unit.unit}", unit.unit, unit.divisor)
    length = scale_for("s", [interval])
    title = f"Rate over {length.with_unit(plain(interval / length.divisor, 3).rstrip('0').rstrip('.'))}"
    return _chart(title, scale.unit, horizontal, vertical, [(n, s, _steps(p)) for n, s, p in shown], width, "thin")


def burstiness(group: Group) -> Drawing:
    """The coefficient of variation of the rate against the length of the interval, both axes logarithmic."""
    shown = []
    for name, slot, stream in lines_of(group):
        points = [(scale.scale_s, scale.cv) for scale in stream.scales if scale.cv]
        shown.append((name, slot, points))
    low, high = _span([y for _, _, points in shown for _, y in points], (0.1, 1.0))
    left, right = _span([x for _, _, points in shown for x, _ in points], (1e-6, 1.0))
    vertical = Axis(low, high, True, _decades(low, high, lambda value: f"{value:g}"))
    horizontal = Axis(left, right, True, _decades(left, right, _time), "length of the interval", steps=STEPS["s"])
    return _chart("Variation of the rate", "", horizontal, vertical, shown, WIDTH, marked=True)


def gaps(group: Group) -> Drawing:
    """How gaps between packets are spread, a logarithmic axis of time."""
    shown = [(name, slot, _shares(stream.gaps_ns, 1e-9, False)) for name, slot, stream in lines_of(group)]
    return _histogram("Gaps between packets", "% of gaps", shown, _time, "gap")


def bursts(group: Group) -> Drawing:
    """In how large bursts packets come, a logarithmic axis of packets."""
    shown = [(name, slot, _shares(stream.bursts, 1.0, True)) for name, slot, stream in lines_of(group)]
    return _histogram("Bursts", "% of packets", shown, lambda value: plain(value, 0), "packets of the burst")


def _histogram(
    title: str,
    unit: str,
    shown: Sequence[tuple[str, int, Points]],
    text: Callable[[float], str],
    axis: str,
) -> Drawing:
    levels = ticks(0.0, max((y for _, _, points in shown for _, y in points), default=1.0))
    vertical = Axis(0.0, levels[-1], False, _marks(levels, 1.0), unit=unit)
    xs = [x for _, _, points in shown for x, _ in points]
    low, high = min(xs, default=1.0), max(xs, default=2.0)
    steps = STEPS["s"] if text is _time else ()
    horizontal = Axis(low, max(high, 2 * low), True, _decades(low, max(high, 2 * low), text), axis, steps=steps)
    return _chart(title, unit, horizontal, vertical, [(n, s, _steps(p)) for n, s, p in shown], WIDTH)


def _shares(histogram: Histogram, unit: float, weighted: bool) -> list[tuple[float, float]]:
    """Left edges of ranges and the share of each in percent, the last edge with none; by value if `weighted`."""
    sums: dict[int, float] = {}
    for least, largest, count in histogram.bins:
        middle = math.sqrt(max(least, 1) * max(largest, 1))
        place = math.floor(PER_DOUBLING * math.log2(middle) + 1e-9)
        sums[place] = sums.get(place, 0.0) + count * (middle if weighted else 1.0)
    total = sum(sums.values())
    if not total:
        return []
    first, last = min(sums), max(sums)
    edge = [unit * 2 ** (place / PER_DOUBLING) for place in range(first, last + 2)]
    shares = [100 * sums.get(place, 0.0) / total for place in range(first, last + 1)]
    return [(edge[0], 0.0), *zip(edge, shares, strict=False), (edge[-1], 0.0)]


def _steps(points: Points) -> Points:
    """Each value holds until the next."""
    out: list[tuple[float, float]] = []
    for x, y in points:
        if out:
            out.append((x, out[-1][1]))
        out.append((x, y))
    return out


def _chart(
    title: str,
    unit: str,
    horizontal: Axis,
    vertical: Axis,
    shown: Sequence[tuple[str, int, Points]],
    width: float,
    weight: str = "",
    marked: bool = False,
) -> Drawing:
    said = "; ".join(name for name, _, points in shown if points)
    drawing = Drawing(width, HEIGHT, title, f"{said or 'No numbers'}.", "chart")
    drawing.heading(15, title, unit)
    left, top, right, bottom = LEFT, TOP, width - RIGHT, HEIGHT - BOTTOM
    across = horizontal.extent(horizontal.title.removesuffix(f", {horizontal.unit}"))
    drawing.open_plane((left, top, right, bottom), across, vertical.extent(title))
    for value, text in vertical.marks:
        y = vertical.place(value, bottom, top)
        drawing.open(class_="tick-y")
        drawing.line(left, y, right, y, "base" if value == 0 else "grid")
        drawing.text(left - 6, y + 4, text, "tick", "end")
        drawing.close()
    if vertical.logarithmic:
        drawing.line(left, bottom, right, bottom, "base")
    for value, text in horizontal.marks:
        x = horizontal.place(value, left, right)
        drawing.open(class_="tick-x")
        drawing.line(x, bottom, x, bottom + 4, "base")
        drawing.text(x, bottom + 17, text, "tick", "middle")
        drawing.close()
    for name, slot, points in shown:
        placed = [(horizontal.place(x, left, right), vertical.place(y, bottom, top)) for x, y in points]
        if not placed:
            continue
        drawing.open_series(slot, name)
        drawing.path(polyline(placed), f"line dash{dash(slot)} {weight}".rstrip(), name)
        if marked:
            for (x, y), (at, value) in zip(placed, points, strict=True):
                drawing.path(marker(slot, x, y), mark(slot), f"{name}, {_time(at)}: {value:.3g}")
        drawing.close()
    drawing.close()
    drawing.text((left + right) / 2, HEIGHT - 8, horizontal.title, "axis-title", "middle")
    return drawing


def _marks(values: Sequence[float], divisor: float) -> list[tuple[float, str]]:
    decimals = decimals_of(values)
    return [(value * divisor, plain(value, decimals)) for value in values]


def _span(values: Sequence[float], default: tuple[float, float]) -> tuple[float, float]:
    """The decades around values."""
    if not values:
        return default
    low, high = 10.0 ** math.floor(math.log10(min(values))), 10.0 ** math.ceil(math.log10(max(values)) - 1e-9)
    return low, max(high, 10 * low)


def _decades(low: float, high: float, text: Callable[[float], str]) -> list[tuple[float, str]]:
    """Powers of ten within, not more than six; else of two."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first >= 1:
        step = 1 + (last - first) // 6
        return [(10.0**power, text(10.0**power)) for power in range(first, last + 1, step)]
    twos = range(math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9) + 1)
    return [(2.0**power, text(2.0**power)) for power in twos]


def _time(seconds: float) -> str:
    scale = scale_for("s", [seconds * 1.0000001])
    return scale.with_unit(number(seconds / scale.divisor))
