"""What the inline pacer costs and how exact it is, on veth, in one run: medians of interleaved repeats.

    .venv/bin/python benches/dataplane.py [--repeats N] [--packets N] [--json FILE] [--raw FILE]

1. Cost: frames a second on one processor, each back end with no pacing and with pacing that does not bind.
2. Precision at 100 Mbit/s: |gap at the receiver - ideal gap| and mean rate, beside the kernel's tbf and htb on the
   same path.
3. Order and loss over ten million frames: each is received once and in order, or counted as dropped by cause.

Needs root and an otherwise idle machine: another program's load shows in the medians. For precision and loss it uses
two processors if there are two: one sends and receives the test's frames, the other paces.

Every measurement is a line of the raw file as soon as it is there. One that fails is told, and done again.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import wire as net  # noqa: E402

Run = dict[str, Any]

RATE = 100_000_000
SIZE = 1500
GAP_NS = SIZE * 8 * 1_000_000_000 // RATE
#: Packets before the shaper: so many that a sender that is away for a while does not leave it empty.
QUEUE = 1000
UNBOUND = ["--method", "token-bucket", "--rate", "100Gbit/s", "--burst", "10MB"]
EDGE = ["--method", "edge", "--delay", "0ms"]
QLBP = [
    "--method",
    "qlbp",
    "--line-rate",
    "100Gbit/s",
    "--mu-min",
    "100Gbit/s",
    "--mu-max",
    "100Gbit/s",
    "--q-max",
    "1MB",
]
UNBINDING = {"unpaced": ["--method", "none"], "token-bucket": UNBOUND, "qlbp": QLBP, "edge": EDGE}
LAST = max(os.sched_getaffinity(0))
FIRST = min(os.sched_getaffinity(0))


def build() -> tuple[str, str]:
    """The pacer and the program that sends and receives, optimised."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "paceline-dataplane", "--bins"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    os.environ["PACELINE_PROGRAMS"] = str(target)
    return str(target / "paceline-pace"), str(target / "paceline-frames")


class MeasurementError(Exception):
    """A measurement that says nothing, and why."""


def ask(command: list[str]) -> Run:
    """What a program says as JSON."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MeasurementError(f"{' '.join(command[-8:])}: {done.stderr.strip()}")
    answer: Run = json.loads(done.stdout)
    return answer


class Bench:
    def __init__(self, wire: net.Wire, frames: str) -> None:
        self.wire = wire
        self.frames = frames

    def on(self, namespace: str, processor: int, *command: str, priority: int = 10) -> list[str]:
        """Before what is not real-time, or another program's load would be measured."""
        rank = ["taskset", "-c", str(processor), "chrt", "-f", str(priority)]
        return ["ip", "netns", "exec", namespace, *rank, *command]

    @contextmanager
    def pacer(self, arguments: list[str], summary: Run) -> Iterator[None]:
        command = [*net.program(), "--in", "in0", "--out", "out0", *arguments, "--json"]
        process = subprocess.Popen(
            self.on(self.wire.box, LAST, *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        pacer = net.Pacer(process)
        try:
            pacer.wait_until_ready()
            yield
            summary.update(pacer.stop())
        finally:
            pacer.end()

    @contextmanager
    def kernel(self, *qdisc: str) -> Iterator[None]:
        """The same path by the kernel alone: redirected at the way in, shaped at the way out."""
        box = self.wire.box
        redirect = "action mirred egress redirect dev out0"
        commands = [
            ["tc", "-n", box, "qdisc", "add", "dev", "in0", "ingress"],
            ["tc", "-n", box, *f"filter add dev in0 parent ffff: protocol all u32 match u32 0 0 {redirect}".split()],
            *(["tc", "-n", box, *line.split()] for line in qdisc),
        ]
        try:
            for command in commands:
                subprocess.run(command, check=True, capture_output=True)
            yield
        finally:
            for device, parent in (("in0", "ingress"), ("out0", "root")):
                subprocess.run(
                    ["tc", "-n", box, "qdisc", "del", "dev", device, parent], capture_output=True, check=False
                )

    def stream(
        self, size: int, *, seconds: int = 0, count: int = 0, pps: int = 0, ahead: int = 0, gap_ns: int = 0
    ) -> tuple[Run, Run]:
        """Sends, and says what the sender and the receiver have seen."""
        gaps = ["--gap-ns", str(gap_ns)] if gap_ns else []
        receiver = subprocess.Popen(
            self.on(self.wire.right, FIRST, self.frames, "receive", "eth0", *gaps, priority=15),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert receiver.stderr
        receiver.stderr.readline()
        how = ["--size", str(size)]
        for flag, value in (("--seconds", seconds), ("--count", count), ("--pps", pps), ("--ahead", ahead)):
            how += [flag, str(value)] if value else []
        try:
            sent = ask(self.on(self.wire.left, FIRST, self.frames, "send", "eth0", *how))
            out, problem = receiver.communicate(timeout=30)
        finally:
            if receiver.poll() is None:
                receiver.kill()
                receiver.communicate()
        if receiver.returncode:
            raise MeasurementError(f"the receiver: {problem.strip()}")
        return sent, json.loads(out)

    @contextmanager
    def both_ends(self) -> Iterator[None]:
        """The right host's interface is with the left host, as eth1: one program can send and see what comes out."""
        left, right = self.wire.left, self.wire.right
        self.wire.ip(right, "link", "set", "dev", "eth0", "netns", left, "name", "eth1")
        self.wire.ip(left, "link", "set", "dev", "eth1", "up")
        try:
            yield
        finally:
            self.wire.ip(left, "link", "set", "dev", "eth1", "netns", right, "name", "eth0")
            self.wire.ip(right, "link", "set", "dev", "eth0", "up")

    def cost(self, back_end: str, pacing: list[str], size: int) -> Callable[[], Run]:
        """Frames a second through a chain of sender, pacer and receiver, all on one processor; and frames a second of
        the processor time that the pacing thread took, which leaves the sender's share out."""

        def measure() -> Run:
            summary: Run = {}
            with self.pacer(["--back-end", back_end, *pacing], summary):
                how = ["chain", "eth0", "eth1", "--size", str(size), "--seconds", "2"]
                # before the pacer, so that it hands over whole batches
                chain = ask(self.on(self.wire.left, LAST, self.frames, *how, priority=30))
            if chain["lost_batches"]:
                raise MeasurementError(f"batches were lost: {chain}")
            forward = summary["forward"]
            return {"chain_pps": chain["pps"], "thread_pps": forward["sent"]["packets"] / forward["cpu_s"]}

        return measure

    def precision(self, arguments: list[str] | None, *qdisc: str) -> Callable[[], Run]:
        pps = int(1.2 * RATE / 8 / SIZE)

        def measure() -> Run:
            summary: Run = {}
            with self.pacer(arguments, summary) if arguments else self.kernel(*qdisc):
                sent, seen = self.stream(SIZE, seconds=3, pps=pps, ahead=QUEUE * 4 // 5, gap_ns=GAP_NS)
            if sent["longest_pause_s"] > QUEUE / 2 * GAP_NS / 1e9:
                raise MeasurementError(
                    f"the sender was away for {sent['longest_pause_s']:.3f} s, and the queue may have been empty"
                )
            return seen | summary.get("forward", {})

        return measure

    def loss(self, back_end: str, count: int) -> Callable[[], Run]:
        pacing = ["--back-end", back_end, "--method", "edge", "--delay", "2ms", "--line-rate", "10Gbit/s"]

        def measure() -> Run:
            summary: Run = {}
            with self.pacer(pacing, summary):
                sent, seen = self.stream(64, count=count, pps=150_000)
            return {"sent": sent, "seen": seen, "forward": summary["forward"]}

        return measure


class Raw:
    """Every measurement, written down at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("w")

    def note(self, case: str, turn: int, result: Run) -> None:
        line = {"case": case, "turn": turn, "load": os.getloadavg()[0], "steal_s": steal_s(), "result": result}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def measure(self, case: str, turn: int, measure: Callable[[], Run]) -> Run:
        """A measurement; one that fails is told and done again, twice at most."""
        for attempt in range(3):
            try:
                result = measure()
            except (MeasurementError, AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
                print(f"\r{case}, repeat {turn + 1}: {error}", file=sys.stderr)
                self.note(case, turn, {"failed": str(error)})
                if attempt == 2:
                    raise MeasurementError(f"{case}: three times in a row: {error}") from error
            else:
                self.note(case, turn, result)
                return result
        raise AssertionError

    def interleaved(self, repeats: int, cases: dict[str, Callable[[], Run]]) -> dict[str, list[Run]]:
        """Every case once, then again: what changes on the machine changes for all."""
        results: dict[str, list[Run]] = {name: [] for name in cases}
        for turn in range(repeats):
            for name, measure in cases.items():
                print(f"\r{turn + 1}/{repeats} {name:40}", end="", file=sys.stderr, flush=True)
                results[name].append(self.measure(name, turn, measure))
        print(f"\r{'':60}\r", end="", file=sys.stderr)
        return results


def steal_s() -> float:
    """Processor time that the hypervisor has taken so far, seconds."""
    return int(Path("/proc/stat").read_text().split(None, 10)[8]) / os.sysconf("SC_CLK_TCK")


def verdict(name: str, value: str, wanted: str, good: bool) -> bool:
    print(f"{'ok  ' if good else 'MISS'} {name}: {value} (wanted: {wanted})")
    return good


def costs(bench: Bench, raw: Raw, repeats: int) -> tuple[Run, bool]:
    cases = {
        f"{back_end} {size} B {name}": bench.cost(back_end, pacing, size)
        for size in (64, 1500)
        for back_end in ("af_packet", "af_xdp")
        for name, pacing in UNBINDING.items()
    }
    with bench.both_ends():
        results = raw.interleaved(repeats, cases)
    median = {name: statistics.median(run["chain_pps"] for run in runs) for name, runs in results.items()}
    thread = {name: statistics.median(run["thread_pps"] for run in runs) for name, runs in results.items()}
    good = True
    print(
        "frames a second, pacing that does not bind: the chain on one processor; by processor time of the pacing thread"
    )
    for name, value in median.items():
        print(f"  {name:45} {value / 1e6:6.3f} M  {thread[name] / 1e6:6.3f} M")
    for size in (64, 1500):
        for back_end in ("af_packet", "af_xdp"):
            for pacing in list(UNBINDING)[1:]:
                name = f"{back_end} {size} B"
                cost = 1 - thread[f"{name} {pacing}"] / thread[f"{name} unpaced"]
                name = f"cost of pacing, {back_end}, {size} B, {pacing}"
                good &= verdict(name, f"{100 * cost:.1f} %", "at most 15 %", cost <= 0.15)
        for name, of in (("the pacing thread", thread), ("the chain", median)):
            ratio = of[f"af_xdp {size} B unpaced"] / of[f"af_packet {size} B unpaced"]
            if of is thread:
                good &= verdict(f"AF_XDP over AF_PACKET, {size} B", f"{ratio:.2f}", "at least 1.4", ratio >= 1.4)
            else:
                print(f"     AF_XDP over AF_PACKET, {size} B, {name}, with its sender: {ratio:.2f}")
    return {"chain": median, "thread": thread}, good


def precisions(bench: Bench, raw: Raw, repeats: int) -> tuple[Run, bool]:
    rate, burst = ["--method", "token-bucket", "--rate", str(RATE) + "bit/s"], ["--burst", f"{SIZE}B"]
    queue = ["--buffer", f"{QUEUE} packets"]
    tbf = f"qdisc add dev out0 root tbf rate {RATE}bit limit {QUEUE * SIZE} burst"
    cases: dict[str, Callable[[], Run]] = {
        "af_packet": bench.precision([*rate, *burst, *queue]),
        "af_xdp": bench.precision([*rate, *burst, *queue, "--back-end", "af_xdp"]),
        "tbf, 1600 B": bench.precision(None, f"{tbf} 1600"),
        "tbf, 10 packets": bench.precision(None, f"{tbf} {10 * SIZE}"),
        "htb": bench.precision(
            None,
            "qdisc add dev out0 root handle 1: htb default 1",
            f"class add dev out0 parent 1: classid 1:1 htb rate {RATE}bit ceil {RATE}bit burst {SIZE} cburst {SIZE}",
            f"qdisc add dev out0 parent 1:1 pfifo limit {QUEUE}",
        ),
    }
    results = raw.interleaved(repeats, cases)

    def median(name: str, key: str) -> float:
        return statistics.median(run[key] for run in results[name])

    print(f"{RATE // 10**6} Mbit/s of {SIZE} B frames: |gap - {GAP_NS / 1e3:.0f} us| at the receiver, and mean rate")
    for name in cases:
        p50, p99, mean = (median(name, key) for key in ("gap_error_p50_us", "gap_error_p99_us", "rate_bps"))
        print(f"  {name:20} p50 {p50:7.2f} us  p99 {p99:7.2f} us  rate {100 * (mean / RATE - 1):+.3f} %")
    good = True
    for name in ("af_packet", "af_xdp"):
        for quantile, share in (("p50", 0.5), ("p99", 1.0)):
            key = f"gap_error_{quantile}_us"
            best = min(median(other, key) for other in ("tbf, 10 packets", "tbf, 1600 B", "htb"))
            value = median(name, key)
            said, wanted = f"{value:.2f} us", f"at most {share:g} of the kernel's best, {best:.2f} us"
            good &= verdict(f"{name}, gap error {quantile}", said, wanted, value <= share * best)
        off = abs(median(name, "rate_bps") / RATE - 1)
        good &= verdict(f"{name}, mean rate", f"{100 * off:.3f} % off", "at most 0.1 %", off <= 0.001)
        spent = [(1 - run["rate_bps"] / RATE, run["forgiven_s"] / run["seconds"]) for run in results[name]]
        unexplained = statistics.median(abs(short - away) for short, away in spent)
        said = ", ".join(f"{100 * away:.3f}" for _, away in spent)
        print(f"     {name}: the thread was away for longer than it makes up for, % of the time: {said}")
        good &= verdict(
            f"{name}, mean rate but for that", f"{100 * unexplained:.3f} % off", "at most 0.1 %", unexplained <= 0.001
        )
        missed = sum(run["unexplained_misses"] for run in results[name])
        good &= verdict(f"{name}, deadlines missed other than by lateness", str(missed), "0", missed == 0)
    return {
        name: {key: median(name, key) for key in ("gap_error_p50_us", "gap_error_p99_us", "rate_bps")} for name in cases
    }, good


def ten_million(bench: Bench, raw: Raw, count: int) -> tuple[Run, bool]:
    good = True
    results: Run = {}
    for back_end in ("af_packet", "af_xdp"):
        run = raw.measure(f"{back_end} loss", 0, bench.loss(back_end, count))
        sent, seen, forward = run["sent"], run["seen"], run["forward"]
        explained = sum(forward["dropped"].values()) + seen["overflowed"]
        lost = sent["sent"] - seen["received"]
        name = f"{back_end}, {sent['sent'] / 1e6:g} M frames"
        share = seen["received"] / sent["sent"]
        good &= verdict(f"{name}, seen by the receiver", f"{100 * share:.3f} %", "at least 99 %", share >= 0.99)
        good &= verdict(
            f"{name}, reordered", f"{seen['reordered'] + forward['reordered_packets']}", "0", seen["reordered"] == 0
        )
        said = (
            f"{lost} lost, {explained} of them counted by cause ({forward['dropped']}, receiver {seen['overflowed']})"
        )
        good &= verdict(f"{name}, unexplained losses", said, "0 unexplained", lost == explained)
        misses = forward["unexplained_misses"]
        good &= verdict(f"{name}, deadlines missed other than by lateness", str(misses), "0", misses == 0)
        results[back_end] = run
    return results, good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--packets", type=int, default=10_000_000)
    parser.add_argument("--only", choices=["cost", "precision", "loss"], action="append")
    parser.add_argument("--json", type=Path, help="medians")
    parser.add_argument("--raw", type=Path, default=ROOT / "target" / "bench-dataplane.jsonl", help="every measurement")
    arguments = parser.parse_args()
    reason = net.why_not()
    if reason is not None:
        print(f"nothing measured: {reason}", file=sys.stderr)
        return 0
    _, frames = build()
    raw = Raw(arguments.raw)
    parts: dict[str, Callable[[Bench], tuple[Run, bool]]] = {
        "cost": lambda bench: costs(bench, raw, arguments.repeats),
        "precision": lambda bench: precisions(bench, raw, arguments.repeats),
        "loss": lambda bench: ten_million(bench, raw, arguments.packets),
    }
    results: Run = {}
    good = True
    for name, part in parts.items():
        if name not in (arguments.only or parts):
            continue
        try:
            with net.wire() as wire:
                results[name], passed = part(Bench(wire, frames))
        except MeasurementError as error:  # the other parts can still be had
            print(f"MISS {name}: not measured: {error}")
            passed = False
        good &= passed
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"every measurement: {arguments.raw}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
