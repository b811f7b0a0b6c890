"""ns-2's own test suites (Debian: ns2-examples), as far as one flow over two links goes.

Each case names the reference trace that ns-2 ships, and what its script sets in ns-2's own words; `WORDS` says what
that is in a scenario's. From the one list come the scenario that Paceline runs and, where the shipped trace is not at
hand but `ns` is, the run that makes one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# Where the shipped traces may be: installed, or unpacked by .ci/run where documentation is left out of installs.
PLACES = [Path("/usr/share/doc/ns2/examples/tcl/test")]
if "PACELINE_NS2_EXAMPLES" in os.environ:
    PLACES.append(Path(os.environ["PACELINE_NS2_EXAMPLES"]) / "usr/share/doc/ns2/examples/tcl/test")

Settings = dict[str, float]


def flag(key: str) -> Callable[[float], str]:
    """A switch."""
    return lambda value: f"{key} = {'true' if value else 'false'}"


# What the scripts set, and what a scenario calls it.
WORDS: dict[str, Callable[[float], str]] = {
    "singledup_": flag("limited_transmit"),
    "bugFix_": flag("careful"),
    "lessCareful_": flag("less_careful"),
    "bugfix_ss_": flag("first_packet_fix"),
    "precisionReduce_": flag("fractional_halving"),
    "partial_ack_": flag("partial_ack"),
    "newreno_changes1_": flag("impatient"),
    "partial_window_deflation_": flag("partial_deflation"),
    "exit_recovery_fix_": flag("full_ack_deflation"),
    "rfc2988_": flag("min_rto_backs_off"),
    "ts_resetRTO_": flag("timestamps_end_back_off"),
    "timestamps_": lambda value: 'timestamps = true\nheader = "50 B"' if value else "timestamps = false",
    "useHeaders_": lambda value: f'header = "{40 if value else 0} B"',
    "syn_": lambda value: "" if value else "syn = false",
    "delay_growth_": lambda _: "",  # goes with syn_
    "SYN_immediate_ack_": lambda value: f"delayed_syn_ack = {'false' if value else 'true'}",
    "numdupacks_": lambda value: f"duplicate_threshold = {value:g}",
    "noFastRetrans_": lambda value: "duplicate_threshold = 1000" if value else "",
    "maxburst_": lambda value: f'max_burst = "{value:g} packets"',
    "windowInit_": lambda value: f'initial_window = "{value:g} packets"',
    "tcpTick_": lambda value: f'tick = "{value * 1e3:g} ms"',
    "minrto_": lambda value: f'min_rto = "{max(1, round(value * 1e9))} ns"',
    "rtxcur_init_": lambda value: f'initial_rto = "{value:g} s"',
    "interval_": lambda value: f'delayed_ack = "{value * 1e3:g} ms"',
    "ecn_": lambda value: f'ecn = "{"rfc3168" if value else "off"}"',
    "timerfix_": flag("timer_fix"),
    "slow_start_restart_": lambda value: f'idle_restart = "{"one" if value else "keep"}"',
}

# What test-suite-tcpVariants.tcl sets for all its tests: the profile `ns2-validation`.
VALIDATION: Settings = {
    "precisionReduce_": 0,
    "rtxcur_init_": 6,
    "minrto_": 1,
    "newreno_changes1_": 0,
    "partial_window_deflation_": 0,
    "singledup_": 0,
}
# The classes of variables that are not Agent/TCP's.
CLASSES = {
    "newreno_changes1_": "Agent/TCP/Newreno",
    "partial_window_deflation_": "Agent/TCP/Newreno",
    "exit_recovery_fix_": "Agent/TCP/Newreno",
    "SYN_immediate_ack_": "Agent/TCPSink",
}
NEWEST: Settings = {"newreno_changes1_": 1, "partial_window_deflation_": 1}


@dataclass(frozen=True)
class Case:
    """One reference trace."""

    suite: str
    name: str
    variant: str  # Tahoe, Reno, Newreno, Sack1, Fack
    drops: tuple[int, ...] = ()  # ordinals at the second link, from 0, the SYN included
    sets: Settings = field(default_factory=dict)  # beyond VALIDATION
    window: int = 28
    queue: int = 8  # packets
    first: tuple[int, int] = (8_000_000, 0)  # bit/s, ms
    second: tuple[int, int] = (800_000, 100)
    start_ms: int = 1000
    duration_ms: int = 6000
    packets: int = 0  # 0: for ever
    traced: str = "second"  # the link that the shipped trace shows

    def __str__(self) -> str:
        return f"{self.suite}-{self.name}"

    @property
    def tick_s(self) -> float:
        """The tick of the clock that times a round trip."""
        return self.sets.get("tcpTick_", 0.01)

    def reference(self) -> Path | None:
        """The shipped trace, where there is one."""
        paths = [place / f"test-output-{self.suite}" / f"{self.name}.gz" for place in PLACES]
        return next((path for path in paths if path.exists()), None)

    def ns_options(self) -> list[str]:
        """What benches/peers/one_flow.tcl is told."""
        delayed = "interval_" in self.sets
        selective = "/Sack1" if self.variant in {"Sack1", "Fack"} else ""
        sink = f"TCPSink{selective}{'/DelAck' if delayed else ''}"
        words: list[str] = []
        for variable, value in {**VALIDATION, **self.sets}.items():
            owner = f"Agent/{sink}" if variable == "interval_" else CLASSES.get(variable, "Agent/TCP")
            words += [owner, variable, f"{value:g}"]
        options = {
            "variant": self.variant,
            "sink": sink,
            "set": " ".join(words),
            "drops": " ".join(map(str, self.drops)),
            "window": self.window,
            "queue": self.queue,
            "first": self.first[0],
            "first_delay": self.first[1] / 1000,
            "second": self.second[0],
            "delay": self.second[1] / 1000,
            "start": self.start_ms / 1000,
            "duration": self.duration_ms / 1000,
            "packets": self.packets,
            # minrto and singledup are in `set`, and stand for themselves.
        }
        return [word for key, value in options.items() for word in (f"-{key}", str(value))]

    def scenario(self, tick_phase_ns: int) -> str:
        """The same for Paceline."""
        drop = f'[[drop]]\nlink = "second"\nflow = 0\narrivals = {list(self.drops)}' if self.drops else ""
        (first, first_ms), (second, second_ms) = self.first, self.second
        size = f'size = "{self.packets} packets"' if self.packets else ""
        sets = "\n".join(WORDS[variable](value) for variable, value in self.sets.items())
        return f"""
duration = "{self.duration_ms} ms"

[network]
template = "path"
counts = "ns2"
links = [
    {{ name = "first", rate = "{first} bit/s", delay = "{first_ms} ms" }},
    {{ name = "second", rate = "{second} bit/s", delay = "{second_ms} ms", buffer = "{self.queue} packets" }},
]

[[traffic]]
kind = "bulk"
start = "{self.start_ms} ms"
{size}

[traffic.tcp]
profile = "ns2-validation"
variant = "{self.variant.lower()}"
max_window = "{self.window} packets"
tick_phase = "{tick_phase_ns} ns"
{sets}

{drop}
"""


FAMILY = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "Newreno", "sack": "Sack1", "fack": "Fack"}


def tcp_variants() -> list[Case]:
    """test-suite-tcpVariants.tcl: all but FullTcp and SackRH, which are other agents."""
    drops = {
        "onedrop": (14,),
        "twodrops": (14, 28),
        "threedrops": (14, 26, 28),
        "fourdrops": (14, 24, 26, 28),
        "multiple": (11, 12, 13, 14, 16, 17, 18, 19),
        "multiple2": (11, 12, 13, 14, 16),
    }
    cases = []
    for scene, lost in drops.items():
        for word, variant in FAMILY.items():
            if variant == "Fack" and scene.startswith("multiple"):
                continue
            cases.append(Case("tcpVariants", f"{scene}_{word}", variant, lost))
            if variant != "Fack":
                cases.append(Case("tcpVariants", f"{scene}_SA_{word}", variant, lost, {"singledup_": 1}))
        if scene.startswith("multiple"):
            cases.append(Case("tcpVariants", f"{scene}_partial_ack_sack", "Sack1", lost, {"partial_ack_": 1}))
    return cases


def newreno() -> list[Case]:
    """test-suite-newreno.tcl: all but those that delay packets, lose acknowledgements, or use heuristics (bugFix_ack_,
    bugFix_ts_); and slow4, where an arrival and a departure fall on one instant and rounding decides."""
    a = (14, 15, 16, 17, 18, 19, 20, 21, 25)
    b = (24, 25, 26, 28, 31, 35, 40, 45, 46, 47, 48)
    c = (24, 25, 26, 27, 28, 29, 31, 33, 36)
    three = (14, 26, 28)
    lost = (*range(15, 31), 37)
    plain: Settings = {"bugFix_": 0}
    impatient: Settings = {"newreno_changes1_": 1}
    full = {**NEWEST, "exit_recovery_fix_": 1}
    less: Settings = {"lessCareful_": 1}
    times: Settings = {"timestamps_": 1}
    table: list[tuple[str, str, tuple[int, ...], int, Settings]] = [
        ("reno", "Reno", three, 1, plain),
        ("reno_noLT", "Reno", three, 0, plain),
        ("newreno", "Newreno", three, 1, plain),
        ("newreno_noLT", "Newreno", three, 0, plain),
        ("newreno_B", "Newreno", three, 1, plain | full),
        ("newreno_B_noLT", "Newreno", three, 0, plain | full),
        ("reno1", "Reno", a, 1, plain),
        ("newreno1", "Newreno", a, 1, plain),
        ("newreno1_BF", "Newreno", a, 1, {}),
        ("newreno1_A", "Newreno", a, 1, plain | impatient),
        ("newreno1_A_noLT", "Newreno", a, 0, plain | impatient),
        ("newreno1_A_BF", "Newreno", a, 1, impatient),
        ("newreno1_A_BF_LC", "Newreno", a, 1, impatient | less),
        ("newreno1_B0", "Newreno", a, 1, plain | {"partial_window_deflation_": 1, "exit_recovery_fix_": 1}),
        ("newreno1_B", "Newreno", a, 1, plain | full),
        ("newreno1_B_BF", "Newreno", a, 1, full),
        ("newreno1_B_noLT", "Reno", three, 0, plain),
        ("newreno1A_A", "Newreno", c, 1, plain | impatient),
        ("newreno1A_A_noLT", "Newreno", c, 0, plain | impatient),
        ("newreno1A_A_BF", "Newreno", c, 1, impatient),
        ("reno2", "Reno", b, 1, plain),
        ("reno2_noLT", "Reno", b, 0, plain),
        ("reno2_bugfix", "Reno", b, 1, {}),
        ("reno2_bugfix_noLT", "Reno", b, 0, {}),
        ("newreno2_A", "Newreno", b, 1, plain | impatient),
        ("newreno2_A_noLT", "Newreno", b, 0, plain | impatient),
        ("newreno2_A_bugfix", "Newreno", b, 1, impatient),
        ("newreno2_A_bugfix_LC", "Newreno", b, 1, impatient | less),
        ("newreno2_B", "Newreno", b, 1, plain | full),
        ("newreno2_B_noLT", "Newreno", b, 0, plain | full),
        ("newreno2_B_bugfix", "Newreno", b, 1, full),
        ("newreno2_B_bugfix_LC", "Newreno", b, 1, full | less),
        ("newreno6", "Newreno", (14, 26, 28, 33), 1, plain),
        ("newreno_rto_loss", "Newreno", lost, 1, NEWEST),
        ("newreno_rto_loss_ts", "Newreno", lost, 1, NEWEST | times),
        ("newreno_rto_dup", "Newreno", (*b, 51), 1, {}),
        ("newreno_rto_dup_ts", "Newreno", (*b, 51), 1, times),
    ]
    cases = [
        Case("newreno", name, variant, drops, sets | {"singledup_": lt}) for name, variant, drops, lt, sets in table
    ]
    scenes = [range(15, 28), range(15, 20), (15, 16, 17, 18, 19, 22, 27), range(30, 56)]
    for number, drops_4b in enumerate(scenes, 1):
        for word, changes in (("impatient", 1), ("slow", 0)):
            if (word, number) == ("slow", 4):
                continue
            sets = NEWEST | {"newreno_changes1_": changes, "singledup_": 1}
            window, end = (32, 20_000) if number == 4 else (16, 10_000)
            where = {"second": (800_000, 200), "window": window, "duration_ms": end}
            cases.append(Case("newreno", f"{word}{number}", "Newreno", tuple(drops_4b), sets, **where))  # type: ignore[arg-type]
    return cases


def tcp_options() -> list[Case]:
    """test-suite-tcpOptions.tcl: the threshold of duplicates, timeouts with and without bugFix_ and timestamps."""
    cases = []
    late = (7, 8, 9, 10, 11, 12, 13, 14, 21)
    later = (20, 21, 22, 23, 24, 25, 26, 31, 41)
    stamps: Settings = {"timestamps_": 1}
    for word in ("tahoe", "reno", "newreno", "sack"):
        variant = FAMILY[word]
        for name, more in (("onedrop", {}), ("onedrop_numdup4", {"numdupacks_": 4.0})):
            sets = NEWEST | {"bugFix_": 0} | more
            cases.append(Case("tcpOptions", f"{name}_{word}", variant, (3,), sets, 50, start_ms=0, duration_ms=2000))
        for number, more in (("", {}), ("1", {"bugFix_": 0.0}), ("2", stamps | {"ts_resetRTO_": 1}), ("3", stamps)):
            name = f"timeouts_{word}{number}"
            cases.append(Case("tcpOptions", name, variant, late, NEWEST | more, 50, start_ms=0, duration_ms=8000))
    for name, more in (("timeoutsA_tahoe", {}), ("timeoutsA_tahoe1", {"bugFix_": 0.0})):
        cases.append(Case("tcpOptions", name, "Tahoe", later, NEWEST | more, 50, start_ms=0, duration_ms=5000))
    return cases


def delayed() -> list[Case]:
    """Delayed acknowledgements: test-suite-LimTransmit.tcl, -rfc2581.tcl and -testReno.tcl."""
    old: Settings = {"rfc2988_": 0, "useHeaders_": 0, "SYN_immediate_ack_": 0}
    lim = old | {"tcpTick_": 0.5, "interval_": 0.1}
    cases = [
        Case("LimTransmit", name, "Sack1", drops, lim | {"singledup_": lt}, start_ms=0, packets=7, traced="first")
        for name, drops, lt in (("onedrop_sack", (1,), 0), ("onedrop_SA_sack", (1,), 1), ("nodrop_sack", (), 0))
    ]
    bare = old | NEWEST | {"tcpTick_": 0.1, "minrto_": 0, "syn_": 0, "delay_growth_": 0, "windowInit_": 1}
    for name, variant in (("", "Tahoe"), ("Reno", "Reno"), ("NewReno", "Newreno"), ("Sack", "Sack1")):
        sets = bare | {"interval_": 0.2}
        case = Case(
            "rfc2581", f"immediateAck{name}", variant, (3, 4), sets, second=(800_000, 10), packets=10, duration_ms=3000
        )
        cases.append(case)
    for name, variant in (("Tahoe", "Tahoe"), ("Reno", "Reno"), ("NewReno", "Newreno"), ("Sack", "Sack1")):
        sets = bare | {"interval_": 0.1}
        cases.append(Case("testReno", f"{name}_TCP", variant, (15, 18), sets, 5, duration_ms=4010))
        cases.append(Case("testReno", f"{name}_TCP2", variant, (17,), sets, 8, duration_ms=4010))
    sets = bare | {"interval_": 0.1, "noFastRetrans_": 1}
    cases.append(Case("testReno", "Tahoe_TCP_without_Fast_Retransmit", "Tahoe", (15, 18), sets, 5, duration_ms=4010))
    cases.append(Case("testReno", "Tahoe_TCP2_without_Fast_Retransmit", "Tahoe", (17,), sets, 8, duration_ms=4010))
    return cases


def todays() -> list[Case]:
    """With ns-2.35's own defaults: test-suite-tcp-init-win.tcl (a RED queue that never acts) and -sack.tcl."""
    now: Settings = NEWEST | {"precisionReduce_": 1, "rtxcur_init_": 3, "singledup_": 1}
    scenes = [("droppedSYN", "Newreno", 0), ("droppedPKT", "Newreno", 1), ("droppedPKT2", "Sack1", 1)]
    cases = []
    for name, variant, drop in scenes:
        for fix in (0, 1):
            word = name if not fix else "droppedPKT3" if name == "droppedPKT2" else f"{name}1"
            sets = now | {"minrto_": 0.2, "windowInit_": 4, "bugfix_ss_": fix}
            where = {"first": (100_000_000, 5), "second": (10_000_000, 100), "queue": 25, "window": 20, "start_ms": 0}
            cases.append(Case("tcp-init-win", word, variant, (drop,), sets, duration_ms=5000, **where))  # type: ignore[arg-type]
    for name, window, start, more in (
        ("sack1", 14, 1000, {}),
        ("sack1z", 14, 0, {"maxburst_": 4.0}),
        ("sack1a", 20, 0, {}),
        ("sack1aa", 20, 0, {"maxburst_": 4.0}),
        ("sack1b", 26, 0, {}),
        ("sack1c", 27, 0, {}),
    ):
        case = Case("sack", name, "Sack1", (), now | more, window, 6, (8_000_000, 5), start_ms=start, duration_ms=5000)
        cases.append(case)
    fast = {"first": (10_000_000, 5), "second": (1_500_000, 20), "queue": 25, "start_ms": 100, "duration_ms": 3000}
    cases.append(Case("sack", "sack_dupacks", "Sack1", (), now, 200, **fast))  # type: ignore[arg-type]
    return cases


CASES = [*tcp_variants(), *newreno(), *tcp_options(), *delayed(), *todays()]
