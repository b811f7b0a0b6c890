"""CPU time per packet delivered over the core, on the demo's 1000-flow network: the number that Paceline is about.

    python benches/engine.py            five runs of each, 400 s simulated (six minutes), and ns-2 if installed
    python benches/engine.py --quick    one run of each

The second table is what the TCP variants cost, unpaced: CPU time and instructions a packet, beside Reno's. The third is
what probes cost: CPU time, and the instructions that they add to each packet. Instructions are counted by valgrind,
where it is installed, over a few simulated seconds; they do not depend on what else the machine does.

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
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "scenarios" / "edge-vs-host.toml"
METHODS = ("none", "host", "edge 10 ms", "qlbp load = 0.1, max_delay = 10 ms")
VARIANTS = ("reno", "newreno", "tahoe", "sack1", "fack", "rfc6675", "bic", "cubic")
#: Tables of [probes]; everything that is not named is at its default, mostly the core and all flows.
PROBES = {
    "none": "{}",
    "default": '{ queue = { every = "200 ms" }, departures = { links = ["core", "edge.l.0"], from = "399.7 s" } }',
    "departures": "{ departures = {} }",
    "window of 10 flows": '{ window = { flows = "bulk.1*", every = "100 ms" } }',
    "rate_variation": "{ rate_variation = {} }",
    "rate_variation, arrival": '{ rate_variation = { at = "arrival" } }',
    "auto_covariance": '{ auto_covariance = { interval = "10 ms" } }',
    "succession": '{ succession = { by = "traffic" } }',
    "bursts": "{ bursts = {} }",
    "drop_events": "{ drop_events = {} }",
    "delay": "{ delay = {} }",
    "transfers": "{ transfers = {} }",
    "fairness": '{ fairness = { window = "1 s" } }',
    "throughput": '{ throughput = { links = "core", by = "all", every = "200 ms" } }',
}
#: One run without threads that wait, whose number of turns would depend on the clock.
ALONE = """
import json, sys
from paceline import _core
print(json.loads(_core.run(sys.argv[1], 1).summary())["engine"]["core_packets"])
"""


def measure(pacing: str, probes: str | None = None, variant: str = "reno") -> tuple[float, float, float]:
    """One run: the simulation's ns a packet, the whole process's ns a packet, peak memory in MB."""
    command = [sys.executable, "-m", "paceline", "run", str(SCENARIO), "--json", "--jobs", "1", "--seeds", "1"]
    command += ["--set", f"pacing={pacing}", "--set", "network.core.buffer=5 KB"]
    command += ["--set", f"traffic.bulk.tcp.variant={variant}"]
    command += ["--set", f"probes={probes}"] if probes else []
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


def instructions(probes: str, seconds: int, variant: str = "reno") -> tuple[int, int]:
    """Instructions of a whole process that simulates so long, and the packets over the core."""
    import paceline as pl

    scenario = pl.Scenario.load(SCENARIO)
    for path, value in {
        "duration": f"{seconds} s",
        "warmup": "1 s",
        "network.core.buffer": "5 KB",
        "traffic.bulk.start": "0 s .. 1 s",
        "traffic.bulk.tcp.variant": variant,
        "probes": tomllib.loads(f"probes = {probes}".replace("399.7 s", f"{seconds - 0.3} s"))["probes"],
        "sweep": {},
    }.items():
        scenario = scenario.set(path, value)
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", ALONE]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [*command, json.dumps(scenario.to_dict())], env=environment, capture_output=True, text=True, check=True
    )
    return int(done.stderr.split("Collected : ")[1].split()[0]), int(done.stdout)


def cost_of_variants(quick: bool) -> None:
    """Prints a row a TCP variant: the time to beat is Reno's and 15 %."""
    counts = shutil.which("valgrind") is not None
    print(f"\n{'variant, unpaced':36} {'cpu, ns a packet':>18} {'(least)':>8} {'instructions a packet':>22}")
    reno = 0.0
    for variant in VARIANTS:
        cpu = [measure("none", variant=variant)[0] for _ in range(1 if quick else 5)]
        said = ""
        if counts:
            short, long = (instructions("{}", seconds, variant) for seconds in (4, 12))
            each = (long[0] - short[0]) / (long[1] - short[1])
            reno = reno or each
            said = f"{each:.0f} ({each / reno - 1:+.1%})"
        print(f"{variant:36} {statistics.median(cpu):18.0f} {min(cpu):8.0f} {said:>22}", flush=True)


def cost_of_probes(quick: bool) -> None:
    """Prints a row a probe."""
    counts = shutil.which("valgrind") is not None
    print(f"\n{'probes, unpaced':36} {'cpu, ns a packet':>18} {'(least)':>8} {'instructions a packet':>22}")
    short = instructions("{}", 3) if counts else (0, 0)
    off = instructions("{}", 6) if counts else (0, 0)
    for name, probes in PROBES.items():
        cpu = [measure("none", probes)[0] for _ in range(1 if quick else 5)]
        said = ""
        if counts and name == "none":
            said = f"{(off[0] - short[0]) / (off[1] - short[1]):.0f}"
        elif counts:
            said = f"{(instructions(probes, 6)[0] - off[0]) / off[1]:+.1f}"
        print(f"{name:36} {statistics.median(cpu):18.0f} {min(cpu):8.0f} {said:>22}", flush=True)
    if not counts:
        print(
            "valgrind is not installed, so instructions are not counted: on Debian or Ubuntu, apt-get install valgrind"
        )


def main() -> None:
    """Prints a row a pacing method, a row a variant, a row a probe, then the peers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one run of each")
    quick = parser.parse_args().quick
    print(f"{'pacing':36} {'cpu, ns a packet':>18} {'(least)':>8} {'process':>8} {'memory, MB':>11}")
    for pacing in METHODS:
        runs = [measure(pacing) for _ in range(1 if quick else 5)]
        cpu, process, memory = (list(column) for column in zip(*runs, strict=True))
        median = statistics.median(cpu)
        print(f"{pacing:36} {median:18.0f} {min(cpu):8.0f} {statistics.median(process):8.0f} {max(memory):11.0f}")
    cost_of_variants(quick)
    cost_of_probes(quick)
    if shutil.which("ns") is None:
        print("ns-2 is not installed, so there is no ratio to it: on Debian or Ubuntu, apt-get install ns2")
        return
    sys.stdout.flush()
    subprocess.run([sys.executable, str(ROOT / "benches" / "peers" / "run.py"), "--quick"], check=False)


if __name__ == "__main__":
    main()
