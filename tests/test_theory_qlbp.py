"""QLBP's formulas against the paper's own numbers, integration step by step, and the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import paceline as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paceline.theory import qlbp, qlbp_response

SCENARIOS = Path(__file__).parent.parent / "scenarios"
#: Table II as printed: Mbit/s, packets, ms.
TABLE = [(1, 0, 0), (2, 0, 0), (4, 2, 4), (6, 4, 5.33), (8, 7, 7), (10, 9, 7.2), (12, 10, 6.67), (15, 10, 5.3)]
SETTING = ("2 Mbit/s", "10 Mbit/s")


def test_table_2_row_by_row() -> None:
    rates = [rate * 1e6 for rate, _, _ in TABLE]
    packets = qlbp.steady_packets(rates, *SETTING, 10)
    assert packets.tolist() == [queue for _, queue, _ in TABLE]
    delays = packets * 8000 / np.array(rates) * 1e3
    assert delays == pytest.approx([delay for _, _, delay in TABLE], abs=0.04)


def test_the_simulator_holds_what_theory_says() -> None:
    """scenarios/qlbp-table2.toml: the queue at arrivals, so the mean wait, of each row."""
    results = pl.sweep(SCENARIOS / "qlbp-table2.toml")
    for run, (rate, _, _) in zip(results, TABLE, strict=True):
        packets = qlbp.steady_packets(f"{rate} Mbit/s", *SETTING, 10)
        # two serialisations and two propagations are not pacing
        held = run.flows.network_delay_mean_s - 0.02 - 2 * 8000 / 15e6
        # 6 and 15 Mbit/s are on the edge between two queues: whatever phase rounding to nanoseconds leaves, stays
        edge = 2.5e-5 if rate in (6, 15) else 2e-6
        assert held == pytest.approx(packets * 8000 / (rate * 1e6), abs=edge)
        assert held <= qlbp.delay_bound(10_000, "10 Mbit/s")


def test_the_papers_bounds() -> None:
    assert qlbp.delay_bound("150 KB", "300 Mbit/s") == pytest.approx(0.004)
    assert qlbp.delay_bound("150 KB", "600 Mbit/s") == pytest.approx(0.002)
    assert qlbp.delay_bound(10 * 1000, "10 Mbit/s") == pytest.approx(0.008)


@given(
    low=st.floats(0, 0.99),
    high=st.floats(0.01, 1),
    load=st.floats(0.001, 1.5),
    queue=st.floats(1, 1e7),
)
def test_theorem_1_holds_for_any_steady_source(low: float, high: float, load: float, queue: float) -> None:
    """In fractions of a 1 Gbit/s link."""
    if low >= high:
        low, high = high / 2, high
    capacity = 1e9
    delay = qlbp.steady_delay(load * capacity, low * capacity, high * capacity, queue, capacity)
    assert 0 <= delay <= qlbp.delay_bound(queue, high * capacity) * (1 + 1e-12)


def test_the_steady_queue_gives_the_sources_rate() -> None:
    """Eq. (1) at the queue of a source is that source's rate; outside, mu_min or mu_max, and C above Q_max."""
    for source in np.linspace(2e6, 10e6, 9):
        queue = qlbp.steady_queue(source, *SETTING, 10_000)
        assert qlbp.service_rate(queue, *SETTING, 10_000, "15 Mbit/s") == pytest.approx(source)
    assert qlbp.steady_queue([1e6, 12e6], *SETTING, 10_000).tolist() == [0, 10_000]
    assert qlbp.service_rate(10_001, *SETTING, 10_000, "15 Mbit/s") == 15e6


def test_the_rule_of_thumb() -> None:
    """By hand for 100 Mbit/s at a load of 0.1 and 10 ms; and the simulator reads `load` and `max_delay` the same."""
    found = qlbp.parameters("100 Mbit/s", 0.1, "10 ms")
    assert found == pytest.approx((5e6, 55e6, 68_750))
    scenario = pl.Scenario.load(SCENARIOS / "edge-vs-host.toml")
    scenario = scenario.set("pacing", {"method": "qlbp", "load": 0.1, "max_delay": "10 ms"})
    paced = pl.doctor(scenario).settings[0]["groups"][0]["path"][1]["pacer"]["parameters"]
    assert paced == {"mu_min": "5 Mbit/s", "mu_max": "55 Mbit/s", "q_max": "68.75 KB"}


def test_the_step_response_solves_the_queues_equation() -> None:
    """dq/dt = r - mu(q) from an empty queue, by small steps."""
    source, low, high, most = 6e6, 2e6, 10e6, 10_000.0
    alpha = qlbp_response.response_constant(low, high, most)
    assert alpha == pytest.approx(8e6 / 80_000)
    queue, step = 0.0, 1e-6
    for k in range(40_001):
        if k % 5000 == 0:
            rate = qlbp.service_rate(queue, low, high, most, 15e6)
            assert qlbp_response.step_response(k * step, source, low, high, most) == pytest.approx(rate, rel=1e-4)
        queue += (source - (low + (high - low) * queue / most)) * step / 8
    settled = qlbp_response.settling_time(0.05, low, high, most)
    reached = qlbp_response.step_response(settled, source, low, high, most)
    assert (source - reached) / (source - low) == pytest.approx(0.05)
