"""Fig. 2, section IV-B, base case (i): one connection alone, nothing to lose, and pacing only costs time."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import (
    FCT,
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

PRINTED = {"gain": 0.38, "unpaced_fct_ms": 39, "paced_fct_ms": 63}
ROUND_TRIP = Assumption(
    "The round trip of the hosts beside the 30 ms of the delay emulator.",
    "31 ms in all.",
    "The paper's own figure: an unpaced call takes 39 ms and its transmission 8 ms. With 30 ms to the bit both times "
    "are 2 to 4 % shorter; see why-30ms.",
)
MEANING = Assumption(
    "Of what the 38 % are a share: higher utilisation than paced, says the text.",
    "Of the unpaced utilisation: 1 - paced / unpaced.",
    "The paper's own times give 1 - 39/63 = 38.1 %; as a share of the paced utilisation they would give 61.5 %.",
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
    scenario = base_case(length, 1, 31)
    seeds = length.seed_count()
    found = {"main": scenario.over({PACING: METHODS}).seeds(seeds)}
    if not length.quick:
        short = scenario.set("duration", "60 s")
        found["why-30ms"] = base_case(length, 1, 30).set("duration", "60 s").over({PACING: METHODS}).seeds(2)
        found["why-linux"] = short.over({PACING: [LINUX]}).seeds(2)
        windows = ["691 packets", "736 packets", "10000 packets"]
        found["why-window"] = short.over({PACING: METHODS, "traffic.rpc.tcp.max_window": windows}).seeds(2)
    return found


def check(runs: Runs) -> Verdict:
    """Three printed numbers."""
    unpaced, paced = (runs["main"].where({PACING: pacing}) for pacing in (NONE, PACED))
    ours = {
        "gain": gain(unpaced, paced),
        "unpaced_fct_ms": criteria.mean(unpaced, FCT, MS),
        "paced_fct_ms": criteria.mean(paced, FCT, MS),
    }
    evidence = [
        criteria.within("unpaced gets so much more, of its own utilisation", ours["gain"], PRINTED["gain"]),
        criteria.within("mean time of a call, unpaced, ms", ours["unpaced_fct_ms"], PRINTED["unpaced_fct_ms"], "ms"),
        criteria.within("mean time of a call, paced, ms", ours["paced_fct_ms"], PRINTED["paced_fct_ms"], "ms"),
        criteria.inform(
            "the same gain, of the paced utilisation",
            criteria.difference(unpaced, paced, UTILISATION, relative=True),
            "the other reading of 38 %, which the paper's own 39 and 63 ms exclude (63/39 - 1 = 0.62)",
        ),
        *experiments(runs),
    ]
    note = (
        "A window that is open as far as a call needs sends 1 MB at once, or spread over one more round trip. The 38 % "
        "are a share of the unpaced utilisation, as the paper's own two times say."
    )
    rounded = {name: round(value.mean, 3) for name, value in ours.items()}
    return Verdict(criteria.judge(evidence), rounded, PRINTED, note, evidence)


def gain(unpaced: Results, paced: Results) -> Interval:
    """1 - paced / unpaced utilisation, seed by seed."""
    less = criteria.difference(paced, unpaced, UTILISATION, relative=True)
    return Interval(-less.mean, less.half, less.count)


def experiments(runs: Runs) -> list[Any]:
    """What the round trip, the rule and the window do to a call's time."""
    rows = []
    for pacing in (NONE, PACED):
        if "why-30ms" in runs:
            time = criteria.mean(runs["why-30ms"].where({PACING: pacing}), FCT, MS)
            rows.append(criteria.inform(f"time of a call, {pacing}, 30 ms round trip, ms", time, "why-30ms"))
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
        drawing.printed(left, 1, unpaced.mean * (1 - PRINTED["gain"]), "paper: 38 % less", offset=(-100, 8))
    for ax, words in ((left, "utilisation of the core"), (right, "mean time of a call, ms")):
        ax.set_xticks([0, 1], ["unpaced", "paced"])
        ax.set_xlim(-0.5, 1.5)
        ax.set_ylim(bottom=0)
        ax.set_ylabel(words)
    caption = "One connection with calls of 1 MB over 1 Gbit/s and 31 ms; crosses are what the paper prints."
    return [drawing.picture(figure, "fig2", caption)]


CLAIM = Claim(
    id="dc-base-under",
    paper="datacentre",
    where="Fig. 2, IV-B",
    kind="number",
    says="One connection alone: unpaced calls take one round trip and 8 ms, paced ones a second round trip; unpaced "
    "gets 38 % more utilisation.",
    printed=PRINTED,
    assumptions=(PACER, WINDOW, ROUND_TRIP, MEANING, KERNEL),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
