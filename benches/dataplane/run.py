"""What the inline pacer costs and how exact it is, on veth, in one run: medians of interleaved repeats.

    .venv/bin/python benches/dataplane/run.py [--repeats N] [--packets N] [--json FILE] [--raw FILE]

1. Cost: frames a second on one processor, each back end with no pacing and with pacing that does not bind; by the
   processor time of the pacing thread and of the kernel's receiving for it, which leaves the two hosts' out.
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
from collections.abc import Callable
from pathlib import Path

from measure import GAP_NS, QUEUE, RATE, ROOT, SIZE, Bench, MeasurementError, Raw, Run, net

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


def build(profile: str = "release") -> tuple[str, str]:
    """The pacer and the program that sends and receives, optimised."""
    command = ["cargo", "build", "--profile", profile, "--locked", "--quiet", "-p", "paceline-dataplane", "--bins"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / profile
    os.environ["PACELINE_PROGRAMS"] = str(target)
    return str(target / "paceline-pace"), str(target / "paceline-frames")


def verdict(name: str, value: str, wanted: str, good: bool) -> bool:
    print(f"{'ok  ' if good else 'MISS'} {name}: {value} (wanted: {wanted})")
    return good


def costs(bench: Bench, raw: Raw, repeats: int) -> tuple[Run, bool]:
    cases = {
        f"{back_end} {size} B {name}": bench.cost(back_end, pacing, size)
        for size in (64, 1500)
        for name, pacing in UNBINDING.items()
        for back_end in ("af_packet", "af_xdp")  # one right after the other: their ratio is wanted
    }
    with bench.both_ends():
        results = raw.interleaved(repeats, cases)
    medians = {
        key: {name: statistics.median(run[key] for run in runs) for name, runs in results.items()}
        for key in ("chain_pps", "pacer_pps", "thread_pps")
    }

    def ratio(above: str, below: str, key: str = "pacer_pps") -> float:
        """The median over repeats: what a machine does at other times is in both."""
        return statistics.median(a[key] / b[key] for a, b in zip(results[above], results[below], strict=True))

    good = True
    print(
        "M frames a second of processor time, pacing that does not bind: pacer and its receiving; pacing thread; chain"
    )
    for name, value in medians["pacer_pps"].items():
        others = "  ".join(f"{medians[key][name] / 1e6:6.3f}" for key in ("thread_pps", "chain_pps"))
        print(f"  {name:45} {value / 1e6:6.3f}  {others}")
    for size in (64, 1500):
        for back_end in ("af_packet", "af_xdp"):
            for pacing in list(UNBINDING)[1:]:
                name = f"{back_end} {size} B"
                cost = 1 - ratio(f"{name} {pacing}", f"{name} unpaced")
                name = f"cost of pacing, {back_end}, {size} B, {pacing}"
                good &= verdict(name, f"{100 * cost:.1f} %", "at most 15 %", cost <= 0.15)
        pair = (f"af_xdp {size} B unpaced", f"af_packet {size} B unpaced")
        faster = ratio(*pair)
        good &= verdict(f"AF_XDP over AF_PACKET, {size} B", f"{faster:.3f}", "at least 1.4", faster >= 1.4)
        alone, chain = ratio(*pair, "thread_pps"), ratio(*pair, "chain_pps")
        print(f"     of the pacing thread alone {alone:.2f}, of the chain {chain:.2f}")
    return medians, good


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
