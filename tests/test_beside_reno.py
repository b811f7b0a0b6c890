"""Ten flows of CUBIC or BIC beside ten of Reno, 20 packets of buffer: each kind gets what it gets in ns-2 2.35.

Made by benches/peers/beside_reno.py, with the same draws. Single runs part at a tie somewhere, so means
of five seeds count.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent.parent / "benches" / "peers")]

import beside_reno  # noqa: E402

FULL = bool(os.environ.get("PACELINE_FULL"))
CASES = [case for case in beside_reno.CASES if FULL or case[2] == 100]


@pytest.mark.parametrize(("control", "delayed", "rate"), CASES)
def test_either_kind_gets_what_it_gets_in_ns2(control: str, delayed: bool, rate: int) -> None:
    record = beside_reno.recorded()
    theirs = [record[control, delayed, rate, seed] for seed in beside_reno.SEEDS]
    ours = [beside_reno.run_paceline(beside_reno.setup(control, delayed, rate), seed) for seed in beside_reno.SEEDS]
    for place, tolerance in enumerate((0.04, 0.04, 0.08, 0.03)):  # goodput of Reno, of the other, timeouts, window cuts
        a, b = ([run[place] for run in runs] for runs in (theirs, ours))
        assert statistics.fmean(b) == pytest.approx(statistics.fmean(a), rel=tolerance)
