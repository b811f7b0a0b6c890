"""Sections II and II-A: the pacer's optimality, and eq. (2), the burstiness of what it lets go.

Criteria were fixed from the text, after a first look at Poisson packets and before the runs that judge them. The pacer
"releases traffic that is smoothest (i.e. has lowest maximum rate and rate variance) subject to the time-constraints of
the traffic": at each kind of traffic and bound, its maximum rate and its variance of the rate are those of the
smoothest of all curves within the bound, which the paper says is the shortest path between arrivals and deadlines;
that in turn has the maximum rate that the dual problem gives. QLBP is "similar (though sub-optimal)": with the same
longest delay its rate varies more, outside the interval. Eq. (2): standard deviation over mean is 1 / √(2 λ d) for
Poisson packets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host import exits
from paceline.papers.edge_vs_host.exits import MEAN, PACED, PACKET_BITS, TRAFFIC
from paceline.results import Results
from paceline.scenario import Scenario
from paceline.theory import edge_delay, exit_curves

DELAYS = (2, 5, 10, 20, 50)
HELD, PACING = "pacing.delay", "pacing"
POISSON = "Poisson packets"
#: QLBP is held against the pacer where what comes does not depend on it, with these bounds, ms.
OPEN, TRIED = (POISSON, "ON-OFF"), (2, 10, 50)
#: Its rates over the mean, and Q_max over what is served within the bound at mu_max.
RATES = ((0.7, 1.3), (0.5, 1.5), (0.1, 3.0), (0.1, 5.0))
QUEUES = (0.7, 1.0)
#: Of a run, so many packets are held against the dual problem, which takes all pairs.
PAIRS = 4000


def sweeps_burstiness(length: Length) -> Mapping[str, Scenario]:
    """Poisson packets over d; and packets that leave when their last byte is due."""
    main = over_delays(length, POISSON)
    return {POISSON: main, "why-finish": main.set("pacing.release", "finish")}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Each kind of traffic over d, and QLBP's settings for the same."""
    found = {name: over_delays(length, name) for name in TRAFFIC}
    for name in OPEN:
        for delay in TRIED:
            methods = [setting(delay, *rates, queue) for rates in RATES for queue in QUEUES]
            scenario = exits.scenario(name, length.choose("12 s", "8 s")).over({PACING: methods})
            found[f"qlbp-{name}-{delay}"] = scenario.seeds(length.seed_count(5, 3))
    return found


def over_delays(length: Length, name: str) -> Scenario:
    """One kind of traffic over d."""
    scenario = exits.scenario(name, length.choose("12 s", "8 s"))
    return scenario.over({HELD: [f"{delay} ms" for delay in DELAYS]}).seeds(length.seed_count(5, 3))


def setting(delay: int, least: float, most: float, queue: float) -> dict[str, Any]:
    """QLBP with rates over the mean; mu_min lets a single packet go within the bound."""
    slowest = max(least * MEAN, PACKET_BITS / (1e3 * delay))
    waits = max(2, round(queue * delay * 1e3 * most * MEAN / PACKET_BITS))
    rates = {"mu_min": f"{slowest:g} Mbit/s", "mu_max": f"{most * MEAN:g} Mbit/s"}
    return {"method": "qlbp", "at": PACED, **rates, "q_max": f"{waits} packets"}


def check(runs: Runs) -> Verdict:
    """Maximum rate and variance over the least possible, the path against its dual, QLBP against the pacer."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for name in TRAFFIC:
        for delay in DELAYS:
            peak, spread = ratios(at(runs[name], delay), delay)
            where = f"{name}, d = {delay} ms"
            evidence.append(criteria.within(f"maximum rate over the least possible, {where}", peak, 1.0))
            evidence.append(criteria.within(f"variance of the rate over the least possible, {where}", spread, 1.0))
            ours |= {f"peak, {where}": round(peak.mean, 3), f"variance, {where}": round(spread.mean, 3)}
        dual = against_dual(at(runs[name], DELAYS[2]), DELAYS[2])
        evidence.append(criteria.within(f"maximum rate of the shortest path over the dual's, {name}", dual, 1.0))
    for name in OPEN:
        for delay in TRIED:
            evidence += against_qlbp(runs, name, delay, ours)
    theirs = {"maximum rate and variance": "the least possible within d", "QLBP": "sub-optimal"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(ours), evidence)


def at(results: Results, delay: int) -> Results:
    """The runs of one d, ms."""
    return results.where({HELD: f"{delay} ms"})


def ratios(results: Results, delay: int) -> tuple[Interval, Interval]:
    """Highest rate and variance over those of the shortest path for the same arrivals, seed by seed."""
    held = delay * 1e-3
    peaks: dict[int, float] = {}
    spreads: dict[int, float] = {}
    for seed, found in exits.by_run(results):
        best = exits.path(found, held)
        peaks[seed] = exits.largest(found.releases, found, held) / exits.largest(best, found, held)
        spreads[seed] = exits.variance(found.releases, found, held) / exits.variance(best, found, held)
    return exits.over_seeds(peaks), exits.over_seeds(spreads)


def against_dual(results: Results, delay: int) -> float:
    """The path's steepest line over the steepest of all pairs of packets, of the first run."""
    _, found = next(exits.by_run(results))
    some = slice(0, PAIRS)
    curve = exit_curves.smoothest(found.arrivals[some], found.sizes[some], delay * 1e-3)
    steepest = 8 * float((np.diff(curve.served) / np.diff(curve.times)).max())
    return steepest / exit_curves.least_peak(found.arrivals[some], found.sizes[some], delay * 1e-3)


def against_qlbp(runs: Runs, name: str, delay: int, ours: dict[str, float]) -> list[Evidence]:
    """The least that QLBP's rate varies by, of settings whose longest delay keeps the bound."""
    held = delay * 1e-3
    where = f"{name}, d = {delay} ms"
    spreads: dict[str, dict[int, float]] = {}
    longest: dict[str, float] = {}
    for settings, some in runs[f"qlbp-{name}-{delay}"].by_settings():
        label = settings[PACING]
        for seed, found in exits.by_run(some):
            longest[label] = max(longest.get(label, 0.0), float((found.releases - found.arrivals).max()))
            spreads.setdefault(label, {})[seed] = exits.variation(found.releases, found, held)
    keeps = [label for label in spreads if longest[label] <= held]
    what = f"spread of the rate over its mean: QLBP's least within d less the pacer's, {where}"
    if not keeps:
        return [criteria.inform(what, "no setting", f"of {len(spreads)} keeps d")]
    mine = {seed: exits.variation(one.releases, one, held) for seed, one in exits.by_run(at(runs[name], delay))}
    best = min(keeps, key=lambda label: exits.over_seeds(spreads[label]).mean)
    gap = exits.over_seeds({seed: value - mine[seed] for seed, value in spreads[best].items() if seed in mine})
    ours[f"QLBP's spread over the pacer's, {where}"] = round(
        exits.over_seeds(spreads[best]).mean / exits.over_seeds(mine).mean, 3
    )
    waits = f"{best}; longest delay {1e3 * longest[best]:.1f} ms"
    return [
        criteria.order(what, gap),
        criteria.inform(f"QLBP's spread, {where}", exits.over_seeds(spreads[best]), waits),
    ]


def note(ours: Mapping[str, float]) -> str:
    """How far the pacer is from the least possible, where, and why."""

    def each(what: str, name: str) -> str:
        return ", ".join(f"{ours[f'{what}, {name}, d = {delay} ms']:.2f}" for delay in DELAYS)

    lines = "; ".join(f"{name} {each('variance', name)} (maximum rate {each('peak', name)})" for name in TRAFFIC)
    held = ", ".join(str(delay) for delay in DELAYS)
    compared = {key.partition(", ")[2]: value for key, value in ours.items() if key.startswith("QLBP")}
    beaten = [f"{where} ({value:.2f})" for where, value in compared.items() if value < 1]
    least = min(compared.values(), default=math.nan)
    qlbp = (
        f"varies less than the pacer at {', '.join(beaten)}" if beaten else f"varies more, by {least - 1:.0%} or more"
    )
    return (
        "The shortest path between arrivals and deadlines is the smoothest way out, and its maximum rate is that of "
        "the dual problem. But it takes knowing all that will come. A pacer does not, and is as smooth only where all "
        "is known, as of bursts that come at once. "
        f"Its variance of the rate over the least possible, with d of {held} ms: {lines}. Of Poisson packets it grows "
        "with the number of packets within d: the path looks past d, and spends the bound on keeping to the mean; the "
        "pacer goes no faster than what is known demands, so that it has spent the bound whenever more comes. "
        f"Nor is it the smoothest that cannot see ahead: QLBP with rates around the mean, kept to the same longest "
        f"delay in these runs, {qlbp}. It promises no bound, and has to know the mean."
    )


def check_burstiness(runs: Runs) -> Verdict:
    """Eq. (2) at each d."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for delay in DELAYS:
        each = spread_of(runs[POISSON], delay)
        formula = burstiness(delay)
        within = f"{load() * delay:g} packets within d"
        evidence.append(
            criteria.within(f"spread of the rate over its mean, {within}", each["pacer"], round(formula, 4))
        )
        ours[within] = round(each["pacer"].mean, 4)
        told = {"path": "the shortest path's, which knows all arrivals", "intervals": "counted in intervals of d"}
        for key, words in told.items():
            evidence.append(criteria.inform(f"the same, {words}, {within}", each[key], f"eq. (2): {formula:.4f}"))
        ours[f"path, {within}"] = round(each["path"].mean, 4)
        finish = spread_of(runs["why-finish"], delay)["pacer"]
        evidence.append(
            criteria.inform(f"the same, packets that leave at their last byte, {within}", finish, "why-finish")
        )
    off = {delay: ours[f"{load() * delay:g} packets within d"] / burstiness(delay) for delay in DELAYS}
    paths = {delay: ours[f"path, {load() * delay:g} packets within d"] / burstiness(delay) for delay in DELAYS}
    counted = {delay: spread_of(runs[POISSON], delay)["intervals"].mean / burstiness(delay) for delay in DELAYS}
    text = (
        f"The pacer's spread over that of eq. (2), with d of {', '.join(map(str, DELAYS))} ms: {_list(off)}. It falls "
        "with d as the formula does, and "
        f"is above it. The shortest path, which knows all arrivals, has {_list(paths)}: it falls as 1 / (λ d). No "
        "choice of "
        "what is measured moves the pacer's to the formula at each d: counted in intervals of d it is "
        f"{_list(counted)}, "
        "and which end of a packet is released makes no difference (why-finish)."
    )
    return Verdict(criteria.judge(evidence), ours, {"spread": "1 / √(2 λ d)"}, text, evidence)


def load() -> float:
    """Packets a ms."""
    return MEAN * 1e3 / PACKET_BITS


def burstiness(delay: int) -> float:
    """Eq. (2), d in ms."""
    return float(edge_delay.burstiness(load(), delay))


def _list(values: Mapping[int, float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values.values())


def spread_of(results: Results, delay: int) -> dict[str, Interval]:
    """Standard deviation of the rate over its mean: the pacer's, the path's, and the pacer's in intervals of d."""
    held = delay * 1e-3
    values: dict[str, dict[int, float]] = {"pacer": {}, "path": {}, "intervals": {}}
    for seed, found in exits.by_run(at(results, delay)):
        values["pacer"][seed] = exits.variation(found.releases, found, held)
        values["path"][seed] = exits.variation(exits.path(found, held), found, held)
        start, end = found.window
        counts, _ = np.histogram(found.releases, np.arange(start, end - 2 * held, held))
        values["intervals"][seed] = float(counts.std() / counts.mean())
    return {name: exits.over_seeds(some) for name, some in values.items()}


def draw(runs: Runs) -> Sequence[Picture]:
    """Variance over the least possible, a curve a kind of traffic; and the first seed's rates over a second."""
    figure, (left, right) = drawing.axes(2)
    for slot, name in enumerate(TRAFFIC):
        drawing.curve(left, DELAYS, [ratios(at(runs[name], delay), delay)[1] for delay in DELAYS], name, slot)
    drawing.logarithmic(left, "x", DELAYS)
    drawing.logarithmic(left, "y", (1, 2, 5, 10, 20, 50, 100, 200, 500))
    left.set_xlabel("delay bound, ms")
    left.set_ylabel("variance over the least possible")
    drawing.legend(left, loc="upper left")
    delay = DELAYS[-1]
    _, found = next(exits.by_run(at(runs[POISSON], delay)))
    for slot, (words, releases) in enumerate(
        (("the pacer", found.releases), ("the shortest path", exits.path(found, delay * 1e-3)))
    ):
        shown = (releases[:-1] > found.window[0]) & (releases[:-1] < found.window[0] + 1)
        rate = found.sizes[:-1] * 8e-6 / np.diff(releases)
        seconds = [float(one) for one in releases[:-1][shown]]
        drawing.curve(right, seconds, [float(one) for one in rate[shown]], words, slot, marker="none", capsize=0)
    right.set_xlabel(f"time, s; Poisson packets, d = {delay} ms")
    right.set_ylabel("rate, Mbit/s")
    drawing.legend(right)
    caption = (
        "How much more the pacer's rate varies than that of the smoothest way out within the same bound, by "
        "what comes: "
        "means over seeds with 95 % intervals. Against time: both rates, of one run."
    )
    return [drawing.picture(figure, "optimality", caption)]


def draw_burstiness(runs: Runs) -> Sequence[Picture]:
    """Spread over the number of packets within d, with eq. (2)."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.6))
    within = [load() * delay for delay in DELAYS]
    for slot, (key, words) in enumerate((("pacer", "the pacer"), ("path", "the shortest path"))):
        drawing.curve(ax, within, [spread_of(runs[POISSON], delay)[key] for delay in DELAYS], words, slot)
    drawing.law(ax, within, [burstiness(delay) for delay in DELAYS], "eq. (2)", 2)
    drawing.logarithmic(ax, "x", within)
    drawing.logarithmic(ax, "y", (0.02, 0.05, 0.1, 0.2, 0.5))
    ax.set_xlabel("packets within d")
    ax.set_ylabel("standard deviation of the rate over its mean")
    drawing.legend(ax)
    caption = "Paced Poisson packets: means over seeds with 95 % intervals; the line is the paper's eq. (2)."
    return [drawing.picture(figure, "burstiness", caption)]


RATE = Assumption(
    "What the rate of packets is.",
    "A packet's bytes over the time until the next leaves, for that time; of the pacer and of the path alike.",
    "The paper's curves are of a fluid; the pacer releases a packet where its curve reaches the packet's first byte.",
)
KINDS = Assumption(
    "Which traffic: the pacer accepts any.",
    "Poisson packets, a Markov ON-OFF source, bursts that come at once every 100 ms, each of 10 Mbit/s in the "
    "mean, and "
    "20 TCP flows over 10 Mbit/s.",
    "10 Mbit/s is what each of the paper's ten edges gets of its core. What the least possible is, is computed for the "
    "packets of each run.",
)
QLBP = Assumption(
    "Which QLBP is the similar one.",
    "mu_min and mu_max of 0.7 and 1.3, 0.5 and 1.5, 0.1 and 3, 0.1 and 5 times the mean rate, Q_max of 0.7 and 1 times "
    "what mu_max serves within d; of those whose longest delay keeps d the one that varies least.",
    "It promises a bound to steady sources alone (Theorem 1), so it is held to the longest delay that it had.",
)

CLAIMS = [
    Claim(
        id="edge-optimality",
        paper="edge-vs-host",
        where="II and II-A, optimality",
        kind="number",
        says="The pacer lets traffic go with the lowest maximum rate and the lowest variance of the rate that its "
        "delay bound allows; QLBP is similar and sub-optimal.",
        printed={},
        assumptions=(RATE, KINDS, QLBP),
        sweeps=sweeps,
        check=check,
        draw=draw,
    ),
    Claim(
        id="edge-burstiness",
        paper="edge-vs-host",
        where="IV, eq. (2)",
        kind="number",
        says="Poisson traffic of rate λ through a pacer of bound d has a rate whose standard deviation over its mean "
        "is 1 / √(2 λ d).",
        printed={},
        assumptions=(RATE,),
        sweeps=sweeps_burstiness,
        check=check_burstiness,
        draw=draw_burstiness,
    ),
]
