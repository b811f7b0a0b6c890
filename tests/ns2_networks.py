"""Networks of several TCP flows, or of more links than two, as ns-2 and as Paceline are told of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import log2
from pathlib import Path

from ns2_suites import CLASSES, PLACES, VALIDATION, WORDS, Settings

# What test-suite-simple.tcl, -tcp.tcl and -quiescent.tcl set for all their tests.
SIMPLE: Settings = {
    "precisionReduce_": 1,
    "rtxcur_init_": 6,
    "minrto_": 1,
    "useHeaders_": 0,
    "singledup_": 0,
    "tcpTick_": 0.1,
    "rfc2988_": 0,
}
TCP: Settings = {
    "precisionReduce_": 0,
    "rtxcur_init_": 6,
    "minrto_": 0,
    "useHeaders_": 0,
    "singledup_": 0,
    "tcpTick_": 0.1,
    "rfc2988_": 1,
    "windowInit_": 1,
    "syn_": 0,
    "delay_growth_": 0,
    "SYN_immediate_ack_": 0,
}

QUIESCENT: Settings = {
    "precisionReduce_": 0,
    "rtxcur_init_": 6,
    "partial_ack_": 1,
    "minrto_": 0.2,
    "singledup_": 1,
    "newreno_changes1_": 1,
    "partial_window_deflation_": 1,
}
# ns-2.35's own defaults, but for the SYN's acknowledgement: test-suite-ecn.tcl.
ECN: Settings = {
    "precisionReduce_": 1,
    "rtxcur_init_": 3,
    "minrto_": 0.2,
    "singledup_": 1,
    "newreno_changes1_": 1,
    "partial_window_deflation_": 1,
    "SYN_immediate_ack_": 0,
    "ecn_": 1,
}
# test-suite-red.tcl and test-suite-adaptive-red.tcl.
RED: Settings = {
    "precisionReduce_": 0,
    "rtxcur_init_": 6,
    "minrto_": 0,
    "useHeaders_": 0,
    "singledup_": 0,
    "tcpTick_": 0.1,
    "rfc2988_": 0,
    "windowInit_": 1,
    "syn_": 0,
}
ADAPTIVE_RED: Settings = {
    "precisionReduce_": 0,
    "rtxcur_init_": 6,
    "minrto_": 1,
    "useHeaders_": 0,
    "singledup_": 0,
    "tcpTick_": 0.1,
    "rfc2988_": 0,
    "bugfix_ss_": 0,
}
SUITES = {
    "simple": SIMPLE,
    "tcp": TCP,
    "quiescent": QUIESCENT,
    "ecn": ECN,
    "red": RED,
    "adaptive-red": ADAPTIVE_RED,
}

# By how many steps of 1/512 s a packet of 1000 B may be served at a whole number of bit/s: divisors of 4096000.
STEPS = (1, 2, 4, 5, 8, 10)
STEP_MS = 1000 / 512


def steps(milliseconds: float) -> float:
    """The nearest whole number of steps of 1/512 s, in milliseconds."""
    return round(milliseconds / STEP_MS) * STEP_MS


def power_of_two(seconds: float) -> float:
    """The nearest one."""
    return float(2 ** round(log2(seconds)))


@dataclass(frozen=True)
class Link:
    """A cable, the same both ways: bit/s, milliseconds, and packets in its queue (50 is ns-2's default)."""

    ends: tuple[str, str]
    rate: int
    delay_ms: float
    queue: int = 50
    unit: str = "packets"
    red: str = ""  # parameters of a RED queue, in both directions; "" drops at the tail
    ns2_red: tuple[str, ...] = ()  # the same in ns-2's words, for benches/peers/networks.tcl


def net0(queue: int = 6, second_ms: float = 5, rate: int = 800_000, delay_ms: float = 100) -> tuple[Link, ...]:
    """topologies.tcl, and with other sizes net4, net6: two hosts, a router, a host."""
    return (
        Link(("s1", "r1"), 8_000_000, 5),
        Link(("s2", "r1"), 8_000_000, second_ms),
        Link(("r1", "k1"), rate, delay_ms, queue),
    )


@dataclass(frozen=True)
class Flow:
    """One connection; `packets` 0 is for ever."""

    variant: str
    start_ms: float
    window: int
    packets: int = 0
    source: str = "s1"
    sink: str = "k1"
    sets: Settings = field(default_factory=dict)
    more: tuple[tuple[int, int], ...] = ()  # so many ms after that, so many packets
    payload: int = 0  # 0: the network's

    def vector(self, payload: int) -> str:
        """What the application sends, as a connection vector."""
        units = "".join(f"t> {pause * 1000}\nc> {packets * payload}\n" for pause, packets in self.more)
        head = f"CONC {round(self.start_ms * 1000)} {1 + len(self.more)} 0 1 1\nw 1000000000 1000000000\nr 1\nl 0 0\n"
        return f"{head}c> {self.packets * payload}\n{units}"


@dataclass(frozen=True)
class Network:
    """One reference trace."""

    suite: str
    name: str
    flows: tuple[Flow, ...]
    duration_ms: int
    links: tuple[Link, ...] = net0()
    sets: Settings = field(default_factory=dict)
    payload: int = 1000
    ack: int = 40
    drops: tuple[int, ...] = ()  # ordinals of the first flow at the traced link, from 0
    marks: tuple[int, ...] = ()
    elsewhere: tuple[tuple[str, int], ...] = ()  # such drops at another link
    traced: str = "r1-k1"
    numbers: tuple[int, ...] = ()  # of its flows in the trace, where they are not 0, 1, ...
    resets: int = 0  # so many agents, the last ones, are reset as they start, and draw once more
    until_ms: int = 0  # compared up to then; 0 is the end

    def __str__(self) -> str:
        return f"{self.suite}-{self.name}"

    @property
    def may_be_exact(self) -> bool:
        """Whether benches/peers/networks.tcl knows all that there is."""
        is_known = all(link.unit == "packets" and not link.red for link in self.links)
        return is_known and all(not flow.more for flow in self.flows)

    def exact(self) -> Network:
        """Nearly the same, but every time is a multiple of 1/512 s, which is exact in binary: rounding decides nothing.

        So no SYN, and acknowledgements as large as data.
        """

        def near(link: Link) -> Link:
            rate = 4_096_000 // min(STEPS, key=lambda n: abs(n - 4_096_000 / link.rate))
            return replace(link, rate=rate, delay_ms=steps(link.delay_ms))

        def on_steps(flow: Flow) -> Flow:
            sets = {name: power_of_two(value) for name, value in flow.sets.items()}
            return replace(flow, start_ms=steps(flow.start_ms), sets=sets)

        links, flows = tuple(map(near, self.links)), tuple(map(on_steps, self.flows))
        bare = {"syn_": 0, "delay_growth_": 0, "SYN_immediate_ack_": 0, "useHeaders_": 0}
        sets = self.settings | bare | {"tcpTick_": max(power_of_two(self.tick_s), 1 / 256)}
        return replace(self, links=links, flows=flows, sets=sets, payload=1000, ack=1000)

    def ns_options(self) -> list[str]:
        """What benches/peers/networks.tcl is told."""
        words = ["Agent/TCP", "packetSize_", str(self.payload), "Agent/TCPSink", "packetSize_", str(self.ack)]
        for variable, value in (VALIDATION | self.settings).items():
            words += [CLASSES.get(variable, "Agent/TCP"), variable, f"{value:.17g}"]
        flows = []
        for flow in self.flows:
            agent = "TCP" if flow.variant == "Tahoe" else f"TCP/{flow.variant}"
            sink = "TCPSink/Sack1" if flow.variant == "Sack1" else "TCPSink"
            if "interval_" in flow.sets:
                sink += "/DelAck"
                words += [f"Agent/{sink}", "interval_", f"{flow.sets['interval_']:.17g}"]
            flows += [
                agent,
                sink,
                flow.source,
                flow.sink,
                f"{flow.start_ms / 1e3:.17g}",
                str(flow.window),
                str(flow.packets),
            ]
        links: list[str] = []
        for link in self.links:
            limit = link.queue - bool(link.ns2_red)  # ns-2's RED does not count the packet that comes
            links += [*link.ends, str(link.rate), f"{link.delay_ms / 1e3:.17g}", str(limit)]
        options = {
            "links": links,
            "flows": flows,
            "set": words,
            "drops": [str(drop) for drop in self.drops],
            "marks": [str(mark) for mark in self.marks],
            "early": [str(number) for _, number in self.elsewhere],
            "red": [word for link in self.links for word in link.ns2_red],
            "traced": self.traced.split("-"),
            "duration": [f"{self.duration_ms / 1e3:g}"],
        }
        return [word for key, value in options.items() for word in (f"-{key}", " ".join(value))]

    def reference(self) -> Path | None:
        """The shipped trace, where there is one."""
        paths = [place / f"test-output-{self.suite}" / f"{self.name}.gz" for place in PLACES]
        return next((path for path in paths if path.exists()), None)

    @property
    def settings(self) -> Settings:
        """What holds for all flows."""
        return SUITES[self.suite] | self.sets

    @property
    def tick_s(self) -> float:
        """The tick of the clocks that time round trips."""
        return self.settings.get("tcpTick_", 0.01)

    def scenario(self, phases_ns: list[int]) -> str:
        """The same for Paceline; `phases_ns`: of each flow's clock."""
        hosts = sorted({end for flow in self.flows for end in (flow.source, flow.sink)})
        nodes = dict.fromkeys(end for link in self.links for end in link.ends)
        starts = [flow.start_ms for flow in self.flows]
        end = max(self.until_ms or self.duration_ms, *(start + 1 for start in starts))
        text = f'duration = "{end:g} ms"\n\n[network]\ntemplate = "graph"\ncounts = "ns2"\n'
        for node in nodes:
            text += f'\n[[node]]\nname = "{node}"\nkind = "{"host" if node in hosts else "router"}"\n'
        for link in self.links:
            text += (
                f'\n[[link]]\nfrom = "{link.ends[0]}"\nto = "{link.ends[1]}"\nrate = "{link.rate} bit/s"\n'
                f'delay = "{round(link.delay_ms * 1e6)} ns"\nbuffer = "{link.queue} {link.unit}"\n'
            )
            if link.red:
                text += f'queue = {{ discipline = "red", {link.red} }}\n'
        for number, (flow, phase) in enumerate(zip(self.flows, phases_ns, strict=True)):
            start = f'start = "{round(flow.start_ms * 1e6)} ns"\n'
            kind = f'kind = "bulk"\n{start}'
            if flow.more:
                kind = f'kind = "cvec"\nfile = "flow{number}.cvec"\nwindows = false\n'
            elif flow.packets:
                kind += f'size = "{flow.packets} packets"\n'
            sets = [WORDS[variable](value) for variable, value in (self.settings | flow.sets).items()]
            tcp = [
                'profile = "ns2-validation"',
                f'variant = "{flow.variant.lower()}"',
                f'payload = "{flow.payload or self.payload} B"',
                f'ack = "{self.ack} B"',
                f'max_window = "{flow.window} packets"',
                f'tick_phase = "{phase} ns"',
            ]
            text += (
                f'\n[[traffic]]\nname = "flow{number}"\nfrom = "{flow.source}"\nto = "{flow.sink}"\n{kind}'
                + "\n".join(["\n[traffic.tcp]", *tcp, *sets, ""])
            )
        forced = [("drop", self.traced, self.drops), ("mark", self.traced, self.marks)]
        for link in dict.fromkeys(link for link, _ in self.elsewhere):
            forced.append(("drop", link, tuple(number for where, number in self.elsewhere if where == link)))
        for what, where, numbers in forced:
            if numbers:
                text += f'\n[[{what}]]\nlink = "{where}"\nflow = 0\narrivals = {list(numbers)}\n'
        return text
