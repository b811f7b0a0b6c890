"""What instruments found, as pictures with what is seen in them: one block a kind of instrument."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from paceline._statistics import interval
from paceline.report import succession_heatmap
from paceline.report.formatting import DASH, listed, plain, scale_for
from paceline.report.instrument_blocks import Block, Compared, Figure, Table
from paceline.report.line_plot import Axis, Line, Numbers, line_plot
from paceline.report.study import Series, Study, value_words
from paceline.results.instruments import Mean

#: More settings than this would not be told apart.
MOST_SERIES = 8

#: Why packets are dropped.
_CAUSES = {
    "overflow": "buffer full",
    "early": "to signal congestion",
    "forced": "by the scenario",
    "policer": "by the policer",
    "pacer": "pacer full",
    "memory": "shared memory full",
}


def found(study: Study) -> dict[str, Any] | None:
    """The blocks of the instruments that are there, in the order of `FORMS`."""
    names = study.findings.names() if study.findings else []
    if not names:
        return None
    compared = _compared(study)
    blocks = [block for makes, kinds in _BLOCKS if set(kinds) & set(names) and (block := makes(compared)).figures]
    if not blocks:
        return None
    seeds = len(study.seeds)
    said = f"Shown{compared.where}. " if compared.where else ""
    said += (
        f"Lines are means over {seeds} seeds, bands their 95\u00a0% intervals (Student’s t)."
        if study.has_intervals
        else f"One seed ({study.seeds[0]}), so there are no intervals."
        if seeds == 1
        else "One run, which every seed repeats, so there are no intervals."
    )
    return {"said": said, "blocks": blocks}


def _compared(study: Study) -> Compared:
    """One setting a series, at the first place on the axis; where there is one series, its places."""
    if len(study.series) == 1 and len(study.positions) > 1:
        own, title = study.series[0], study.axis.title if study.axis else ""
        places = [Series(f"{title} {p}", n, own.method) for n, p in enumerate(study.positions)]
        pairs = [(place, study.setting(own, p)) for place, p in zip(places, study.positions, strict=True)]
        where = ""
    else:
        pairs = [(series, study.setting(series, study.positions[0])) for series in study.series]
        where = f" at {study.axis.phrase} {study.positions[0]}" if study.axis else ""
    if study.condition:
        where = f" at {', '.join(value_words(path, text) for path, text in study.condition.items())}" + where.replace(
            " at ", ", "
        )
    return Compared(study, [(s, setting) for s, setting in pairs if setting][:MOST_SERIES], where)


def _windows(compared: Compared) -> Block:
    block = Block(
        "Windows over time",
        "The congestion window, with the slow-start threshold dotted, and the smoothed round-trip time of chosen "
        f"flows (seed {min(compared.study.seeds)}). A window falls at a loss; to one packet at a timeout.",
    )
    thresholds = compared.first("ssthresh")
    for place, curves in compared.first("cwnd").items():
        for series, curve in curves:
            lines = [Line("cwnd", series.slot, curve.x, curve.y, steps=True)]
            own = [c for s, c in thresholds.get(place, []) if s == series]
            lines += [Line("ssthresh", 0, c.x, c.y, steps=True, quiet=True) for c in own]
            cuts = int((np.diff(curve.y) < -0.5).sum())
            mean = plain(float(curve.y.mean()), 1)
            title = f"{place.flow}, {series.name}" if len(compared.settings) > 1 else place.flow
            drawing = line_plot(
                title,
                f"Congestion window over time: mean {mean} packets.",
                lines,
                Axis("Time", "s"),
                Axis("", "packets", low=0.0),
            )
            caption = f"Window of {place.flow}: mean {mean} packets, {cuts} cuts between samples."
            block.figures.append(Figure(drawing.markup(), caption))
    for place, curves in compared.first("srtt").items():
        lines = [Line(series.name, series.slot, curve.x, curve.y, steps=True) for series, curve in curves]
        said = _each((s, f"{plain(float(c.y.mean()) * 1e3, 1)}\u00a0ms") for s, c in curves)
        drawing = line_plot(f"{place.flow}, smoothed RTT", said, lines, Axis("Time", "s"), Axis("", "s"))
        block.figures.append(Figure(drawing.markup(), f"Smoothed round-trip time, mean: {said}."))
    return block


def _rate_variation(compared: Compared) -> Block:
    block = Block(
        "Variation of the rate against time scale",
        "Standard deviation over mean of the bytes in intervals of each length. A Poisson stream falls along the "
        "dotted slope; a line above it at long scales is bursts of bursts, a dip is what pacing smooths.",
    )
    for place, means in compared.means("rate_variation").items():
        lines = [compared.line(series, mean) for series, mean in means]
        first = means[0][1]
        positive = first.y > 0
        if positive.any():
            x, y = first.x[positive], first.y[positive]
            lines.append(Line("slope of a Poisson stream", 0, x, y[0] * np.sqrt(x[0] / x), quiet=True))
        scale = float(first.x[len(first.x) // 3])
        said = _each((s, plain(float(np.interp(scale, m.x, m.y)), 2)) for s, m in means)
        drawing = line_plot(
            f"Rate variation, {place.link}",
            said,
            lines,
            Axis("Time scale", "s", logarithmic=True),
            Axis("", "number", logarithmic=True),
        )
        caption = f"{place.link}: at {_short('s', scale)}, {said}."
        block.figures.append(Figure(drawing.markup(), caption))
    return block


def _auto_covariance(compared: Compared) -> Block:
    block = Block(
        "Auto-covariance of the rate",
        "How the rate in one interval goes with the rate some time later: the variance at lag 0, nothing at any lag "
        "for independent packets, a hill where bursts come back.",
    )
    for place, means in compared.means("auto_covariance").items():
        lines = [compared.line(series, mean) for series, mean in means]
        said = _each((s, _echo(m)) for s, m in means if len(m.y) > 1 and m.y[0] > 0)
        drawing = line_plot(f"Auto-covariance, {place.link}", said, lines, Axis("Lag", "s"), Axis("", "bps²"))
        caption = f"{place.link}: the largest beyond lag 0, as a share of the variance: {said}."
        block.figures.append(Figure(drawing.markup(), caption))
    return block


def _succession(compared: Compared) -> Block:
    block = Block(
        "Who follows whom",
        "The probability that a packet of the row’s flows is followed on the link by one of the column’s. Where rows "
        "are classes of flows, same flow is the very flow of the packet before, and the other columns are other flows.",
    )
    for link, grids in succession_heatmap.grids(compared.means_of_matrix()).items():
        for series, grid in grids:
            title = f"{link}, {series.name}" if len(compared.settings) > 1 else link
            block.figures.append(Figure(succession_heatmap.heat_map(title, series.slot, grid).markup(), grid.said()))
    return block


def _bursts(compared: Compared) -> Block:
    text = "Share of the bursts of no more packets than that: packets that follow each other back to back."
    return _distributions(compared, "burst_size", Block("Bursts", text), "Packets in a burst", "packets")


def _drop_events(compared: Compared) -> Block:
    block = Block(
        "Drop events",
        "Share of the drop events that hit no more flows, and took no more packets, than that. Drops that come close "
        "together are one event; the scenario says how close (by default within a round-trip time of the first).",
    )
    _distributions(compared, "drop_event_flows", block, "Flows hit", "flows")
    return _distributions(compared, "drop_event_packets", block, "Packets dropped", "packets")


def _drops(compared: Compared) -> Block:
    block = Block("Drops by cause", "Packets dropped since the time watched began: the slope is the rate of loss.")
    for place, means in compared.means("drops").items():
        lines = [compared.line(series, mean) for series, mean in means]
        said = _each((s, _short("packets", float(m.y[-1]))) for s, m in means)
        title = f"Dropped at {place.link}, {_CAUSES[place.flow]}"
        drawing = line_plot(title, said, lines, Axis("Time", "s"), Axis("", "packets", low=0.0))
        block.figures.append(Figure(drawing.markup(), f"{title}: {said} in the end."))
    return block


def _delay(compared: Compared) -> Block:
    text = "Share of the packets within that time of their first transmission: retransmissions and queues included."
    block = Block("Packet delay", text)
    _distributions(compared, "delay", block, "Delay to delivery in order", "s")
    return _distributions(compared, "arrival_delay", block, "Delay to a packet's first arrival", "s")


def _sojourn(compared: Compared) -> Block:
    text = (
        "Share of the packets that waited no longer than that at a link, in its pacer and its queue, before they were "
        "on the wire. Packets that it dropped do not count."
    )
    return _distributions(compared, "sojourn", Block("Sojourn times", text), "Wait", "s")


def _transfers(compared: Compared) -> Block:
    block = Block(
        "Completion of transfers",
        "Share of the transfers done within that time, from their start, their connection included, to the "
        "acknowledgement of the last byte.",
    )
    _distributions(compared, "fct", block, "Completion time", "s")
    rows: list[tuple[Series, list[str]]] = []
    for place, entries in compared.pooled("fct").items():
        for series, curves in entries:
            shown = Series(f"{series.name}, {place.flow}" if place.flow != "all" else series.name, series.slot, "")
            samples = [np.repeat(c.x, np.diff(c.count, prepend=0)) for c in curves]
            times = [[value for t in samples if math.isfinite(value := float(f(t)))] for f in (np.mean, _median, _p99)]
            scale = scale_for("s", [t for one in times for t in one], [e.half for one in times if (e := interval(one))])
            cells = [plain(sum(len(t) for t in samples), 0)]
            cells += [scale.with_unit(scale.estimate(interval(one))) for one in times]
            rows.append((shown, cells))
    if rows:
        block.table = Table("Completion times", ["Flows", "Transfers", "Mean", "Median", "99th percentile"], rows)
    return block


def _fairness(compared: Compared) -> Block:
    block = Block(
        "Fairness over time",
        "Jain’s index of what the flows delivered over a sliding window: 1 where all got the same, 1/n where one of n "
        "got everything.",
    )
    for means in compared.means("jain").values():
        lines = [compared.line(series, mean) for series, mean in means]
        said = _each((s, plain(float(m.y.mean()), 3)) for s, m in means)
        drawing = line_plot("Jain’s index", said, lines, Axis("Time", "s"), Axis("", "number", low=0.0, high=1.0))
        block.figures.append(Figure(drawing.markup(), f"Mean over time: {said}."))
    return block


def _throughput(compared: Compared) -> Block:
    block = Block(
        "Cumulative throughput",
        "Bytes that links carried, and payload that flows delivered in order, since the time watched began: the slope "
        "is the rate.",
    )
    for place, means in compared.means("carried").items():
        lines = [compared.line(series, mean) for series, mean in means]
        said = _each((s, _short("bytes", float(m.y[-1]))) for s, m in means)
        drawing = line_plot(f"Carried by {place.link}", said, lines, Axis("Time", "s"), Axis("", "bytes", low=0.0))
        block.figures.append(Figure(drawing.markup(), f"In the end: {said}."))
    by_series: dict[str, list[tuple[str, Mean]]] = {}
    for place, means in compared.means("delivered").items():
        for series, mean in means:
            by_series.setdefault(series.name, []).append((place.flow, mean))
    for name, flows in by_series.items():
        # without bands, which would cover each other
        lines = [Line(flow, n, mean.x, mean.y) for n, (flow, mean) in enumerate(flows)]
        ends = [float(mean.y[-1]) for _, mean in flows]
        least, most = _short("bytes", min(ends)), _short("bytes", max(ends))
        said = f"{least} to {most}" if len(ends) > 1 else most
        title = f"Delivered, {name}" if len(by_series) > 1 else "Delivered"
        drawing = line_plot(title, said, lines, Axis("Time", "s"), Axis("", "bytes", low=0.0))
        block.figures.append(
            Figure(drawing.markup(), f"Payload of each in the end: {said}; means over seeds, without bands.")
        )
    return block


def _distributions(compared: Compared, name: str, block: Block, across: str, kind: str) -> Block:
    """Adds a picture of shares for each place."""
    for place, means in compared.means(name).items():
        least = min(float(m.x[0]) for _, m in means)
        high = max(float(m.x[min(int(np.searchsorted(m.y, 0.9995)), len(m.x) - 1)]) for _, m in means)
        wide = least > 0 and high / least > 20
        low = least / 1.15 if wide else 0.0 if least < 0.5 * high else least - 0.05 * (high - least)
        lines = [_share(series, mean, low, high) for series, mean in means]
        medians = [(s, float(m.x[np.searchsorted(m.y, 0.5)])) for s, m in means if m.y[-1] >= 0.5]
        said = _each((s, _short(kind, median)) for s, median in medians)
        where = ", ".join(name for name in (place.link, place.flow) if name not in ("", "all"))
        drawing = line_plot(
            f"{across}, {where}" if where else across,
            f"Medians: {said}.",
            lines,
            Axis(f"{across}, logarithmic" if wide else across, kind, logarithmic=wide, low=low, high=max(high, low)),
            Axis("", "share", low=0.0, high=1.0),
        )
        block.figures.append(Figure(drawing.markup(), f"{where or 'All flows'}: the median is {said}."))
    return block


def _share(series: Series, mean: Mean, low: float, high: float) -> Line:
    """From none at the left end to all at the right."""
    x = np.concatenate([[low], mean.x, [max(high, float(mean.x[-1]))]])
    y = np.concatenate([[0.0], mean.y, mean.y[-1:]])
    half = np.concatenate([[0.0], mean.half, mean.half[-1:]]) if np.isfinite(mean.half).any() else None
    return Line(series.name, series.slot, x, y, half, steps=True)


def _echo(mean: Mean) -> str:
    """The largest covariance beyond lag 0, and where."""
    lag = 1 + int(np.argmax(mean.y[1:]))
    return f"{plain(float(mean.y[lag] / mean.y[0]), 2)} at {_short('s', float(mean.x[lag]))}"


def _each(said: Iterator[tuple[Series, str]] | Sequence[tuple[Series, str]]) -> str:
    """`1.2 unpaced and 0.7 edge pacing 5 ms`; the value alone where there is one series."""
    pairs = list(said)
    if len(pairs) == 1:
        return pairs[0][1]
    return listed(f"{value} ({series.name})" for series, value in pairs) or DASH


def _short(kind: str, value: float) -> str:
    """Three digits and the unit."""
    if kind in ("packets", "flows"):
        return f"{plain(value, 0)}\u00a0{kind if value != 1 else kind[:-1]}"
    scale = scale_for(kind, [value])
    number = value / scale.divisor
    return scale.with_unit(f"{number:.3g}" if abs(number) < 1000 else plain(number, 0))


def _median(values: Numbers) -> float:
    return float(np.median(values))


def _p99(values: Numbers) -> float:
    return float(np.quantile(values, 0.99))


_BLOCKS: tuple[tuple[Callable[[Compared], Block], tuple[str, ...]], ...] = (
    (_windows, ("cwnd", "ssthresh", "srtt")),
    (_rate_variation, ("rate_variation",)),
    (_auto_covariance, ("auto_covariance",)),
    (_succession, ("succession",)),
    (_bursts, ("burst_size",)),
    (_drop_events, ("drop_event_flows", "drop_event_packets")),
    (_drops, ("drops",)),
    (_delay, ("delay", "arrival_delay")),
    (_sojourn, ("sojourn",)),
    (_transfers, ("fct",)),
    (_fairness, ("jain",)),
    (_throughput, ("carried", "delivered")),
)
