"""CoDel and FQ-CoDel written out a second time, as RFCs 8289 and 8290 have them or as ns-3 does (disciplines.py).

ns-3, like Linux, counts time in units of 1024 ns and takes 1/sqrt(count) by one Newton step a drop, in 16 bits. Unlike
Linux it sets the next mark from now on, where RFC 8289's drops and Linux's marks follow the time at which the last was
due, and drops a packet with exactly 1500 bytes behind it, where both want more than `MAXPACKET`.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

TARGET, INTERVAL, MTU = 5_000_000, 100_000_000, 1500
QUANTUM = 1514
#: A byte takes so long on the wire, ns.
BYTE = 1000

#: When it arrived, ns, and its bytes.
Packet = tuple[int, int]


@dataclass
class Codel:
    """One queue.

    Attributes:
        as_ns3: what ns-3 does otherwise is done so.
        marks: packets are marked, not dropped.
    """

    as_ns3: bool
    marks: bool

    def __post_init__(self) -> None:
        self.unit = 1024 if self.as_ns3 else 1
        self.interval = INTERVAL // self.unit
        self.queue: deque[Packet] = deque()
        self.bytes = self.first_above = self.drop_next = self.count = self.last_count = 0
        self.inverse = 0xFFFF  # 1/sqrt(count), 16 bits
        self.dropping = False
        self.dropped = self.marked = 0

    def put(self, packet: Packet) -> None:
        """A packet comes."""
        self.queue.append(packet)
        self.bytes += packet[1]

    def take(self, now: int) -> tuple[Packet | None, bool]:
        """The next packet, and whether it may be dropped."""
        if not self.queue:
            self.first_above = 0
            return None, False
        packet = self.queue.popleft()
        self.bytes -= packet[1]
        waited = now // self.unit - packet[0] // self.unit
        is_short = self.bytes < MTU if self.as_ns3 else self.bytes <= MTU
        if waited < TARGET // self.unit or is_short:
            self.first_above = 0
            return packet, False
        if self.first_above == 0:
            self.first_above = now // self.unit + self.interval
            return packet, False
        return packet, now // self.unit >= self.first_above

    def count_on(self, count: int) -> None:
        """Sets the count; a step of Newton's."""
        self.count = count
        wide = self.inverse << 16
        step = ((3 << 32) - count * ((wide * wide) >> 32)) >> 2
        self.inverse = ((step * wide) >> 31) >> 16 & 0xFFFF

    def law(self, since: int) -> int:
        """When the next is due."""
        if self.as_ns3:
            return since + (self.interval * (self.inverse << 16) >> 32)
        return since + int(self.interval / math.sqrt(self.count))

    def dequeue(self, now: int) -> Packet | None:
        """The packet to send, after those that are dropped."""
        packet, may = self.take(now)
        ticks = now // self.unit
        if packet is None or (self.dropping and not may):
            self.dropping = False
        elif self.dropping:
            while self.dropping and ticks >= self.drop_next:
                self.count_on(self.count + 1)
                if self.marks:
                    self.marked += 1
                    self.drop_next = self.law(ticks if self.as_ns3 else self.drop_next)
                    break
                self.dropped += 1
                packet, may = self.take(now)
                self.dropping = may
                if may:
                    self.drop_next = self.law(self.drop_next)
        elif may:
            if self.marks:
                self.marked += 1
            else:
                self.dropped += 1
                packet, _ = self.take(now)
            self.dropping = True
            if self.count - self.last_count > 1 and ticks - self.drop_next < 16 * self.interval:
                self.count_on(self.count - self.last_count)
            else:
                self.count, self.inverse = 1, 0xFFFF
            self.last_count = self.count
            self.drop_next = self.law(ticks)
        return packet


class Fifo:
    """A CoDel queue of so many places; what finds none is dropped."""

    def __init__(self, as_ns3: bool, marks: bool, places: int) -> None:
        self.codel, self.places = Codel(as_ns3, marks), places
        self.overflows = 0

    def enqueue(self, at: int, size: int, _: int) -> None:
        """A packet of a flow comes."""
        if len(self.codel.queue) < self.places:
            self.codel.put((at, size))
        else:
            self.overflows += 1

    def dequeue(self, now: int) -> Packet | None:
        """The packet to send."""
        return self.codel.dequeue(now)

    @property
    def queues(self) -> list[Codel]:
        """All there are."""
        return [self.codel]


class Fair:
    """FQ-CoDel: a CoDel queue a flow; over so many places the longest queue loses its first packet."""

    def __init__(self, as_ns3: bool, marks: bool, places: int) -> None:
        self.kind, self.places = (as_ns3, marks), places
        self.flows: dict[int, Codel] = {}
        self.deficit: dict[int, int] = {}
        self.new: deque[int] = deque()
        self.old: deque[int] = deque()
        self.overflows = 0

    def enqueue(self, at: int, size: int, flow: int) -> None:
        """A packet of a flow comes (RFC 8290, section 4.1)."""
        self.flows.setdefault(flow, Codel(*self.kind)).put((at, size))
        if flow not in self.new and flow not in self.old:
            self.new.append(flow)
            self.deficit[flow] = QUANTUM
        if sum(len(one.queue) for one in self.queues) > self.places:
            longest = max(self.queues, key=lambda one: one.bytes)
            longest.bytes -= longest.queue.popleft()[1]
            self.overflows += 1

    def dequeue(self, now: int) -> Packet | None:
        """The packet to send (section 4.2)."""
        while turn := self.new or self.old:
            flow = turn[0]
            if self.deficit[flow] <= 0:
                self.deficit[flow] += QUANTUM
                self.old.append(turn.popleft())
            elif packet := self.flows[flow].dequeue(now):
                self.deficit[flow] -= packet[1]
                return packet
            else:
                turn.popleft()
                if turn is self.new:
                    self.old.append(flow)
        return None

    @property
    def queues(self) -> list[Codel]:
        """All there are."""
        return list(self.flows.values())


def run(queue: Fifo | Fair, packets: list[tuple[int, int, int]]) -> tuple[int, int, float]:
    """These arrivals (time in ns, size, flow) until the last: packets dropped, marked, and the mean time there, s."""
    left, delays = 0, 0
    free_at: int | None = None

    def serve(now: int) -> int | None:
        nonlocal left, delays
        packet = queue.dequeue(now)
        if packet is None:
            return None
        done = now + packet[1] * BYTE
        left, delays = left + 1, delays + done - packet[0]
        return done

    for at, size, flow in packets:
        while free_at is not None and free_at < at:
            free_at = serve(free_at)
        queue.enqueue(at, size, flow)
        if free_at is None:
            free_at = serve(at)
    dropped = queue.overflows + sum(one.dropped for one in queue.queues)
    return dropped, sum(one.marked for one in queue.queues), delays / left * 1e-9
