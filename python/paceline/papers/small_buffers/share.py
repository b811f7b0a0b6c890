"""Section I and II: the buffer that a core link needs, over the share of fast access links.

Criteria were fixed from the text before the runs that judge them. "A significant proportion of high-speed access links
necessitates larger buffers": of the shares between none and all, which Fig. 2 leaves out, each larger one needs more
buffer for 90 % of the core than the one before, outside the interval of the paired difference. "5 packets of buffering
suffice irrespective of the mix of traffic", where hosts behind fast links pace: five within one packet at each share.
Section I's example of the rule of thumb, "10 Gigabits" for 250 ms at 40 Gbit/s, is a number of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.small_buffers import fig2
from paceline.papers.small_buffers.network import ASSUMPTIONS, TARGET, buffer_for, crossings, shared
from paceline.scenario import Scenario
from paceline.theory import buffer_rules

#: Shares of fast access links, percent, and the buffers that are run of each, packets: about where 90 % is crossed.
UNPACED: Mapping[int, Sequence[int]] = {
    0: (4, 5, 6, 10),
    10: (5, 6, 7, 8),
    25: (6, 7, 8, 9),
    50: (5, 8, 9, 10),
    75: (9, 11, 13),
    100: (5, 13, 14, 15),
}
PACED, PACED_QUICK = (4, 5, 6), (4, 5, 6, 7)
PRINTED = {"paced_packets": 5, "rule_of_thumb_gbit": 10}
#: The rule's link and round trip.
RULE = ("40 Gbit/s", "250 ms")


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Buffers about the crossing, by share; then with pacing at the hosts behind fast links."""
    found = {f"fast-{share}": over(share, sizes, length) for share, sizes in UNPACED.items()}
    for share in UNPACED:
        if share:
            sizes = length.choose(PACED, PACED_QUICK)
            found[f"paced-{share}"] = over(share, sizes, length, {"method": "host"} | at_fast(share))
    return found


def at_fast(share: int) -> dict[str, str]:
    """Where hosts pace: behind the fast links, which are a group unless all are fast."""
    return {} if share == 100 else {"at": "fast"}


def over(share: int, sizes: Sequence[int], length: Length, pacing: Mapping[str, str] | None = None) -> Scenario:
    """One share over these buffers."""
    scenario = shared(share / 100)
    return fig2.over_buffers(scenario.set("pacing", dict(pacing)) if pacing else scenario, sizes, length)


def check(runs: Runs) -> Verdict:
    """The buffer rises with the share at each step; with pacing it is five packets at each."""
    evidence: list[Evidence] = []
    ours: dict[str, float | None] = {}
    for few, many in pairwise(UNPACED):
        step = rise(runs, few, many)
        what = f"buffer for {TARGET:.0%} of the core: {many} % fast − {few} %, packets"
        words = "above 0, interval included"
        evidence.append(criteria.order(what, step) if step else Evidence(what, "beyond those run", None, words, False))
    for share in UNPACED:
        where = crossing(runs, f"fast-{share}")
        ours[f"unpaced, {share} % fast"] = None if where is None else round(where.mean, 2)
        if where:
            evidence.append(
                criteria.inform(f"where {TARGET:.0%} is crossed, {share} % fast, packets", where, "unpaced")
            )
        if share:
            found = buffer_for(runs[f"paced-{share}"])
            statistic = f"smallest buffer for {TARGET:.0%} of the core, {share} % fast, those paced"
            evidence.append(fig2.enough(statistic, found, PRINTED["paced_packets"]))
            ours[f"paced, {share} % fast"] = None if found is None else round(found.mean, 1)
    thumb = 8e-9 * float(buffer_rules.bandwidth_delay(*RULE))
    what = f"buffer by the rule of thumb, {' and '.join(RULE)}, Gbit"
    evidence.append(criteria.within(what, thumb, PRINTED["rule_of_thumb_gbit"], "Gbit"))
    return Verdict(criteria.judge(evidence), ours | {"rule_of_thumb_gbit": thumb}, PRINTED, note(ours), evidence)


def crossing(runs: Runs, name: str) -> Interval | None:
    """Where 90 % is crossed, over seeds; ``None`` where some seed has no crossing."""
    found = crossings(runs[name]).values()
    return None if None in found else interval(one for one in found if one is not None)


def rise(runs: Runs, few: int, many: int) -> Interval | None:
    """How much more buffer the larger share needs, seed by seed."""
    less, more = crossings(runs[f"fast-{few}"]), crossings(runs[f"fast-{many}"])
    steps = [b - a for seed in less.keys() & more.keys() if (a := less[seed]) and (b := more[seed])]
    return interval(steps) if len(steps) == len(less) else None


def note(ours: Mapping[str, float | None]) -> str:
    """What each share needs."""
    unpaced = {share: ours[f"unpaced, {share} % fast"] for share in UNPACED}
    told = ", ".join(f"{'none of those run' if one is None else one} ({share} %)" for share, one in unpaced.items())
    paced = [one for name, one in ours.items() if name.startswith("paced")]
    known = [one for one in paced if one is not None]
    text = f"Packets of buffer for 90 % of the core, by the share of fast access links: {told}."
    if known:
        least, most = f"{min(known):g}", f"{max(known):g}"
        each = "each share" if len(known) == len(paced) else f"{len(known)} of {len(paced)} shares"
        text += f" Where hosts behind fast links pace, {least if least == most else f'{least} to {most}'} do at {each}."
    first, last = unpaced[0], unpaced[100]
    half = unpaced[50]
    if first and half and last:
        text += f" Half of the links being fast costs {(half - first) / (last - first):.0%} of what all cost."
    return text


def draw(runs: Runs) -> Sequence[Picture]:
    """The buffer over the share."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    for slot, (name, words) in enumerate((("fast", "unpaced"), ("paced", "fast hosts pace"))):
        points = [
            (share, found)
            for share in UNPACED
            if f"{name}-{share}" in runs
            for found in [crossing(runs, f"{name}-{share}")]
            if found
        ]
        drawing.curve(ax, [share for share, _ in points], [found for _, found in points], words, slot)
    drawing.printed(ax, 50, PRINTED["paced_packets"], "paper: 5, whatever the mix", offset=(6, -14))
    drawing.from_zero(ax)
    ax.set_xlabel("access links of 1 Gbit/s, %")
    ax.set_ylabel("buffer for 90 % of the core, packets")
    drawing.legend(ax, loc="upper left")
    caption = "Where throughput crosses 90 % of the core: means over seeds with 95 % intervals."
    return [drawing.picture(figure, "share", caption)]


CLAIM = Claim(
    id="zhao-share",
    paper="small-buffers",
    where="I and II, shares between",
    kind="order",
    says="The more access links are fast, the larger a buffer the core needs; where hosts behind fast links pace, five "
    "packets do, whatever the mix.",
    printed=PRINTED,
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            "Which shares; the figures have none, half and all.",
            "0, 10, 25, 50, 75 and 100 % of a thousand access links.",
            "The text speaks of any mix, and of a significant proportion.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
