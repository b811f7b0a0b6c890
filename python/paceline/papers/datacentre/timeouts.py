"""Section II: "simply reducing the retransmission time-out (RTO) often makes no significant improvement".

Criteria were fixed from the text before the runs that judge them. "Often" is at more than half of the settings; a
"significant improvement" of unpaced flows is a mean time of a call that is shorter by more than 5 %, interval included.
What the text offers in its place, that "TCP pacing may be a better option", is told: a "may" has no criterion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import (
    ASSUMPTIONS,
    COUNT,
    FCT,
    FCT_P99,
    METHODS,
    MS,
    NONE,
    PACED,
    UTILISATION,
    at,
    counts,
    flows_of,
    network,
)
from paceline.scenario import Scenario

BUFFERS, FLOWS = (64, 128, 256), (16, 48, 100)
LEAST = "traffic.rpc.tcp.min_rto"
#: Least timeouts that are tried: beyond a round trip of 30 ms, ns-2's and Linux's own of 200 ms is the figures'.
REDUCED = {"reduced": "20 ms", "why-least": "1 ms"}
PARTS = {"mean time of a call": FCT, "99th percentile": FCT_P99}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Buffers and flows with the usual timeout, paced and unpaced, and unpaced with shorter ones."""
    found = {}
    for size in BUFFERS:
        scenario = network(length, size)
        scenario = scenario if length.quick else scenario.set("duration", "25 s")
        found[f"usual-{size}"] = over(scenario, length, METHODS)
        for name, least in REDUCED.items():
            seeds = 3 if name.startswith("why") else 5
            found[f"{name}-{size}"] = over(scenario.set(LEAST, least), length, METHODS[:1], seeds)
    return found


def over(scenario: Scenario, length: Length, methods: Sequence[Mapping[str, Any]], seeds: int = 5) -> Scenario:
    """Each number of flows, by method."""
    return scenario.over({"pacing": methods, COUNT: counts(FLOWS)}).seeds(length.seed_count(seeds))


def check(runs: Runs) -> Verdict:
    """The number of settings at which a shorter timeout shortens calls by more than 5 %."""
    settings = [(size, flows) for size in BUFFERS for flows in flows_of(runs[f"usual-{size}"])]
    better = [one for one in settings if improvement(runs, "reduced", *one).high < -criteria.RELATIVE]
    words = f"settings, of {len(settings)}, at which {REDUCED['reduced']} shortens calls by more than 5 %"
    limit = len(settings) / 2
    evidence = [Evidence(words, float(len(better)), None, f"fewer than {limit:g}", len(better) < limit)]
    for size, flows in settings:
        for name, least in REDUCED.items():
            for part, path in PARTS.items():
                what = f"{part}, {flows} flows, {size} KB: over the usual timeout's − 1"
                evidence.append(criteria.inform(what, improvement(runs, name, size, flows, path), f"at least {least}"))
            other = at(runs[f"{name}-{size}"], NONE, flows)
            used = criteria.difference(other, at(runs[f"usual-{size}"], NONE, flows), UTILISATION)
            what = f"utilisation, {flows} flows, {size} KB: shorter − usual timeout"
            evidence.append(criteria.inform(what, used, f"at least {least}"))
        evidence.append(
            criteria.inform(
                f"mean time of a call, {flows} flows, {size} KB: paced",
                paced(runs, size, flows),
                "over unpaced with the usual timeout, less 1",
            )
        )
    ours = {
        f"{size} KB, {flows} flows": round(improvement(runs, "reduced", size, flows).mean, 4)
        for size, flows in settings
    }
    theirs = {"shorter timeout": "often no significant improvement"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, settings, better), evidence)


def improvement(runs: Runs, name: str, size: int, flows: int, path: str = FCT) -> Interval:
    """Unpaced with a shorter least timeout over unpaced with the usual one, less 1; negative is better."""
    short, usual = at(runs[f"{name}-{size}"], NONE, flows), at(runs[f"usual-{size}"], NONE, flows)
    return criteria.difference(short, usual, path, relative=True)


def paced(runs: Runs, size: int, flows: int) -> Interval:
    """What pacing does to the mean time of a call in place of it, relative."""
    both = runs[f"usual-{size}"]
    return criteria.difference(at(both, PACED, flows), at(both, NONE, flows), FCT, relative=True)


def note(runs: Runs, settings: Sequence[tuple[int, int]], better: Sequence[tuple[int, int]]) -> str:
    """What a shorter timeout does, and pacing in its place."""

    def each(name: str, path: str = FCT) -> str:
        return ", ".join(f"{improvement(runs, name, *one, path).mean:+.0%} ({one[0]} KB, {one[1]})" for one in settings)

    more = [one for one in settings if paced(runs, *one).mean < improvement(runs, "reduced", *one).mean]
    return (
        f"A least timeout of {REDUCED['reduced']} beyond the round trip in place of 200 shortens calls by more than 5 "
        f"%, interval included, at {len(better)} of {len(settings)} settings; change of the mean time, by buffer and "
        "flows: "
        f"{each('reduced')}; of the 99th percentile: {each('reduced', FCT_P99)}. "
        f"With {REDUCED['why-least']}: {each('why-least')}. Pacing shortens them by more than that at {len(more)} of "
        f"{len(settings)}."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """Mean time of a call over flows, a panel a buffer."""
    figure, panels = drawing.axes(len(BUFFERS))
    for ax, size in zip(panels, BUFFERS, strict=True):
        curves = [("unpaced, 200 ms", f"usual-{size}", NONE), ("paced, 200 ms", f"usual-{size}", PACED)]
        curves += [(f"unpaced, {least}", f"{name}-{size}", NONE) for name, least in REDUCED.items()]
        for slot, (words, name, pacing) in enumerate(curves):
            flows = flows_of(runs[name])
            values = [criteria.mean(at(runs[name], pacing, number), FCT, MS) for number in flows]
            drawing.curve(ax, flows, values, words, slot)
        drawing.from_zero(ax)
        ax.set_xlabel("flows")
        ax.set_title(f"{size} KB", fontsize="medium", loc="left", color=drawing.INK)
    panels[0].set_ylabel("mean time of a call, ms")
    drawing.legend(panels[0], loc="upper left")
    caption = "Times of calls of 1 MB by the least timeout beyond a round trip: means over seeds with 95 % intervals."
    return [drawing.picture(figure, "timeouts", caption)]


CLAIM = Claim(
    id="dc-timeouts",
    paper="datacentre",
    where="II, reducing the RTO",
    kind="order",
    says="Simply reducing the retransmission timeout often makes no significant improvement.",
    printed={},
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            "Which timeout is reduced to what, and where it is seen.",
            "Linux's least timeout, from 200 ms beyond the round trip to 20 ms (1 ms: why-least), in the network of "
            "Fig. 4 to 6: three buffers, 16, 48 and 100 flows, unpaced.",
            "The text names neither; work of the time on short timeouts set the least one.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
