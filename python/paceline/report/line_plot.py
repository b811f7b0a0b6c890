"""A plot of lines: linear or logarithmic axes, bands, a legend above."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline._extent import Extent
from paceline.report.formatting import Scale, plain, scale_for, short, steps_of
from paceline.report.series_marks import mark, marker
from paceline.report.svg import Drawing, decimals_of, number, polyline, text_width, ticks

Numbers = npt.NDArray[np.float64]
WIDTH, HEIGHT = 350.0, 250.0
LEFT, RIGHT, BOTTOM = 46.0, 10.0, 46.0
#: Kinds that have a unit; others are counts of what their title names.
KNOWN = ("s", "bytes", "bps", "bps²", "share")
#: More points than this are thinned before they are placed; then what moves less than this many pixels is left out.
MOST_POINTS, LEAST_MOVE = 4000, 0.4
_SIZE = 11.5


@dataclass(frozen=True)
class Line:
    """One curve.

    `half` is the half width of its interval, a band; `steps` holds each value until the next; `seen` has the plane
    reach as far as a quiet line.
    """

    name: str
    slot: int
    x: Numbers
    y: Numbers
    half: Numbers | None = None
    steps: bool = False
    quiet: bool = False
    seen: bool = False


@dataclass(frozen=True)
class Axis:
    """`kind` is a kind of quantity (`s`, `bytes`, `bps`, `packets`, …); bounds that are not given fit the lines.

    None but a covariance (`bps²`) is ever negative, and a share is not above 1: no band takes an axis there.
    """

    title: str
    kind: str
    logarithmic: bool = False
    low: float | None = None
    high: float | None = None


def line_plot(title: str, description: str, lines: Sequence[Line], across: Axis, up: Axis) -> Drawing:
    """Lines over a plane; those that are quiet are dashed, and counted in what fits only where they must be seen."""
    loud = [line for line in lines if not line.quiet or line.seen] or list(lines)
    named = len(lines) > 1
    rows = _legend_rows(lines) if named else []
    top = 30.0 + 17.0 * len(rows)
    height = top + HEIGHT - 34.0
    drawing = Drawing(WIDTH, height, title, description, "chart")
    x_low, x_high = _bounds(across, [line.x for line in loud])
    y_low, y_high = _bounds(up, [_reach(line, sign) for line in loud for sign in (-1.0, 1.0)])
    x_scale, y_scale = _scale(across, x_low, x_high), _scale(up, y_low, y_high)
    drawing.heading(15, title, "" if up.logarithmic else y_scale.unit)
    for row, entries in enumerate(rows):
        _legend(drawing, entries, 32.0 + 17.0 * row)
    box = (LEFT, top + 6, WIDTH - RIGHT, height - BOTTOM)
    x_of, y_of = _place(across, x_low, x_high, box[0], box[2]), _place(up, y_low, y_high, box[3], box[1])
    drawing.open_plane(
        box, _extent(across, x_low, x_high, x_scale, across.title), _extent(up, y_low, y_high, y_scale, title)
    )
    _marks_up(drawing, box, up, (y_low, y_high), y_scale, y_of)
    _marks_across(drawing, box, across, (x_low, x_high), x_scale, x_of)
    for line in lines:
        _draw(drawing, line, across, up, (x_of, y_of), box)
    drawing.close()
    unit = f", {x_scale.unit}" if x_scale.unit and not across.logarithmic and across.kind in KNOWN else ""
    drawing.text((box[0] + box[2]) / 2, height - 8, across.title + unit, "axis-title", "middle")
    return drawing


def thin(x: Numbers, y: Numbers, most: int = MOST_POINTS) -> tuple[Numbers, Numbers]:
    """At most about so many points: of each stretch the least, the largest and the ends."""
    if len(x) <= most:
        return x, y
    edges = np.linspace(0, len(x), most // 4 + 1).astype(int)
    kept: list[int] = []
    for a, b in itertools.pairwise(edges):
        part = y[a:b]
        kept += sorted({int(a), int(a + np.argmin(part)), int(a + np.argmax(part)), int(b - 1)})
    return x[kept], y[kept]


def _draw(
    drawing: Drawing,
    line: Line,
    across: Axis,
    up: Axis,
    place: tuple[Callable[[float], float], Callable[[float], float]],
    box: tuple[float, float, float, float],
) -> None:
    x_of, y_of = place
    there = np.isfinite(line.x) & np.isfinite(line.y)
    there &= (line.x > 0) | (not across.logarithmic)
    there &= (line.y > 0) | (not up.logarithmic)
    x, y = line.x[there], line.y[there]
    if not len(x):
        return

    def placed(xs: Numbers, ys: Numbers) -> list[tuple[float, float]]:
        points = [(x_of(float(a)), y_of(float(b))) for a, b in zip(xs, ys, strict=True)]
        return _sparse([p for p in points if box[0] - 0.5 <= p[0] <= box[2] + 0.5])

    def within(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(px, min(max(py, box[1]), box[3])) for px, py in points]

    drawing.open_series(line.slot, line.name)
    if line.half is not None:
        half = np.where(np.isfinite(line.half[there]), line.half[there], 0.0)
        floor = np.min(y) / 1e3 if up.logarithmic else -np.inf
        low, high = thin(x, np.maximum(y - half, floor)), thin(x, y + half)
        edges = [within(placed(*edge)) for edge in (high, low)]
        if line.steps:
            edges = [_held(edge) for edge in edges]
        drawing.path(polyline(edges[0] + edges[1][::-1]) + "z", "band")
    points = placed(*thin(x, y))
    if line.steps:
        points = _held(points)
    if line.quiet:
        for part in _inside(points, box):
            drawing.path(polyline(part), "line guide")
    else:
        points = within(points)
        drawing.path(polyline(points), "line fine", line.name)
        if not line.steps:
            for at in _spaced(points, box):
                drawing.path(marker(line.slot, *at), f"{mark(line.slot)} small")
    drawing.close()


def _sparse(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Without points that nobody would see beside the one before."""
    kept = points[:1]
    for point in points[1:-1]:
        if max(abs(point[0] - kept[-1][0]), abs(point[1] - kept[-1][1])) >= LEAST_MOVE:
            kept.append(point)
    return kept + points[1:][-1:]


def _held(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Each value stands until the next."""
    return [corner for a, b in itertools.pairwise(points) for corner in (a, (b[0], a[1]))] + points[-1:]


def _inside(
    points: list[tuple[float, float]], box: tuple[float, float, float, float]
) -> list[list[tuple[float, float]]]:
    """The parts of a line between top and bottom."""
    parts: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if box[1] - 0.5 <= point[1] <= box[3] + 0.5:
            parts[-1].append(point)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if len(part) > 1]


def _spaced(points: Sequence[tuple[float, float]], box: tuple[float, float, float, float]) -> list[tuple[float, float]]:
    """Points of a line about equally far apart, for marks that tell lines apart without colour."""
    wanted = [box[0] + (box[2] - box[0]) * (k + 0.5) / 6 for k in range(6)]
    near = [min(points, key=lambda p: abs(p[0] - x)) for x in wanted]
    return list(dict.fromkeys(p for p, x in zip(near, wanted, strict=True) if abs(p[0] - x) < 30))


def _bounds(axis: Axis, values: Sequence[Numbers]) -> tuple[float, float]:
    everything = np.concatenate(values) if values else np.array([0.0, 1.0])
    everything = everything[np.isfinite(everything)]
    if axis.logarithmic:
        everything = everything[everything > 0]
    if not len(everything):
        everything = np.array([1.0])
    least, most = (-math.inf if axis.kind == "bps²" else 0.0), (1.0 if axis.kind == "share" else math.inf)
    low = max(float(everything.min()), least) if axis.low is None else axis.low
    high = min(float(everything.max()), most) if axis.high is None else axis.high
    if axis.logarithmic:
        return (low / 2, high * 2) if high <= low * 1.0001 else (low, high)
    if axis.low is None and 0 <= low <= 0.5 * high:
        low = 0.0
    return (low, high) if high > low else (low, low + (abs(low) or 1.0))


def _reach(line: Line, sign: float) -> Numbers:
    if line.half is None:
        return line.y
    return line.y + sign * np.where(np.isfinite(line.half), line.half, 0.0)


def _scale(axis: Axis, low: float, high: float) -> Scale:
    return scale_for(axis.kind, [math.sqrt(low * high) if axis.logarithmic else max(abs(low), abs(high))])


def _extent(axis: Axis, low: float, high: float, scale: Scale, title: str) -> Extent:
    if axis.logarithmic:
        return Extent(title, low, high, logarithmic=True, steps=steps_of(axis.kind) if axis.kind in KNOWN else ())
    return Extent(title, low / scale.divisor, high / scale.divisor, scale.unit)


def _place(axis: Axis, low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    def linear(value: float) -> float:
        return start + (value - low) / ((high - low) or 1.0) * (end - start)

    def logarithmic(value: float) -> float:
        share = math.log(max(value, low / 10) / low) / (math.log(high / low) or 1.0)
        return start + share * (end - start)

    return logarithmic if axis.logarithmic else linear


def _marks(axis: Axis, bounds: tuple[float, float], scale: Scale, about: int) -> list[tuple[float, str]]:
    """Places of ticks inside the bounds, with what they are called in the unit of the axis."""
    low, high = bounds
    if axis.logarithmic:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for digits in ((1, 2, 5), (1, 3), (1,)):
            values = [digit * 10.0**power for power in powers for digit in digits]
            values = [value for value in values if low * 0.999 <= value <= high * 1.001]
            if len(values) <= about:
                break
        if len(values) < 2:  # within a few tens of per cent: even steps do
            values = [value for value in ticks(low, high, about) if low * 0.999 <= value <= high * 1.001]
            if axis.kind not in KNOWN:
                return [(value, plain(value, decimals_of(values))) for value in values]
        return [(value, _own_unit(axis, value)) for value in values]
    values = ticks(low / scale.divisor, high / scale.divisor, about)
    decimals = decimals_of(values)
    inside = [v for v in values if low - 1e-9 * (high - low) <= v * scale.divisor <= high + 1e-9 * (high - low)]
    return [(v * scale.divisor, plain(v, decimals)) for v in inside]


def _marks_up(
    drawing: Drawing,
    box: tuple[float, float, float, float],
    axis: Axis,
    bounds: tuple[float, float],
    scale: Scale,
    y_of: Callable[[float], float],
) -> None:
    for value, name in _marks(axis, bounds, scale, 6 if axis.logarithmic else 5):
        y = y_of(value)
        drawing.open(class_="tick-y")
        drawing.line(box[0], y, box[2], y, "base" if value == 0 else "grid")
        drawing.text(box[0] - 6, y + 4, name, "tick", "end")
        drawing.close()


def _marks_across(
    drawing: Drawing,
    box: tuple[float, float, float, float],
    axis: Axis,
    bounds: tuple[float, float],
    scale: Scale,
    x_of: Callable[[float], float],
) -> None:
    drawing.line(box[0], box[3], box[2], box[3], "base")
    free = -math.inf
    for value, name in _marks(axis, bounds, scale, 6):
        x, half = x_of(value), text_width(name, _SIZE) / 2
        drawing.open(class_="tick-x")
        drawing.line(x, box[3], x, box[3] + 4, "base")
        if x - half > free:
            drawing.text(min(x, WIDTH - half), box[3] + 17, name, "tick", "middle")
            free = x + half + 6
        drawing.close()


def _own_unit(axis: Axis, value: float) -> str:
    """A tick of a logarithmic axis, which may span many units: `500 us`, `1 ms`, `0.2`."""
    if axis.kind not in KNOWN:
        return plain(value, max(0, -math.floor(math.log10(value) + 1e-9)))
    scale = scale_for(axis.kind, [value * 1.0000001])
    return scale.with_unit(f"{value / scale.divisor:.3g}")


def _legend_rows(lines: Sequence[Line]) -> list[list[Line]]:
    rows: list[list[Line]] = [[]]
    used = 0.0
    for line in lines:
        width = text_width(short(line.name, 34), _SIZE) + 34
        if rows[-1] and used + width > WIDTH:
            rows.append([])
            used = 0.0
        rows[-1].append(line)
        used += width
    return rows


def _legend(drawing: Drawing, entries: Sequence[Line], y: float) -> None:
    x = 0.0
    for line in entries:
        name = short(line.name, 34)
        drawing.open_key(line.slot, line.name)
        drawing.path(f"M{number(x)} {number(y - 4)}h16", "line guide" if line.quiet else "line fine")
        if not line.steps and not line.quiet:
            drawing.path(marker(line.slot, x + 8, y - 4), f"{mark(line.slot)} small")
        drawing.text(x + 20, y, name, "name")
        drawing.close()
        x += text_width(name, _SIZE) + 34
