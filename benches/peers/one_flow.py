"""Make tests/oracles/ns2/: what one ns-2 2.35 flow does, packet by packet, under losses chosen to reach every rule.

    python benches/peers/one_flow.py             rewrites the directory (needs ns-2: Debian's package ns2)
    python benches/peers/one_flow.py --only NAME --vars    one case, and ns-2's variables at every change, on stdout

TCP-Linux is run twice: with an acknowledgement a packet and no timestamps, and with delayed acknowledgements and
timestamps. Flows that `overhead_` has wait do so for a nanosecond at most: what it does beside the time shows.

A file is gzipped CSV: lines `# key = value` (TOML) that say what ran, then time_ns,event,kind,seq,bytes. Rows are data
packets that reach the second link (`enqueue`, or `drop` where its queue refuses it or the loss is forced) and
acknowledgements that reach the sender (`receive`), all of them until `until_ns`. Numbers are ns-2's: the SYN is data 0.
Times are whole microseconds. `tick_phase_ns` is the phase of ns-2's clock (boot_time_), which decides how a round trip
rounds to ticks: the simulation compared must use the same.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE.parent.parent / "tests" / "oracles" / "ns2"
INSTALL = "ns-2 is not installed: on Debian or Ubuntu, `apt-get install ns2`"
Row = tuple[int, str, str, int, int]


@dataclass(frozen=True)
class Case:
    """One flow's settings; `drops` are ordinals at the second link, the SYN being 0."""

    name: str
    drops: tuple[int, ...] = ()
    window: int = 28
    queue: int = 100
    duration: int = 4
    again: int = 0  # drop the first retransmission of drops[0] this many times as well
    payload: int = 1000  # bytes, without the header of 40
    first: int = 8_000_000  # bit/s
    second: int = 800_000  # bit/s
    delay_ms: int = 100  # of the second link
    start_ms: int = 100


def scattered(share: float, count: int, seed: int) -> tuple[int, ...]:
    """Ordinals below `count`, each taken with probability `share`, by a fixed congruential generator."""
    state, taken = seed, []
    for ordinal in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        if state / 2**31 < share:
            taken.append(ordinal)
    return tuple(taken)


# Where the queue overflows, acknowledgements bring each packet to it at the very instant that another leaves: a tie
# that rounding decides in ns-2, unless every time is a multiple of 1/512 s, exact in binary and in nanoseconds.
TAIL = Case("tail", window=50, payload=1240, first=163_840, second=40_960, delay_ms=1000, start_ms=125)

CASES = [
    Case("none"),
    Case("window-2", window=2),
    Case("drop-1", (14,)),
    Case("drop-2", (14, 28)),
    Case("drop-3", (14, 26, 28)),
    Case("drop-4", (14, 24, 26, 28)),
    Case("drop-neighbours", (14, 15, 16)),
    replace(TAIL, name="tail-3", queue=3, duration=200),
    replace(TAIL, name="tail-6", queue=6, duration=200),
    replace(TAIL, name="tail-8", queue=8, duration=200),
    Case("retransmission", (14,), again=1, duration=6),
    Case("retransmission-twice", (14,), again=2, duration=8),
    Case("syn", (0,), duration=6),
    Case("syn-thrice", (0, 1, 2), duration=30),
    Case("first-data", (1,), duration=8),
    Case("first-window", (1, 2), duration=12),
    Case("small-window-2", (9,), window=2),
    Case("small-window-3", (10,), window=3),
    Case("small-window-4", (12,), window=4),
    Case("small-window-5", (13,), window=5),
    Case("timeout", tuple(range(14, 28)), duration=10),
    Case("backoff", tuple(range(14, 36)), window=12, duration=60),
    Case("backoff-to-maximum", tuple(range(14, 42)), window=4, duration=400),
    Case("loss-3-percent", scattered(0.03, 400, 3), duration=20),
    Case("loss-10-percent", scattered(0.10, 300, 7), window=12, duration=40),
    Case("loss-20-percent", scattered(0.20, 300, 11), window=8, duration=100),
    Case("loss-35-percent", scattered(0.35, 200, 5), window=8, duration=200),
]


@dataclass(frozen=True)
class Agent:
    """Who sends, and to whom."""

    variant: str  # a control stands behind TCP-Linux's
    limited: bool = True
    delayed: bool = False  # acknowledgements, and timestamps
    waits: bool = False  # before it sends, a nanosecond at most

    @property
    def name(self) -> str:
        """The file's ending."""
        name = self.variant.lower().removeprefix("linux:")
        name += "" if self.limited else ".no-limited-transmit"
        return name + (".delayed" if self.delayed else "") + (".waits" if self.waits else "")

    def options(self) -> list[str]:
        """What one_flow.tcl is told."""
        variant, _, control = self.variant.partition(":")
        sink = "TCPSink/Sack1" if variant in {"Sack1", "Fack", "Linux"} else "TCPSink"
        words = ["-variant", variant, "-singledup", str(int(self.limited)), "-control", control]
        stamps = "Agent/TCP timestamps_ true Agent/TCPSink ts_echo_rfc1323_ true" if self.delayed else ""
        wait = "Agent/TCP overhead_ 1e-9" if self.waits else ""
        return [*words, "-sink", sink + "/DelAck" * self.delayed, "-set", f"{stamps} {wait}"]

    def takes(self, case: Case) -> bool:
        """Whether the case is for this agent: a nanosecond decides ties."""
        return not (self.waits and case.name.startswith("tail"))


# Files are numbered in the order in which they came, group by group.
GROUPS = [
    [Agent(variant, limited) for variant in ("Reno", "Newreno") for limited in (True, False)],
    # FACK has no limited transmit.
    [*(Agent(variant, limited) for variant in ("Tahoe", "Sack1") for limited in (True, False)), Agent("Fack")],
    [Agent(f"Linux:{control}", delayed=delayed) for control in ("cubic", "bic") for delayed in (False, True)],
    [Agent(f"Linux:{control}", waits=True) for control in ("cubic", "bic")],
]


def simulate(case: Case, agent: Agent, seed: int, drops: tuple[int, ...], show: bool = False) -> tuple[int, list[Row]]:
    """Run ns-2; the tick phase in nanoseconds, and the rows."""
    with tempfile.TemporaryDirectory() as place:
        trace, variables = Path(place) / "trace", Path(place) / "vars"
        command = ["ns", str(HERE / "one_flow.tcl"), *agent.options()]
        command += ["-window", str(case.window), "-queue", str(case.queue), "-drops", " ".join(map(str, drops))]
        command += ["-payload", str(case.payload), "-first", str(case.first), "-second", str(case.second)]
        command += ["-delay", str(case.delay_ms / 1000), "-start", str(case.start_ms / 1000)]
        command += ["-duration", str(case.duration), "-seed", str(seed), "-trace", str(trace)]
        done = subprocess.run(
            command + (["-vars", str(variables)] if show else []), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            sys.exit(f"ns-2 failed on {case.name}: {done.stderr.strip()}")
        if show:
            sys.stdout.write(variables.read_text())
        phase = next(line for line in done.stdout.splitlines() if "select_ca" not in line)
        return round(float(phase) * 1e9), rows_of(trace.read_text())


def rows_of(trace: str) -> list[Row]:
    """Rows of an ns-2 trace: `+` and `d` on the second link, `r` of acknowledgements on the way back."""
    rows: list[Row] = []
    accepted: dict[str, int] = {}  # unique id -> row of its `+`
    for line in trace.splitlines():
        event, time, _, _, kind, size, *_, seq, identity = line.split()
        moment = round(float(time) * 1e9)
        if kind == "tcp" and event == "+":
            accepted[identity] = len(rows)
            rows.append((moment, "enqueue", "data", int(seq), int(size)))
        elif kind == "tcp" and event == "d":
            if identity in accepted:
                rows[accepted[identity]] = (moment, "drop", "data", int(seq), int(size))
            else:
                rows.append((moment, "drop", "data", int(seq), int(size)))
        elif kind == "ack" and event == "r":
            rows.append((moment, "receive", "ack", int(seq), int(size)))
    return rows


def shorten(rows: list[Row], end: int) -> tuple[list[Row], int]:
    """Leave out what follows 80 rows after the last loss, or 600 in all; the rows, and the time that they cover."""
    last = max((n for n, row in enumerate(rows) if row[1] == "drop"), default=100)
    keep = min(last + 80, 600)
    if len(rows) <= keep:
        return rows, end
    until = rows[keep][0] - 1
    return [row for row in rows if row[0] <= until], until


def with_retransmissions(case: Case, agent: Agent, seed: int) -> tuple[int, ...]:
    """The case's drops, and the ordinals that the retransmissions of the first of them turn out to have."""
    drops = case.drops
    for _ in range(case.again):
        arrivals = [row[3] for row in simulate(case, agent, seed, drops)[1] if row[2] == "data"]
        lost = arrivals[drops[0]]
        following = [n for n, seq in enumerate(arrivals) if seq == lost and n not in drops]
        drops = (*drops, following[0])
    return tuple(sorted(drops))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", help="this case alone")
    parser.add_argument("--vars", action="store_true", help="print ns-2's variables at every change")
    wanted = parser.parse_args()
    if shutil.which("ns") is None:
        sys.exit(INSTALL)
    OUT.mkdir(parents=True, exist_ok=True)
    total, number = 0, 0
    for agents in GROUPS:
        for case, agent in product(CASES, agents):
            number += 1
            seed = number * 747796405 % 2**31  # another tick phase for each file
            if not agent.takes(case) or (wanted.only and wanted.only != case.name):
                continue
            drops = with_retransmissions(case, agent, seed)
            name = f"{case.name}.{agent.name}"
            if wanted.vars:
                print(f"== {name}, drops {drops}")
            phase, rows = simulate(case, agent, seed, drops, show=wanted.vars)
            rows, until = shorten(rows, case.duration * 10**9)
            head = [
                "ns-2 2.35, made by benches/peers/one_flow.py",
                f'variant = "{agent.variant.lower().removeprefix("linux:")}"',
                f"limited_transmit = {str(agent.limited).lower()}",
                *(["delayed = true"] if agent.delayed else []),
                *(["waits = true"] if agent.waits else []),
                f"window_packets = {case.window}",
                f"queue_packets = {case.queue}",
                f"drops = {list(drops)}",
                f"payload_bytes = {case.payload}",
                f"first_bps = {case.first}",
                f"second_bps = {case.second}",
                f"delay_ms = {case.delay_ms}",
                f"start_ns = {case.start_ms * 10**6}",
                f"until_ns = {until}",
                f"tick_phase_ns = {phase}",
            ]
            text = "".join(f"# {line}\n" for line in head) + "time_ns,event,kind,seq,bytes\n"
            text += "".join(",".join(map(str, row)) + "\n" for row in rows)
            packed = gzip.compress(text.encode(), 9, mtime=0)
            total += len(packed)
            (OUT / f"{name}.csv.gz").write_bytes(packed)
    print(f"{len(list(OUT.glob('*.csv.gz')))} files, {total} bytes written", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
