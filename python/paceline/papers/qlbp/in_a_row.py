"""Section II-B: pacers in a row in the path of TCP; "the more pacing nodes are traversed ..., the less bursty".

Criteria were fixed from the text before the runs that judge them. Fig. 15 shows it of an ON-OFF source without
feedback; II-B says it of the network: each pacer more, from none to three, must lower the coefficient of variation of
what reaches the small-buffer core, and "within the network core, packet drops are reduced": each must lower the core's
loss too. Both outside the interval of the paired difference, for two Q_max and two buffers of Fig. 18.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp import variation
from paceline.papers.qlbp.dumbbell import ASSUMPTIONS, BUFFER, RATE, ROUTERS, UTILISATION, at, network
from paceline.scenario import Scenario

PACERS = (0, 1, 2, 3)
NUMBERS = ("none", "one", "two", "three")
QUEUES = (10, 40)
SIZES = (5, 20)
#: The paper's interval for TCP traffic, s (section IV-C2); and delays of the links of a row, ms: 20 in all.
SCALE_S = 0.005
ROW = ("18 ms", "1 ms", "1 ms")
LOSS, DELAY = "links.core.loss_ratio", "flows.network_delay_mean_s"
MS, PERCENT = 1e-3, 0.01


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """None; then one to three pacers for each Q_max, over two buffers; and windows of 64 beside."""
    found = {"none": over(length, 0, QUEUES[0])}
    for size in QUEUES:
        for count in PACERS[1:]:
            found[f"{count}-{size}"] = over(length, count, size)
    for count in PACERS:
        wide = over(length, count, QUEUES[-1], seeds=3).set("traffic.bulk.tcp.max_window", "64 packets")
        found[f"why-window-{count}"] = wide
    return found


def over(length: Length, count: int, q_max: int, seeds: int = 5) -> Scenario:
    """The first `count` links of each row pace."""
    scenario = rows().set("title", f"QLBP routers in a row: {count}")
    duration, warmup = length.choose(("100 s", "30 s"), ("50 s", "20 s"))
    scenario = scenario.set("traffic.bulk.start", "0 s .. 10 s").set("duration", duration).set("warmup", warmup)
    scenario = scenario.set("probes", {"rate_variation": {"at": "arrival", "finest": "5 ms", "coarsest": "5 ms"}})
    if count:
        links = [name(router, place) for router in range(1, ROUTERS + 1) for place in range(count)]
        pacing = {"method": "qlbp", "mu_min": "1 Mbit/s", "mu_max": RATE, "q_max": f"{q_max} packets", "at": links}
        scenario = scenario.set("pacing", pacing)
    return scenario.over({BUFFER: [f"{size} packets" for size in SIZES]}).seeds(length.seed_count(seeds, 3))


def name(router: int, place: int) -> str:
    """A link of a row; the first is the paper's."""
    return f"edge-{router}" if place == 0 else f"edge-{router}-{place + 1}"


def rows() -> Scenario:
    """Fig. 17's network, with two routers more between each access router and the core; the way takes as long."""
    document = network().to_dict()
    links: list[dict[str, Any]] = []
    for link in document["link"]:
        router = str(link["name"]).removeprefix("edge-")
        if router == link["name"]:
            links.append(link)
            continue
        ends = [link["from"], f"A{router}-2", f"A{router}-3", link["to"]]
        document["node"] += [{"name": end, "kind": "router"} for end in ends[1:-1]]
        for place, (start, end) in enumerate(pairwise(ends)):
            links.append(link | {"name": name(int(router), place), "from": start, "to": end, "delay": ROW[place]})
    return Scenario(document | {"link": links})


def label(count: int, size: int) -> str:
    """The sweep of so many pacers."""
    return f"{count}-{size}" if count else "none"


def check(runs: Runs) -> Verdict:
    """Each pacer more lowers variation and loss."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for size in QUEUES:
        for buffer in SIZES:
            where = f"Q_max {size}, {buffer} packets"
            for fewer, more in pairwise(PACERS):
                before, after = (at(runs[label(count, size)], buffer) for count in (fewer, more))
                fall = variation.fall(variation.by_seed(before, SCALE_S), variation.by_seed(after, SCALE_S))
                step = f"from {fewer} to {more} pacers, {where}"
                evidence.append(criteria.order(f"fall of the coefficient of variation {step}", fall))
                evidence.append(criteria.ahead(f"fall of loss {step}, %", before, after, LOSS, PERCENT))
            for count in PACERS:
                some = at(runs[label(count, size)], buffer)
                left = variation.mean(variation.by_seed(some, SCALE_S))
                used, waits = criteria.mean(some, UTILISATION), criteria.mean(some, DELAY, MS)
                ours[f"CV, {count} pacers, {where}"] = round(left.mean, 4)
                ours[f"utilisation, {count} pacers, {where}"] = round(used.mean, 4)
                words = f"loss {criteria.mean(some, LOSS).mean:.3%}, delay {waits.mean:.1f} ms"
                evidence.append(criteria.inform(f"utilisation, {count} pacers, {where}", used, words))
    for count in PACERS:
        for buffer in SIZES:
            some = at(runs[f"why-window-{count}"], buffer)
            what = f"loss, {count} pacers, Q_max {QUEUES[-1]}, {buffer} packets, %"
            evidence.append(criteria.inform(what, criteria.mean(some, LOSS, PERCENT), "windows of 64"))
    theirs = {"each pacer more": "less variation, less loss"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, ours), evidence)


def note(runs: Runs, ours: Mapping[str, float]) -> str:
    """Variation, loss and use of the link by the number of pacers."""
    parts = []
    varied, lost = [], []
    for size in QUEUES:
        for buffer in SIZES:
            where = f"Q_max {size}, {buffer} packets"
            each = "; ".join(
                f"{NUMBERS[count]} {ours[f'CV, {count} pacers, {where}']:.2f}, "
                f"{criteria.mean(at(runs[label(count, size)], buffer), LOSS).mean:.2%} and "
                f"{ours[f'utilisation, {count} pacers, {where}']:.1%}"
                for count in PACERS
            )
            parts.append(f"{where}: {each}")
            none, most = (
                criteria.mean(at(runs[label(count, size)], buffer), LOSS).mean for count in (PACERS[0], PACERS[-1])
            )
            lost.append(most / none if none else 1.0)
            varied.append(ours[f"CV, {PACERS[-1]} pacers, {where}"] / ours[f"CV, {PACERS[0]} pacers, {where}"])
    wide = ", ".join(f"{criteria.mean(at(runs[f'why-window-{count}'], SIZES[0]), LOSS).mean:.2%}" for count in PACERS)
    return (
        f"Behind three pacers arrivals vary by {_range(varied)} of what they do behind none, and the core drops "
        f"{_range(lost)} as many packets. Variation in 5 ms, loss and utilisation of the core by the number of pacers: "
        f"{'. '.join(parts)}. "
        "TCP answers less loss by sending more, so that each pacer adds to the use of the link, and to the delay. "
        f"With windows of 64, Q_max {QUEUES[-1]} and {SIZES[0]} packets loss is {wide} (why-window)."
    )


def _range(shares: Sequence[float]) -> str:
    return f"{min(shares):.0%} to {max(shares):.0%}"


def draw(runs: Runs) -> Sequence[Picture]:
    """Variation, and use of the core, over the number of pacers."""
    figure, (left, right) = drawing.axes(2)
    for slot, (size, buffer) in enumerate((size, buffer) for size in QUEUES for buffer in SIZES):
        some = [at(runs[label(count, size)], buffer) for count in PACERS]
        words = f"Q_max {size}, {buffer} packets of buffer"
        values: list[Interval] = [variation.mean(variation.by_seed(one, SCALE_S)) for one in some]
        drawing.curve(left, PACERS, values, words, slot)
        drawing.curve(right, PACERS, [criteria.mean(one, UTILISATION, PERCENT) for one in some], words, slot)
    left.set_ylabel("CV of arrivals at the core in 5 ms")
    right.set_ylabel("utilisation of the core, %")
    for ax in (left, right):
        drawing.from_zero(ax)
        ax.set_xticks(PACERS)
        ax.set_xlabel("QLBP pacers in a row")
    drawing.legend(left, loc="upper right")
    caption = "Forty TCP flows through none to three pacers on their way to the core: means with 95 % intervals."
    return [drawing.picture(figure, "in-a-row", caption)]


CLAIM = Claim(
    id="qlbp-in-a-row",
    paper="qlbp",
    where="II-B, several pacers in TCP's path",
    kind="shape",
    says="The more pacing nodes are traversed by traffic, the less bursty it becomes, and the fewer packets the core "
    "drops.",
    printed={},
    assumptions=(
        *ASSUMPTIONS[1:],
        Assumption(
            "Which network has several pacers before its core.",
            "That of Fig. 17 with three links, 18, 1 and 1 ms, in place of each one of 20 ms; the first pace.",
            "Propagation stays as it is, so that only the pacers differ. 100 s of which 30 are left out.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
