"""Fig. 13, section V: what those get who pace, and those who do not.

Criteria were fixed from the text before the runs that judge them. "By as much as 10 %" is a number that the figure
reaches, so the most that paced hosts get less is 10 % within the 5 % of every printed number, not anything below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host import curves
from paceline.papers.edge_vs_host.curves import KBPS, at
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, PATCHED, dumbbell
from paceline.papers.edge_vs_host.shares import PLACES, QUICK, SIZES, label, method, network
from paceline.results import Results
from paceline.scenario import Scenario

SHARE = 0.3
#: Paced flows get up to so much less at hosts, by the paper.
LESS = 0.10
PACED, UNPACED = "groups.paced.goodput_mean_bps", "groups.unpaced.goodput_mean_bps"
WHY = {
    "why-unpatched": "unpaced flows halve their window, as in ns-2 without the patch",
    "why-first-rule": "the patch's first rule: the round trip over the window",
}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """300 of 1000 hosts, then 3 of 10 edges, as in Fig. 12; then hosts beside unpatched ones, or by another rule."""
    sizes = length.choose(SIZES, QUICK)
    found = {place: curves.sweep(network(place), length, sizes, [method(place, SHARE)]) for place in PLACES}
    first = method("host", SHARE, rule="ideal")
    few = length.choose((5, 10, 20), (5, 10))
    found["why-unpatched"] = curves.sweep(dumbbell(), length, few, [method("host", SHARE)])
    found["why-first-rule"] = curves.sweep(network("host"), length, few, [first])
    return found


def check(runs: Runs) -> Verdict:
    """Paced flows behind unpaced ones with hosts, by as much as 10 %, and ahead with edges, at every buffer."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for place, sign in (("host", -1.0), ("edge", 1.0)):
        for size in curves.sizes(runs[place]):
            found = gap(at(runs[place], label(place, SHARE), size))
            ours[f"{place}, {size} KB"] = round(found.mean, 4)
            what = f"goodput, {place}, {size} KB: paced over unpaced, less 1"
            evidence.append(criteria.order(what, found, sign=sign))
    statistic = "the most that paced hosts get less than unpaced ones, as a share"
    evidence.append(criteria.within(statistic, worst(ours), LESS))
    for name, what in WHY.items():
        for size in curves.sizes(runs[name]):
            found = gap(_at(runs[name], size))
            evidence.append(criteria.inform(f"goodput, host, {size} KB: paced over unpaced, less 1", found, what))
    theirs = {"hosts": "paced below unpaced, by as much as 0.10", "edges": "paced above unpaced"}
    return Verdict(criteria.judge(evidence), ours, theirs, _note(runs, ours, evidence), evidence)


def gap(results: Results) -> Interval:
    """Mean goodput of paced over that of unpaced flows, less 1, seed by seed."""
    paced, unpaced = criteria.by_seed(results, PACED), criteria.by_seed(results, UNPACED)
    found = interval(paced[seed] / unpaced[seed] - 1 for seed in sorted(paced.keys() & unpaced.keys()))
    if found is None:
        raise ValueError("no run has groups of paced and unpaced flows")
    return found


def worst(ours: Mapping[str, float]) -> float:
    """The most that paced hosts get less, as a share."""
    return -min(value for name, value in ours.items() if name.startswith("host"))


def _at(results: Results, size: int) -> Results:
    (pacing,) = curves.labels(results)
    return at(results, pacing, size)


def _note(runs: Runs, ours: Mapping[str, float], evidence: Sequence[Evidence]) -> str:
    def span(results: Results) -> str:
        found = [gap(_at(results, size)).mean for size in curves.sizes(results)]
        return f"{min(found):+.1%} to {max(found):+.1%}"

    return (
        f"{curves.held(evidence)} criteria hold. Paced hosts get up to {worst(ours):.1%} less than their unpaced peers "
        f"({span(runs['host'])} over the buffers), flows behind paced edges {span(runs['edge'])}. The peers' TCP "
        "decides: beside flows of an ns-2 without the patch, which halve their window and not what is in flight, paced "
        f"hosts get {span(runs['why-unpatched'])}, an advantage that the patch gives and not pacing. By its "
        f"first rule they get {span(runs['why-first-rule'])}."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """Both panels, as in the paper."""
    figure, panels = drawing.axes(2)
    for ax, place in zip(panels, PLACES, strict=True):
        sizes = curves.sizes(runs[place])
        for slot, name, path in ((0, "unpaced", UNPACED), (PLACES.index(place) + 1, "paced", PACED)):
            found = [criteria.mean(at(runs[place], label(place, SHARE), size), path, KBPS) for size in sizes]
            drawing.curve(ax, sizes, found, name, slot)
        ax.set_xlabel("buffer of the core link, KB")
        ax.set_ylabel("goodput of a flow, kbit/s")
        title = {"host": "300 of 1000 hosts pace", "edge": "3 of 10 edges pace"}[place]
        ax.set_title(title, fontsize="medium", loc="left", color=drawing.INK)
        drawing.legend(ax, loc="lower right")
    caption = "Mean goodput of paced and of unpaced flows: means over seeds with 95 % intervals."
    return [drawing.picture(figure, "fig13", caption)]


CLAIM = Claim(
    id="edge-fig13-early-adopters",
    paper="edge-vs-host",
    where="Fig. 13, V",
    kind="order",
    says="Where 30 % of hosts pace, these get less goodput than the others, by as much as 10 %; where 3 of 10 edges "
    "pace, flows behind them get more than the others.",
    printed={"hosts_less": LESS},
    assumptions=(
        *ASSUMPTIONS,
        PATCHED,
        Assumption(
            "Which hosts or edges pace.",
            "A draw by the seed, another for each.",
            "The paper says 300 of 1000 hosts, 3 of 10 edges.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
