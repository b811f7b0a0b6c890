"""Charts over time: queue lengths, and when packets left a link."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline._extent import Extent
from paceline._units import STEPS
from paceline.report.formatting import Scale, plain, scale_for, short
from paceline.report.study import Record, Series, Study
from paceline.report.svg import Drawing, number, polyline, text_width
from paceline.report.topology import link_rate

Times = npt.NDArray[np.float64]

#: More panels than this are thinned to the smallest, a middle and the largest place on the axis, then cut.
MOST_PANELS = 16
#: More strips than this would not be compared any more.
MOST_STRIPS = 8
#: Packets that a strip shows over its whole width, as near as the window's bounds allow.
PACKETS_SHOWN = 260
SHORTEST_S, LONGEST_S = 0.01, 0.3


@dataclass(frozen=True)
class Spacing:
    """How a link's packets follow one another.

    `variation` is the standard deviation of the gaps over their mean: 0 for a metronome, 1 for a Poisson stream, more
    for bursts. `back_to_back` is the share of gaps no longer than the wire needs for the packet; `None` where the
    link's rate is not known. `busiest_ms` is the largest number of packets in any one millisecond of a regular grid.
    """

    packets: int
    per_second: float
    variation: float
    back_to_back: float | None
    busiest_ms: int


@dataclass(frozen=True)
class Strip:
    """The packets of one series on the link of the raster; `times_s` starts at the record's first packet."""

    series: Series
    record: Record
    times_s: Times
    spacing: Spacing


@dataclass(frozen=True)
class Raster:
    """What the departure raster shows: strips of one link, a series each at one place on the axis.

    Where there is one series, a strip is a place on the axis, and `position` is empty.
    """

    link: str
    position: str
    strips: list[Strip]
    #: What the wire needs for a packet of the usual size; `None` where not known, or not the same in all strips.
    wire_s: float | None


def raster_of(study: Study) -> Raster | None:
    """The departures to show: at the smallest place on the axis, on an edge link if one was recorded."""
    links = study.recordings.links("departure")
    links.sort(key=lambda link: (not link.startswith("edge.l"), link != study.core))
    for link in links:
        if len(study.series) == 1 and len(study.positions) > 1:
            # nothing but the axis differs, so its places are what to compare
            own = study.series[0]
            title = study.axis.title if study.axis else ""
            places = [Series(f"{title} {p}", n, own.method) for n, p in enumerate(study.positions)]
            wanted = [[(place, own, p) for place, p in zip(places, study.positions, strict=True)]]
        else:
            wanted = [[(s, s, position) for s in study.series] for position in study.positions]
        for choice in wanted:
            found: list[tuple[Series, Record, float | None]] = []
            for shown, series, position in choice[:MOST_STRIPS]:
                setting = study.setting(series, position)
                record = study.recordings.of(setting, "departure", link) if setting else None
                if setting and record is not None and len(record.time_ns) > 2:
                    found.append((shown, record, link_rate(study, setting, link)))
            if found:
                return _raster(link, choice[0][2] if len(study.series) > 1 else "", found)
    return None


def _raster(link: str, position: str, found: list[tuple[Series, Record, float | None]]) -> Raster:
    strips = [Strip(s, r, (r.time_ns - r.time_ns[0]) / 1e9, spacing(r, rate)) for s, r, rate in found]
    usual = {float(np.median(r.bytes)) * 8 / rate if rate else None for _, r, rate in found}
    return Raster(link, position, strips, usual.pop() if len(usual) == 1 else None)


def spacing(record: Record, rate_bps: float | None) -> Spacing:
    """Measures the gaps between departures on a link of this rate."""
    time_ns = record.time_ns
    gaps = np.diff(time_ns).astype(np.float64)
    mean = float(gaps.mean())
    span = float(time_ns[-1] - time_ns[0])
    milliseconds = (time_ns - time_ns[0]) // 1_000_000
    together = None
    if rate_bps:
        # a packet's bits are on the wire in the gap behind its departure
        wire_ns = record.bytes[:-1] * 8e9 / rate_bps
        together = float((gaps <= wire_ns * 1.05).mean())
    return Spacing(
        len(time_ns),
        len(gaps) / span * 1e9 if span else 0.0,
        float(gaps.std()) / mean if mean else 0.0,
        together,
        int(np.bincount(milliseconds).max()),
    )


def window_s(raster: Raster, share: float = 1.0) -> float:
    """A round length of time in which a typical strip shows about `PACKETS_SHOWN` packets."""
    rate = float(np.median([s.spacing.per_second for s in raster.strips])) or 1.0
    recorded_s = min(float(s.times_s[-1]) for s in raster.strips)
    wanted = min(max(PACKETS_SHOWN / rate, SHORTEST_S), LONGEST_S, recorded_s) * share
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(max(m * power for m in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0) if m * power <= wanted * 1.0001))


def strips(raster: Raster, width: float, length_s: float) -> Drawing:
    """One strip a series: a tick a packet above, packets in each millisecond below."""
    tall, bars, gap, top = 30.0, 22.0, 32.0, 4.0
    step = tall + bars + gap
    drawing = Drawing(
        width,
        top + step * len(raster.strips) + 26,
        f"Packets leaving {raster.link} over {plain(length_s * 1e3, 0)} ms",
        "; ".join(f"{s.series.name}: gaps vary by {plain(s.spacing.variation, 2)}" for s in raster.strips),
        "raster",
    )
    bins = max(round(length_s * 1e3), 1)
    counts = [np.histogram(s.times_s, bins=bins, range=(0, length_s))[0] for s in raster.strips]
    most = max((int(c.max()) for c in counts), default=1) or 1
    for index, strip in enumerate(raster.strips):
        y = top + index * step + 12
        drawing.open_key(strip.series.slot, strip.series.name)
        drawing.text(0, y, short(strip.series.name, 44 if width > 600 else 24), "name strong")
        drawing.close()
        drawing.text(width, y, f"gap variation {plain(strip.spacing.variation, 2)}", "tick", "end")
    floor = top + step * len(raster.strips) - gap + 20
    drawing.open_plane((0.0, 0.0, width, floor), Extent("Time", 0.0, length_s * 1e3, "ms"), None)
    for index, (strip, count) in enumerate(zip(raster.strips, counts, strict=True)):
        y = top + index * step + 20
        drawing.add("rect", class_="strip", x=0, y=y, width=width, height=tall)
        drawing.open_series(strip.series.slot, strip.series.name)
        shown = strip.times_s[strip.times_s < length_s]
        d = "".join(f"M{number(t / length_s * width)} {number(y)}v{number(tall)}" for t in shown)
        drawing.path(d, "packet")
        floor = y + tall + bars
        d = ""
        for k in np.flatnonzero(count):
            tall_k = count[k] / most * (bars - 3)
            ends = number(k / bins * width), number((k + 1) / bins * width)
            d += f"M{ends[0]} {number(floor)}v{number(-tall_k)}H{ends[1]}v{number(tall_k)}z"
        drawing.path(d, "burst")
        drawing.close()
        drawing.line(0, floor, width, floor, "base")
    floor = top + step * len(raster.strips) - gap + 20
    divisions = 10 if width > 600 else 4
    for division in range(divisions + 1):
        x = division / divisions * width
        drawing.open(class_="tick-x")
        drawing.line(x, floor, x, floor + 4, "base")
        anchor = "start" if division == 0 else "end" if division == divisions else "middle"
        label = f"{division / divisions * length_s * 1e3:.4g}" + (" ms" if division == divisions else "")
        drawing.text(x, floor + 17, label, "tick", anchor)
        drawing.close()
    drawing.close()
    return drawing


def gap_distribution(raster: Raster) -> Drawing:
    """Share of gaps no longer than x, one line a series, on a logarithmic axis of time."""
    width, height = 350.0, 286.0
    left, right, top, bottom = 40.0, 336.0, 34.0, 240.0
    drawing = Drawing(
        width,
        height,
        f"Gaps between packets leaving {raster.link}",
        "Share of gaps no longer than the time on the horizontal axis.",
        "chart",
    )
    drawing.heading(15, "Gaps between packets", "% no longer than")
    gaps = {id(s): np.sort(np.diff(s.record.time_ns).astype(np.float64) / 1e9) for s in raster.strips}
    low = np.log10(max(min(float(g[0]) for g in gaps.values()), 1e-9)) - 0.05
    high = np.log10(max(max(float(np.quantile(g, 0.999)) for g in gaps.values()), 1e-8)) + 0.05

    def x_of(seconds: float) -> float:
        return float(left + (np.log10(max(seconds, 1e-9)) - low) / (high - low) * (right - left))

    def y_of(share: float) -> float:
        return bottom - share * (bottom - top)

    across = Extent("Gap", 10.0**low, 10.0**high, logarithmic=True, steps=STEPS["s"])
    drawing.open_plane((left, top, right, bottom), across, Extent("No longer than", 0.0, 100.0, "%"))
    for percent in (0, 25, 50, 75, 100):
        drawing.open(class_="tick-y")
        drawing.line(left, y_of(percent / 100), right, y_of(percent / 100), "base" if percent == 0 else "grid")
        drawing.text(left - 6, y_of(percent / 100) + 4, f"{percent}", "tick", "end")
        drawing.close()
    free = 0.0
    for power in range(int(np.floor(low)), int(np.ceil(high)) + 1):
        for digit in (1, 2, 5):
            value = digit * 10.0**power
            if low <= np.log10(value) <= high:
                label = scale_for("s", [value * 1.0000001])
                text = f"{value / label.divisor:.3g} {label.unit}"
                drawing.open(class_="tick-x")
                drawing.line(x_of(value), bottom, x_of(value), bottom + 4, "base")
                half = text_width(text, 11.5) / 2
                if x_of(value) - half > free:
                    drawing.text(min(x_of(value), width - half - 1), bottom + 17, text, "tick", "middle")
                    free = x_of(value) + half + 6
                drawing.close()
    for strip in raster.strips:
        sorted_gaps = gaps[id(strip)]
        levels = np.linspace(0, 1, 121)
        points = [
            (x_of(float(q)), y_of(float(p))) for q, p in zip(np.quantile(sorted_gaps, levels), levels, strict=True)
        ]
        drawing.open_series(strip.series.slot, strip.series.name)
        drawing.path(polyline([p for p in points if p[0] <= right + 0.5]), "line", strip.series.name)
        drawing.close()
    drawing.close()
    drawing.text((left + right) / 2, height - 8, "Gap, logarithmic", "axis-title", "middle")
    return drawing


@dataclass(frozen=True)
class Panel:
    """One queue picture with its place in the grid."""

    series: Series
    position: str
    drawing: Drawing


def panels_of(study: Study) -> tuple[list[str], list[Series]]:
    """The places on the axis and the series whose queues are drawn: all of them, where that are not too many."""
    positions = study.positions
    if len(positions) * len(study.series) > MOST_PANELS and len(positions) > 3:
        positions = [positions[0], positions[len(positions) // 2], positions[-1]]
    return positions, study.series[: max(1, MOST_PANELS // len(positions))]


def queue_panels(study: Study) -> tuple[str, list[str], list[Panel]]:
    """The link, the places on the axis shown (the grid's columns), and a panel each series and place."""
    links = study.recordings.links("queue")
    if not links:
        return study.core, [], []
    link = study.core if study.core in links else links[0]
    positions, shown = panels_of(study)
    panels: list[Panel] = []
    for series in shown:
        for position in positions:
            setting = study.setting(series, position)
            record = study.recordings.of(setting, "queue", link) if setting else None
            if record is None or len(record.time_ns) < 2:
                continue
            panels.append(Panel(series, position, _queue(study, series, position, record)))
    return link, positions, panels


def _queue(study: Study, series: Series, position: str, record: Record) -> Drawing:
    width, height = 300.0, 132.0
    left, right, top, bottom = 52.0, 244.0, 26.0, 110.0
    limit = _limit(study, position)
    most = max(limit or 0.0, float(record.bytes.max()), 1.0) * 1.04
    scale = scale_for("bytes", [most])
    title = series.name if not study.axis else f"{series.name}, {position}"
    times = record.time_ns / 1e9
    counted = times >= _warmup(study)
    measured = record.bytes[counted] if counted.any() else record.bytes
    mean_bytes = scale.with_unit(scale.number(float(measured.mean())))
    busy = plain(float((measured > 0).mean()) * 100, 0)
    drawing = Drawing(
        width,
        height,
        f"Queue at {record.link}, {title}",
        f"Mean {mean_bytes}, not empty {busy} % of the time.",
        "panel",
    )
    drawing.open_slot(series.slot)
    drawing.text(0, 12, short(title, 40), "name strong")

    def y_of(value: float) -> float:
        return bottom - value / most * (bottom - top)

    start, end = float(times[0]), float(times[-1])

    def x_of(t: float) -> float:
        return left + (t - start) / ((end - start) or 1.0) * (right - left)

    levels = Extent("Queue", 0.0, most / scale.divisor, scale.unit, fixed=True)
    drawing.open_plane((left, top, right, bottom), Extent("Time", start, end, "s"), levels)
    for at, t in ((left, start), (right, end)):
        drawing.open(class_="tick-x")
        drawing.text(at, bottom + 15, f"{t:.3g} s", "tick", "start" if t == start else "end")
        drawing.close()
    drawing.open_series(series.slot, series.name)
    bins = min(len(times), 160)
    edges = np.linspace(0, len(times), bins + 1).astype(int)
    chunks = [record.bytes[a:b] for a, b in itertools.pairwise(edges)]
    middles = [float(times[a:b].mean()) for a, b in itertools.pairwise(edges)]
    if len(times) > bins:
        ends = [(x_of(t), np.quantile(c, (0.05, 0.95))) for t, c in zip(middles, chunks, strict=True)]
        low, high = ([(x, y_of(float(both[end]))) for x, both in ends] for end in (0, 1))
        drawing.path(polyline(high + low[::-1]) + "z", "band")
    mean = [(x_of(t), y_of(float(c.mean()))) for t, c in zip(middles, chunks, strict=True)]
    drawing.path(polyline(mean), "line thin")
    if start < _warmup(study) < end:
        drawing.path(f"M{number(x_of(_warmup(study)))} {number(top)}v{number(bottom - top)}", "limit")
    drawing.close()
    drawing.close()
    if limit:
        drawing.line(left, y_of(limit), width, y_of(limit), "limit")
    _levels(drawing, measured, most, y_of(0), y_of(most), (right + 8, width))
    drawing.close()
    drawing.line(left, bottom, width, bottom, "base")
    top_mark = limit or float(record.bytes.max())
    drawing.text(left - 4, y_of(top_mark) + 4, _kilobytes(top_mark, scale), "tick", "end")
    drawing.text(left - 4, bottom + 3, "0", "tick", "end")
    drawing.text(width, bottom + 15, "share", "tick", "end")
    return drawing


def _levels(
    drawing: Drawing, sizes: npt.NDArray[np.int64], most: float, bottom: float, top: float, box: tuple[float, float]
) -> None:
    """The share of time at each length, as bars that grow to the right."""
    levels = 20
    count, _ = np.histogram(sizes, bins=levels, range=(0, most))
    tall = (bottom - top) / levels
    d = ""
    for k in np.flatnonzero(count):
        long = count[k] / count.max() * (box[1] - box[0])
        y = bottom - (k + 1) * tall
        d += f"M{number(box[0])} {number(y + 0.4)}h{number(long)}v{number(tall - 0.8)}h{number(-long)}z"
    drawing.path(d, "burst")


def _warmup(study: Study) -> float:
    """When statistics start, seconds."""
    starts = [row.get("window_s.start") for s in study.settings[:1] for row in s.runs.values()]
    return next((float(v) for v in starts if isinstance(v, int | float)), 0.0)


def _limit(study: Study, position: str) -> float | None:
    """The buffer in bytes, where the axis is the core's buffer in bytes."""
    axis = study.axis
    if axis and axis.dimension == "bytes" and axis.path.endswith("core.buffer"):
        return axis.values[position]
    return None


def _kilobytes(value: float, scale: Scale) -> str:
    return f"{value / scale.divisor:.3g} {scale.unit}"
