"""How long an edge pacer should hold packets: the model of the edge-vs-host paper, eq. (1) to (4) and Fig. 9.

A TCP flow gets 1 / (RTT √loss) (1). Pacing by up to d adds d to the round trip, d/2 each way, and divides the
burstiness of Poisson traffic (2) and so its loss in a link without a buffer (3). Both together (4) rise or fall with d:
`switch_loads` says at which loads.

A *packet time* is the time that the link spends on a packet; load is in packets a packet time. Equations (2) and (3)
want d in packet times. Fig. 9 counts milliseconds instead, d and RTT alike, as if a packet took one: `unit` says
which.

Eq. (3) is Chernoff's bound of P(Poisson(2 d load) ≥ 2 d): a window of 2 d packet times that sees more than it can
serve.

Source: H. Habibi Gharakheili, A. Vishwanath, V. Sivaraman, "Edge versus Host Pacing of TCP Traffic in Small Buffer
Networks", IFIP Networking 2013, section IV; (2) and (3) from V. Sivaraman et al., "Packet Pacing in Small Buffer
Optical Packet Switched Networks", IEEE/ACM Transactions on Networking 17(4), 2009.
"""

from __future__ import annotations

import math

import numpy as np

from paceline.theory.quantities import Amount, Numbers, answer, number, rate, size, time


def packet_times(delay: Amount, link: Amount, packet: Amount) -> Numbers:
    """A delay in packet times of a link: 10 ms are 120 of 1040 B at 100 Mbit/s."""
    each = size(packet, "packet", above=0) * 8 / rate(link, "link", above=0)
    return answer(time(delay, "delay", least=0) / each)


def throughput(round_trip: Amount, loss: Amount) -> Numbers:
    """Eq. (1), up to a constant: 1 / (RTT √loss), per second. `loss` in (0, 1]."""
    return answer(1 / (time(round_trip, "round_trip", above=0) * np.sqrt(number(loss, "loss", above=0, most=1))))


def round_trip(base: Amount, delay: Amount) -> Numbers:
    """RTT₀ + d, seconds: half of d in each direction, the paper says; this pacer takes nearly all of d."""
    return answer(time(base, "base", above=0) + time(delay, "delay", least=0))


def burstiness(load: Amount, delay: Amount) -> Numbers:
    """Eq. (2): standard deviation over mean of the rate of paced Poisson traffic, 1 / √(2 load d).

    `load` above 0, `delay` above 0 in packet times. The pacer, which cannot see what comes, is 14 to 26 % above. Who
    knows all that comes is below from three packets within d on, and falls as 1 / (load d): `exit_curves.smoothest`.
    """
    held = number(delay, "delay", above=0)
    return answer(1 / np.sqrt(2 * number(load, "load", above=0) * held))


def loss_bound(load: Amount, delay: Amount) -> Numbers:
    """Eq. (3): what a link without a buffer loses at most, (load e^(1 - load))^(2 d).

    `load` in (0, 1), `delay` from 0, in packet times.
    """
    return answer(np.exp(-2 * number(delay, "delay", least=0) * _decay(load)))


def throughput_measure(load: Amount, delay: Amount, base: Amount = "200 ms", unit: Amount = "1 ms") -> Numbers:
    """Eq. (4), up to a constant: 1 / ((RTT₀ + d) (load e^(1 - load))^d), what Fig. 9 plots against d.

    Args:
        load: in (0, 1).
        delay: d, a time.
        base: RTT₀.
        unit: what d and RTT₀ are counted in, and the result in one over it: Fig. 9's milliseconds, or a packet time.
    """
    each = time(unit, "unit", above=0)
    held, trip = time(delay, "delay", least=0) / each, time(base, "base", above=0) / each
    return answer(np.exp(held * _decay(load)) / (trip + held))


def switch_loads(base: Amount = "200 ms", longest: Amount = "100 ms", unit: Amount = "1 ms") -> tuple[float, float]:
    """The loads where eq. (4) turns over: below the first it rises with any d, above the second it falls to `longest`.

    Between them it falls first and rises later. d ln(measure)/dd = load - 1 - ln load - 1 / (RTT₀ + d) changes sign
    where RTT₀ + d = 1 / (load - 1 - ln load); for Fig. 9's numbers at loads 0.9033 and 0.9206.
    """
    each = float(time(unit, "unit", above=0))
    trip, held = float(time(base, "base", above=0)) / each, float(time(longest, "longest", above=0)) / each
    return _load_of(1 / trip), _load_of(1 / (trip + held))


def worst_delay(load: Amount, base: Amount = "200 ms", unit: Amount = "1 ms") -> Numbers:
    """The d at which eq. (4) is least, seconds: 0 where it rises from the start. Its best d is an end of the range."""
    each = time(unit, "unit", above=0)
    return answer(np.maximum(each / _decay(load) - time(base, "base", above=0), 0))


def _decay(load: Amount) -> Numbers:
    """-ln(load e^(1 - load)), above 0."""
    value = number(load, "load", above=0, below=1)
    return value - 1 - np.log(value)


def _load_of(decay: float) -> float:
    """The load below 1 whose `_decay` this is, by bisection."""
    low, high = math.exp(-1 - decay), 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if middle - 1 - math.log(middle) > decay else (low, middle)
    return middle
