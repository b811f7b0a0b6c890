"""Experiments on what does not hold: sweeps that vary the choice that decides."""

from __future__ import annotations

from collections.abc import Mapping

from paceline.papers import criteria
from paceline.papers.claim import Evidence, Length, Runs
from paceline.papers.today.network import (
    BUFFER,
    METHODS,
    OFFLOADS,
    PACING,
    SELF_PACED,
    at,
    fairness,
    label,
    of_edges,
    scenario,
)
from paceline.papers.today.questions import relative
from paceline.scenario import Scenario

#: Fast flows, for which trains are of eight packets.
FAST = ("why-fast-packets", "why-fast-trains")
#: The delay of the pacer, and as much on the path, for those whose shares come apart behind it.
PACER, PATH = "why-pacer-delay", "why-path-delay"
DELAYS = ("300 us", "1 ms", "3 ms")
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
        found[PATH] = base.over({"network.core.delay": ["10 ms", "15 ms", "20 ms"]}).seeds(seeds)
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
    """Of the note."""
    del runs
    return SENTENCES.get(variant, "")


SENTENCES: Mapping[str, str] = {
    "cubic": "Hosts that pace catch up with edges at 20 packets: what is left to gain there is not the bursts' any "
    "more. Trains change little here, where they are of two or three packets. With five flows of 100 Mbit/s they are "
    "of eight, and take half of what pacing at hosts gains over 10 packets, for a host paces trains, but nothing of "
    "what edges gain, which cut them (why-fast). Fairness falls by about 0.05, for paced flows lose less often and "
    "even out more slowly: after a minute both are at 0.99 (why-long).",
    "bbr": "BBR v1 fills the link from 10 packets on without any pacer, at a loss of 15 to 20 %, so there is little to "
    "gain. Behind edge pacers shares come apart between edges: the flows of one edge take most of the link. It needs "
    "no long delay, 0.3 ms in the pacer do most of it (why-pacer-delay), and more of path does not (why-path-delay). "
    "Probably a smooth stream near the link's rate takes each place of a full queue as it falls free, and the others' "
    "packets find none; others would give way at a loss, BBR v1 does not. With a queue a flow (FQ-CoDel) it is gone.",
    "bbr3": "BBR v3 has 88 % of the link over 10 packets unpaced, and from 20 on nothing is left to gain. Behind edge "
    "pacers shares come apart, less than BBR v1's and more within edges than between them. A pacer of 0.3 ms does a "
    "third of it, one of 1 ms nearly all (why-pacer-delay); a longer path, too, spreads shares, by less "
    "(why-path-delay): v3 gives way at a loss of 2 % and more, and takes time to come back.",
    "dctcp": "Without marks it halves at a loss and grows as Reno does, so all is as for CUBIC, at a little less of "
    "the link; the pacer's delay, which makes round trips longer, costs Reno's growth a few percent over 500 "
    "packets, and CUBIC's nothing. What it costs in fairness evens out in 40 s. Over 20 packets edges come ahead of "
    "hosts neither with time nor with fewer flows or longer paths, only where a queue marks above 3 packets "
    "(docs/deciding-choices.md). Where queues mark no packet is lost, and little is left to pace.",
    "prague": "Without marks it is as DCTCP. Over DualPI2, whose step marks what waits for a millisecond, it gives way "
    "to its own bursts unless it is paced, at hosts or edges: its draft has it paced.",
}
