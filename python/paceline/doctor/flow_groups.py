"""Groups of alike flows, so that ten thousand of them are one line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from paceline.scenario.resolved_network import Flow, Network


@dataclass(slots=True)
class Hop:
    """The links that a group's flows pass at one place of their way."""

    plan: int
    links: dict[int, None] = field(default_factory=dict)


@dataclass(slots=True)
class Group:
    """Flows of one traffic table over the same kinds of links, paced alike.

    Attributes:
        name: of the traffic table; with the pacing where flows of one table differ in it.
        flows: their numbers.
        first: one of them.
        forward: hops of the data.
        reverse: hops of the acknowledgements.
        hosts: sending and receiving hosts.
    """

    name: str
    first: Flow
    flows: list[int] = field(default_factory=list)
    forward: list[Hop] = field(default_factory=list)
    reverse: list[Hop] = field(default_factory=list)
    hosts: tuple[dict[int, None], dict[int, None]] = field(default_factory=lambda: ({}, {}))


def group_flows(network: Network) -> list[Group]:
    """Groups in the order of their first flows."""
    groups: dict[tuple[object, ...], Group] = {}
    kinds: dict[tuple[int, ...], tuple[object, ...]] = {}
    for number, flow in enumerate(network.flows):
        ways = [kinds.setdefault(way, _kind(network, way)) for way in (flow.forward, flow.reverse)]
        key = (flow.traffic, flow.tcp, flow.port_paced, flow.packets is None, flow.packet_bytes, *ways)
        group = groups.get(key)
        if group is None:
            group = groups[key] = Group(network.traffics[flow.traffic].name, flow)
            group.forward = [Hop(network.links[link].plan) for link in flow.forward]
            group.reverse = [Hop(network.links[link].plan) for link in flow.reverse]
        group.flows.append(number)
        group.hosts[0][flow.source] = group.hosts[1][flow.sink] = None
        for hops, way in ((group.forward, flow.forward), (group.reverse, flow.reverse)):
            for hop, link in zip(hops, way, strict=True):
                hop.links[link] = None
    return list(groups.values())


def _kind(network: Network, way: tuple[int, ...]) -> tuple[object, ...]:
    links = (network.links[link] for link in way)
    return tuple((link.plan, link.pacer.method if link.pacer else None) for link in links)


def common_name(names: Iterable[str]) -> str:
    """``edge.l.*`` for edge.l.0, edge.l.1, …; several such where they have nothing in common."""
    by_length: dict[int, list[list[str]]] = {}
    for name in names:
        parts = name.split(".")
        by_length.setdefault(len(parts), []).append(parts)
    patterns = []
    for split in by_length.values():
        columns = zip(*split, strict=True)
        patterns.append(".".join(column[0] if len(set(column)) == 1 else "*" for column in columns))
    return ", ".join(patterns)
