"""The numbers of a setting as text: a line where all settings agree, a cell of a table where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paceline.doctor import units

#: Where a run hangs on few draws.
NOT_FORESEEN = "not foreseeable: a few draws, timeouts or the luck of a flow decide it"
#: Losses below this are not said: no factor would hold.
LEAST_LOSS = 0.01


@dataclass(frozen=True, slots=True)
class Entry:
    """One quantity: what it is called, said in a line, and in a table's cell; of those, what there is room for."""

    label: str
    text: str | None = None
    cell: str | None = None


def entries(setting: Mapping[str, Any]) -> list[Entry]:
    """Everything that a setting's portrait has numbers for."""
    found = [_round_trip(setting["rtt_s"])]
    found += _core(setting["core"])
    groups = setting["groups"]
    for number, group in enumerate(groups):
        same = [other for other in groups if other["name"] == group["name"]]
        name = group["name"]
        if len(same) > 1 and len({other["from"] for other in same}) == len(same):
            name = group["from"]
        elif len(same) > 1:
            name += f" ({'paced' if group['paced'] else 'unpaced'})" if _tells(same) else f" ({number})"
        found += _flows(name, group)
    found += _all_flows(groups)
    found.append(_run(setting["cost"]))
    return found


def pacing_lines(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each method at work in any setting: where, on how many, and what its parameters come to."""
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for setting in settings:
        for one in setting["pacing"]:
            if one["method"] != "none":
                alike.setdefault((one["words"], one["at"], one["flows_paced"], one["effective"]), []).append(one)
    return [_pacing_line(several) for several in alike.values()]


def _pacing_line(several: list[Mapping[str, Any]]) -> str:
    """One method under several settings, in which only loads differ."""
    one = several[0]
    line = f"{one['words'].partition(' at ')[0]}, on "
    line += f"{one['deployed']} of {units.count(one['of'], one['on'][:-1])}" if one["of"] > 1 else one["on"][:-1]
    line += f" {one['at']}" if one["at"] else ""
    line += ", and the same for acknowledgements" if one["acks"] else ""
    line += f": {units.number(one['flows_paced'])} of {units.count(one['flows'], 'flow')} paced"
    parts = [one["effective"]] if one["effective"] else []
    if one.get("load_bps") is not None and one["deployed"]:
        load = units.span((each["load_bps"] for each in several), units.rate)
        if one["delay_s"]:
            packets = units.span((each["delay_packets_at_load"] for each in several), units.number)
            parts.append(
                f"holds for up to {units.time(one['delay_s'])}, {packets} packets at the expected {load},"
                f" {units.number(one['delay_packets_at_link_rate'])} at the link's rate"
            )
        else:
            parts.append(f"{load} expected")
    if one.get("burst_packets"):
        parts.append(f"lets bursts of {units.number(one['burst_packets'])} packets through")
    return "; ".join([line, *parts])


def _run(cost: Mapping[str, Any]) -> Entry:
    memory = units.size(float(f"{cost['memory_bytes']:.2g}"))
    if cost["memory_most_bytes"] > 3 * cost["memory_bytes"]:
        most = units.size(float(f"{cost['memory_most_bytes']:.2g}"))
        memory += f" (at most {most})"
    if cost["cpu_s"] is None:
        return Entry("a run", f"{memory} of memory; how many packets it takes is {NOT_FORESEEN}", "not foreseeable")
    cpu = units.time(float(f"{cost['cpu_s']:.2g}"))
    packets = float(f"{cost['packets_sent']:.2g}")
    text = f"about {units.number(packets)} packets, {cpu} of processor and {memory} of memory, within a factor of three"
    return Entry("a run", text, cpu)


def _round_trip(rtt: Mapping[str, float]) -> Entry:
    ends = units.span((rtt["min"], rtt["max"]), units.time)
    text = f"{ends} of propagation"
    if rtt["min"] < rtt["max"]:
        text += f", mean {units.time(rtt['mean'])}, harmonic mean {units.time(rtt['harmonic_mean'])}"
    return Entry("round trip", text, units.time(rtt["mean"]))


def _core(core: Mapping[str, Any]) -> list[Entry]:
    name = core["name"]
    found = []
    if core["bdp_bytes"] is not None:
        largest = f"{units.rate(core['rate_bps'])} times the harmonic mean, {units.count(core['flows'], 'flow')}"
        bdp = units.size(core["bdp_bytes"])
        found.append(Entry(f"{name} BDP", f"{bdp}: {largest}", bdp))
    queue = core["queue"]
    if queue["packets_wait"] is None:
        found.append(Entry(f"{name} buffer", "no limit", "no limit"))
    else:
        wait = units.count(queue["packets_wait"][0], "packet")
        of_bdp = core["buffer_of_bdp"]
        text = f"{queue['written']} by {queue['counts']}, so {wait} can wait"
        cell = wait
        if of_bdp is not None:
            root = core["buffer_of_bdp_over_sqrt_n"]
            text += f": {units.number(of_bdp)} BDP" + (f", {units.number(root)} BDP/√n" if core["flows"] > 1 else "")
            cell += f", {units.number(of_bdp)} BDP"
        found.append(Entry(f"{name} buffer", text, cell))
    load, offered = core["expected_load"], core["offered_load"]
    text = NOT_FORESEEN if load is None else f"{units.percent(load)} expected"
    if offered:
        text += f"; {units.percent(offered)} is offered by unresponsive sources"
    cell = "not foreseeable" if load is None else units.percent(max(load, offered))
    found.append(Entry(f"{name} load", text, cell))
    lost = core["expected_loss"]
    if lost is not None and lost >= LEAST_LOSS:
        found.append(Entry(f"{name} loss", f"about {units.percent(lost)} of its packets", units.percent(lost)))
    return found


def _flows(name: str, group: Mapping[str, Any]) -> list[Entry]:
    rate = units.span(group["fair_rate_bps"], units.rate)
    if "tcp" not in group:
        return [Entry(f"{name} rate", rate)]
    tcp = group["tcp"]
    at = f" at {group['bottleneck']}" if group["bottleneck"] else ""
    bdp = f", a BDP of {units.span(group['bdp_bytes'], units.size)}" if group["bdp_bytes"] else ""
    window = units.span(tcp["fair_window"], units.number)
    share = f"{window} packets in flight, at most {units.number(tcp['max_window'])}"
    overflow = tcp["window_at_overflow"]
    losses = tcp["regime"]
    if overflow is not None and not losses.startswith(("no loss", "not foreseen")):
        losses = f"repaired by {losses}: {units.about(overflow)} packets in flight when the buffer overflows"
    apart = ""
    if group["spacing"][0] > 1:
        spacing = units.span(group["spacing"], units.number)
        apart = f"; slower links before it keep a flow's packets {spacing} packet times apart"
    return [
        Entry(f"{name} share", f"{rate}{at}{bdp}{apart}"),
        Entry(f"{name} window", share),
        Entry(f"{name} losses", losses),
    ]


def _all_flows(groups: list[Mapping[str, Any]]) -> list[Entry]:
    """For the table: what holds of all groups together."""
    tcps = [group["tcp"] for group in groups if "tcp" in group]
    if not tcps:
        return []
    window = units.span((end for tcp in tcps for end in tcp["fair_window"]), units.number)
    losses = dict.fromkeys(tcp["regime"].partition(":")[0] for tcp in tcps)
    return [Entry("fair window", None, window), Entry("losses", None, units.listed(losses))]


def _tells(groups: list[Mapping[str, Any]]) -> bool:
    """Whether being paced or not tells groups of one name apart."""
    return len({group["paced"] for group in groups}) == len(groups)
