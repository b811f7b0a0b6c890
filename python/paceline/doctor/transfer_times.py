"""How long a TCP transfer takes, and how much one without end has sent by some time: a few phases in closed form.

*Idea.* A handshake; slow start, whose window grows by a factor each round trip, until something ends it; then growth by
a packet a round trip (or CUBIC's) from what that left; then the rate that losses, the window's limit and the network
allow for good. N. Cardwell, S. Savage, T. Anderson, "Modeling TCP latency" (INFOCOM 2000), with the steady
rate of J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP throughput" (SIGCOMM 1998) and, for CUBIC, RFC 9438
section 5.1.

*Where it breaks.* Everything is a mean: one transfer's own losses come as fractions, and packets of other flows are
nothing but a round trip and a loss ratio.

All of it in arrays, a flow an element: packets, seconds, packets a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]

#: No loss ratio is taken as less: it only keeps divisions defined.
_NO_LOSS = 1e-9


@dataclass(frozen=True, slots=True)
class Senders:
    """What a connection brings along.

    Attributes:
        initial: window after the handshake.
        most: the maximum window.
        threshold: where slow start ends at the latest.
        growth: of the window a round trip in slow start: 2, or 1.5 where every second packet is acknowledged.
        cubic: grows as CUBIC (or BIC) does; else as Reno.
        repairs: several losses of a window are repaired in about a round trip; else that takes a timeout.
        opens: packets before the data, 1 or 0.
        first_timeout: before there is a round-trip sample.
        least_timeout: after that.
        most_timeout: however often it is doubled.
    """

    initial: Array
    most: Array
    threshold: Array
    growth: Array
    cubic: npt.NDArray[np.bool_]
    repairs: npt.NDArray[np.bool_]
    opens: Array
    first_timeout: Array
    least_timeout: Array
    most_timeout: Array

    def __getitem__(self, which: npt.NDArray[np.int64]) -> Senders:
        return Senders(*(getattr(self, name)[which] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Ways:
    """What the network does to a connection.

    Attributes:
        trip: round trip, queues and serialisation of a packet included.
        loss: of each packet.
        most_rate: that it may send for good.
        burst: packets back to back that no buffer on the way refuses.
        overflow: the window of slow start that overflows a buffer.
    """

    trip: Array
    loss: Array
    most_rate: Array
    burst: Array
    overflow: Array


class Course:
    """The phases of connections that begin with `initial` windows."""

    def __init__(self, senders: Senders, ways: Ways, initial: Array) -> None:
        self.senders, self.ways = senders, ways
        trip, loss = ways.trip, np.maximum(ways.loss, _NO_LOSS)
        timeout = np.minimum(np.maximum(senders.least_timeout, 1.3 * trip), senders.most_timeout)
        # a SYN that is lost waits for the first timeout, doubled each time
        tries = np.minimum(loss / np.maximum(1 - loss, 0.02), 6.0)
        self.opening = senders.opens * (trip + senders.first_timeout * (2.0**tries - 1))
        self.initial = np.minimum(initial, senders.most)
        pipe = ways.most_rate * trip
        # slow start: up to the limit of the window or the pipe, or a loss
        lossless = np.minimum(np.minimum(senders.most, senders.threshold), np.maximum(pipe, 1.0))
        bursts = np.where(self.initial > ways.burst, self.initial, np.inf)
        lossy = np.minimum(np.minimum(ways.overflow, 0.5 / loss), bursts)
        self.cut = lossy < lossless
        self.slow_end = np.maximum(np.minimum(lossless, lossy), self.initial)
        growth = senders.growth
        self.slow_rounds = np.log(self.slow_end / self.initial) / np.log(growth) + 1
        self.slow_packets = (growth * self.slow_end - self.initial) / (growth - 1)
        # steady: packets sent a second
        reno = np.sqrt(1.5 / loss)
        window = np.where(senders.cubic, np.maximum(reno, 1.054 * (trip / loss) ** 0.75), reno)
        stalls = timeout * np.minimum(1.0, 3 * np.sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)
        stalls = np.minimum(stalls, senders.most_timeout)
        steady = np.minimum(1 / (trip / window + stalls), ways.most_rate)
        self.steady = np.minimum(steady, senders.most / trip)
        # from what slow start left to the steady window
        left = np.where(self.cut, self.slow_end / 2, self.slow_end)
        steady_window = np.maximum(self.steady * trip, left)
        rounds = steady_window - left
        cubic = np.cbrt(rounds / 0.4) / trip
        self.grow_rounds = np.where(senders.cubic, np.minimum(rounds, cubic), rounds)
        self.grow_packets = np.minimum((left + steady_window) / 2, self.steady * trip) * self.grow_rounds
        few = np.minimum(self.slow_end, ways.burst) < 4
        self.timeout = timeout
        self.mends = np.where(senders.repairs & ~few, trip, timeout)
        self.repair = np.where(self.cut, self.mends, 0.0)

    def lost(self, packets: Array) -> Array:
        """Packets of a transfer that its own first burst, and the end of its slow start, lose."""
        first = np.minimum(packets, self.initial)
        first = np.maximum(first - np.maximum(self.ways.burst, 1.0), 0.0)
        more = np.clip(packets - self.slow_packets, 0.0, self.slow_end)
        own = self.cut & (self.ways.overflow < 0.5 / np.maximum(self.ways.loss, _NO_LOSS))
        return np.asarray(np.where(first > 0, first, np.where(own, more / 2, 0.0)))

    def time(self, packets: Array) -> Array:
        """To send so many packets and hear of the last, seconds, the handshake included."""
        growth, trip = self.senders.growth, self.ways.trip
        rounds = np.log1p(packets * (growth - 1) / self.initial) / np.log(growth)
        slow = np.maximum(np.ceil(rounds - 1e-9), 1.0) * trip
        slow = np.maximum(slow, trip + (packets - 1) / self.ways.most_rate)
        # a loss near the end leaves nobody to tell of it but the timer
        tail = np.minimum(1.0, packets * self.ways.loss)
        slow = slow + np.where(np.minimum(packets, self.initial) > self.ways.burst, self.mends, 0.0)
        slow = slow + tail / np.maximum(1 - self.ways.loss, 0.02) * self.timeout
        more = packets - self.slow_packets
        ramp = np.maximum(self.grow_packets, 1e-9)
        share = np.clip(more / ramp, 0.0, 1.0)
        ramped = self.slow_rounds * trip + self.repair + np.sqrt(share) * self.grow_rounds * trip
        long = ramped + np.maximum(more - self.grow_packets, 0.0) / self.steady
        return np.asarray(self.opening + np.where(more > 0, long, slow))

    def packets(self, time: Array) -> Array:
        """Sent by this time after the start, where there is always more to send."""
        growth, trip = self.senders.growth, self.ways.trip
        left = np.maximum(time - self.opening, 0.0)
        rounds = np.minimum(left / trip, self.slow_rounds)
        slow = np.minimum(self.initial * (growth**rounds - 1) / (growth - 1) + self.initial, self.slow_packets)
        slow = np.where(left > 0, slow, 0.0)
        left = np.maximum(left - self.slow_rounds * trip - self.repair, 0.0)
        ramp = np.maximum(self.grow_rounds * trip, 1e-12)
        share = np.clip(left / ramp, 0.0, 1.0)
        return np.asarray(slow + self.grow_packets * share**1.5 + np.maximum(left - ramp, 0.0) * self.steady)
