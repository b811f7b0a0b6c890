"""The attacks of `make attack` that need no build, for a second each: what an hour of them finds, a second may."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benches" / "attack"))

import inputs
import stores
from attack import Turn

SHORT = [inputs.units, inputs.steered, inputs.oversized, stores.damaged]


@pytest.mark.parametrize("attack", SHORT, ids=lambda attack: attack.__name__)
def test_an_attack_finds_nothing(attack, tmp_path: Path) -> None:
    turn = Turn(seed=3, seconds=1.0, folder=tmp_path)
    attack(turn)
    assert turn.count > 0
    assert turn.problems == []
