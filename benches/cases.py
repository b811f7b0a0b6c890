"""The runs of `make bench`: networks, what each may cost, and how long it runs, here and in the peers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from runs import ROOT, SCENARIOS, Settings

DEMO = SCENARIOS / "edge-vs-host.toml"
MANY = SCENARIOS / "scale" / "many-flows.toml"
SHORT = SCENARIOS / "scale" / "short-round-trips.toml"
PLAIN = ROOT / "benches" / "plain.toml"


@dataclass(frozen=True)
class Times:
    """Simulated seconds, and those of them before statistics."""

    duration: float
    warmup: float

    @property
    def settings(self) -> Settings:
        """As keys of a scenario."""
        return {"duration": f"{self.duration:g} s", "warmup": f"{self.warmup:g} s"}


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
        name: what the row is called.
        network: cases of one network are compared with the same runs of the peers.
        target_ns: what a packet may cost at most, CPU ns; `None` where nothing was set.
        full, quick: how long it runs.
        ns2, ns3: how long the peers run, `None` where they do not.
        slow_peers: laying the network out takes them minutes: they run once, and not where it should be quick.
        repeated: it runs as often as asked for, else once.
        memory: what it may take at most, bytes.
        counted: the two lengths, simulated seconds, between which instructions are counted (instructions.py); `None`
            where they say little: the time of very many flows is memory's.
    """

    name: str
    network: str
    file: Path
    settings: Settings
    target_ns: float | None
    full: Times
    quick: Times
    ns2: Times | None = None
    ns3: Times | None = None
    slow_peers: bool = False
    repeated: bool = True
    memory: float | None = None
    counted: tuple[float, float] | None = None

    @property
    def start(self) -> str:
        """Under what its first seconds are kept, where a peer that is too slow for more runs over these alone."""
        return f"{self.name}, as long as peers run" if self.slow_peers else self.name

    def all_settings(self, quick: bool) -> Settings:
        """What changes in the file."""
        return {"probes": {}, **self.settings, **(self.quick if quick else self.full).settings}


def demo(name: str, pacing: str, target: float | None) -> Case:
    """The demo's network at 5 KB."""
    settings: Settings = {"network.core.buffer": "5 KB", "pacing": pacing}
    is_first = pacing == "none"
    return Case(
        f"1000 flows, 5 KB, {name}",
        "1000 flows",
        DEMO,
        settings,
        target,
        Times(400, 100),
        Times(60, 20),
        ns2=Times(100, 40) if is_first else None,
        ns3=Times(14, 10) if is_first else None,
        counted=(12, 24),
    )


def of_users(name: str, file: Path, settings: Settings, full: Times, quick: Times) -> Case:
    """What people run: no target but its ratio to the first row."""
    settled = quick.warmup
    return Case(name, name, file, settings, None, full, quick, counted=(settled, quick.duration))


def demo_as(name: str, tcp: Settings, pacing: str = "none", queue: str = "drop-tail") -> Case:
    """The demo's network at 5 KB under another TCP, or at another queue."""
    settings: Settings = {"network.core.buffer": "5 KB", "pacing": pacing, "traffic.bulk.tcp": tcp}
    if queue != "drop-tail":
        settings["network.core.queue"] = queue
    return of_users(f"1000 flows, 5 KB, {name}", DEMO, settings, Times(400, 100), Times(24, 12))


def many(name: str, per_edge: int, target: float | None, full: Times, quick: Times) -> Case:
    """Many flows over 10 Gbit/s.

    What ns-2 takes to lay out hosts grows with their square: it does not run beside more than 10,000 flows. An edge of
    ns-3 looks through the routes to all its hosts at every packet: with a thousand of them its time would say nothing.
    """
    ns2 = Times(12, 10) if per_edge <= 1_000 else None
    million = per_edge == 100_000
    memory = 2e9 if million else None
    settings: Settings = {"network.access.per_edge": per_edge}
    return Case(
        name, name, MANY, settings, target, full, quick, ns2, slow_peers=True, repeated=not million, memory=memory
    )


#: A thousand flows to a million.
SCALE = (
    demo("unpaced", "none", 60),
    demo("host-paced", "host", 80),
    demo("edge-paced, 10 ms", "edge 10 ms", 110),
    demo("QLBP", "qlbp load = 0.1, max_delay = 10 ms", None),
    replace(
        demo("ten a host", "none", None),
        network="1000 flows, ten a host",
        settings={
            "network.core.buffer": "5 KB",
            "network.access": {"per_edge": 10, "rate": "80 Mbit/s .. 120 Mbit/s", "delay": "1 ms .. 5 ms"},
            "traffic.bulk.count": 10,
            "pacing": "none",
        },
        ns2=None,
        ns3=None,
    ),
    many("10,000 flows, 10 Gbit/s", 1_000, 70, Times(60, 20), Times(4, 2)),
    many("100,000 flows, 10 Gbit/s", 10_000, 110, Times(60, 20), Times(2, 1)),
    Case(
        "100 flows, 1.2 ms, 10 Gbit/s",
        "short round trips",
        SHORT,
        {},
        120,
        Times(4, 0.5),
        Times(1, 0.5),
        ns2=Times(1, 0.5),
        ns3=Times(0.15, 0.1),
        counted=(0.5, 0.7),
    ),
    many("1,000,000 flows, 10 Gbit/s", 100_000, None, Times(12, 6), Times(3, 2)),
)

#: What people run.
USERS = (
    of_users("10 flows by default", PLAIN, {}, Times(1000, 100), Times(40, 20)),
    of_users("10 flows, Reno", PLAIN, {"traffic.bulk.tcp": {"variant": "reno"}}, Times(1000, 100), Times(40, 20)),
    demo_as("SACK", {"variant": "sack1", "profile": "ns2"}),
    demo_as("CUBIC as Linux", {"variant": "cubic", "profile": "linux"}),
    demo_as("CUBIC as Linux, host-paced", {"variant": "cubic", "profile": "linux"}, "host"),
    demo_as("CUBIC as Linux, in trains", {"variant": "cubic", "profile": "linux", "gso": "64 KB"}),
    demo_as("BBR as Linux", {"variant": "bbr", "profile": "linux"}),
    demo_as("FQ-CoDel", {"variant": "reno", "profile": "ns2"}, queue="fq-codel"),
    of_users("closed loop", SCENARIOS / "closed-loop.toml", {"pacing": "none"}, Times(400, 100), Times(30, 10)),
    of_users("RPC beside bulk", SCENARIOS / "rpc.toml", {"pacing": "none"}, Times(400, 100), Times(30, 10)),
    of_users("parking lot", SCENARIOS / "parking-lot.toml", {"pacing": "none"}, Times(400, 100), Times(40, 20)),
    of_users("port pacing", SCENARIOS / "port-pacing.toml", {"pacing": "port"}, Times(60, 10), Times(4, 2)),
)
CASES = (*SCALE, *USERS)

#: What ns-3's TCP does, in the words of a scenario: the same sizes, SACK, no timestamps; its buffer counts what waits.
LIKE_NS3: Settings = {
    "network.counts": "waiting",
    "network.core.buffer": "4 packets",
    "traffic.bulk.tcp": {
        "variant": "rfc6675",
        "profile": "rfc",
        "payload": "1000 B",
        "header": "42 B",
        "ack": "42 B",
        "initial_window": "2 packets",
        "max_window": "1000 packets",
    },
}
