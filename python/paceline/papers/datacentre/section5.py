"""Section V: one gap for all that leaves a port, which the paper proposes and did not try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from paceline.scenario import Scenario

PORT = [{"method": "port"}, {"method": "port", "per_flow": False}]
PORT_PACED, PORT_ALONE = "port", "port no per_flow"
#: The latter to a reader.
ALONE = "port pacing alone"
#: A port that sends no faster than its share of the bottleneck: four share 1 Gbit/s.
CAPPED, CAP_MBPS = "why-cap", 250
LABELS = (NONE, PACED, PORT_PACED, PORT_ALONE)
FULL = (8, 16, 32, 64, 100)
QUICK = (16, 100)
#: Experiments are of more flows than this.
PORT_FAILS = 16
#: Almost no drops: so much of the unpaced loss, and no more.
ALMOST_NONE = 0.1
#: Packets of 1500 B that a round trip of 30 ms holds at 1 Gbit/s, of which windows may take so much.
PIPE, STEADY = 2500, 0.9

STATISTIC = Assumption(
    "What almost no drops are.",
    "Less than a tenth of the unpaced loss, in the mean over seeds, at each number of flows.",
    "A proposal without numbers; elsewhere the paper calls it almost none where unpaced loses 0.5 %.",
)
STATE = Assumption(
    "What steady state is.",
    "TCP as everywhere in the paper. Beside it, in steady-…, windows that are kept within 90 % of what a round trip "
    "holds, so that they do not grow until they lose.",
    "The paper's model of section III: the windows of all flows together are C RTT.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Over flows with TCP as it is, and with windows that do not probe."""
    flows = length.choose(FULL, QUICK)
    seeds = length.seed_count()
    found = {"main": network(length, 64).over({PACING: METHODS + PORT, COUNT: counts(flows)}).seeds(seeds)}
    if not length.quick:
        capped = [{"method": "port", "cap": f"{CAP_MBPS} Mbit/s"}]
        many = counts([number for number in flows if number > PORT_FAILS])
        found[CAPPED] = network(length, 64).over({PACING: capped, COUNT: many}).seeds(seeds)
    for number in length.choose((16, 32), (16,)):
        window = int(STEADY * PIPE / number)
        scenario = network(length, 64, number).set("traffic.rpc.tcp.max_window", f"{window} packets")
        scenario = scenario.set("duration", length.choose("30 s", "10 s"))
        found[f"steady-{number}"] = scenario.over({PACING: METHODS + PORT}).seeds(seeds)
    return found


def check(runs: Runs) -> Verdict:
    """Loss under port pacing, beside that without, by numbers of flows."""
    results = runs["main"]
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for flows in flows_of(results):
        share = loss_share(
            criteria.by_seed(at(results, PORT_PACED, flows), LOSS), criteria.by_seed(at(results, NONE, flows), LOSS)
        )
        ours[f"{flows} flows"] = round(share, 4)
        evidence.append(criteria.below(f"loss, port over unpaced, {flows} flows", share, ALMOST_NONE))
    for name in steady(runs):
        some = runs[name]
        port, none = (some.where({PACING: pacing}) for pacing in (PORT_PACED, NONE))
        share = loss_share(criteria.by_seed(port, LOSS), criteria.by_seed(none, LOSS))
        number = name.partition("-")[2]
        ours[f"{number} flows, steady"] = round(share, 4)
        words = f"loss, port over unpaced, {number} flows, windows that do not probe"
        evidence.append(criteria.below(words, share, ALMOST_NONE))
    for flows in flows_of(results):
        for pacing in LABELS:
            some = at(results, pacing, flows)
            loss, used = criteria.mean(some, LOSS, PERCENT), criteria.mean(some, UTILISATION)
            evidence.append(criteria.inform(f"loss, {flows} flows, {pacing}, %", loss, f"utilisation {used.mean:.3f}"))
    evidence += capped(runs)
    return Verdict(criteria.judge(evidence), ours, {"loss": "almost none"}, note(runs, ours), evidence)


def capped(runs: Runs) -> list[Evidence]:
    """Ports that send no faster than their share of the bottleneck."""
    rows = []
    for flows in flows_of(runs[CAPPED]) if CAPPED in runs else ():
        some = runs[CAPPED].where({COUNT: str(flows // HOSTS)})
        loss, used = criteria.mean(some, LOSS, PERCENT), criteria.mean(some, UTILISATION)
        words = f"loss, {flows} flows, ports capped at {CAP_MBPS} Mbit/s, %"
        rows.append(criteria.inform(words, loss, f"{CAPPED}; utilisation {used.mean:.3f}"))
    return rows


def note(runs: Runs, ours: Mapping[str, float]) -> str:
    """What port pacing leaves of the unpaced loss, with TCP as it is, with steady windows, and capped."""

    def told(steady_too: bool) -> str:
        return ", ".join(
            f"{share:.2f} ({name.removesuffix(', steady')})"
            for name, share in ours.items()
            if name.endswith("steady") == steady_too
        )

    text = (
        f"Loss under port pacing over that of unpaced flows: {told(False)}; with windows that stay within the path "
        f"{told(True)}. It cannot take away the drops by which TCP finds out how much the path holds, for the sum of "
        "the "
        "flows' rates is what they try."
    )
    if CAPPED not in runs:
        return text
    losses = [
        f"{criteria.mean(runs[CAPPED].where({COUNT: str(flows // HOSTS)}), LOSS, PERCENT).mean:.3g} % ({flows} flows)"
        for flows in flows_of(runs[CAPPED])
    ]
    return f"{text} Ports capped at their share of the bottleneck lose {', '.join(losses)} ({CAPPED})."


def loss_share(port: Mapping[int, float], none: Mapping[int, float]) -> float:
    """Mean loss under port pacing over mean loss without; not a number where nothing was lost without."""
    seeds = port.keys() & none.keys()
    unpaced = sum(none[seed] for seed in seeds)
    return sum(port[seed] for seed in seeds) / unpaced if unpaced else float("nan")


def steady(runs: Runs) -> list[str]:
    """Sweeps with windows that do not probe."""
    return [name for name in runs if name.startswith("steady-")]


def draw(runs: Runs) -> Sequence[Picture]:
    """Loss and utilisation over flows."""
    figure, (left, right) = drawing.axes(2)
    results = runs["main"]
    flows = flows_of(results)
    for slot, pacing in enumerate(LABELS):
        for ax, path, scale in ((left, LOSS, PERCENT), (right, UTILISATION, 1.0)):
            values = [criteria.mean(at(results, pacing, number), path, scale) for number in flows]
            drawing.curve(ax, flows, values, ALONE if pacing == PORT_ALONE else pacing, slot)
    left.set_ylabel("loss at the core, %")
    drawing.logarithmic(left, "y", (0.003, 0.01, 0.03, 0.1, 0.3, 1))
    right.set_ylabel("utilisation of the core")
    for ax in (left, right):
        ax.set_xlabel("flows")
    drawing.legend(left, loc="lower right")
    caption = (
        "64 KB of buffer: no pacing, pacing by flow, by port with and without pacing by flow. "
        "The paper expects almost no drops."
    )
    return [drawing.picture(figure, "section5", caption)]


CLAIM = Claim(
    id="dc-port-pacing",
    paper="datacentre",
    where="V",
    kind="shape",
    says="Proposed, not tried: one gap for all that leaves a port, a packet's size over the sum of the flows' rates, "
    "would leave almost no drops at the bottleneck in steady state.",
    printed={},
    assumptions=(*ASSUMPTIONS, STATISTIC, STATE),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
