"""What a window of some packets means for TCP: how losses are repaired, how long a sawtooth and slow start take.

*The regime.* Three duplicate acknowledgements need three packets that arrive after the lost one: a window of four at
the loss (RFC 5681, section 3.2). A sawtooth of mean W swings from 2/3 W to 4/3 W, so with a mean under four most losses
come where they cannot be repaired but by a timeout, and from six on hardly any do. Limited transmit (RFC 3042) would do
with two packets, but only for a single loss; where windows are that small, losses are so many that it changes little:
ns-2 has 0.57 timeouts a window cut with it and 0.55 without, at three packets (docs/fidelity.md).

*The sawtooth.* Reno's window falls to half and grows by a packet a round trip, so losses of a flow are half its peak of
round trips apart, and further where timeouts lie between. CUBIC's takes the time of its curve. BIC has shorter ones:
the estimate is good to a factor of two.

*Rates.* BBR's window follows the rate and the round trip that it measures. It has no sawtooth, and losses neither cut
its window as these formulas have it nor end in timeouts by them, so that they are not applied to it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline.doctor.case import Case
    from paceline.scenario.resolved_network import Tcp

#: Mean windows, packets: below the one, timeouts; from the other on, fast recovery.
TIMEOUTS_BELOW = 4.0
RECOVERY_FROM = 6.0

TIMEOUTS = "timeouts"
MIXED = "timeouts and fast recovery"
RECOVERY = "fast recovery"
NO_LOSS = "no loss: the window's limit comes first"
BY_RATE = "not foreseen: the measured rate sets the window, not losses"
#: Congestion controls by rate.
_BY_RATE = ("bbr", "bbr3")


def is_by_rate(tcp: Tcp | None) -> bool:
    """Whether formulas of losses say nothing of these connections."""
    return tcp is not None and tcp.variant in _BY_RATE


def regime(window: float) -> str:
    """How losses are repaired where this many packets are in flight when they happen."""
    if window < TIMEOUTS_BELOW:
        return TIMEOUTS
    return MIXED if window < RECOVERY_FROM else RECOVERY


def regime_of(case: Case, flow: int) -> str:
    """The regime of a flow with feedback."""
    tcp = case.network.flows[flow].tcp
    window = case.overflow_window[flow]
    if tcp is not None and tcp.max_window < case.window[flow]:
        return NO_LOSS
    return BY_RATE if is_by_rate(tcp) else regime(window)


def has_sawtooth(case: Case, flow: int) -> bool:
    """Whether losses cut the window of a flow with feedback again and again."""
    return regime_of(case, flow) not in (NO_LOSS, BY_RATE)


def peak_uncapped(case: Case, flow: int) -> float:
    """Packets at the top of the sawtooth: what overflows the buffer, at least 4/3 of the mean.

    Where there is no limit to overflow, the mean it is: a window above it only waits.
    """
    return max(4 / 3 * case.window[flow], case.window[flow] + finite(case.buffer_share(flow)))


def peak(case: Case, flow: int) -> float:
    """The same, and never above the maximum window; that itself where no buffer has a limit."""
    tcp = case.network.flows[flow].tcp
    top = max(4 / 3 * case.window[flow], case.overflow_window[flow])
    return min(top, tcp.max_window) if tcp else top


def finite(value: float) -> float:
    """The value, or 0 for what has no limit."""
    return value if math.isfinite(value) else 0.0


def epoch_s(case: Case, flow: int) -> float:
    """Time from one window cut of a flow to the next, seconds."""
    tcp = case.network.flows[flow].tcp
    top = peak(case, flow)
    trip = loaded_trip_s(case, flow)
    time = max(1.0, top / 2) * trip
    if tcp is not None and tcp.variant == "cubic":
        # Back at the top after K = cbrt(0.3 W / 0.4) seconds, and a packet above it cbrt(1 / 0.4) later; or as Reno
        # with its cut would be, 0.53 packets a round trip (RFC 9438, sections 4.2 and 4.3).
        time = max(trip, min(math.cbrt(0.75 * top) + math.cbrt(2.5), 0.3 * top / 0.53 * trip))
    if tcp is not None and regime(case.overflow_window[flow]) is not RECOVERY:
        time += 2 * max(tcp.min_rto_s, 2 * case.trip_s[flow])
    return time


def slow_start_s(case: Case, flow: int) -> float:
    """From the start to the first loss: a handshake, then a doubling each round trip; seconds."""
    tcp = case.network.flows[flow].tcp
    if tcp is None:
        return 0.0
    top = min(peak(case, flow), tcp.initial_ssthresh)
    return (2 + max(0.0, math.log2(max(1.0, top) / tcp.initial_window))) * case.trip_s[flow]


def loaded_trip_s(case: Case, flow: int) -> float:
    """The round trip with half of the bottleneck's buffer filled, seconds; without a limit, as if alone."""
    link = case.fair.limit[flow]
    trip = case.trip_s[flow]
    if link is None:
        return trip
    waiting = case.buffer_bytes(link)
    return trip if waiting is None else trip + waiting * 4 / case.network.links[link].rate_bps
