"""A claim is one file: in a copy of the package the toy of `toys/claim.py` is listed, run, judged and shown.

Pacers and queue disciplines are in `crates/core/tests/adding.rs`, congestion controls and recoveries in that of `tcp`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import paceline

TOYS = Path(__file__).parent / "toys"


def test_a_claim_is_a_file(tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "paceline"
    shutil.copytree(Path(paceline.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TOYS / "claim.py", copy / "papers" / "edge_vs_host" / "toy.py")

    def command(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "paceline", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(copy.parent)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "edge-toy" in command("reproduce", "--list")
    found = json.loads(command("reproduce", "edge-toy", "--quick", "--json", "--out", "papers"))
    assert [(one["id"], one["verdict"]) for one in found] == [("edge-toy", "reproduced")]
    assert abs(found[0]["ours"]["utilisation"] - 0.5) < 0.01
    command("gallery", "papers", "--out", "site")
    assert "edge-toy" in (tmp_path / "site" / "edge-vs-host.html").read_text()
