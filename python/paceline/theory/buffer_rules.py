"""How large a buffer should be: the rules of the literature, one function each, sizes in bytes.

Sources, by function: C. Villamizar, C. Song, CCR 24(5), 1994 (`bandwidth_delay`); A. Dhamdhere, H. Jiang, C.
Dovrolis, "Buffer Sizing for Congested Internet Links", INFOCOM 2005 (`synchronised`); G. Appenzeller, I. Keslassy, N.
McKeown, SIGCOMM 2004 (`many_flows`); D. Wischik, N. McKeown, "Part I: Buffer Sizes for Core Routers", CCR 35(3), 2005
(`uniform_windows`); M. Enachescu, Y. Ganjali, A. Goel, N. McKeown, T. Roughgarden, "Routers with Very Small Buffers",
INFOCOM 2006 (`tiny_packets`).
"""

from __future__ import annotations

import numpy as np

from paceline.theory.quantities import Amount, Numbers, answer, number, rate, time

#: Backoff to this share of the window: Reno's half, CUBIC's by RFC 9438.
RENO, CUBIC = 0.5, 0.7


def bandwidth_delay(capacity: Amount, round_trip: Amount) -> Numbers:
    """One BDP, C RTT: keeps a link busy under one Reno flow, or flows that lose together."""
    return answer(rate(capacity, "capacity", above=0) * time(round_trip, "round_trip", above=0) / 8)


def synchronised(capacity: Amount, round_trips: Amount) -> Numbers:
    """C times the harmonic mean of the flows' round trips: they differ, but all flows halve at once."""
    trips = np.ravel(time(round_trips, "round_trips", above=0))
    return bandwidth_delay(capacity, float(trips.size / np.sum(1 / trips)))


def many_flows(capacity: Amount, round_trip: Amount, flows: Amount) -> Numbers:
    """C RTT / √n: n flows that do not keep step."""
    return answer(bandwidth_delay(capacity, round_trip) / np.sqrt(number(flows, "flows", least=1)))


def uniform_windows(capacity: Amount, round_trip: Amount, flows: Amount, deviations: Amount = 3.3) -> Numbers:
    """0.63 C RTT / √n: n windows, each uniform between 2/3 and 4/3 of its mean, exceed C RTT + B in 0.1 % of the time.

    `deviations` are standard deviations of the sum: 3.3 for 99.9 %. The deviation of one window is (2/3) / √12 =
    0.192 of its mean.
    """
    each = 2 / 3 / np.sqrt(12) * number(deviations, "deviations", above=0)
    return answer(each * many_flows(capacity, round_trip, flows))


def tiny_packets(max_window: Amount, load: Amount, utilisation: Amount = 0.9) -> Numbers:
    """Packets, not bytes, for paced flows that cannot fill the link: log(W² / (2 (1 - θ))) / log(1 / rho).

    Poisson arrivals lose no more than rho^B of their packets; a loss costs a flow no more than W²/2 packets, which it
    is short of while it grows from nothing to W; so a share θ of what the windows allow is carried once rho^B ≤ 2 (1
    - θ) / W².

    Args:
        max_window: W, packets.
        load: rho, of the link with every window at its largest, in (0, 1).
        utilisation: θ, in (0, 1).
    """
    window = number(max_window, "max_window", least=1)
    lost = 2 * (1 - number(utilisation, "utilisation", above=0, below=1)) / window**2
    return answer(np.maximum(np.log(lost) / np.log(number(load, "load", above=0, below=1)), 0))


def one_flow_utilisation(buffer_of_bdp: Amount, backoff: Amount = RENO) -> Numbers:
    """Least rate of one loss-based flow, of 1: min(backoff (1 + B/BDP), 1), just after it cut its window to `backoff`.

    Full from B = (1 / backoff - 1) BDP on: one BDP for Reno, 0.43 for CUBIC. Its mean over a sawtooth is
    `one_flow_mean_utilisation`.
    """
    share = number(buffer_of_bdp, "buffer_of_bdp", least=0)
    return answer(np.minimum(number(backoff, "backoff", above=0, below=1) * (1 + share), 1))


def one_flow_mean_utilisation(buffer_of_bdp: Amount, backoff: Amount = RENO) -> Numbers:
    """Mean of one flow over its sawtooth, of 1. Reno: 3/4 without a buffer, full from one BDP on.

    With b = B/BDP the window goes from backoff (1 + b) to 1 + b in BDPs, by as much each round trip. Below 1 a round
    trip lasts one RTT and carries the window; above, it lasts as much longer as it carries more. Packets over time of
    both parts. CUBIC and BIC rise faster at first, and are a little above this.
    """
    share = number(backoff, "backoff", above=0, below=1)
    b = np.minimum(number(buffer_of_bdp, "buffer_of_bdp", least=0), 1 / share - 1)
    low = share * (1 + b)
    carried = ((1 - low**2) + ((1 + b) ** 2 - 1)) / 2
    lasted = (1 - low) + ((1 + b) ** 2 - 1) / 2
    return answer(carried / lasted)


def bbr_utilisation(buffer_of_bdp: Amount) -> Numbers:
    """Least rate of one BBR (v1) flow, of 1: min(3/4 + B/BDP, 1); its pacing gain is 3/4 once a cycle."""
    return answer(np.minimum(0.75 + number(buffer_of_bdp, "buffer_of_bdp", least=0), 1))
