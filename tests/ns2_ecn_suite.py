"""ns-2's test-suite-ecn.tcl: RED queues that mark, and marks and drops of packets by their number.

As ns2_network_suites.py; the queue draws as ns-2's does, after what the agents have drawn when they are made and when
the run begins.
"""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

from ns2_networks import Flow, Link, Network
from ns2_suites import FAMILY, Settings

DELAYED: Settings = {"interval_": 0.1}
#: As long as it need be for a timeout.
LATE = tuple(range(242, 269))


def red(agents: int, thresholds: int = 0, **more: str | float) -> str:
    """A queue in packets, as all of this suite; thresholds of 0 are left to ns-2's defaults."""
    parameters: dict[str, str | float] = {"unit": "packets", "ns2_draws": 2 * agents} | more
    if thresholds:
        parameters |= {"thresh": f"{thresholds} packets", "maxthresh": f"{thresholds} packets"}
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in parameters.items())


def net2(agents: int, thresholds: int = 0, delay_ms: float = 10) -> tuple[Link, ...]:
    """Two hosts, a queue of 25 packets, two hosts."""
    return (
        Link(("s1", "r1"), 10_000_000, 2),
        Link(("s2", "r1"), 10_000_000, 3),
        Link(("r1", "r2"), 1_500_000, delay_ms, 26, red=red(agents, thresholds)),
        Link(("r2", "s3"), 10_000_000, 4),
    )


def net3() -> tuple[Link, ...]:
    """The same with another hop behind the queue."""
    *near, far = net2(1)
    return (*near, Link(("r2", "r3"), 100_000_000, 0, 101), replace(far, ends=("r3", "s3")))


def one(
    name: str,
    word: str,
    end: int = 3000,
    *,
    thresholds: int = 0,
    sets: Settings | None = None,
    links: tuple[Link, ...] = (),
    second: bool = False,
    **more: tuple[int, ...] | tuple[tuple[str, int], ...],
) -> Network:
    """One flow, and a Tahoe flow after a second."""
    flows = [Flow(FAMILY[word], 0, 30, sink="s3", sets=sets or {})]
    if second:
        flows.append(Flow("Tahoe", 1000, 30, sink="s3"))
    links = links or net2(len(flows), thresholds)
    return Network("ecn", name, tuple(flows), end, links, traced="r1-r2", **more)  # type: ignore[arg-type]


def of_each() -> list[Network]:
    """What is asked of all four."""
    cases = []
    for word in ("tahoe", "reno", "newreno", "sack"):
        old = {"timerfix_": 0.0} if word == "tahoe" else {}
        small = {"tahoe": (118, 119), "reno": (118, 119, 121, 122)}.get(word, (121, 124, 126, 127, 128))
        early = (4, 7, 9, 10) if word == "sack" else (4, 8, 9)
        marked = (*early, 11, 12, 13, 14, 15, 120, 135, 143, 148, 150, 151, 152)
        marked = marked if word == "sack" else (*marked, 153)
        cases += [
            one(f"ecn_nodrop_{word}", word),
            one(f"ecn_twoecn_{word}", word, marks=(194,)),
            one(f"ecn_drop_{word}", word, drops=(194,)),
            one(f"ecn_drop1_{word}", word, drops=(184,)),
            one(f"ecn_noecn_{word}", word, thresholds=1000, drops=(194,)),
            one(f"ecn_bursty_{word}", word, thresholds=100, drops=tuple(range(188, 203))),
            one(f"ecn_burstyEcn_{word}", word, drops=tuple(range(188, 203))),
            one(f"ecn_timeout_{word}", word, drops=LATE),
            one(f"ecn_smallwin_{word}", word, 6000, drops=(4, 8, 9, 10, 11, 12, 13, 100, 115, *small), sets=old),
            one(f"ecn_smallwinEcn_{word}", word, 10_000, marks=marked, sets=old),
            one(f"ecn_secondpkt_{word}", word, 2000, drops=(1, 3)),
            one(f"ecn_secondpktEcn_{word}", word, 2000, marks=(1, 3)),
        ]
        if word != "tahoe":
            cases.append(one(f"ecn_timeout1_{word}", word, drops=tuple(range(245, 266)), second=True))
        if word != "newreno":
            wild: Settings = {"bugFix_": 0}
            lost = tuple(range(188, 203))
            cases.append(one(f"ecn_noBugfix_{word}", word, thresholds=100, drops=lost, sets=wild))
            early = (4, 8, 9, 11, 12, 13, 120, 135, 143, 148, 150, 153)
            more = {"marks": early, "elsewhere": (("r2-r3", 6),)}
            cases.append(one(f"ecn_smallwin1Ecn_{word}", word, 10_000, links=net3(), sets=old, **more))  # type: ignore[arg-type]
        if word == "sack":
            marked = (4, 7, 9, 11, 12, 13, 14, 15, 120, 135, 143, 148, 150, 151, 152)
        cases += [
            one(f"ecn_nodrop_{word}_delack", word, sets=DELAYED),
            one(f"ecn_twoecn_{word}_delack", word, sets=DELAYED, marks=(194,)),
            one(f"ecn_drop_{word}_delack", word, sets=DELAYED, drops=(194,)),
            one(f"ecn_smallwinEcn_{word}_delack", word, 10_000, sets=DELAYED | old, marks=marked),
        ]
        if word != "reno":
            cases.append(one(f"ecn_drop1_{word}_delack", word, sets=DELAYED, drops=(184,)))
    return cases


def of_some() -> list[Network]:
    """The others."""
    around = tuple(number for number in range(241, 271) if number != 242)
    late: Settings = {"slow_start_restart_": 0}
    marked = (4, 8, 9, 11, 12, 13, 14, 15, 120, 135, 143, 148, 150, 151, 152, 153)
    early = (4, 8, 9, 11, 12, 13, 120, 135, 143, 148, 150, 153)
    six = red(2, mean_packet="500 B")
    net6 = (
        Link(("s1", "r1"), 8_000_000, 5),
        Link(("s2", "r1"), 8_000_000, 5),
        Link(("r1", "k1"), 800_000, 20, 26, red=six),
    )
    two = tuple(Flow("Reno", start, 15, source=source, sink="s3") for start, source in ((0, "s1"), (3000, "s2")))
    unlike = (Flow("Tahoe", 0, 30), Flow("Tahoe", 3000, 20, source="s2", sets={"ecn_": 0}))
    return [
        Network("ecn", "ecn", two, 10_000, net2(2, delay_ms=20), traced="r1-r2"),
        Network("ecn", "ecn1", unlike, 10_000, net6),
        one("ecn_timeout2_tahoe", "tahoe", thresholds=100, drops=tuple(range(241, 273))),
        one("ecn_timeout3_tahoe", "tahoe", drops=around),
        one("ecn_smallwin2Ecn_tahoe", "tahoe", 10_000, marks=marked, sets=late | {"timerfix_": 0}),
        one("ecn_smallwin3Ecn_tahoe", "tahoe", 10_000, links=net3(), marks=early, elsewhere=(("r2-r3", 6),), sets=late),
        one("ecn_burstyEcn1_sack", "sack", drops=tuple(range(188, 205))),
        one("ecn_fourdrops_sack", "sack", drops=(182, 184, 207, 208)),
    ]


ECN_SUITE = [*of_each(), *of_some()]


def drawn(seed: int) -> Network:
    """One flow over a queue that never acts, with marks and drops of its packets, at two links.

    A queue that acts would hang on the order of simultaneous events, since what acknowledgements clock comes as others
    leave; so would a second flow.
    """
    draw = Random(seed)
    rate, delay = draw.randint(300_000, 3_000_000), round(draw.uniform(1, 60), 6)
    fixed = ("bytes_", "false", "queue_in_bytes_", "false", "setbit_", "true", "thresh_", "900", "maxthresh_", "900")
    links = (
        Link(("s1", "r1"), draw.randint(4_000_000, 20_000_000), round(draw.uniform(0.1, 20), 6)),
        Link(("r1", "k1"), rate, delay, 1001, red=red(0, 900), ns2_red=fixed),
    )
    sets = DELAYED if draw.random() < 0.3 else {}
    window, start = draw.choice([2, 4, 12, 30]), round(draw.uniform(0, 2000), 3)
    flow = Flow(draw.choice(["Tahoe", "Reno", "Newreno", "Sack1"]), start, window, draw.choice([0, 0, 150]), sets=sets)
    most = draw.choice([30, 100])
    marks, lost = (tuple(sorted(draw.sample(range(most), draw.choice([3, 12, 20])))) for _ in range(2))
    early = tuple(("s1-r1", number) for number in lost) if draw.random() < 0.7 else ()
    general: Settings = {"bugFix_": draw.choice([0, 1, 1]), "singledup_": draw.choice([0, 1])}
    return Network("ecn", f"drawn{seed}", (flow,), 15_000, links, general, marks=marks, elsewhere=early)
