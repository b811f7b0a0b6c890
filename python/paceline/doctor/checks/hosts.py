"""Checks of what hosts keep in their own queues: TCP small queues."""

from __future__ import annotations

from collections.abc import Iterator

from paceline.doctor import tcp_windows, units
from paceline.doctor.case import Case
from paceline.doctor.finding import Problem, check
from paceline.doctor.flow_groups import Group

#: Linux's default `net.ipv4.tcp_limit_output_bytes`.
LINUX_TSQ = "4 MB"


@check("own-queue", "warning")
def own_queue(case: Case) -> Iterator[Problem]:
    """Windows wait in the queue of their own host, where Linux would keep them in the socket.

    The first link of a way is its host's interface. Where it is the bottleneck of a connection of profile `linux`
    without `tsq`, all that the window lets out beyond the fair window waits there, up to the buffer or `max_window`.
    Linux has about a millisecond of its rate there, or two packets (trains with `gso`): TCP small queues. Found where
    what waits doubles the round trip.
    """
    for group in case.connections:
        flow, first = group.first, group.flows[0]
        tcp, own = flow.tcp, flow.forward[0]
        if tcp is None or tcp.tsq_bytes is not None or case.profile(flow) != "linux" or flow.packets is not None:
            continue
        if case.fair.limit[first] != own or tcp_windows.is_by_rate(tcp):
            continue
        beside = case.limited_by[own]
        most = [min(tcp.max_window - case.window[one], case.buffer_share(one)) for one in group.flows]
        waits = min(most)
        link = case.network.links[own]
        held_s = waits * beside * flow.packet_bytes * 8 / link.capacity_bps
        if held_s > case.trip_s[first]:
            yield Problem(
                f"traffic[{flow.traffic}].tcp.tsq",
                f"{link.name}, the interface of {case.network.hosts[flow.source]}, is the slowest link of the way,"
                f" and up to {units.count(round(waits), 'packet')} of a flow wait there",
                f"the round trip grows by {units.time(held_s)} to {units.time(held_s + case.trip_s[first])}; a Linux"
                " host would hold most of that back in the socket (TCP small queues)",
                f'tsq = "{LINUX_TSQ}"',
            )


@check("small-queues-idle", "note")
def small_queues_idle(case: Case) -> Iterator[Problem]:
    """TCP small queues where nothing waits in the host's own queue.

    `tsq` bounds what a connection has in the queue before the first link of its way. Where another link is slower,
    packets wait there, which no host knows of, and `tsq` changes next to nothing.
    """
    for group in case.connections:
        flow = group.first
        if flow.tcp is None or flow.tcp.tsq_bytes is None or _is_own_bottleneck(case, group):
            continue
        limit = case.fair.limit[group.flows[0]]
        where = f"{case.network.links[limit].name} limits" if limit is not None else "their own demand limits"
        yield Problem(
            f"traffic[{flow.traffic}].tcp.tsq",
            f"{where} the flows of {group.name}, not {case.network.links[flow.forward[0]].name}, their host's own link",
            "what waits is behind the host, and small queues hold nothing back",
            "tsq = false, or a slower first link",
        )


def _is_own_bottleneck(case: Case, group: Group) -> bool:
    """Some flow has as slow a link first as any behind it."""
    links = case.network.links
    ways = [[links[link].capacity_bps for link in case.network.flows[one].forward] for one in group.flows]
    return any(way[0] <= min(way) for way in ways)
