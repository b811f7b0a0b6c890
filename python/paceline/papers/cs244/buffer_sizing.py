"""Buffer Sizing: the smallest buffer that keeps the link full, by number of flows.

Criteria were fixed from the page before the runs that judge them: less than 100 packets for 50 unpaced flows; more for
100 paced ones; "still below the revised rule of thumb" BDP / √n with pacing at every number; and a difference that
fades, so at each number of flows beyond 100, to one that is negligible, within the 5 % of all numbers, at the last. Of
the network of Aggarwal, Savage and Anderson, 1250 packets and 50 flows, it prints what that rule requires: 180 packets.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.cs244.network import LINUX, LINUX_PACED, METHODS, NONE, PACED, PACER, PACING, VARIANT
from paceline.results import Results
from paceline.scenario import Scenario

NETWORK = """\
title    = "How much buffer n flows need"
duration = "120 s"
warmup   = "20 s"
seed     = 1

[network]
template = "dumbbell"
core   = { rate = "141.6 Mbit/s", delay = "49.9 ms", buffer = "100 packets" }   # 1180 packets of 1500 B in 100 ms
access = { hosts = 10, rate = "1 Gbit/s", delay = "10 us .. 90 us" }

[[traffic]]
name  = "bulk"
kind  = "bulk"
count = 10                         # of each host
start = "0 s .. 5 s"

[traffic.tcp]
profile       = "linux"
variant       = "rfc6675"                # Linux's reno, which has SACK
rack          = false              # Linux 3.5: what came later is off
count_packets = false

[pacing]
method = "none"

[probes]
"""

BDP = 1180
HOSTS = 10
#: Enough buffering is what gives so much of the link.
FULL_LINK = 0.98
BUFFERS = (5, 10, 20, 30, 40, 60, 70, 80, 90, 100, 115, 130, 150, 170, 220, 300, 400)
FEW_BUFFERS = (5, 10, 20, 40, 60, 80, 100, 130, 170, 220, 300, 400)
#: Seeds of full length: seeds of 50 s runs left the mean at 50 flows uncertain by 13 packets.
SEEDS = 8
QUICK_BUFFERS = (10, 40, 100, 220, 400)
FLOWS = (50, 100, 200, 400, 800)
QUICK_FLOWS = (50, 100, 400)
COUNT, BUFFER, UTILISATION = "traffic.bulk.count", "network.core.buffer", "links.core.utilisation"
PRINTED = {"bdp_packets": BDP, "flows": 50, "unpaced_below_packets": 100, "rule_packets": 180}
#: The rule's 180 packets are of this product and so many flows.
ORIGINAL = (50, 1250)

TARGET = Assumption(
    "What full utilisation is.",
    "98 % of the link.",
    "The search of Stanford's CS244 assignment on buffer sizing, from which the page's code starts: "
    "TARGET_UTIL_FRACTION = 0.98.",
)
RATE = Assumption(
    "Rate and round trip; the page prints their product, 1180 packets.",
    "141.6 Mbit/s and 100 ms, packets of 1500 B.",
    "Their round trip is said to be like that of the pacing experiments; results scale with the product.",
)
KERNEL = Assumption(
    "The TCP of Linux 3.5 that the page calls regular Reno.",
    "Reno's growth, by acknowledgements, with SACK.",
    "Defaults of 3.5; growth by packets came with 3.13 and losses by time (RACK) with 4.4: see why-today. Without "
    "SACK: why-newreno.",
)
SEARCH = Assumption(
    "How the smallest buffer is found: the page bisects, one run a step.",
    "From a grid of 17 buffers, eight seeds each: the least from which on every larger one is enough, by a straight "
    "line in the logarithm between two of them.",
    "A bisection assumes that utilisation rises with the buffer, which paced flows do not always do.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Buffers by flows; Linux's rule, a faster pacer and NewReno beside."""
    scenario = Scenario(tomllib.loads(NETWORK))
    if length.quick:
        scenario = scenario.set("duration", "18 s").set("warmup", "8 s")
    flows = length.choose(FLOWS, QUICK_FLOWS)
    buffers = [f"{size} packets" for size in length.choose(BUFFERS, QUICK_BUFFERS)]
    over = scenario.over({PACING: METHODS, COUNT: [number // HOSTS for number in flows], BUFFER: buffers})
    found = {"main": over.seeds(length.seed_count(SEEDS))}
    if not length.quick:
        few = length.seed_count(3)
        scenario, buffers = scenario.set("duration", "50 s"), [f"{size} packets" for size in FEW_BUFFERS]
        some = [number // HOSTS for number in (50, 100, 400)]
        rules = [LINUX, {"method": "host", "rule": "ideal", "gain": 1.2}]
        found["why-rule"] = scenario.over({PACING: rules, COUNT: some, BUFFER: buffers}).seeds(few)
        newreno = scenario.set(VARIANT, "newreno")
        today = scenario.set("traffic.bulk.tcp.rack", True).set("traffic.bulk.tcp.count_packets", True)
        found["why-today"] = today.over({PACING: METHODS, COUNT: some, BUFFER: buffers}).seeds(few)
        found["why-newreno"] = newreno.over({PACING: METHODS, COUNT: some, BUFFER: buffers}).seeds(few)
    return found


def check(runs: Runs) -> Verdict:
    """Unpaced below 100 packets at 50 flows; paced needs more at 100, not above BDP / √n; the difference fades."""
    results = runs["main"]
    flows = flows_of(results)
    needs = {pacing: {number: need(results, pacing, number) for number in flows} for pacing in (NONE, PACED)}
    more = {number: extra(results, number) for number in flows}
    last = flows[-1]
    evidence: list[Evidence] = [
        criteria.below("smallest buffer, unpaced, 50 flows, packets", needs[NONE][50], 100, "packets"),
        criteria.above("what paced needs more, 100 flows, packets", more[100], 0, "packets"),
        *(
            criteria.below(f"smallest buffer, paced, {number} flows: BDP / √n", needs[PACED][number], rule(number))
            for number in flows
        ),
        *(
            criteria.order(f"what paced needs more, packets: 100 flows − {number}", less(results, 100, number))
            for number in flows
            if number > 100
        ),
        criteria.within(
            f"smallest buffer, paced, {last} flows: as unpaced", needs[PACED][last], round(needs[NONE][last].mean, 1)
        ),
    ]
    thumb = rule(*ORIGINAL)
    what = "BDP / √n of {1} packets and {0} flows, packets".format(*ORIGINAL)
    evidence.append(criteria.packets(what, thumb, PRINTED["rule_packets"]))
    for number in flows:
        for pacing in (NONE, PACED):
            words = f"BDP / √n = {rule(number):.0f}"
            evidence.append(
                criteria.inform(f"smallest buffer, {pacing}, {number} flows, packets", needs[pacing][number], words)
            )
    evidence += experiments(runs)
    ours = {f"{pacing}, {number} flows": round(needs[pacing][number].mean, 1) for pacing in needs for number in flows}
    ours["rule of the original, packets"] = round(thumb, 1)
    theirs: dict[str, Any] = {
        "unpaced, 50 flows": "below 100",
        "paced − unpaced, 100 flows": "above 0",
        "many flows": "negligible",
        "rule of the original, packets": PRINTED["rule_packets"],
    }
    told = ", ".join(f"{more[number].mean:+.0f} ({number})" for number in flows)
    note = (
        f"Unpaced, 50 flows need {needs[NONE][50].mean:.0f} packets. What paced flows need more, by their number: "
        f"{told}. "
        "The pacer decides where that fades: at exactly a window a round trip a flow loses, for good, whatever part of "
        "its window an acknowledgement frees too late, and more so the smaller its window. Other rules (why-rule), "
        "NewReno (why-newreno) and Linux of today, which grows its windows faster (why-today), stand beside. "
        f"The page's own formula gives {thumb:.0f} packets where it prints {PRINTED['rule_packets']}, rounded to tens."
    )
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def rule(flows: int, product: int = BDP) -> float:
    """BDP / √n, the revised rule of thumb, packets."""
    return product / math.sqrt(flows)


def less(results: Results, few: int, many: int) -> Interval:
    """By how much what paced flows need more shrinks from `few` flows to `many`, packets, seed by seed."""
    needs = {
        (pacing, number): needs_by_seed(results, pacing, number) for pacing in (NONE, PACED) for number in (few, many)
    }
    seeds = set.intersection(*(set(one) for one in needs.values()))
    found = interval(
        needs[PACED, few][seed] - needs[NONE, few][seed] - needs[PACED, many][seed] + needs[NONE, many][seed]
        for seed in sorted(seeds)
    )
    assert found is not None
    return found


def flows_of(results: Results) -> list[int]:
    """Numbers of flows that were run."""
    return sorted({HOSTS * int(run.settings[COUNT]) for run in results})


def need(results: Results, pacing: str, flows: int) -> Interval:
    """The smallest buffer that is enough, packets, over seeds."""
    found = interval(needs_by_seed(results, pacing, flows).values())
    assert found is not None
    return found


def extra(results: Results, flows: int) -> Interval:
    """What paced flows need beyond unpaced ones, packets, seed by seed."""
    paced, unpaced = (needs_by_seed(results, pacing, flows) for pacing in (PACED, NONE))
    found = interval(paced[seed] - unpaced[seed] for seed in paced)
    assert found is not None
    return found


def needs_by_seed(results: Results, pacing: str, flows: int) -> dict[int, float]:
    """The smallest buffer that is enough under each seed, packets."""
    curves: dict[int, list[tuple[int, float]]] = {}
    for run in results.where({PACING: pacing, COUNT: str(flows // HOSTS)}):
        used = run.links["core"].utilisation
        assert used is not None
        curves.setdefault(run.seed, []).append((int(run.settings[BUFFER].split()[0]), used))
    return {seed: smallest(sorted(points)) for seed, points in curves.items()}


def smallest(points: Sequence[tuple[int, float]]) -> float:
    """The least buffer from which on utilisation stays at or above `FULL_LINK`; the ends of the grid bound it."""
    short = [place for place, (_, used) in enumerate(points) if used < FULL_LINK]
    if not short:
        return float(points[0][0])
    if short[-1] == len(points) - 1:
        return float(points[-1][0])
    (low, below), (high, above) = points[short[-1]], points[short[-1] + 1]
    part = (FULL_LINK - below) / (above - below)
    return math.exp(math.log(low) + part * (math.log(high) - math.log(low)))


def experiments(runs: Runs) -> list[Evidence]:
    """Other rules, NewReno and Linux of today at some numbers of flows."""
    rows = []
    for name in ("why-rule", "why-newreno", "why-today"):
        results = runs.get(name)
        if results is None:
            continue
        labels = dict.fromkeys(run.settings[PACING] for run in results)
        what = {"why-newreno": "NewReno, ", "why-today": "Linux of today, "}.get(name, "")
        for label in labels:
            for number in flows_of(results):
                needed = need(results, label, number)
                rows.append(criteria.inform(f"smallest buffer, {what}{label}, {number} flows, packets", needed, name))
    return rows


def draw(runs: Runs) -> Sequence[Picture]:
    """The smallest buffer against flows, next to both rules of thumb."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    results = runs["main"]
    flows = flows_of(results)
    for slot, pacing in enumerate((NONE, PACED)):
        drawing.curve(ax, flows, [need(results, pacing, number) for number in flows], pacing, slot)
    others = runs.get("why-rule")
    if others is not None:
        numbers = flows_of(others)
        drawing.curve(ax, numbers, [need(others, LINUX_PACED, number) for number in numbers], "Linux's rule", 2)
    ax.plot(flows, [rule(number) for number in flows], color=drawing.INK, linestyle="--", label="BDP / √n")
    ax.axhline(BDP, color=drawing.INK, linestyle=":", label="BDP")
    drawing.printed(ax, 50, 100, "paper, unpaced: below 100", offset=(8, -14))
    drawing.logarithmic(ax, "x", flows)
    drawing.logarithmic(ax, "y", (5, 10, 20, 50, 100, 200, 500, 1000))
    ax.set_xlabel("flows")
    ax.set_ylabel("smallest buffer for 98 %, packets")
    drawing.legend(ax, loc="lower left")
    caption = (
        "The least buffer that gives 98 % of the link; the largest buffer tried where none does. BDP: 1180 packets."
    )
    return [drawing.picture(figure, "buffer-sizing", caption)]


CLAIM = Claim(
    id="cs244-buffer-sizing",
    paper="cs244",
    where="Buffer Sizing",
    kind="shape",
    says="Near 50 flows unpaced needs less than 100 packets of buffer for a full link; near 100 flows paced needs more "
    "than unpaced, though less than BDP / √n, and for many flows the difference fades until it is negligible.",
    printed=PRINTED,
    assumptions=(RATE, PACER, TARGET, KERNEL, SEARCH),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
