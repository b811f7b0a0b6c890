"""100 flows at buffers of few packets, where ties decide who is dropped: as in ns-2 2.35, the same draws on both sides.

A few of the grid of benches/peers/ties.py, which made tests/oracles/ns2-ties.csv and compares all of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benches" / "peers")]

import ties  # noqa: E402

CHOSEN = {
    f"100 flows, {buffer}, access {rate}" for buffer in ("2 packets", "5 packets", "3 KB") for rate in (100, 107.1)
}


@pytest.mark.parametrize(
    "setup", [setup for setup in ties.grid() if setup.name in CHOSEN], ids=lambda setup: setup.name
)
def test_tiny_buffers_drop_whom_ns2_drops(setup: ties.Setup) -> None:
    ours = ties.each([(setup, seed, str(ties.PROGRAM), "ns2") for seed in ties.SEEDS], ties.run_paceline)
    theirs = ties.recorded()[setup.name]
    for key, target in ties.TARGETS.items():
        assert ties.mean(ours, key) == pytest.approx(ties.mean(theirs, key), rel=target), key


def test_the_grid_is_recorded() -> None:
    assert {setup.name for setup in ties.grid()} == set(ties.recorded())
    assert len(CHOSEN & set(ties.recorded())) == len(CHOSEN)
