"""Ten flows of CUBIC or BIC beside ten of Reno at small buffers: Paceline beside ns-2 2.35, with the same draws.

    python benches/peers/beside_reno.py            both: goodput of either kind, means of all seeds
    python benches/peers/beside_reno.py --write    run ns-2 only and rewrite tests/oracles/ns2-beside-reno.csv

A core of 100 Mbit/s and 20 ms (or 50 Mbit/s) with room for 20 packets, access of 1 Gbit/s and 1 to 3 ms; goodput over
[50, 250] s. tests/test_beside_reno.py compares with what is recorded.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import tomllib

import paceline as pl
from setups import ROOT, Setup, draws, ns2_command, parameters, scenario

RECORD = ROOT / "tests" / "oracles" / "ns2-beside-reno.csv"
COLUMNS = ("control", "delayed_ack", "rate_mbps", "seed", "reno_mbps", "control_mbps", "timeouts", "window_cuts")
SEEDS = range(1, 16)
CASES = [(control, delayed, rate) for control in ("cubic", "bic") for delayed in (False, True) for rate in (50, 100)]


def setup(control: str, delayed: bool, rate: int) -> Setup:
    """The network of one case."""
    return Setup(
        f"beside-reno-{rate}",
        buffer=20,
        unit="packets",
        flows=20,
        edges=0,
        variant=f"Reno Linux:{control}",
        header=40,
        core=(rate, 20),
        access_rate=1000,
        access_delay=(1, 3),
        max_window=100_000,
        delayed_ack=delayed,
        duration=250,
        warmup=50,
        paired=True,
    )


def run_ns2(one: Setup, seed: int) -> tuple[float, float, int, int]:
    """Goodput of Reno's and of the other's flows, Mbit/s; timeouts; window cuts."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(parameters(draws(one, seed)))
        file.flush()
        command = [*ns2_command(one, seed), "-parameters", file.name, "-per_flow", "1"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    run = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    mbps = [packets * 1000 * 8 / 1e6 / (one.duration - one.warmup) for packets in run["acked_packets"]]
    return sum(mbps[::2]), sum(mbps[1::2]), run["timeouts"], run["window_cuts"]


def run_paceline(one: Setup, seed: int) -> tuple[float, float, int, int]:
    """The same."""
    run = pl.run(tomllib.loads(scenario(one, seed)))
    assert run.per_flow is not None
    mbps = [float(bps) / 1e6 for bps in run.per_flow["goodput_bps"]]
    return sum(mbps[::2]), sum(mbps[1::2]), run.flows.timeouts or 0, run.flows.window_cuts or 0


def recorded() -> dict[tuple[str, bool, int, int], tuple[float, float, int, int]]:
    """What ns-2 did: as :func:`run_ns2`, by control, delayed acknowledgements, rate and seed."""
    with RECORD.open(newline="") as file:
        return {
            (row["control"], row["delayed_ack"] == "True", int(row["rate_mbps"]), int(row["seed"])): (
                float(row["reno_mbps"]),
                float(row["control_mbps"]),
                int(row["timeouts"]),
                int(row["window_cuts"]),
            )
            for row in csv.DictReader(file)
        }


def write_record() -> None:
    """Runs ns-2 on every case."""
    with RECORD.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for control, delayed, rate in CASES:
            for seed in SEEDS:
                reno, other, timeouts, cuts = run_ns2(setup(control, delayed, rate), seed)
                table.writerow([control, delayed, rate, seed, f"{reno:.4f}", f"{other:.4f}", timeouts, cuts])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="run ns-2 only and keep its numbers")
    if parser.parse_args().write:
        write_record()
        return 0
    for case in CASES:
        theirs = [run_ns2(setup(*case), seed) for seed in SEEDS]
        ours = [run_paceline(setup(*case), seed) for seed in SEEDS]
        words = []
        for place in range(4):
            a, b = ([float(run[place]) for run in runs] for runs in (theirs, ours))
            words.append(f"{statistics.fmean(a):8.2f} {statistics.fmean(b):8.2f} ±{statistics.stdev(a):5.2f}")
        control, delayed, rate = case
        print(f"{control:6} {'delayed' if delayed else 'each':8}{rate:4}  {'  '.join(words)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
