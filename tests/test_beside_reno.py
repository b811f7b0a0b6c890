"""Ten flows of CUBIC or BIC beside ten of Reno, 20 packets of buffer: each kind gets what it gets in ns-2 2.35.

Made by benches/peers/beside_reno.py, with the same draws: seed by seed the two engines give nearly the same goodput
(correlation 0.97 to 1), until they part at a tie somewhere. So the difference of two runs with one seed counts. Its
mean over the seeds must be zero, as far as these runs can tell: zero lies in its 99 % interval by Student (for the
four quantities of a row together), widened by 1.5 % for what the order of ties is worth. Were all ties broken anew,
these tests would fail once in 1600 times (the 15 differences a row, drawn anew).
"""

from __future__ import annotations

import os
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent.parent / "benches" / "peers")]

import beside_reno  # noqa: E402

FULL = bool(os.environ.get("PACELINE_FULL"))
CASES = [case for case in beside_reno.CASES if FULL or case[2] == 50]
SEEDS = beside_reno.SEEDS if FULL else beside_reno.SEEDS[:10]
#: By seeds: Student's t, one less degrees of freedom, that 1 % / 8 exceed: two sides, four quantities.
STUDENT = {10: 4.146, 15: 3.675}
WIDENED = 0.015


@pytest.mark.parametrize(("control", "delayed", "rate"), CASES)
def test_either_kind_gets_what_it_gets_in_ns2(control: str, delayed: bool, rate: int) -> None:
    record = beside_reno.recorded()
    theirs = [record[control, delayed, rate, seed] for seed in SEEDS]
    one = beside_reno.setup(control, delayed, rate)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ours = list(pool.map(lambda seed: beside_reno.run_paceline(one, seed), SEEDS))
    for place, what in enumerate(("goodput of Reno", f"goodput of {control}", "timeouts", "window cuts")):
        mean = statistics.fmean(run[place] for run in theirs)
        differences = [(b[place] - a[place]) / mean for a, b in zip(theirs, ours, strict=True)]
        error = STUDENT[len(SEEDS)] * statistics.stdev(differences) / len(SEEDS) ** 0.5
        assert abs(statistics.fmean(differences)) <= error + WIDENED, f"{what}: {differences}"
