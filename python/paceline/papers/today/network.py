"""The network and the sweeps: hosts of today behind five edges, one core link of 5 to 500 packets."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence

from paceline._statistics import Interval, interval, paired
from paceline.papers.claim import Assumption, Length
from paceline.results import Result, Results
from paceline.scenario import Scenario

DUMBBELL = """\
title    = "Hosts of today before a small buffer"
duration = "12 s"
warmup   = "4 s"
seed     = 1

[network]
template = "dumbbell"
core   = { rate = "500 Mbit/s", delay = "10 ms", buffer = "10 packets" }
edge   = { count = 5, rate = "1 Gbit/s", delay = "100 us" }
access = { per_edge = 4, rate = "1 Gbit/s", delay = "1 ms .. 4 ms" }

[[traffic]]
name  = "bulk"
kind  = "bulk"
start = "0 s .. 2 s"
tcp   = { profile = "linux" }

[[traffic]]
name  = "web"
kind  = "closed-loop"
size  = "100 KB"
think = { exponential = "1 s" }
start = "2 s .. 3 s"
tcp   = { profile = "linux" }

[pacing]
method = "none"

[probes]
"""

#: Variants, and what they are called.
TCPS = {"cubic": "CUBIC", "bbr": "BBR v1", "bbr3": "BBR v3", "dctcp": "DCTCP", "prague": "Prague"}
#: They pace themselves: pacing at hosts changes nothing for them.
SELF_PACED = ("bbr", "bbr3")
#: They ask queues for marks.
MARKED = ("dctcp", "prague")

#: Methods, and their labels in results. An edge link is at a tenth of its rate on average, so QLBP's load is 0.1, as in
#: `scenarios/edge-vs-host.toml`; both hold a packet for 10 ms at most.
METHODS: Mapping[str, Mapping[str, object]] = {
    "none": {"method": "none"},
    "host": {"method": "host"},
    "edge": {"method": "edge", "delay": "10 ms"},
    "qlbp": {"method": "qlbp", "load": 0.1, "max_delay": "10 ms"},
}
LABELS = {"none": "none", "host": "host", "edge": "edge 10 ms", "qlbp": "qlbp load 0.1 10 ms"}
PACING, BUFFER, QUEUE = "pacing", "network.core.buffer", "network.core.queue"

#: Buffers of a drop-tail core, packets.
BUFFERS = (5, 10, 20, 100, 500)
#: The papers' small buffers, and one that is none.
SMALL, LARGE = (5, 10, 20), 500
QUICK_BUFFERS = (10, 500)

#: Segmentation and receive offload, off and on, by the name of the sweep.
OFFLOADS: Mapping[str, Mapping[str, object]] = {"packets": {}, "trains": {"gso": "64 KB", "gro": "50 us"}}
#: Queues beside: a limit as in Linux's fq_codel, which is never reached, and a step that marks at 180 packets, a
#: seventh of the path's (DCTCP's rule: K > C × RTT / 7, Alizadeh 2010).
LIMIT = "10000 packets"
FQ, DUAL = "fq-codel", "dualpi2"
STEP = {
    "discipline": "red",
    "thresh": "180 packets",
    "maxthresh": "181 packets",
    "q_weight": 1.0,
    "max_p": 0.999,
    "wait": "no",
    "ecn": "always",
}
QUEUES = {FQ: "FQ-CoDel", DUAL: "DualPI2", "step": "a step of marks"}

#: Hosts behind an edge.
PER_EDGE = 4
#: Long flows and short; the mean goodput of a flow over this is that of all, in Mbit/s.
FLOWS = 40
ALL_MBPS = 1e6 / FLOWS
GOODPUT, UTILISATION, COMPLETION = "flows.goodput_mean_bps", "links.core.utilisation", "flows.fct_mean_s"

ASSUMPTIONS = (
    Assumption(
        "Which network stands for today.",
        "Twenty long flows over 500 Mbit/s, round trips of 24 to 36 ms, access at 1 Gbit/s; beside each a user who "
        "fetches 100 KB, thinks for a second, and fetches again.",
        "A fair flow has 25 Mbit/s, so Linux's trains are of three packets and more; 5 to 500 packets are 0.4 to 40 % "
        "of the path's 1250, so that the papers' small buffers and BDP / √n, 280 packets, both lie within. Of more "
        "flows at less each nothing is said here.",
    ),
    Assumption(
        "What today's hosts are.",
        "Profile linux, with and without segmentation offload of 64 KB and receive offload of 50 us. CUBIC and BBR do "
        "not ask for marks, as by default in Linux; DCTCP and Prague do.",
        "docs/tcp.md and docs/design/offloads.md; both are held to this kernel.",
    ),
    Assumption(
        "How edge and host pace.",
        "Both edge pacers hold a packet for 10 ms at most, as in the papers; hosts by Linux's rule. BBR paces itself, "
        "whatever hosts do otherwise.",
        "The papers' own parameters; Linux's pacing is what hosts have today.",
    ),
    Assumption(
        "What DCTCP and Prague do where nothing marks.",
        "They run over drop-tail like the others, and over queues that mark beside.",
        "A path may have both. RFC 8257 and the draft have them fall back to halving at a loss.",
    ),
)


def scenario(variant: str, offload: str, length: Length) -> Scenario:
    """The network under one TCP, with offloads or without, unpaced."""
    found = Scenario(tomllib.loads(DUMBBELL))
    if length.quick:
        found = found.set("duration", "2 s").set("warmup", "500 ms")
        found = found.set("traffic.bulk.start", "0 s .. 500 ms").set("traffic.web.start", "0 s .. 500 ms")
    tcp = {"profile": "linux", "variant": variant, **OFFLOADS[offload]}
    return found.set("traffic.bulk.tcp", tcp).set("traffic.web.tcp", tcp)


def methods_of(variant: str) -> tuple[str, ...]:
    """Pacing methods that are another for this TCP."""
    return tuple(name for name in METHODS if name != "host" or variant not in SELF_PACED)


def of_queues(variant: str) -> tuple[str, ...]:
    """Those that are run over queues beside: QLBP is left out, which answers as edge pacing does."""
    return tuple(name for name in methods_of(variant) if name != "qlbp")


def queues_of(variant: str) -> dict[str, object]:
    """Queues beside drop-tail, by name."""
    found: dict[str, object] = {FQ: FQ, DUAL: DUAL}
    return found | ({"step": STEP} if variant in MARKED else {})


def sweeps(variant: str, length: Length) -> Mapping[str, Scenario]:
    """``packets`` and ``trains`` over buffers; in full, ``fq-codel`` and so on beside, under trains."""
    methods = [METHODS[name] for name in methods_of(variant)]
    seeds = length.seed_count()
    found = {}
    for offload in OFFLOADS:
        base = scenario(variant, offload, length)
        sizes = [label(size) for size in length.choose(BUFFERS, QUICK_BUFFERS)]
        found[offload] = base.over({PACING: methods, BUFFER: sizes}).seeds(seeds)
        if length.quick:
            return found
    base = scenario(variant, "trains", length).set(BUFFER, LIMIT)
    for name, queue in queues_of(variant).items():
        found[name] = base.set(QUEUE, queue).over({PACING: [METHODS[one] for one in of_queues(variant)]}).seeds(seeds)
    return found


def label(packets: int) -> str:
    """A buffer as scenarios write it."""
    return f"{packets} packets"


def at(results: Results, method: str, packets: int | None = None) -> Results:
    """Runs of one method, and of one buffer where the sweep has several."""
    where = {PACING: LABELS[method]} | ({} if packets is None else {BUFFER: label(packets)})
    return results.where(where)


def sizes(results: Results) -> list[int]:
    """Buffers that were run, packets."""
    return sorted({int(run.settings[BUFFER].split()[0]) for run in results})


def small(results: Results) -> list[int]:
    """The small ones of them."""
    return [size for size in sizes(results) if size in SMALL]


def long_flows(run: Result) -> list[float]:
    """Goodput of each long flow, bit/s, by host."""
    flows = run.per_flow
    assert flows is not None
    pairs = zip(flows["name"], flows["goodput_bps"], strict=True)
    return [float(value) for name, value in pairs if str(name).startswith("bulk.")]


def index(goodput: Sequence[float]) -> float:
    """Jain's index, 1 where all are equal."""
    squares = sum(value * value for value in goodput)
    return sum(goodput) ** 2 / (len(goodput) * squares) if squares else 0.0


def jain(run: Result) -> float:
    """Jain's index of the long flows' goodput."""
    return index(long_flows(run))


def of_edges(run: Result) -> float:
    """Jain's index of what the hosts behind each edge get together."""
    goodput = long_flows(run)
    return index([sum(goodput[first : first + PER_EDGE]) for first in range(0, len(goodput), PER_EDGE)])


def fairness(results: Results, of: Callable[[Result], float] = jain) -> Interval:
    """Jain's index over the seeds of one setting, of flows or by `of`."""
    found = interval(of(run) for run in results)
    assert found is not None
    return found


def fairness_difference(a: Results, b: Results) -> Interval:
    """Of Jain's index, a - b, seed by seed."""
    found = paired({run.seed: jain(run) for run in a}, {run.seed: jain(run) for run in b})
    assert found is not None
    return found


def enough(results: Results, method: str, target: float) -> int | None:
    """The least buffer that was run from which on the mean utilisation stays at `target` or above, packets."""
    found: int | None = None
    for packets in reversed(sizes(results)):
        values: Sequence[float] = [run.links["core"].utilisation or 0.0 for run in at(results, method, packets)]
        if sum(values) / len(values) < target:
            break
        found = packets
    return found
