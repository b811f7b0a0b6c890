"""CPU time per packet delivered over the core, on the demo's 1000-flow network: the number that Paceline is about.

    python benches/engine.py            five runs of each, 400 s simulated (two minutes), and ns-2 where it is installed
    python benches/engine.py --quick    one run of each

`cpu` is the simulation's own CPU time, `process` that of the whole command, start-up and set-up included, `memory`
its peak. All on one core; ratios hold across machines, nanoseconds do not. The network has 2,022 nodes and five hops
each way, all of them simulated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "scenarios" / "edge-vs-host.toml"
METHODS = ("none", "host", "edge 10 ms", "qlbp load = 0.1, max_delay = 10 ms")


def measure(pacing: str) -> tuple[float, float, float]:
    """One run: the simulation's ns a packet, the whole process's ns a packet, peak memory in MB."""
    command = [sys.executable, "-m", "paceline", "run", str(SCENARIO), "--json", "--jobs", "1", "--seeds", "1"]
    command += ["--set", f"pacing={pacing}", "--set", "network.core.buffer=5 KB"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    engine = json.loads(output)[0]["engine"]
    packets = engine["core_packets"]
    whole = usage.ru_utime + usage.ru_stime
    return engine["cpu_s"] / packets * 1e9, whole / packets * 1e9, usage.ru_maxrss / 1024


def main() -> None:
    """Prints a row a pacing method, then the peers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one run of each")
    quick = parser.parse_args().quick
    print(f"{'pacing':36} {'cpu, ns a packet':>18} {'(least)':>8} {'process':>8} {'memory, MB':>11}")
    for pacing in METHODS:
        runs = [measure(pacing) for _ in range(1 if quick else 5)]
        cpu, process, memory = (list(column) for column in zip(*runs, strict=True))
        median = statistics.median(cpu)
        print(f"{pacing:36} {median:18.0f} {min(cpu):8.0f} {statistics.median(process):8.0f} {max(memory):11.0f}")
    if shutil.which("ns") is None:
        print("ns-2 is not installed, so there is no ratio to it: on Debian or Ubuntu, apt-get install ns2")
        return
    sys.stdout.flush()
    subprocess.run([sys.executable, str(ROOT / "benches" / "peers" / "run.py"), "--quick"], check=False)


if __name__ == "__main__":
    main()
