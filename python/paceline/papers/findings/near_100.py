"""Do paced flows need more buffer near 100 flows? The CS244 rerun saw it and could not say why."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.cs244.buffer_sizing import BUFFER, COUNT, HOSTS, KERNEL, NETWORK, RATE, TARGET, rule, smallest
from paceline.papers.findings import seen
from paceline.results import Results
from paceline.scenario import Scenario

FLOWS, QUICK_FLOWS = (50, 100, 200, 400), (100, 400)
BUFFERS = (5, 10, 15, 20, 30, 40, 60, 80, 100, 130, 170, 220, 300, 400)
QUICK_BUFFERS = (10, 20, 40, 80, 130, 220, 400)
PACING = "pacing"
NONE, EXACT, FASTER, LINUX = "none", "host ideal", "host ideal gain 1.2", "host linux"
METHODS = [
    {"method": "none"},
    {"method": "host", "rule": "ideal"},
    {"method": "host", "rule": "ideal", "gain": 1.2},
    {"method": "host", "rule": "linux"},
]
PACED = (EXACT, FASTER, LINUX)
WHY = {"why-cubic": ("CUBIC", "cubic"), "why-newreno": ("NewReno", "newreno")}

STATISTIC = Assumption(
    "The statistic.",
    "The smallest buffer for 98 % of the link, seed by seed, of paced flows less that of unpaced ones: above 0 with "
    "its "
    "interval at 50, 100, 200 and 400 flows that pace by exactly a window a round trip; not above 5 % of the unpaced "
    "need "
    "at any of them by Linux's rule.",
    "If the number of flows decided, as the rerun supposes, both pacers would show it; if the pacer does, one.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Buffers by pacer and number of flows; two other TCPs at 100."""
    scenario = Scenario(tomllib.loads(NETWORK)).set("title", "How much buffer paced flows need")
    duration, warmup = length.choose(("50 s", "20 s"), ("18 s", "8 s"))
    scenario = scenario.set("duration", duration).set("warmup", warmup)
    buffers = [f"{size} packets" for size in length.choose(BUFFERS, QUICK_BUFFERS)]
    counts = [number // HOSTS for number in length.choose(FLOWS, QUICK_FLOWS)]
    main = scenario.over({PACING: METHODS, COUNT: counts, BUFFER: buffers})
    found = {"main": main.seeds(length.seed_count(5))}
    if not length.quick:
        for name, (_, variant) in WHY.items():
            other = scenario.set("traffic.bulk.tcp.variant", variant)
            three = [METHODS[0], METHODS[1], METHODS[3]]
            found[name] = other.over({PACING: three, COUNT: [100 // HOSTS], BUFFER: buffers}).seeds(
                length.seed_count(3)
            )
    return found


def check(runs: Runs) -> Verdict:
    """More at every number of flows by an exact pacer, and no more by Linux's."""
    results = runs["main"]
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for flows in flows_of(results):
        extra = more(results, EXACT, flows)
        ours[f"exact, {flows} flows, packets more"] = round(extra.mean, 1)
        evidence.append(criteria.order(f"smallest buffer, {flows} flows, packets: exact pacer − unpaced", extra))
        share = more(results, LINUX, flows, relative=True)
        ours[f"Linux's rule, {flows} flows, share more"] = round(share.mean, 3)
        words = f"smallest buffer, {flows} flows: Linux's rule over unpaced − 1"
        evidence.append(criteria.below(words, share, criteria.RELATIVE))
    for flows in flows_of(results):
        for pacing in (NONE, *PACED):
            value = interval(needs(results, pacing, flows).values())
            assert value is not None
            words = f"BDP / √n = {rule(flows):.0f}"
            evidence.append(criteria.inform(f"smallest buffer, {flows} flows, {pacing}, packets", value, words))
    for name, (words, _) in WHY.items():
        if name in runs:
            for pacing in (EXACT, LINUX):
                extra = more(runs[name], pacing, 100)
                evidence.append(criteria.inform(f"100 flows, packets: {pacing} − unpaced", extra, words))
    theirs = {"exact pacer": "more at every number of flows", "Linux's rule": "no more at any"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs), evidence)


def flows_of(results: Results) -> list[int]:
    """Numbers of flows that were run."""
    return sorted({HOSTS * int(run.settings[COUNT]) for run in results})


def needs(results: Results, pacing: str, flows: int) -> dict[int, float]:
    """The smallest buffer that is enough under each seed, packets; the ends of the grid bound it."""
    curves: dict[int, list[tuple[int, float]]] = {}
    for run in results.where({PACING: pacing, COUNT: str(flows // HOSTS)}):
        used = run.links["core"].utilisation
        assert used is not None
        curves.setdefault(run.seed, []).append((int(run.settings[BUFFER].split()[0]), used))
    return {seed: smallest(sorted(points)) for seed, points in curves.items()}


def more(results: Results, pacing: str, flows: int, *, relative: bool = False) -> Interval:
    """What paced flows need beyond unpaced ones, packets or a share of theirs, seed by seed."""
    paced, unpaced = needs(results, pacing, flows), needs(results, NONE, flows)
    found = interval((paced[seed] - unpaced[seed]) / (unpaced[seed] if relative else 1) for seed in sorted(paced))
    assert found is not None
    return found


def note(runs: Runs) -> str:
    """The answer in two sentences, and how far it holds."""
    results = runs["main"]

    def told(pacing: str) -> str:
        return ", ".join(f"{more(results, pacing, number).mean:+.0f} ({number})" for number in flows_of(results))

    others = "; ".join(
        f"{words} at 100 flows {more(runs[name], EXACT, 100).mean:+.0f} and {more(runs[name], LINUX, 100).mean:+.0f}"
        for name, (words, _) in WHY.items()
        if name in runs
    )
    flows = flows_of(results)
    needy = {
        pacing: [number for number in flows if (extra := more(results, pacing, number)).half and extra.low > 0]
        for pacing in (EXACT, LINUX)
    }
    return (
        f"{'Yes' if 100 in needy[EXACT] else 'No'}: with {_which(needy[EXACT])} they need more if they pace by "
        f"exactly a window a round trip, and with {_which(needy[LINUX])} by Linux's rule. In packets, by the number "
        f"of flows: {told(EXACT)} by "
        f"exactly a window a round trip; {told(FASTER)} a fifth faster; {told(LINUX)} by Linux's rule. How far: Reno "
        f"with SACK, 1180 packets a round trip of 100 ms, 98 % of the link"
        f"{'; exact and by Linux, ' + others if others else ''}."
    )


def _which(flows: Sequence[int]) -> str:
    return f"{', '.join(map(str, flows)) or 'no number of'} flows"


def draw(runs: Runs) -> Sequence[Picture]:
    """The smallest buffer against flows, by pacer."""
    figure, (ax,) = drawing.axes(1, (5.8, 3.8))
    results = runs["main"]
    flows = flows_of(results)
    names = {NONE: "unpaced", EXACT: "a window a round trip", FASTER: "1.2 windows", LINUX: "Linux's rule"}
    for slot, (pacing, words) in enumerate(names.items()):
        found = [interval(needs(results, pacing, number).values()) or Interval(0.0, None, 0) for number in flows]
        drawing.curve(ax, flows, found, words, slot)
    ax.plot(flows, [rule(number) for number in flows], color=drawing.INK, linestyle="--", label="BDP / √n")
    drawing.logarithmic(ax, "x", flows)
    drawing.logarithmic(ax, "y", (5, 10, 20, 50, 100, 200, 400))
    ax.set_xlabel("flows")
    ax.set_ylabel("smallest buffer for 98 %, packets")
    drawing.legend(ax, loc="lower left")
    caption = "The least buffer that gives 98 % of the link, by pacer: means over seeds with 95 % intervals."
    return [drawing.picture(figure, "near-100", caption)]


CLAIM = Claim(
    id="finding-buffer-near-100",
    paper="findings",
    where="buffer near 100 flows",
    kind="order",
    question="Do paced flows need more buffer near 100 flows?",
    says="The pacer decides and not the number of flows: paced by exactly a window a round trip they need more at any "
    "number from 50 to 400, by Linux's rule no more at any.",
    printed={},
    assumptions=(
        seen(
            "Runs of cs244-buffer-sizing: an exact pacer needs more at 100 flows, and less more for many; by faster "
            "rules "
            "two seeds at 50, 100 and 400 flows needed about as much as unpaced."
        ),
        STATISTIC,
        RATE,
        TARGET,
        KERNEL,
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
