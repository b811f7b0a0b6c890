"""100 flows at buffers of few packets, where ties decide who is dropped: as in ns-2 2.35, the same draws on both sides.

A few of the grid of benches/peers/ties.py, which made tests/oracles/ns2-ties.csv and compares all of it.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benches" / "peers")]

import ties  # noqa: E402
from run import run_ns2  # noqa: E402
from setups import FEW  # noqa: E402

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


#: ns-2 itself has 3.16 or 4.49 Mbit/s here, by when the flow starts: its doubles round the one way or the other.
DOUBLES = "1 Sack1, 2, 34.368 Mbit/s"


def test_what_takes_no_whole_nanoseconds_ties_as_in_ns2() -> None:
    """An E1 to an OC-3: 45 Mbit/s and a buffer of two packets gave one SACK flow 5.6 times what ns-2 does."""
    both = ties.compare_odd()
    assert len(both) == 48
    for name, (throughput, loss) in both.items():
        if name != DOUBLES:
            assert (throughput, loss) == (pytest.approx(1, abs=0.002), pytest.approx(0, abs=2e-4)), name


@pytest.mark.skipif(shutil.which("ns") is None, reason="needs ns (Debian: ns2)")
@pytest.mark.parametrize(
    ("limited_transmit", "keys"), [(True, ["goodput_mean_bps"]), (False, ["goodput_mean_bps", "loss_ratio"])]
)
def test_hosts_that_hesitate_do_as_in_ns2(limited_transmit: bool, keys: list[str]) -> None:
    """One flow, a packet that can wait: a host's random delay stays in what the flow sends next, and spaces it out.

    A tie drawn at the queue alone leaves nothing behind: .56 Mbit/s, where ns-2 has .65 (its `overhead_`). What limited
    transmit sends goes at once in ns-2, so that its ties are ns-2's, and loss is higher there.
    """
    one = next(one for one in FEW if one.flows == 1)
    setup = replace(one, limited_transmit=limited_transmit)
    seeds = range(1, setup.seeds + 1)
    theirs = ties.each([(replace(setup, overhead=ties.OVERHEAD_S), seed) for seed in seeds], run_ns2)
    ours = ties.each([(setup, seed, str(ties.PROGRAM), "random") for seed in seeds], ties.run_paceline)
    for key in keys:
        both = [[run[key] for run in runs] for runs in (ours, theirs)]
        error = sum(statistics.variance(runs) / len(runs) for runs in both) ** 0.5
        # 2.98: Student's t that 1 % exceed, 14 degrees of freedom
        assert abs(statistics.fmean(both[0]) - statistics.fmean(both[1])) < 2.98 * error, (key, both)
