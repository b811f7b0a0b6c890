"""The abstract, n flows: BDP / √n is enough for the TCPs of today, but not with unfair flows or some kinds of ECN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.spang.network import (
    BUFFER,
    COUNT,
    HOSTS,
    HOSTS_OF_TODAY,
    MANY_PATH,
    TCPS,
    UTILISATION,
    VARIANT,
    many,
    rule,
)
from paceline.results import Results
from paceline.scenario import Scenario

FLOWS, QUICK_FLOWS = (25, 100, 400), (25,)
#: Enough is what gives so much of what a buffer of a BDP gives.
ENOUGH = 0.98
#: Those that the abstract speaks of.
JUDGED = ("Reno", "CUBIC", "BBR v1")
#: Flows for which exceptions are looked for.
EXCEPTIONS, QUICK_EXCEPTIONS = (25, 50, 100, 200, 400), (25,)
#: All but one of the flows, where they are unfair: a window that an application or a receiver bounds.
BOUNDED = "5 packets"

RULE = Assumption(
    "What it is for the rule to hold.",
    "With BDP / √n of buffer the link carries at least 98 % of what it carries with a BDP, interval included, for 25, "
    "100 and 400 flows.",
    "BBR leaves a part unused with any buffer, which is not the rule's matter; 98 % is what buffer sizing of CS244 "
    "calls full.",
)
UNFAIR = Assumption(
    "Which flows are unfair.",
    "All but one hold a window of 5 packets at most, as a receiver or an application bounds it: the last one has most "
    "of the link.",
    "The abstract does not say. √n comes from sums of many windows of one size; one window that is most of the sum is "
    "the plainest case against it.",
)
MARKS = Assumption(
    "Which settings of ECN.",
    "Reno and CUBIC that ask for marks (RFC 3168) over a queue that marks every packet above BDP / √n, with room for "
    "ten BDP; beside the same TCP over a buffer of that size, which drops.",
    "The abstract does not say. A queue above the step marks all flows within one round trip.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """For each number of flows, BDP / √n and a BDP; Reno paced at hosts beside."""
    found = {}
    for flows in length.choose(FLOWS, QUICK_FLOWS):
        base = many(length).set(COUNT, flows // HOSTS)
        sizes = [f"{rule(flows)} packets", "1 BDP"]
        variants = [TCPS[name] for name in length.choose(JUDGED, JUDGED[:2])]
        found[f"{flows}-flows"] = base.over({VARIANT: variants, BUFFER: sizes}).seeds(length.seed_count())
        if not length.quick:
            paced = base.set("pacing", {"method": "host"}).set(VARIANT, "rfc6675")
            found[f"why-paced-{flows}"] = paced.over({BUFFER: sizes}).seeds(length.seed_count())
    return found


def check(runs: Runs) -> Verdict:
    """Utilisation at BDP / √n over that at a BDP."""
    evidence: list[Evidence] = []
    told: list[Evidence] = []
    ours: dict[str, float] = {}
    for flows in numbers(runs):
        results = runs[f"{flows}-flows"]
        for name in there_are(results):
            some = results.where({VARIANT: TCPS[name]})
            found = over_bdp(some, rule(flows))
            words = f"utilisation at BDP / √n over that at a BDP, {name}, {flows} flows"
            ours[f"{name}, {flows} flows"] = round(found.mean, 4)
            evidence.append(criteria.above(words, found, ENOUGH))
            there = criteria.mean(some.where({BUFFER: f"{rule(flows)} packets"}), UTILISATION)
            told.append(criteria.inform(f"utilisation at BDP / √n, {name}, {flows} flows", there, "of 500 Mbit/s"))
        if f"why-paced-{flows}" in runs:
            paced = over_bdp(runs[f"why-paced-{flows}"], rule(flows))
            words = f"utilisation at BDP / √n over that at a BDP, Reno paced at hosts, {flows} flows"
            told.append(criteria.inform(words, paced, f"why-paced-{flows}"))
    theirs = {"BDP / √n": "enough"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, ours), [*evidence, *told])


def note(runs: Runs, ours: Mapping[str, float]) -> str:
    """Who has enough, and what pacing changes for Reno."""
    least = {name: min(value for key, value in ours.items() if key.startswith(name)) for name in JUDGED[:2]}
    paced = [over_bdp(runs[name], rule(int(name.split("-")[2]))).mean for name in runs if name.startswith("why-paced")]
    told = ", ".join(f"{name} {100 * value:.1f} % or more" for name, value in least.items())
    return (
        f"Of what a BDP of buffer gives, BDP / √n gives {told}. "
        + (f"Reno paced at hosts has {100 * min(paced):.1f} % or more (why-paced). " if paced else "")
        + NOTE
    )


NOTE = (
    "So it is not bursts that Reno lacks room for: probably its flows lose together and halve together, paced ones all "
    "the more, as in cs244-buffer-sizing, and √n stands for flows that are independent. CUBIC, which keeps 0.7 of its "
    "window, needs less of the same; BBR v1 does not cut at a loss at all."
)


def there_are(results: Results) -> list[str]:
    """TCPs that were run."""
    variants = {run.settings[VARIANT] for run in results}
    return [name for name in JUDGED if TCPS[name] in variants]


def numbers(runs: Runs) -> list[int]:
    """Numbers of flows that were run."""
    return sorted(int(name.split("-")[0]) for name in runs if name.endswith("-flows"))


def over_bdp(results: Results, packets: int) -> Interval:
    """Utilisation with so many packets of buffer over that with a BDP, seed by seed."""
    a, b = (results.where({BUFFER: text}) for text in (f"{packets} packets", "1 BDP"))
    found = criteria.difference(a, b, UTILISATION, relative=True)
    return Interval(1 + found.mean, found.half, found.count)


def sweeps_exceptions(length: Length) -> Mapping[str, Scenario]:
    """Fair and unfair flows, and marks in the place of drops."""
    found = {}
    for flows in length.choose(EXCEPTIONS, QUICK_EXCEPTIONS):
        base = many(length).set(COUNT, flows // HOSTS).set(BUFFER, f"{rule(flows)} packets")
        seeds = length.seed_count()
        found[f"fair-{flows}"] = base.over({VARIANT: ["cubic", "rfc6675"]}).seeds(seeds)
        found[f"unfair-{flows}"] = unfair(base, flows).seeds(seeds)
        step: dict[str, object] = {"discipline": "red", "q_weight": 1.0, "max_p": 0.999, "wait": "no", "ecn": "always"}
        step |= {"thresh": f"{rule(flows)} packets", "maxthresh": f"{rule(flows) + 1} packets"}
        marked = base.set("network.core.queue", step).set(BUFFER, "10 BDP").set("traffic.bulk.tcp.ecn", "rfc3168")
        found[f"marked-{flows}"] = marked.over({VARIANT: ["cubic", "rfc6675"]}).seeds(seeds)
    return found


def unfair(base: Scenario, flows: int) -> Scenario:
    """As many flows; all but one of them bounded."""
    document = base.to_dict()
    (bulk,) = document["traffic"]
    one = bulk | {"name": "large", "from": "left.0", "count": 1}
    tcp = {**bulk["tcp"], "max_window": BOUNDED}
    small = bulk | {"name": "small", "from": [f"left.{host}" for host in range(1, HOSTS)], "tcp": tcp}
    beside = bulk | {"name": "beside", "from": "left.0", "count": flows // HOSTS - 1, "tcp": tcp}
    return Scenario(document | {"traffic": [one, small, *([beside] if flows > HOSTS else [])]})


def check_exceptions(runs: Runs) -> Verdict:
    """Fair over unfair, and drops over marks, at each number of flows."""
    evidence: list[Evidence] = []
    told: list[Evidence] = []
    ours: dict[str, float] = {}
    for flows in sorted(int(name.split("-")[1]) for name in runs if name.startswith("fair-")):
        fair = runs[f"fair-{flows}"]
        cubic = fair.where({VARIANT: "cubic"})
        words = f"utilisation at BDP / √n, fair − unfair flows, CUBIC, {flows} flows"
        evidence.append(criteria.ahead(words, cubic, runs[f"unfair-{flows}"], UTILISATION))
        ours[f"unfair, {flows} flows"] = round(criteria.mean(runs[f"unfair-{flows}"], UTILISATION).mean, 3)
        for name, variant in (("CUBIC", "cubic"), ("Reno", "rfc6675")):
            dropped, marked = (one.where({VARIANT: variant}) for one in (fair, runs[f"marked-{flows}"]))
            words = f"utilisation at BDP / √n, drops − marks, {name}, {flows} flows"
            evidence.append(criteria.ahead(words, dropped, marked, UTILISATION))
            for kind, some in (("drops", dropped), ("marks", marked)):
                value = criteria.mean(some, UTILISATION)
                told.append(criteria.inform(f"utilisation, {kind}, {name}, {flows} flows", value, "of 500 Mbit/s"))
    theirs = {"unfair, some ECN": "the rule does not hold"}
    return Verdict(criteria.judge(evidence), ours, theirs, NOTE_EXCEPTIONS, [*evidence, *told])


NOTE_EXCEPTIONS = (
    "One flow that has most of the link needs what one flow needs, whatever their number, and takes longer than these "
    "runs to find its window, which is part of what is missing. With 25 flows BDP / √n is a fifth of a BDP, which is "
    "nearly enough for one CUBIC flow (spang-one-flow): it shows there in runs of a minute. A step of marks tells all "
    "flows within one round trip, so that they cut together: their sum then moves as one window does. Marks by delay, "
    "as CoDel's, in a buffer of ten BDP, are a setting of ECN that costs nothing (docs/deciding-choices.md)."
)


def draw(runs: Runs) -> Sequence[Picture]:
    """Utilisation at the rule's buffer, over that at a BDP, against flows."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    flows = numbers(runs)
    for slot, name in enumerate(there_are(runs[f"{flows[0]}-flows"])):
        some = [runs[f"{number}-flows"].where({VARIANT: TCPS[name]}) for number in flows]
        values = [over_bdp(one, rule(number)) for one, number in zip(some, flows, strict=True)]
        drawing.curve(ax, flows, values, name, slot)
    ax.axhline(ENOUGH, color=drawing.INK, linestyle=":", label="enough")
    drawing.logarithmic(ax, "x", flows)
    ax.set_xlabel("flows")
    ax.set_ylabel("utilisation, BDP / √n over BDP")
    drawing.legend(ax, loc="lower right")
    return [drawing.picture(figure, "many-flows", "What BDP / √n of buffer carries, of what a BDP does.")]


def draw_exceptions(runs: Runs) -> Sequence[Picture]:
    """Utilisation against flows: fair, unfair, marked."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    flows = sorted(int(name.split("-")[1]) for name in runs if name.startswith("fair-"))
    curves = {
        "CUBIC, fair, drops": [runs[f"fair-{n}"].where({VARIANT: "cubic"}) for n in flows],
        "CUBIC, unfair, drops": [runs[f"unfair-{n}"] for n in flows],
        "CUBIC, fair, marks": [runs[f"marked-{n}"].where({VARIANT: "cubic"}) for n in flows],
        "Reno, fair, drops": [runs[f"fair-{n}"].where({VARIANT: "rfc6675"}) for n in flows],
        "Reno, fair, marks": [runs[f"marked-{n}"].where({VARIANT: "rfc6675"}) for n in flows],
    }
    for slot, (name, some) in enumerate(curves.items()):
        drawing.curve(ax, flows, [criteria.mean(one, UTILISATION, 0.01) for one in some], name, slot)
    drawing.logarithmic(ax, "x", flows)
    ax.set_xlabel("flows")
    ax.set_ylabel("utilisation at BDP / √n, %")
    ax.set_ylim(40, 102)
    drawing.legend(ax, loc="lower left", ncols=2)
    return [drawing.picture(figure, "exceptions", "Unfair flows, and marks in the place of drops, at BDP / √n.")]


CLAIMS = (
    Claim(
        id="spang-sqrt-n",
        paper="spang",
        where="Abstract, many flows",
        kind="number",
        says="A buffer of BDP / √n is enough for n flows of CUBIC or BBR, as it is for Reno.",
        printed={"rule": "BDP / √n"},
        assumptions=(HOSTS_OF_TODAY, MANY_PATH, RULE),
        sweeps=sweeps,
        check=check,
        draw=draw,
    ),
    Claim(
        id="spang-exceptions",
        paper="spang",
        where="Abstract, where √n fails",
        kind="order",
        says="The rule of √n does not hold for unfair flows, nor with certain settings of ECN.",
        printed={},
        assumptions=(HOSTS_OF_TODAY, MANY_PATH, UNFAIR, MARKS),
        sweeps=sweeps_exceptions,
        check=check_exceptions,
        draw=draw_exceptions,
    ),
)
