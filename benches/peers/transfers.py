"""How long finite transfers take, their connection included: Paceline beside ns-2 2.35.

    python benches/peers/transfers.py            both, five seeds: means and 99th percentiles
    python benches/peers/transfers.py --write    run ns-2 only and rewrite tests/oracles/ns2-transfers.csv

500 transfers of exponential size begin as a Poisson process, at a load of .8 of a bottleneck that drops; both get the
same draws. tests/test_transfers_ns2.py compares with what is recorded.
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import subprocess
import sys
import tempfile

import paceline as pl
from setups import HERE, ROOT

RECORD = ROOT / "tests" / "oracles" / "ns2-transfers.csv"
SEEDS = range(1, 6)
TRANSFERS = 500
MEAN_PACKETS = 25
LOAD = 0.8
RATE_BPS = 10e6
WIRE_BITS = 1040 * 8


def draws(seed: int) -> list[tuple[float, int]]:
    """When each begins, s (whole nanoseconds), and how many packets it has."""
    chance = random.Random(seed)
    at = 0.0
    drawn = []
    for _ in range(TRANSFERS):
        at += chance.expovariate(LOAD * RATE_BPS / (MEAN_PACKETS * WIRE_BITS))
        drawn.append((round(at, 9), 1 + int(chance.expovariate(1 / (MEAN_PACKETS - 0.5)))))
    return drawn


def run_ns2(seed: int) -> list[float]:
    """Seconds that each took."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{start:.9f} {packets}\n" for start, packets in draws(seed)))
        file.flush()
        script = str(HERE / "transfers.tcl")
        done = subprocess.run(["ns", script, file.name], capture_output=True, text=True, check=True)
    took = dict(line.split() for line in done.stdout.splitlines())
    return [float(took[str(flow)]) for flow in range(TRANSFERS)]


def run_paceline(seed: int) -> pl.Result:
    """The same, all in one run."""
    tcp = {"profile": "ns2", "variant": "reno", "max_window": "1000 packets"}
    scenario = {
        "duration": "200 s",
        "seed": seed,
        "network": {
            "template": "dumbbell",
            "counts": "ns2",
            "core": {"rate": "10 Mbit/s", "delay": "18 ms", "buffer": "20 packets"},
            "access": {"hosts": TRANSFERS, "rate": "100 Mbit/s", "delay": "1 ms"},
        },
        "traffic": [
            {
                "kind": "bulk",
                "name": f"t{flow}",
                "from": f"left.{flow}",
                "to": f"right.{flow}",
                "start": f"{round(start * 1e9)} ns",
                "size": f"{packets} packets",
                "tcp": tcp,
            }
            for flow, (start, packets) in enumerate(draws(seed))
        ],
    }
    return pl.run(scenario, seed=seed)


def summary(times: list[float]) -> tuple[float, float]:
    """Mean and 99th percentile, linear between neighbours, s."""
    ordered = sorted(times)
    place = 0.99 * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return statistics.fmean(times), ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def recorded() -> dict[int, tuple[float, float]]:
    """What ns-2 did: mean and 99th percentile by seed, s."""
    with RECORD.open(newline="") as file:
        return {int(row["seed"]): (float(row["mean_s"]), float(row["p99_s"])) for row in csv.DictReader(file)}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="run ns-2 only and keep its numbers")
    if parser.parse_args().write:
        with RECORD.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["seed", "mean_s", "p99_s"])
            for seed in SEEDS:
                table.writerow([seed, *(f"{value:.6f}" for value in summary(run_ns2(seed)))])
        return 0
    for seed in SEEDS:
        flows = run_paceline(seed).flows
        mean, p99 = summary(run_ns2(seed))
        print(
            f"seed {seed}: mean ns-2 {mean:.4f} s, paceline {flows.fct_mean_s:.4f} s; "
            f"99th percentile {p99:.3f} s, {flows.fct_p99_s:.3f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
