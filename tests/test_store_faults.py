"""Every system call of a sweep that touches its directory fails once, with each error, and the process is killed at it.

The same of allocations in the core. Whatever fails, the command ends with success or a line, nothing hangs, tables are
of one sweep, and the next command has the numbers of a sweep that nothing befell. ``PACELINE_FULL=1`` tries every call
with every error.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAULTS = Path(__file__).parent / "faults"
FULL = bool(os.environ.get("PACELINE_FULL"))

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or not sys.platform.startswith("linux"), reason="needs a C compiler, and Linux"
)


def with_faults(shim: str, tiny: Path, tmp_path: Path, every: str) -> tuple[list[dict[str, Any]], dict[str, Any], str]:
    """Sweeps under this shim: what broke a promise, how many faults there could be and were, what was said."""
    library, root = tmp_path / "shim.so", tmp_path / "root"
    build = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(FAULTS / f"{shim}.c"), "-ldl"]
    subprocess.run(build, check=True, capture_output=True)
    root.mkdir()
    kind = "memory" if shim == "memory" else "calls"
    done = subprocess.run(
        [sys.executable, str(FAULTS / "sweeps.py"), str(tiny), str(root), every, kind],
        env=os.environ
        | {"LD_PRELOAD": str(library), "FAULT_ROOT": str(root), "RUST_BACKTRACE": "0"}
        | {"MIMALLOC_DISALLOW_ARENA_ALLOC": "1"},  # memory from the kernel, a little at a time
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *wrong, summary = map(json.loads, done.stdout.splitlines())
    return wrong, summary, done.stderr


def test_no_call_that_fails_costs_a_run_or_tears_tables(tiny: Path, tmp_path: Path) -> None:
    wrong, summary, said = with_faults("shim", tiny, tmp_path, "1" if FULL else "7")
    assert not wrong, said
    assert not said, "a line is the command's, and nothing else is said"
    assert summary["calls"] > 100
    assert summary["tried"] > 20


def test_no_memory_in_the_core_ends_the_process_and_costs_no_run(tiny: Path, tmp_path: Path) -> None:
    wrong, summary, said = with_faults("memory", tiny, tmp_path, "1" if FULL else "5")
    assert not wrong, said
    of_rust = ("note: run with `RUST_BACKTRACE", "skipping backtrace printing")
    lines = [line for line in said.splitlines() if not line.startswith(of_rust)]
    assert lines, summary
    assert all(re.fullmatch(r"memory allocation of \d+ bytes failed", line) for line in lines), said
    assert summary["tried"] > 5, summary
