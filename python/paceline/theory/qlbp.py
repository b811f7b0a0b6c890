"""QLBP in steady state: queue, delay and its bound (Theorem 1), the rows of Table II, parameters by rule of thumb.

The pacer sends at mu_min + (mu_max - mu_min) q / Q_max while its queue q is at most Q_max, and at the link's rate
beyond (1). A steady source of rate r between mu_min and mu_max meets the queue that gives r.

Source: Y. Cai, T. Wolf, W. Gong, "Delaying Transmissions in Data Communication Networks to Improve Transport-Layer
Performance", IEEE JSAC 29(5), 2011: eq. (1), Theorem 1 with appendix A, section III-C, Table II.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paceline.errors import InputError
from paceline.theory.quantities import Amount, Numbers, answer, number, rate, size, time, whole


class Parameters(NamedTuple):
    """What a QLBP pacer is set by: rates in bit/s, queue in bytes."""

    mu_min_bps: float
    mu_max_bps: float
    q_max_bytes: float


def parameters(capacity: Amount, load: Amount, max_delay: Amount) -> Parameters:
    """The rule of thumb of section III-C: mu_max = (1 + load) C / 2, mu_min = load C / 2, Q_max = D_max mu_max.

    `load` of 1, in (0, 1].
    """
    link, share = float(rate(capacity, "capacity", above=0)), float(number(load, "load", above=0, most=1))
    fastest = (1 + share) / 2 * link
    return Parameters(share / 2 * link, fastest, float(time(max_delay, "max_delay", above=0)) * fastest / 8)


def service_rate(queue: Amount, mu_min: Amount, mu_max: Amount, q_max: Amount, capacity: Amount) -> Numbers:
    """Eq. (1): bit/s at a queue of this size."""
    slowest, fastest = _rates(mu_min, mu_max)
    held, most = size(queue, "queue", least=0), size(q_max, "q_max", above=0)
    link = rate(capacity, "capacity", least=float(np.max(fastest)))
    return answer(np.where(held <= most, slowest + (fastest - slowest) * held / most, link))


def steady_queue(source: Amount, mu_min: Amount, mu_max: Amount, q_max: Amount) -> Numbers:
    """What waits while a steady source of this rate (bit/s) goes through, bytes: 0 to mu_min, Q_max from mu_max on."""
    slowest, fastest = _rates(mu_min, mu_max)
    share = (rate(source, "source", above=0) - slowest) / (fastest - slowest)
    return answer(np.clip(share, 0, 1) * size(q_max, "q_max", above=0))


def steady_delay(source: Amount, mu_min: Amount, mu_max: Amount, q_max: Amount, capacity: Amount) -> Numbers:
    """The delay that pacing adds to a steady source, seconds: queue / rate, and 0 above the link's rate (Theorem 1).

    The four cases of appendix A. A source that the link cannot carry fills any buffer, paced or not: pacing adds
    nothing.
    """
    load = rate(source, "source", above=0)
    held = np.asarray(steady_queue(source, mu_min, mu_max, q_max))
    return answer(np.where(load > rate(capacity, "capacity", above=0), 0.0, held * 8 / load))


def delay_bound(q_max: Amount, mu_max: Amount) -> Numbers:
    """Theorem 1: no steady source is delayed by more than Q_max / mu_max, seconds."""
    return answer(size(q_max, "q_max", least=0) * 8 / rate(mu_max, "mu_max", above=0))


def steady_packets(source: Amount, mu_min: Amount, mu_max: Amount, q_max_packets: int) -> Numbers:
    """Packets that wait at arrivals of equal packets at a constant rate: the rows of Table II.

    ceil((r - mu_min) / (mu_max - mu_min) Q_max) - 1 up to mu_max, none below 0; then Q_max. It is the least whole queue
    whose rate with the packet that leaves is r at least; the paper prints the rows, not this rule.
    """
    most = whole(q_max_packets, "q_max_packets", 1)
    slowest, fastest = _rates(mu_min, mu_max)
    load = rate(source, "source", above=0)
    fluid = (load - slowest) / (fastest - slowest) * most
    # 5.000000000000001 is 5
    below = np.maximum(np.ceil(fluid - 1e-9 * most) - 1, 0)
    return answer(np.where(load > fastest, most, below))


def drain_time(
    packet: Amount, packets: int, mu_min: Amount, mu_max: Amount, q_max_packets: int, capacity: Amount
) -> Numbers:
    """How long so many equal packets take to leave when no more come, seconds: the sum over k of L / rate(k), eq. (1).

    It bounds the delay of the last of them whatever its source, steady or not: arrivals only add to the rate.
    """
    most = whole(q_max_packets, "q_max_packets", 1)
    slowest, fastest = _rates(mu_min, mu_max)
    link = rate(capacity, "capacity", least=float(np.max(fastest)))
    queues = range(1, whole(packets, "packets", 1) + 1)
    rates = [slowest + (fastest - slowest) * k / most if k <= most else link for k in queues]
    return answer(size(packet, "packet", above=0) * 8 * np.sum([1 / one for one in rates], axis=0))


def _rates(mu_min: Amount, mu_max: Amount) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    slowest, fastest = rate(mu_min, "mu_min", least=0), rate(mu_max, "mu_max", above=0)
    if np.any(slowest >= fastest):
        raise InputError(
            f"mu_min: {np.max(slowest):g} bit/s is not below mu_max; write a rate below {np.min(fastest):g}"
        )
    return slowest, fastest
