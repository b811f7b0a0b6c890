"""What a TCP flow gets at a given loss: the square root, RFC 5348's formula, the full model (PFTK).

All are in packets a second, for Reno that sends for ever, with an acknowledgement for every b packets (`delayed`). Loss
is that of a packet before which nothing of its round was lost; PFTK loses the rest of such a round too.

Sources: M. Mathis, J. Semke, J. Mahdavi, T. Ott, CCR 27(3), 1997 (`square_root`); RFC 5348, section 3.1 (`rfc5348`);
J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno Performance", IEEE/ACM Transactions on Networking
8(2), 2000, eq. (32) (`pftk`) and (33) (`rfc5348`, which
leaves out its min(1, ·)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paceline.theory.quantities import Amount, Numbers, answer, number, time

_Array = NDArray[np.float64]
_UNBOUNDED = 1e12


def square_root(loss: Amount, round_trip: Amount, *, delayed: Amount = 1) -> Numbers:
    """√(3 / (2 b p)) / RTT: good while losses are few enough that none ends in a timeout. `loss` in (0, 1]."""
    p, b = number(loss, "loss", above=0, most=1), number(delayed, "delayed", least=1)
    return answer(np.sqrt(3 / (2 * b * p)) / time(round_trip, "round_trip", above=0))


def rfc5348(loss: Amount, round_trip: Amount, timeout: Amount | None = None, *, delayed: Amount = 1) -> Numbers:
    """1 / (RTT √(2bp/3) + T₀ 3 √(3bp/8) p (1 + 32 p²)), TFRC's formula. `timeout` T₀ is 4 RTT unless given."""
    p, b = number(loss, "loss", above=0, most=1), number(delayed, "delayed", least=1)
    trip = time(round_trip, "round_trip", above=0)
    first = 4 * trip if timeout is None else time(timeout, "timeout", above=0)
    return answer(1 / (trip * np.sqrt(2 * b * p / 3) + first * 3 * np.sqrt(3 * b * p / 8) * p * (1 + 32 * p**2)))


def pftk(
    loss: Amount, round_trip: Amount, timeout: Amount, *, max_window: Amount = _UNBOUNDED, delayed: Amount = 1
) -> Numbers:
    """The full model, packets sent a second: eq. (32).

    Args:
        loss: p in (0, 1).
        round_trip: RTT.
        timeout: T₀, of the first timeout; each further doubles, up to 64 T₀.
        max_window: W_max, packets, from 1.
        delayed: b, packets acknowledged by one.
    """
    p, b = number(loss, "loss", above=0, below=1), number(delayed, "delayed", least=1)
    trip, first = time(round_trip, "round_trip", above=0), time(timeout, "timeout", above=0)
    most = number(max_window, "max_window", least=1)
    start = (2 + b) / (3 * b)
    free = start + np.sqrt(8 * (1 - p) / (3 * b * p) + start**2)
    window = np.minimum(free, most)
    ends = _ends_in_timeout(p, window)
    rounds = np.where(free < most, b / 2 * free + 1, b / 8 * most + (1 - p) / (p * most) + 2)
    sent = (1 - p) / p + window + ends / (1 - p)
    return answer(sent / (trip * rounds + ends * first * _backoff(p) / (1 - p)))


def _ends_in_timeout(p: _Array, window: _Array) -> _Array:
    """Probability that a loss at this window ends in a timeout, Q̂ (eq. 24): fewer than three packets come after it."""
    stay = 1 - p
    three = 1 - stay**3
    rest = np.maximum(window - 3, 0)
    chance = three * (1 + stay**3 * (1 - stay**rest)) / -np.expm1(window * np.log1p(-p))
    return np.asarray(np.minimum(chance, 1))


def _backoff(p: _Array) -> _Array:
    """f(p) of eq. (29): a sequence of timeouts lasts T₀ f(p) / (1 - p)."""
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
