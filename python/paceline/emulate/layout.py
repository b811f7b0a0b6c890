"""A resolved scenario laid out for the kernel: namespaces, addresses, ports, and the plans of the two programs."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paceline.emulate.choices import Choices
from paceline.emulate.kernel_tcp import KernelTcp, Stack, translate
from paceline.errors import InputError
from paceline.scenario.distributions import Distribution
from paceline.scenario.resolved_network import Flow, Link, Network

#: The TCP port of the first conversation's listener.
FIRST_PORT = 20_000
_MOST_CONVERSATIONS = 20_000
_KINDS = ("bulk", "closed-loop", "rpc")
_MS = 1_000_000
_NS_IN_S = 1e9
_DRAWN = "random"


@dataclass(frozen=True, slots=True)
class Conversation:
    """What goes over one listener: a flow, and for calls the flow of their answers."""

    flow: int
    back: int | None
    stack: int
    tcp: KernelTcp
    caller: str
    listener: str
    application: dict[str, Any]


@dataclass(slots=True)
class Layout:
    """All of it.

    Attributes:
        network: the scenario, resolved.
        conversations: in the order of their ports.
        stacks: what namespaces come in pairs for.
        paced_links: links with a pacer of their own program, if pacers are inline.
        named: links that results name.
        queue_every_ns: by link: how often its queue is sampled.
        departures_ns: by link: when each of its departures is written down.
        windows: by flow: how often its window is looked at.
        warnings: keys that the kernel does not honour.
    """

    network: Network
    conversations: list[Conversation] = field(default_factory=list)
    stacks: list[Stack] = field(default_factory=list)
    paced_links: list[int] = field(default_factory=list)
    named: list[int] = field(default_factory=list)
    queue_every_ns: dict[int, int] = field(default_factory=dict)
    departures_ns: dict[int, tuple[int, int]] = field(default_factory=dict)
    windows: dict[int, int] = field(default_factory=dict)
    delivered: dict[int, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def warn(self, what: str) -> None:
        """Each is said once."""
        if what not in self.warnings:
            self.warnings.append(what)

    def shortest_round_trip_s(self) -> float:
        """Propagation there and back, of the flow where it is least."""
        links = self.network.links
        ways = [
            (*self.network.flows[one.flow].forward, *self.network.flows[one.flow].reverse) for one in self.conversations
        ]
        return min((sum(links[link].delay_s for link in way) for way in ways), default=0.0)


def lay_out(document: Mapping[str, Any], network: Network, choices: Choices, seed: int) -> Layout:
    """Raises `InputError` where a scenario asks for what no kernel has."""
    layout = Layout(network)
    for number, pacing in enumerate(network.pacings):
        if pacing.method == "port" and pacing.chosen:
            raise InputError(f'{_pacing_place(document, number)}: the kernel has no "port" pacing; write "host"')
    if document.get("drop"):
        raise InputError("drop: losses cannot be forced on the kernel's packets; leave it out")
    if document.get("memory"):
        raise InputError("memory: emulated links share none; leave it out")
    _converse(document, layout, choices, seed)
    for number, link in enumerate(network.links):
        fifo = ("drop-tail",) if link.buffer.limited else ("drop-tail", "drop-front")
        if link.buffer.discipline not in fifo:
            what = f'{link.name} has "{link.buffer.discipline}"'
            raise InputError(f'network: {what}, and emulated links drop at the tail; write queue = "drop-tail"')
        if link.policer:
            raise InputError(f"network: {link.name} has a policer, and emulated links have none; leave police out")
        if link.varying:
            raise InputError(f"network: the rate of {link.name} varies, and that of emulated links does not; write one")
        if link.jitter:
            raise InputError(f"network: {link.name} has jitter, and emulated links have none; leave it out")
        if link.buffer.ties == "ns2" and link.buffer.limited:
            layout.warn(
                'network: ties = "ns2" has no meaning without ns-2\'s calendar; they are drawn on emulated links'
            )
        if link.pacer and link.pacer.method != "none" and choices.pacers == "inline":
            layout.paced_links.append(number)
    _watch(layout)
    layout.named = [number for number, link in enumerate(network.links) if link.reported]
    return layout


def _pacing_place(document: Mapping[str, Any], number: int) -> str:
    return f"pacing[{number}].method" if isinstance(document.get("pacing"), list) else "pacing.method"


def _converse(document: Mapping[str, Any], layout: Layout, choices: Choices, seed: int) -> None:
    network = layout.network
    known: dict[tuple[int, int], KernelTcp] = {}
    tables: list[dict[str, Any]] = document["traffic"]
    flows = network.flows
    number = 0
    while number < len(flows):
        flow, sent = flows[number], network.traffics[flows[number].traffic]
        place = sent.path
        table = tables[flow.traffic]
        kind = table["kind"]
        if kind not in _KINDS or flow.tcp is None:
            raise InputError(f'{place}.kind: "{kind}" does not run on the kernel yet; write {", ".join(_KINDS)}')
        key = (flow.traffic, id(flow.tcp))
        if key not in known:
            known[key] = translate(f"{place}.tcp", table.get("tcp", {}), flow.tcp, choices, layout.warn)
        tcp = known[key]
        if tcp.stack not in layout.stacks:
            layout.stacks.append(tcp.stack)
        name_of_back = f"{flow.name}.back"
        paired = number + 1 < len(flows) and flows[number + 1].name == name_of_back
        layout.conversations.append(
            Conversation(
                flow=number,
                back=number + 1 if paired else None,
                stack=layout.stacks.index(tcp.stack),
                tcp=tcp,
                caller=_address(0, flow.source),
                listener=_address(128, flow.sink),
                application=_application(flows, number, tcp),
            )
        )
        number += 1 + paired
    if any(one.application["kind"] != "bulk" for one in layout.conversations):
        layout.warn(
            f"seed: the kernel's hosts draw sizes and pauses of their own for seed {seed}, of the same distributions"
        )
    if len(layout.conversations) > _MOST_CONVERSATIONS:
        raise InputError(
            f"traffic: the kernel has ports for {_MOST_CONVERSATIONS} flows, not {len(layout.conversations)}"
        )


def _address(first: int, host: int) -> str:
    """Of a host; that of one that connects and of one that listens differ, so that both may be in one namespace."""
    number = host + 1
    return f"10.{first + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _application(flows: Sequence[Flow], number: int, tcp: KernelTcp) -> dict[str, Any]:
    """What the traffic program does for this flow, and for the one that answers it, if there is one."""
    flow = flows[number]
    dialogue = flow.dialogue
    if dialogue is None:
        return {"kind": "bulk", "bytes": None if flow.packets is None else flow.packets * tcp.payload_bytes}
    size, think = _distribution(dialogue.size), _distribution(dialogue.pause, _NS_IN_S)
    if dialogue.kind == "closed-loop":
        files = {"size": size, "think": think, "new_connections": dialogue.new_connections, "files": dialogue.most}
        return {"kind": "files"} | files
    answer = flows[number + 1].dialogue
    assert answer is not None
    calls = {"request": size, "response": _distribution(answer.size), "think": think}
    return {"kind": "calls"} | calls | {"calls": dialogue.most}


def _distribution(drawn: Distribution, scale: float = 1.0) -> dict[str, Any]:
    """A distribution as the traffic program reads it, in bytes or ns."""
    first = round(drawn.first * scale, 6)
    if drawn.shape == "uniform":
        return {"uniform": [first, round(drawn.second * scale, 6)]}
    return {drawn.shape: [first, drawn.second] if drawn.shape == "pareto" else first}


# What is watched


def _watch(layout: Layout) -> None:
    """What the simulator would record and measure, as far as the kernel can."""
    for probe in layout.network.probes:
        match probe.kind:
            case "queue" if probe.link is not None and probe.every_ns is not None:
                layout.queue_every_ns[probe.link] = probe.every_ns
            case "departures" if probe.link is not None:
                layout.departures_ns[probe.link] = (probe.from_ns, probe.to_ns)
            case "window":
                if probe.every_ns is None:
                    layout.warn("probes.window.every: the kernel is asked, it does not tell: each ms")
                layout.windows |= dict.fromkeys(probe.flows, probe.every_ns or _MS)
            case "throughput" if probe.every_ns is not None and probe.link is None:
                layout.delivered |= dict.fromkeys(probe.flows, probe.every_ns)
            case "throughput":
                layout.warn("probes.throughput: on the kernel, of flows alone; name them")
            case kind:
                layout.warn(f"probes.{kind}: not measured on the kernel")


# The plans


def traffic_plan(layout: Layout, namespaces: list[tuple[int, int]], seed: int) -> dict[str, Any]:
    """For `paceline-traffic`; `namespaces` are descriptors of those that connect and those that listen, by stack."""
    network = layout.network
    return {
        "duration_ns": round(network.duration_s * 1e9),
        "warmup_ns": round(network.warmup_s * 1e9),
        "first_port": FIRST_PORT,
        "stacks": [{"callers": callers, "listeners": listeners} for callers, listeners in namespaces],
        "flows": [
            {
                "stack": one.stack,
                "from": [int(part) for part in one.caller.split(".")],
                "to": [int(part) for part in one.listener.split(".")],
                "start_ns": round(network.flows[one.flow].start_s * 1e9),
                "congestion_control": one.tcp.congestion_control,
                "paced": one.tcp.paced,
                "window_bytes": one.tcp.window_bytes,
                "seed": zlib.crc32(f"{seed} {network.flows[one.flow].name}".encode()),
                "application": one.application,
            }
            for one in layout.conversations
        ],
        "samples": [
            {"flow": number, "every_ns": min(every)}
            for number, one in enumerate(layout.conversations)
            if (every := [of[one.flow] for of in (layout.windows, layout.delivered) if one.flow in of])
        ],
    }


def wires_plan(
    layout: Layout,
    devices: list[tuple[int, int]],
    detours: Mapping[int, tuple[int, int]],
    spin_us: int,
    seed: int,
) -> dict[str, Any]:
    """For `paceline-wires`.

    Args:
        layout: what to run.
        devices: descriptors of the callers' and the listeners' device, by stack.
        detours: descriptors of the devices before and after a link's pacer, by link.
        spin_us: see `Choices`.
        seed: of the scenario.
    """
    network = layout.network
    ports = [{"fd": fd, "ethernet": False} for pair in devices for fd in pair]
    ways: dict[int, dict[str, int]] = {}
    for link, (before, after) in detours.items():
        ways[link] = {"to": len(ports), "from": len(ports) + 1}
        ports += [{"fd": before, "ethernet": True}, {"fd": after, "ethernet": True}]
    return {
        "duration_ns": round(network.duration_s * 1e9),
        "warmup_ns": round(network.warmup_s * 1e9),
        "spin_ns": spin_us * 1_000,
        "first_port": FIRST_PORT,
        "ports": ports,
        "links": [_link_plan(layout, number, ways.get(number), seed) for number in range(len(network.links))],
        "core": network.core,
        "flows": [
            {
                "forward": network.flows[one.flow].forward,
                "reverse": network.flows[one.flow].reverse,
                "caller": 2 * one.stack,
                "listener": 2 * one.stack + 1,
            }
            for one in layout.conversations
        ],
    }


def _link_plan(layout: Layout, number: int, detour: dict[str, int] | None, seed: int) -> dict[str, Any]:
    link: Link = layout.network.links[number]
    pacer = None
    if link.pacer and link.pacer.method != "none" and detour is None:
        pacer = {
            "method": link.pacer.method,
            "parameters": list(link.pacer.parameters.items()),
            "bytes": link.pacer.bytes,
            "packets": link.pacer.packets,
        }
    return {
        "rate_bps": round(link.rate_bps),
        "delay_ns": round(link.delay_s * 1e9),
        "buffer": {
            "bytes": link.buffer.bytes,
            "packets": link.buffer.packets,
            "counts": link.buffer.counts,
            "ties": _DRAWN if link.buffer.ties == "ns2" else link.buffer.ties,
            "seed": zlib.crc32(f"{seed} {link.name}".encode()),
        },
        "pacer": pacer,
        "detour": detour,
        "record": {
            "queue": number in layout.named,
            "samples_every_ns": layout.queue_every_ns.get(number),
            "departures_ns": layout.departures_ns.get(number),
        },
    }
