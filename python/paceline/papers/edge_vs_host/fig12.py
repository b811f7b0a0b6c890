"""Fig. 12, section V: throughput where a share of hosts or edges paces.

Criteria were fixed from the text before the runs that judge them: throughput "rises gradually as the fraction
increases", so at each step from 0 to 30, 50 and 100 %, and not by a slope alone. None and all of the hosts or edges
are curves of Fig. 3, "the same scenario as before": in whatever ns-2 a share runs, they must give its 82, 82 and 93
kbit/s at 5 KB. So that no figure of the paper has a TCP of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host import curves
from paceline.papers.edge_vs_host.curves import GOODPUT, KBPS, MBPS, THROUGHPUT, at
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, EDGE, HOST, NONE, PATCHED, dumbbell
from paceline.papers.edge_vs_host.shares import PLACES, QUICK, SHARES, SIZES, label, method, network
from paceline.results import Results
from paceline.scenario import Scenario

#: Goodput at 5 KB of none and of all, kbit/s, as Fig. 3(b) has it.
ENDS = {("host", 0.0): 82, ("host", 1.0): 82, ("edge", 0.0): 82, ("edge", 1.0): 93}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Four shares at hosts, and at edges; then unpatched flows, and all hosts behind fast access links."""
    sizes = length.choose(SIZES, QUICK)
    found = {
        place: curves.sweep(network(place), length, sizes, [method(place, share) for share in SHARES])
        for place in PLACES
    }
    ends = [method("host", share) for share in (0.0, 1.0)]
    fast = network("host").set("network.access.rate", "100 Mbit/s")
    found["why-unpatched"] = curves.sweep(dumbbell(), length, (5, 10), ends)
    found["why-fast-access"] = curves.sweep(fast, length, (5,), ends)
    return found


def check(runs: Runs) -> Verdict:
    """Throughput rises with the share at every buffer, by each step and as a slope; the ends are those of Fig. 3."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for place in PLACES:
        for size in curves.sizes(runs[place]):
            found = slope(runs[place], place, size)
            what = f"slope of throughput over the share, {place}, {size} KB, Mbit/s for all"
            ours[f"{place}, {size} KB, Mbit/s"] = round(found.mean, 3)
            evidence.append(criteria.order(what, found))
            for less, more in pairwise(SHARES):
                gap = _gap(runs[place], label(place, more), label(place, less), size)
                what = f"throughput at {size} KB, share of {place}s: {more:.0%} − {less:.0%}, Mbit/s"
                evidence.append(criteria.order(what, gap))
    for (place, share), printed in ENDS.items():
        value = criteria.mean(at(runs[place], label(place, share), 5), GOODPUT, KBPS)
        what = f"goodput at 5 KB, {share:.0%} of {place}s, kbit/s: as in Fig. 3"
        evidence.append(criteria.within(what, value, printed, "kbit/s"))
    evidence += _why(runs)
    theirs = {"order": "throughput rises with the share, at hosts and at edges"}
    return Verdict(criteria.judge(evidence), ours, theirs, _note(runs, evidence), evidence)


def slope(results: Results, place: str, size: int) -> Interval:
    """Least-squares slope of core throughput over the share that paces, Mbit/s from none to all, over seeds."""
    by_share = [criteria.by_seed(at(results, label(place, share), size), THROUGHPUT, MBPS) for share in SHARES]
    seeds = sorted(set.intersection(*(set(one) for one in by_share)))
    found = interval(float(np.polyfit(SHARES, [one[seed] for one in by_share], 1)[0]) for seed in seeds)
    if found is None:
        raise ValueError(f"{place}, {size} KB: the shares have no seed in common")
    return found


def _why(runs: Runs) -> list[Evidence]:
    rows = []
    for name, what in (
        ("why-unpatched", "unpaced flows halve their window, as in ns-2 without the patch"),
        ("why-fast-access", "access links of 100 Mbit/s, which space nothing"),
    ):
        for size in curves.sizes(runs[name]):
            gap = _gap(runs[name], HOST, NONE, size)
            rows.append(criteria.inform(f"throughput at {size} KB, host: 100% − 0%, Mbit/s", gap, what))
    return rows


def _gap(results: Results, one: str, other: str, size: int) -> Interval:
    return criteria.difference(at(results, one, size), at(results, other, size), THROUGHPUT, MBPS)


def _note(runs: Runs, evidence: Sequence[Evidence]) -> str:
    counts = {place: curves.held([row for row in evidence if f"share, {place}," in row.statistic]) for place in PLACES}
    steps = {place: curves.held([row for row in evidence if f"share of {place}s" in row.statistic]) for place in PLACES}
    ends = [row for row in evidence if row.statistic.endswith("as in Fig. 3")]
    missed = "; ".join(f"{row.statistic.partition(':')[0]} {row.value:.1f}" for row in ends if row.ok is False)
    hosts, edges = _gap(runs["host"], HOST, NONE, 5), _gap(runs["edge"], EDGE, NONE, 5)
    unpatched = _gap(runs["why-unpatched"], HOST, NONE, 5)
    fast = _gap(runs["why-fast-access"], HOST, NONE, 5)
    return (
        f"Over all shares throughput rises at {counts['edge']} buffers for edges and {counts['host']} for hosts, and "
        "at "
        f"{steps['edge']} and {steps['host']} single steps. Of none and all, {curves.held(ends)} have the goodput of "
        f"Fig. 3{f' (not: {missed})' if missed else ''}. Where hosts pace, little is gained at 5 KB: {hosts.mean:+.2f} "
        f"Mbit/s by all of them, {edges.mean:+.2f} by all "
        "edges. That is the access links' doing, which space packets already: behind links of 100 Mbit/s all hosts "
        f"gain {fast.mean:+.2f}. Over flows of an unpatched ns-2 they gain {unpatched.mean:+.2f}, but by the patch's "
        "way to halve, not by pacing."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """Both panels, as in the paper."""
    figure, panels = drawing.axes(2)
    for ax, place in zip(panels, PLACES, strict=True):
        sizes = curves.sizes(runs[place])
        for slot, share in enumerate(SHARES):
            found = [criteria.mean(at(runs[place], label(place, share), size), THROUGHPUT, MBPS) for size in sizes]
            drawing.curve(ax, sizes, found, f"{100 * share:.0f} %", slot)
        ax.set_xlabel("buffer of the core link, KB")
        ax.set_ylabel("core throughput, Mbit/s")
        title = {"host": "share of hosts that pace", "edge": "share of edges that pace"}[place]
        ax.set_title(title, fontsize="medium", loc="left", color=drawing.INK)
        drawing.legend(ax, loc="lower right")
    caption = (
        "1000 Reno flows, of which a share is paced: means over seeds with 95 % intervals. Beside hosts "
        "that pace, flows that do not are those of an ns-2 with the patch for pacing; where edges pace, of one without."
    )
    return [drawing.picture(figure, "fig12", caption)]


CLAIM = Claim(
    id="edge-fig12-partial",
    paper="edge-vs-host",
    where="Fig. 12, V",
    kind="shape",
    says="Throughput rises as 0, 30, 50 and 100 % of hosts pace, and as 0, 30, 50 and 100 % of edges do.",
    printed={"shares": list(SHARES), "unpaced_kbps": 82, "all_hosts_kbps": 82, "all_edges_kbps": 93},
    assumptions=(
        *ASSUMPTIONS,
        PATCHED,
        Assumption(
            "Which hosts or edges pace.",
            "A draw by the seed; a larger share keeps those of a smaller one.",
            "The paper says how many only; keeping them pairs the shares.",
        ),
        Assumption(
            "What a gradual rise with the share is.",
            "Each step, and the least-squares slope of throughput over the share, is above 0, its 95 % interval over "
            "seeds included, at each buffer from 5 to 20 KB.",
            "Gradual is step by step. Below 5 KB the paper finds no gain in pacing at all, above 20 KB nothing is left "
            "to gain.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
