"""ns-2's test-suite-red.tcl and test-suite-adaptive-red.tcl: RED queues that drop or mark.

As ns2_ecn_suite.py. All that draws in ns-2 shares a generator: where another draws in between, a second queue or an
agent that is reset, traces are compared up to there.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from math import exp

from ns2_networks import Flow, Link, Network, Settings

Parameters = dict[str, str | float]


def parameters(agents: int, given: Parameters) -> str:
    """A queue in packets, whose draws come after those of the agents."""
    all_of_them: Parameters = {"unit": "packets", "ns2_draws": 2 * agents} | given
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in all_of_them.items())


def near(queue: Parameters, agents: int, limit: int, fast: int = 1) -> tuple[Link, ...]:
    """`net2` of both suites, and `netfast`, whose links are ten times as fast."""
    return (
        Link(("s1", "r1"), fast * 10_000_000, 2),
        Link(("s2", "r1"), fast * 10_000_000, 3),
        Link(("r1", "r2"), fast * 1_500_000, 20, limit + 1, red=parameters(agents, queue)),
        Link(("r2", "s3"), fast * 100_000_000 // 10, 4),
    )


def far(queue: Parameters, agents: int, rate: int, delay_ms: float, access: int, limit: int) -> tuple[Link, ...]:
    """`net3`, `net4` and `netlong`."""
    return (
        Link(("s1", "r1"), access, 0),
        Link(("s2", "r1"), access, 1),
        Link(("r1", "r2"), rate, delay_ms, limit + 1, red=parameters(agents, queue)),
        Link(("r2", "s3"), access, 2),
        Link(("r2", "s4"), access, 3),
    )


def red() -> list[Network]:
    """test-suite-red.tcl: all but Telnet (red_twoway, red_twowaybytes), CBR (flows_*), and `old_ecn_` (ecn)."""
    old: Parameters = {"q_weight": 0.002, "use_mark_p": "no"}
    thresholds: Parameters = {"thresh": "5 packets", "maxthresh": "15 packets"}
    first: Parameters = old | {"max_p": 0.02} | thresholds

    def two(name: str, variant: str, queue: Parameters) -> Network:
        flows = tuple(Flow(variant, start, 15, source=host, sink="s3") for start, host in ((0, "s1"), (3000, "s2")))
        return Network("red", name, flows, 10_000, near(queue, 2, 25), traced="r1-r2")

    def congested(name: str, window: int, flows: int, queue: Parameters) -> Network:
        ends = ((0, "s1", "s3"), (200, "s2", "s4"))[:flows]
        both = tuple(Flow("Sack1", start, window, source=source, sink=sink) for start, source, sink in ends)
        queue = old | thresholds | {"bytes": "yes"} | queue
        links = far(queue, flows, 1_500_000, 10, 10_000_000, 100)
        sets: Settings = {"ecn_": 1}
        return Network("red", name, both, 5000, links, sets, 1500, traced="r1-r2", numbers=(0, 0))

    def gentle(name: str, queue: Parameters, sets: Settings | None = None) -> Network:
        there = ((0, "s1", 1500), (1, "s2", 1000), (5, "s1", 1500), (6, "s2", 512), (9, "s1", 1500), (10, "s2", 1500))
        flows = [Flow("Sack1", 1000 * at, 50, source=host, sink="s3", payload=size) for at, host, size in there]
        flows.append(Flow("Sack1", 13_000, 50, source="s4", sink="s2", payload=1500))
        flows.append(Flow("Sack1", 14_000, 50, source="s3", sink="s1", payload=2000))
        links = far(old | thresholds | {"ecn": "drop"} | queue, 8, 1_500_000, 10, 10_000_000, 100)
        settings: Settings = {"timerfix_": 0} | (sets or {})
        until = 13_000  # when the queue of the other direction fills, and draws
        return Network("red", name, tuple(flows), 40_000, links, settings, traced="r1-r2", until_ms=until)

    any_p: Parameters = {"ecn": "always", "use_mark_p": "yes"}
    bad: Parameters = {"max_p": 0.02, "maxthresh": "10 packets"}
    ecn: Settings = {"ecn_": 1}
    return [
        two("red1", "Reno", first),
        two("red2", "Reno", first | {"maxthresh": "10 packets", "q_weight": 0.003}),
        two("q_weight", "Sack1", first),
        two("q_weight_auto", "Sack1", {"max_p": 0.02, "use_mark_p": "no"}),
        congested("congested", 75, 1, {"gentle": "no"}),
        congested("congested_mark_p", 75, 1, {"gentle": "no"} | any_p),
        congested("congested1_mark_p", 1000, 2, {"mark_p": 1, "use_mark_p": "yes"}),
        congested("congested2_mark_p", 1000, 2, any_p),
        gentle("ungentle", {"gentle": "no"}),
        gentle("gentle", {}),
        gentle("gentleEcn", {"ecn": "mark"}, ecn),
        gentle("gentleEcn1", {"ecn": "mark", "use_mark_p": "yes"}, ecn),
        gentle("ungentleBadParams", {"gentle": "no"} | bad),
        gentle("gentleBadParams", bad),
    ]


def adaptive() -> list[Network]:
    """test-suite-adaptive-red.tcl: all but `cautious_` and `feng_adaptive_`."""
    drop: Parameters = {"ecn": "drop"}
    old: Parameters = drop | {"q_weight": 0.002, "thresh": "5 packets", "maxthresh": "15 packets"}
    new: Parameters = drop | {"adaptive": "yes"}
    mark: Parameters = {"ecn": "mark"}
    ecn: Settings = {"ecn_": 1}

    def two(name: str, queue: Parameters, sets: Settings | None = None) -> Network:
        flows = tuple(Flow("Sack1", start, 15, source=host, sink="s3") for start, host in ((0, "s1"), (3000, "s2")))
        return Network("adaptive-red", name, flows, 50_000, near(queue, 2, 25), sets or {}, traced="r1-r2")

    def many(name: str, queue: Parameters, count: int, packets: int, start_ms: int, until_ms: int = 0) -> Network:
        """Two, and a number of transfers, each of an agent that is reset as it begins."""
        starts = range(start_ms, start_ms + 100 * count, 100)
        flows = (*two(name, {}).flows, *(Flow("Sack1", start, 20, packets, "s1", "s3") for start in starts))
        draws = 2 * len(flows) + (0 if until_ms else count)
        links = near(queue | {"ns2_draws": draws}, 0, 25)
        numbers = (0, 1, *[2] * count)
        more: dict[str, int] = {"until_ms": until_ms, "resets": count}
        return Network("adaptive-red", name, flows, 50_000, links, traced="r1-r2", numbers=numbers, **more)  # type: ignore[arg-type]

    def four(name: str, queue: Parameters, is_long: bool = False, sets: Settings | None = None) -> Network:
        starts = ((0, "s1"), (1500, "s2"), (500, "s1"), (1000, "s2"))
        flows = tuple(Flow("Sack1", start, 100, source=host, sink="s3") for start, host in starts)
        links = far(queue, 4, 1_500_000, 100, 10_000_000, 100) if is_long else near(queue, 4, 1000, 10)
        end = 50_000 if is_long else 5000
        return Network("adaptive-red", name, flows, end, links, sets or {}, traced="r1-r2")

    def other(name: str, windows: tuple[int, int], second: float, links: tuple[Link, ...]) -> Network:
        starts = ((0, "s1", windows[0]), (second, "s2", windows[1]))
        flows = tuple(Flow("Sack1", start, window, source=host, sink="s3") for start, host, window in starts)
        return Network("adaptive-red", name, flows, 5000, links, traced="r1-r2")

    by_hand = {key: value for key, value in old.items() if key != "q_weight"}
    thresholds = {key: value for key, value in old.items() if key in {"thresh", "maxthresh"}}
    slow = 1 - exp(-1 / (10 * 3 * (0.1 + 1 / 375) * 375))  # q_weight_ -1: of a round trip of three times the link's
    return [
        two("red1", old),
        two("red1Adapt", new),
        two("red1ECN", old | mark, ecn),
        two("red1AdaptECN", new | mark, ecn),
        four("fastlink", old),
        four("fastlinkAutowq", by_hand),
        four("fastlinkAutothresh", drop | {"q_weight": 0.002}),
        four("fastlinkAdapt", old | {"adaptive": "yes"}),
        four("fastlinkAllAdapt", new),
        four("fastlinkAllAdaptECN", new | mark, sets=ecn),
        four("fastlinkAllAdapt1", new | {"top": 0.2, "bottom": 0.1}),
        four("longlink", old, True),
        four("longlinkAdapt", new, True),
        four("longlinkAdapt1", new | {"q_weight": slow}, True),
        other("transient", (100, 1000), 2500, near(old, 2, 1000, 10)),
        other("transient1", (100, 1000), 2500, near(by_hand, 2, 1000, 10)),
        other("transient2", (100, 1000), 2500, near(old | {"q_weight": 0.0001}, 2, 1000, 10)),
        many("red2", old, 20, 1000, 25_000, 25_000),
        many("red2Adapt", new, 20, 1000, 25_000, 25_000),
        many("red2A-Adapt", new | {"alpha": 0.02, "beta": 0.8}, 20, 1000, 25_000, 25_000),
        many("red3", old, 15, 300, 0),
        many("red3Adapt", new, 15, 300, 0),
        many("red4Adapt", new | {"alpha": 0.02, "beta": 0.8}, 15, 300, 0),
        other("notcautious", (600, 600), 1000, far(new | thresholds, 2, 10_000_000, 10, 1_000_000_000, 1000)),
    ]


#: Where ns-2's doubles order an arrival and a departure of one instant otherwise than Paceline, and what comes of that
#: differs before this time, ms.
ROUNDED = {
    "fastlink": 1000,
    "fastlinkAutowq": 1000,
    "fastlinkAutothresh": 1000,
    "fastlinkAdapt": 1000,
    "fastlinkAllAdapt": 1500,
    "fastlinkAllAdaptECN": 1500,
    "fastlinkAllAdapt1": 1500,
    "longlink": 2000,
    "longlinkAdapt": 2000,
    "longlinkAdapt1": 4500,
    "transient": 3000,
    "transient1": 3500,
    "transient2": 5000,
    "red2Adapt": 4500,
    "red3": 1600,
    "red3Adapt": 1500,
    "red4Adapt": 1500,
    "notcautious": 1500,
}
#: Without it no more than the first 8 s, and of those where rounding decides one of each network.
FULL = bool(os.environ.get("PACELINE_FULL"))
SOME = {"fastlinkAllAdaptECN", "longlink", "red3Adapt", "notcautious"}


def shortened(network: Network) -> Network:
    """As much of it as is compared."""
    end = network.until_ms or network.duration_ms
    if network.suite == "adaptive-red":
        end = ROUNDED.get(network.name, end)
    return replace(network, until_ms=end if FULL else min(end, 8_000))


def is_asked_for(network: Network) -> bool:
    """Whether it is run; tests of one name are in both suites."""
    return FULL or network.suite == "red" or network.name in SOME or network.name not in ROUNDED


RED_SUITES = [shortened(one) for one in (*red(), *adaptive()) if is_asked_for(one)]
