"""Instructions that the edge pacer takes a packet, against how many packets it holds, counted by valgrind.

    python benches/pacer_cost.py

O(1), amortised: what a packet takes more, from one packet held to a hundred thousand, must stay below a factor of two,
or this ends with 1. A setting is run over two lengths, whose difference is what packets cost once the pacer holds its
mean; the pacer alone is driven (crates/core/examples/edge_pacer.rs), in a release build, so that nothing else counts.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from runs import ROOT
from tables import text_table

EXAMPLE = ROOT / "target" / "release" / "examples" / "edge_pacer"
#: A packet comes every 0.8 ms in the mean: from one to a hundred thousand within d.
DELAYS_MS = (1, 10, 100, 1_000, 10_000, 80_000)
BURSTS = (1, 100)
PACKETS = 300_000
MOST = 2.0


def instructions(packets: int, delay_ms: int, burst: int) -> tuple[int, str]:
    """Of the whole process, and what it says of its run."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    arguments = [str(packets), str(delay_ms * 1_000_000), str(burst)]
    done = subprocess.run([*valgrind, EXAMPLE, *arguments], capture_output=True, text=True, check=False)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"{' '.join(arguments)}: {done.stderr[-500:]}")
    return int(found[1].replace(",", "")), done.stdout


def main() -> None:
    if not shutil.which("valgrind"):
        sys.exit("valgrind is missing; install it to count instructions")
    cargo = ["cargo", "build", "--release", "-p", "paceline-core", "--example", "edge_pacer"]
    subprocess.run(cargo, cwd=ROOT, check=True)
    worst = 0.0
    table = []
    for burst in BURSTS:
        costs = []
        for delay in DELAYS_MS:
            (short, _), (long, told) = (instructions(n * PACKETS, delay, burst) for n in (1, 2))
            costs.append((long - short) / PACKETS)
            held, pops = told.split()[1::2]
            table.append(
                [f"bursts of {burst}" if burst > 1 else "alone", f"{delay} ms", held, pops, f"{costs[-1]:.0f}"]
            )
        worst = max(worst, max(costs) / min(costs))
    print(text_table(("arrivals", "d", "held", "pops a packet", "instructions a packet"), table))
    print(f"most over least, of one kind of arrivals: {worst:.2f}")
    if worst > MOST:
        sys.exit(1)


if __name__ == "__main__":
    main()
