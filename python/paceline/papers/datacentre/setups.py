"""Section IV-A: other algorithms, sizes of calls, rates and round trips; "our results share the same conclusions".

Criteria were fixed from the text before the runs that judge them. The conclusions are that unpaced overtakes paced at a
number of flows from N* = C RTT / B to 2 N*, "in our experiments ... always", and that "paced traffic always experiences
lower drop rate". So in each set-up that the section lists paced must fill the link better with half of N* flows,
unpaced with twice N*, outside the interval of the paired difference, and paced must lose less with both.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import (
    ASSUMPTIONS,
    COUNT,
    FCT,
    HOSTS,
    LINUX,
    LINUX_PACED,
    LOSS,
    METHODS,
    NONE,
    PACED,
    PERCENT,
    TESTBED,
    UTILISATION,
    at,
    flows_of,
)
from paceline.results import Results
from paceline.scenario import Scenario

#: Of the product of rate and round trip, the buffer has this part: N* = 29, as in Fig. 5. But room for ten packets.
N_STAR, LEAST_BYTES = 29, 15_000
TCP = "traffic.rpc.tcp"


@dataclass(frozen=True)
class SetUp:
    """One of the section's set-ups.

    Attributes:
        words: in tables.
        rate: of the core, Gbit/s.
        round_trip: ms.
        settings: what else differs from the figures' set-up.
    """

    words: str
    rate: int = 1
    round_trip: int = 30
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def buffer(self) -> int:
        """Bytes."""
        return max(self.product // N_STAR, LEAST_BYTES)

    @property
    def product(self) -> int:
        """Rate times round trip, bytes."""
        return self.rate * self.round_trip * 125_000

    @property
    def flows(self) -> tuple[int, int]:
        """Half of N* or less, and twice N* or more, dealt evenly to four pairs of hosts."""
        bound = self.product / self.buffer
        return max(int(bound / 2) // HOSTS, 1) * HOSTS, -int(-2 * bound // HOSTS) * HOSTS


#: A call of 2 MB is 1382 packets; see the assumption on windows.
SETUPS: Mapping[str, SetUp] = {
    "figures": SetUp("CUBIC, 1 MB, 1 Gbit/s, 30 ms"),
    "newreno": SetUp("NewReno", settings={f"{TCP}.variant": "newreno"}),
    "bic": SetUp("BIC", settings={f"{TCP}.variant": "bic"}),
    "2mb": SetUp("2 MB", settings={"traffic.rpc.response": "2 MB", f"{TCP}.max_window": "1385 packets"}),
    "mixed": SetUp("100 B to 1 MB", settings={"traffic.rpc.response": {"uniform": "100 B .. 1 MB"}}),
    "2gbit": SetUp("2 Gbit/s", rate=2),
    "3gbit": SetUp("3 Gbit/s", rate=3),
    "1ms": SetUp("1 ms", round_trip=1),
    "10ms": SetUp("10 ms", round_trip=10),
    "100ms": SetUp("100 ms", round_trip=100),
}
#: What may decide, in words.
WHY: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "today": ("Linux of today", {f"{TCP}.rack": True, f"{TCP}.count_packets": True}),
    "step": ("access links of 1 Gbit/s to the bit", {"network.access.rate": "1 Gbit/s"}),
}

BUFFER = Assumption(
    "The buffer of these set-ups, and their numbers of flows.",
    f"So that N* is {N_STAR}, as in Fig. 5: 3.4 % of the product of rate and round trip, but ten packets at least (1 "
    "ms: N* 8). With half of N* flows and with twice N*, as near as four pairs of hosts share them.",
    "The text prints buffers for the figures' set-up alone, and the bounds in N* for all.",
)
ONE_AT_A_TIME = Assumption(
    "Which combinations were run.",
    "One thing at a time differs from the figures' set-up; 100 B to 1 MB is drawn evenly.",
    "The section lists what was varied, and refers to a technical report for the rest.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep a set-up over both numbers of flows; in full also by Linux's rule, and under other choices."""
    found = {name: over(length, setup, METHODS) for name, setup in SETUPS.items()}
    if not length.quick:
        for name in ("figures", "100ms"):
            found[f"why-linux-{name}"] = over(length, SETUPS[name], [LINUX], seeds=3)
            for why, (_, settings) in WHY.items():
                found[f"why-{why}-{name}"] = over(length, SETUPS[name], METHODS, settings, seeds=3)
    return found


def over(
    length: Length,
    setup: SetUp,
    methods: Sequence[Mapping[str, Any]],
    more: Mapping[str, Any] | None = None,
    seeds: int = 5,
) -> Scenario:
    """One set-up, each method with both numbers of flows."""
    scenario = Scenario(tomllib.loads(TESTBED)).set("title", f"Calls over one bottleneck: {setup.words}")
    duration, warmup = length.choose(("30 s", "10 s"), ("12 s", "4 s"))
    changes = {
        "duration": duration,
        "warmup": warmup,
        "network.core.rate": f"{setup.rate} Gbit/s",
        "network.core.delay": f"{setup.round_trip / 2 - 0.1:g} ms",
        "network.core.buffer": f"{setup.buffer} B",
    }
    for path, value in (changes | dict(setup.settings) | dict(more or {})).items():
        scenario = scenario.set(path, value)
    counts = [flows // HOSTS for flows in setup.flows]
    return scenario.over({"pacing": methods, COUNT: counts}).seeds(length.seed_count(seeds))


def check(runs: Runs) -> Verdict:
    """Paced ahead with few flows, unpaced with many, and less loss paced with both, in each set-up."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for name, setup in SETUPS.items():
        few, many = flows_of(runs[name])
        for flows, sign in ((few, 1.0), (many, -1.0)):
            gap = ahead(runs[name], flows)
            ours[f"{setup.words}, {flows} flows"] = round(gap.mean, 4)
            what = f"utilisation, {flows} flows, {setup.words}: paced − unpaced"
            evidence.append(criteria.order(what, gap, sign=sign))
            unpaced, paced = (at(runs[name], pacing, flows) for pacing in (NONE, PACED))
            what = f"loss, {flows} flows, {setup.words}: unpaced − paced, %"
            evidence.append(criteria.ahead(what, unpaced, paced, LOSS, PERCENT))
    for name, setup in SETUPS.items():
        for flows in flows_of(runs[name]):
            time = criteria.difference(at(runs[name], PACED, flows), at(runs[name], NONE, flows), FCT, relative=True)
            what = f"mean time of a call, {flows} flows, {setup.words}: paced over unpaced − 1"
            evidence.append(criteria.inform(what, time, "beside utilisation"))
    evidence += experiments(runs)
    theirs = {"half of N*": "paced ahead", "twice N*": "unpaced ahead", "loss": "less paced"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, evidence), evidence)


def ahead(results: Results, flows: int, paced: str = PACED, unpaced: Results | None = None) -> Interval:
    """By how much more of the core paced connections use."""
    others = results if unpaced is None else unpaced
    return criteria.difference(at(results, paced, flows), at(others, NONE, flows), UTILISATION)


def moved(runs: Runs, name: str, flows: int) -> Interval:
    """By how much paced is ahead under another choice; Linux's rule is held against the figures' unpaced runs."""
    _, why, setup = name.split("-")
    return ahead(runs[name], flows, LINUX_PACED, runs[setup]) if why == "linux" else ahead(runs[name], flows)


def experiments(runs: Runs) -> list[Evidence]:
    """The same under other choices."""
    rows = []
    for name in (name for name in runs if name.startswith("why-")):
        _, why, setup = name.split("-")
        words = WHY[why][0] if why in WHY else "Linux's rule of pacing"
        for flows in flows_of(runs[name]):
            what = f"utilisation, {flows} flows, {SETUPS[setup].words}: paced − unpaced"
            rows.append(criteria.inform(what, moved(runs, name, flows), words))
    return rows


def note(runs: Runs, evidence: Sequence[Evidence]) -> str:
    """Which set-ups share the conclusions, and what each has."""

    def missed(words: str) -> str:
        rows = [row for row in evidence if row.ok is False and row.statistic.startswith(words)]
        places = (row.statistic.partition(", ")[2].partition(":")[0].partition(", ") for row in rows)
        return "; ".join(f"{setup} ({flows})" for flows, _, setup in places) or "none"

    def span(place: int, sign: float) -> str:
        gaps = [ahead(runs[name], flows_of(runs[name])[place]).mean for name in SETUPS]
        return (
            f"{sum(sign * gap > 0 for gap in gaps)} of {len(gaps)} ({min(gaps):+.1%} to {max(gaps):+.1%} of the link)"
        )

    text = (
        f"With half of N* flows paced is ahead in {span(0, 1.0)}, with twice N* it is behind in {span(1, -1.0)}. "
        f"Utilisation is not as concluded at: {missed('utilisation')}. Paced does not lose less at: {missed('loss')}."
    )
    for why, words in {"linux": "Linux's rule of pacing", **{name: words for name, (words, _) in WHY.items()}}.items():
        parts = []
        for setup in (name.rpartition("-")[2] for name in runs if name.startswith(f"why-{why}-")):
            gaps = [moved(runs, f"why-{why}-{setup}", flows).mean for flows in flows_of(runs[f"why-{why}-{setup}"])]
            parts.append(f"{' and '.join(f'{gap:+.1%}' for gap in gaps)} ({SETUPS[setup].words})")
        if parts:
            text += f" With {words} paced less unpaced is {', '.join(parts)}."
    return text


def draw(runs: Runs) -> Sequence[Picture]:
    """By how much paced is ahead in each set-up, with few flows and with many."""
    figure, (ax,) = drawing.axes(1, (5.8, 4.4))
    places = list(range(len(SETUPS), 0, -1))
    for slot, words in enumerate(("half of N* flows", "twice N* flows")):
        gaps = [ahead(runs[name], flows_of(runs[name])[slot]) for name in SETUPS]
        scaled = [Interval(100 * one.mean, None if one.half is None else 100 * one.half, one.count) for one in gaps]
        drawing.across(ax, scaled, places, words, slot + 1)
    ax.axvline(0, color=drawing.INK, linewidth=0.8)
    ax.set_yticks(places, [setup.words for setup in SETUPS.values()])
    ax.set_ylabel("set-up")
    ax.set_xlabel("paced − unpaced, % of the link")
    drawing.legend(ax)
    caption = (
        "What pacing adds to the use of the core in each set-up of section IV-A: means over seeds with 95 % intervals. "
        "The paper: above 0 with half of N* flows, below with twice."
    )
    return [drawing.picture(figure, "setups", caption)]


CLAIM = Claim(
    id="dc-setups",
    paper="datacentre",
    where="IV-A and IV-C, other set-ups",
    kind="order",
    says="With BIC and NewReno, calls of 2 MB and of 100 B to 1 MB, 2 and 3 Gbit/s, and round trips from 1 to 100 ms "
    "the conclusions are the same: unpaced overtakes between N* and 2 N* flows, and paced always loses less.",
    printed={},
    assumptions=(*ASSUMPTIONS, BUFFER, ONE_AT_A_TIME),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
