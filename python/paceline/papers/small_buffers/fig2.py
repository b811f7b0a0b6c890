"""Fig. 2, section II: throughput against the core's buffer, by how many access links are fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.small_buffers.network import (
    ASSUMPTIONS,
    BUFFER,
    MIXES,
    TARGET,
    UTILISATION,
    at,
    buffer_for,
    crossing,
    dumbbell,
    label,
    sizes,
)
from paceline.scenario import Scenario

#: Buffers of each mix, packets: close to where the paper has 90 %, and wide apart elsewhere.
FULL = {"slow": (4, 5, 6, 10, 15, 20), "half": (5, 8, 9, 10, 20), "fast": (5, 13, 14, 15, 20)}
QUICK = {"slow": (4, 5, 6, 10), "half": (8, 9, 10), "fast": (13, 14, 15)}
PRINTED = {"slow_access": 5, "half_fast": 10, "all_fast": 15}
WORDS = {"slow": "all at 10 Mbit/s", "half": "half at 1 Gbit/s", "fast": "all at 1 Gbit/s"}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep over buffers for each mix."""
    return {mix: over_buffers(dumbbell(mix), length.choose(FULL, QUICK)[mix], length) for mix in MIXES}


def over_buffers(scenario: Scenario, packets: Sequence[int], length: Length, full: int = 5) -> Scenario:
    """The scenario over these buffers, at this length, under `full` seeds where that is full."""
    if length.quick:
        scenario = scenario.set("duration", "40 s").set("warmup", "15 s")
    return scenario.over({BUFFER: [label(size) for size in packets]}).seeds(length.seed_count(full))


def check(runs: Runs) -> Verdict:
    """The buffer that gives 90 %, for each mix."""
    evidence = []
    ours: dict[str, float | None] = {}
    for mix, (name, printed) in zip(MIXES, PRINTED.items(), strict=True):
        found = buffer_for(runs[mix])
        evidence.append(enough(f"smallest buffer for {TARGET:.0%} of the core, access {WORDS[mix]}", found, printed))
        if where := crossing(runs[mix]):
            evidence.append(
                criteria.inform(f"where {TARGET:.0%} is crossed, {WORDS[mix]}, packets", where, "not whole")
            )
        ours[name] = None if found is None else round(found.mean, 1)
        if printed in sizes(runs[mix]):
            value = criteria.mean(at(runs[mix], printed), UTILISATION)
            evidence.append(
                criteria.inform(f"throughput at {printed} packets, {WORDS[mix]}, of the core", value, "nearly 0.9")
            )
    note = (
        "For every mix the smallest buffer that gives 90 % of the core is within one packet of the paper's."
        if criteria.judge(evidence) == "reproduced"
        else "Where a mix needs another buffer, its rows say by how much; runs of 40 s have not settled."
    )
    return Verdict(criteria.judge(evidence), ours, PRINTED, note, evidence)


def enough(statistic: str, found: Interval | None, printed: float) -> Evidence:
    """Whether the buffer that gives 90 % is the one printed, within a packet."""
    if found is None:
        return Evidence(statistic, "beyond the buffers run", None, f"{printed:g} packets within one", False)
    return criteria.packets(statistic, found, printed)


def draw(runs: Runs) -> Sequence[Picture]:
    """The three curves of the paper."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    for slot, mix in enumerate(MIXES):
        found = sizes(runs[mix])
        values = [criteria.mean(at(runs[mix], size), UTILISATION, 0.01) for size in found]
        drawing.curve(ax, found, values, WORDS[mix], slot)
    for packets in PRINTED.values():
        drawing.printed(ax, packets, 100 * TARGET, f"{packets}", offset=(3, -14))
    ax.set_xlabel("buffer of the core link, packets")
    ax.set_ylabel("throughput, % of 200 Mbit/s")
    drawing.legend(ax, loc="lower right")
    caption = (
        "1000 unpaced Reno flows: means over seeds with 95 % intervals. Crosses: the buffers that the paper names for "
        "90 %, 5, 10 and 15 packets."
    )
    return [drawing.picture(figure, "fig2", caption)]


CLAIM = Claim(
    id="zhao-fig2",
    paper="small-buffers",
    where="Fig. 2, II",
    kind="number",
    says="For 90 % of the core, 5 packets of buffer do behind slow access links, roughly 10 if half of them are fast, "
    "and 15 if all are.",
    printed=PRINTED,
    assumptions=ASSUMPTIONS,
    sweeps=sweeps,
    check=check,
    draw=draw,
)
