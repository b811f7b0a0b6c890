"""The JSON object of a run on the kernel, as `paceline run --json` has it, and whether the run is valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paceline.emulate.kernel_run import Found
from paceline.emulate.layout import Conversation, Layout

#: A hypervisor that takes more than this share of the processors' time makes a run invalid.
MOST_STEAL = 0.02
#: Packets may be so much later than due, the 99th percentile: this share of the shortest round trip …
LATENESS_SHARE = 0.01
#: … but no less than what a timer alone costs, and no more than a millisecond; us.
LEAST_LATENESS_US, MOST_LATENESS_US = 100.0, 1000.0


@dataclass(frozen=True, slots=True)
class _FlowRow:
    """A flow over the statistics' window."""

    goodput_bps: float
    paced: bool
    sent_packets: int
    delivered_packets: int
    received_packets: int
    delay_sum_ns: int
    retransmits: int
    timeouts: int
    transfers: Sequence[tuple[int, int, int]]


def lateness_limit_us(layout: Layout) -> float:
    """The 99th percentile of lateness up to which a run is valid, us."""
    share = layout.shortest_round_trip_s() * LATENESS_SHARE * 1e6
    return min(max(share, LEAST_LATENESS_US), MOST_LATENESS_US)


def doubts(layout: Layout, found: Found) -> list[str]:
    """Why the run is not valid; nothing where it is."""
    said = []
    limit = lateness_limit_us(layout)
    for what, key in (("packets were late by", "lateness"), ("devices were left unwatched for", "unwatched")):
        p99 = found.wires[key]["p99_us"] or 0.0
        if p99 > limit:
            said.append(f"{what} {p99:.0f} us (p99, of {limit:.0f} us at most)")
    for link, report in found.pacers.items():
        name, forward = layout.network.links[link].name, report["forward"]
        p99 = (forward["lateness"] or {}).get("p99_us") or 0.0
        if p99 > limit:
            said.append(f"the pacer of {name} was late by {p99:.0f} us (p99, of {limit:.0f} us at most)")
        if forward["reordered_packets"]:
            said.append(f"the pacer of {name} put {forward['reordered_packets']} packets out of order")
    if found.steal > MOST_STEAL:
        said.append(f"the hypervisor took {found.steal:.1%} of the processors' time")
    lost = found.lost_outside + int(found.wires["refused_frames"])
    if lost:
        said.append(f"{lost} packets were lost outside the links")
    failures = [failure for flow in found.traffic["flows"] for failure in flow["failures"]]
    if failures:
        said.append(f"{len(failures)} connections failed, the first: {failures[0]}")
    return said


def run_object(layout: Layout, found: Found, seed: int) -> dict[str, Any]:
    """One run of the contract, without its settings."""
    network = layout.network
    rows = _rows(layout, found)
    flows = [row for row in rows if row is not None]
    paced = [row for row in flows if row.paced]
    unpaced = [row for row in flows if not row.paced]
    groups = {"paced": _statistics(paced), "unpaced": _statistics(unpaced)} if paced and unpaced else {}
    why = doubts(layout, found)
    lateness = found.wires["lateness"]
    return {
        "seed": seed,
        "window_s": [network.warmup_s, network.duration_s],
        "links": {network.links[number].name: _link(layout, found, number) for number in layout.named},
        "flows": _statistics(flows),
        "groups": groups,
        "engine": {
            "kind": "kernel",
            "method": None,
            "wall_s": found.wall_s,
            "cpu_s": found.wires["cpu_s"] + found.traffic["cpu_s"],
            "core_packets": found.wires["core_packets"],
            "valid": not why,
            "doubts": why,
            "lateness_p50_us": lateness["p50_us"],
            "lateness_p99_us": lateness["p99_us"],
            "lateness_max_us": lateness["max_us"],
            "steal": found.steal,
            "real_time": found.wires["real_time"],
            "lost_outside": found.lost_outside + found.wires["refused_frames"],
            "header_bytes": _one([one.tcp.header_bytes for one in layout.conversations]),
            "ack_bytes": _one([one.tcp.header_bytes for one in layout.conversations]),
            "warnings": layout.warnings,
        },
    }


def tables(layout: Layout, found: Found) -> dict[str, dict[str, Any]]:
    """The columns of each kind, as a simulated run has them."""
    return {
        "flows": _flow_columns(layout, found),
        "series": _series(layout, found),
        "instruments": _curves(layout, found),
    }


def _one(values: list[int]) -> int | None:
    """The value that they share; ``None`` where they differ."""
    return values[0] if len(set(values)) == 1 else None


def _link(layout: Layout, found: Found, number: int) -> dict[str, Any]:
    link, counted = layout.network.links[number], found.wires["links"][number]
    seconds = layout.network.duration_s - layout.network.warmup_s
    arrived, dropped = counted["arrived_packets"], counted["dropped_packets"]
    throughput = counted["left_bits"] / seconds
    return {
        "throughput_bps": throughput,
        "utilisation": throughput / link.rate_bps,
        "arrived_packets": arrived,
        "dropped_packets": dropped,
        "loss_ratio": dropped / arrived if arrived else None,
        "tied_packets": None,
        "tied_drops": None,
        "queue_mean_bytes": counted["queue_mean_bytes"],
        "queue_p99_bytes": counted["queue_p99_bytes"],
    }


def _rows(layout: Layout, found: Found) -> list[_FlowRow | None]:
    """By flow."""
    rows: list[_FlowRow | None] = [None] * len(layout.network.flows)
    seconds = layout.network.duration_s - layout.network.warmup_s
    reports = zip(layout.conversations, found.traffic["flows"], found.wires["flows"], strict=True)
    for one, spoken, carried in reports:
        for flow, way, side in ((one.flow, "forward", ""), (one.back, "reverse", "back_")):
            if flow is None:
                continue
            delivered = spoken[f"{'forward' if side == '' else 'back'}_bytes"]
            rows[flow] = _FlowRow(
                goodput_bps=delivered * 8 / seconds,
                paced=layout.network.flows[flow].paced,
                sent_packets=spoken[f"{side}sent_packets"],
                delivered_packets=round(delivered / one.tcp.payload_bytes),
                received_packets=carried[f"{way}_packets"],
                delay_sum_ns=carried[f"{way}_delay_ns"],
                retransmits=spoken[f"{side}retransmits"],
                timeouts=spoken[f"{side}timeouts"],
                transfers=spoken["transfers"] if side == "" else (),
            )
    return rows


def _statistics(rows: list[_FlowRow]) -> dict[str, Any]:
    goodputs = np.array([row.goodput_bps for row in rows])
    times = np.array([took * 1e-9 for row in rows for _, took, _ in row.transfers])
    data_times = np.array([took * 1e-9 for row in rows for _, _, took in row.transfers])
    rates = [size * 8 / (took * 1e-9) for row in rows for size, _, took in row.transfers if took > 0]
    squares, received = float((goodputs**2).sum()), sum(row.received_packets for row in rows)
    return {
        "count": len(rows),
        "goodput_mean_bps": float(goodputs.mean()) if rows else None,
        "goodput_p05_bps": float(np.quantile(goodputs, 0.05)) if rows else None,
        "goodput_active_bps": float(np.mean(rates)) if rates else None,
        "jain": float(goodputs.sum()) ** 2 / (len(rows) * squares) if squares > 0 else None,
        "retransmits": sum(row.retransmits for row in rows),
        "timeouts": sum(row.timeouts for row in rows),
        "window_cuts": None,  # the kernel does not count them
        "transfers": times.size,
        "fct_mean_s": float(times.mean()) if times.size else None,
        "fct_p99_s": float(np.quantile(times, 0.99)) if times.size else None,
        "fct_data_mean_s": float(data_times.mean()) if times.size else None,
        "fct_data_p99_s": float(np.quantile(data_times, 0.99)) if times.size else None,
        "delay_mean_s": None,  # from the first transmission to the delivery in order: only the sender could say
        "delay_p99_s": None,
        "network_delay_mean_s": sum(row.delay_sum_ns for row in rows) / received * 1e-9 if received else None,
    }


def _flow_columns(layout: Layout, found: Found) -> dict[str, Any]:
    network = layout.network
    rows = [(number, row) for number, row in enumerate(_rows(layout, found)) if row is not None]
    flows = [network.flows[number] for number, _ in rows]
    nan = float("nan")

    def whole(of: str) -> Any:
        return np.array([getattr(row, of) for _, row in rows], dtype=np.uint64)

    return {
        "flow": np.array([number for number, _ in rows], dtype=np.uint32),
        "name": [flow.name for flow in flows],
        "source": [network.hosts[flow.source] for flow in flows],
        "sink": [network.hosts[flow.sink] for flow in flows],
        "paced": np.array([row.paced for _, row in rows]),
        "base_rtt_s": np.array(
            [sum(network.links[link].delay_s for link in (*flow.forward, *flow.reverse)) for flow in flows]
        ),
        "start_s": np.array([flow.start_s for flow in flows]),
        "sent_packets": whole("sent_packets"),
        "delivered_packets": whole("delivered_packets"),
        "received_packets": whole("received_packets"),
        "retransmits": whole("retransmits"),
        "timeouts": whole("timeouts"),
        "window_cuts": np.zeros(len(rows), dtype=np.uint64),
        "transfers": np.array([len(row.transfers) for _, row in rows], dtype=np.uint64),
        "goodput_bps": np.array([row.goodput_bps for _, row in rows]),
        "delay_mean_s": np.full(len(rows), nan),
        "network_delay_mean_s": np.array(
            [row.delay_sum_ns / row.received_packets * 1e-9 if row.received_packets else nan for _, row in rows]
        ),
        "fct_s": np.array(
            [
                sum(took for _, took, _ in row.transfers) / len(row.transfers) * 1e-9 if row.transfers else nan
                for _, row in rows
            ]
        ),
    }


def _series(layout: Layout, found: Found) -> dict[str, Any]:
    """Queues, then departures, as the simulator orders them."""
    links: list[str] = []
    kinds: list[str] = []
    parts: list[tuple[Any, Any, Any]] = []
    nobody = np.iinfo(np.uint32).max
    for link, every in sorted(layout.queue_every_ns.items()):
        levels = np.array(found.wires["links"][link]["queue_samples"], dtype=np.uint64)
        times = np.arange(levels.size, dtype=np.uint64) * np.uint64(every)
        parts.append((times, np.full(levels.size, nobody, dtype=np.uint32), levels))
        links += [layout.network.links[link].name] * levels.size
        kinds += ["queue"] * levels.size
    for link in sorted(layout.departures_ns):
        left = np.array(found.wires["links"][link]["departures"], dtype=np.uint64).reshape(-1, 3)
        flows = np.array(
            [_flow_over(layout, layout.conversations[int(one)], link) for one in left[:, 1]], dtype=np.uint32
        )
        parts.append((left[:, 0], flows, left[:, 2]))
        links += [layout.network.links[link].name] * len(left)
        kinds += ["departure"] * len(left)
    none = (np.zeros(0, np.uint64), np.zeros(0, np.uint32), np.zeros(0, np.uint64))
    times, flows, sizes = (np.concatenate(column) for column in zip(*(parts or [none]), strict=True))
    return {"link": links, "kind": kinds, "time_ns": times, "flow": flows, "bytes": sizes}


def _flow_over(layout: Layout, one: Conversation, link: int) -> int:
    """Which flow of a conversation a packet on this link is of."""
    if one.back is not None and link in layout.network.flows[one.back].forward:
        return one.back
    return one.flow


def _curves(layout: Layout, found: Found) -> dict[str, Any]:
    """What was seen of windows, and what was delivered so far: a row a look."""
    rows: list[tuple[str, str, float, float, str]] = []
    infinite = 0x7FFF_FFFF  # TCP_INFINITE_SSTHRESH
    for sample in found.traffic["samples"]:
        flow = layout.conversations[sample["flow"]].flow
        name, at = layout.network.flows[flow].name, sample["time_ns"] * 1e-9
        cwnd, ssthresh, rtt_us = sample["cwnd"], sample["ssthresh"], sample["srtt_us"]
        if flow in layout.windows and cwnd:
            rows.append(("cwnd", name, at, float(cwnd), "packets"))
            if ssthresh < infinite:
                rows.append(("ssthresh", name, at, float(ssthresh), "packets"))
            if rtt_us:
                rows.append(("srtt", name, at, rtt_us * 1e-6, "s"))
        if flow in layout.delivered:
            rows.append(("delivered", name, at, float(sample["delivered_bytes"]), "B"))
    rows.sort(key=lambda row: (row[0], row[1], row[2]))
    return {
        "instrument": [row[0] for row in rows],
        "link": [None] * len(rows),
        "flow": [row[1] for row in rows],
        "next": [None] * len(rows),
        "x": np.array([row[2] for row in rows], dtype=np.float64),
        "y": np.array([row[3] for row in rows], dtype=np.float64),
        "count": np.ones(len(rows), dtype=np.uint64),
        "x_unit": ["s"] * len(rows),
        "y_unit": [row[4] for row in rows],
    }
