"""CoDel written out a second time, as RFC 8289 has it or with what ns-3 does otherwise (disciplines.py).

ns-3, like Linux, counts time in units of 1024 ns and takes 1/sqrt(count) by one Newton step a drop, in 16 bits; and it
sets the next mark from now on, where RFC 8289's drops, and Linux's marks, follow the time at which the last was due.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

TARGET, INTERVAL, MTU = 5_000_000, 100_000_000, 1500
#: A byte takes so long on the wire, ns.
BYTE = 1000

Packet = tuple[int, int]


@dataclass
class Codel:
    """One queue and its wire.

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
        self.dropped = self.marked = self.left = 0
        self.delays = 0

    def take(self, now: int) -> tuple[Packet | None, bool]:
        """The next packet, and whether it may be dropped."""
        if not self.queue:
            self.first_above = 0
            return None, False
        packet = self.queue.popleft()
        self.bytes -= packet[1]
        waited = now // self.unit - packet[0] // self.unit
        if waited < TARGET // self.unit or self.bytes <= MTU:
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

    def run(self, packets: list[Packet], places: int) -> Codel:
        """These arrivals, times in ns and sizes, until the last."""
        free_at: int | None = None

        def serve(now: int) -> int | None:
            packet = self.dequeue(now)
            if packet is None:
                return None
            done = now + packet[1] * BYTE
            self.left += 1
            self.delays += done - packet[0]
            return done

        for at, size in packets:
            while free_at is not None and free_at < at:
                free_at = serve(free_at)
            if len(self.queue) >= places:
                self.dropped += 1
                continue
            self.queue.append((at, size))
            self.bytes += size
            if free_at is None:
                free_at = serve(at)
        return self
