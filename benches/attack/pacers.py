"""The inline pacer: over a simulated kernel, and between interfaces in namespaces, with both back ends."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time

import wire as net
from attack import ROOT, Attack, Turn, cargo_tests, pytests, said

#: Simulated seconds in a second or so of processor time.
SIMULATED = 500


def simulated(turn: Turn) -> None:
    """Scripts from seeds; one that breaks a law is printed, made smaller."""
    length, seed = SIMULATED, turn.seed * 1_000_000
    while turn.goes_on():
        began = time.monotonic()
        told = {"PACELINE_SIMULATED_SECONDS": str(length), "PACELINE_SEED": str(seed), "RUST_BACKTRACE": "0"}
        code, text, again = cargo_tests("paceline-dataplane", "--lib", "simulated_", **told)
        turn.count += sum(map(int, re.findall(r"^(\d+) s simulated", text, re.MULTILINE)))
        if code:
            turn.problems.append(f"{again}: {text[-1500:]}")
        seed += length
        took_s = time.monotonic() - began
        left_s = turn.seconds - (time.monotonic() - turn.began)
        length = max(SIMULATED, min(20 * length, int(0.9 * length * left_s / took_s)))


def frames(turn: Turn) -> None:
    """Frames past random faults in each back end; ten million and a hundred faults where there is time."""
    packets = min(10_000_000, max(300_000, int(turn.seconds / 2 * 60_000)))
    faults = min(100, max(6, packets // 100_000))
    found = turn.folder / "faults.json"
    script = ROOT / "benches" / "dataplane" / "faults.py"
    options = ["--packets", str(packets), "--faults", str(faults), "--seed", str(turn.seed)]
    code, text = said([sys.executable, script, *options, "--json", found])
    if found.exists():
        turn.count += sum(one["sent"]["sent"] for one in json.loads(found.read_text()).values())
    if code:
        again = f"faults.py {' '.join(options)}"
        missed = [line for line in text.splitlines() if line.startswith("MISS")]
        turn.problems.append(f"{again}: {'; '.join(missed) or text[-500:]}")


def why_no_wire() -> str | None:
    return net.why_not() or ("needs cargo" if shutil.which("cargo") is None else None)


def on_wire(name: str, chosen: str, files: str = "tests/test_pace_faults.py") -> Attack:
    return pytests(name, 0.02, *files.split(), "-k", chosen, why_not=net.why_not)


WIRE = "tests/test_pace_faults.py tests/test_pace_wire.py"

ATTACKS = [
    Attack("pacer over a simulated kernel", 0.13, "simulated s", simulated),
    Attack("frames past random faults, both back ends", 0.12, "frames", frames, why_no_wire),
    on_wire("interfaces that flap, joined frames in VLANs", "flaps or joined"),
    on_wire("interfaces deleted, down, without carrier", "gone or is_down or carrier"),
    on_wire("an MTU raised or lowered", "mtu or larger", f"{WIRE} tests/test_pace_meddling.py"),
    on_wire("panics", "panic"),
    on_wire("pacers at once, also in another PID namespace", "at_once or process_namespace or share", WIRE),
    on_wire("kills, stops and taking over", "killed or stopped or taking_over or cannot_start", WIRE),
    on_wire("settings read again: FIFOs, devices, large files", "settings", WIRE),
    on_wire("metrics and clients that say nothing", "metrics", WIRE),
    on_wire("without root, with the service's capabilities", "root or capabilities", WIRE),
    on_wire("other threads of its process, errors unread", "", "tests/test_pace_signals.py tests/test_pace_unread.py"),
    on_wire("others who meddle with its interfaces", "", "tests/test_pace_meddling.py"),
]
