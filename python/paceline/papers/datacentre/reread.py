"""Section IV-C, last paragraph: two older studies reread by the rule N* = C RTT / B.

Criteria were fixed from the text before the runs that judge them. Of Aggarwal, Savage and Anderson's network, 1250
packets in a round trip and a buffer of 312, it says "our results suggest PoI = 8 flows", and that 50 flows lie beyond;
of Kulik et al.'s, 91 packets and buffers of 100 and of 10, that their single flow lies within the bound, that is, that
pacing does not lose there. The paper ran neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.aggarwal import network as original
from paceline.papers.aggarwal.network import HOSTS, METHODS, NONE, PACED, PACING, UTILISATION, at, each, flows_of
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.fig4 import leads, overtaking
from paceline.results import Results
from paceline.scenario import Scenario

BUFFER = "network.core.buffer"
TITLE = "Long flows over a bottleneck of 1250 packets a round trip, with room for 312"
#: The rereading's point of inflection, and the number of flows of the study.
POI, MANY = 8, 50
FULL, QUICK = (2, 3, 4, 5, 6, 8, 10, 12, 16, 25, 50), (2, 4, 8, 16, 50)
#: Kulik's: packets in a round trip, and buffers.
PIPE, BUFFERS = 91, (100, 10)

PATH = Assumption(
    "Rates, delays and TCP of both networks: the paper names the products and the buffers.",
    "100 ms and packets of 1000 B, at 100 Mbit/s and at 7.28 Mbit/s; ns-2's Reno, paced by a packet each smoothed "
    "round "
    "trip over the window; starts spread over 5 s.",
    "All results scale with the products; Reno is what the first study names (NewReno: why-newreno).",
)


def network(length: Length) -> Scenario:
    """The first study's, with long flows whose starts are spread, as the rereading speaks of a steady state."""
    duration, warmup = length.choose(("120 s", "20 s"), ("40 s", "10 s"))
    changes = {"duration": duration, "warmup": warmup, HOSTS: 8, "traffic.bulk.start": "0 s .. 5 s"}
    scenario = original.network(length).set("title", TITLE)
    for path, value in changes.items():
        scenario = scenario.set(path, value)
    return scenario


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Over numbers of flows; with NewReno beside."""
    flows = list(length.choose(FULL, QUICK))
    found = {"main": network(length).over({PACING: METHODS, HOSTS: flows}).seeds(length.seed_count())}
    if not length.quick:
        other = network(length).set("traffic.bulk.tcp.variant", "newreno")
        found["why-newreno"] = other.over({PACING: METHODS, HOSTS: flows}).seeds(length.seed_count(3))
    return found


def sweeps_single(length: Length) -> Mapping[str, Scenario]:
    """One flow over both buffers."""
    scenario = network(length).set("network.core.rate", "7.28 Mbit/s").set("network.access.rate", "29.12 Mbit/s")
    scenario = scenario.set("title", "One flow over a bottleneck of 91 packets a round trip").set(HOSTS, 1)
    scenario = scenario.set("duration", length.choose("400 s", "120 s"))
    sizes = [f"{size} packets" for size in BUFFERS]
    return {"main": scenario.over({PACING: METHODS, BUFFER: sizes}).seeds(length.seed_count())}


def check(runs: Runs) -> Verdict:
    """Unpaced overtakes paced at 8 flows, and is ahead at 50."""
    found = inflection(runs["main"])
    name = "flows at which unpaced overtakes paced"
    if found is None:
        evidence = [Evidence(name, "no such point for some seed", None, f"{POI} flows within 5 %", False)]
    else:
        evidence = [criteria.within(name, found, POI, "flows")]
    results = runs["main"]
    behind = criteria.difference(at(results, NONE, MANY), at(results, PACED, MANY), UTILISATION)
    evidence.append(criteria.order(f"utilisation, {MANY} flows: unpaced − paced", behind))
    for label, some in runs.items():
        for flows in flows_of(some):
            gap = criteria.difference(at(some, PACED, flows), at(some, NONE, flows), UTILISATION)
            words = "NewReno" if label == "why-newreno" else "Reno"
            evidence.append(criteria.inform(f"utilisation, {flows} flows, {words}: paced − unpaced", gap, "each point"))
    other = inflection(runs["why-newreno"]) if "why-newreno" in runs else None
    ours = {"poi": None if found is None else round(found.mean, 1), "behind_at_50": round(behind.mean, 4)}
    note = (
        f"{_told('Reno', found)}, where the rereading has one at {POI}; with {MANY} flows paced is "
        f"{behind.mean:.1%} of the link behind. {_told('NewReno', other)}. The rule counts bursts, and here losses "
        "of "
        "a window at a time decide, from which Reno recovers badly (see cs244-many-flows)."
    )
    return Verdict(criteria.judge(evidence), ours, {"poi": POI}, note, evidence)


def _told(tcp: str, found: Interval | None) -> str:
    if found is None:
        return f"With {tcp} there is no point under every seed from which on unpaced is ahead"
    return f"With {tcp} unpaced overtakes paced at {found.mean:.1f} flows"


def inflection(results: Results) -> Interval | None:
    """The number of flows at which unpaced overtakes, over seeds; ``None`` where some seed has no such point."""
    flows = flows_of(results)
    ahead = leads([(at(results, NONE, number), at(results, PACED, number)) for number in flows])
    points = [overtaking(flows, gaps) for gaps in ahead.values()]
    return None if None in points else interval(points)


def check_single(runs: Runs) -> Verdict:
    """One paced flow carries at least as much as an unpaced one, at either buffer, within 5 %."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for size in BUFFERS:
        unpaced, paced = (runs["main"].where({PACING: pacing, BUFFER: f"{size} packets"}) for pacing in (NONE, PACED))
        ratio = criteria.difference(paced, unpaced, UTILISATION, relative=True)
        ours[f"paced over unpaced − 1, {size} packets"] = round(ratio.mean, 4)
        evidence.append(
            criteria.above(f"utilisation, {size} packets: paced over unpaced − 1", ratio, -criteria.RELATIVE)
        )
        for pacing, some in ((NONE, unpaced), (PACED, paced)):
            used = criteria.mean(some, UTILISATION)
            evidence.append(criteria.inform(f"utilisation, {size} packets, {pacing}", used, "one flow"))
    told = each({name.rpartition(", ")[2]: value for name, value in ours.items()}, 1)
    note = (
        f"What one paced flow carries over one unpaced, less 1: {told}; up to {criteria.RELATIVE:.0%} counts as no "
        "loss. N* is 0.9 and 9.1 flows there: with the larger buffer one flow is at the bound rather than within it."
    )
    return Verdict(criteria.judge(evidence), ours, {"paced": "not behind"}, note, evidence)


def draw(runs: Runs) -> Sequence[Picture]:
    """Utilisation over flows, of both TCPs."""
    figure, panels = drawing.axes(len(runs))
    for ax, (name, results) in zip(panels, runs.items(), strict=True):
        flows = flows_of(results)
        for slot, pacing in enumerate((NONE, PACED)):
            values = [criteria.mean(at(results, pacing, number), UTILISATION) for number in flows]
            drawing.curve(ax, flows, values, pacing, slot)
        drawing.logarithmic(ax, "x", [number for number in flows if number in (2, 4, 8, 16, 25, 50)])
        ax.axvline(POI, color=drawing.PRINTED, linewidth=1.2, linestyle="--")
        ax.set_xlabel("flows")
        ax.set_ylabel("utilisation of the core")
        title = "NewReno" if name == "why-newreno" else "Reno"
        ax.set_title(title, fontsize="medium", loc="left", color=drawing.INK)
    drawing.legend(panels[0], loc="lower right")
    caption = (
        "1250 packets a round trip, room for 312. Dashed: the point of inflection that the paper expects, 8 flows."
    )
    return [drawing.picture(figure, "reread", caption)]


def draw_single(runs: Runs) -> Sequence[Picture]:
    """Utilisation of one flow over both buffers."""
    figure, (ax,) = drawing.axes(1, (4.6, 3.4))
    for slot, pacing in enumerate((NONE, PACED)):
        values = [
            criteria.mean(runs["main"].where({PACING: pacing, BUFFER: f"{size} packets"}), UTILISATION)
            for size in BUFFERS
        ]
        drawing.curve(ax, [0, 1], values, pacing, slot, linestyle="none")
    ax.set_xticks([0, 1], [f"{size} packets" for size in BUFFERS])
    ax.set_xlim(-0.5, 1.5)
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("utilisation of the core")
    drawing.legend(ax, loc="lower left")
    caption = "One flow, 91 packets a round trip: the paper places it within its bound, where pacing does not lose."
    return [drawing.picture(figure, "reread-single", caption)]


CLAIMS = [
    Claim(
        id="dc-aggarwal",
        paper="datacentre",
        where="IV-C, rereading of Aggarwal",
        kind="number",
        says="In the network of Aggarwal, Savage and Anderson, 1250 packets a round trip and 312 of buffer, unpaced "
        "overtakes paced at 8 flows, so that their 50 lie beyond.",
        printed={"bdp_packets": 1250, "buffer_packets": 312, "poi": POI, "flows": MANY},
        assumptions=(PATH,),
        sweeps=sweeps,
        check=check,
        draw=draw,
    ),
    Claim(
        id="dc-kulik",
        paper="datacentre",
        where="IV-C, rereading of Kulik",
        kind="number",
        says="In the networks of Kulik et al., 91 packets a round trip and 100 or 10 of buffer, one flow lies within "
        "the bound: pacing does not lose.",
        printed={"bdp_packets": PIPE, "buffer_packets": list(BUFFERS), "flows": 1},
        assumptions=(PATH,),
        sweeps=sweeps_single,
        check=check_single,
        draw=draw_single,
    ),
]
