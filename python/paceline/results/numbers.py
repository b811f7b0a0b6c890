"""The numbers of a run: of a link, of flows, of the engine; names and units as in the JSON contract."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


class _Record:
    """Builds a frozen dataclass from an object of the JSON contract; keys of later versions are left aside."""

    __slots__ = ()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From an object of the JSON contract; keys that are not known are left aside.

        Args:
            values: units as in the names of the keys.

        Examples:
            >>> pl.LinkStats.from_dict({"utilisation": 0.9, "new": 1}).utilisation
            0.9
        """
        known = cls.keys()
        return cls(**{key: value for key, value in values.items() if key in known})

    @classmethod
    def keys(cls) -> frozenset[str]:
        """Names of the numbers.

        Examples:
            >>> "utilisation" in pl.LinkStats.keys()
            True
        """
        return frozenset(item.name for item in dataclasses.fields(cls))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class LinkStats(_Record):
    """A link over the window of the statistics; ``None`` where nothing was there to count.

    Attributes:
        throughput_bps: bits on the wire that left, per second.
        utilisation: throughput over the link's rate, 0 to 1.
        arrived_packets: that reached the link's buffer, before it was paced.
        dropped_packets: of these.
        loss_ratio: dropped over arrived, 0 to 1.
        tied_packets: that came with a departure, so that who went first decided their fate.
        tied_drops: those of them that were dropped.
        queue_mean_bytes: bytes that wait, averaged over time.
        queue_p99_bytes: no more wait for 99 % of the time.
        marked_packets: whose congestion-experienced bits were set; of a link whose discipline signals congestion
            before its buffer is full.
        early_drops: dropped by which it signalled that; of such a link.
        overflow_drops: dropped because the buffer was full. The drops by cause, of a link that has more than one
            cause, are together its ``dropped_packets``.
        forced_drops: dropped because the scenario forced their loss.
        policer_drops: dropped by the link's policer; of one that has one.
        pacer_drops: dropped because the pacer before the buffer held as much as it may; of one with a limit.
        memory_drops: dropped because a memory had no room that the link shares; of one that shares one.

    Examples:
        >>> core = pl.LinkStats(throughput_bps=9.1e6, utilisation=0.91)
        >>> core.utilisation, core.loss_ratio
        (0.91, None)
    """

    throughput_bps: float | None = None
    utilisation: float | None = None
    arrived_packets: int | None = None
    dropped_packets: int | None = None
    loss_ratio: float | None = None
    tied_packets: int | None = None
    tied_drops: int | None = None
    queue_mean_bytes: float | None = None
    queue_p99_bytes: float | None = None
    marked_packets: int | None = None
    early_drops: int | None = None
    overflow_drops: int | None = None
    forced_drops: int | None = None
    policer_drops: int | None = None
    pacer_drops: int | None = None
    memory_drops: int | None = None


@dataclass(frozen=True, slots=True)
class FlowStats(_Record):
    """All flows, or a group of them, over the window; ``None`` where nothing was there to count.

    Attributes:
        count: flows.
        goodput_mean_bps: payload delivered in order, once, bit/s: mean over flows.
        goodput_p05_bps: 5th percentile over flows.
        goodput_active_bps: payload over completion time of each transfer, averaged.
        jain: Jain's index of the flows' goodput, 1 where all are equal.
        retransmits: packets sent again.
        timeouts: retransmission timers that ran out.
        window_cuts: reductions of the congestion window, timeouts included.
        transfers: that were completed.
        fct_mean_s: completion time, from a transfer's start, its connection included, to the last acknowledgement.
        fct_p99_s: 99th percentile of it.
        fct_data_mean_s: completion time from the first data.
        fct_data_p99_s: 99th percentile of it.
        delay_mean_s: from a packet's first transmission to its delivery in order.
        delay_p99_s: 99th percentile of it.
        network_delay_mean_s: from a packet's last transmission to its arrival.

    Examples:
        >>> result = pl.run(pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none"))
        >>> result.flows.count, result.flows.jain
        (1, 1.0)
    """

    count: int | None = None
    goodput_mean_bps: float | None = None
    goodput_p05_bps: float | None = None
    goodput_active_bps: float | None = None
    jain: float | None = None
    retransmits: int | None = None
    timeouts: int | None = None
    window_cuts: int | None = None
    transfers: int | None = None
    fct_mean_s: float | None = None
    fct_p99_s: float | None = None
    fct_data_mean_s: float | None = None
    fct_data_p99_s: float | None = None
    delay_mean_s: float | None = None
    delay_p99_s: float | None = None
    network_delay_mean_s: float | None = None


@dataclass(frozen=True, slots=True)
class Engine(_Record):
    """About the run, not of it: never part of a comparison.

    Attributes:
        kind: ``"simulation"`` or ``"kernel"``.
        method: ``"reference"`` or ``"windowed"``; ``None`` on the kernel.
        threads: that the run used.
        wall_s: seconds by the clock.
        cpu_s: processor seconds; with several threads, of the whole process.
        core_packets: data packets that left the core link in the whole run.
        valid: of a run on the kernel, whether it counts.
        lateness_p99_us: of a run on the kernel, how late packets were, microseconds.
        steal: of a run on the kernel, the share of the processors' time that the hypervisor took.

    Examples:
        >>> result = pl.run(pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none"), engine="reference")
        >>> result.engine.kind, result.engine.method
        ('simulation', 'reference')
    """

    kind: str = "simulation"
    method: str | None = None
    threads: int | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    core_packets: int | None = None
    valid: bool | None = None
    lateness_p99_us: float | None = None
    steal: float | None = None
