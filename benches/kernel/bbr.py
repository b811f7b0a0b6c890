"""BBR on this machine's kernel beside the simulator's, over drawn scenarios: `make bench-kernel-bbr`, as root.

    python benches/kernel/bbr.py                 the rest of the scenarios that are not recorded yet (22 s each)
    python benches/kernel/bbr.py --seeds 3       so many runs of each, the medians of which count
    python benches/kernel/bbr.py --show          what is recorded, beside the simulator's

Each has one flow or a few over one bottleneck, 10 to 200 Mbit/s, 10 to 100 ms, a buffer of 0.2 to 4 BDP. A valid run is
a row of tests/oracles/kernel-bbr.csv, and tests/test_kernel_bbr.py compares with it.
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import paceline as pl

ROOT = Path(__file__).parent.parent.parent
RECORD = ROOT / "tests" / "oracles" / "kernel-bbr.csv"
MEASURES = ("utilisation", "rtt_ms", "retransmits")
#: Scenarios, and seeds of the simulator's medians.
CASES, SEEDS = 50, 9
#: On the wire, bytes.
PACKET = 1500


class Case(NamedTuple):
    """A drawn scenario: flows, Mbit/s, the round trip without a queue in ms, BDP of buffer."""

    flows: int
    rate: int
    rtt: int
    bdp: float


def cases() -> list[Case]:
    """Fifty, the same each time."""
    draws = random.Random(33)
    return [
        Case(
            draws.choice((1, 1, 1, 2, 4)),
            round(10 * 20 ** draws.random()),
            round(10 * 10 ** draws.random()),
            round(0.2 * 20 ** draws.random(), 2),
        )
        for _ in range(CASES)
    ]


def scenario(case: Case) -> dict[str, Any]:
    """Its file."""
    packets = case.rate * 1e6 * case.rtt / 1e3 / 8 / PACKET
    return {
        "duration": "20 s",
        "warmup": "4 s",
        "network": {
            "template": "path",
            "links": [
                {"name": "access", "rate": "1 Gbit/s", "delay": "1 ms"},
                {
                    "name": "core",
                    "rate": f"{case.rate} Mbit/s",
                    "delay": f"{case.rtt * 1000 // 2 - 1000} us",
                    "buffer": f"{max(1, round(case.bdp * packets))} packets",
                },
            ],
        },
        "traffic": [
            {
                "kind": "bulk",
                "count": case.flows,
                "start": "0 s" if case.flows == 1 else "0 s .. 1 s",
                "tcp": {"profile": "linux", "variant": "bbr"},
            }
        ],
        "probes": {"queue": {"every": "10 ms"}},
    }


def measure(case: Case, run: pl.Result) -> dict[str, float]:
    """Utilisation of the link, the round trip with the mean queue in ms, retransmissions over packets sent."""
    core = run.links["core"]
    assert core.queue_mean_bytes is not None
    assert run.per_flow is not None
    sent, again = (sum(run.per_flow[key]) for key in ("sent_packets", "retransmits"))
    return {
        "utilisation": core.utilisation or 0.0,
        "rtt_ms": case.rtt + core.queue_mean_bytes * 8 / (case.rate * 1e3),
        "retransmits": again / sent,
    }


def simulate(case: Case, seeds: int = SEEDS) -> list[dict[str, float]]:
    """A run of each seed."""
    return [measure(case, pl.run(scenario(case), seed)) for seed in range(1, seeds + 1)]


def recorded() -> dict[Case, list[dict[str, float]]]:
    """The kernel's runs."""
    runs: dict[Case, list[dict[str, float]]] = {}
    if RECORD.exists():
        with RECORD.open(newline="") as file:
            for row in csv.DictReader(file):
                case = Case(int(row["flows"]), int(row["rate"]), int(row["rtt"]), float(row["bdp"]))
                runs.setdefault(case, []).append({key: float(row[key]) for key in MEASURES})
    return runs


def median(runs: Iterable[dict[str, float]]) -> dict[str, float]:
    """Measure by measure."""
    runs = list(runs)
    return {key: statistics.median(run[key] for run in runs) for key in MEASURES}


def on_kernel(case: Case, seed: int) -> dict[str, float] | None:
    """A run of 20 s; nothing where it does not count."""
    from paceline.emulate.kernel_sweep import emulate

    run = emulate(pl.Scenario(scenario(case)).set("seed", seed))[0]
    return measure(case, run) if run.engine.valid else None


def record(seeds: int, tries: int) -> None:
    """Runs what is missing."""
    known = recorded()
    fresh = not RECORD.exists()
    with RECORD.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow([*Case._fields, *MEASURES])
        for case in cases():
            for seed in range(len(known.get(case, [])) + 1, seeds + 1):
                valid = (run for run in (on_kernel(case, seed) for _ in range(tries)) if run is not None)
                run = next(valid, None)
                if run is None:
                    print(*case, "no valid run", flush=True)
                    continue
                writer.writerow([*case, *(format(run[key], ".5g") for key in MEASURES)])
                file.flush()
                print(*case, *(f"{run[key]:.4g}" for key in MEASURES), flush=True)


def show() -> None:
    """A row a scenario: kernel, simulator, and how far apart."""
    near = dict.fromkeys(MEASURES, 0)
    known = recorded()
    print("flows Mbit/s  ms  BDP   utilisation          round trip, ms       retransmissions, %")
    for case, runs in known.items():
        theirs, ours = median(runs), median(simulate(case))
        off = {key: ours[key] / theirs[key] - 1 for key in ("utilisation", "rtt_ms")}
        apart = ours["retransmits"] - theirs["retransmits"]
        near["utilisation"] += abs(off["utilisation"]) <= 0.03
        near["rtt_ms"] += abs(off["rtt_ms"]) <= 0.03
        near["retransmits"] += abs(apart) <= max(0.03 * theirs["retransmits"], 0.001)
        print(
            f"{case.flows:5}{case.rate:7}{case.rtt:4}{case.bdp:5.2f}"
            f"   {theirs['utilisation']:.3f} {ours['utilisation']:.3f} {off['utilisation']:+6.1%}"
            f"   {theirs['rtt_ms']:6.2f} {ours['rtt_ms']:6.2f} {off['rtt_ms']:+6.1%}"
            f"   {theirs['retransmits']:.3%} {ours['retransmits']:.3%}",
            flush=True,
        )
    print("within 3 %:", ", ".join(f"{key} {count}" for key, count in near.items()), "of", len(known))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1, help="runs of each scenario on the kernel")
    parser.add_argument("--tries", type=int, default=2, help="how often a run that does not count is made again")
    parser.add_argument("--show", action="store_true", help="compare what is recorded, and run nothing on the kernel")
    chosen = parser.parse_args()
    if not chosen.show:
        record(chosen.seeds, chosen.tries)
    show()
    return 0


if __name__ == "__main__":
    sys.exit(main())
