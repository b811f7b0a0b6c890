"""n Reno flows over a buffer so small that it only decides what is lost: the fluid model of Raina, Towsley and Wischik.

Each window follows dw/dt = 1/T - (w/2) x(t - T) p(t - T), with x = w/T and p the loss at offered load y = n x / C.
It rests where w² p = 2. Two curves of loss: a link without a buffer, p = (1 - 1/y)+, and B packets of Poisson
arrivals, p = y^B (paced flows; where a flow's packets come in bursts, B is counted in bursts).

Linear around its rest, w' = -(w(t) + (1 + e) w(t - T)) / (w* T) with e the elasticity of p (B for y^B): it does not
oscillate where T √(b² - a²) < arccos(-a/b) for a = 1/(w* T), b = (1 + e) a. That is why a larger buffer may do harm.

Sources: G. Raina, D. Towsley, D. Wischik, "Part II: Control Theory for Buffer Sizing", CCR 35(3), 2005; G. Raina, D.
Wischik, "Buffer Sizes for Large Multiplexers: TCP Queueing Theory and Instability Analysis", NGI 2005.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from paceline.theory.quantities import number


@dataclass(frozen=True, slots=True)
class Rest:
    """Where the flows settle.

    Attributes:
        load: offered, of the link's capacity; above 1 where there is no buffer.
        loss: of packets.
        window: packets.
        utilisation: carried, load · (1 - loss).
        stable: whether small disturbances die out.
    """

    load: float
    loss: float
    window: float
    utilisation: float
    stable: bool


def rest(share: float, buffer_packets: float | None = None) -> Rest:
    """The fixed point of the fluid model.

    Args:
        share: a flow's part of the bandwidth-delay product, C T / n, packets: above 0.
        buffer_packets: B of y^B, above 0; ``None`` for a link without a buffer. The curve is cut at p = 1.

    Raises:
        InputError: outside these.
    """
    part = float(number(share, "share", above=0))
    places = None if buffer_packets is None else float(number(buffer_packets, "buffer_packets", above=0))

    def loss(load: float) -> float:
        if places is None:
            return max(1 - 1 / load, 0.0)
        return float(min(load**places, 1.0))

    # w = y share at load y; w² p(y) rises with y, and reaches 2 once.
    low, high = 0.0, 1.0
    while (high * part) ** 2 * loss(high) < 2:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if middle == 0 or (middle * part) ** 2 * loss(middle) < 2 else (low, middle)
    load, lost = high, loss(high)
    window = load * part
    elasticity = (1 / (load - 1) if load > 1 else math.inf) if places is None else places * (load < 1)
    return Rest(load, lost, window, load * (1 - lost), _stable(window, elasticity))


def _stable(window: float, elasticity: float) -> bool:
    """In units of the round trip: s = -a - b e^(-s) has no root to the right."""
    if math.isinf(elasticity):
        return False
    a = 1 / window
    b = (1 + elasticity) * a
    return elasticity <= 0 or math.sqrt(b * b - a * a) < math.acos(-a / b)
