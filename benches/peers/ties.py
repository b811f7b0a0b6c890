"""Ties of an arrival and a departure: Paceline's rules for them beside ns-2 2.35, the same draws on both sides.

    python benches/peers/ties.py few           the table of docs/fidelity.md: few flows, each rule (three minutes)
    python benches/peers/ties.py grid          100 and 1000 flows, tiny buffers, by ns-2's rule and the default
    python benches/peers/ties.py grid --write  run ns-2 on the grid, rewrite tests/oracles/ns2-ties.csv (half an hour)
    python benches/peers/ties.py odd           one and two flows over links on which a packet takes no whole nanoseconds
    python benches/peers/ties.py odd --write   run ns-2 on these, rewrite tests/oracles/ns2-odd-rates.csv

The grid's targets are those of run.py, on means over five seeds; exit code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from run import ROOT, TARGETS, run_ns2, run_paceline
from setups import DEMO, FEW, Setup

RECORD = ROOT / "tests" / "oracles" / "ns2-ties.csv"
ODD_RECORD = ROOT / "tests" / "oracles" / "ns2-odd-rates.csv"
PROGRAM = Path(sys.executable).with_name("paceline")
RULES = ("ns2", "random", "departure")
#: ns-2's `overhead_`: how much there is of it does not matter as long as a nanosecond is little.
OVERHEAD_S = 1e-6
ACCESS = ((8, 12), 93.1, 97.3, 100, 107.1)
BUFFERS = ((2, "packets"), (3, "packets"), (4, "packets"), (5, "packets"), (2, "bytes"), (3, "bytes"))
SEEDS = range(1, 6)


def grid() -> list[Setup]:
    """The demo's network with 100 and 1000 flows, at buffers of few packets and access rates about the core's."""
    return [
        replace(
            DEMO,
            name=f"{flows} flows, {buffer} {'KB' if unit == 'bytes' else 'packets'}, access {access}",
            flows=flows,
            buffer=buffer,
            unit=unit,
            access_rate=access,
            duration=160,
            warmup=60,
            paired=True,
        )
        for flows in (100, 1000)
        for buffer, unit in BUFFERS
        for access in ACCESS
    ]


def odd() -> list[Setup]:
    """Few flows whose packets keep the time of earlier departures, which is no whole number of nanoseconds."""
    return [
        Setup(
            f"{flows} {variant}, {buffer}, {rate:g} Mbit/s",
            buffer=buffer,
            unit="packets",
            flows=flows,
            edges=0,
            variant=variant,
            core=(rate, delay),
            access_rate=max(100, 3.1 * rate),
            access_delay=(0.5, 0.5),
            max_window=20,
            min_rto=1.0,
            start=(0, 2),
            duration=60,
            warmup=10,
            paired=True,
        )
        for variant in ("Reno", "Newreno", "Sack1")
        for rate, delay in (
            (1.544, 20),
            (2.048, 10),
            (7, 10),
            (13.7, 5),
            (34.368, 2),
            (44.736, 1),
            (45, 1),
            (155.52, 0.5),
        )
        for flows, buffer in ((1, 2), (2, 3))
    ]


def each(jobs: Iterable[Any], run: Any) -> list[Any]:
    """Two at a time: each is a process."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda job: run(*job), jobs))


def mean(runs: list[dict[str, float]], key: str) -> float:
    """Over seeds."""
    return statistics.fmean(run[key] for run in runs)


def few() -> None:
    """Goodput of all flows with its standard error, and loss."""
    print('| flows, limit, access | ns-2 | `ties = "ns2"` | ns-2, `overhead_` 1 us | `"random"` | `"departure"` |')
    print("|---|---|---|---|---|---|")
    for setup in FEW:
        seeds = range(1, setup.seeds + 1)
        peers = [each([(one, seed) for seed in seeds], run_ns2) for one in (setup, replace(setup, overhead=OVERHEAD_S))]
        ours = [each([(setup, seed, str(PROGRAM), rule) for seed in seeds], run_paceline) for rule in RULES]
        cells = []
        for runs in (peers[0], ours[0], peers[1], *ours[1:]):
            goodputs = [run["goodput_mean_bps"] * setup.flows / 1e6 for run in runs]
            error = statistics.stdev(goodputs) / len(goodputs) ** 0.5
            loss = 100 * mean(runs, "loss_ratio")
            cells.append(f"{statistics.fmean(goodputs):.3g} ± {error:.2f}, {loss:.2f} %")
        name = f"{setup.flows} {setup.variant}, {setup.buffer}, {setup.access_rate}"
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def write_odd() -> None:
    """ns-2's numbers over these links."""
    with ODD_RECORD.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["setup", *TARGETS])
        for setup, run in zip(odd(), each([(setup, 1) for setup in odd()], run_ns2), strict=True):
            table.writerow([setup.name, *(f"{run[key]:.8g}" for key in TARGETS)])


def compare_odd() -> dict[str, tuple[float, float]]:
    """By set-up the throughput here, of ns-2's as recorded, and the loss, of it less ns-2's."""
    with ODD_RECORD.open(newline="") as file:
        theirs = {row["setup"]: row for row in csv.DictReader(file)}
    ours = each([(setup, 1, str(PROGRAM), "ns2") for setup in odd()], run_paceline)
    return {
        setup.name: (
            run["throughput_bps"] / float(theirs[setup.name]["throughput_bps"]),
            run["loss_ratio"] - float(theirs[setup.name]["loss_ratio"]),
        )
        for setup, run in zip(odd(), ours, strict=True)
    }


def write() -> None:
    """ns-2's numbers on the grid."""
    with RECORD.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["setup", "seed", *TARGETS])
        for setup in grid():
            runs = each([(setup, seed) for seed in SEEDS], run_ns2)
            for seed, run in zip(SEEDS, runs, strict=True):
                table.writerow([setup.name, seed, *(f"{run[key]:.8g}" for key in TARGETS)])
            print(setup.name, file=sys.stderr, flush=True)


def recorded() -> dict[str, list[dict[str, float]]]:
    """The same, as committed."""
    runs: dict[str, list[dict[str, float]]] = {}
    with RECORD.open(newline="") as file:
        for row in csv.DictReader(file):
            runs.setdefault(row["setup"], []).append({key: float(row[key]) for key in TARGETS})
    return runs


def compare(rules: list[str]) -> bool:
    """Relative differences of means over seeds, in per cent; whether all are within their targets by the first rule."""
    met = True
    print("| set-up | rule | " + " | ".join(key.removesuffix("_bps") for key in TARGETS) + " |")
    print("|---|---|" + "---|" * len(TARGETS))
    theirs = recorded()
    for setup in grid():
        for rule in rules:
            ours = each([(setup, seed, str(PROGRAM), rule) for seed in SEEDS], run_paceline)
            cells = []
            for key, target in TARGETS.items():
                off = mean(ours, key) / mean(theirs[setup.name], key) - 1
                is_missed = abs(off) > target
                met &= not (is_missed and rule == rules[0])
                cells.append(f"{off:+.2%}{' missed' if is_missed else ''}")
            print(f"| {setup.name} | {rule} | " + " | ".join(cells) + " |", flush=True)
    return met


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["few", "grid", "odd"])
    parser.add_argument("--write", action="store_true", help="run ns-2 and keep its numbers")
    parser.add_argument("--rule", action="append", help="by this rule (repeatable; default ns2 and random)")
    wanted = parser.parse_args()
    if wanted.what == "few":
        few()
        return 0
    if wanted.write:
        (write_odd if wanted.what == "odd" else write)()
        return 0
    if wanted.what == "odd":
        for name, (throughput, loss) in compare_odd().items():
            print(f"{name:30} throughput {throughput:.4f} of ns-2's, loss {100 * loss:+.3f} %")
        return 0
    return 0 if compare(wanted.rule or ["ns2", "random"]) else 1


if __name__ == "__main__":
    sys.exit(main())
