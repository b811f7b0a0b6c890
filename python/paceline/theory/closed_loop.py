"""Throughput against the edge pacer's delay, with TCP that answers: what eq. (4) of the edge-vs-host paper leaves out.

Eq. (4) takes the load of a link as given (`edge_delay.throughput_measure`). But fewer losses let TCP send more, which
loses again. Here both meet: n Reno flows send what the full model says at the loss that they see
(`tcp_throughput.pftk`), and a buffer of K packets loses what Brownian motion reflected at 0 and K does, of arrivals
that come b together,

    idle = (x - 1) / (exp(2 (x - 1) K / (b x)) - 1),    loss = 1 - (1 - idle) / x,

at an offered load x. b is the link's own: `burst` finds it from the throughput that was measured unpaced. An edge pacer
that holds packets for up to d, which are D packets of the link, over E edges, spreads these bursts:

    b(d) = 1 + (b - 1) / (1 + √(D / √E)).

There is no proof of that, and no constant in it: single packets remain where D is large, the burst where it is small,
and √E is how superposed smooth streams fill a queue. How far it holds is the finding `closed-loop`.

Sources: reflected Brownian motion: J. M. Harrison, "Brownian Motion and Stochastic Flow Systems", 1985, section 5.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from paceline.theory.quantities import Amount, number, rate, size, time
from paceline.theory.tcp_throughput import pftk

#: Of a round trip, which the first timeout lasts, and its least (ns-2's), s.
_TIMEOUT, _LEAST_TIMEOUT = 1.5, 0.2
#: Of losses and bursts, relative.
_TOLERANCE = 1e-7
_LEAST_LOSS, _MOST_LOSS = 1e-8, 0.7
_LEAST_BURST, _MOST_BURST = 0.01, 1000.0


@dataclass(frozen=True, slots=True)
class Link:
    """A link that n long Reno flows share.

    Args:
        capacity: its rate.
        packet: the size of each packet.
        buffer_packets: how many can wait, from 1.
        round_trip: without queues, the mean of all flows.
        flows: how many, from 1.

    Raises:
        InputError: an argument outside its domain.
    """

    capacity: Amount
    packet: Amount
    buffer_packets: float
    round_trip: Amount
    flows: float

    def __post_init__(self) -> None:
        number(self.buffer_packets, "buffer_packets", least=1)
        number(self.flows, "flows", least=1)
        time(self.round_trip, "round_trip", above=0)
        _ = self.packets_a_second

    @property
    def packets_a_second(self) -> float:
        """Of the link."""
        bits = 8 * float(size(self.packet, "packet", above=0))
        return float(rate(self.capacity, "capacity", above=0)) / bits


@dataclass(frozen=True, slots=True)
class Rest:
    """Where flows and link settle.

    Attributes:
        load: offered, of the link's capacity.
        loss: of packets.
        utilisation: carried.
    """

    load: float
    loss: float
    utilisation: float


def rest(link: Link, burst: float = 1.0, delay: Amount = 0.0) -> Rest:
    """Where the flows settle whose packets come `burst` together and are held for up to `delay` beforehand.

    ```
    >>> link = Link("100 Mbit/s", "1040 B", 4, "250 ms", 1000)
    >>> found = rest(link)
    >>> round(found.utilisation, 2), round(found.loss, 2)
    (0.9, 0.1)

    ```
    """
    number(burst, "burst", above=0)
    trip = float(time(link.round_trip, "round_trip", above=0)) + float(time(delay, "delay", least=0))
    timeout = max(_LEAST_TIMEOUT, _TIMEOUT * trip)
    low, high = _LEAST_LOSS, _MOST_LOSS
    while True:
        loss = math.sqrt(low * high)
        load = link.flows * float(pftk(loss, trip, timeout)) / link.packets_a_second
        utilisation = 1 - _idle(load, link.buffer_packets + 1, burst)
        if loss in (low, high) or high / low < 1 + _TOLERANCE:
            return Rest(load, 1 - utilisation / load, utilisation)
        low, high = (loss, high) if 1 - utilisation / load > loss else (low, loss)


def burst(link: Link, utilisation: float) -> float:
    """How many packets come together, from the utilisation that was measured unpaced, above 0 and below 1.

    ```
    >>> link = Link("100 Mbit/s", "1040 B", 4, "250 ms", 1000)
    >>> round(burst(link, rest(link, 3.0).utilisation), 3)
    3.0

    ```
    """
    number(utilisation, "utilisation", above=0, below=1)
    low, high = _LEAST_BURST, _MOST_BURST
    while high / low > 1 + _TOLERANCE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if rest(link, middle).utilisation > utilisation else (low, middle)
    return math.sqrt(low * high)


def paced_burst(burst: float, delay: Amount, edges: float, packets_a_second: float) -> float:
    """What pacers at so many edges leave of bursts: b(d) above; single packets are not spread.

    ```
    >>> round(paced_burst(4.0, "10 ms", 10, 12_000), 3)
    1.42

    ```
    """
    held = float(time(delay, "delay", least=0)) * float(number(packets_a_second, "packets_a_second", above=0))
    apart = math.sqrt(held / math.sqrt(float(number(edges, "edges", least=1))))
    return burst if burst <= 1 else 1 + (burst - 1) / (1 + apart)


def predicted(link: Link, unpaced: float, delay: Amount, edges: float) -> Rest:
    """What edge pacers make of a link whose utilisation is `unpaced` without them.

    Args:
        link: it, and its flows.
        unpaced: measured, above 0 and below 1.
        delay: for how long packets are held at most.
        edges: how many pacers the flows are spread over, from 1.

    ```
    >>> link = Link("100 Mbit/s", "1040 B", 4, "250 ms", 1000)
    >>> round(predicted(link, 0.7, "10 ms", 10).utilisation, 2)
    0.86

    ```
    """
    left = paced_burst(burst(link, unpaced), delay, edges, link.packets_a_second)
    return rest(link, left, delay)


def _idle(load: float, places: float, burst: float) -> float:
    """Share of time in which the link has nothing to send."""
    surplus = load - 1
    exponent = 2 * surplus * places / (burst * load)
    if abs(exponent) < 1e-9:
        return burst * load / (2 * places)
    return float(surplus / np.expm1(min(exponent, 700.0)))
