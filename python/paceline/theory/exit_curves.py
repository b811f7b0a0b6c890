"""The smoothest way out within a delay bound: of one who knows what comes, and of one who does not.

What has been served by t, S(t), lies between what has arrived, A(t), and what arrived d before, A(t - d). Of all such
curves the shortest path from the first arrival to the last deadline has the least highest rate, and the least of the
sum over time of every convex function of the rate, its variance included: `smoothest`. It is drawn like a string
between the two staircases. Its highest rate is also the largest, over pairs of packets i ≤ j, of the bytes of i to j
over the time from the arrival of i to the deadline of j: `least_peak`, which needs no curve.

A pacer does not know what comes. It follows the concave envelope of the deadlines that it knows, from what it has
served: `online`, which counts what that costs. Each deadline is compared with the envelope's end, pops what is no
longer on it, and is pushed: O(1) a packet, amortised, since nothing is popped twice.

Sources: J. Salehi, Z. Zhang, J. Kurose, D. Towsley, "Supporting stored video", IEEE/ACM Transactions on Networking
6(4), 1998, for the path; V. Sivaraman, H. ElGindy, D. Moreland, D. Ostry, "Packet Pacing in Small Buffer Optical Packet
Switched Networks", IEEE/ACM Transactions on Networking 17(4), 2009, for the envelope. `least_peak` is the dual, derived
here.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paceline.errors import InputError
from paceline.theory.quantities import Amount, size, time

_Array: TypeAlias = NDArray[np.float64]
_Point: TypeAlias = tuple[float, float]


class Curve(NamedTuple):
    """Straight lines between points.

    Attributes:
        times: of the points, s.
        served: by then, bytes.
    """

    times: NDArray[np.float64]
    served: NDArray[np.float64]


class Online(NamedTuple):
    """What a pacer that does not know what comes does, and what it costs.

    Attributes:
        releases: when its curve leaves each packet's first byte, s.
        compared: slopes compared at each arrival.
        pops: points of the envelope that each arrival pops.
        held: packets held as each arrives, itself included.
    """

    releases: NDArray[np.float64]
    compared: NDArray[np.int64]
    pops: NDArray[np.int64]
    held: NDArray[np.int64]


def smoothest(arrivals: Amount, sizes: Amount, delay: Amount) -> Curve:
    """The shortest path between arrivals and deadlines, of one who knows them all."""
    at, total, held = _workload(arrivals, sizes, delay)
    path = [(float(at[0]), 0.0)]
    below: deque[_Point] = deque()  # from the last bend on: the string if only arrivals were in its way,
    above: deque[_Point] = deque()  # and if only deadlines were
    for now, served, is_deadline in _corners(at, total, held):
        point = (now, served)
        mine, other, sign = (above, below, -1.0) if is_deadline else (below, above, 1.0)
        while mine and sign * _turn(mine[-2] if len(mine) > 1 else path[-1], mine[-1], point) <= 0:
            mine.pop()
        while not mine and other and sign * _turn(path[-1], other[0], point) <= 0:
            path.append(other.popleft())
        if point != path[-1]:
            mine.append(point)
    path += above
    times, served_by = np.array(path).T
    return Curve(times, served_by)


def releases(curve: Curve, sizes: Amount) -> NDArray[np.float64]:
    """When a curve leaves each packet's first byte, s."""
    total = np.cumsum(size(sizes, "sizes", above=0))
    first = np.concatenate([[0.0], total[:-1]])
    # numbers of bytes are whole but for rounding: a packet more is not what a billionth of one is
    line = np.minimum(np.searchsorted(curve.served, first + 1e-6, side="right"), len(curve.served) - 1)
    rise, run = (end[line] - end[line - 1] for end in (curve.served, curve.times))
    found: _Array = curve.times[line - 1] + (first - curve.served[line - 1]) / rise * run
    return found


def least_peak(arrivals: Amount, sizes: Amount, delay: Amount) -> float:
    """The least highest rate of any curve within the bound, bit/s; over all pairs of packets, so for thousands."""
    at, total, held = _workload(arrivals, sizes, delay)
    before = np.concatenate([[0.0], total[:-1]])
    each = ((total[i:] - before[i]) / (at[i:] + held - at[i]) for i in range(len(at)))
    return 8 * max(float(slopes.max()) for slopes in each)


def online(arrivals: Amount, sizes: Amount, delay: Amount) -> Online:
    """Along the envelope of the deadlines known so far, and the operations that it takes."""
    at, total, held = _workload(arrivals, sizes, delay)
    number = len(at)
    leaves, compared, pops, waiting = np.full(number, np.nan), *np.zeros((3, number), dtype=np.int64)
    start: _Point = (float(at[0]), 0.0)
    envelope: deque[_Point] = deque()
    released = 0
    firsts = [0.0, *total[:-1].tolist()]
    for index, (now, bytes_by) in enumerate(zip([*at.tolist(), np.inf], [*total.tolist(), np.inf], strict=True)):
        while envelope:
            end = envelope[0]
            slope = (end[1] - start[1]) / (end[0] - start[0])
            until = min(end[0], now)
            reached = end[1] if until == end[0] else start[1] + slope * (until - start[0])
            while released < index and firsts[released] < reached:
                leaves[released] = max(start[0], start[0] + (firsts[released] - start[1]) / slope)
                released += 1
            start = (until, reached)
            if until == end[0]:
                envelope.popleft()
            if until == now:
                break
        if index == number:
            break
        start = (now, start[1])
        waiting[index] = index + 1 - released
        deadline = (now + held, bytes_by)
        while envelope:
            compared[index] += 1
            if _turn(envelope[-2] if len(envelope) > 1 else start, envelope[-1], deadline) < 0:
                break
            envelope.pop()
            pops[index] += 1
        envelope.append(deadline)
    return Online(leaves, compared, pops, waiting)


def _workload(arrivals: Amount, sizes: Amount, delay: Amount) -> tuple[_Array, _Array, float]:
    """Times of arrivals, bytes that have arrived by each, and the bound."""
    at, each, held = time(arrivals, "arrivals"), size(sizes, "sizes", above=0), time(delay, "delay", above=0)
    if at.ndim != 1 or not at.size or (np.diff(at) < 0).any():
        raise InputError("arrivals: are not times in their order; write a list of one or more")
    if each.shape != at.shape:
        raise InputError(f"sizes: {each.size} for {at.size} arrivals; write one for each")
    return at, np.cumsum(each), float(held)


def _corners(at: _Array, total: _Array, held: float) -> list[tuple[float, float, bool]]:
    """Where the string may bend, in time: what has arrived before each arrival, and what is due by each deadline."""
    times = np.concatenate([at[1:], at + held])
    served = np.concatenate([total[:-1], total])
    is_deadline = np.repeat([False, True], [len(at) - 1, len(at)])
    order = np.lexsort([is_deadline, times])
    # of several at one time the tightest: the least that has arrived, the most that is due
    found: list[tuple[float, float, bool]] = []
    for now, bytes_by, due in zip(times[order].tolist(), served[order].tolist(), is_deadline[order], strict=True):
        if found and found[-1][0] == now and found[-1][2] == due:
            if due:
                found[-1] = (now, bytes_by, True)
        else:
            found.append((now, bytes_by, bool(due)))
    end = found[-1]
    return [*found[:-1], (end[0], end[1], False), end]


def _turn(a: _Point, b: _Point, c: _Point) -> float:
    """Above 0 where the way from a over b to c turns up."""
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
