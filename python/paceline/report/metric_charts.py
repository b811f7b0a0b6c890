"""Charts of a metric: lines against the swept axis, or bars where nothing numeric was swept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from paceline._extent import Extent
from paceline._statistics import Interval
from paceline.report.formatting import DASH, Scale, scale_for, short
from paceline.report.metrics import Metric
from paceline.report.series_marks import dash, mark, marker
from paceline.report.study import Axis, Series, Study
from paceline.report.svg import Box, Drawing, decimals_of, number, polyline, spread, text_width, ticks

WIDTH, HEIGHT = 350.0, 286.0
TOP, BOTTOM, LEFT = 34.0, 46.0, 46.0
#: With more series than this, lines are named by the legend above the charts alone.
MOST_DIRECT_LABELS = 8
#: A logarithmic axis from this ratio on.
LOGARITHMIC_FROM = 30.0


def against(study: Study, axis: Axis, metric: Metric) -> Drawing:
    """Means with 95 % error bars over the axis, one line a series, named at its right end."""
    lines: list[tuple[Series, list[tuple[str, Interval]]]] = []
    for series in study.series:
        points: list[tuple[str, Interval]] = []
        for position in axis.texts:
            setting = study.setting(series, position)
            value = study.estimate(setting, metric) if setting else None
            if value:
                points.append((position, value))
        if points:
            lines.append((series, points))
    shown = [e for _, points in lines for _, e in points]
    scale = scale_for(metric.kind, [e.mean for e in shown], [e.half for e in shown])
    direct = len(lines) <= MOST_DIRECT_LABELS
    names = [short(series.name, 20) for series, _ in lines]
    right = min(max((text_width(n, 11.5) for n in names), default=0) + 14, 128) if direct else 14.0
    drawing = _frame(study, metric, scale, shown)
    box = (LEFT, TOP, WIDTH - right, HEIGHT - BOTTOM)
    x_of = _along(box, axis)
    (bottom, top), levels = _levels(metric, scale, shown)
    places = [(x_of[position], position) for position in axis.texts]
    drawing.open_plane(box, Extent(axis.title, places=places), Extent(metric.title, bottom, top, scale.unit))
    y_of = _vertical(drawing, box, (bottom, top), levels, scale)
    _horizontal(drawing, box, x_of)
    drawing.text((box[0] + box[2]) / 2, HEIGHT - 8, axis.title, "axis-title", "middle")
    ends: list[float] = []
    for index, (series, points) in enumerate(lines):
        # neighbours step aside, so that error bars at one place stay readable
        aside = (index - (len(lines) - 1) / 2) * min(3.0, 14 / len(lines))
        placed = [(x_of[position] + aside, e) for position, e in points]
        drawing.open_series(series.slot, series.name)
        drawing.path(polyline([(x, y_of(e.mean)) for x, e in placed]), f"line dash{dash(series.slot)}")
        for (x, e), (position, _) in zip(placed, points, strict=True):
            if e.half is not None:
                drawing.path(_whisker(x, y_of(metric.within(e.low)), y_of(metric.within(e.high))), "whisker")
            tip = f"{series.name}, {position}: {scale.with_unit(scale.estimate(e))}"
            drawing.path(marker(series.slot, x, y_of(e.mean)), mark(series.slot), tip)
        drawing.close()
        ends.append(y_of(placed[-1][1].mean))
    drawing.close()
    if direct and len(lines) > 1:
        for (series, points), name, y, end in zip(
            lines, names, spread(ends, 14, box[1] + 4, box[3] - 2), ends, strict=True
        ):
            x = x_of[points[-1][0]]
            drawing.open_key(series.slot, series.name)
            if abs(y - end) > 3:
                drawing.path(polyline([(x + 7, end), (box[2] + 2, y)]), "leader")
            drawing.text(box[2] + 4, y + 4, name, "name")
            drawing.close()
    return drawing


def bars(study: Study, metric: Metric) -> Drawing:
    """One bar a series from zero, with its 95 % interval, for results without a numeric axis."""
    rows: list[tuple[str, int, Interval | None]] = []
    for series in study.series:
        setting = study.setting(series, study.positions[0])
        rows.append((series.name, series.slot, study.estimate(setting, metric) if setting else None))
    return bar_rows(metric, rows, f"{metric.title}, {study.core if 'links.' in metric.source else 'per setting'}")


def bar_rows(metric: Metric, rows: Sequence[tuple[str, int, Interval | None]], title: str) -> Drawing:
    """Named bars under one another with their numbers at the right."""
    shown = [e for _, _, e in rows if e]
    scale = scale_for(metric.kind, [e.mean for e in shown], [e.half for e in shown])
    row_height, top = 40.0, 30.0
    drawing = Drawing(WIDTH, top + row_height * len(rows) + 6, title, _spoken(rows, scale), "chart")
    drawing.heading(15, metric.title, scale.unit)
    widest = max((text_width(scale.estimate(e), 12) for e in shown), default=0) + 14
    length = WIDTH - widest
    most = max((metric.within(e.high) for e in shown), default=0.0) or 1.0
    for index, (name, slot, e) in enumerate(rows):
        y = top + index * row_height
        drawing.open_slot(slot)
        drawing.text(0, y + 11, short(name, 52), "bar-name")
        drawing.add("rect", class_="bar-track", x=0, y=y + 16, width=length, height=12, rx=2)
        if e:
            end = length * max(e.mean, 0) / most
            drawing.add("rect", class_="bar", x=0, y=y + 16, width=max(end, 0.5), height=12, rx=2)
            if e.half:
                low, high = (length * metric.within(v) / most for v in (e.low, e.high))
                cap = f"M{number(low)} {number(y + 19)}v6M{number(high)} {number(y + 19)}v6"
                drawing.path(f"M{number(low)} {number(y + 22)}H{number(high)}{cap}", "bar-whisker")
        drawing.text(WIDTH, y + 26.5, scale.estimate(e) if e else DASH, "bar-value", "end")
        drawing.close()
    return drawing


def from_zero(values: Sequence[float]) -> bool:
    """An axis begins at zero unless that would flatten what it is to show."""
    return not values or min(values) <= 0.5 * max(values)


def extent(metric: Metric, shown: Sequence[Interval]) -> tuple[float, float]:
    """From where to where an axis of these reaches: their intervals, as far as the quantity can go."""
    lows, highs = [metric.within(e.low) for e in shown], [metric.within(e.high) for e in shown]
    zero = from_zero([e.mean for e in shown])
    low, high = 0.0 if zero else min(lows), max(highs, default=1.0)
    if not zero and high > low:
        low, high = low - 0.04 * (high - low), high + 0.04 * (high - low)
    return metric.within(low), metric.within(high)


def _frame(study: Study, metric: Metric, scale: Scale, shown: Sequence[Interval]) -> Drawing:
    text = "No numbers." if not shown else ""
    if shown:
        low, high = min(e.mean for e in shown), max(e.mean for e in shown)
        text = f"Values from {scale.number(low)} to {scale.with_unit(scale.number(high))}; the table has them all."
    axis = study.axis.phrase if study.axis else ""
    drawing = Drawing(WIDTH, HEIGHT, f"{metric.title} against {axis}", text, "chart")
    drawing.heading(15, metric.title, scale.unit)
    return drawing


def _levels(metric: Metric, scale: Scale, shown: Sequence[Interval]) -> tuple[tuple[float, float], list[float]]:
    """The ends of the vertical axis and its ticks, in the unit of the scale."""
    low, high = extent(metric, shown)
    levels = ticks(low / scale.divisor, high / scale.divisor)
    # ticks are round numbers outside of what is drawn: the axis ends where the quantity does
    least, most = (bound / scale.divisor for bound in metric.bounds)
    bottom, top = max(levels[0], least), min(levels[-1], most)
    return (bottom, top), [level for level in levels if bottom - 1e-9 <= level <= top + 1e-9]


def _vertical(
    drawing: Drawing, box: Box, ends: tuple[float, float], levels: Sequence[float], scale: Scale
) -> Callable[[float], float]:
    bottom, top = ends

    def y_of(value: float) -> float:
        return box[3] - (value / scale.divisor - bottom) / (top - bottom) * (box[3] - box[1])

    decimals = decimals_of(levels)
    for level in levels:
        y = y_of(level * scale.divisor)
        drawing.open(class_="tick-y")
        drawing.line(box[0], y, box[2], y, "base" if level == 0 else "grid")
        drawing.text(box[0] - 6, y + 4, scale.number(level * scale.divisor, decimals), "tick", "end")
        drawing.close()
    return y_of


def _along(box: Box, axis: Axis) -> dict[str, float]:
    """Where each place of the axis is."""
    values = [axis.values[t] for t in axis.texts]
    logarithmic = min(values) > 0 and max(values) / min(values) >= LOGARITHMIC_FROM
    places = [math.log(v) if logarithmic else v for v in values]
    low, high = places[0], places[-1]
    pad = 16.0
    return {
        text: box[0] + pad + (place - low) / ((high - low) or 1.0) * (box[2] - box[0] - 2 * pad)
        for text, place in zip(axis.texts, places, strict=True)
    }


def _horizontal(drawing: Drawing, box: Box, x_of: Mapping[str, float]) -> None:
    free = -math.inf
    for text, x in x_of.items():
        width = text_width(text, 11.5)
        drawing.open(class_="tick-x")
        drawing.line(x, box[3], x, box[3] + 4, "base")
        if x - width / 2 > free:
            drawing.text(x, box[3] + 17, text, "tick", "middle")
            free = x + width / 2 + 4
        drawing.close()


def _whisker(x: float, low: float, high: float) -> str:
    cap = f"M{number(x)} {number(low)}m-3 0h6M{number(x)} {number(high)}m-3 0h6"
    return f"M{number(x)} {number(low)}V{number(high)}{cap}"


def _spoken(rows: Sequence[tuple[str, int, Interval | None]], scale: Scale) -> str:
    return "; ".join(f"{name}: {scale.with_unit(scale.estimate(e))}" for name, _, e in rows[:12])
