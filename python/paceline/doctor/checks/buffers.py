"""Checks of buffers: what they really hold, and which of them decides anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from paceline.doctor import units
from paceline.doctor.case import Case
from paceline.doctor.checks.windows import FULL
from paceline.doctor.finding import Problem, check
from paceline.doctor.flow_groups import common_name

#: ns-2's default `mean_pktsize_`, bytes.
NS2_MEAN_PACKET = 500


@check("tiny-buffer", "warning")
def tiny_buffer(case: Case) -> Iterator[Problem]:
    """Fewer than two packets can wait.

    A limit in bytes holds whole packets, header included, and the rules differ by one: `waiting` holds floor(limit /
    L) beside the packet on the wire, `waiting+service` one less, `ns2` ceil(limit / L) - 1, for ns-2 refuses what
    makes the queue reach its limit. With no place or one, three packets that arrive together lose one, whatever the
    load. A limit that lets no packet through at all is refused by every command.
    """
    for plan, links in _by_plan(case, _limited(case)):
        places = case.places(links[0])
        if places is not None and places < 2 and not never_fills(case, links[0]):
            buffer = case.network.links[links[0]].buffer
            largest = case.largest[links[0]]
            needed = 2 + (buffer.counts != "waiting")
            yield Problem(
                case.network.plans[plan].buffer_path,
                f"{_limit(case, links[0])} by {buffer.counts} holds {units.count(places, 'packet')} of {largest} B",
                f"{units.count(places + 2, 'packet')} that arrive together lose one, at any load",
                f'buffer = "{needed} packets" for two that wait',
            )


@check("ns2-mean-packet", "warning")
def ns2_mean_packet(case: Case) -> Iterator[Problem]:
    """A limit in bytes that looks like packets times ns-2's mean packet size.

    In ns-2, a queue in byte mode takes its limit times `mean_pktsize_`, 500 B unless set: a limit of five packets is
    2500 B, and holds two of 1040 B. A limit by `ns2` that is an odd multiple of 500 B, under packets of 750 B or
    more, reads like such a product, and has half the places that its author may have had in mind.
    """
    for plan, links in _by_plan(case, _limited(case)):
        buffer = case.network.links[links[0]].buffer
        largest = case.largest[links[0]]
        written = case.network.plans[plan].buffer or ""
        if buffer.counts == "ns2" and buffer.bytes and largest >= 750 and not written.endswith("BDP"):
            packets, rest = divmod(buffer.bytes, NS2_MEAN_PACKET)
            if rest == 0 and packets % 2 == 1 and packets > 1:
                yield Problem(
                    case.network.plans[plan].buffer_path,
                    f"{_limit(case, links[0])} is {packets} times 500 B, ns-2's default mean_pktsize_, and packets have"
                    f" {largest} B",
                    f"{units.count(case.places(links[0]) or 0, 'packet')} can wait; by a limit of {packets} packets,"
                    f" {packets - 1} could",
                    f'buffer = "{packets} packets", or bytes for the packets that are sent',
                )


@check("unlimited-bottleneck", "warning")
def unlimited_bottleneck(case: Case) -> Iterator[Problem]:
    """A bottleneck without a limit.

    TCP fills a queue until it loses. Where the link that limits it has no `buffer` (or waits in a pacer without
    `pacer_buffer` that is slower than the link), the queue grows to what the maximum windows allow, the round trip
    with it.
    """
    full = [link for link in case.limited_by if case.on[link] and not _holds_back(case, link)]
    for plan, links in _by_plan(case, full):
        worst, held = links[0], -1.0
        for link in links:
            waiting = sum(_standing_bytes(case, flow) for flow in case.on[link] if case.fair.limit[flow] == link)
            if waiting > held:
                worst, held = link, waiting
        spec = case.network.links[worst]
        if held <= 10 * case.largest[worst]:
            continue
        name = common_name(case.network.links[one].name for one in links)
        pacer = spec.is_pacer_limited
        key = f"{case.network.plans[plan].path}.pacer_buffer" if pacer else case.network.plans[plan].buffer_path
        flows = units.count(sum(case.limited_by[one] for one in links), "flow")
        yield Problem(
            key,
            f"{name} limits {flows}, and nothing limits {'its pacer' if pacer else 'its queue'}",
            f"the windows let {units.size(held)} wait there, {units.time(held * 8 / spec.capacity_bps)} at"
            f" {units.rate(spec.capacity_bps)}: nothing is lost, and every round trip is that much longer",
            'pacer_buffer = "100 packets"' if pacer else f'{case.network.plans[plan].buffer_key} = "1 BDP", or a size',
        )


@check("pacer-hides-buffer", "warning")
def pacer_hides_buffer(case: Case) -> Iterator[Problem]:
    """Two queues in series: a pacer right before the buffer of a bottleneck.

    On a link that is full, packets wait in the pacer first. `qlbp` and a `token-bucket` that is no faster than the
    link release no more than it sends, so the limited buffer behind them never fills and its size decides nothing.
    `edge` adds up to delay times rate.
    """
    for plan, links in _by_plan(case, _limited(case)):
        link = case.network.links[links[0]]
        if link.pacer is None or link.pacer.method == "none" or case.load_bps[links[0]] < FULL * link.capacity_bps:
            continue
        if link.pacer.method == "token-bucket" and (link.pacer.rate_bps or 0) > link.rate_bps:
            continue  # it passes on what the link cannot send
        places = case.places(links[0])
        assert places is not None
        largest = case.largest[links[0]]
        if link.pacer.method == "edge":
            held = (link.pacer.delay_s(largest) or 0.0) * link.rate_bps / 8 / largest
            if held <= places:
                continue
            more = f"the pacer holds up to {units.number(held)} packets, the buffer {places}"
        else:
            more = f"the pacer never releases faster than the link sends, so the buffer of {places} packets never fills"
        limit = "" if link.pacer.limited else ", and nothing limits the pacer's"
        yield Problem(
            case.network.plans[plan].buffer_path,
            f"{link.pacer.method} paces {link.name}, which is full: its queue comes before the buffer's{limit}",
            f"{more}: what is lost, and how long packets wait, depends on the pacer's queue",
            "a pacer on the links before it, or a pacer_buffer that is meant to be the buffer",
        )


@check("buffer-never-fills", "warning")
def buffernever_fills(case: Case) -> Iterator[Problem]:
    """A queue before hides this one: a limited buffer that is fed no faster than it empties.

    The links that lead to it have no more rate together than the link itself, so what would wait here waits before
    them: an edge hides the core. The buffer's size decides nothing. Of a table that several links have, none can fill.
    """
    limited = _limited(case)
    useful = {case.plan(link).buffer_path for link in limited if not never_fills(case, link)}
    for plan, links in _by_plan(case, limited):
        link = case.network.links[links[0]]
        if case.network.plans[plan].buffer_path in useful:
            continue
        feeding = [case.network.links[one] for one in sorted(case.feeding[links[0]])]
        rate = sum(one.capacity_bps for one in feeding)
        yield Problem(
            case.network.plans[plan].buffer_path,
            f"{link.name} sends {units.rate(link.rate_bps)} and gets {units.rate(rate)} at most, from"
            f" {common_name(one.name for one in feeding)}",
            f"no more than {units.count(len(feeding), 'packet')} ever wait of the {case.places(links[0])} that could:"
            " packets wait, and are lost, on the links before",
            f"faster links before {link.name}, or the limit on them",
        )


@check("rates-in-step", "warning", "note")
def rates_in_step(case: Case) -> Iterator[Problem]:
    """A link feeds the bottleneck at exactly its rate.

    Packets that come back to back from such a link reach the bottleneck just as fast as it sends: each finds the
    place that the one before it left, and whoever else sends finds none (phase effects: Floyd and Jacobson, "On
    traffic phase effects in packet-switched gateways", 1992). A warning where one flow's window can keep the link
    busy: it then locks the others out for good. A note where many flows share each such link; where they send whole
    windows at once, as calls do, that can cost a quarter of the bottleneck (docs/emulate.md).
    """
    for link, flows in case.limited_by.items():
        core = case.network.links[link]
        feeding = [one for one in case.feeding[link] if one >= 0]
        equal = [
            one
            for one in feeding
            if case.network.links[one].rate_bps == core.rate_bps
            and not case.network.links[one].buffer.limited
            and case.network.links[one].pacer is None
        ]
        if len(feeding) < 2 or not equal or not core.buffer.limited or core.pacer or not case.on[link]:
            continue
        if core.buffer.signals_early:
            continue  # whom it drops is not who finds no place
        filling = [flow for one in equal for flow in case.on[one] if _can_fill(case, flow, core.rate_bps)]
        name = common_name(case.network.links[one].name for one in equal)
        what = f"{name} and {core.name} have the same rate, {units.rate(core.rate_bps)}"
        if filling:
            yield Problem(
                f"{case.plan(equal[0]).path}.rate",
                what,
                f"a flow whose window fills {name} sends exactly as fast as {core.name}: it finds a place for every"
                f" packet, and the other {flows - 1} of {flows} none",
                f'another rate than that of {core.name}, or a range, as rate = "{_around(core.rate_bps)}"',
            )
        else:
            yield Problem(
                f"{case.plan(equal[0]).path}.rate",
                what,
                "trains from one link keep step with the departures: ties decide which packets are lost (half a percent"
                " of them with ten edges, docs/fidelity.md; far more where windows leave at once, docs/emulate.md)",
                f'as it is to repeat a paper; else a range, as rate = "{_around(core.rate_bps)}"',
                "note",
            )


@check("active-queue", "note")
def active_queue(case: Case) -> Iterator[Problem]:
    """A queue that signals congestion before it is full.

    CoDel, FQ-CoDel, PIE, RED and DualPI2 mark packets, or drop them while there is room (docs/design/aqm.md). What the
    doctor knows of queues is drop-tail's: that they fill, and drop what comes then. So it foresees neither the losses
    nor the load of such a link, and what it says of windows and round trips at a full buffer is what it would be there
    with drop-tail.
    """
    active = [number for number, link in enumerate(case.network.links) if link.buffer.signals_early and case.on[number]]
    for plan, links in _by_plan(case, active):
        link = case.network.links[links[0]]
        yield Problem(
            f"{case.network.plans[plan].path}.queue",
            f"{common_name(case.network.links[one].name for one in links)}: {link.buffer.discipline} signals congestion"
            " before the buffer is full",
            "its losses and load are not foreseen, and what is said of full buffers holds for drop-tail",
            'as it is; queue = "drop-tail" to see the difference',
        )


@check("class-queue", "note")
def class_queue(case: Case) -> Iterator[Problem]:
    """A queue that tells classes apart, or a memory that links share.

    Strict priority, deficit round robin (docs/design/classes.md): what a flow waits and loses depends on its class, and
    the doctor foresees what one FIFO does to all. Links that share a memory take its places from each other, and the
    doctor takes for each what it may hold while it alone is congested, alpha / (1 + alpha) of the size.
    """
    on = [number for number, link in enumerate(case.network.links) if case.on[number]]
    for plan, links in _by_plan(case, [one for one in on if case.network.links[one].buffer.has_classes]):
        yield Problem(
            f"{case.network.plans[plan].path}.queue",
            f"{common_name(case.network.links[one].name for one in links)}:"
            f" {case.network.links[links[0]].buffer.discipline} tells classes apart",
            "what is said of its delay and losses is that of one FIFO, and differs by class",
            'as it is; queue = "drop-tail" to see the difference',
        )
    sharing = [one for one in on if case.network.links[one].buffer.memory]
    if sharing:
        yield Problem(
            "memory",
            f"{common_name(case.network.links[one].name for one in sharing)}: links share a memory",
            "what is said of each holds while no other is congested",
            "as it is; larger alpha, or size, for ports that fill at the same time",
        )


@check("series-bottlenecks", "note")
def series_bottlenecks(case: Case) -> Iterator[Problem]:
    """Several full links on one path.

    Flows that lose at several queues lose more than those that cross one, and a buffer's effect cannot be told from
    that of the next.
    """
    for group in case.groups:
        way = group.first.forward
        full = [link for link in way if case.load_bps[link] >= FULL * case.network.links[link].capacity_bps]
        full = [link for link in full if case.network.links[link].buffer.limited and not never_fills(case, link)]
        if len(full) > 1:
            names = units.listed(case.network.links[link].name for link in full)
            yield Problem(
                case.network.traffics[group.first.traffic].path,
                f"{names} are all full, with a limited buffer each",
                "flows that cross them all lose at each, and get less than those that cross one",
                "as it is, if that is what to study; else one bottleneck: more rate elsewhere",
            )


@check("pacer-buffer", "warning")
def pacer_buffer(case: Case) -> Iterator[Problem]:
    """The pacer cannot hold what it would delay.

    A pacer that holds packets for up to d at a load r has about d r in its queue, and two packets at least to space
    anything. Less than that (`pacer_buffer`) makes it drop what it should smooth.
    """
    paced = [number for number, link in enumerate(case.network.links) if link.pacer and link.pacer.limited]
    for plan, links in _by_plan(case, [link for link in paced if case.on[link]]):
        pacer = case.network.links[links[0]].pacer
        assert pacer is not None
        largest = case.largest[links[0]]
        holds = pacer.packets if pacer.packets is not None else max(1, (pacer.bytes or 0) // largest)
        load = max(case.load_bps[link] for link in links)
        needs = max(2.0, (pacer.delay_s(largest) or 0.0) * load / 8 / largest)
        if holds < needs:
            yield Problem(
                f"{case.network.plans[plan].path}.pacer_buffer",
                f"the pacer may hold {units.count(holds, 'packet')}, and would hold about {units.number(needs)}",
                f"at {units.rate(load)} it drops what it should delay",
                f'pacer_buffer = "{units.round_up(2 * needs)} packets"',
            )


@check("loses-all", "error")
def loses_all(case: Case) -> Iterator[Problem]:
    """A forced loss takes every packet.

    `[[drop]]` with probability 1 lets nothing of the flows it names through.
    """
    drops = case.document.get("drop", [])
    for number, drop in enumerate([drops] if isinstance(drops, dict) else drops):
        if drop.get("probability", 0) >= 1:
            yield Problem(
                f"drop[{number}].probability",
                f"every packet of {drop.get('flow', 'all flows')} is lost on {drop.get('link')}",
                "nothing arrives, so there is nothing to measure",
                "probability = 0.01, for one in a hundred",
            )


def _by_plan(case: Case, links: Iterable[int]) -> Iterator[tuple[int, list[int]]]:
    """Links by the table that they come from."""
    plans: dict[int, list[int]] = {}
    for link in links:
        plans.setdefault(case.network.links[link].plan, []).append(link)
    yield from plans.items()


def _limited(case: Case) -> list[int]:
    """Links with data and a limited buffer, which no policer keeps from being full."""
    links = enumerate(case.network.links)
    return [number for number, link in links if link.buffer.limited and case.on[number] and not link.is_policed]


def _limit(case: Case, link: int) -> str:
    buffer = case.network.links[link].buffer
    return f"{buffer.packets} packets" if buffer.packets is not None else units.size(buffer.bytes or 0)


def never_fills(case: Case, link: int) -> bool:
    """Whether what leads to a limited link is no faster than it, and room for a packet from each is there."""
    feeding = case.feeding[link]
    if -1 in feeding or not feeding:
        return False
    rate = sum(case.network.links[one].capacity_bps for one in feeding)
    return rate <= case.network.links[link].capacity_bps and (case.places(link) or 0) >= len(feeding)


def _holds_back(case: Case, link: int) -> bool:
    """Whether a queue that TCP fills there has an end."""
    spec = case.network.links[link]
    if spec.pacer and spec.is_pacer_limited and not spec.is_policed:
        return spec.pacer.limited
    return spec.buffer.limited or spec.is_policed or spec.buffer.signals_early


def _standing_bytes(case: Case, flow: int) -> float:
    """What of a flow's maximum window waits, beyond its share of the round trip, bytes."""
    spec = case.network.flows[flow]
    if spec.tcp is None or case.keeps_queue_small(flow):
        return 0.0
    window = min(spec.tcp.max_window, spec.packets or spec.tcp.max_window)
    return max(0.0, window - case.window[flow]) * spec.packet_bytes


def _can_fill(case: Case, flow: int, rate_bps: float) -> bool:
    """Whether a flow alone can keep a link of this rate busy."""
    spec = case.network.flows[flow]
    if spec.tcp is None or spec.packets is not None:
        return False
    return spec.tcp.max_window * spec.packet_bytes * 8 > rate_bps * case.trip_s[flow]


def _around(rate_bps: float) -> str:
    return f"{units.rate(0.8 * rate_bps)} .. {units.rate(1.2 * rate_bps)}"
