"""A network and its flows as arrays: what links can carry and hold, and what flows send where ways are like this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.doctor.sources import Sources
from paceline.doctor.transfer_times import Array, Course, Ways
from paceline.scenario.resolved_network import Network

#: How full a full buffer is on average.
_FILLED = 0.6


@dataclass(frozen=True, slots=True)
class Hops:
    """Every link of every way, flow after flow, link after link."""

    flow: npt.NDArray[np.int64]
    link: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]
    back: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, network: Network) -> Hops:
        rows = [
            (number, link, place, back)
            for number, flow in enumerate(network.flows)
            for way, back in ((flow.forward, False), (flow.reverse if flow.tcp else (), True))
            for place, link in enumerate(way)
        ]
        flow, link, place, back = (np.array(column) for column in zip(*rows, strict=True))
        return cls(flow, link, place, back.astype(bool))


@dataclass(frozen=True, slots=True)
class Sent:
    """What flows send in a run.

    Attributes:
        packets: of data.
        burst_lost: of these, what their own bursts lose.
        each: the time of a message, seconds.
        cycle: from the start of one message to that of the next, seconds.
        count: of messages.
        lasts: until the last message is there, seconds.
        course: how connections go.
    """

    packets: Array
    burst_lost: Array
    each: Array
    cycle: Array
    count: Array
    lasts: Array
    course: Course

    @property
    def opened(self) -> Array:
        """When the first message is there, seconds."""
        return np.asarray(self.course.opening + self.each)


class Model:
    """A network and its flows as arrays."""

    def __init__(self, network: Network, kinds: Sequence[str]) -> None:
        self.network, self.kinds = network, kinds
        self.hops = Hops.of(network)
        self.links = len(network.links)
        self.flows = len(network.flows)
        self.sources = Sources.of(network)
        self.capacity = np.array([link.capacity_bps for link in network.links])
        self._lay_links()
        hops = self.hops
        self.places_on_ways = [np.flatnonzero(hops.place == place) for place in range(1, int(hops.place.max()) + 1)]
        first = np.full(self.links, network.duration_s)
        np.minimum.at(first, hops.link, self.sources.start[hops.flow])
        fed: list[set[int]] = [set() for _ in range(self.links)]
        for flow in network.flows:
            for before, link in zip((-1, *flow.forward), flow.forward, strict=False):
                fed[link].add(before)
        self.fed = np.array(
            [1e18 if -1 in before else max(1.0, sum(self.capacity[link] for link in before)) for before in fed]
        )
        self.most_bits = self.capacity * np.maximum(network.duration_s - first, 1e-9)
        odd = np.array([link.reorders or link.varying is not None for link in network.links])
        self.unforeseen = np.bincount(hops.flow, odd[hops.link], minlength=self.flows) > 0
        self.syn_bytes = np.array([(flow.tcp.syn_bytes or 0) if flow.tcp else 0 for flow in network.flows], dtype=float)
        self.last_forward = np.zeros(self.flows, dtype=np.int64)
        self.last_forward[hops.flow[~hops.back]] = np.flatnonzero(~hops.back)

    def _lay_links(self) -> None:
        network, hops = self.network, self.hops
        packet = np.array([flow.packet_bytes for flow in network.flows], dtype=float)
        largest = np.zeros(self.links)
        forward = ~hops.back
        np.maximum.at(largest, hops.link[forward], packet[hops.flow[forward]])
        np.maximum.at(largest, hops.link[hops.back], 40.0)
        self.largest = np.where(largest > 0, largest, 1500.0)
        places = np.full(self.links, np.inf)
        holds = np.zeros(self.links)  # by pacers, seconds
        for number, link in enumerate(network.links):
            size = int(self.largest[number])
            known = link.places(size)
            pacer = link.pacer
            if pacer is not None and pacer.method != "none":
                held = pacer.delay_s(size) or 0.0
                limit = pacer.packets if pacer.packets is not None else None
                if limit is None and pacer.bytes is not None:
                    limit = max(1, pacer.bytes // size)
                if pacer.method == "edge":
                    holds[number] = held
                    if limit is not None and held > 0:
                        self.capacity[number] = min(self.capacity[number], (limit + 1) * size * 8 / held)
                elif pacer.mu_max_bps is not None:
                    holds[number] = held / 2
                    self.capacity[number] = min(self.capacity[number], pacer.mu_max_bps)
                if self.capacity[number] < link.rate_bps and not link.is_policed:
                    known = limit
            places[number] = np.inf if known is None else known
        self.places = places
        waits = np.array([not link.is_policed for link in network.links])  # at a policer nothing does
        self.full_wait = waits * np.where(
            np.isinf(places),
            max(network.duration_s / 2, 1e-3),
            _FILLED * (places + 1) * self.largest * 8 / self.capacity,
        )
        trip = np.bincount(hops.flow, self._latency(holds), minlength=self.flows)
        alone = np.array([0.0 if flow.tcp else 1.0 for flow in network.flows])
        self.trip = trip * (1 + alone)
        forced = np.zeros(len(hops.flow))
        for drop in network.drops:
            on = (hops.link == drop.link) & ((hops.flow == drop.flow) | (drop.flow is None))
            forced[on] = 1 - (1 - forced[on]) * (1 - drop.probability)
        self.forced = forced

    def _latency(self, holds: Array) -> Array:
        hops, sources = self.hops, self.sources
        delay = np.array([link.mean_delay_s for link in self.network.links]) + holds
        ack = np.where(sources.acks > 0, sources.ack_bytes / np.maximum(sources.acks, 0.5), 0.0)
        size = np.where(hops.back, ack[hops.flow], sources.bytes[hops.flow])
        return np.asarray(delay[hops.link] + size * 8 / self.capacity[hops.link])

    # What flows send at these prices.

    def rates(self, which: npt.NDArray[np.int64], ways: Ways, others: Array, first_heard: Array) -> Sent:
        """What these flows send where ways are like this."""
        sources = self.sources
        senders = sources.senders[which]
        time = np.maximum(sources.end[which] - sources.start[which] - first_heard, 1e-9)
        packets, most, pause = sources.packets[which], sources.messages[which], sources.pause[which]
        kept = ~sources.fresh[which]
        rests = sources.rests[which] & (pause + others > 2 * senders.least_timeout)
        warm = kept & ~rests & np.isfinite(packets)
        fits = np.maximum(np.minimum(ways.burst, senders.most), 2.0)
        grown = np.where(warm, np.minimum(np.maximum(senders.initial, packets), fits), senders.initial)
        course = Course(senders, ways, grown)
        endless = np.isinf(packets)
        each = course.time(np.where(endless, 1.0, packets))
        each = each - np.where(kept, course.opening, 0.0)
        each = np.maximum(each - np.where(sources.one_way[which], ways.trip / 2, 0.0), ways.trip / 2)
        each = each + sources.held[which]
        cycle = each + pause + others
        first = np.where(sources.pauses_first[which], 0.0, pause)
        count = np.minimum(most, (time - np.where(kept, course.opening, 0.0) + first) / cycle)
        count = np.where(time > 1e-9, np.maximum(count, 0.0), 0.0)
        again = 1 / (1 - np.minimum(ways.loss, 0.9))
        by_then = course.packets(time)
        whole = count * np.where(endless, 1.0, packets) * again
        sent = np.where(count < 1, np.minimum(by_then, packets * again), whole)
        lost = course.lost(np.where(endless, 1e9, packets)) * np.where(endless, 1.0, np.maximum(count, 1.0))
        probes = np.where(packets > ways.burst, count, 0.0)  # a warm window grows until a burst loses one
        lost = np.where(warm, probes, lost)
        sent = np.where(endless, by_then, sent + lost)
        sent = np.where(sources.tcp[which], sent, sources.rate[which] * time)
        sent = np.where(time > 1e-9, sent, 0.0)
        lost = np.where(sources.tcp[which], np.minimum(lost, 0.9 * sent), 0.0)
        lasts = np.where(
            endless | ~sources.tcp[which] | (count < most), time, np.minimum(time, course.opening + count * cycle)
        )
        return Sent(sent, lost, each, cycle, np.where(endless, 1.0, count), lasts, course)

    def early(self, flow: Sent, first_heard: Array) -> Array:
        """Of what all flows send, packets before statistics are taken."""
        sources, count = self.sources, flow.count
        time = np.maximum(sources.end - sources.start - first_heard, 1e-9)
        early = np.maximum(self.network.warmup_s - sources.start, 0.0)
        begun = np.minimum(1.0, early / flow.each) + np.maximum(early - flow.each, 0.0) / flow.cycle  # of `count`
        begun = np.clip(np.where(early >= flow.lasts, 1.0, begun / np.maximum(count, 1.0)), 0.0, 1.0)
        endless = np.isinf(sources.packets)
        before = np.where(endless, flow.course.packets(np.minimum(early, time)), flow.packets * begun)
        return np.where(sources.tcp, before, sources.rate * np.minimum(early, time))
