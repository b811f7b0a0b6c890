"""Sections II and V: whether pacing at hosts takes a critical mass, and pacing at edges none.

Criteria were fixed from the text before the runs that judge them. "When the fraction of paced flows exceeds a critical
value, both the paced and unpaced flows gain in performance" (II): there is a share from which on, at every larger share
that is run, each group that exists gets more than all get with no flow paced. "TCP pacing is effective only if employed
by a critical mass of users. Early adopters of host pacing can therefore obtain worse performance than their non-pacing
peers" (V): below that share paced hosts get less than their peers. With edges "this problem does not arise": flows
behind paced edges get more than with no edge paced, from the first edge of ten on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host import curves
from paceline.papers.edge_vs_host.curves import GOODPUT, KBPS, at
from paceline.papers.edge_vs_host.fig13 import PACED, UNPACED, gap
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, PATCHED
from paceline.papers.edge_vs_host.shares import PLACES, label, method, network
from paceline.scenario import Scenario

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
SIZES, QUICK = (5, 10), (5,)
ENDS = (0.0, 1.0)
#: What is varied to explain, of hosts at 5 KB.
WHY: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "why-fast-access": ("access links of 100 Mbit/s", {"network.access.rate": "100 Mbit/s"}),
    "why-windows": ("windows of 40 packets at most", {"traffic.bulk.tcp.max_window": "40 packets"}),
    "why-sack": ("SACK", {"traffic.bulk.tcp.variant": "sack1"}),
}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Every share at hosts and at edges; hosts again with fast access, small windows and SACK."""
    sizes = length.choose(SIZES, QUICK)
    found = {place: over(network(place), length, place, sizes) for place in PLACES}
    for name, (_, changes) in WHY.items() if not length.quick else ():
        scenario = network("host")
        for path, value in changes.items():
            scenario = scenario.set(path, value)
        found[name] = over(scenario, length, "host", SIZES[:1])
    return found


def over(scenario: Scenario, length: Length, place: str, sizes: Sequence[int]) -> Scenario:
    """Every share of hosts or edges that pace, over these buffers."""
    methods = [method(place, share) for share in (ENDS[0], *SHARES, ENDS[1])]
    return curves.sweep(scenario, length, sizes, methods)


def check(runs: Runs) -> Verdict:
    """Hosts: less than their peers below a critical share, from which on all gain. Edges: a gain from the first on."""
    evidence: list[Evidence] = []
    ours: dict[str, float | None] = {}
    for size in curves.sizes(runs["host"]):
        critical = mass(runs, "host", size)
        ours[f"hosts, {size} KB, critical share"] = critical
        words = f"share of hosts from which on all gain, {size} KB"
        evidence.append(
            Evidence(words, critical, None, "above 0 and at most 0.9", critical is not None and critical > 0.1)
        )
        for share in SHARES:
            if critical is None or share < critical:
                found = gap(at(runs["host"], label("host", share), size))
                what = f"goodput, {share:.0%} of hosts, {size} KB: paced over unpaced, less 1"
                evidence.append(criteria.order(what, found, sign=-1.0))
        for share in (*SHARES, ENDS[1]):
            what = f"goodput, {share:.0%} of edges, {size} KB: paced over none paced, less 1"
            evidence.append(criteria.order(what, gain(runs, "edge", share, size, PACED)))
    for name in (*PLACES, *WHY):
        for size in curves.sizes(runs[name]) if name in runs else ():
            evidence += told(runs, name, size)
    for name in WHY:
        if name in runs:
            ours[f"hosts, {WHY[name][0]}, critical share"] = mass(runs, name, SIZES[0])
    theirs = {
        "hosts": "less than their peers below a critical share; above it all gain",
        "edges": "a gain at any share",
    }
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, ours), evidence)


def gain(runs: Runs, name: str, share: float, size: int, group: str) -> Interval:
    """Goodput of a group over that of all with none paced, less 1, seed by seed."""
    place = "edge" if name == "edge" else "host"
    some, none = at(runs[name], label(place, share), size), at(runs[name], label(place, 0.0), size)
    path = GOODPUT if share == 1 else group
    mine, before = criteria.by_seed(some, path), criteria.by_seed(none, GOODPUT)
    found = interval(mine[seed] / before[seed] - 1 for seed in sorted(mine.keys() & before.keys()))
    if found is None:
        raise ValueError(f"{name}, {share:g}: no run has groups of paced and unpaced flows")
    return found


def mass(runs: Runs, name: str, size: int) -> float | None:
    """The least share from which on both groups gain outside the interval, at it and beyond; ``None`` if there is none.

    All hosts pacing is no share with two groups: it is judged where it is the end of such a range.
    """
    place = "edge" if name == "edge" else "host"
    if place == "host" and not gains(runs, name, ENDS[1], size):
        return None
    found = None
    for share in reversed(SHARES):
        if not gains(runs, name, share, size):
            break
        found = share
    return found


def gains(runs: Runs, name: str, share: float, size: int) -> bool:
    """Whether each group that exists at this share gets more than all do with none paced."""
    groups = (PACED,) if share == 1 else (PACED, UNPACED)
    return all(criteria.order("", gain(runs, name, share, size, group)).ok for group in groups)


def told(runs: Runs, name: str, size: int) -> list[Evidence]:
    """Both groups at each share."""
    words = WHY[name][0] if name in WHY else f"at the {name}"
    return [
        criteria.inform(f"goodput, {share:.0%} paced, {size} KB: {what} over none paced, less 1", found, words)
        for share in (*SHARES, ENDS[1])
        for what, group in (("paced", PACED), ("unpaced", UNPACED))
        if share < 1 or group == PACED
        for found in [gain(runs, name, share, size, group)]
    ]


def note(runs: Runs, ours: Mapping[str, float | None]) -> str:
    """What each share gets, and which choice moves it."""
    parts = []
    for size in curves.sizes(runs["host"]):
        each = "; ".join(
            f"{share:.0%}: {gain(runs, 'host', share, size, PACED).mean:+.1%} and "
            f"{gain(runs, 'host', share, size, UNPACED).mean:+.1%}"
            for share in SHARES
        )
        whole = gain(runs, "host", 1.0, size, PACED).mean
        parts.append(f"{size} KB, {each}; all: {whole:+.1%}")
    few, many = (gain(runs, "host", one, SIZES[0], PACED).mean for one in (SHARES[0], 1.0))
    text = (
        f"Over {SIZES[0]} KB hosts that pace get {few:+.1%} where {SHARES[0]:.0%} do and {many:+.1%} where all do, "
        f"over none paced. Paced hosts and those beside them, by share: {'. '.join(parts)}. "
    )
    edges = [gain(runs, "edge", share, size, PACED).mean for size in curves.sizes(runs["edge"]) for share in SHARES]
    text += f"Flows behind paced edges gain {min(edges):+.1%} to {max(edges):+.1%}."
    for name, (words, _) in WHY.items():
        if name in runs:
            share = ours[f"hosts, {words}, critical share"]
            few, many = (gain(runs, name, one, SIZES[0], PACED).mean for one in (SHARES[0], 1.0))
            found = "no critical share" if share is None else f"all gain from {share:.0%} on"
            text += f" With {words} {found}: paced hosts {few:+.1%} at {SHARES[0]:.0%}, {many:+.1%} where all pace."
    return text


def draw(runs: Runs) -> Sequence[Picture]:
    """Both groups over the share, at the smallest buffer."""
    figure, panels = drawing.axes(2)
    size = SIZES[0]
    for ax, place in zip(panels, PLACES, strict=True):
        none = criteria.mean(at(runs[place], label(place, 0.0), size), GOODPUT, KBPS)
        whole = criteria.mean(at(runs[place], label(place, 1.0), size), GOODPUT, KBPS)
        for slot, words, path, ends in (
            (0, "unpaced", UNPACED, [(0.0, none)]),
            (PLACES.index(place) + 1, "paced", PACED, [(1.0, whole)]),
        ):
            points = [
                (share, criteria.mean(at(runs[place], label(place, share), size), path, KBPS)) for share in SHARES
            ]
            points = sorted(points + ends, key=lambda point: point[0])
            drawing.curve(ax, [100 * share for share, _ in points], [value for _, value in points], words, slot)
        ax.axhline(none.mean, color=drawing.INK, linewidth=0.8, linestyle=":")
        ax.set_xlabel(f"{place}s that pace, %")
        ax.set_ylabel("goodput of a flow, kbit/s")
        drawing.legend(ax, loc={"host": "upper left", "edge": "lower left"}[place])
    caption = f"Goodput by share of hosts that pace, then of edges, {size} KB: means over seeds with 95 % intervals; "
    return [drawing.picture(figure, "critical-mass", caption + "dotted, none paced.")]


CLAIM = Claim(
    id="edge-critical-mass",
    paper="edge-vs-host",
    where="II and V, critical mass",
    kind="shape",
    says="Pacing at hosts takes a critical mass: below it those who pace get less than their peers, above it all gain. "
    "Pacing at edges takes none.",
    printed={},
    assumptions=(
        *ASSUMPTIONS,
        PATCHED,
        Assumption(
            "What the critical value is, and of which network.",
            "Some share of 30 to 90 % of the network of Fig. 3, at 5 and 10 KB, from which on paced, unpaced and all "
            "hosts get more than with none paced; at 10 % there are early adopters still.",
            "The text tells it of an earlier study with other networks, and says in section V that it is why early "
            "adopters lose in this one. Flows are drawn by the seed; a larger share keeps those of a smaller.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
