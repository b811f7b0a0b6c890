"""The point of inflection: how many flows it takes for pacing at hosts to stop paying.

Below N* = C RTT / B flows, paced flows at their worst (a packet of each at once) still load the buffer less than
unpaced ones at their best (a window of each in turn). The paper finds its point of inflection between N* and 2 N*.

Source: M. Ghobadi, Y. Ganjali, "TCP Pacing in Data Center Networks", IEEE Hot Interconnects 2013, section III, eq.
(1), (2), and section IV-C. N* is a lower bound up to a constant there (Ω), and 2 N* is an observation, not a theorem.
"""

from __future__ import annotations

from typing import NamedTuple

from paceline.theory.quantities import Amount, Numbers, answer, rate, size, time


class Bounds(NamedTuple):
    """Where the point of inflection lies, flows."""

    least: Numbers
    most: Numbers


def flows(capacity: Amount, round_trip: Amount, buffer: Amount) -> Numbers:
    """N* = C RTT / B."""
    bits = rate(capacity, "capacity", above=0) * time(round_trip, "round_trip", above=0)
    return answer(bits / (8 * size(buffer, "buffer", above=0)))


def bounds(capacity: Amount, round_trip: Amount, buffer: Amount) -> Bounds:
    """N* ≤ PoI ≤ 2 N*."""
    least = flows(capacity, round_trip, buffer)
    return Bounds(least, 2 * least)
