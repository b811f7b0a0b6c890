"""What asking for memory ahead of its use buys (crates/sim/src/engine/fetch.rs): the same run with it and without.

    python benches/fetch.py               100,000 flows at 10 Gbit/s, five runs of each in turn
    python benches/fetch.py --repeats 2

It builds the engine's example twice and prints medians of CPU nanoseconds for each packet delivered over the core,
set-up included, and what they are in parts of each other.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from runs import ROOT

SCENARIO = """
duration = "20 s"
[network]
template = "dumbbell"
counts = "ns2"
core = { rate = "10 Gbit/s", delay = "100 ms", buffer = "500 KB" }
edge = { count = 10, rate = "10 Gbit/s", delay = "5 ms .. 15 ms" }
access = { per_edge = 10000, rate = "8 Mbit/s .. 12 Mbit/s", delay = "1 ms .. 5 ms" }
[[traffic]]
kind = "bulk"
tcp = { variant = "reno", profile = "ns2", payload = "1000 B", header = "40 B", ack = "40 B" }
start = "0 s .. 10 s"
"""


def build(name: str, *features: str) -> Path:
    """The example, in a folder of its own."""
    target = ROOT / "target" / name
    command = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "paceline-sim", "--example", "engine"]
    subprocess.run([*command, "--target-dir", str(target), *features], cwd=ROOT, check=True)
    return target / "release" / "examples" / "engine"


def nanoseconds(program: Path, scenario: str) -> float:
    """CPU time of one run for each packet."""
    before = os.times()
    done = subprocess.run([program, scenario], capture_output=True, text=True, check=True)
    after = os.times()
    packets = int(done.stdout.split()[-1])
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return used / packets * 1e9


def main() -> None:
    """Runs both in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each")
    repeats = parser.parse_args().repeats
    programs = [build("fetch"), build("no-fetch", "--features", "no-fetch")]
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(SCENARIO)
        file.flush()
        found = [[nanoseconds(program, file.name) for program in programs] for _ in range(repeats)]
    ahead, without = (statistics.median(turn[which] for turn in found) for which in (0, 1))
    print(f"100,000 flows: {ahead:.0f} ns a packet, {without:.0f} ns without asking ahead: {ahead / without:.2f} of it")


if __name__ == "__main__":
    main()
