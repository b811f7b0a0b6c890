"""Is QLBP's rule of thumb as good as parameters that are set by hand? The paper gives both and compares neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.findings import seen
from paceline.papers.qlbp.dumbbell import ASSUMPTIONS, BUFFER, RATE, UTILISATION, network
from paceline.results import Results
from paceline.scenario import Scenario

BUFFERS, QUICK_BUFFERS = (5, 10, 20), (5, 20)
WINDOWS, QUICK_WINDOWS = (16, 32, 64), (32,)
WINDOW = "traffic.bulk.tcp.max_window"
PACING = "pacing"
DELAY = "flows.network_delay_mean_s"
EDGES = "edge-*"
MS = 1e-3
#: The rule's delay bound, and others of it.
BOUND_MS, OTHER_BOUNDS_MS = 10, (5, 20)
#: The load of an edge's link: ten of forty senders share a quarter of the core's rate.
LOAD = 0.25
HAND_SET = (10, 40, 80, 160)
EDGE_MS = (5, 10, 20)
#: As much as the best: so much less of the link; and with so much of its delay.
AS_MUCH, HALF = -0.01, 0.5
NONE = "none"


def thumb(bound_ms: int) -> dict[str, Any]:
    """The rule of thumb for a delay bound."""
    return {"method": "qlbp", "load": LOAD, "max_delay": f"{bound_ms} ms", "at": EDGES}


def hand_set(q_max: int) -> dict[str, Any]:
    """The paper's parameters of Fig. 18."""
    return {"method": "qlbp", "mu_min": "1 Mbit/s", "mu_max": RATE, "q_max": f"{q_max} packets", "at": EDGES}


def edge(bound_ms: int) -> dict[str, Any]:
    """The delay-bounded pacer at the same places."""
    return {"method": "edge", "delay": f"{bound_ms} ms", "at": EDGES}


OURS = "rule, 10 ms"
METHODS: Mapping[str, dict[str, Any]] = {
    NONE: {"method": "none"},
    "hosts": {"method": "host"},
    **{f"Q_max {size}": hand_set(size) for size in HAND_SET},
    **{f"edge {bound} ms": edge(bound) for bound in EDGE_MS},
    **{f"rule, {bound} ms": thumb(bound) for bound in (BOUND_MS, *OTHER_BOUNDS_MS)},
}
#: What the rule is held against.
OTHERS = tuple(name for name in METHODS if name != NONE and not name.startswith("rule"))


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Each method over buffers and windows, which set the load."""
    buffers = [f"{size} packets" for size in length.choose(BUFFERS, QUICK_BUFFERS)]
    windows = [f"{size} packets" for size in length.choose(WINDOWS, QUICK_WINDOWS)]
    scenario = network().set("traffic.bulk.start", "0 s .. 10 s").set("probes", {})
    duration, warmup = length.choose(("150 s", "40 s"), ("50 s", "20 s"))
    scenario = scenario.set("duration", duration).set("warmup", warmup)
    seeds = length.seed_count(5, 3)
    return {
        name: scenario.set(PACING, method).over({BUFFER: buffers, WINDOW: windows}).seeds(seeds)
        for name, method in METHODS.items()
    }


def check(runs: Runs) -> Verdict:
    """As much of the link as the best other method, at half of its delay, over buffers and loads."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    theirs: dict[str, str] = {}
    for size, window in settings(runs):
        where = f"{size} packets, windows of {window}"
        best = best_other(runs, size, window)
        gap = paired(runs, best, size, window, lambda rule, other: rule / other - 1, UTILISATION)
        evidence.append(
            criteria.above(f"utilisation, {where}: rule over the best other ({best}), less 1", gap, AS_MUCH)
        )
        spare = beyond_half(runs, best, size, window)
        evidence.append(criteria.below(f"delay added, {where}, ms: rule less half of {best}", spare, 0.0))
        ours[f"{where}, over the best"] = round(gap.mean, 4)
        theirs[f"{where}, over the best"] = best
    for size, window in settings(runs):
        for name in METHODS:
            some = at(runs, name, size, window)
            used, delay = criteria.mean(some, UTILISATION), criteria.mean(some, DELAY, MS)
            words = f"utilisation, {name}, {size} packets, windows of {window}"
            evidence.append(criteria.inform(words, used, f"delay {delay.mean:.1f} ms"))
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, evidence), evidence)


def settings(runs: Runs) -> list[tuple[int, int]]:
    """Buffers and windows that were run, packets."""
    found = {(int(run.settings[BUFFER].split()[0]), int(run.settings[WINDOW].split()[0])) for run in runs[OURS]}
    return sorted(found)


def at(runs: Runs, name: str, size: int, window: int) -> Results:
    """The runs of one method and setting."""
    return runs[name].where({BUFFER: f"{size} packets", WINDOW: f"{window} packets"})


def best_other(runs: Runs, size: int, window: int) -> str:
    """The method that uses most of the link, but the rule."""
    return max(OTHERS, key=lambda name: criteria.mean(at(runs, name, size, window), UTILISATION).mean)


def paired(runs: Runs, other: str, size: int, window: int, what: Any, path: str) -> Interval:
    """A number of the rule and one of another method, seed by seed."""
    rule, beside = (criteria.by_seed(at(runs, name, size, window), path) for name in (OURS, other))
    found = interval(what(rule[seed], beside[seed]) for seed in sorted(rule.keys() & beside.keys()))
    assert found is not None
    return found


def beyond_half(runs: Runs, other: str, size: int, window: int) -> Interval:
    """What the rule adds to a packet's delay unpaced, less half of what the other method adds, ms.

    No ratio: hosts that pace add about nothing, or take some away.
    """
    rule, beside, none = (criteria.by_seed(at(runs, name, size, window), DELAY) for name in (OURS, other, NONE))
    found = interval((rule[seed] - none[seed] - HALF * (beside[seed] - none[seed])) / MS for seed in sorted(none))
    assert found is not None
    return found


def added(runs: Runs, name: str, size: int, window: int) -> float:
    """What a method adds to the mean delay of a packet unpaced, ms."""
    ours, none = (criteria.mean(at(runs, one, size, window), DELAY, MS).mean for one in (name, NONE))
    return ours - none


def note(runs: Runs, evidence: Sequence[Evidence]) -> str:
    """The answer in two sentences, and how far it holds."""
    told = []
    as_much, cheaper, both = 0, 0, 0
    for size, window in settings(runs):
        best = best_other(runs, size, window)
        rule, other, none = (
            criteria.mean(at(runs, name, size, window), UTILISATION).mean for name in (OURS, best, NONE)
        )
        told.append(
            f"{size} packets, windows of {window}: {rule:.1%} and {other:.1%} ({best}; unpaced {none:.1%}), "
            f"{added(runs, OURS, size, window):+.1f} and {added(runs, best, size, window):+.1f} ms of delay"
        )
        where = f", {size} packets, windows of {window}"
        used, delay = (
            next(bool(row.ok) for row in evidence if row.statistic.startswith(f"{what}{where}"))
            for what in ("utilisation", "delay added")
        )
        as_much, cheaper, both = as_much + used, cheaper + delay, both + (used and delay)
    count = len(told)
    answer = "Yes" if both == count else "No" if not both else "Not everywhere"
    return (
        f"{answer}: of {count} settings the rule uses as much of the link as the best other method, within 1 % with "
        f"its interval, in {as_much}, adds less than half of its delay, interval included, in {cheaper}, and does both "
        f"in {both or 'none'}. "
        f"Utilisation by the rule, and by the best other method: {'; '.join(told)}. "
        "How far: the network of QLBP's Fig. 18, forty Reno flows over 100 Mbit/s and round trips of some 100 ms, "
        "pacers on four edges; the rule's load is that of an edge with a full core."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """Utilisation against the delay that a method adds, at the smallest buffer and windows of 32."""
    figure, (ax,) = drawing.axes(1, (5.8, 4.0))
    size = min(size for size, _ in settings(runs))
    window = 32
    groups = {
        "hosts": ["hosts"],
        "Q_max set by hand": [f"Q_max {one}" for one in HAND_SET],
        "edge": [f"edge {one} ms" for one in EDGE_MS],
        "rule of thumb": [f"rule, {one} ms" for one in sorted((BOUND_MS, *OTHER_BOUNDS_MS))],
    }
    for slot, (words, names) in enumerate(groups.items(), 1):
        delays = [added(runs, name, size, window) for name in names]
        used = [criteria.mean(at(runs, name, size, window), UTILISATION, 0.01) for name in names]
        drawing.curve(ax, delays, used, words, slot)
    unpaced = criteria.mean(at(runs, NONE, size, window), UTILISATION, 0.01).mean
    ax.axhline(unpaced, color=drawing.INK, linewidth=0.8, linestyle=":")
    ax.set_xlabel("delay added to a packet, mean, ms")
    ax.set_ylabel("utilisation of the core, %")
    drawing.legend(ax, loc="center right")
    caption = (
        f"{size} packets of buffer, windows of {window}: what each method uses of the link over the delay that it "
        "adds; dotted, unpaced. Means over seeds with 95 % intervals."
    )
    return [drawing.picture(figure, "rule-of-thumb", caption)]


STATISTIC = Assumption(
    "The statistic.",
    "Over 5, 10 and 20 packets of buffer and windows of 16, 32 and 64: the core's utilisation under the rule with a "
    "bound of 10 ms is less than that of the best other method by 1 % at most, and the delay that it adds to a packet "
    "is less than half of what that method adds, both with their intervals over seeds.",
    "The other methods are pacing at hosts, the paper's Q_max of 10 to 160, and the delay-bounded pacer with 5 to 20 "
    "ms: a rule is worth something if nobody who tries them all does better.",
)

CLAIM = Claim(
    id="finding-rule-of-thumb",
    paper="findings",
    where="QLBP's rule of thumb",
    kind="order",
    question="Is QLBP's rule of thumb as good as parameters that are set by hand?",
    says="With a bound of 10 ms the rule uses as much of the link, within 1 %, as the best of hosts that pace, "
    "hand-set QLBP and delay-bounded pacing, and adds less than half of the delay, over 5 to 20 packets and three "
    "loads.",
    printed={},
    assumptions=(
        seen(
            "Single runs at 5 packets and windows of 32: the rule 86.0 % with 5.2 ms added, Q_max 160 86.1 % with "
            "12.6, edge 20 ms 84.4 % with 18, hosts 62 %. Of other buffers and windows nothing had been seen."
        ),
        STATISTIC,
        *ASSUMPTIONS[1:3],
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
