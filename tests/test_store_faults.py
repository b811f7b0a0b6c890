"""Every system call of a sweep that touches its directory fails once, with each error, and the process is killed at it.

Whatever fails, the command ends with success or one line, nothing hangs, tables are of one sweep, and the next command
has the numbers of a sweep that nothing befell. ``PACELINE_FULL=1`` tries every call with every error.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).parent / "faults"
FULL = bool(os.environ.get("PACELINE_FULL"))

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or not sys.platform.startswith("linux"), reason="needs a C compiler, and Linux"
)


def test_no_call_that_fails_costs_a_run_or_tears_tables(tiny: Path, tmp_path: Path) -> None:
    shim = tmp_path / "shim.so"
    build = ["cc", "-O1", "-shared", "-fPIC", "-o", str(shim), str(FAULTS / "shim.c"), "-ldl"]
    subprocess.run(build, check=True, capture_output=True)
    root = tmp_path / "root"
    root.mkdir()
    done = subprocess.run(
        [sys.executable, str(FAULTS / "sweeps.py"), str(tiny), str(root), "1" if FULL else "7"],
        env=os.environ | {"LD_PRELOAD": str(shim), "FAULT_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *wrong, summary = map(json.loads, done.stdout.splitlines())
    assert not wrong, done.stderr
    assert not done.stderr, "a line is the command's, and nothing else is said"
    assert summary["calls"] > 100
    assert summary["tried"] > 20
