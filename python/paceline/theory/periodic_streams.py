"""A link with few places to wait in, fed by evenly spaced streams at random phases: ΣD/D/1/K.

That is what smooth streams that know nothing of each other bring to a link, and what pacing can make of traffic at
best where it is done in several places. No closed form is known with a finite buffer, so phases are drawn, always the
same ones, and each draw's link is followed exactly from one arrival to the next. With many streams it is M/D/1/K
(`finite_queues`).

Source: J. W. Roberts, J. T. Virtamo, "The superposition of periodic cell arrival streams in an ATM multiplexer", IEEE
Transactions on Communications 39(2), 1991, for the queue; it has no limit there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paceline.theory.quantities import number, whole

_Array = NDArray[np.float64]

#: Sets of phases that are drawn; periods that are counted, and at most before: until one leaves as much as the last.
DRAWS, COUNTED, MOST = 300, 4, 200


def utilisation(streams: int, load: float, waiting: int) -> float:
    """Share of time for which the link sends, over draws of the phases.

    `load` is what all streams offer, as a share of the link's rate, above 0; `waiting` packets have room beside the
    one on the wire, from 0. All packets have one size.
    """
    count, room = whole(streams, "streams", 1), whole(waiting, "waiting", 0)
    period = count / float(number(load, "load", above=0))  # in times that a packet takes on the link
    phases = np.sort(np.random.default_rng(1).random((DRAWS, count)), axis=1) * period
    left = np.zeros(DRAWS)
    for _ in range(MOST):
        before = left
        left, _ = _period(left, phases, period, room)
        if np.abs(left - before).max() < 1e-6:
            break
    idle = 0.0
    for _ in range(COUNTED):
        left, spent = _period(left, phases, period, room)
        idle += float(spent.mean())
    return 1.0 - idle / (COUNTED * period)


def _period(left: _Array, phases: _Array, period: float, room: int) -> tuple[_Array, _Array]:
    """What is left to send after a period that began with so much, and how long the link was idle in it, by draw."""
    idle = np.zeros(len(phases))
    now = np.zeros(len(phases))
    for at in phases.T:
        spent = at - now
        idle += np.maximum(spent - left, 0.0)
        left = np.maximum(left - spent, 0.0)
        left = left + (np.ceil(left - 1e-9) <= room)
        now = at
    spent = period - now
    return np.maximum(left - spent, 0.0), idle + np.maximum(spent - left, 0.0)
