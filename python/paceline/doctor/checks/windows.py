"""Checks of TCP windows: what caps them, and what they are too small for."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from paceline.doctor import tcp_windows, units
from paceline.doctor.case import Case
from paceline.doctor.finding import Problem, check
from paceline.doctor.flow_groups import Group

#: A link that is expected to be this full is full.
FULL = 0.98


@check("window-cap", "warning", "note")
def window_cap(case: Case) -> Iterator[Problem]:
    """The maximum window is below the fair window.

    The receiver's window (`max_window`) holds a flow below its fair share of the bottleneck over a round trip, so
    that it never loses and nothing is learnt about buffers. The profile `ns2` has ns-2's default of 20 packets. A
    note where the cap lies between the fair window and the top of the sawtooth, 4/3 of it.
    """
    for group in case.connections:
        tcp = group.first.tcp
        assert tcp is not None
        # By a packet at least: of a part of one nothing is seen.
        capped = [flow for flow in group.flows if tcp.max_window <= case.window[flow] - 1]
        clipped = [flow for flow in group.flows if tcp.max_window < 4 / 3 * case.window[flow]]
        fair = units.span((case.window[flow] for flow in capped or clipped or group.flows), units.number)
        path = f"{_path(case, group)}.tcp.max_window"
        table = case.table(group.first).get("tcp") or {}
        origin = "" if "max_window" in table else f", the default of profile {case.profile(group.first)}"
        needed = max(max(tcp_windows.peak_uncapped(case, flow) for flow in group.flows), 1.0)
        remedy = f'max_window = "{units.round_up(2 * needed)} packets"'
        if len(capped) > len(group.flows) // 2:
            link = case.fair.limit[capped[0]]
            name = case.network.links[link].name if link is not None else "the bottleneck"
            used = case.load_bps[link] / case.network.links[link].capacity_bps if link is not None else 1.0
            rest = (
                f"the flows can fill {units.percent(used)} of {name}" if used < FULL else "others take what they leave"
            )
            yield Problem(
                path,
                f"{units.count(tcp.max_window, 'packet')}{origin}, is below the fair window of {fair} packets"
                f" of {_of(capped, group)}",
                f"a flow has at most that in flight each round trip: {rest}, and the buffer decides nothing for them",
                remedy,
            )
        elif len(clipped) > len(group.flows) // 2 and group.first.packets is None and not tcp_windows.is_by_rate(tcp):
            yield Problem(
                path,
                f"{units.count(tcp.max_window, 'packet')}{origin}, is below 4/3 of the fair window of {fair} packets",
                "the sawtooth of a flow swings to 4/3 of its mean, and is cut off there: flows lose too rarely",
                remedy,
                "note",
            )


@check("window-below-one", "warning")
def window_below_one(case: Case) -> Iterator[Problem]:
    """More flows than the bottleneck has packets in flight.

    The fair window, its share of the buffer included, is under one packet: TCP cannot send less than a packet a round
    trip, so at every moment some flows wait in a timeout, and which ones is chance.
    """
    for group in case.connections:
        mean = fmean(case.overflow_window[flow] for flow in group.flows)
        if mean < 1 and not tcp_windows.is_by_rate(group.first.tcp):
            yield Problem(
                _path(case, group),
                f"{len(group.flows)} flows have {units.number(mean)} packets each in flight and in the buffer",
                "a flow sends at least one packet a round trip; the rest wait for timeouts that double each time",
                "fewer flows, a faster bottleneck or longer delays",
            )


@check("timeout-regime", "note")
def timeout_regime(case: Case) -> Iterator[Problem]:
    """Windows are so small that losses end in timeouts.

    Three duplicate acknowledgements need three packets that arrive after the lost one, so four in flight (RFC 5681,
    section 3.2). A sawtooth of mean W falls to 2/3 W: below a mean of 4 timeouts rule, from 6 on fast recovery does.
    With limited transmit (RFC 3042) two packets would do for a single loss, but windows this small lose several: with
    ns-2, 1000 flows of three packets have 0.57 timeouts a window cut with it and 0.55 without (docs/fidelity.md). In
    this regime the minimum retransmission timeout moves the results as much as buffers and pacing do.
    """
    for group in case.connections:
        mean = fmean(case.overflow_window[flow] for flow in group.flows)
        tcp = group.first.tcp
        assert tcp is not None
        found = tcp_windows.regime(mean)
        if (
            mean >= 1
            and not tcp_windows.is_by_rate(tcp)
            and found is not tcp_windows.RECOVERY
            and tcp.max_window >= fmean(case.window[flow] for flow in group.flows)
        ):
            trip = max(1e-9, fmean(case.trip_s[flow] for flow in group.flows))
            much = "most losses end in a timeout" if found is tcp_windows.TIMEOUTS else "many losses end in a timeout"
            yield Problem(
                _path(case, group),
                f"a flow has {units.number(mean)} packets in flight when the buffer overflows: {much}",
                "three duplicate acknowledgements need four packets in flight; a timeout costs"
                f" {units.time(tcp.min_rto_s)} at least, {units.about(tcp.min_rto_s / trip)} round trips",
                "as it is, if that is the regime to study; else fewer flows, a faster bottleneck or longer delays",
            )


@check("initial-burst", "note")
def initial_burst(case: Case) -> Iterator[Problem]:
    """The first window is a burst that the bottleneck's buffer cannot take.

    An initial window sent back to back reaches the bottleneck at the rate of the slowest link before it, r, and
    leaves at C: (1 - C/r) of it must wait. What has no place is lost before the connection knows the path. Host
    pacing does not help: it waits for the first round-trip sample.
    """
    for group in case.connections:
        flow = group.flows[0]
        tcp = group.first.tcp
        link = case.fair.limit[flow]
        assert tcp is not None
        if link is None or link not in group.first.forward:
            continue
        before = group.first.forward[: group.first.forward.index(link)]
        if any(case.network.links[one].pacer for one in (*before, link)):
            continue
        rate = min((case.network.links[one].rate_bps for one in before), default=float("inf"))
        core = case.network.links[link]
        places = case.places(link, group.first.packet_bytes)
        first = min(tcp.initial_window, tcp.max_window)
        waits = (first - 1) * (1 - core.rate_bps / rate)
        if places is not None and waits > places:
            yield Problem(
                f"{_path(case, group)}.tcp.initial_window",
                f"of {units.count(first, 'packet')} back to back, {units.number(waits)} must wait at {core.name},"
                f" which has places for {places}",
                "each connection loses packets in its first round trip, before it has measured anything",
                f'initial_window = "{max(1, places)} packets", or a pacer on a link before {core.name}',
            )


def _path(case: Case, group: Group) -> str:
    return case.network.traffics[group.first.traffic].path


def _of(some: list[int], group: Group) -> str:
    return units.count(len(some), "flow") + (f" of {len(group.flows)}" if len(some) < len(group.flows) else "")
