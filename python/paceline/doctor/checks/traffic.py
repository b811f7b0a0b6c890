"""Checks of what is offered, and of flows that keep step with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from paceline.doctor import units
from paceline.doctor.case import Case
from paceline.doctor.finding import Problem, check
from paceline.scenario.resolved_network import Plan

#: So many flows that keep step are no accident.
MANY = 4
#: Up to so many places the order of an arrival and a departure decides much.
FEW_PLACES = 4


@check("overload", "warning", "error")
def overload(case: Case) -> Iterator[Problem]:
    """Unresponsive sources offer more than a link can send.

    CBR and Poisson sources send at their rate whatever happens. Above the link's rate (its pacer's, its policer's) the
    excess is lost, and TCP beside them gets nothing; an error where no limit loses it, for the queue then grows as
    long as the run lasts.
    """
    seen: set[int] = set()
    for number, flow in enumerate(case.network.flows):
        if flow.rate_bps is None:
            continue
        for link in flow.forward:
            spec = case.network.links[link]
            load = case.offered_bps[link] / spec.capacity_bps
            if load <= 1 + 1e-9:
                continue
            if link not in seen:
                seen.add(link)
                limited = spec.pacer.limited if spec.pacer and spec.is_pacer_limited else spec.buffer.limited
                endless = not (limited or spec.is_policed)
                excess = (case.offered_bps[link] - spec.capacity_bps) / 8 * case.network.duration_s
                yield Problem(
                    f"{case.network.traffics[case.network.flows[number].traffic].path}.rate",
                    f"{units.rate(case.offered_bps[link])} are offered to {spec.name}, which sends"
                    f" {units.rate(spec.capacity_bps)}: a load of {units.number(load)}",
                    f"its queue has no limit and ends at {units.size(excess)}: results depend on the duration"
                    if endless
                    else f"{units.percent(1 - 1 / load)} of the packets are lost, however they are paced",
                    f'less than "{units.rate(spec.capacity_bps)}" in all' + (", or a buffer" if endless else ""),
                    "error" if endless else "warning",
                )


@check("phase-locked", "warning")
def phase_locked(case: Case) -> Iterator[Problem]:
    """Flows with identical round trips.

    Where most flows over a bottleneck have the same round trip, their packets meet the queue in an order that
    repeats, and a run shows that order (phase effects: Floyd and Jacobson 1992; for paced flows, Aggarwal, Savage and
    Anderson 2000). Ten such flows share with a Jain's index of 0.9997 under every seed, so that intervals are far too
    narrow; with access delays of 2 to 4 ms in place of 3 it is 0.7 to 0.9, from seed to seed
    (tests/test_doctor_numbers.py). From four flows on, where more than half of them lie within a tenth of a packet
    time of the bottleneck; host pacing with `jitter` ends it too.
    """
    for link in case.limited_by:
        flows = [flow for flow in case.on[link] if (tcp := case.network.flows[flow].tcp) and not tcp.jitter]
        packet_s = case.largest[link] * 8 / case.network.links[link].rate_bps
        most = _alike(case, flows, packet_s / 10)
        if len(most) < MANY or 2 * len(most) <= len(case.on[link]):
            continue
        way = case.network.flows[most[0]].forward
        where = case.plan(way[0] if way[0] != link else way[-1])
        yield Problem(
            f"{where.path}.delay",
            f"{len(most)} flows over {case.network.links[link].name} have the same round trip,"
            f" {units.time(case.rtt_s[most[0]])}, to {units.time(packet_s / 10)}, a tenth of a packet time",
            "they meet the queue in an order that repeats: each seed shows the same accident, intervals are too narrow",
            _wider(case, most, where),
        )


@check("fixed-ties", "note")
def fixed_ties(case: Case) -> Iterator[Problem]:
    """A fixed order of simultaneous events at a buffer of few packets.

    TCP clocks itself, so that packets reach a bottleneck exactly as others leave it. By `ties = "departure"` the
    arrival always finds that place free, by `"arrival"` never; with one packet of room one flow then gets 14.5 or 0.43
    of 20 Mbit/s (docs/fidelity.md). Up to four packets of room, at a link that flows of TCP fill. `"ns2"` is for who
    compares with ns-2, and is not told.
    """
    for link in case.limited_by:
        buffer = case.network.links[link].buffer
        places = case.places(link)
        is_tcp = any(case.network.flows[flow].tcp for flow in case.on[link])
        if buffer.ties in ("departure", "arrival") and is_tcp and places is not None and places <= FEW_PLACES:
            yield Problem(
                f"{case.plan(link).path}.ties",
                f'{case.network.links[link].name} holds {units.count(places, "packet")}, and ties = "{buffer.ties}"',
                f"of an arrival and a departure of one instant the {buffer.ties} goes first, always: that decides who"
                " is dropped, and a real network does not keep to it",
                'ties = "random", the default; and compare the others with it',
            )


def _alike(case: Case, flows: list[int], width_s: float) -> list[int]:
    """The most flows whose round trips lie so near each other."""
    ordered = sorted(flows, key=lambda flow: case.trip_s[flow])
    best, first = (0, 0), 0
    for last, flow in enumerate(ordered):
        while case.trip_s[flow] - case.trip_s[ordered[first]] > width_s:
            first += 1
        best = max(best, (last + 1 - first, first))
    return ordered[best[1] : best[1] + best[0]]


def _wider(case: Case, flows: list[int], plan: Plan) -> str:
    """A range around a link's delay; where all flows share that link, links of their own."""
    if len({case.network.flows[flow].forward for flow in flows}) == 1:
        return "a host for each flow, with a range of delays (a dumbbell's access links), or host pacing with jitter"
    low, high = (max(share * plan.delay_s[0], 1e-6 * share) for share in (0.8, 1.2))
    return f'a range, as delay = "{units.time(low)} .. {units.time(high)}"'


@check("cbr-in-step", "warning")
def cbr_in_step(case: Case) -> Iterator[Problem]:
    """Constant-rate sources with one rate and one start.

    Sources of equal gaps that start together send together for ever: each burst of so many packets meets the buffer
    at once, and the same ones are lost. Over paths of different delays they keep whatever phase those give.
    """
    for number, traffic in enumerate(case.network.traffics):
        flows = [one for one in case.network.flows if one.traffic == number and one.rate_bps is not None]
        if len(flows) < MANY or case.document["traffic"][number].get("kind") != "cbr":
            continue
        alike = Counter((one.rate_bps, one.start_s) for one in flows).most_common(1)[0][1]
        if 2 * alike > len(flows):
            gap = flows[0].packet_bytes * 8 / (flows[0].rate_bps or 1)
            yield Problem(
                f"{traffic.path}.start",
                f"{units.count(alike, 'source')} send at the same rate and start at the same instant",
                f"they keep step for the whole run: the same {alike} packets meet every {units.time(gap)}",
                f'start = "0 s .. {units.time(gap)}", one gap',
            )


@check("same-start", "note")
def same_start(case: Case) -> Iterator[Problem]:
    """Many connections start at one instant.

    All of them are in slow start at once and lose together; it takes the slowest of them several timeouts to come
    back. Of ten TCP flows or more.
    """
    for group in case.connections:
        traffic = case.network.traffics[group.first.traffic]
        if group.first.tcp and len(group.flows) >= 10 and traffic.start_s[0] == traffic.start_s[1]:
            trip = max(case.trip_s[flow] for flow in group.flows)
            yield Problem(
                f"{traffic.path}.start",
                f"{len(group.flows)} connections start at {units.time(traffic.start_s[0])}, all at once",
                f"their first windows, {len(group.flows) * group.first.tcp.initial_window} packets, meet at"
                f" {_bottleneck(case, group.flows[0])} within a round trip",
                f'a range of several round trips, as start = "{units.time(traffic.start_s[0])} .. '
                f'{units.time(traffic.start_s[0] + units.round_up(max(1.0, 20 * trip)))}"',
            )


def _bottleneck(case: Case, flow: int) -> str:
    link = case.fair.limit[flow]
    return case.network.links[link].name if link is not None else "the network"
