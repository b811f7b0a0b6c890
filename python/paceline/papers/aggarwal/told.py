"""What other papers say that it found, second-hand: mixed flows, and the latency of short ones.

Criteria were fixed from the sentences of the paper on edge pacing (section II) before the runs that judge them: "paced
flows perform poorly when coexisting with unpaced flows", and pacing "can result in ... higher latencies".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.aggarwal.network import METHODS, NONE, PACED, PACER, PACING, PATH, each, network
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.results import Results
from paceline.scenario import Scenario

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
IN_GROUPS = ("groups.paced.goodput_mean_bps", "groups.unpaced.goodput_mean_bps")
#: Sizes of short transfers, KB, and users of each.
SIZES, USERS = (10, 30, 100, 300, 1000), 50
SIZE, FCT = "traffic.users.size", "flows.fct_mean_s"
MS = 1e-3

SECOND_HAND = Assumption(
    "Whether the paper says so: its text is not at hand.",
    "Second-hand, as the paper on edge pacing tells it in its section II.",
    "It cites it for this; the abstract itself speaks of throughput, fairness and drop rates.",
)
MIX = Assumption(
    "How many of the flows pace.",
    "10, 30, 50, 70 and 90 % of 50, drawn by the seed.",
    "Not told; five points over the whole range.",
)
SHORT = Assumption(
    "Which short flows.",
    "50 users who fetch transfers of one size over a new connection each, and wait for 1 s in the mean; 10 KB to 1 MB.",
    "Not told; from transfers that slow start alone carries to such as the link feels.",
)


def sweeps_mixed(length: Length) -> Mapping[str, Scenario]:
    """Shares of paced flows among unpaced ones; NewReno beside."""
    methods = [METHODS[1] | {"share": share} for share in SHARES]
    scenario = network(length).set("traffic.bulk.start", "0 s .. 5 s").set("warmup", length.choose("10 s", "8 s"))
    found = {"main": scenario, "why-newreno": scenario.set("traffic.bulk.tcp.variant", "newreno")}
    return {name: one.over({PACING: methods}).seeds(length.seed_count()) for name, one in found.items()}


def sweeps_short(length: Length) -> Mapping[str, Scenario]:
    """Sizes of transfers, paced and unpaced."""
    document = network(length).set("warmup", length.choose("10 s", "5 s")).to_dict()
    (bulk,) = document["traffic"]
    document["traffic"] = [
        {
            "name": "users",
            "kind": "closed-loop",
            "size": f"{SIZES[0]} KB",
            "think": {"exponential": "1 s"},
            "connection": "new",
            "start": "0 s .. 2 s",
            "tcp": bulk["tcp"],
        }
    ]
    sizes = [f"{size} KB" for size in SIZES]
    return {"main": Scenario(document).over({PACING: METHODS, SIZE: sizes}).seeds(length.seed_count())}


def check_mixed(runs: Runs) -> Verdict:
    """Paced flows get less than unpaced ones beside them, at each share."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for share in SHARES:
        found = gap(runs["main"], share)
        ours[f"{share:.0%} paced"] = round(found.mean, 4)
        evidence.append(criteria.order(f"goodput, {share:.0%} paced: paced over unpaced − 1", found, sign=-1.0))
    for share in SHARES:
        found = gap(runs["why-newreno"], share)
        evidence.append(criteria.inform(f"goodput, {share:.0%} paced: paced over unpaced − 1", found, "NewReno"))
    note = f"Goodput of paced flows over that of unpaced ones beside them, less 1: {each(ours)}."
    return Verdict(criteria.judge(evidence), ours, {"paced": "poorly beside unpaced"}, note, evidence)


def gap(results: Results, share: float) -> Interval:
    """Mean goodput of paced over that of unpaced flows, less 1, seed by seed."""
    some = results.where({PACING: f"{PACED} share {share:g}"})
    paced, unpaced = (criteria.by_seed(some, path) for path in IN_GROUPS)
    found = interval(paced[seed] / unpaced[seed] - 1 for seed in sorted(paced.keys() & unpaced.keys()))
    if found is None:
        raise ValueError(f"no run with a share of {share:g}")
    return found


def check_short(runs: Runs, paced: str = PACED) -> Verdict:
    """Paced transfers take longer, at each size; by the label of their pacing."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for size in SIZES:
        unpaced, some = (runs["main"].where({PACING: p, SIZE: f"{size} KB"}) for p in (NONE, paced))
        evidence.append(criteria.ahead(f"time of {size} KB: paced − unpaced, ms", some, unpaced, FCT, MS))
        change = criteria.difference(some, unpaced, FCT, relative=True)
        ours[f"{size} KB"] = round(change.mean, 4)
        evidence.append(criteria.inform(f"time of {size} KB: paced over unpaced − 1", change, "relative"))
        used = criteria.mean(unpaced, "links.core.utilisation")
        evidence.append(criteria.inform(f"utilisation, {size} KB, unpaced", used, "how busy the link is"))
    note = f"The time of paced transfers over that of unpaced ones, less 1: {each(ours)}. {DECIDES}"
    return Verdict(criteria.judge(evidence), ours, {"paced": "higher latencies"}, note, evidence)


DECIDES = (
    "At 300 KB the seeds scatter more than pacing changes, and what is lost decides: with a buffer of a whole BDP, "
    "round trips of 20 ms, or receivers that delay acknowledgements, paced transfers take longer there too; with a "
    "buffer of 31 packets they are far quicker (docs/deciding-choices.md)."
)


def draw_mixed(runs: Runs) -> Sequence[Picture]:
    """What paced flows get beside unpaced ones, by their share."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.6))
    for slot, (name, words) in enumerate((("main", "Reno"), ("why-newreno", "NewReno"))):
        values = [gap(runs[name], share) for share in SHARES]
        scaled = [Interval(100 * one.mean, 100 * (one.half or 0.0), one.count) for one in values]
        drawing.curve(ax, [100 * share for share in SHARES], scaled, words, slot)
    ax.axhline(0, color=drawing.INK, linewidth=0.8)
    ax.set_xlabel("flows that pace, %")
    ax.set_ylabel("goodput, paced over unpaced − 1, %")
    drawing.legend(ax)
    caption = "Fifty flows of which a share paces: what these get more than the others, means with 95 % intervals."
    return [drawing.picture(figure, "mixed", caption)]


def draw_short(runs: Runs) -> Sequence[Picture]:
    """Times of transfers over their size."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.6))
    for slot, pacing in enumerate((NONE, PACED)):
        values = [criteria.mean(runs["main"].where({PACING: pacing, SIZE: f"{s} KB"}), FCT, MS) for s in SIZES]
        drawing.curve(ax, SIZES, values, pacing, slot)
    drawing.logarithmic(ax, "x", SIZES)
    drawing.logarithmic(ax, "y", (200, 500, 1000, 2000, 5000))
    ax.set_xlabel("size of a transfer, KB")
    ax.set_ylabel("mean time of a transfer, ms")
    drawing.legend(ax, loc="upper left")
    caption = "Fifty users who fetch transfers of one size and wait: means over seeds with 95 % intervals."
    return [drawing.picture(figure, "short", caption)]


CLAIMS = [
    Claim(
        id="aggarwal-mixed",
        paper="aggarwal",
        where="mixed flows, second-hand",
        kind="order",
        says="Paced flows perform poorly when they coexist with unpaced flows.",
        printed={},
        assumptions=(SECOND_HAND, PATH, PACER, MIX),
        sweeps=sweeps_mixed,
        check=check_mixed,
        draw=draw_mixed,
    ),
    Claim(
        id="aggarwal-short",
        paper="aggarwal",
        where="short flows, second-hand",
        kind="order",
        says="Pacing can result in higher latencies.",
        printed={},
        assumptions=(SECOND_HAND, PATH, PACER, SHORT),
        sweeps=sweeps_short,
        check=check_short,
        draw=draw_short,
    ),
]
