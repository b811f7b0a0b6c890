"""The table that `paceline analyse` prints."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from paceline._units import STEPS, step_for

if TYPE_CHECKING:
    from paceline.capture.analysis import Analysis, Paced, Stream

#: Lengths of intervals that are shown, seconds, of 1, 2, 5, 10 us and on.
SHOWN_S = (1e-3, 20e-3, 1.0)
_DASH = "–"


def headline(analysis: Analysis) -> str:
    """`traffic.pcap: pcap, 12345 packets in 10.1 s from 2024-01-31 12:00:00.000 UTC`."""
    text = f"{analysis.source}: {analysis.format}, {analysis.packets} packet{'s' * (analysis.packets != 1)}"
    streams = [group.captured for group in analysis.interfaces]
    first = min((stream.first_ns for stream in streams if stream.first_ns is not None), default=None)
    if first is None:
        return text
    last = max(stream.last_ns for stream in streams if stream.last_ns is not None)
    return f"{text} in {span(last - first)} from {moment(first)}"


def span(time_ns: int) -> str:
    """A time to the nanosecond: `99 us`, `3723.333332334 s`."""
    digits, unit = next(((d, u) for d, u in ((9, "s"), (6, "ms"), (3, "us")) if time_ns >= 10**d), (0, "ns"))
    whole, part = divmod(time_ns, 10**digits)
    return f"{whole}.{part:0{digits}d}".rstrip("0").rstrip(".") + f" {unit}" if part else f"{whole} {unit}"


def moment(time_ns: int) -> str:
    """A time since 1970 as a date, UTC."""
    time = datetime.datetime.fromtimestamp(time_ns // 10**9, datetime.UTC)
    return f"{time:%Y-%m-%d %H:%M:%S}.{time_ns % 10**9 // 10**6:03d} UTC"


def quantity(value: float | None, unit: str) -> str:
    """Four digits in the unit that suits: `12.35 ms`."""
    if value is None:
        return _DASH
    factor, name = step_for(value, STEPS[unit])
    return f"{value / factor:.4g} {name}" if abs(value) / factor < 9999.5 else f"{value / factor:.0f} {name}"


def summary_rows(analysis: Analysis) -> tuple[list[str], list[list[str]], int]:
    """Head, rows, and how many columns are names: a row a group as captured, then one a pacer."""
    shown = [s for s in SHOWN_S if any(group.captured.at_scale(s) for group in analysis.groups)]
    peak = shown[0] if shown else None
    columns: list[tuple[str, Callable[[Stream], str]]] = [
        ("packets", lambda stream: str(stream.packets)),
        ("mean", lambda stream: quantity(stream.rate_mean_bps, "bit/s")),
    ]
    if peak is not None:
        columns.append((f"peak {_short(peak)}", lambda stream: _peak(stream, peak)))
    for seconds in shown:
        columns.append((f"CV {_short(seconds)}", lambda stream, seconds=seconds: _cv(stream, seconds)))  # type: ignore[misc]
    columns += [
        ("gap p50", lambda stream: _nanoseconds(stream.gaps_ns.p50)),
        ("burst mean", lambda stream: _count(stream.bursts.mean)),
        ("burst max", lambda stream: str(stream.bursts.max or _DASH)),
    ]
    costs: list[tuple[str, Callable[[Paced], str]]] = [
        ("delay mean", lambda paced: quantity(paced.delay_mean_s, "s")),
        ("delay p50", lambda paced: quantity(paced.delay_p50_s, "s")),
        ("delay p99", lambda paced: quantity(paced.delay_p99_s, "s")),
        ("delay max", lambda paced: quantity(paced.delay_max_s, "s")),
        ("dropped", lambda paced: str(paced.dropped_packets)),
    ]
    pacers = bool(analysis.pacers)
    kind = "interface" if analysis.flows is None else "interface, flow"
    head = [kind, *(["pacer"] if pacers else []), *(title for title, _ in columns)]
    head += [title for title, _ in costs] if pacers else []
    rows: list[list[str]] = []
    for group in analysis.groups:
        for pacer, stream, paced in group.streams():
            row = [group.name if pacer is None else ""]
            if pacers:
                row.append("as captured" if pacer is None else pacer)
            row += [cell(stream) for _, cell in columns]
            if pacers:
                row += [cell(paced) if paced else "" for _, cell in costs]
            rows.append(row)
    others = analysis.other_flows
    if others and others.flows:
        rows.append(_padded([f"{others.flows} other flows", *([""] if pacers else []), str(others.packets)], len(head)))
    return head, rows, 2 if pacers else 1


def _padded(row: Sequence[str], width: int) -> list[str]:
    return [*row, *[""] * (width - len(row))]


def _short(seconds: float) -> str:
    value, unit = (seconds, "s") if seconds >= 1 else (seconds * 1e3, "ms")
    return f"{value:.0f} {unit}"


def _cv(stream: Stream, seconds: float) -> str:
    scale = stream.at_scale(seconds)
    return _DASH if scale is None or scale.cv is None else f"{scale.cv:.3f}"


def _peak(stream: Stream, seconds: float) -> str:
    scale = stream.at_scale(seconds)
    return quantity(scale.peak_bps if scale else None, "bit/s")


def _count(mean: float | None) -> str:
    """Three digits, and all of a large number."""
    if mean is None:
        return _DASH
    return f"{mean:.3g}" if mean < 1000 else f"{mean:.0f}"


def _nanoseconds(value: int | None) -> str:
    return quantity(None if value is None else value / 1e9, "s")
