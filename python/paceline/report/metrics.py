"""What the report measures: where each number stands in the results, its unit, which way is better, what it means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

#: Column name to value, for one run.
Row = Mapping[str, object]


@dataclass(frozen=True)
class Metric:
    """One quantity of a run. `source` is a column, with `{core}` for the link that the report is about."""

    key: str
    title: str
    kind: Literal["bps", "s", "bytes", "share", "number", "count"]
    better: Literal[-1, 0, 1]
    source: str
    meaning: str
    divide_by: str | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """What the quantity can be at least and at most: none is negative, and a share is not above 1."""
        return 0.0, 1.0 if self.kind == "share" or self.key in _UP_TO_ONE else math.inf

    def within(self, value: float) -> float:
        """The end of an interval, moved to what the quantity can be: Student's t knows no bounds."""
        low, high = self.bounds
        return min(max(value, low), high)

    def value(self, row: Row, core: str) -> float | None:
        """The quantity in its base unit (bit/s, s, bytes, a fraction); `None` where the run has none."""
        top = _number(row.get(self.source.format(core=core)))
        if self.divide_by is None or top is None:
            return top
        bottom = _number(row.get(self.divide_by.format(core=core)))
        return top / bottom if bottom else None


#: Ratios that are no percentages: timeouts are among the window cuts, and Jain's index is 1 at most.
_UP_TO_ONE = ("timeouts", "jain")

METRICS: tuple[Metric, ...] = (
    Metric(
        "goodput",
        "Goodput per flow",
        "bps",
        1,
        "flows.goodput_mean_bps",
        "Payload delivered in order, each byte counted once, per second of the measured window; the mean over flows.",
    ),
    Metric(
        "throughput",
        "Throughput",
        "bps",
        1,
        "links.{core}.throughput_bps",
        "Bits on the wire, headers included, that leave the link per second.",
    ),
    Metric(
        "utilisation",
        "Utilisation",
        "share",
        1,
        "links.{core}.utilisation",
        "Throughput as a share of the link's rate.",
    ),
    Metric(
        "loss",
        "Loss",
        "share",
        -1,
        "links.{core}.loss_ratio",
        "Packets dropped at the link as a share of the packets that arrived there.",
    ),
    Metric(
        "marks",
        "Marked",
        "share",
        0,
        "links.{core}.marked_packets",
        "Packets that the link’s queue marks as having met congestion (ECN), as a share of those that arrived there.",
        "links.{core}.arrived_packets",
    ),
    Metric(
        "early_drops",
        "Dropped early",
        "share",
        0,
        "links.{core}.early_drops",
        "Packets that the link’s queue discipline drops to signal congestion, as a share of the packets that arrived "
        "there; the rest of the loss is overflow.",
        "links.{core}.arrived_packets",
    ),
    Metric(
        "timeouts",
        "Timeouts per window cut",
        "number",
        -1,
        "flows.timeouts",
        "Retransmission timeouts as a share of all reductions of the congestion window, timeouts included. "
        "Near 1, nearly every loss stalls its sender; near 0, most are repaired at once.",
        "flows.window_cuts",
    ),
    Metric(
        "jain",
        "Jain’s fairness",
        "number",
        1,
        "flows.jain",
        "(Σ goodput)² / (n · Σ goodput²) over flows: 1 where all get the same, 1/n where one gets everything.",
    ),
    Metric(
        "queue_mean",
        "Queue, mean",
        "bytes",
        -1,
        "links.{core}.queue_mean_bytes",
        "Bytes waiting before the link, averaged over time.",
    ),
    Metric(
        "queue_p99",
        "Queue, p99",
        "bytes",
        -1,
        "links.{core}.queue_p99_bytes",
        "The queue length that is exceeded 1 % of the time.",
    ),
    Metric(
        "delay_mean",
        "Delay, mean",
        "s",
        -1,
        "flows.delay_mean_s",
        "From a packet’s first transmission to its delivery in order, retransmissions and pacing included.",
    ),
    Metric(
        "delay_p99",
        "Delay, p99",
        "s",
        -1,
        "flows.delay_p99_s",
        "The delay that 1 % of the packets exceed.",
    ),
    Metric(
        "network_delay",
        "Network delay, mean",
        "s",
        -1,
        "flows.network_delay_mean_s",
        "From a packet’s last transmission to its arrival.",
    ),
    Metric(
        "goodput_active",
        "Goodput of transfers",
        "bps",
        1,
        "flows.goodput_active_bps",
        "Payload of each transfer over its time from first data, averaged.",
    ),
    Metric(
        "fct_mean",
        "Completion time, mean",
        "s",
        -1,
        "flows.fct_mean_s",
        "From a transfer’s start, its connection included, to the acknowledgement of its last byte.",
    ),
    Metric(
        "fct_p99",
        "Completion time, p99",
        "s",
        -1,
        "flows.fct_p99_s",
        "The completion time that 1 % of the transfers exceed.",
    ),
    Metric(
        "fct_data_mean",
        "Completion time from first data, mean",
        "s",
        -1,
        "flows.fct_data_mean_s",
        "From a transfer’s first byte sent to the acknowledgement of its last: without opening a connection.",
    ),
    Metric(
        "fct_data_p99",
        "Completion time from first data, p99",
        "s",
        -1,
        "flows.fct_data_p99_s",
        "The time from first data that 1 % of the transfers exceed.",
    ),
)

BY_KEY: dict[str, Metric] = {metric.key: metric for metric in METRICS}


def group_metrics(group: str) -> tuple[Metric, ...]:
    """The per-flow metrics of one group of flows (`paced`, `unpaced`)."""
    return tuple(
        Metric(
            m.key,
            m.title,
            m.kind,
            m.better,
            m.source.replace("flows.", f"groups.{group}."),
            m.meaning,
            m.divide_by.replace("flows.", f"groups.{group}.") if m.divide_by else None,
        )
        for m in METRICS
        if m.source.startswith("flows.")
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value == value else None
