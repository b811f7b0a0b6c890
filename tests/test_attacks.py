"""The attacks of `make attack` that need no build, for a second each: what an hour of them finds, a second may."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benches" / "attack"))

import inputs
import stores
from attack import Turn

ATTACKS = Path(inputs.__file__).parent
SHORT = [inputs.units, inputs.steered, inputs.oversized, stores.damaged]


@pytest.mark.parametrize("attack", SHORT, ids=lambda attack: attack.__name__)
def test_an_attack_finds_nothing(attack, tmp_path: Path) -> None:
    turn = Turn(seed=3, seconds=1.0, folder=tmp_path)
    attack(turn)
    assert turn.count > 0
    assert turn.problems == []


def test_what_was_open_is_run_again_and_what_was_closed_stays(tmp_path: Path) -> None:
    """`--open-of`: a table in which one attack found something, and another has not begun."""
    known = {"attack": "text that would steer a terminal", "count": 7, "unit": "texts", "outcome": "closed"}
    found = {**known, "attack": "units, pacers and paths over all of Unicode", "outcome": "OPEN"}
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_text(json.dumps([found, known]))
    words = ["--only", "Unicode", "--only", "steer", "--only", "damaged", "--seconds", "3"]
    done = subprocess.run(
        [sys.executable, ATTACKS / "run.py", *words, "--open-of", before, "--json", after],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "3 closed, 0 open, 0 left out, 0 not begun"
    rows = json.loads(after.read_text())
    assert [row["attack"] for row in rows] == [found["attack"], known["attack"], "damaged archives of the store"]
    assert rows[1] == known
    assert rows[0]["count"] > 7
