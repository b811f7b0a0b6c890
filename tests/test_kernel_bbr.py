"""BBR over drawn scenarios: as on Linux 6.18, which benches/kernel/bbr.py ran (docs/fidelity.md).

A few of them; all with ``PACELINE_FULL=1``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benches" / "kernel")]

import bbr  # noqa: E402

FULL = bool(os.environ.get("PACELINE_FULL"))
RECORDED = bbr.recorded()
#: The quick form: the shortest of them.
CHOSEN = sorted(RECORDED, key=lambda case: case.flows * case.rate)[: None if FULL else 6]


@pytest.mark.parametrize("case", CHOSEN, ids=str)
def test_bbr_is_as_on_the_kernel(case: bbr.Case) -> None:
    theirs = bbr.median(RECORDED[case])
    ours = bbr.median(bbr.simulate(case, bbr.SEEDS if FULL else 5))
    assert ours["utilisation"] == pytest.approx(theirs["utilisation"], rel=0.03)
    assert ours["rtt_ms"] == pytest.approx(theirs["rtt_ms"], rel=0.03)
    assert ours["retransmits"] == pytest.approx(theirs["retransmits"], rel=0.03, abs=0.001)
