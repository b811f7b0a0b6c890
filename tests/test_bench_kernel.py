"""`make bench-kernel`: medians over seeds, and what links in step do. The kernel itself is not asked."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import paceline as pl
import pytest
from paceline.results import Results

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("bench_kernel", ROOT / "benches" / "kernel" / "run.py")
assert SPEC is not None
assert SPEC.loader is not None
bench = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = bench
SPEC.loader.exec_module(bench)


def at_access_rate(rate: str) -> Results:
    scenario = pl.Scenario.load(bench.SCENARIOS / "phase-effects.toml")
    return pl.sweep(scenario.set("network.access.rate", rate).over({"traffic.calls.count": [12]}).seeds(5))


def test_links_in_step_spare_the_flow_that_bursts_and_cost_the_others() -> None:
    in_step, out_of_step = at_access_rate("200 Mbit/s"), at_access_rate("210 Mbit/s")
    assert bench.middle(out_of_step) - bench.middle(in_step) > 0.15
    largest, others = (
        bench.middle(in_step, lambda run, own=own: bench.retransmitted(run, by_largest=own)) for own in (True, False)
    )
    assert largest < others / 4
    largest, others = (
        bench.middle(out_of_step, lambda run, own=own: bench.retransmitted(run, by_largest=own))
        for own in (True, False)
    )
    assert others / 4 < largest < others


def test_every_scenario_has_its_claims() -> None:
    files = {path.stem for path in bench.SCENARIOS.glob("*.toml")}
    assert set(bench.CLAIMS) == files - {"one-flow"}  # which is documented by itself


def test_a_spread_is_a_median_and_a_range() -> None:
    assert bench.spread([0.5], ".1%") == "50.0%"
    assert bench.spread([0.5, 0.9, 0.6], ".0%") == "60% (50% to 90%)"


def test_runs_are_found_by_the_last_part_of_their_paths() -> None:
    runs = at_access_rate("210 Mbit/s")
    assert [run.seed for run in bench.of(runs, count="12")] == [1, 2, 3, 4, 5]
    with pytest.raises(KeyError, match="13"):
        bench.of(runs, count="13")
