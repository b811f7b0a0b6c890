"""The abstract: a fixed 40 % of the link, against one loss-based flow or sixteen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from paceline._statistics import paired
from paceline.papers import criteria, drawing
from paceline.papers.claim import Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.ware.network import (
    ASSUMPTIONS,
    BUFFER,
    COUNT,
    OTHERS,
    VARIANT,
    at,
    label,
    mean_share,
    network,
    shares,
)
from paceline.scenario import Scenario

PRINTED = {"share": 0.4, "flows": 16}
FLOWS, QUICK_FLOWS = (1, 2, 4, 8, 16), (1, 16)
DEEP, QUICK_DEEP = (8, 16, 32), (8,)
#: Others on the shorter path.
SHORT_FLOWS = (1, 4, 16)
#: The same packets in the pipe at a quarter of the time.
SHORT = {"network.core.rate": "40 Mbit/s", "network.core.delay": "2500 us", "network.access.delay": "1250 us"}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Others by number, kind and buffer; and a shorter path."""
    flows, buffers = length.choose(FLOWS, QUICK_FLOWS), length.choose(DEEP, QUICK_DEEP)
    over: dict[str, Sequence[object]] = {
        VARIANT: list(OTHERS.values()),
        COUNT: list(flows),
        BUFFER: [label(size) for size in buffers],
    }
    found = {"main": network(length).over(over).seeds(length.seed_count())}
    if not length.quick:
        short = network(length).set(BUFFER, label(32)).set("duration", "240 s")
        for path, value in SHORT.items():
            short = short.set(path, value)
        found["why-short-path"] = short.over({VARIANT: list(OTHERS.values()), COUNT: list(SHORT_FLOWS)}).seeds(
            length.seed_count()
        )
    return found


def check(runs: Runs) -> Verdict:
    """40 % everywhere, and the same against sixteen as against one."""
    main = runs["main"]
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    flows, buffers = ran(runs)
    for name, variant in OTHERS.items():
        for size in buffers:
            for number in flows:
                found = mean_share(at(main, variant, number, size))
                words = f"BBR's share, {number} {name}, {size} BDP"
                evidence.append(criteria.probability(words, found, PRINTED["share"]))
                if number == flows[-1]:
                    ours[f"{number} {name}, {size} BDP"] = round(found.mean, 3)
            many, one = (shares(at(main, variant, number, size)) for number in (flows[-1], flows[0]))
            moved = paired(many, one)
            assert moved is not None
            words = f"share against {flows[-1]} {name} less that against one, {size} BDP"
            evidence.append(criteria.probability(words, moved, 0.0))
    outcome = criteria.judge(evidence)
    evidence += experiment(runs)
    theirs = {f"16 {name}, deep": PRINTED["share"] for name in OTHERS}
    return Verdict(outcome, ours, theirs, note(runs), evidence)


def note(runs: Runs) -> str:
    """How far the share is fixed, and what a longer queue changes."""
    flows, buffers = ran(runs)
    means = {
        name: {size: [mean_share(at(runs["main"], variant, number, size)).mean for number in flows] for size in buffers}
        for name, variant in OTHERS.items()
    }
    usual = [values for by_size in means.values() for size, values in by_size.items() if size < DEEP[-1]]
    every = [value for values in usual for value in values]
    moved = [100 * abs(values[-1] - values[0]) for values in usual]
    told = (
        f"Over {_words(size for size in buffers if size < DEEP[-1])} BDP the share is {100 * min(every):.0f} to "
        f"{100 * max(every):.0f} % and moves by {min(moved):.0f} to {max(moved):.0f} points from one flow to sixteen, "
        "where a fair share falls from 50 to 6. "
    )
    if DEEP[-1] not in buffers or "why-short-path" not in runs:
        return told.strip()
    deep = {name: 100 * by_size[DEEP[-1]][-1] for name, by_size in means.items()}
    short = [100 * mean_share(at(runs["why-short-path"], OTHERS["CUBIC"], number, None)).mean for number in SHORT_FLOWS]
    return (
        f"{told}Over {DEEP[-1]} BDP against sixteen it is {deep['Reno']:.0f} % beside Reno and {deep['CUBIC']:.0f} % "
        f"beside CUBIC. A full queue of {DEEP[-1]} BDP is 1.3 s here: BBR's cycle of eight round trips then takes as "
        "long as the 10 s from one ProbeRTT to the next, while CUBIC, which grows by time, fills at once what BBR "
        "drained; BBR probes once and drains again before it has come back. On a path of a quarter of the round trip "
        f"that holds as many packets (why-short-path) it has {min(short):.0f} to {max(short):.0f} % against CUBIC over "
        f"{DEEP[-1]} BDP too, whatever the number. So the share depends little on the number of flows as long as a "
        "full queue is a small part of a second."
    )


def _words(sizes: Iterable[int]) -> str:
    return " and ".join(str(size) for size in sizes)


def ran(runs: Runs) -> tuple[list[int], list[int]]:
    """Numbers of flows and buffers of the main sweep."""
    settings = [run.settings for run in runs["main"]]
    return sorted({int(one[COUNT]) for one in settings}), sorted({int(one[BUFFER].split()[0]) for one in settings})


def experiment(runs: Runs) -> list[Evidence]:
    """Shares on the shorter path."""
    if "why-short-path" not in runs:
        return []
    return [
        criteria.inform(
            f"BBR's share, {number} {name}, 32 BDP of 10 ms at 40 Mbit/s",
            mean_share(at(runs["why-short-path"], variant, number, None)),
            "why-short-path: a full queue of 0.3 s",
        )
        for name, variant in OTHERS.items()
        for number in SHORT_FLOWS
    ]


def draw(runs: Runs) -> Sequence[Picture]:
    """The share against the number of others, a curve a buffer."""
    flows, buffers = ran(runs)
    figure, axes = drawing.axes(len(OTHERS))
    for ax, (name, variant) in zip(axes, OTHERS.items(), strict=True):
        for slot, size in enumerate(buffers):
            values = [mean_share(at(runs["main"], variant, number, size)) for number in flows]
            drawing.curve(ax, flows, values, f"{size} BDP", slot)
        fair = [1 / (number + 1) for number in flows]
        drawing.law(ax, flows, fair, "a fair share", len(buffers))
        drawing.printed(ax, flows[-1], PRINTED["share"], "paper: 0.4", offset=(-60, 10))
        drawing.logarithmic(ax, "x", flows)
        ax.set_ylim(0, 1)
        ax.set_xlabel(f"{name} flows beside one of BBR v1")
        ax.set_ylabel("BBR's share of the link")
    drawing.legend(axes[0], loc="upper right")
    caption = "One BBR v1 flow over 10 Mbit/s and 40 ms: its share against the number of others. The paper: 40 %."
    return [drawing.picture(figure, "share", caption)]


CLAIM = Claim(
    id="ware-share",
    paper="ware",
    where="Abstract, the share",
    kind="number",
    says="Over a deep buffer one BBR flow holds a fixed 40 % of the link, against one CUBIC or Reno flow or sixteen.",
    printed=PRINTED,
    assumptions=ASSUMPTIONS,
    sweeps=sweeps,
    check=check,
    draw=draw,
)
