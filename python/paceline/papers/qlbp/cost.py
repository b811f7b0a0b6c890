"""I: "indiscriminate pacing does not require per-flow state": QLBP's work a packet beside that of a pacer of flows.

The text: "Many existing pacing techniques determine packet delays on a per-flow basis. This process requires
computationally expensive packet classification and the maintenance of per-flow state on the router. For high-bandwidth
links, this technique does not scale well. [...] we only need to maintain a single packet queue and pacing parameters."
Criteria were fixed from it before the first run, on the same packets of 1 to 1000 TCP flows for both pacers.

QLBP keeps one queue and parameters: a model that knows no flows lets each packet go within a microsecond of the
simulated pacer, and computes a rate twice a packet at most (at its arrival and its departure), in each run, at each
number of flows. A pacer of flows looks up a flow and computes a time, and compares times to find who is next: from ten
flows on its steps are more than QLBP's, and of its comparisons and of the flows that it must remember at once there are
more at each tenfold number of flows, outside the interval of the paired difference.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.results import Result, Results
from paceline.scenario import Scenario

FLOWS = (1, 10, 100, 1000)
COUNT = "traffic.source.count"
#: Packets reach the pacer over a link on which none waits, and so much later, ns.
FAST, FAST_GBPS, IN_NS = "100 Gbit/s", 100, 1_000_000
IN, PACED = "in", "paced"
#: Of Fig. 18: rates, Mbit/s, and Q_max, packets.
LEAST, MOST, Q_MAX = 1.0, 100.0, 80
#: A flow is paced at so many times its mean rate, as Linux has it in congestion avoidance.
GAIN = 1.2
#: A rate at an arrival and one at a departure.
RATES = 2
_Array = NDArray[np.float64]


class Packets(NamedTuple):
    """Of one run, in order.

    Attributes:
        arrivals: at the pacer, ns.
        sizes: bytes.
        flows: of each, a number.
        departures: of those that have left, ns.
    """

    arrivals: _Array
    sizes: _Array
    flows: NDArray[np.int64]
    departures: _Array


class Work(NamedTuple):
    """Of one run.

    Attributes:
        rates: that QLBP computes, a packet.
        apart: of its departures from those simulated, at most, us.
        compared: times compared by the pacer of flows, a packet.
        steps: its look-ups, times computed and times compared, a packet.
        known: flows that it must remember at once, at most.
    """

    rates: float
    apart: float
    compared: float
    steps: float
    known: float


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """TCP through QLBP to a small buffer, over the number of flows."""
    links = [
        {"name": IN, "rate": FAST, "delay": "1 ms"},
        {"name": PACED, "rate": f"{MOST:g} Mbit/s", "delay": "1 ms"},
        {"name": "core", "rate": f"{MOST:g} Mbit/s", "delay": "48 ms", "buffer": "20 packets"},
    ]
    document = {
        "title": "TCP through QLBP, packet by packet",
        "duration": length.choose("6 s", "4 s"),
        "warmup": "2 s",
        "network": {"template": "path", "core": "core", "links": links},
        "traffic": [
            {"name": "source", "kind": "bulk", "start": "0 s .. 1 s", "tcp": {"variant": "newreno", "profile": "ns2"}}
        ],
        "pacing": {
            "method": "qlbp",
            "at": PACED,
            "mu_min": f"{LEAST:g} Mbit/s",
            "mu_max": f"{MOST:g} Mbit/s",
            "q_max": f"{Q_MAX} packets",
        },
        "probes": {"departures": {"links": [IN, PACED], "from": "0 s"}},
    }
    return {"main": Scenario(document).over({COUNT: list(FLOWS)}).seeds(length.seed_count(5, 3))}


def check(runs: Runs) -> Verdict:
    """Of both pacers, over flows."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    found = works(runs["main"])
    for flows, some in found.items():
        rates = [work.rates for work in some.values()]
        evidence += [
            Evidence(
                f"QLBP, {counted(flows)}: rates computed a packet",
                float(np.mean(rates)),
                None,
                f"{RATES} at most, in each run: {max(rates):.4f}",
                max(rates) <= RATES,
            ),
            criteria.below(
                f"QLBP, {counted(flows)}: largest difference from the departures simulated, us",
                of(some, "apart"),
                1,
                "us",
            ),
        ]
        more = interval(work.steps - work.rates for work in some.values())
        assert more is not None
        words = f"steps a packet, a pacer of flows − QLBP, {counted(flows)}"
        evidence.append(criteria.order(words, more) if flows > 1 else criteria.inform(words, more, "one flow"))
        evidence.append(
            criteria.inform(f"steps a packet, a pacer of flows, {counted(flows)}", of(some, "steps"), "of all kinds")
        )
        for name, digits in (("rates", 3), ("steps", 3), ("compared", 3), ("known", 1)):
            ours[f"{name}, {flows} flows"] = round(of(some, name).mean, digits)
    for fewer, many in pairwise(FLOWS):
        for name, words in (("compared", "times compared a packet"), ("known", "flows remembered at once, at most")):
            gap = interval(getattr(found[many][seed], name) - getattr(found[fewer][seed], name) for seed in found[many])
            assert gap is not None
            evidence.append(criteria.order(f"a pacer of flows: {words}, {many} − {fewer} flows", gap))
    theirs = {"state": "one queue and parameters, not a flow's", "work": "does not scale per flow"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(ours), evidence)


def note(ours: Mapping[str, float]) -> str:
    """What each takes, over flows."""

    def each(what: str, digits: int) -> str:
        return ", ".join(f"{ours[f'{what}, {flows} flows']:.{digits}f}" for flows in FLOWS)

    return (
        f"With {', '.join(map(str, FLOWS))} flows QLBP computes {each('rates', 2)} rates a packet, and remembers no "
        f"flow. A pacer of the same packets by flow takes {each('steps', 2)} steps, of which {each('compared', 2)} "
        f"compare times to find the next flow, and remembers up to {each('known', 0)} flows at once. What it remembers "
        "grows with the flows; what it compares, with the flows that wait, and only in their logarithm."
    )


def counted(flows: int) -> str:
    return "one flow" if flows == 1 else f"{flows} flows"


def works(results: Results) -> dict[int, dict[int, Work]]:
    """By flows and seed."""
    return {flows: {run.seed: work_of(packets(run)) for run in results.where({COUNT: str(flows)})} for flows in FLOWS}


def of(some: Mapping[int, Work], name: str) -> Interval:
    """The mean over seeds."""
    found = interval(float(getattr(work, name)) for work in some.values())
    assert found is not None
    return found


def packets(run: Result) -> Packets:
    """What reached the pacer, and when it let it go."""
    assert run.series is not None
    link, time, size, flow = (np.asarray(run.series[name]) for name in ("link", "time_ns", "bytes", "flow"))
    came = link == IN
    sizes = size[came].astype(np.float64)
    arrivals = time[came] + IN_NS + sizes * 8 / FAST_GBPS
    return Packets(arrivals, sizes, flow[came].astype(np.int64), time[link == PACED].astype(np.float64))


def work_of(run: Packets) -> Work:
    """Both pacers' on these packets."""
    departures, rates = qlbp(run.arrivals, run.sizes)
    # what came after the last departure simulated is not known to have made it earlier
    known = run.departures < run.arrivals[-1]
    apart = np.abs(departures[: len(run.departures)] - run.departures)[known].max()
    releases, compared = by_flow(run)
    number = len(run.arrivals)
    return Work(rates / number, float(apart) / 1e3, compared / number, 2 + compared / number, remembered(run, releases))


def qlbp(arrivals: _Array, sizes: _Array) -> tuple[_Array, int]:
    """When each packet leaves, ns, by eq. (1), and how many rates that took; of flows it is not told."""
    leaves = np.zeros(len(arrivals))
    computed, head = 0, 0
    last = free = -np.inf
    release = 0.0

    def wait(number: int, size: float) -> float:
        mbps = MOST if number > Q_MAX else LEAST + (MOST - LEAST) * number / Q_MAX
        return size * 8e3 / mbps

    for index, now in enumerate([*arrivals.tolist(), np.inf]):
        while head < index and release <= now:
            # the link behind it may still send the packet before, a larger one
            last, leaves[head] = release, max(release, free)
            free = leaves[head] + sizes[head] * 8e3 / MOST
            head += 1
            if head < index:
                release = last + wait(index - head, sizes[head])
                computed += 1
        if index < len(arrivals):
            release = max(now, last + wait(index + 1 - head, sizes[head]))
            computed += 1
    return leaves, computed


class Next:
    """When a flow's first packet may go; each comparison of two is counted."""

    compared = 0

    def __init__(self, at: float, flow: int) -> None:
        self.at, self.flow = at, flow

    def __lt__(self, other: Next) -> bool:
        Next.compared += 1
        return self.at < other.at


def gaps(run: Packets) -> _Array:
    """How long after each packet the next one of its flow may go, ns."""
    lasts = max(float(run.arrivals[-1] - run.arrivals[0]), 1.0)
    rates = np.bincount(run.flows, weights=run.sizes) / lasts
    found: _Array = run.sizes / (GAIN * rates[run.flows])
    return found


def by_flow(run: Packets) -> tuple[_Array, int]:
    """When a pacer of flows lets each packet go, ns, and how many times it compared to find the next flow.

    A flow that waits is in a heap once, by when its first packet may go; who need not wait goes at once.
    """
    releases = np.zeros(len(run.arrivals))
    apart = gaps(run).tolist()
    waiting: dict[int, deque[int]] = {}
    earliest: dict[int, float] = {}
    heap: list[Next] = []
    Next.compared = 0

    def let_go(until: float) -> None:
        while heap and heap[0].at <= until:
            due = heapq.heappop(heap)
            queue = waiting[due.flow]
            packet = queue.popleft()
            releases[packet] = due.at
            earliest[due.flow] = due.at + apart[packet]
            if queue:
                heapq.heappush(heap, Next(earliest[due.flow], due.flow))

    for index, (now, flow) in enumerate(zip(run.arrivals.tolist(), run.flows.tolist(), strict=True)):
        let_go(now)
        queue = waiting.setdefault(flow, deque())
        may = earliest.get(flow, now)
        if not queue and may <= now:
            releases[index] = now
            earliest[flow] = now + apart[index]
            continue
        if not queue:
            heapq.heappush(heap, Next(may, flow))
        queue.append(index)
    let_go(np.inf)
    return releases, Next.compared


def remembered(run: Packets, releases: _Array) -> float:
    """Of how many flows something must be known at once, at most: a packet waits, or the next one would."""
    order = np.lexsort([run.arrivals, run.flows])
    flows, starts, ends = run.flows[order], run.arrivals[order], (releases + gaps(run))[order]
    # within a flow each packet's time ends after that of the one before: a flow is known anew where that is over
    anew = np.concatenate([[True], (flows[1:] != flows[:-1]) | (starts[1:] >= ends[:-1])])
    over = np.concatenate([anew[1:], [True]])
    times = np.concatenate([starts[anew], ends[over]])
    steps = np.concatenate([np.ones(anew.sum()), -np.ones(over.sum())])
    return float(np.cumsum(steps[np.lexsort([steps, times])]).max())


def draw(runs: Runs) -> Sequence[Picture]:
    """Steps a packet, and flows remembered, over flows."""
    figure, (left, right) = drawing.axes(2)
    found = works(runs["main"])
    for slot, (name, words) in enumerate({"rates": "QLBP: rates", "steps": "a pacer of flows: all steps"}.items()):
        drawing.curve(left, FLOWS, [of(found[flows], name) for flows in FLOWS], words, slot)
    drawing.curve(right, FLOWS, [of(found[flows], "known") for flows in FLOWS], "a pacer of flows", 1)
    for ax in (left, right):
        drawing.logarithmic(ax, "x", FLOWS)
        ax.set_xlabel("flows")
    left.set_ylabel("computed, looked up and compared a packet")
    left.set_ylim(bottom=0)
    right.set_ylabel("flows remembered at once, at most")
    drawing.logarithmic(right, "y", FLOWS)
    drawing.legend(left, loc="center right")
    caption = "What the same packets cost QLBP and a pacer of flows. The paper: a single queue, and no flow's state."
    return [drawing.picture(figure, "cost", caption)]


CLAIM = Claim(
    id="qlbp-cost",
    paper="qlbp",
    where="I, cost a packet",
    kind="shape",
    says="QLBP needs a single queue and no state of flows; pacing by flow takes more work a packet and more memory, "
    "the more so the more flows there are.",
    printed={},
    assumptions=(
        Assumption(
            "What cost is: the text names classification, state and scale, and no number.",
            "Rates and times computed, flows looked up, and times compared, a packet; and flows remembered at once.",
            "They are the same on a busy machine. Each counts as one: what a look-up takes depends on caches, which is "
            "not counted.",
        ),
        Assumption(
            "How a pacer of flows finds which is next.",
            "By a heap of the flows that wait; each at 1.2 times its mean rate, and who need not wait goes at once.",
            "As Linux's fq queue does, with a tree. A timing wheel compares nothing, so that only the state of flows "
            "is left of the difference.",
        ),
        Assumption(
            "Which traffic.",
            f"1 to 1000 TCP flows over {MOST:g} Mbit/s, 100 ms and 20 packets; mu_min {LEAST:g} and mu_max {MOST:g} "
            f"Mbit/s, Q_max {Q_MAX} packets.",
            "Rates and round trip of Fig. 18.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
