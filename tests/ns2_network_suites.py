"""ns-2's own test suites, as far as several flows, or more links than two, go: -simple, -tcp and -quiescent.

As in ns2_suites.py each case names the reference trace that ns-2 ships and what its script sets, in ns-2's own words.
There is none of -tcpHighspeed, whose queues are RED; of -tcpLinux, which traces windows: test_oracle_ns2_linux.py.
"""

from __future__ import annotations

from random import Random

from ns2_networks import STEP_MS, STEPS, Flow, Link, Network, net0
from ns2_suites import Settings

NET1 = (
    Link(("s1", "r1"), 10_000_000, 3),
    Link(("s2", "r1"), 10_000_000, 5),
    Link(("r1", "k1"), 1_500_000, 100, 23),
)


NET2 = (
    Link(("s1", "r1"), 10_000_000, 2),
    Link(("s2", "r1"), 10_000_000, 3),
    Link(("r1", "r2"), 1_500_000, 20, 30),
)
NET3 = (
    Link(("s1", "r1"), 100_000_000, 1),
    Link(("s2", "r1"), 100_000_000, 30),
    Link(("r1", "r2"), 10_000_000, 10, 26),
    Link(("r2", "s3"), 100_000_000, 1),
)
NET8 = (
    Link(("s1", "s2"), 1_000_000_000, 0),
    Link(("s2", "r1"), 9_600, 1),
    Link(("r1", "k1"), 800_000, 10, 26),
)


def simple() -> list[Network]:
    """test-suite-simple.tcl: all but RED that acts (stats2), ECN, TFRC and FullTcp, maxcwnd_ (reno, reno4, reno4a),
    Telnet, and overhead_, which ns-2 draws (phase2).

    A RED queue of n packets that never acts is a drop-tail one of n + 1, in which ns-2 counts the packet that comes.
    """

    def two(  # as most of them are
        name: str, variant: str, windows: tuple[int, int], starts: tuple[float, float], end: int, **more: object
    ) -> Network:
        flows = tuple(
            Flow(variant, start, window, source=source)
            for start, window, source in zip(starts, windows, ("s1", "s2"), strict=True)
        )
        return Network("simple", name, flows, end, **more)  # type: ignore[arg-type]

    delayed: Settings = {"interval_": 0.1}
    small = (Flow("Reno", 1200, 4, 6), Flow("Reno", 1200, 4, 6))
    late = tuple(Flow("Tahoe", start, 4, source=s, sets=delayed) for start, s in ((1000, "s1"), (1322.5, "s2")))
    short = (Flow("Tahoe", 1000, 30, 9), Flow("Tahoe", 1000, 30, 9, "s2"))
    tail = net0(10, 200)
    by_bytes = (*tail[:2], Link(("r1", "k1"), 800_000, 100, 10 * 500, "B"))
    six = (*tail[:2], Link(("r1", "k1"), 800_000, 100, 6 * 1000, "B"))
    far = {"links": NET3, "sets": {"tcpTick_": 0.01}, "traced": "r1-r2"}
    pair = (Flow("Tahoe", 0, 10, sink="s3"), Flow("Tahoe", 100, 10, source="s2", sink="s3"))
    # The packets and starts that `[new RNG]` draws.
    drawn = (
        (1, 4119.0860160249692),
        (7, 2692.7049680113351),
        (2, 304.43929615637255),
        (8, 2282.3814383160239),
        (2, 98.952271555993843),
        (6, 4812.5608334376295),
        (6, 2452.4054990394069),
        (3, 2534.3346886962346),
        (9, 2927.1704856898499),
        (2, 4832.4054525384703),
    )
    many = tuple(Flow("Tahoe", start, 20, packets) for packets, start in drawn)
    return [
        Network("simple", "tahoe1", (Flow("Tahoe", 0, 50),), 5000),
        Network("simple", "tahoe1Bytes", (Flow("Tahoe", 0, 50),), 5000, six),
        Network("simple", "tahoe1RED", (Flow("Tahoe", 0, 50),), 5000),
        Network("simple", "tahoe1REDbytes", (Flow("Tahoe", 0, 50),), 5000, six),
        Network("simple", "tahoe2", (Flow("Tahoe", 1000, 14),), 5000),
        two("tahoe3", "Tahoe", (100, 16), (1000, 500), 8000, links=net0(8)),
        two("tahoe3RED", "Tahoe", (100, 16), (1000, 500), 8000, links=net0(9)),
        two("tahoe4", "Tahoe", (30, 30), (0, 0), 25_000, links=net0(11, 200)),
        Network("simple", "no_bug", (Flow("Tahoe", 1000, 50), Flow("Tahoe", 1750, 50, 99, "s2")), 6000, NET1),
        Network(
            "simple",
            "bug",
            (Flow("Tahoe", 1000, 50), Flow("Tahoe", 1750, 50, 100, "s2")),
            6000,
            NET1,
            {"bugFix_": 0},
        ),
        Network("simple", "reno1", (Flow("Reno", 1000, 14),), 5000),
        Network("simple", "renoA", (Flow("Reno", 1000, 28), *small), 5000, net0(8)),
        two("reno2", "Reno", (50, 20), (1000, 1000), 10_000, links=net0(9)),
        two("reno3", "Reno", (100, 16), (1000, 500), 8000, links=net0(8)),
        two("reno5", "Reno", (50, 20), (1000, 1100), 10_000, links=net0(9), sets={"bugFix_": 0}),
        two("reno5_nobug", "Reno", (50, 20), (1000, 1100), 10_000, links=net0(9)),
        Network("simple", "delayed", (Flow("Tahoe", 1000, 50, sets=delayed),), 4000),
        two("phase", "Tahoe", (32, 32), (5000, 1000), 25_000, links=net0(16, 3)),
        two("phase1", "Tahoe", (32, 32), (5000, 1000), 25_000, links=net0(16, 9.5)),
        Network("simple", "timers", late, 10_000, net0(2), {"SYN_immediate_ack_": 0}),
        two("stats", "Tahoe", (30, 30), (1000, 1000), 10_100, links=tail),
        Network("simple", "stats1", short, 10_100, tail, payload=100),
        Network("simple", "stats1Bytes", short, 10_100, by_bytes, payload=100),
        Network("simple", "stats1a", short, 10_100, net0(11, 200), payload=100),
        Network("simple", "stats1aBytes", short, 10_100, by_bytes, payload=100),
        Network("simple", "statsHeaders", short, 10_100, net0(11, 200), {"useHeaders_": 1}, 100),
        Network("simple", "stats3", pair, 1100, **far),  # type: ignore[arg-type]
        Network("simple", "stats4", pair, 1100, **far),  # type: ignore[arg-type]
        Network("simple", "manyflows", many, 5000, numbers=(0,) * 10),
    ]


def tcp() -> list[Network]:
    """test-suite-tcp.tcl: all but RED that acts, ECN, Telnet, and variables that are not built (timerfix_, rttvar_exp_,
    T_SRTT_BITS, QOption_, control_increase_)."""
    net4, net6 = net0(2, delay_ms=10), net0(26, delay_ms=20)
    lone = Flow("Tahoe", 0, 1, 30)
    later = Flow("Tahoe", 0, 25, 100, more=((2400, 100), (100, 100)))
    modem: Settings = {"syn_": 1, "delay_growth_": 1, "windowInit_": 3, "minrto_": 1}

    def timers(number: int, tick_s: float, end: int, window: int, packets: int = 0) -> Network:
        flow = Flow("Reno", 0, window, packets, sink="r2", sets={"interval_": 0.1})
        return Network("tcp", f"timers{number}", (flow,), end, NET2, {"tcpTick_": tick_s}, traced="r1-r2")

    return [
        Network("tcp", "timers", (Flow("Tahoe", 90, 3, source="s2"),), 25_000, net4, drops=(0, 1)),
        Network("tcp", "timersAfix", (Flow("Tahoe", 0, 5, 1600),), 3500, net4, drops=(2, 7, 9, 10, 11)),
        Network("tcp", "timers_backoffs", (lone,), 400_000, net6, drops=tuple(range(10, 20))),
        Network("tcp", "stats1", (Flow("Reno", 1000, 30), Flow("Tahoe", 1000, 3, source="s2")), 10_100, net0(10, 200)),
        # The application sends 100 packets thrice; the RED queue never acts.
        Network("tcp", "quiescent_100ms", (later,), 30_100, net6, payload=100),
        Network("tcp", "quiescentB", (later,), 3000, net6, payload=100, drops=(2,)),
        timers(1, 0.1, 4000, 40, 180),
        timers(2, 0.5, 4000, 40, 180),
        timers(3, 0.001, 4000, 40, 180),
        timers(4, 0.001, 2000, 10),
        timers(5, 0.001, 2000, 2),
        Network("tcp", "dialup", (Flow("Sack1", 0, 20),), 30_010, NET8, modem, 1500),
        Network("tcp", "dialup1", (Flow("Sack1", 0, 20),), 30_010, NET8, modem | {"rfc2988_": 0}, 1500),
    ]


def quiescent() -> list[Network]:
    """test-suite-quiescent.tcl: the one without Telnet, CBR over TCP, QOption_ and TFRC; its RED queue never acts."""
    links = (
        Link(("s1", "r1"), 10_000_000, 2),
        Link(("r1", "r2"), 1_500_000, 20, 51),
        Link(("r2", "s3"), 10_000_000, 4),
    )
    flow = Flow("Sack1", 0, 1000, 100, sink="s3", more=((5000, 100),))
    return [Network("quiescent", "tcp_onoff", (flow,), 10_000, links, payload=500, traced="r1-r2")]


NETWORKS = [*simple(), *tcp(), *quiescent()]
# Simultaneous events that ns-2's sums of doubles set some 1e-14 s apart, one way or the other: no rule orders them.
ROUNDED = {"simple-tahoe4", "simple-phase", "simple-phase1", "tcp-stats1"}


def drawn(seed: int) -> Network:
    """Hosts at unlike distances from one or two queues in a row, to one host or to two behind; every time is exact.

    No two links into a queue take equally long, nor as long as a packet's service there: which of two events ns-2
    schedules first is then told by the links.
    """
    draw = Random(seed)
    service = draw.choice(STEPS)
    shape = draw.choice(["star", "chain", "tree"])
    leads = iter(draw.sample([lead for lead in range(6, 60) if lead not in STEPS], 9))

    def cable(near: str, far: str, queue: int) -> Link:
        rate = draw.choice(STEPS[:4])
        return Link((near, far), 4_096_000 // rate, (next(leads) - rate) * STEP_MS, queue)

    first = "r0" if shape == "chain" else "r1"
    sources = [f"s{number}" for number in range(draw.randint(2, 6))]
    links = [cable(name, draw.choice([first, "r1"]), draw.choice([50, draw.randint(3, 20)])) for name in sources]
    if shape == "chain":
        links.append(cable("r0", "r1", draw.randint(3, 60)))
    links.append(Link(("r1", "k1"), 4_096_000 // service, draw.randint(1, 40) * STEP_MS, draw.randint(2, 12)))
    sinks = ["k1"]
    if shape == "tree":
        sinks = ["e0", "e1"]
        links += [cable("k1", name, 50) for name in sinks]
    flows = []
    for source in sources:
        variant, packets = draw.choice(["Tahoe", "Reno", "Newreno"]), draw.choice([0, 0, draw.randint(1, 80)])
        start = draw.choice([0, 256, draw.randint(0, 1000)]) * STEP_MS
        flows.append(Flow(variant, start, draw.randint(2, 40), packets, source, draw.choice(sinks)))
    network = Network("simple", f"drawn{seed}", tuple(flows), 15_000, tuple(links), {"singledup_": seed % 2})
    return network.exact()
