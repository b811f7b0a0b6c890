"""What `paceline.analyse` returns: a capture's traffic as captured and behind each pacer, and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True, slots=True)
class Scale:
    """The rate over intervals of one length.

    Attributes:
        scale_s: length of an interval.
        intervals: how many whole ones there are.
        cv: standard deviation of the rate over its mean; ``None`` where no interval has a packet.
        peak_bps: the highest rate over one of them.
    """

    scale_s: float
    intervals: int
    cv: float | None
    peak_bps: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often which values were: gaps in nanoseconds, or bursts in packets.

    Values are told apart to a sixteenth of themselves, those below 32 exactly; the mean and the largest are exact.

    Attributes:
        count: how many there were.
        mean, p50, p99, max: ``None`` if there were none.
        bins: ``(least, largest, count)`` of every range that has any, both ends within.
    """

    count: int
    mean: float | None
    p50: int | None
    p99: int | None
    max: int | None
    bins: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """Packets as they were captured, or as a pacer lets them go. Bytes and rates are on the wire.

    Attributes:
        first_ns, last_ns: times of the first packet and of the last, nanoseconds since 1970.
        duration_s: from the first packet to the last.
        rate_mean_bps: bits over duration; ``None`` where all packets have one time.
        scales: burstiness and peak rates over intervals of 1, 2, 5, 10 us and on.
        rate_interval_s, rate_bytes: the rate over time, as bytes in each interval from the first packet on.
        gaps_ns: gaps between packets.
        bursts: packets of each burst; ``burst_most_bytes`` is the largest in bytes.
    """

    packets: int
    bytes: int
    first_ns: int | None
    last_ns: int | None
    duration_s: float | None
    rate_mean_bps: float | None
    scales: tuple[Scale, ...]
    rate_interval_s: float
    rate_bytes: tuple[int, ...]
    gaps_ns: Histogram
    bursts: Histogram
    burst_most_bytes: int

    def at_scale(self, seconds: float) -> Scale | None:
        """The row whose intervals are nearest to this long; ``None`` where the capture is too short for them."""
        nearest = min(self.scales, key=lambda scale: abs(scale.scale_s - seconds), default=None)
        return nearest if nearest and nearest.scale_s > 0.7 * seconds else None


@dataclass(frozen=True, slots=True)
class Paced:
    """What a pacer makes of a group's packets, and what that costs.

    A delay is from a packet's time in the capture to when its first bit leaves; percentiles and the longest have three
    digits, two for a flow. ``None`` where no packet left.
    """

    pacer: str
    stream: Stream
    delay_mean_s: float | None
    delay_p50_s: float | None
    delay_p99_s: float | None
    delay_max_s: float | None
    dropped_packets: int
    dropped_bytes: int


@dataclass(frozen=True, slots=True)
class Group:
    """Packets that are looked at together: an interface's, or a flow's.

    Attributes:
        name: the interface's, or the flow's addresses, ports and protocol.
        interface: position of the interface in the capture.
        captured: as they were captured.
        paced: behind each pacer.
    """

    name: str
    interface: int
    captured: Stream
    paced: tuple[Paced, ...]

    def streams(self) -> Iterator[tuple[str | None, Stream, Paced | None]]:
        """As captured (the pacer is ``None``), then behind each pacer."""
        yield None, self.captured, None
        for paced in self.paced:
            yield paced.pacer, paced.stream, paced


@dataclass(frozen=True, slots=True)
class OtherFlows:
    """Flows that are not shown one by one, together."""

    flows: int
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """What there is to say of a capture.

    Attributes:
        source: the file, or ``-``.
        format: ``pcap`` or ``pcapng``.
        packets: how many were read.
        broken: where and why the capture could not be read further; ``None`` if it was read whole.
        untimed_packets: left out, because the capture has no time for them.
        mistimed_packets: left out, because its time for them cannot be: before 1970, after 2554, with more than a
            second left of its seconds, or a day ahead of most packets around it; at the beginning and at the
            end also ten years from all others.
        backwards_packets: older than the one before them, and so counted at its time.
        backwards_most_s: the most by which one was, seconds.
        burst_gap_s: a longer gap ends a burst.
        pacers: each as it was understood, by its name: method, parameters, link and limits.
        interfaces: those that have packets.
        flows: the largest by bytes; ``None`` unless they were asked for.
        other_flows: all others.
        flow_shortfall_bytes: what a flow's bytes may lack at most, because more flows came than can be held.

    Examples:
        >>> analysis = pl.analyse("flow.pcap", pacers=["edge 10 ms"])
        >>> analysis.format, analysis.packets, [one.name for one in analysis.groups]
        ('pcap', 59429, ['interface 0'])
    """

    source: str
    format: str
    packets: int
    broken: str | None
    untimed_packets: int
    mistimed_packets: int
    backwards_packets: int
    backwards_most_s: float
    burst_gap_s: float
    pacers: Mapping[str, Mapping[str, Any]]
    interfaces: tuple[Group, ...]
    flows: tuple[Group, ...] | None
    other_flows: OtherFlows | None
    flow_shortfall_bytes: int
    _dict: Mapping[str, Any]

    @property
    def groups(self) -> tuple[Group, ...]:
        """Interfaces, then flows where they were asked for.

        Examples:
            >>> len(pl.analyse("flow.pcap", by="flow").groups)  # the interface, and a flow each way
            3
        """
        return self.interfaces + (self.flows or ())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Analysis:
        """From what `to_dict` returns.

        Args:
            values: units as in the names of the keys.

        Examples:
            >>> analysis = pl.analyse("flow.pcap")
            >>> pl.Analysis.from_dict(analysis.to_dict()) == analysis
            True
        """
        return _analysis(values)

    def notes(self) -> list[str]:
        """What a reader of the numbers must know, a line each.

        Examples:
            >>> pl.analyse("flow.pcap").notes()
            []
        """
        return list(_notes(self))

    def to_dict(self) -> dict[str, Any]:
        """As ``paceline analyse --json`` prints it.

        Examples:
            >>> pl.analyse("flow.pcap").to_dict()["burst_gap_s"]
            0.0001
        """
        return dict(self._dict)

    def to_arrow(self) -> pyarrow.Table:
        """One row a group and pacer: ``group``, ``pacer`` (null as captured), and every number that has no length.

        Examples:
            >>> table = pl.analyse("flow.pcap", pacers=["edge 10 ms"]).to_arrow()
            >>> table["pacer"].to_pylist(), table["packets"].to_pylist()
            ([None, 'edge 10 ms'], [59429, 59429])
        """
        return _table(_summaries(self))

    def scales(self) -> pyarrow.Table:
        """``group``, ``pacer``, ``scale_s``, ``intervals``, ``cv``, ``peak_bps``.

        Examples:
            >>> pl.analyse("flow.pcap").scales()["scale_s"].to_pylist()[:4]
            [1e-06, 2e-06, 5e-06, 1e-05]
        """
        return _table(
            {"group": group.name, "pacer": pacer}
            | {name: getattr(scale, name) for name in ("scale_s", "intervals", "cv", "peak_bps")}
            for group in self.groups
            for pacer, stream, _ in group.streams()
            for scale in stream.scales
        )

    def histograms(self) -> pyarrow.Table:
        """``group``, ``pacer``, ``kind`` (``gap_ns`` or ``burst_packets``), ``least``, ``largest``, ``count``.

        Examples:
            >>> sorted(set(pl.analyse("flow.pcap").histograms()["kind"].to_pylist()))
            ['burst_packets', 'gap_ns']
        """
        return _table(
            {"group": group.name, "pacer": pacer, "kind": kind, "least": least, "largest": largest, "count": count}
            for group in self.groups
            for pacer, stream, _ in group.streams()
            for kind, histogram in (("gap_ns", stream.gaps_ns), ("burst_packets", stream.bursts))
            for least, largest, count in histogram.bins
        )

    def rates(self) -> pyarrow.Table:
        """The rate over time: ``group``, ``pacer``, ``time_ns`` (since 1970), ``interval_s``, ``rate_bps``.

        Examples:
            >>> pl.analyse("flow.pcap").rates().column_names
            ['group', 'pacer', 'time_ns', 'interval_s', 'rate_bps']
        """
        return _table(
            {
                "group": group.name,
                "pacer": pacer,
                "time_ns": (stream.first_ns or 0) + round(number * stream.rate_interval_s * 1e9),
                "interval_s": stream.rate_interval_s,
                "rate_bps": count * 8 / stream.rate_interval_s,
            }
            for group in self.groups
            for pacer, stream, _ in group.streams()
            for number, count in enumerate(stream.rate_bytes)
        )

    def to_pandas(self) -> pandas.DataFrame:
        """As `to_arrow`; needs pandas, which is not installed with Paceline.

        Examples:
            >>> frame = pl.analyse("flow.pcap", pacers=["edge 10 ms"]).to_pandas()  # doctest: +SKIP
            >>> frame[["group", "pacer", "delay_mean_s"]]  # doctest: +SKIP
        """
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame


def _analysis(values: Mapping[str, Any]) -> Analysis:
    broken, others, flows = values["broken"], values["other_flows"], values["flows"]
    return Analysis(
        source=values["source"],
        format=values["format"],
        packets=values["packets"],
        broken=broken and broken["problem"],
        untimed_packets=values["untimed_packets"],
        mistimed_packets=values["mistimed_packets"],
        backwards_packets=values["backwards_packets"],
        backwards_most_s=values["backwards_most_s"],
        burst_gap_s=values["burst_gap_s"],
        pacers=values["pacers"],
        interfaces=tuple(map(_group, values["interfaces"])),
        flows=None if flows is None else tuple(map(_group, flows)),
        other_flows=others and OtherFlows(**others),
        flow_shortfall_bytes=values["flow_shortfall_bytes"],
        _dict=dict(values),
    )


def _group(values: Mapping[str, Any]) -> Group:
    paced = [
        Paced(
            stream=_stream(one),
            **{name: one[name] for name in Paced.__dataclass_fields__ if name != "stream"},
        )
        for one in values["paced"]
    ]
    return Group(values["name"], values["interface"], _stream(values["captured"]), tuple(paced))


def _stream(values: Mapping[str, Any]) -> Stream:
    plain = ("packets", "bytes", "first_ns", "last_ns", "duration_s", "rate_mean_bps", "burst_most_bytes")
    return Stream(
        **{name: values[name] for name in plain},
        scales=tuple(Scale(**scale) for scale in values["scales"]),
        rate_interval_s=values["rate"]["interval_s"],
        rate_bytes=tuple(values["rate"]["bytes"]),
        gaps_ns=_histogram(values["gaps_ns"]),
        bursts=_histogram(values["bursts"]),
    )


def _histogram(values: Mapping[str, Any]) -> Histogram:
    return Histogram(**dict(values) | {"bins": tuple((least, most, count) for least, most, count in values["bins"])})


def _notes(analysis: Analysis) -> Iterator[str]:
    if analysis.broken:
        yield f"{analysis.broken}; what comes before is analysed"
    if analysis.untimed_packets:
        yield f"{analysis.untimed_packets} packets have no time (simple packet blocks) and are left out"
    if (count := analysis.mistimed_packets) > 0:
        have, are = ("packet has", "is") if count == 1 else ("packets have", "are")
        yield (
            f"{count} {have} a time that cannot be (before 1970, after 2554, or far from those around it) "
            f"and {are} left out"
        )
    if analysis.backwards_packets:
        yield (
            f"time runs backwards at {analysis.backwards_packets} packets, by up to {analysis.backwards_most_s:.6g} s; "
            "they count at the time of the packet before"
        )
    if analysis.flow_shortfall_bytes:
        yield (
            "more flows than can be held: small ones were let go, and a flow's bytes may lack "
            f"{analysis.flow_shortfall_bytes} at most"
        )
    for name, pacer in analysis.pacers.items():
        lost = sum(
            paced.dropped_packets for group in analysis.interfaces for paced in group.paced if paced.pacer == name
        )
        given = pacer["pacer_buffer"] or (pacer["link_bps"] and pacer["buffer"])
        if lost and not given:
            yield f"{name}: {lost} packets found 256 MB held and were dropped; it is slower than the capture"


def _summaries(analysis: Analysis) -> Iterator[dict[str, Any]]:
    for group in analysis.groups:
        for pacer, stream, paced in group.streams():
            row: dict[str, Any] = {"group": group.name, "interface": group.interface, "pacer": pacer}
            names = ("packets", "bytes", "first_ns", "last_ns", "duration_s", "rate_mean_bps")
            row |= {name: getattr(stream, name) for name in names}
            for part, histogram in (("gap_ns", stream.gaps_ns), ("burst_packets", stream.bursts)):
                row |= {f"{part}_{name}": getattr(histogram, name) for name in ("mean", "p50", "p99", "max")}
            row["bursts"], row["burst_most_bytes"] = stream.bursts.count, stream.burst_most_bytes
            costs = [name for name in Paced.__dataclass_fields__ if name not in ("pacer", "stream")]
            row |= {name: None if paced is None else getattr(paced, name) for name in costs}
            yield row


def _table(rows: Iterable[Mapping[str, Any]]) -> pyarrow.Table:
    import pyarrow as pa

    listed: Sequence[Mapping[str, Any]] = list(rows)
    return pa.Table.from_pylist(listed)
