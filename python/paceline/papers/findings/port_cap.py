"""Does it pay to pace a whole port, if it may send no faster than its share of the bottleneck?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.datacentre.testbed import (
    ASSUMPTIONS,
    COUNT,
    HOSTS,
    LOSS,
    METHODS,
    NONE,
    PACED,
    PACING,
    PERCENT,
    UTILISATION,
    at,
    counts,
    flows_of,
    network,
)
from paceline.papers.findings import seen
from paceline.results import Results
from paceline.scenario import Scenario

FULL, QUICK = (16, 32, 64, 100), (32, 100)
BUFFER_KB = 64
#: Of a port: four share 1 Gbit/s.
SHARE_MBPS = 250
PORT = "port"
#: Caps that are a fifth off, and one host of four that has nothing to send.
OTHER_CAPS = (200, 300)
IDLE = "why-idle-host"
#: What counts as no loss, of packets.
NO_LOSS = 1e-4
FCT = "flows.fct_mean_s"


def capped(mbps: int) -> dict[str, str]:
    """A port that sends no faster."""
    return {"method": "port", "cap": f"{mbps} Mbit/s"}


def label(mbps: int) -> str:
    """Of such a port in results."""
    return f"port {mbps} Mbit/s"


CAPPED = label(SHARE_MBPS)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Flows by method; other caps, and a host that is idle, beside."""
    scenario = network(length, BUFFER_KB)
    if not length.quick:
        scenario = scenario.set("duration", "30 s")
    flows = length.choose(FULL, QUICK)
    main = scenario.over({PACING: [*METHODS, {"method": "port"}, capped(SHARE_MBPS)], COUNT: counts(flows)})
    found = {"main": main.seeds(length.seed_count(5, 3))}
    if not length.quick:
        for mbps in OTHER_CAPS:
            other = scenario.over({PACING: [capped(mbps)], COUNT: counts(flows)})
            found[f"why-cap-{mbps}"] = other.seeds(length.seed_count(3))
        three = scenario.set("traffic.rpc.from", [f"right.{host}" for host in range(HOSTS - 1)])
        found[IDLE] = three.over({PACING: [METHODS[0], capped(SHARE_MBPS)], COUNT: counts((64,))}).seeds(
            length.seed_count(3)
        )
    return found


def check(runs: Runs) -> Verdict:
    """No loss, more of the link and shorter calls than unpaced and than paced by flow, at each number of flows."""
    results = runs["main"]
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for flows in flows_of(results):
        some = at(results, CAPPED, flows)
        lost = criteria.mean(some, LOSS)
        ours[f"loss, {flows} flows, %"] = round(lost.mean / PERCENT, 4)
        ours[f"utilisation, {flows} flows"] = round(criteria.mean(some, UTILISATION).mean, 3)
        evidence.append(criteria.below(f"loss, capped port, {flows} flows", lost, NO_LOSS))
        for other in (NONE, PACED):
            beside = at(results, other, flows)
            words = f"utilisation, {flows} flows: capped port − {other}"
            evidence.append(criteria.ahead(words, some, beside, UTILISATION))
            words = f"mean time of a call, {flows} flows, s: {other} − capped port"
            evidence.append(criteria.ahead(words, beside, some, FCT))
    for flows in flows_of(results):
        for pacing in (NONE, PACED, PORT, CAPPED):
            evidence.append(told(at(results, pacing, flows), f"{flows} flows, {pacing}"))
    for name, some in runs.items():
        if name != "main":
            for run_label in dict.fromkeys(run.settings[PACING] for run in some):
                for flows in flows_of(some):
                    evidence.append(told(at(some, run_label, flows), f"{flows} flows, {run_label}, {name}"))
    theirs = {"loss": "none", "utilisation": "above unpaced and paced", "calls": "shorter than both"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, evidence, ours), evidence)


def told(some: Results, words: str) -> Evidence:
    """Loss of one setting, its utilisation beside."""
    used = criteria.mean(some, UTILISATION)
    return criteria.inform(f"loss, {words}, %", criteria.mean(some, LOSS, PERCENT), f"utilisation {used.mean:.3f}")


def note(runs: Runs, evidence: Sequence[Evidence], ours: Mapping[str, float]) -> str:
    """The answer in two sentences, and how far it holds."""
    flows = flows_of(runs["main"])
    used = ", ".join(f"{ours[f'utilisation, {number} flows']:.2f} ({number})" for number in flows)
    lost = max(ours[f"loss, {number} flows, %"] for number in flows)
    failed = [row.statistic for row in evidence if row.ok is False]
    text = (
        f"A port that is capped at its share loses {'nothing' if lost == 0 else f'up to {lost:.2g} %'}"
        f", and less than {100 * NO_LOSS:g} % counts as nothing. What it "
        f"uses of the link, by flows: {used}. "
        + (f"Not as expected: {'; '.join(failed)}. " if failed else "All is as expected. ")
        + f"How far: calls of 1 MB over 1 Gbit/s, 30 ms and {BUFFER_KB} KB, four hosts of equal share"
    )
    others = []
    for mbps in OTHER_CAPS:
        name = f"why-cap-{mbps}"
        if name in runs:
            last = at(runs[name], label(mbps), flows[-1])
            others.append(f"capped at {mbps} Mbit/s, {flows[-1]} flows: {_both(last)}")
    if IDLE in runs:
        some = flows_of(runs[IDLE])[0]
        others.append(
            f"one host idle, {some} flows: {_both(at(runs[IDLE], CAPPED, some))}, unpaced "
            f"{_both(at(runs[IDLE], NONE, some))}"
        )
    return text + "".join(f"; {one}" for one in others) + "."


def _both(some: Results) -> str:
    lost, used = criteria.mean(some, LOSS, PERCENT).mean, criteria.mean(some, UTILISATION).mean
    return f"{lost:.2g} % lost, {used:.2f} used"


def draw(runs: Runs) -> Sequence[Picture]:
    """Loss and utilisation against flows, by method."""
    figure, (left, right) = drawing.axes(2)
    flows = flows_of(runs["main"])
    names = {NONE: "unpaced", PACED: "by flow", PORT: "port", CAPPED: "port, capped at its share"}
    for slot, (pacing, words) in enumerate(names.items()):
        for ax, path, scale in ((left, LOSS, PERCENT), (right, UTILISATION, 1.0)):
            values: list[Interval | float] = [
                criteria.mean(at(runs["main"], pacing, number), path, scale) for number in flows
            ]
            drawing.curve(ax, flows, values, words, slot)
    left.set_ylabel("packets lost at the core, %")
    right.set_ylabel("utilisation of the core")
    for ax in (left, right):
        ax.set_xlabel("flows")
        drawing.from_zero(ax)
    drawing.legend(left, loc="upper left")
    caption = (
        "Calls of 1 MB over 1 Gbit/s with 64 KB of buffer: unpaced, paced by flow, by port, and by port with a cap at "
        "its share of the bottleneck; means over seeds with 95 % intervals."
    )
    return [drawing.picture(figure, "port-cap", caption)]


STATISTIC = Assumption(
    "The statistic.",
    "With 16, 32, 64 and 100 flows: fewer than a packet in 10,000 lost at the core by capped ports, interval included; "
    "their utilisation above that of unpaced flows and of flows paced one by one, and their calls shorter than both, "
    "paired by seeds.",
    "Loss is what the paper proposes port pacing against; utilisation and the time of a call are what it may cost.",
)

CLAIM = Claim(
    id="finding-port-cap",
    paper="findings",
    where="capped ports",
    kind="order",
    question="Does it pay to pace a whole port, if it may send no faster than its share of the bottleneck?",
    says="A port that paces at its flows' rates, but at a quarter of the bottleneck at most where four share it, loses "
    "nothing, and gets more of the link and shorter calls than unpaced flows and than flows paced one by one, with 16 "
    "to 100 flows.",
    printed={},
    assumptions=(
        seen(
            "Single runs with 32, 64 and 100 flows: no drops, utilisation .95, 1 and 1. Of 16 flows, of calls, and of "
            "flows paced one by one nothing had been seen."
        ),
        STATISTIC,
        *ASSUMPTIONS[:3],
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
