"""One run in a process of its own: its CPU time after set-up, and its peak memory.

The CPU time of a simulation is that of a whole process, all its threads, system time included, without what a second
process of the same scenario takes that simulates a microsecond: start-up of Python, reading, drawing ranges, finding
routes, making the engine's state and collecting results are in both. `engine` is what the simulator measures of itself,
from a network that is laid out to results: a little more, for making and collecting are in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "scenarios"

# A process that does nothing else: no command line, no progress bar, no threads that wait.
ALONE = """
import json, sys
from paceline import _core
settings = json.loads(sys.stdin.read())
run = _core.run(json.dumps(settings["scenario"]), settings["seed"], engine=settings["engine"])
print(run.summary())
"""
#: So short that nothing happens.
INSTANT = {"duration": "1 us", "warmup": "0 s"}

Settings = dict[str, Any]


@dataclass(frozen=True)
class Process:
    """What one process took: CPU seconds, peak memory in bytes, and the results."""

    cpu_s: float
    memory: int
    result: dict[str, Any]


@dataclass(frozen=True)
class Cost:
    """A run's CPU seconds after set-up and of set-up, what the engine says of itself, packets, peak memory in bytes."""

    cpu_s: float
    setup_s: float
    engine_s: float
    packets: int
    memory: int
    setup_memory: int
    method: str
    result: dict[str, Any]

    @property
    def ns_a_packet(self) -> float:
        """CPU ns after set-up for each packet delivered over the core."""
        return self.cpu_s / self.packets * 1e9


def scenario(file: Path, settings: Settings) -> dict[str, Any]:
    """A scenario with some of its keys changed, and without its sweep."""
    import paceline as pl

    changed = pl.Scenario.load(file).set("sweep", {})
    for path, value in settings.items():
        changed = changed.set(path, value)
    said: dict[str, Any] = changed.to_dict()
    return said


def run(what: dict[str, Any], seed: int = 1, engine: str = "auto") -> Process:
    """Runs a scenario in a process of its own.

    Raises:
        SystemExit: the process failed; it has said why.
    """
    with subprocess.Popen([sys.executable, "-c", ALONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"scenario": what, "seed": seed, "engine": engine}).encode())
        process.stdin.close()
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"a run failed with status {process.returncode}: {what.get('title', 'untitled')}")
    return Process(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, json.loads(output))


def measure(file: Path, settings: Settings, seed: int = 1, engine: str = "auto") -> Cost:
    """Runs a scenario twice, once for a microsecond, and takes the one from the other."""
    what = scenario(file, settings)
    setup = run({**what, **INSTANT, "probes": {}}, seed, engine="auto")
    full = run(what, seed, engine)
    said = full.result["engine"]
    return Cost(
        cpu_s=full.cpu_s - setup.cpu_s,
        setup_s=setup.cpu_s,
        engine_s=said["cpu_s"],
        packets=said["core_packets"],
        memory=full.memory,
        setup_memory=setup.memory,
        method=said["method"],
        result=full.result,
    )
