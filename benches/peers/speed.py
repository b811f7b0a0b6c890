"""What ns-2 and ns-3 take for the dumbbell of a scenario: CPU ns a packet delivered over the core, after set-up.

ns-2 runs dumbbell.tcl; its time is of the whole simulated time. ns-3 runs dumbbell.cc, which is compiled here with the
system's g++ for Debian's libns3-dev; it takes so long that it simulates a few seconds only, and its time is of those
after the warm-up. Both read rates and delays of the scenario, so that they and Paceline have one network.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INSTALL = {"ns-2": "apt-get install ns2", "ns-3": "apt-get install libns3-dev g++"}
MODULES = ("applications", "bridge", "core", "internet", "network", "point-to-point", "stats", "traffic-control")
SCALES = {"bit/s": 1e-6, "kbit/s": 1e-3, "Mbit/s": 1, "Gbit/s": 1e3, "us": 1e-3, "ms": 1, "s": 1e3, "B": 1, "KB": 1e3}
#: A data packet on the wire in the scenarios here, bytes.
WIRE = 1040

Range = tuple[float, float]


@dataclass(frozen=True)
class Peer:
    """What a peer measured: CPU s after set-up, packets over the core in that time, and the simulated seconds."""

    name: str
    cpu_s: float
    packets: int
    simulated_s: float
    result: dict[str, Any]

    @property
    def ns_a_packet(self) -> float:
        """CPU ns for each packet delivered over the core."""
        return self.cpu_s / self.packets * 1e9


def values(text: str) -> Range:
    """A quantity of the scenario language, or a range, in Mbit/s, ms or B."""
    found = re.findall(r"([\d.]+) ([A-Za-z/]+)", text)
    ends = [float(number) * SCALES[unit] for number, unit in found]
    return ends[0], ends[-1]


@dataclass(frozen=True)
class Network:
    """A dumbbell in the peers' units: Mbit/s, ms, s, thousand bytes."""

    flows: int
    edges: int
    core_rate: float
    core_delay: float
    buffer: float
    edge_rate: float
    edge_delay: Range
    access_rate: Range
    access_delay: Range
    start: float

    @staticmethod
    def of(scenario: dict[str, Any]) -> Network:
        """The dumbbell of a scenario; its traffic is one table of bulk flows."""
        network = scenario["network"]
        core, edge, access = network["core"], network["edge"], network["access"]
        return Network(
            flows=edge["count"] * access["per_edge"],
            edges=edge["count"],
            core_rate=values(core["rate"])[0],
            core_delay=values(core["delay"])[0],
            buffer=values(core["buffer"])[0] / 1e3,
            edge_rate=values(edge["rate"])[0],
            edge_delay=values(edge["delay"]),
            access_rate=values(access["rate"]),
            access_delay=values(access["delay"]),
            start=values(scenario["traffic"][0]["start"])[1] / 1e3,
        )

    @property
    def packets_that_wait(self) -> int:
        """By ns-2's rule: what waits, with the packet that comes, stays below the limit."""
        return max(1, -int(-self.buffer * 1e3 // WIRE) - 1)


def ns2(network: Network, duration: float, warmup: float, seed: int = 1) -> Peer:
    """Runs ns-2.

    Raises:
        SystemExit: it failed.
    """
    options: dict[str, Any] = {
        "flows": network.flows,
        "edges": network.edges,
        "buffer": network.buffer,
        "core_rate": network.core_rate,
        "core_delay": network.core_delay,
        "edge_rate": network.edge_rate,
        "edge_delay": network.edge_delay,
        "access_rate": network.access_rate,
        "access_delay": network.access_delay,
        "start": (0, network.start),
        "duration": duration,
        "warmup": warmup,
        "seed": seed,
    }
    command = ["ns", str(HERE / "dumbbell.tcl")]
    for key, value in options.items():
        command += [f"-{key}", " ".join(f"{end:g}" for end in value) if isinstance(value, tuple) else f"{value:g}"]
    said = finished(command, "ns-2")
    return Peer("ns-2", said["cpu_s"], said["core_packets"], duration, said)


def ns3(
    program: Path,
    network: Network,
    duration: float,
    warmup: float,
    seed: int = 1,
    *,
    tcp: str = "TcpLinuxReno",
    queue: str = "DropTail",
    buffer: int | None = None,
) -> Peer:
    """Runs ns-3; its CPU time and packets are those after the warm-up. `buffer` packets wait, or the network's.

    Raises:
        SystemExit: it failed.
    """
    options: dict[str, float] = {
        "flows": network.flows,
        "edges": network.edges,
        "buffer": network.packets_that_wait if buffer is None else buffer,
        "core_rate": network.core_rate,
        "core_delay": network.core_delay,
        "edge_rate": network.edge_rate,
        "edge_near": network.edge_delay[0],
        "edge_far": network.edge_delay[1],
        "access_low": network.access_rate[0],
        "access_high": network.access_rate[1],
        "access_near": network.access_delay[0],
        "access_far": network.access_delay[1],
        "start": network.start,
        "duration": duration,
        "warmup": warmup,
        "seed": seed,
    }
    numbers = [f"--{key}={value:g}" for key, value in options.items()]
    said = finished([str(program), f"--tcp={tcp}", f"--queue={queue}", *numbers], "ns-3")
    return Peer("ns-3", said["cpu_s"], said["packets"], duration - warmup, said)


def finished(command: list[str], name: str, given: str | None = None) -> dict[str, Any]:
    """What a peer printed, given so much to read.

    Raises:
        SystemExit: it failed.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, input=given)
    if done.returncode:
        raise SystemExit(f"{name} failed: {(done.stderr.strip() or 'no word of why').splitlines()[-1]}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def has_ns2() -> bool:
    """It is installed."""
    return shutil.which("ns") is not None


def compiled_ns3(folder: Path) -> Path | None:
    """The ns-3 program, compiled into a folder as optimised as Debian's library; `None` where something is missing.

    Raises:
        SystemExit: it does not compile.
    """
    if shutil.which("g++") is None:
        return None
    libraries = [f"-lns3-{module}" for module in MODULES]
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as file:
        file.write("#include <ns3/core-module.h>\nint main() { return 0; }\n")
        file.flush()
        command = ["g++", "-std=c++17", "-o", "/dev/null", file.name, *libraries]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
    program = folder / "ns3-dumbbell"
    command = ["g++", "-std=c++17", "-O2", "-o", str(program), str(HERE / "dumbbell.cc"), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"benches/peers/dumbbell.cc does not compile with this ns-3: {done.stderr.splitlines()[0]}")
    return program
