"""Experiments on what does not hold: sweeps that vary the choice that decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from paceline.papers import criteria
from paceline.papers.claim import Evidence, Length, Runs
from paceline.papers.today.network import (
    ALL_MBPS,
    BUFFER,
    DUAL,
    FQ,
    GOODPUT,
    LARGE,
    METHODS,
    OFFLOADS,
    PACING,
    SELF_PACED,
    UTILISATION,
    at,
    fairness,
    fairness_difference,
    label,
    of_edges,
    scenario,
    sizes,
    small,
)
from paceline.papers.today.questions import relative
from paceline.scenario import Scenario

#: Fast flows, for which trains are of eight packets.
FAST = ("why-fast-packets", "why-fast-trains")
#: The delay of the pacer, and as much on the path, for those whose shares come apart behind it.
PACER, PATH = "why-pacer-delay", "why-path-delay"
DELAYS = ("300 us", "1 ms", "3 ms")
PATHS = ("10 ms", "15 ms", "20 ms")
LOSS = "links.core.loss_ratio"
#: Long enough for shares to even out.
LONG = "why-long"
NAMES = (*FAST, LONG, PACER, PATH)


def sweeps(variant: str, length: Length) -> Mapping[str, Scenario]:
    """Of one TCP."""
    seeds = length.seed_count()
    found = {}
    if variant == "cubic":
        methods = [METHODS[name] for name in ("none", "host", "edge")]
        for offload, name in zip(OFFLOADS, FAST, strict=True):
            few = scenario(variant, offload, length).set("network.access.per_edge", 1)
            found[name] = few.over({PACING: methods, BUFFER: [label(10), label(100)]}).seeds(seeds)
        long = scenario(variant, "packets", length).set(BUFFER, label(10)).set("duration", "60 s").set("warmup", "30 s")
        found[LONG] = long.over({PACING: [METHODS[name] for name in ("none", "edge")]}).seeds(seeds)
    if variant in SELF_PACED:
        base = scenario(variant, "packets", length).set(BUFFER, label(10))
        found[PACER] = base.over({PACING: [{"method": "edge", "delay": delay} for delay in DELAYS]}).seeds(seeds)
        found[PATH] = base.over({"network.core.delay": list(PATHS)}).seeds(seeds)
    return found


def rows(variant: str, runs: Runs) -> list[Evidence]:
    """What they found."""
    found = []
    if variant in SELF_PACED and not runs.length.quick:
        for method in ("none", "edge"):
            value = fairness(at(runs["packets"], method, 10), of_edges)
            found.append(
                criteria.inform(f"Jain's index of the five edges, {method}, 10 packets", value, "between edges")
            )
    for name in FAST:
        if name in runs:
            for method in ("host", "edge"):
                for size in (10, 100):
                    gain = relative(runs[name], method, "none", size)
                    words = f"goodput, {method} over none, {size} packets, five flows of 100 Mbit/s, %"
                    found.append(criteria.inform(words, gain, name))
    if LONG in runs:
        for method in ("none", "edge"):
            words = f"Jain's index, {method}, 10 packets, of 30 s after 30 s"
            found.append(criteria.inform(words, fairness(at(runs[LONG], method)), LONG))
    for name, path, what in ((PACER, PACING, "behind the pacer"), (PATH, "network.core.delay", "unpaced")):
        if name in runs:
            for label_of in dict.fromkeys(run.settings[path] for run in runs[name]):
                value = fairness(runs[name].where({path: label_of}))
                found.append(criteria.inform(f"Jain's index, {what}, {label_of}, 10 packets", value, name))
    return found


def sentence(variant: str, runs: Runs) -> str:
    """Of the note; of a quick run, which has no experiments, none."""
    return "" if runs.length.quick else SENTENCES[variant](runs)


def _cubic(runs: Runs) -> str:
    ahead = relative(runs["packets"], "edge", "host", 20).mean
    (host, host_trains), (edge, edge_trains) = (
        [relative(runs[name], method, "none", 10).mean for name in FAST] for method in ("host", "edge")
    )
    falls = [
        fairness_difference(at(runs[name], "none", size), at(runs[name], "edge", size)).mean
        for name in OFFLOADS
        for size in small(runs[name])
    ]
    later = [fairness(at(runs[LONG], method)).mean for method in ("none", "edge")]
    return (
        f"Hosts that pace catch up with edges at 20 packets, where these are ahead by {ahead:.1f} %: what is left to "
        "gain there is not the bursts' any more. Trains change little here, where they are of two or three packets. "
        "With five flows of 100 Mbit/s they are of eight: what pacing at hosts gains over 10 packets goes from "
        f"{host:+.0f} to {host_trains:+.0f} %, for a host paces trains; what edges gain, which cut them, from "
        f"{edge:+.0f} to {edge_trains:+.0f} % (why-fast). Jain's index falls by {min(falls):.2f} to {max(falls):.2f} "
        f"behind edges, for paced flows lose less often and even out more slowly: after a minute it is {later[0]:.2f} "
        f"unpaced and {later[1]:.2f} paced (why-long)."
    )


def _bbr(runs: Runs) -> str:
    unpaced = [at(runs["packets"], "none", size) for size in sizes(runs["packets"]) if size >= 10]
    lost = [100 * criteria.mean(one, LOSS).mean for one in unpaced]
    over = 100 * criteria.mean(unpaced[0], UTILISATION).mean
    queued = fairness(at(runs[FQ], "edge")).mean
    return (
        f"BBR v1 uses {over:.0f} % of the link over 10 packets without any pacer, at a loss of {min(lost):.0f} to "
        f"{max(lost):.0f} %, so there is little to gain. Behind edge pacers shares come apart between edges. "
        f"{_apart(runs)} Probably a smooth stream near the link's rate takes each place of a full queue as it falls "
        "free, and the others' packets find none; others would give way at a loss, BBR v1 does not. With a queue a "
        f"flow (FQ-CoDel) shares are even: {queued:.2f}."
    )


def _bbr3(runs: Runs) -> str:
    over = 100 * criteria.mean(at(runs["packets"], "none", 10), UTILISATION).mean
    left = relative(runs["packets"], "edge", "none", 20).mean
    return (
        f"BBR v3 uses {over:.0f} % of the link over 10 packets unpaced, and over 20 packets edges gain {left:+.1f} %. "
        "Behind "
        f"edge pacers shares come apart. {_apart(runs)} v3 gives way at a loss of 2 % and more, and takes time to come "
        "back."
    )


def _apart(runs: Runs) -> str:
    """How far shares come apart over 10 packets, behind pacers and on longer paths."""
    none, edge = (at(runs["packets"], method, 10) for method in ("none", "edge"))
    behind = [fairness(runs[PACER].where({PACING: f"edge {delay}"})).mean for delay in DELAYS]
    longer = [fairness(runs[PATH].where({"network.core.delay": delay})).mean for delay in PATHS[1:]]
    return (
        f"Jain's index of flows over 10 packets is {fairness(none).mean:.2f} unpaced and {fairness(edge).mean:.2f} "
        f"behind edges, of what the five edges get {fairness(none, of_edges).mean:.2f} and "
        f"{fairness(edge, of_edges).mean:.2f}. It needs no long delay: {_listed(behind)} with {_listed(DELAYS)} in the "
        f"pacer (why-pacer-delay). As much more of path, 5 and 10 ms without a pacer, leaves {_listed(longer)} "
        "(why-path-delay)."
    )


def _listed(values: Sequence[float | str]) -> str:
    """They in a row, numbers of two digits."""
    said = [value.replace("300 us", "0.3 ms") if isinstance(value, str) else f"{value:.2f}" for value in values]
    return f"{', '.join(said[:-1])} and {said[-1]}"


def _dctcp(runs: Runs) -> str:
    lost = [relative(runs[name], "edge", "none", LARGE).mean for name in OFFLOADS]
    return (
        "Without marks it halves at a loss and grows as Reno does, so all is as for CUBIC, at a little less of the "
        "link; the pacer's delay, which makes round trips longer, costs Reno's growth "
        f"{-max(lost):.1f} to {-min(lost):.1f} % over {LARGE} packets. What it costs in fairness evens out with time, "
        "and over 20 packets edges come ahead of hosts neither with time nor with fewer flows or longer paths, only "
        "where a queue marks above 3 packets (docs/deciding-choices.md). Where queues mark no packet is lost, and "
        "little is left to pace."
    )


def _prague(runs: Runs) -> str:
    goodput = [criteria.mean(at(runs[DUAL], method), GOODPUT, ALL_MBPS).mean for method in ("none", "host", "edge")]
    return (
        "Without marks it is as DCTCP. Over DualPI2, whose step marks what waits for a millisecond, it gives way to "
        f"its own bursts unless it is paced: {goodput[0]:.0f} Mbit/s unpaced, {goodput[1]:.0f} paced at hosts and "
        f"{goodput[2]:.0f} at edges. Its draft has it paced."
    )


SENTENCES: Mapping[str, Callable[[Runs], str]] = {
    "cubic": _cubic,
    "bbr": _bbr,
    "bbr3": _bbr3,
    "dctcp": _dctcp,
    "prague": _prague,
}
