"""Checks of pacers on links: whether they hold anything, for how long, and what they let through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paceline.doctor import units
from paceline.doctor.case import Case
from paceline.doctor.checks.buffers import never_fills
from paceline.doctor.finding import Problem, check
from paceline.doctor.flow_groups import common_name
from paceline.scenario.resolved_network import Deployed


@check("pacer-after-bottleneck", "warning")
def pacer_after_bottleneck(case: Case) -> Iterator[Problem]:
    """Nothing behind the pacer can lose.

    Pacing helps the queues behind it. Where no link that the paced flows pass from there on has a limited buffer that
    can fill, as on the last links of a path, a pacer adds delay and nothing else.
    """
    for pacing, links in _working(case):
        if not any(_can_lose(case, after) for link in links for after in _from(case, link)):
            name = common_name(case.network.links[link].name for link in links)
            yield Problem(
                f"{pacing.path}.at",
                f"behind the pacers of {name} there is no limited buffer that the flows could overflow",
                "the pacer adds delay, and spares nobody a loss",
                "links before the bottleneck, or a buffer behind the pacer; as it is to watch the pacer alone",
            )


@check("pacer-delay", "warning", "note")
def pacer_delay(case: Case) -> Iterator[Problem]:
    """The pacer's delay is long beside the round trip or the retransmission timer.

    An edge pacer spends nearly all of its delay bound d at any load (QLBP up to q_max / mu_max), so the round trip
    grows by it and TCP's rate falls in proportion. A warning from half of the shortest round trip on, or where d is
    no less than the minimum retransmission timeout: a burst that is held that long looks lost. A note from a quarter
    on.
    """
    for pacing, links in _working(case):
        flows = sorted({flow for link in links for flow in case.on[link] if case.network.flows[flow].tcp})
        held = max((_delay(case, link) for link in links), default=0.0)
        if not flows or not held:
            continue
        trip = min(case.trip_s[flow] for flow in flows)
        rto = min(tcp.min_rto_s for flow in flows if (tcp := case.network.flows[flow].tcp))
        key = "delay" if pacing.method == "edge" else "max_delay"
        if held >= rto or held >= trip / 4:
            long = held >= rto or held >= trip / 2
            beside = (
                f"no less than the least retransmission timeout, {units.time(rto)}"
                if held >= rto
                else f"{units.percent(held / trip)} of the shortest round trip, {units.time(trip)}"
            )
            slower = f"a flow's rate at the same window is {units.number(trip / (trip + held))} of what it was"
            yield Problem(
                f"{pacing.path}.{key}",
                f"packets are held for up to {units.time(held)}, {beside}",
                f"timers fire for packets that are only held; {slower}" if held >= rto else slower,
                f'{key} = "{units.time(trip / 10)}" or less, a tenth of the round trip',
                "warning" if long else "note",
            )


@check("pacer-idle", "warning", "note")
def pacer_idle(case: Case) -> Iterator[Problem]:
    """The pacer holds nothing.

    `token-bucket`: its rate is no less than the slowest link behind it sends, so that what it spaces still arrives
    faster than it leaves. `qlbp`: the expected load is below `mu_min`, the rate of an empty queue: a steady source is
    never held, only bursts are; a warning from a factor of two on. `edge`: less than a packet comes within the delay
    bound.
    """
    for pacing, links in _working(case):
        link = max(links, key=lambda one: case.load_bps[one])
        spec = case.network.links[link]
        pacer = spec.pacer
        if pacer is None:
            continue
        load = case.load_bps[link]
        behind = [case.network.links[one] for one in _from(case, link) if _can_lose(case, one)]
        slowest = min((one.rate_bps for one in (*behind, spec)), default=spec.rate_bps)
        if pacer.method == "token-bucket" and (pacer.rate_bps or 0) >= slowest:
            yield Problem(
                f"{pacing.path}.rate",
                f"tokens come at {units.rate(pacer.rate_bps or 0)}, and the slowest link behind {spec.name} sends"
                f" {units.rate(slowest)}",
                "what the bucket spaces still arrives faster than it leaves: it changes next to nothing",
                f'rate above the load of {units.rate(load)} and below "{units.rate(slowest)}"',
            )
        elif (least := pacer.mu_min_bps) is not None and load <= least:
            far = least > 2 * load
            yield Problem(
                f"{pacing.path}.{'load' if 'load' in _written(case, pacing) else 'mu_min'}",
                f"{units.rate(load)} are expected on {spec.name}, no more than mu_min, {units.rate(least)}",
                "a steady source slower than mu_min is not held at all; only bursts are spread, at mu_min and faster",
                f"load = {units.number(load / spec.rate_bps)}, for the load that the link has"
                if load < spec.rate_bps
                else "a smaller mu_min",
                "warning" if far else "note",
            )
        elif pacer.method == "edge":
            delay = pacer.delay_s(case.largest[link]) or 0.0
            largest = case.largest[link]
            held = delay * load / 8 / largest
            if delay > 0 and load > 0 and held < 1:
                yield Problem(
                    f"{pacing.path}.delay",
                    f"{units.number(held)} packets come to {spec.name} in {units.time(delay)}, at {units.rate(load)}",
                    "with less than a packet to look ahead at, a packet alone leaves at once: only bursts are spread",
                    f'delay = "{units.time(_ten_packets_s(largest, load))}", for about ten packets',
                    "note",
                )


@check("burst-over-buffer", "warning")
def burst_over_buffer(case: Case) -> Iterator[Problem]:
    """A shaper lets through bursts that the buffer behind it cannot take.

    A token bucket passes `burst` at the link's rate R. A buffer behind it that empties at C < R must hold (1 - C/R)
    of that. Several shapers that send at once add up; one alone is enough for this warning.
    """
    for pacing, links in _working(case):
        for link in links[:1]:
            spec = case.network.links[link]
            if spec.pacer is None or spec.pacer.method != "token-bucket":
                continue
            largest = case.largest[link]
            burst = (spec.pacer.burst_bytes or 0) / largest
            for after in _from(case, link):
                behind = case.network.links[after]
                places = case.places(after, largest)
                excess = 1 - behind.rate_bps / spec.rate_bps
                waits = max(0.0, burst - 1) * excess
                if after != link and places is not None and waits > places:
                    fits = int(places / excess + 1) * largest
                    yield Problem(
                        f"{pacing.path}.burst",
                        f"a burst is {units.number(burst)} packets at {units.rate(spec.rate_bps)}, and"
                        f" {units.number(waits)} of them must wait at {behind.name}, which has places for {places}",
                        "the bucket passes each such burst whole, and the buffer behind it loses the rest",
                        f'burst = "{fits} B" or less',
                    )
                    break


def _ten_packets_s(packet_bytes: int, load_bps: float) -> float:
    return units.round_up(1e6 * 80 * packet_bytes / load_bps) * 1e-6


def _working(case: Case) -> Iterator[tuple[Deployed, list[int]]]:
    """Methods on links, with the links that have data."""
    for pacing in case.network.pacings:
        links = [link for link in pacing.chosen if case.on[link]]
        if not pacing.on_hosts and links and pacing.method != "none":
            yield pacing, links


def _from(case: Case, link: int) -> list[int]:
    """The link and those that its flows pass after it."""
    after: dict[int, None] = {link: None}
    for flow in case.on[link]:
        way = case.network.flows[flow].forward
        after |= dict.fromkeys(way[way.index(link) :])
    return list(after)


def _can_lose(case: Case, link: int) -> bool:
    return case.network.links[link].buffer.limited and not never_fills(case, link)


def _delay(case: Case, link: int) -> float:
    pacer = case.network.links[link].pacer
    return (pacer.delay_s(case.largest[link]) or 0.0) if pacer else 0.0


def _written(case: Case, pacing: Deployed) -> Any:
    """The method as the file has it: a table, or text in short."""
    tables = case.document["pacing"]
    return tables[int(pacing.path[len("pacing[") : -1])] if isinstance(tables, list) else tables
