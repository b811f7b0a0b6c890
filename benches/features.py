"""What TCP variants and probes cost on the demo's network, unpaced, beside Reno and beside no probes.

    python benches/features.py            five runs of each, 400 s simulated
    python benches/features.py --quick    one run of each

CPU time after set-up and instructions, both a packet delivered over the core. Instructions are counted by valgrind,
where it is installed, over a few simulated seconds; they do not depend on what else the machine does.
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

from runs import SCENARIOS, measure

SCENARIO = SCENARIOS / "edge-vs-host.toml"
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


def cpu(variant: str = "reno", probes: str = "{}") -> float:
    """One run: CPU ns a packet."""
    settings = {"network.core.buffer": "5 KB", "pacing": "none", "traffic.bulk.tcp.variant": variant}
    return measure(SCENARIO, {**settings, "probes": tomllib.loads(f"probes = {probes}")["probes"]}).ns_a_packet


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
        costs = [cpu(variant) for _ in range(1 if quick else 5)]
        said = ""
        if counts:
            short, long = (instructions("{}", seconds, variant) for seconds in (4, 12))
            each = (long[0] - short[0]) / (long[1] - short[1])
            reno = reno or each
            said = f"{each:.0f} ({each / reno - 1:+.1%})"
        print(f"{variant:36} {statistics.median(costs):18.0f} {min(costs):8.0f} {said:>22}", flush=True)


def cost_of_probes(quick: bool) -> None:
    """Prints a row a probe."""
    counts = shutil.which("valgrind") is not None
    print(f"\n{'probes, unpaced':36} {'cpu, ns a packet':>18} {'(least)':>8} {'instructions a packet':>22}")
    short = instructions("{}", 3) if counts else (0, 0)
    off = instructions("{}", 6) if counts else (0, 0)
    for name, probes in PROBES.items():
        costs = [cpu(probes=probes) for _ in range(1 if quick else 5)]
        said = ""
        if counts and name == "none":
            said = f"{(off[0] - short[0]) / (off[1] - short[1]):.0f}"
        elif counts:
            said = f"{(instructions(probes, 6)[0] - off[0]) / off[1]:+.1f}"
        print(f"{name:36} {statistics.median(costs):18.0f} {min(costs):8.0f} {said:>22}", flush=True)
    if not counts:
        print(
            "valgrind is not installed, so instructions are not counted: on Debian or Ubuntu, apt-get install valgrind"
        )


def main() -> None:
    """Prints a row a variant, then a row a probe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one run of each")
    quick = parser.parse_args().quick
    cost_of_variants(quick)
    cost_of_probes(quick)


if __name__ == "__main__":
    main()
