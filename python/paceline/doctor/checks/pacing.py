"""Checks of where pacing is deployed, and of pacing at hosts."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from paceline.doctor import tcp_windows, units
from paceline.doctor.case import Case
from paceline.doctor.finding import Problem, check
from paceline.doctor.flow_groups import Group, common_name
from paceline.scenario.resolved_network import Flow, Tcp

#: Each profile's own rule of host pacing.
RULES = {"ns2": "wei", "rfc": "ideal", "linux": "linux"}
#: Access links so many times slower than the bottleneck space packets by themselves.
SLOW_ACCESS = 5.0
#: Linux's trains have at least so many packets.
LINUX_LEAST_PACKETS = 2
#: Kernels' rules: times the rate of a window a round trip, how long a burst is at that rate, and its least packets.
KERNEL_RULES = {"linux": (1.2, 1e-3, 2), "prague": (1.0, 1 / 4096, 1)}
#: Their bursts are at most so large.
MOST_BURST_BYTES = 65536
#: Windows from which on NewReno under rule wei was seen to time out again and again, packets.
WEI_LOOP_PACKETS = 20
#: A train has at most so many bytes of payload: `tcp_tso_autosize` of Linux 6.18.
LONGEST_TRAIN_BYTES = 65215


@check("pacer-without-traffic", "warning", "note")
def pacer_without_traffic(case: Case) -> Iterator[Problem]:
    """Pacers on links that no flow uses.

    `at` names links that neither data nor acknowledgements of any flow pass. A note where only some of them are idle.
    """
    used = {link for flow in case.network.flows for link in (*flow.forward, *flow.reverse)}
    for pacing in case.network.pacings:
        idle = [link for link in pacing.chosen if link not in used] if not pacing.on_hosts else []
        if not idle:
            continue
        names = common_name(case.network.links[link].name for link in idle)
        example = max(used, key=lambda link: (case.load_bps[link], -link))
        whole = len(idle) == len(pacing.chosen)
        yield Problem(
            f"{pacing.path}.at",
            f"no flow uses {names}: {len(idle)} of {units.count(len(pacing.chosen), 'paced link')}",
            "nothing is paced" if whole else "the method acts on fewer links than it says",
            f'at = "{case.network.links[example].name}", or other links that flows pass',
            "warning" if whole else "note",
        )


@check("share-rounds", "warning")
def share_rounds(case: Case) -> Iterator[Problem]:
    """A share that rounds to none or to all.

    `share` deploys a method on floor(share · n + 1/2) of n hosts or links. With few of them that is none, or all.
    """
    for pacing in case.network.pacings:
        chosen, n = len(pacing.chosen), pacing.candidates
        if 0 < pacing.share < 1 and n and chosen in (0, n):
            things = "hosts" if pacing.on_hosts else "links"
            near = max(1, min(n - 1, round(pacing.share * n)))
            remedy = f"share = {units.number(near / n)}, for {near} of {n}" if n > 1 else "share = 1, or no pacing"
            yield Problem(
                f"{pacing.path}.share",
                f"{units.percent(pacing.share)} of {units.count(n, things[:-1])} is {'all' if chosen else 'none'}",
                "there are no two groups to compare",
                remedy,
            )


@check("access-already-paces", "note")
def access_already_paces(case: Case) -> Iterator[Problem]:
    """Slow access links pace already.

    Behind an access link that is C/r times slower than the bottleneck, a flow's packets arrive C/r packet times apart
    at least, paced by the wire ("link pacing": Enachescu, Ganjali, Goel, McKeown, Roughgarden, "Routers with very small
    buffers", 2006). From a ratio of five on, pacing hosts as well changes little.
    """
    for group in _host_paced(case):
        ratio = min(case.spacing(flow) for flow in group.flows)
        if ratio >= SLOW_ACCESS:
            link = case.fair.limit[group.flows[0]]
            assert link is not None
            yield Problem(
                _pacing_path(case, group.first),
                f"packets of a flow come to {case.network.links[link].name} {units.number(ratio)} packet times apart"
                " as it is, for a slower link is before it",
                "host pacing can only spread what that link lets through in a burst: expect little of it",
                "faster access links, to see what host pacing does by itself",
            )


@check("host-pacing-small-window", "note")
def host_pacing_small_window(case: Case) -> Iterator[Problem]:
    """Hosts pace windows of a few packets.

    A pacer at the host spreads a window over the round trip. Where the fair window is below four packets flows are in
    timeouts most of the time, and there is little to spread.
    """
    for group in _host_paced(case):
        mean = fmean(case.overflow_window[flow] for flow in group.flows)
        if tcp_windows.regime(mean) is tcp_windows.TIMEOUTS:
            yield Problem(
                _pacing_path(case, group.first),
                f"hosts pace windows of {units.number(mean)} packets",
                "a window below four packets is lost to timeouts more than to bursts: expect little of host pacing",
                "as it is to show just that; else fewer flows, or pacing of aggregates (edge)",
            )


@check("rule-profile", "note")
def rule_profile(case: Case) -> Iterator[Problem]:
    """A host pacing rule beside constants of another world.

    Each profile has its rule: `ns2` Wei's patch, `rfc` the ideal gap, `linux` Linux's. Another combination runs, but
    repeats nobody's experiment: Wei's patch was written for ns-2's windows and clock, Linux's rule expects an initial
    window of ten. Rule `prague` is that of variant `prague`, whatever the profile.
    """
    for group in _host_paced(case):
        profile = case.profile(group.first)
        own = next((rule for name, rule in RULES.items() if profile == name or profile.startswith(f"{name}-")), None)
        tcp = group.first.tcp
        rule = tcp.rule if tcp else None
        if tcp and (rule, tcp.variant) == ("prague", "prague"):
            continue
        if own and rule and rule != own:
            yield Problem(
                f"{_pacing_path(case, group.first)}.rule",
                f"flows of {group.name} are paced by rule {rule}, and have the constants of profile {profile}",
                f"results compare with no published ones: those of {profile} go with rule {own}",
                f'rule = "{own}", or a profile that goes with {rule}',
            )


@check("wei-newreno", "note")
def wei_newreno(case: Case) -> Iterator[Problem]:
    """NewReno paced by Wei's rule may go on from timeout to timeout.

    Wei's patch of ns-2 halves the packets between the last acknowledgement and the next new packet, which NewReno's
    recovery takes far beyond the pipe. ssthresh then stays above what path and buffer hold, and slow start overflows
    them again, in ns-2 as here (docs/fidelity.md). It comes and goes with the buffer and the number of flows, and takes
    windows of some 20 packets.
    """
    for group in _host_paced(case):
        flow = group.first
        if flow.tcp is None or (flow.tcp.rule, flow.tcp.variant) != ("wei", "newreno"):
            continue
        mean = fmean(case.overflow_window[one] for one in group.flows)
        if WEI_LOOP_PACKETS <= mean <= flow.tcp.max_window:
            yield Problem(
                f"{_pacing_path(case, flow)}.rule",
                f"NewReno is paced by rule wei, and its window grows to {units.number(mean)} packets",
                "after losses it may go on from timeout to timeout and leave much of the link unused, as in ns-2",
                'variant = "sack", or rule = "ideal"',
            )


@check("unpaced-prague", "note")
def unpaced_prague(case: Case) -> Iterator[Problem]:
    """Prague that nothing paces.

    Its draft has Prague always paced (draft-briscoe-iccrg-prague-congestion-control), since a queue for
    L4S marks from a millisecond or less of delay: the bursts of an unpaced window are marked as a queue would be.
    Behind DualPI2 twenty unpaced flows leave a tenth of the link unused, paced ones 2 % (docs/what-still-holds.md).
    """
    paced = {link for pacing in case.network.pacings if not pacing.on_hosts for link in pacing.chosen}
    for group in case.groups:
        flow = group.first
        if flow.tcp is None or flow.tcp.variant != "prague" or flow.tcp.rule or paced & set(flow.forward):
            continue
        yield Problem(
            "pacing",
            f"{group.name} sends by prague, and no host or link on its way paces",
            "no host runs it so: its draft has it always paced, and its bursts are marked as a queue would be",
            'pacing = { method = "host", rule = "prague" }, or as it is to show what pacing does',
        )


@check("linux-bursts", "warning")
def linux_bursts(case: Case) -> Iterator[Problem]:
    """Bursts that Linux's rule sends are more than the buffer takes.

    Rule `linux` sends what its rate makes in a millisecond at once, two packets at least, 64 KB at most, and rule
    `prague` what its makes in a quarter of that. Over a fast access link, (1 - C/r) of a burst must find a place at the
    bottleneck.
    """
    for group in _host_paced(case):
        flow = group.first
        link = case.fair.limit[group.flows[0]]
        if flow.tcp is None or flow.tcp.rule not in KERNEL_RULES or link not in flow.forward:
            continue
        assert link is not None
        burst = _burst_of_kernel(flow.tcp, case.fair.rate_bps[group.flows[0]], flow.packet_bytes)
        places = case.places(link, flow.packet_bytes)
        spacing = min(case.spacing(one) for one in group.flows)
        waits = (burst - 1) * (1 - spacing)
        if places is not None and waits > places:
            yield Problem(
                f"{_pacing_path(case, flow)}.rule",
                f"rule {flow.tcp.rule} sends {units.count(burst, 'packet')} at once, of which {units.number(waits)}"
                f" must wait at {case.network.links[link].name}, which has places for {places}",
                "each of its bursts loses packets: that is hardly pacing",
                'rule = "ideal"',
            )


@check("gso-trains", "warning")
def gso_trains(case: Case) -> Iterator[Problem]:
    """Trains of hosts with segmentation offload are more than the buffer takes.

    A host with `gso` hands its interface at once what its rate makes in about a millisecond, more where the round trip
    is a few milliseconds, two packets at least (Linux's `tcp_tso_autosize`), paced or not; paced by rule `prague`, its
    bursts. Of a train that comes at a rate r, (1 - C/r) must find a place at the bottleneck, or a token of its policer.
    """
    for group in case.groups:
        flow, first = group.first, group.flows[0]
        link = case.fair.limit[first]
        if flow.tcp is None or flow.tcp.gso_packets is None or link not in flow.forward:
            continue
        assert link is not None
        if flow.tcp.rule == "prague":
            train = _burst_of_kernel(flow.tcp, case.fair.rate_bps[first], flow.packet_bytes)
        else:
            trip_us = int(1e6 * min(case.trip_s[one] for one in group.flows))
            train_bytes = 1.2 * case.fair.rate_bps[first] / 8 / 1024 + (LONGEST_TRAIN_BYTES >> (trip_us >> 9))
            train = int(min(train_bytes, LONGEST_TRAIN_BYTES) // flow.tcp.data_bytes)
            train = max(train, LINUX_LEAST_PACKETS)
        train = min(train, flow.tcp.gso_packets)
        bottleneck, places = case.network.links[link], case.places(link, flow.packet_bytes)
        before = [case.network.links[one].rate_bps for one in flow.forward[: flow.forward.index(link)]]
        excess = max(0.0, 1 - bottleneck.capacity_bps / min(before)) if before else 1.0
        waits = (train - 1) * excess
        if places is not None and waits > places:
            fits = int(places / excess) + 1
            finds = "a token of the policer" if bottleneck.is_policed else "a place"
            yield Problem(
                f"traffic[{flow.traffic}].tcp.gso",
                f"trains of {units.count(train, 'packet')} come to {bottleneck.name}, {units.number(waits)} of which"
                f" must find {finds} there, and {places} can",
                "each train loses packets, whatever paces the connection",
                f'gso = "{fits} packets" or less' if fits >= LINUX_LEAST_PACKETS else "gso = false",
            )


def _burst_of_kernel(tcp: Tcp, fair_bps: float, packet_bytes: float) -> int:
    """Packets that a kernel's rule sends at once."""
    assert tcp.rule is not None
    ratio, burst_s, least = KERNEL_RULES[tcp.rule]
    burst_bytes = min(ratio * tcp.gain * fair_bps * burst_s / 8, MOST_BURST_BYTES)
    return max(least, int(burst_bytes // packet_bytes))


def _host_paced(case: Case) -> Iterator[Group]:
    for group in case.groups:
        if group.first.tcp and group.first.tcp.rule:
            yield group


def _pacing_path(case: Case, flow: Flow) -> str:
    """Where the method stands that paces a flow's host."""
    for pacing in case.network.pacings:
        if pacing.on_hosts and flow.source in pacing.chosen:
            return pacing.path
    return "pacing"
