"""One, two and ten flows at a tenth of a BDP to four: Paceline beside ns-2 2.35, the same draws on both sides.

    python benches/peers/few_flows.py                 both, every variant and buffer (two minutes)
    python benches/peers/few_flows.py --write         run ns-2 only and rewrite tests/oracles/ns2-few-flows.csv

tests/test_few_flows.py compares with what is recorded. The utilisation is that of the core over [100, 300] s, so that
what slow start has lost (hundreds of packets at four BDP, which NewReno repairs one a round trip) is behind.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from typing import Any

import paceline as pl
from setups import ROOT, Setup, draws, ns2_command, parameters, scenario

RECORD = ROOT / "tests" / "oracles" / "ns2-few-flows.csv"
COLUMNS = ("variant", "flows", "bdp", "utilisation", "loss_ratio", "timeouts", "window_cuts")
RATE_BPS = 20e6
#: Of 1040 B in the round trip without a queue: 2 (20 ms + 2 * 2 ms) at 20 Mbit/s.
BDP_PACKETS = 0.048 * RATE_BPS / 8 / 1040
BUFFERS = (0.1, 0.25, 0.5, 1, 2, 4)
VARIANTS = ("Tahoe", "Reno", "Newreno", "Sack1", "Fack", "Linux:cubic", "Linux:bic")
FLOWS = (1, 2, 10)


def setup(variant: str, flows: int, bdp: float) -> Setup:
    """The network of one case. The limit counts the packet in service, as ns-2's does."""
    return Setup(
        f"few-{flows}-{bdp:g}",
        buffer=max(2, round(bdp * BDP_PACKETS)),
        unit="packets",
        flows=flows,
        edges=0,
        variant=variant,
        header=40,
        core=(20, 20),
        access_rate=1000,
        access_delay=(1, 3) if flows > 1 else (2, 2),
        max_window=100_000,
        duration=300,
        warmup=100,
        paired=True,
    )


def cases() -> list[tuple[str, int, float]]:
    """Every case: variant, flows, buffer in BDP."""
    return [(variant, flows, bdp) for variant in VARIANTS for flows in FLOWS for bdp in BUFFERS]


def run_ns2(variant: str, flows: int, bdp: float) -> dict[str, float]:
    """What ns-2 measures."""
    one = setup(variant, flows, bdp)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(parameters(draws(one, 1)))
        file.flush()
        command = [*ns2_command(one, 1), "-parameters", file.name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    run: dict[str, float] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    size = 1050 / 1040 if variant.startswith("Linux:") else 1.0  # TCP-Linux has the 10 B of timestamps besides
    return {
        "utilisation": run["throughput_bps"] * size / RATE_BPS,
        "loss_ratio": run["loss_ratio"],
        "timeouts": run["timeouts"],
        "window_cuts": run["window_cuts"],
    }


def document(variant: str, flows: int, bdp: float) -> dict[str, Any]:
    """The same network as a scenario."""
    return tomllib.loads(scenario(setup(variant, flows, bdp), 1))


def run_paceline(variant: str, flows: int, bdp: float) -> dict[str, float]:
    """What Paceline measures."""
    run = pl.run(document(variant, flows, bdp))
    core = run.links["core"]
    return {
        "utilisation": core.utilisation,
        "loss_ratio": core.loss_ratio or 0.0,
        "timeouts": run.flows.timeouts,
        "window_cuts": run.flows.window_cuts,
    }


def write_record() -> None:
    """Runs ns-2 on every case."""
    with RECORD.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for variant, flows, bdp in cases():
            run = run_ns2(variant, flows, bdp)
            numbers = [format(run[key], ".5g") for key in COLUMNS[3:]]
            writer.writerow([variant, flows, bdp, *numbers])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="run ns-2 only, and record what it measures")
    if shutil.which("ns") is None:
        sys.exit("ns-2 is not installed: on Debian or Ubuntu, `apt-get install ns2`")
    if parser.parse_args().write:
        write_record()
        return 0
    for variant, flows, bdp in cases():
        theirs, ours = run_ns2(variant, flows, bdp), run_paceline(variant, flows, bdp)
        words = [f"{theirs[key]:9.4g} {ours[key]:9.4g}" for key in COLUMNS[3:]]
        off = ours["utilisation"] / theirs["utilisation"] - 1
        print(f"{variant:12}{flows:4}{bdp:6g}  {'  '.join(words)}  {off:+.1%}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
