"""A link with few places to wait in, fed by Poisson arrivals: M/M/1/K and M/D/1/K.

K counts the packet on the wire: a buffer of n packets that counts what waits is K = n + 1 (`counts = "waiting"` in a
scenario; `"waiting+service"` is K = n, and `"ns2"` K = n too, since it refuses at n - 1 waiting). Published tables
that count waiting places have K one less. Load is the rate of arrivals times the mean time of service; it may be
above 1.

Sources: D. Gross, J. Shortle, J. Thompson, C. Harris, "Fundamentals of Queueing Theory", 4th edition, section 2.4
(M/M/1/K) and 5.1.7 (M/G/1/K by the chain embedded at departures).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from paceline.errors import InputError
from paceline.theory.quantities import Amount, Numbers, answer, number, whole

_Array = NDArray[np.float64]
#: No link of interest waits for more.
_LARGEST = 100_000


def mm1k_states(load: float, places: int) -> _Array:
    """Probability that 0, 1, … K packets are there, M/M/1/K: geometric, cut at K. `load` above 0, `places` K from 1."""
    offered, most = _arguments(load, places)
    logarithm = np.arange(most + 1) * math.log(offered)
    weights = np.exp(logarithm - logarithm.max())
    return np.asarray(weights / weights.sum())


def md1k_states(load: float, places: int) -> _Array:
    """Probability that 0, 1, … K packets are there, M/D/1/K. `load` above 0, `places` K from 1.

    From the chain embedded at departures, pi: p_n = pi_n / (pi_0 + load), and p_K the rest. Exact to rounding up to K
    in the hundreds for loads near 1; beyond, sums of positive terms lose nothing.
    """
    offered, most = _arguments(load, places)
    left_behind = _embedded(offered, most)
    scale = left_behind[0] + offered
    return np.append(left_behind / scale, 1 - 1 / scale)


def mm1k_loss(load: Amount, places: int) -> Numbers:
    """Share of arrivals that find K packets, M/M/1/K: (1 - rho) rho^K / (1 - rho^(K+1)), and 1 / (K + 1) at rho = 1."""
    return _each(load, lambda offered: float(mm1k_states(offered, places)[-1]))


def md1k_loss(load: Amount, places: int) -> Numbers:
    """Share of arrivals that find K packets, M/D/1/K: 1 - 1 / (pi_0 + rho). Arrivals see what time sees."""
    return _each(load, lambda offered: _md1k_loss(offered, places))


def mean_packets(states: _Array) -> float:
    """Mean number of packets there, the one on the wire included; of what `mm1k_states` or `md1k_states` gave."""
    return float(np.arange(len(states)) @ states)


def mean_wait(states: _Array, load: float) -> float:
    """Mean wait before service of what is not lost, in times of service: by Little's law.

    `load` is the one that the states are of.
    """
    offered = float(number(load, "load", above=0))
    waiting = float(np.maximum(np.arange(len(states)) - 1, 0) @ states)
    return waiting / (offered * (1 - float(states[-1])))


def places_for(loss: float, load: float, model: Callable[[float, int], Numbers] = md1k_loss) -> int:
    """The least K that loses no more than `loss`, in (0, 1), at this load. Raises `InputError` where no K does."""
    target = float(number(loss, "loss", above=0, below=1))
    offered = float(number(load, "load", above=0))
    if offered > 1 and target <= 1 - 1 / offered:
        raise InputError(f"loss: load {offered:g} loses {1 - 1 / offered:.3g} over any buffer; write a larger loss")
    high = 1
    while model(offered, high) > target:
        high *= 2
        if high > _LARGEST:
            raise InputError(f"loss: {target:g} at load {offered:g} takes over {_LARGEST} packets; write a larger loss")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if model(offered, middle) > target else (low, middle)
    return high


def _md1k_loss(load: float, places: int) -> float:
    offered, most = _arguments(load, places)
    return 1 - 1 / (float(_embedded(offered, most)[0]) + offered)


def _embedded(load: float, places: int) -> _Array:
    """States left behind by departures, 0 to K - 1.

    In balance across the cut between j and j + 1: pi_{j+1} a_0 = pi_0 t_j + sum over 1 ≤ i ≤ j of pi_i t_{j-i+1},
    where a_0 is the probability of no arrival in a service and t_j that of more than j. All terms are positive.
    """
    arrivals = _poisson(load, places + 1)
    beyond = np.maximum(_tails(load, arrivals), 0.0)
    weights = np.zeros(places)
    weights[0] = 1.0
    for j in range(places - 1):
        flow = weights[0] * beyond[j] + float(weights[1 : j + 1] @ beyond[j:0:-1])
        weights[j + 1] = flow / arrivals[0]
        if weights[j + 1] > 1e200:
            weights /= weights[j + 1]
    return np.asarray(weights / weights.sum())


def _poisson(mean: float, count: int) -> _Array:
    """P(0), … P(count - 1)."""
    terms = np.empty(count)
    terms[0] = math.exp(-mean)
    for j in range(1, count):
        terms[j] = terms[j - 1] * mean / j
    return terms


def _tails(mean: float, terms: _Array) -> _Array:
    """P(more than j), summed from the small end, where 1 - P(up to j) would be rounding alone."""
    more = [terms[-1] * mean / len(terms)]
    while more[-1] > 0:
        more.append(more[-1] * mean / (len(terms) + len(more)))
    whole_row = np.concatenate([terms, more])
    return np.asarray(np.cumsum(whole_row[::-1])[::-1][1 : len(terms) + 1])


def _arguments(load: float, places: int) -> tuple[float, int]:
    return float(number(load, "load", above=0, most=700)), whole(places, "places", 1)


def _each(load: Amount, formula: Callable[[float], float]) -> Numbers:
    loads = number(load, "load", above=0)
    return answer(np.asarray([formula(float(one)) for one in np.ravel(loads)]).reshape(loads.shape))
