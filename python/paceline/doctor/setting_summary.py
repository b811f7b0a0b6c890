"""One setting in numbers, as JSON has them: paths with every queue, windows, loads, cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from statistics import fmean
from typing import Any

from paceline.doctor import tcp_windows, units
from paceline.doctor.case import Case
from paceline.doctor.cost import Cost, expected_cost
from paceline.doctor.flow_groups import Group, Hop, common_name
from paceline.scenario.resolved_network import Deployed, Flow, Tcp

#: What each rule of host pacing does.
RULE_WORDS = {
    "wei": "a packet each srtt / (cwnd + 1), in slow start twice as fast",
    "linux": "a packet each srtt / (1.2 cwnd), in slow start srtt / (2 cwnd); bursts of 1 ms, two packets at least",
    "ideal": "a packet each srtt / cwnd",
    "prague": "a packet each srtt / cwnd, in slow start twice as fast; bursts of 0.25 ms, one packet at least",
}


def summary_of(case: Case) -> dict[str, Any]:
    """As nested tables of plain values; times in seconds, sizes in bytes, rates in bit/s."""
    cost = expected_cost(case)
    times = [time for time in case.rtt_s if time > 0]
    return {
        "settings": dict(case.settings),
        "flows": len(case.network.flows),
        "rtt_s": {
            "min": min(case.rtt_s),
            "mean": fmean(case.rtt_s),
            "max": max(case.rtt_s),
            "harmonic_mean": len(times) / math.fsum(1 / time for time in times) if times else 0.0,
        },
        "core": _core(case),
        "groups": [_group(case, group) for group in case.groups],
        "pacing": [_pacing(case, pacing) for pacing in case.network.pacings],
        "cost": _cost(case, cost),
    }


def _cost(case: Case, cost: Cost) -> dict[str, Any]:
    """None where chance decides."""
    known = case.forecast.knows_all
    return {
        "packets": round(cost.packets) if known and case.forecast.knows(case.network.core) else None,
        "packets_sent": round(cost.sent) if known else None,
        "packet_hops": round(cost.hops) if known else None,
        "cpu_s": cost.cpu_s if known else None,
        "memory_bytes": round(cost.memory_bytes),
        "memory_most_bytes": round(cost.most_bytes),
    }


def _core(case: Case) -> dict[str, Any]:
    core = case.network.core
    bdp, buffer, flows = case.aggregate_bdp(core), case.buffer_bytes(core), len(case.on[core])
    share = None if bdp is None or buffer is None else buffer / bdp
    return {
        "name": case.core.name,
        "rate_bps": case.core.rate_bps,
        "flows": flows,
        "bdp_bytes": None if bdp is None else round(bdp),
        "queue": _queue(case, [core]),
        "buffer_of_bdp": share,
        "buffer_of_bdp_over_sqrt_n": None if share is None else share * math.sqrt(flows),
        "offered_load": case.offered_bps[core] / case.core.capacity_bps,
        "expected_load": float(case.forecast.load_bps[core]) / case.core.capacity_bps
        if case.forecast.knows(core)
        else None,
        "expected_loss": case.loss_ratio(core) if case.forecast.knows(core) else None,
    }


def _group(case: Case, group: Group) -> dict[str, Any]:
    flow = group.first
    network = case.network
    limits = Counter(case.fair.limit[one] for one in group.flows)
    bottlenecks = [network.links[link].name for link in limits if link is not None]
    fair = [case.fair.rate_bps[one] for one in group.flows]
    bdp = [
        network.links[link].rate_bps * case.rtt_s[one] / 8
        for one in group.flows
        if (link := case.fair.limit[one]) is not None
    ]
    found: dict[str, Any] = {
        "name": group.name,
        "kind": case.table(flow).get("kind"),
        "flows": len(group.flows),
        "from": common_name(network.hosts[host] for host in group.hosts[0]),
        "to": common_name(network.hosts[host] for host in group.hosts[1]),
        "packet_bytes": flow.packet_bytes,
        "sends": _sends(case, group),
        "host_pacing": _host_pacing(flow),
        "sender": _sender(case, flow),
        "receiver": _receiver(flow),
        "paced": flow.paced,
        "rtt_s": _ends(case.rtt_s[one] for one in group.flows),
        "bottleneck": common_name(bottlenecks) or None,
        "bdp_bytes": _ends(bdp) if bdp else None,
        "fair_rate_bps": _ends(fair),
        "spacing": _ends(case.spacing(one) for one in group.flows),
        "path": [_hop(case, hop) for hop in group.forward],
        "ack_path": [_hop(case, hop) for hop in group.reverse],
    }
    if flow.tcp:
        found["tcp"] = _tcp(case, group, flow.tcp)
    return found


def _tcp(case: Case, group: Group, tcp: Tcp) -> dict[str, Any]:
    overflow = fmean(case.overflow_window[one] for one in group.flows)
    capped = tcp.max_window < fmean(case.window[one] for one in group.flows)
    return {
        "variant": tcp.variant,
        "profile": case.profile(group.first),
        "max_window": tcp.max_window,
        "initial_window": tcp.initial_window,
        "limited_transmit": tcp.limited_transmit,
        "min_rto_s": tcp.min_rto_s,
        "gso_packets": tcp.gso_packets,
        "gro_s": tcp.gro_s,
        "tsq_bytes": tcp.tsq_bytes,
        "fair_window": _ends(case.window[one] for one in group.flows),
        "window_at_overflow": overflow if math.isfinite(overflow) else None,
        "regime": _regime(tcp, overflow, capped),
    }


def _regime(tcp: Tcp, overflow: float, capped: bool) -> str:
    if capped or math.isinf(overflow):
        return tcp_windows.NO_LOSS
    return tcp_windows.BY_RATE if tcp_windows.is_by_rate(tcp) else tcp_windows.regime(overflow)


def _hop(case: Case, hop: Hop) -> dict[str, Any]:
    network = case.network
    links = list(hop.links)
    specs = [network.links[link] for link in links]
    pacer = specs[0].pacer
    known = all(case.forecast.knows(link) for link in links)
    return {
        "link": common_name(spec.name for spec in specs),
        "count": len(links),
        "rate_bps": _ends(spec.rate_bps for spec in specs),
        "varying": specs[0].varying,
        "delay_s": _ends(spec.delay_s for spec in specs),
        "jitter": None if specs[0].jitter is None else asdict(specs[0].jitter),
        "expected_load_bps": _ends(float(case.forecast.load_bps[link]) for link in links) if known else None,
        "expected_loss": _ends(case.loss_ratio(link) for link in links) if known else None,
        "pacer": None
        if pacer is None or pacer.method == "none"
        else {
            "words": pacer.in_words() if all(spec.pacer == pacer for spec in specs) else pacer.method,
            "short": pacer.method if pacer.method == "qlbp" else pacer.in_words(),
            "method": pacer.method,
            "parameters": dict(pacer.parameters),
            "limit_bytes": pacer.bytes,
            "limit_packets": pacer.packets,
            "rate_bps": pacer.rate_bps,
            "burst_bytes": pacer.burst_bytes,
        },
        "policer": None
        if specs[0].policer is None
        else {
            "rate_bps": _ends(spec.policer.rate_bps for spec in specs if spec.policer),
            "burst_bytes": _ends(spec.policer.burst_bytes for spec in specs if spec.policer),
        },
        "queue": _queue(case, links),
    }


def _queue(case: Case, links: list[int]) -> dict[str, Any]:
    network = case.network
    buffers = [network.links[link].buffer for link in links]
    first = buffers[0]
    places = [_places(case, link) for link in links]
    known = [one for one in places if one is not None]
    return {
        "written": network.plans[network.links[links[0]].plan].buffer,
        "limit_bytes": _ends(one.bytes for one in buffers if one.bytes is not None)
        if first.bytes is not None
        else None,
        "limit_packets": first.packets,
        "counts": first.counts,
        "drop": first.discipline.removeprefix("drop-"),
        "memory": asdict(first.memory) if first.memory else None,
        "packets_wait": _ends(known) if known else None,
    }


def _places(case: Case, link: int) -> int | None:
    """Data packets that can wait; on a link of acknowledgements alone, those."""
    if case.on[link]:
        return case.places(link)
    return case.network.links[link].buffer.places(case.ack_bytes[link])


def _pacing(case: Case, pacing: Deployed) -> dict[str, Any]:
    network = case.network
    chosen = [network.hosts[one] if pacing.on_hosts else network.links[one].name for one in pacing.chosen]
    found: dict[str, Any] = {
        "where": pacing.path,
        "words": pacing.words,
        "method": pacing.method,
        "on": "hosts" if pacing.on_hosts else "links",
        "at": common_name(chosen) if chosen else None,
        "share": pacing.share,
        "deployed": len(chosen),
        "of": pacing.candidates,
        "acks": pacing.acks,
        "flows_paced": sum(flow.paced for flow in network.flows),
        "flows": len(network.flows),
    }
    found["effective"] = _effective(case, pacing)
    if not pacing.on_hosts and pacing.chosen:
        link = max(pacing.chosen, key=lambda one: case.load_bps[one])
        spec = network.links[link]
        largest = case.largest[link]
        delay = spec.pacer.delay_s(largest) if spec.pacer else None
        found["delay_s"] = delay
        found["load_bps"] = case.load_bps[link]
        found["delay_packets_at_load"] = None if delay is None else delay * case.load_bps[link] / 8 / largest
        found["delay_packets_at_link_rate"] = None if delay is None else delay * spec.rate_bps / 8 / largest
        found["burst_packets"] = None
        if pacing.method == "token-bucket" and spec.pacer and spec.pacer.burst_bytes:
            found["burst_packets"] = spec.pacer.burst_bytes / largest
    return found


def _effective(case: Case, pacing: Deployed) -> str:
    """What the parameters come to where that is more than the words say: the rule of hosts, derived rates."""
    network = case.network
    if pacing.on_hosts:
        chosen = set(pacing.chosen)
        rules = dict.fromkeys(flow.tcp.rule for flow in network.flows if flow.tcp and flow.source in chosen)
        texts = [RULE_WORDS.get(rule, rule) for rule in rules if rule]
        port = ["one gap for all that leaves a host, by the sum of its flows' rates"] if pacing.method == "port" else []
        return "; ".join(port + texts)
    pacers = [pacer for link in pacing.chosen if (pacer := network.links[link].pacer)]
    if not pacers or pacers[0].method != "qlbp" or "mu_min" in pacing.words:
        return ""
    if any(pacer != pacers[0] for pacer in pacers):
        return f"parameters by each link's rate, as {pacers[0].in_words()}"
    return ", ".join(f"{key} {value}" for key, value in pacers[0].parameters.items())


def _sends(case: Case, group: Group) -> str:
    """What its flows send, in words."""
    flow = group.first
    if flow.tcp is None:
        kind = str(case.table(flow).get("kind"))
        return {"cbr": "a constant rate", "poisson": "Poisson arrivals"}.get(kind, kind)
    names = {"reno": "Reno", "newreno": "NewReno"}
    variant = names.get(flow.tcp.variant, flow.tcp.variant.upper())
    size = "" if flow.packets is None else f", {units.count(flow.packets, 'packet')} each"
    return f"{variant}, profile {case.profile(flow)}{size}"


def _host_pacing(flow: Flow) -> str | None:
    parts = ["port"] if flow.port_paced else []
    if tcp_windows.is_by_rate(flow.tcp):
        parts.append("host, by the measured rate")
    elif flow.tcp and flow.tcp.rule:
        rule = f"host, rule {flow.tcp.rule}"
        rule += f", gain {units.number(flow.tcp.gain)}" if flow.tcp.gain != 1 else ""
        rule += f", jitter {units.number(flow.tcp.jitter)}" if flow.tcp.jitter else ""
        parts.append(rule)
    return " and ".join(parts) or None


def _sender(case: Case, flow: Flow) -> str | None:
    """What a host does with packets besides TCP and pacing: trains, and what it keeps in its own queue."""
    if flow.tcp is None:
        return None
    gso, tsq = flow.tcp.gso_packets, flow.tcp.tsq_bytes
    parts = [] if gso is None else [f"trains of up to {units.count(gso, 'packet')}"]
    if tsq is not None:
        least = "two packets" if gso is None else "two trains"
        own = case.network.links[flow.forward[0]].name
        parts.append(f"a flow has 1 ms of its rate or {least} in {own}, at most {units.size(tsq)}")
    return "; ".join(parts) or None


def _receiver(flow: Flow) -> str | None:
    """What a host does with packets before TCP sees them."""
    if flow.tcp is None or not flow.tcp.gro_s:
        return None
    return f"joins packets that come within {units.time(flow.tcp.gro_s)}"


def _ends(values: Iterable[float | int]) -> list[float | int]:
    """Least, mean where it lies between, greatest: `[low, high]`."""
    known = list(values)
    return [min(known), max(known)]
