"""One setting of a scenario under one seed, and what follows from it: round trips, shares, loads, alike flows.

Everything is computed when first asked for, so that a check pays only for what it reads.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from paceline.doctor.fair_shares import Shares, Use, max_min
from paceline.doctor.flow_groups import Group, group_flows
from paceline.doctor.forecast import Forecast, forecast
from paceline.scenario.resolved_network import Flow, Link, Network, Plan

#: Kinds of traffic that always have something to send, or send at a known mean rate. Of others, only shares are known.
STEADY = ("bulk", "cbr", "poisson")

#: Rounds in which overload before a link is taken off the load that it is offered.
_OVERLOADS_IN_A_ROW = 8


class Case:
    """What a check looks at.

    Attributes:
        settings: what is swept, by path, as labels.
        document: the scenario as nested tables, its sweep resolved.
        network: what the core makes of it.
    """

    def __init__(self, settings: Mapping[str, str], document: Mapping[str, Any], network: Network) -> None:
        self.settings = settings
        self.document = document
        self.network = network

    @property
    def core(self) -> Link:
        """The link that the network is about."""
        return self.network.links[self.network.core]

    @property
    def window_s(self) -> float:
        """How long statistics are taken, seconds."""
        return self.network.duration_s - self.network.warmup_s

    def plan(self, link: int) -> Plan:
        """The table that a link comes from."""
        return self.network.plans[self.network.links[link].plan]

    def table(self, flow: Flow) -> Mapping[str, Any]:
        """The `[[traffic]]` table that a flow comes from."""
        tables = self.document["traffic"]
        found: Mapping[str, Any] = tables[flow.traffic]
        return found

    def profile(self, flow: Flow) -> str:
        """The profile that a flow's TCP has its constants from."""
        return self.network.traffics[flow.traffic].profile

    @cached_property
    def rtt_s(self) -> list[float]:
        """Propagation and mean jitter there and back of each flow, seconds; twice the way there without a way back."""
        delay = [link.mean_delay_s for link in self.network.links]
        times = []
        for flow in self.network.flows:
            there = math.fsum(delay[link] for link in flow.forward)
            times.append(there + (math.fsum(delay[link] for link in flow.reverse) if flow.reverse else there))
        return times

    @cached_property
    def trip_s(self) -> list[float]:
        """The round trip of one packet alone: propagation, and serialisation of it and its acknowledgement."""
        per_byte = [8 / link.rate_bps for link in self.network.links]
        times = []
        for flow, rtt in zip(self.network.flows, self.rtt_s, strict=True):
            there = sum(per_byte[link] for link in flow.forward) * flow.packet_bytes
            back = sum(per_byte[link] for link in flow.reverse) * (flow.tcp.ack_bytes if flow.tcp else 0)
            times.append(rtt + there + back)
        return times

    @cached_property
    def on(self) -> list[list[int]]:
        """For each link, the flows whose data pass it."""
        flows: list[list[int]] = [[] for _ in self.network.links]
        for number, flow in enumerate(self.network.flows):
            for link in flow.forward:
                flows[link].append(number)
        return flows

    @cached_property
    def largest(self) -> list[int]:
        """For each link, the largest data packet on it, bytes; 1500 where none passes."""
        largest = [0] * len(self.network.links)
        for flow in self.network.flows:
            for link in flow.forward:
                largest[link] = max(largest[link], flow.packet_bytes)
        return [one or 1500 for one in largest]

    @cached_property
    def ack_bytes(self) -> list[int]:
        """For each link, the largest acknowledgement on it; 40 where none passes."""
        largest = [40] * len(self.network.links)
        for flow in self.network.flows:
            if flow.tcp:
                for link in flow.reverse:
                    largest[link] = max(largest[link], flow.tcp.ack_bytes)
        return largest

    @cached_property
    def offered_bps(self) -> list[float]:
        """For each link, what sources without feedback send over it, bit/s, less what links before it cannot pass."""
        sources = [(flow.forward, flow.rate_bps) for flow in self.network.flows if flow.rate_bps is not None]
        capacity = [link.capacity_bps for link in self.network.links]
        offered = [0.0] * len(capacity)
        for _ in range(_OVERLOADS_IN_A_ROW if sources else 0):
            before, offered = offered, [0.0] * len(capacity)
            for way, rate in sources:
                for link in way:
                    offered[link] += rate
                    if before[link] > capacity[link]:
                        rate *= capacity[link] / before[link]
            if offered == before:
                break
        return offered

    @cached_property
    def fair(self) -> Shares:
        """Max-min shares of the flows with feedback in what the others leave, whatever their windows allow.

        Of a transfer of some size, what it gets while it is under way; to the others it is its mean rate.
        """
        shares = self._shares([math.inf if flow.rate_bps is None else flow.rate_bps for flow in self.network.flows])
        return self._while_active(shares) if self.transfer_bps else shares

    @cached_property
    def expected(self) -> Shares:
        """Mean rates, where no flow goes faster than its maximum window a round trip."""
        demand = [
            _rate(flow.tcp.max_window, flow.packet_bytes, trip) if flow.tcp else flow.rate_bps or math.inf
            for flow, trip in zip(self.network.flows, self.trip_s, strict=True)
        ]
        capped = any(level < fair for level, fair in zip(demand, self.fair.rate_bps, strict=True))
        return self._shares(demand) if capped or self.transfer_bps else self.fair

    @cached_property
    def forecast(self) -> Forecast:
        """What a run comes to."""
        return forecast(self.network, [table["kind"] for table in self.document["traffic"]])

    @cached_property
    def transfer_bps(self) -> dict[int, float]:
        """Mean rates of transfers of some size, by flow.

        Those of one table come over their range of starts, or as long as the slowest link takes to send them all. What
        applications say has the rate that is foreseen.
        """
        bits: dict[int, float] = {}
        slowest: dict[int, float] = {}
        sized = [
            number
            for number, flow in enumerate(self.network.flows)
            if flow.packets is not None and flow.dialogue is None
        ]
        for number in sized:
            flow = self.network.flows[number]
            bits[flow.traffic] = bits.get(flow.traffic, 0.0) + 8.0 * (flow.packets or 0) * flow.packet_bytes
            least = min(self.network.links[link].capacity_bps for link in flow.forward)
            slowest[flow.traffic] = min(least, slowest.get(flow.traffic, math.inf))
        mean: dict[int, float] = {}
        for number in sized:
            flow = self.network.flows[number]
            first, last = self.network.traffics[flow.traffic].start_s
            over = max(last - first, bits[flow.traffic] / slowest[flow.traffic])
            mean[number] = 8.0 * (flow.packets or 0) * flow.packet_bytes / over
        for number, flow in enumerate(self.network.flows):
            if flow.dialogue is not None:
                sent = float(self.forecast.sent[number]) * flow.packet_bytes * 8
                mean[number] = sent / max(1e-9, self.network.duration_s - flow.start_s)
        return mean

    def _while_active(self, shares: Shares) -> Shares:
        """Gives transfers what one flow more would get: the level of a link that is full, else what is left of it."""
        rates, limits = list(shares.rate_bps), list(shares.limit)
        full: dict[int, float] = {}
        for rate, limit in zip(rates, limits, strict=True):
            if limit is not None:
                full[limit] = max(rate, full.get(limit, 0.0))
        used = [0.0] * len(self.network.links)
        for flow, rate in zip(self.network.flows, rates, strict=True):
            for link in flow.forward:
                used[link] += rate
        for number in self.transfer_bps:
            if limits[number] is None:
                links = self.network.links
                way = self.network.flows[number].forward
                levels = [full.get(link, links[link].capacity_bps - used[link] + rates[number]) for link in way]
                rates[number] = max(rates[number], min(levels))
                limits[number] = way[levels.index(min(levels))]
        return Shares(rates, limits)

    def _shares(self, demand: list[float]) -> Shares:
        """Sources without feedback come first; their own rates are what they send. Transfers want their mean rates."""
        flows = self.network.flows
        demand = [min(level, self.transfer_bps.get(number, math.inf)) for number, level in enumerate(demand)]
        capacity = [
            link.capacity_bps - offered for link, offered in zip(self.network.links, self.offered_bps, strict=True)
        ]
        uses: list[list[Use]] = []
        for flow in flows:
            if flow.rate_bps is not None:
                uses.append([])
                continue
            back = flow.tcp.acks_a_packet * flow.tcp.ack_bytes / flow.packet_bytes if flow.tcp else 0.0
            uses.append([(link, 1.0) for link in flow.forward] + [(link, back) for link in flow.reverse if back])
        return max_min(capacity, uses, demand)

    @cached_property
    def load_bps(self) -> list[float]:
        """For each link, the data that max-min shares put on it, bit/s; `forecast` says what a run does."""
        load = [0.0] * len(self.network.links)
        for flow, rate in zip(self.network.flows, self.expected.rate_bps, strict=True):
            for link in flow.forward:
                load[link] += rate
        return load

    def loss_ratio(self, link: int) -> float:
        """Lost of what is expected to reach a link, in the whole run."""
        return float(self.forecast.lost[link] / max(self.forecast.arrived[link], 1e-9))

    @cached_property
    def feeding(self) -> list[set[int]]:
        """For each link, the links that data come from; -1 is a host, which sends as fast as it likes."""
        before: list[set[int]] = [set() for _ in self.network.links]
        for flow in self.network.flows:
            previous = -1
            for link in flow.forward:
                before[link].add(previous)
                previous = link
        return before

    @cached_property
    def limited_by(self) -> Counter[int]:
        """How many flows each link limits: the bottlenecks. Transfers count where there is nothing else."""
        limits = Counter(link for link in self.fair.limit if link is not None)
        lasting = Counter(
            link for number, link in enumerate(self.fair.limit) if link is not None and number not in self.transfer_bps
        )
        return Counter({link: lasting[link] or count for link, count in limits.items()})

    def places(self, link: int, packet_bytes: int | None = None) -> int | None:
        """How many data packets can wait before a link, or fit into its policer; the largest that pass unless told."""
        return self.network.links[link].places(packet_bytes or self.largest[link])

    @cached_property
    def window(self) -> list[float]:
        """Each flow's fair window: packets in flight at its fair share over a round trip of one packet alone."""
        flows = zip(self.network.flows, self.fair.rate_bps, self.trip_s, strict=True)
        return [rate * trip / (8 * flow.packet_bytes) if rate < math.inf else math.inf for flow, rate, trip in flows]

    @cached_property
    def overflow_window(self) -> list[float]:
        """Packets of each flow in flight when its bottleneck overflows: its window and a share of the buffer."""
        return [window + self.buffer_share(number) for number, window in enumerate(self.window)]

    def buffer_share(self, flow: int) -> float:
        """Packets of the bottleneck's buffer that fall to a flow; infinite where it never overflows."""
        link = self.fair.limit[flow]
        if link is None or self.keeps_queue_small(flow):
            return math.inf
        places = self.places(link, self.network.flows[flow].packet_bytes)
        return math.inf if places is None else places / self.limited_by[link]

    def keeps_queue_small(self, flow: int) -> bool:
        """Its bottleneck is its host's own link, where it has two packets or trains (``tsq``): it loses none there."""
        tcp, way = self.network.flows[flow].tcp, self.network.flows[flow].forward
        return tcp is not None and tcp.tsq_bytes is not None and self.fair.limit[flow] == way[0]

    def spacing(self, flow: int) -> float:
        """How far apart a flow's packets reach its bottleneck, in packet times there: C / the slowest rate before."""
        link = self.fair.limit[flow]
        way = self.network.flows[flow].forward
        if link is None or link not in way:
            return 0.0
        before = [self.network.links[one].rate_bps for one in way[: way.index(link)]]
        return self.network.links[link].rate_bps / min(before) if before else 0.0

    @cached_property
    def connections(self) -> list[Group]:
        """TCP flows by their traffic table, paced or not; of each, one stands for all in its settings."""
        tables: dict[int, Group] = {}
        for group in self.groups:
            if group.first.tcp:
                table = tables.setdefault(group.first.traffic, Group(group.name, group.first, []))
                table.flows.extend(group.flows)
        return list(tables.values())

    @cached_property
    def groups(self) -> list[Group]:
        """Flows that are alike: one traffic table, one kind of path, one pacing."""
        return group_flows(self.network)

    def aggregate_bdp(self, link: int) -> float | None:
        """The link's rate times the harmonic mean of the propagation round trips of its flows, bytes."""
        times = [self.rtt_s[flow] for flow in self.on[link] if self.rtt_s[flow] > 0]
        if not times:
            return None
        return self.network.links[link].rate_bps / 8 * len(times) / math.fsum(1 / time for time in times)

    def buffer_bytes(self, link: int) -> float | None:
        """The limit in bytes, packets taken as the largest that pass; ``None`` is no limit."""
        buffer = self.network.links[link].buffer
        if buffer.packets is not None:
            return buffer.packets * self.largest[link]
        return buffer.bytes


def _rate(window: float, packet_bytes: int, trip_s: float) -> float:
    """What a window a round trip comes to, bit/s."""
    return window * packet_bytes * 8 / trip_s if trip_s > 0 else math.inf
