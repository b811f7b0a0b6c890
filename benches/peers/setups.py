"""The networks on which Paceline and ns-2 are compared, in the words of both.

Where there are many flows both sides draw their own delays, rates and start times, and differ as two seeds differ:
about 0.05 % in throughput. With 100 flows two seeds are 2 % apart, so there (`paired`) the draws are made here and
given to both, and more seeds are run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


@dataclass(frozen=True)
class Setup:
    """One network for both simulators. Rates in Mbit/s, delays in ms, times in s; a pair is a range drawn per link."""

    name: str
    buffer: int  # thousand bytes, or packets
    unit: str = "bytes"
    flows: int = 1000
    edges: int = 10
    variant: str = "Reno"  # or several, dealt out to the flows in turn; Linux:cubic is TCP-Linux with CUBIC
    header: int = 0  # bytes on top of 1000 B of payload: 0 or 40
    core: tuple[float, float] = (100, 100)  # rate, delay
    edge_delay: tuple[float, float] = (5, 15)
    access_rate: float | tuple[float, float] = (8, 12)
    access_delay: tuple[float, float] = (1, 5)
    fast_share: float = 0.0  # this fraction of the hosts has access at 1 Gbit/s
    limited_transmit: bool = True
    max_window: int = 1000  # packets
    delayed_ack: bool = False
    min_rto: float = 0.2
    overhead: float = 0.0  # seconds: a host's random time before it sends, ns-2's overhead_
    start: tuple[float, float] = (0, 10)
    duration: int = 400
    warmup: int = 100
    paired: bool = False  # both simulators get the same draws, made here
    seeds: int = 2


DEMO = Setup("demo-5KB", 5)
ZHAO = Setup("zhao-5", 5, unit="packets", edges=0, header=40, core=(200, 50), access_rate=10, access_delay=(0.5, 12.5))
SETUPS = [
    DEMO,
    replace(DEMO, name="demo-20KB", buffer=20),
    replace(DEMO, name="fast-access-5KB", access_rate=100),
    replace(DEMO, name="header-5KB", header=40),
    replace(DEMO, name="header-20KB", header=40, buffer=20),
    *(
        replace(DEMO, name=f"{name}-{b}KB", variant=variant, buffer=b)
        for variant, name in (("Newreno", "newreno"), ("Sack1", "sack"), ("Fack", "fack"), ("Tahoe", "tahoe"))
        for b in (5, 10)
    ),
    *(replace(DEMO, name=f"flows-100-{b}KB", flows=100, buffer=b, paired=True, seeds=4) for b in (5, 10, 20, 50)),
    replace(DEMO, name="flows-500-5-packets", flows=500, unit="packets"),
    replace(DEMO, name="no-limited-transmit-5KB", limited_transmit=False),
    replace(DEMO, name="min-rto-1s-5KB", min_rto=1.0),
    *(replace(ZHAO, name=f"zhao-slow-{b}", buffer=b) for b in (5, 10, 15)),
    *(replace(ZHAO, name=f"zhao-half-{b}", buffer=b, fast_share=0.5) for b in (5, 10, 15)),
    *(replace(ZHAO, name=f"zhao-fast-{b}", buffer=b, fast_share=1.0) for b in (5, 10, 15)),
]
# Few flows and tiny buffers, where ties decide (docs/fidelity.md). Seeds differ by more than the targets allow.
ONE = Setup("few", 5, "packets", 1, 0, header=40, core=(20, 20), access_rate=100, access_delay=(1, 10), start=(0, 2))
FEW = [
    replace(
        ONE,
        name=f"few-{n}-{variant}-{b}-{a}",
        flows=n,
        variant=variant,
        buffer=b,
        core=(core, 20),
        access_rate=a,
        duration=60,
        warmup=10,
        paired=True,
        seeds=8,
    )
    for n, variant, b, core, a in [
        (1, "Newreno", 2, 20, 100),
        (2, "Reno", 5, 20, 100),
        (5, "Reno", 5, 20, 100),
        *((20, "Newreno", limit, 20, 100) for limit in (2, 3, 4)),
        *((100, "Reno", 5, 100, access) for access in (100, 101, 99)),
    ]
]


@dataclass(frozen=True)
class Draws:
    """What a seed draws: rates in bit/s and delays in ns by link, and the starts of the flows in ns."""

    links: dict[str, tuple[int, int]]
    starts: list[int]


def draws(setup: Setup, seed: int) -> Draws:
    """The draws of a paired set-up."""
    chance = random.Random(f"{setup.name} {seed}")

    def whole(value: float | tuple[float, float], scale: float) -> int:
        low, high = value if isinstance(value, tuple) else (value, value)
        return round(chance.uniform(low, high) * scale)

    links = {"core": (whole(setup.core[0], 1e6), whole(setup.core[1], 1e6))}
    for side in "lr":
        for edge in range(setup.edges):
            links[f"edge.{side}.{edge}"] = (100_000_000, whole(setup.edge_delay, 1e6))
        for host in range(setup.flows):
            links[f"access.{side}.{host}"] = (whole(setup.access_rate, 1e6), whole(setup.access_delay, 1e6))
    return Draws(links, [whole(setup.start, 1e9) for _ in range(setup.flows)])


def parameters(drawn: Draws) -> str:
    """The draws as dumbbell.tcl reads them."""
    links = [f"link {name} {rate / 1e6} {delay / 1e6}" for name, (rate, delay) in drawn.links.items()]
    return "\n".join(links + [f"start {flow} {start / 1e9}" for flow, start in enumerate(drawn.starts)])


def ns2_command(setup: Setup, seed: int) -> list[str]:
    """The ns-2 run of a set-up."""
    words = {
        "flows": setup.flows,
        "edges": setup.edges,
        "variant": setup.variant,
        "header": int(setup.header > 0),
        "buffer": setup.buffer,
        "unit": setup.unit,
        "core_rate": setup.core[0],
        "core_delay": setup.core[1],
        "edge_delay": setup.edge_delay,
        "access_rate": setup.access_rate,
        "access_delay": setup.access_delay,
        "fast_share": setup.fast_share,
        "singledup": int(setup.limited_transmit),
        "window": setup.max_window,
        "delack": int(setup.delayed_ack),
        "minrto": setup.min_rto,
        "overhead": setup.overhead,
        "duration": setup.duration,
        "warmup": setup.warmup,
        "seed": seed,
    }
    command = ["ns", str((HERE / "dumbbell.tcl").relative_to(ROOT))]
    for key, value in words.items():
        command += [f"-{key}", " ".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return command


def scenario(setup: Setup, seed: int) -> str:
    """The same network as a Paceline scenario."""
    head = [
        f'title = "{setup.name}"',
        f'duration = "{setup.duration} s"',
        f'warmup = "{setup.warmup} s"',
        f"seed = {seed}",
        'pacing = { method = "none" }',
    ]
    buffer = f"{setup.buffer} {'KB' if setup.unit == 'bytes' else 'packets'}"
    tcps = [tcp_of(setup, variant) for variant in setup.variant.split()]
    body = graph(draws(setup, seed), setup, buffer, tcps) if setup.paired else dumbbell(setup, buffer, tcps[0])
    return "\n".join(head + body) + "\n"


def tcp_of(setup: Setup, variant: str) -> str:
    """The settings of the flows of a variant."""
    settings = [
        f'variant = "{variant.removeprefix("Linux:").lower()}"',
        'profile = "ns2"',
        'payload = "1000 B"',
        f'header = "{setup.header + 10 * variant.startswith("Linux:")} B"',  # ts_option_size_
        'ack = "40 B"',
        f'max_window = "{setup.max_window} packets"',
    ]
    if variant.startswith("Linux:"):
        settings += ["timestamps = true", "data_with_syn = true"]
    if setup.delayed_ack:
        settings.append('delayed_ack = "100 ms"')
    if not setup.limited_transmit:
        settings.append("limited_transmit = false")
    if setup.overhead:
        settings.append(f'overhead = "{1e9 * setup.overhead:g} ns"')
    if setup.min_rto != 0.2:
        settings.append(f'min_rto = "{setup.min_rto:g} s"')
    return f"{{ {', '.join(settings)} }}"


def dumbbell(setup: Setup, buffer: str, tcp: str) -> list[str]:
    """Network and traffic with ranges, from which Paceline draws."""

    def span(value: float | tuple[float, float], unit: str) -> str:
        ends = value if isinstance(value, tuple) else (value,)
        return '"' + " .. ".join(f"{end:g} {unit}" for end in ends) + '"'

    def access(hosts: int, rate: float | tuple[float, float]) -> str:
        size = f"per_edge = {hosts // setup.edges}" if setup.edges else f"hosts = {hosts}"
        return f"{{ {size}, rate = {span(rate, 'Mbit/s')}, delay = {span(setup.access_delay, 'ms')} }}"

    fast = int(setup.fast_share * setup.flows + 0.5)
    groups = [(setup.flows - fast, setup.access_rate), (fast, 1000.0)]
    accesses = [access(hosts, rate) for hosts, rate in groups if hosts]
    core = f'{{ rate = {span(setup.core[0], "Mbit/s")}, delay = {span(setup.core[1], "ms")}, buffer = "{buffer}" }}'
    lines = ["", "[network]", 'template = "dumbbell"', 'counts = "ns2"', f"core = {core}"]
    if setup.edges:
        lines += [f'edge = {{ count = {setup.edges}, rate = "100 Mbit/s", delay = {span(setup.edge_delay, "ms")} }}']
    lines += [f"access = {accesses[0] if len(accesses) == 1 else '[' + ', '.join(accesses) + ']'}"]
    return [*lines, "", "[[traffic]]", 'kind = "bulk"', f"tcp = {tcp}", 'start = "0 s .. 10 s"']


def graph(drawn: Draws, setup: Setup, buffer: str, tcps: list[str]) -> list[str]:
    """The same dumbbell link by link, as drawn."""
    lines = ["", "[network]", 'template = "graph"', 'counts = "ns2"', 'core = "core"', ""]
    for side in "lr":
        names = [("core", "router"), *((f"edge-{e}", "router") for e in range(setup.edges))]
        names += [(f"host-{i}", "host") for i in range(setup.flows)]
        lines += [f'[[node]]\nname = "{name}-{side}"\nkind = "{kind}"' for name, kind in names]
    for name, (rate, delay) in drawn.links.items():
        if name == "core":
            near, far = "core-l", "core-r"
        else:
            kind, side, number = name.split(".")
            inner, outer = f"core-{side}", f"edge-{number}-{side}"
            if kind == "access":
                outer = f"host-{number}-{side}"
                if setup.edges:
                    inner = f"edge-{int(number) * setup.edges // setup.flows}-{side}"
            near, far = (outer, inner) if side == "l" else (inner, outer)
        lines += [f'[[link]]\nname = "{name}"\nfrom = "{near}"\nto = "{far}"']
        lines += [f'rate = "{rate} bit/s"\ndelay = "{delay} ns"']
        lines += [f'buffer = "{buffer}"'] if name == "core" else []
    for flow, start in enumerate(drawn.starts):
        lines += [f'[[traffic]]\nkind = "bulk"\nfrom = "host-{flow}-l"\nto = "host-{flow}-r"\nstart = "{start} ns"']
        lines += [f"tcp = {tcps[flow % len(tcps)]}"]
    return lines
