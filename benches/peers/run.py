"""Paceline beside ns-2 2.35, on the same networks: accuracy, and CPU time per packet delivered.

    python benches/peers/run.py                      every set-up, full length (about 40 minutes, most of it ns-2's)
    python benches/peers/run.py --quick              the demo's network, shortened (a minute)
    python benches/peers/run.py --only demo-5KB      one set-up; --list names them
    python benches/peers/run.py --recorded           compare with the committed ns-2 numbers instead of running ns-2
    python benches/peers/run.py --peer ns2 --write   run ns-2 only and rewrite tests/oracles/ns2.toml

The set-ups are in setups.py. ns-2 is Debian's package `ns2`. Exit code 1 if a set-up misses a target.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from setups import DEMO, FEW, ROOT, SETUPS, Setup, draws, ns2_command, parameters, scenario

RECORD = ROOT / "tests" / "oracles" / "ns2.toml"
INSTALL = "ns-2 is not installed: on Debian or Ubuntu, `apt-get install ns2`"

# What must agree, and how closely (relative).
TARGETS = {"throughput_bps": 0.01, "goodput_mean_bps": 0.01, "loss_ratio": 0.03, "timeouts_per_cut": 0.05}
LABELS = {
    "throughput_bps": ("Mbit/s", 1e-6),
    "goodput_mean_bps": ("kbit/s a flow", 1e-3),
    "loss_ratio": ("loss %", 100.0),
    "timeouts_per_cut": ("timeouts/cut", 1.0),
}


def run_ns2(setup: Setup, seed: int) -> dict[str, float]:
    """Run ns-2; its process alone is timed, set-up of the topology apart."""
    command = ns2_command(setup, seed)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        if setup.paired:
            file.write(parameters(draws(setup, seed)))
            file.flush()
            command += ["-parameters", file.name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"ns-2 failed on {setup.name}: {done.stderr.strip().splitlines()[-1:]}")
    run: dict[str, float] = json.loads(done.stdout)
    return run


def run_paceline(setup: Setup, seed: int, program: str, ties: str = "ns2") -> dict[str, float]:
    """Run Paceline, with that rule for ties, and put its results under the names of the ns-2 script."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
        file.write(scenario(setup, seed))
    try:
        done = subprocess.run(
            [program, "run", file.name, "--json", "--set", f"network.ties={ties}"],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        Path(file.name).unlink()
    if done.returncode != 0:
        sys.exit(f"paceline failed on {setup.name}: {done.stderr.strip()}")
    [run] = json.loads(done.stdout)
    core, flows, engine = run["links"]["core"], run["flows"], run["engine"]
    return {
        "throughput_bps": core["throughput_bps"],
        "goodput_mean_bps": flows["goodput_mean_bps"],
        "loss_ratio": core["loss_ratio"],
        "window_cuts": flows["window_cuts"],
        "timeouts": flows["timeouts"],
        "retransmits": flows["retransmits"],
        "timeouts_per_cut": flows["timeouts"] / max(1, flows["window_cuts"]),
        "core_packets": engine["core_packets"],
        "cpu_s": engine["cpu_s"],
    }


def mean(runs: list[dict[str, float]]) -> dict[str, float]:
    """The mean over seeds of every quantity."""
    return {key: sum(run[key] for run in runs) / len(runs) for key in runs[0]}


def recorded(setup: Setup) -> list[dict[str, Any]]:
    """The committed ns-2 runs of a set-up."""
    with RECORD.open("rb") as file:
        runs = tomllib.load(file)["run"]
    return [run for run in runs if run["name"] == setup.name]


def write_record(results: dict[str, list[dict[str, float]]]) -> None:
    """Rewrite the committed ns-2 numbers of the set-ups just run; the others stay."""
    kept: dict[tuple[str, int], dict[str, Any]] = {}
    if RECORD.exists():
        with RECORD.open("rb") as file:
            kept = {(run["name"], run["seed"]): run for run in tomllib.load(file)["run"]}
    for name, runs in results.items():
        for run in runs:
            kept[(name, int(run["seed"]))] = {"name": name, **run}
    order = {setup.name: position for position, setup in enumerate(SETUPS)}
    lines = [
        "# What ns-2 2.35 (Debian package ns2) measures on the set-ups of benches/peers/run.py.",
        "# Made by: python benches/peers/run.py --peer ns2 --write   (one [[run]] a set-up and seed; do not edit)",
        "# loss_ratio, throughput and goodput cover [warmup, duration]; core_packets the whole run;",
        "# a cut is ns-2's ncwndcuts_ (timeouts included), a timeout its nrexmit_.",
    ]
    for (name, _), run in sorted(kept.items(), key=lambda item: (order.get(item[0][0], 99), item[0][1])):
        lines.append("\n[[run]]")
        for key, value in run.items():
            if key in {"nodes", "setup_cpu_s", "cpu_s", "command"}:  # of the machine; or written below
                continue
            lines.append(f"{key} = {json.dumps(value) if isinstance(value, str) else format(value, '.10g')}")
        setup = next((s for s in SETUPS if s.name == name), None)
        if setup is not None and setup.paired:
            lines.append(f'command = "python benches/peers/run.py --peer ns2 --only {name}"')
        elif setup is not None:
            lines.append(f"command = {json.dumps(' '.join(quote(ns2_command(setup, int(run['seed'])))))}")
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text("\n".join(lines) + "\n")


def quote(words: list[str]) -> list[str]:
    """Words as a shell wants them."""
    return [f"'{word}'" if " " in word else word for word in words]


def compare(setup: Setup, ns2: dict[str, float], ours: dict[str, float]) -> bool:
    """Print both and say whether every target is met."""
    met = True
    print(f"\n{setup.name}")
    for key, target in TARGETS.items():
        label, scale = LABELS[key]
        if key == "timeouts_per_cut" and not ns2["timeouts"]:
            print(f"  {label:<14} ns-2 {'counts none':>13}   paceline {ours[key] * scale:9.3f}   (its FACK does not)")
            continue
        off = ours[key] / ns2[key] - 1 if ns2[key] else 0.0
        good = abs(off) <= target
        met &= good
        print(
            f"  {label:<14} ns-2 {ns2[key] * scale:9.3f}   paceline {ours[key] * scale:9.3f}   "
            f"{off:+7.2%}   {'ok' if good else f'MISSED (target {target:.0%})'}"
        )
    ours_ns = ours["cpu_s"] / ours["core_packets"] * 1e9
    if "cpu_s" in ns2:
        ns2_ns = ns2["cpu_s"] / ns2["core_packets"] * 1e9
        ratio = f"{ns2_ns / ours_ns:.1f} times ({ns2['nodes']:.0f} nodes)"
        print(f"  CPU a packet   ns-2 {ns2_ns:6.0f} ns   paceline {ours_ns:6.0f} ns   {ratio}")
    else:
        print(f"  CPU a packet   paceline {ours_ns:6.0f} ns")
    return met


def markdown(kept: dict[str, dict[str, list[dict[str, Any]]]]) -> str:
    """The table of docs/fidelity.md: ns-2 / Paceline, means over seeds."""
    lines = ["| set-up | " + " | ".join(label for label, _ in LABELS.values()) + " |", "|---|" + "---|" * len(LABELS)]
    for name, runs in kept.items():
        cells = []
        for key, (_, scale) in LABELS.items():
            ns2, ours = (sum(run[key] for run in runs[peer]) / len(runs[peer]) for peer in ("ns2", "paceline"))
            digits = 3 if key == "timeouts_per_cut" else 2 if key == "loss_ratio" else 1
            if not ns2:
                cells.append(f"not counted / {ours * scale:.{digits}f}")
                continue
            cells.append(f"{ns2 * scale:.{digits}f} / {ours * scale:.{digits}f} ({ours / ns2 - 1:+.1%})")
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the demo's network only, 100 s with 40 s of warm-up")
    parser.add_argument("--only", action="append", metavar="NAME", help="this set-up (repeatable, a prefix will do)")
    parser.add_argument("--list", action="store_true", help="name the set-ups and stop")
    parser.add_argument("--seeds", type=int, help="runs a set-up and simulator (default 2, or 4 where paired)")
    parser.add_argument("--peer", choices=["both", "ns2", "paceline"], default="both", help="which to run")
    parser.add_argument("--recorded", action="store_true", help="take ns-2's numbers from tests/oracles/ns2.toml")
    parser.add_argument("--write", action="store_true", help="rewrite tests/oracles/ns2.toml from this run")
    parser.add_argument("--json", metavar="FILE", help="write all results there")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/fidelity.md at the end")
    parser.add_argument("--scenario", metavar="NAME", help="print the Paceline scenario of a set-up and stop")
    wanted = parser.parse_args()

    known = [*SETUPS, *FEW] if wanted.only or wanted.list else SETUPS
    setups = [s for s in known if not wanted.only or any(s.name.startswith(prefix) for prefix in wanted.only)]
    if wanted.list:
        print("\n".join(setup.name for setup in setups))
        return 0
    if wanted.scenario:
        print(scenario(next(s for s in SETUPS if s.name == wanted.scenario), 1), end="")
        return 0
    if not setups:
        sys.exit(f"no set-up begins with {wanted.only}; --list names them")
    if wanted.quick:
        setups = [replace(s, duration=100, warmup=40) for s in (setups if wanted.only else [DEMO])]
        wanted.seeds = 1
        if wanted.write or wanted.recorded:
            sys.exit("--quick runs are too short to be kept or compared with the record")

    have_ns2 = shutil.which("ns") is not None
    if not have_ns2 and not wanted.recorded and wanted.peer != "paceline":
        print(INSTALL, file=sys.stderr)
        if wanted.peer == "ns2" or wanted.quick:
            return 0
        print("Comparing with the recorded numbers in tests/oracles/ns2.toml instead.", file=sys.stderr)
        wanted.recorded = True
    installed = ROOT / ".venv" / "bin" / "paceline"
    program = str(installed) if installed.exists() else shutil.which("paceline") or ""
    if not program and wanted.peer != "ns2":
        sys.exit("paceline is not installed: run `make demo` or `make test` first")

    kept: dict[str, dict[str, list[dict[str, float]]]] = {}
    missed = []
    for setup in setups:
        seeds = range(1, (wanted.seeds or setup.seeds) + 1)
        ns2: list[dict[str, float]] = []
        ours: list[dict[str, float]] = []
        if wanted.recorded:
            ns2 = recorded(setup)
        elif wanted.peer != "paceline":
            ns2 = [{"seed": seed, **run_ns2(setup, seed)} for seed in seeds]
        if wanted.peer != "ns2":
            ours = [{"seed": seed, **run_paceline(setup, seed, program)} for seed in seeds]
        kept[setup.name] = {"ns2": ns2, "paceline": ours}
        if ns2 and ours:
            numbers = [{k: v for k, v in run.items() if isinstance(v, (int, float))} for run in ns2]
            if not compare(setup, mean(numbers), mean(ours)):
                missed.append(setup.name)
        else:
            for peer, runs in kept[setup.name].items():
                for run in runs:
                    shown = "  ".join(f"{run[key] * scale:.4g} {label}" for key, (label, scale) in LABELS.items())
                    cost = f"  {run['cpu_s'] / run['core_packets'] * 1e9:.0f} ns a packet" if "cpu_s" in run else ""
                    print(f"{setup.name:<26} {peer:<8} seed {run['seed']:.0f}  {shown}{cost}", flush=True)
        if wanted.write:
            write_record({setup.name: ns2})
        if wanted.json:
            Path(wanted.json).write_text(json.dumps(kept, indent=1))
    if wanted.markdown and wanted.peer == "both":
        print("\n" + markdown(kept))
    if missed:
        print(f"\nTargets missed: {', '.join(missed)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
