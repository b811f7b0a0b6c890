"""How many packets of N perfectly paced flows fall into one interval: the binomial model of the data-centre paper.

Each flow sends W packets a round trip, evenly; in an interval of length delta it has a packet with probability p = W
delta / RTT. So N flows have Binomial(N, p): pacing leaves no bursts within a flow, but those between flows. Beside it
are the two extreme rounds that the paper compares, each of N W packets a round trip.

Source: M. Ghobadi, Y. Ganjali, "TCP Pacing in Data Center Networks", IEEE Hot Interconnects 2013, section III.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from paceline.errors import InputError
from paceline.theory.quantities import Amount, Numbers, answer, number, time, whole


def probability(window: Amount, interval: Amount, round_trip: Amount) -> Numbers:
    """p = W delta / RTT: that one flow has a packet in the interval. Raises `InputError` where it has more than one."""
    each = time(interval, "interval", above=0) / time(round_trip, "round_trip", above=0)
    chance = number(window, "window", above=0) * each
    if np.any(chance > 1):
        raise InputError("interval: a flow has more than one packet in it; write one of RTT / window at most")
    return answer(chance)


def packets(flows: int, chance: float) -> NDArray[np.float64]:
    """Probability of 0, 1, … N packets in one interval, Binomial(N, p)."""
    count = whole(flows, "flows", 1)
    p = float(number(chance, "chance", least=0, most=1))
    if p in (0.0, 1.0):
        return np.asarray([float(k == count * p) for k in range(count + 1)])
    logs = [_log_choose(count, k) + k * math.log(p) + (count - k) * math.log1p(-p) for k in range(count + 1)]
    return np.asarray(np.exp(logs))


def exceeds(burst: int, flows: int, chance: float) -> float:
    """Probability of more than `burst` packets in one interval."""
    return float(packets(flows, chance)[whole(burst, "burst", 0) + 1 :].sum())


def relative_spread(flows: Amount, chance: Amount) -> Numbers:
    """Standard deviation over mean of the packets in one interval: √((1 - p) / (N p))."""
    p = number(chance, "chance", above=0, most=1)
    return answer(np.sqrt((1 - p) / (number(flows, "flows", least=1) * p)))


def largest_burst(flows: Amount, window: Amount, *, paced: bool) -> Numbers:
    """Packets that arrive at once in the extreme rounds: N of as many flows at the worst of pacing, else a window W.

    Paced, N packets arrive together W times a round trip; unpaced at its best, W packets N times. So pacing is better
    while N is below W.
    """
    many, packets_each = number(flows, "flows", least=1), number(window, "window", above=0)
    many, packets_each = np.broadcast_arrays(many, packets_each)
    return answer(many if paced else packets_each)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
