"""Fig. 2, section IV-B, base case (i): one connection alone, nothing to lose, and pacing only costs time.

Criteria were fixed from the text before the runs that judge them, in the set-up that it prints: a round trip of 30 ms;
unpaced gets "38 % higher utilization than paced"; 8 ms to send a call; 39 ms for nearly all calls unpaced, and 63 ms,
2.1 round trips, paced. Another round trip and another reading of the 38 %, which we infer from the paper's own times,
are told beside and do not count.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import (
    FCT,
    FCT_P99,
    KERNEL,
    LINUX,
    LINUX_PACED,
    METHODS,
    MS,
    NONE,
    PACED,
    PACER,
    PACING,
    TESTBED,
    UTILISATION,
    WINDOW,
)
from paceline.results import Results
from paceline.scenario import Scenario

PRINTED = {
    "gain": 0.38,
    "unpaced_fct_ms": 39,
    "paced_fct_ms": 63,
    "transmission_ms": 8,
    "paced_round_trips": 2.1,
}
#: As printed, and as inferred, ms.
RTT_MS, INFERRED_MS = 30, 31
INFERRED = "why-inferred"
ROUND_TRIP = Assumption(
    "The round trip of the hosts beside the 30 ms of the delay emulator.",
    "None: 30 ms in all, as printed. Inferred beside: 31 ms.",
    "The paper's own figure has an unpaced call in 39 ms, of which 8 are its transmission.",
)
MEANING = Assumption(
    "Of what the 38 % are a share.",
    "Of the paced utilisation, as the text has it: unpaced / paced - 1. Inferred beside: of the unpaced one.",
    "The paper's own times give 1 - 39/63 = 38.1 % of the unpaced utilisation, and 61.5 % of the paced one.",
)


def base_case(length: Length, hosts: int, round_trip_ms: float) -> Scenario:
    """One connection for each pair of hosts, for the paper's 300 s; access links as fast as the core."""
    scenario = Scenario(tomllib.loads(TESTBED))
    for path, value in {
        "title": "Calls of 1 MB, one connection a server",
        "duration": length.choose("300 s", "20 s"),
        "warmup": length.choose("10 s", "5 s"),
        "network.core.delay": f"{round_trip_ms / 2 - 0.1:g} ms",
        "network.access.hosts": hosts,
        "network.access.rate": "1 Gbit/s",
        "traffic.rpc.count": 1,
    }.items():
        scenario = scenario.set(path, value)
    return scenario


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """One server and one client."""
    scenario = base_case(length, 1, RTT_MS)
    seeds = length.seed_count()
    found = {"main": scenario.over({PACING: METHODS}).seeds(seeds)}
    if not length.quick:
        short = scenario.set("duration", "60 s")
        found[INFERRED] = base_case(length, 1, INFERRED_MS).set("duration", "60 s").over({PACING: METHODS}).seeds(2)
        found["why-linux"] = short.over({PACING: [LINUX]}).seeds(2)
        windows = ["691 packets", "736 packets", "10000 packets"]
        found["why-window"] = short.over({PACING: METHODS, "traffic.rpc.tcp.max_window": windows}).seeds(2)
    return found


def check(runs: Runs) -> Verdict:
    """Five printed numbers in the printed set-up; the times and the other reading of the gain, inferred, beside."""
    unpaced, paced = (runs["main"].where({PACING: pacing}) for pacing in (NONE, PACED))
    time, slow = criteria.mean(unpaced, FCT, MS), criteria.mean(paced, FCT, MS)
    ours = {
        "gain": criteria.difference(unpaced, paced, UTILISATION, relative=True),
        "unpaced_fct_ms": time,
        "paced_fct_ms": slow,
        "transmission_ms": Interval(time.mean - RTT_MS, time.half, time.count),
        "paced_round_trips": Interval(slow.mean / RTT_MS, slow.half and slow.half / RTT_MS, slow.count),
    }
    words = {
        "gain": "unpaced gets so much more utilisation than paced",
        "unpaced_fct_ms": "mean time of a call, unpaced, ms",
        "paced_fct_ms": "mean time of a call, paced, ms",
        "transmission_ms": "what a call takes beyond a round trip, unpaced, ms",
        "paced_round_trips": "round trips for a call, paced",
    }
    evidence = [
        *(criteria.within(words[name], value, PRINTED[name]) for name, value in ours.items()),
        criteria.below("99th percentile of the times of calls, unpaced: nearly all", _p99(unpaced), 39, "ms"),
        criteria.inferred(
            criteria.within("the gain, of the unpaced utilisation", gain(unpaced, paced), PRINTED["gain"])
        ),
        *inferred(runs),
        *experiments(runs),
    ]
    own = gain(unpaced, paced).mean
    note = (
        "A window that is open as far as a call needs sends 1 MB at once, or spread over one more round trip: "
        f"{time.mean:.1f} and {slow.mean:.1f} ms, where the paper prints 39 and 63. So unpaced has "
        f"{ours['gain'].mean:.0%} more utilisation than paced, and not 38 %, as 63 / 39 − 1 = 62 % of the paper's own "
        f"times say too. Of the unpaced utilisation it is {own:.0%}, which is nearer to what is printed."
    )
    rounded = {name: round(value.mean, 3) for name, value in ours.items()}
    return Verdict(criteria.judge(evidence), rounded, PRINTED, note, evidence)


def _p99(results: Results) -> Interval:
    return criteria.mean(results, FCT_P99, MS)


def inferred(runs: Runs) -> list[Evidence]:
    """Both times with the round trip that the paper's own figure implies."""
    if INFERRED not in runs:
        return []
    return [
        criteria.inferred(
            criteria.within(
                f"mean time of a call, {pacing}, round trip {INFERRED_MS} ms",
                criteria.mean(runs[INFERRED].where({PACING: pacing}), FCT, MS),
                PRINTED[name],
                "ms",
            )
        )
        for pacing, name in ((NONE, "unpaced_fct_ms"), (PACED, "paced_fct_ms"))
    ]


def gain(unpaced: Results, paced: Results) -> Interval:
    """1 - paced / unpaced utilisation, seed by seed."""
    less = criteria.difference(paced, unpaced, UTILISATION, relative=True)
    return Interval(-less.mean, less.half, less.count)


def experiments(runs: Runs) -> list[Any]:
    """What the rule and the window do to a call's time."""
    rows = []
    for pacing in (NONE, PACED):
        for settings, some in runs["why-window"].by_settings() if "why-window" in runs else ():
            if settings[PACING] == pacing:
                window = settings["traffic.rpc.tcp.max_window"]
                time = criteria.mean(some, FCT, MS)
                rows.append(criteria.inform(f"time of a call, {pacing}, window to {window}, ms", time, "why-window"))
    if "why-linux" in runs:
        time = criteria.mean(runs["why-linux"].where({PACING: LINUX_PACED}), FCT, MS)
        rows.append(criteria.inform("time of a call, Linux's present rule, ms", time, "why-linux"))
    return rows


def draw(runs: Runs) -> Sequence[Picture]:
    """Both panels: utilisation, times of calls."""
    figure, (left, right) = drawing.axes(2)
    for slot, pacing in enumerate((NONE, PACED)):
        some = runs["main"].where({PACING: pacing})
        drawing.curve(left, [slot], [criteria.mean(some, UTILISATION)], pacing, slot, linestyle="none")
        drawing.curve(right, [slot], [criteria.mean(some, FCT, MS)], pacing, slot, linestyle="none")
    drawing.printed(right, 0, PRINTED["unpaced_fct_ms"], "paper: 39")
    drawing.printed(right, 1, PRINTED["paced_fct_ms"], "paper: 63", offset=(-62, -4))
    unpaced = interval(run.links["core"].utilisation for run in runs["main"].where({PACING: NONE}))
    if unpaced:
        drawing.printed(left, 1, unpaced.mean / (1 + PRINTED["gain"]), "paper: unpaced 38 % more", offset=(-108, 8))
    for ax, words in ((left, "utilisation of the core"), (right, "mean time of a call, ms")):
        ax.set_xticks([0, 1], ["unpaced", "paced"])
        ax.set_xlim(-0.5, 1.5)
        drawing.from_zero(ax)
        ax.set_ylabel(words)
    caption = "One connection with calls of 1 MB over 1 Gbit/s and 30 ms; crosses are what the paper prints."
    return [drawing.picture(figure, "fig2", caption)]


CLAIM = Claim(
    id="dc-base-under",
    paper="datacentre",
    where="Fig. 2, IV-B",
    kind="number",
    says="One connection alone: unpaced calls take one round trip and 8 ms, 39 ms, paced ones 2.1 round trips, 63 ms; "
    "unpaced gets 38 % more utilisation than paced.",
    printed=PRINTED,
    assumptions=(PACER, WINDOW, ROUND_TRIP, MEANING, KERNEL),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
