"""The edge-vs-host paper's formulas, and what the edge pacer promises, against sums, grids and the simulator."""

from __future__ import annotations

import math

import numpy as np
import paceline as pl
import pytest
from paceline.theory import edge_delay, edge_pacer, empty_buffer


def test_ten_milliseconds_are_120_packets() -> None:
    assert edge_delay.packet_times("10 ms", "100 Mbit/s", "1040 B") == pytest.approx(120.19, abs=0.01)


def poisson_at_least(mean: float, count: int) -> float:
    return 1 - sum(math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(count))


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8, 0.9, 0.97])
def test_the_loss_bound_is_above_the_poisson_tail_and_has_its_exponent(load: float) -> None:
    """Eq. (3) bounds P(Poisson(2 d load) ≥ 2 d), and its logarithm is that of the tail for large d."""
    for delay in (1, 2, 5, 10, 20):
        assert poisson_at_least(2 * delay * load, 2 * delay) <= edge_delay.loss_bound(load, delay)
    decay = [
        math.log(poisson_at_least(2 * d * load, 2 * d)) / math.log(edge_delay.loss_bound(load, d)) for d in (5, 20)
    ]
    assert 1 < decay[1] < decay[0]
    assert edge_delay.loss_bound(load, 0) == 1


def test_eq_4_is_eq_1_with_the_loss_of_eq_3() -> None:
    """Up to one constant, the unit: in ms, RTT of 200 + d, loss of d."""
    delays = np.array([0, 1, 10, 50, 100]) * 1e-3
    composed = edge_delay.throughput(edge_delay.round_trip("200 ms", delays), edge_delay.loss_bound(0.9, delays * 1e3))
    ratio = edge_delay.throughput_measure(0.9, delays) / composed
    assert ratio == pytest.approx([1e-3] * 5)


def test_fig_9_switches_between_the_published_loads() -> None:
    """0.9033 and 0.9206 for RTT₀ 200 ms and d up to 100 ms, found on a grid of loads and delays."""
    rising, falling = edge_delay.switch_loads("200 ms", "100 ms")
    assert rising == pytest.approx(0.9033, abs=5e-5)
    assert falling == pytest.approx(0.9206, abs=5e-5)
    delays = np.linspace(0, 0.1, 1001)
    for load in np.linspace(0.88, 0.94, 121):
        steps = np.diff(edge_delay.throughput_measure(load, delays))
        assert bool((steps > 0).all()) == (load < rising)
        assert bool((steps < 0).all()) == (load > falling)
        least = delays[np.argmin(edge_delay.throughput_measure(load, delays))]
        assert least == pytest.approx(min(edge_delay.worst_delay(load), 0.1), abs=1e-4)


def test_in_packet_times_the_switch_is_near_full_load() -> None:
    """At 100 Mbit/s a packet of 1040 B takes 83.2 us, so 200 ms are 2404 of them: it rises up to a load of 0.971."""
    rising, _ = edge_delay.switch_loads("200 ms", "100 ms", unit=1040 * 8 / 100e6)
    assert rising == pytest.approx(1 - math.sqrt(2 / 2404), abs=1e-3)
    delays = np.linspace(0, 0.1, 101)
    assert (np.diff(edge_delay.throughput_measure(0.97, delays, unit=83.2e-6)) > 0).all()


def poisson_through_edge(load: float, delay_ms: float) -> float:
    """Coefficient of variation of what an edge pacer makes of Poisson packets, in intervals of two packet times."""
    scenario = pl.Scenario(
        {
            "duration": "30 s",
            "warmup": "1 s",
            "network": {
                "template": "path",
                "core": "after",
                "links": [
                    {"name": "paced", "rate": "1 Gbit/s", "delay": "1 ms"},
                    {"name": "after", "rate": "1 Gbit/s", "delay": "1 ms"},
                ],
            },
            "traffic": [{"kind": "poisson", "packet": "1000 B", "rate": f"{load * 10} Mbit/s"}],
            "pacing": {"method": "edge", "delay": f"{delay_ms} ms", "at": "paced"},
            "probes": {"departures": {"links": "after", "from": "1 s"}},
        }
    )
    series = pl.run(scenario).series
    assert series is not None
    times = np.asarray(series["time_ns"])
    # The rate of each packet is one over the gap before it, for as long as the gap lasts: mean and mean square in time.
    gaps = np.diff(times) * 1e-9
    mean, square = gaps.size / gaps.sum(), float(np.sum(1 / gaps)) / gaps.sum()
    return math.sqrt(square / mean**2 - 1)


@pytest.mark.parametrize(("load", "delay_ms"), [(0.5, 40.0), (0.9, 20.0), (0.9, 80.0)])
def test_the_pacer_is_a_fifth_burstier_than_eq_2(load: float, delay_ms: float) -> None:
    """10 Mbit/s of 1000 B: 0.8 ms a packet."""
    theory = edge_delay.burstiness(load, delay_ms / 0.8)
    assert 1.15 < poisson_through_edge(load, delay_ms) / theory < 1.26


@pytest.mark.parametrize("release", ["start", "finish"])
def test_rate_and_backlog_bounds_hold_and_are_met(release: str) -> None:
    """Bursts of 25 packets every 100 ms: σ = 25 KB less what r lets through, r = 2 Mbit/s, d = 40 ms."""
    scenario = pl.Scenario(
        {
            "duration": "4 s",
            "network": {
                "template": "path",
                "links": [{"name": "paced", "rate": "1 Gbit/s", "delay": "1 ms"}],
            },
            "traffic": [
                {"kind": "on-off", "packet": "1000 B", "rate": "200 Mbit/s", "on": "1 ms", "off": "99 ms"},
            ],
            "pacing": {"method": "edge", "delay": "40 ms", "release": release, "at": "paced"},
            "probes": {
                "departures": {"links": "paced", "from": "0 s"},
                "queue": {"links": "paced", "every": "50 us", "from": "0 s"},
            },
        }
    )
    series = pl.run(scenario).series
    assert series is not None
    kind, times, held = (np.asarray(series[name]) for name in ("kind", "time_ns", "bytes"))
    gaps = np.diff(np.sort(times[kind == "departure"])) * 1e-9
    bound = edge_pacer.rate_bound("25 KB", "2 Mbit/s", "40 ms")
    assert bound == 7e6
    rates = 8000 / gaps
    assert rates.max() <= bound
    assert rates.max() >= 0.7 * bound  # 25 KB in 40 ms are 5 Mbit/s
    assert held[kind == "queue"].max() <= edge_pacer.backlog_bound("25 KB", "2 Mbit/s", "40 ms")
    assert edge_pacer.delay_bound("40 ms") == 0.04


def test_five_kilobytes_give_90_percent_and_50_over_99_9() -> None:
    """The paper's example: B* of 2.17 KB gives 90 % at 5 KB."""
    scale = 5000 / math.log(10)
    assert empty_buffer.load("5 KB", scale) == pytest.approx(0.9)
    assert empty_buffer.load("50 KB", scale) > 0.999
    assert empty_buffer.buffer_for([0, 0.9], scale) == pytest.approx([0, 5000])


def test_a_fit_finds_the_scale_that_made_the_loads() -> None:
    sizes = np.array([2e3, 3e3, 5e3, 8e3, 12e3, 20e3, 50e3])
    for scale in (500.0, 2170.0, 9000.0, 1e5):
        found = empty_buffer.fit(sizes, empty_buffer.load(sizes, scale))
        assert found.scale_bytes == pytest.approx(scale, rel=1e-6)
        assert found.half_bytes < 1e-6 * scale
        assert found.residual < 1e-9


def test_the_fits_intervals_hold_the_truth_95_times_in_100() -> None:
    """Student's, over seeds and of one row: each holds B* in 190 of 200 draws, give or take 3 standard deviations."""
    random = np.random.default_rng(5)
    sizes = np.array([2e3, 3e3, 5e3, 8e3, 12e3])
    truth = empty_buffer.load(sizes, 4000.0)
    seeds = one_row = 0
    for _ in range(200):
        rows = truth + random.normal(0, 0.01, (5, sizes.size))
        several, single = empty_buffer.fit(sizes, rows), empty_buffer.fit(sizes, rows[0])
        seeds += abs(several.scale_bytes - 4000) <= several.half_bytes
        one_row += abs(single.scale_bytes - 4000) <= single.half_bytes
    assert 181 <= seeds <= 199
    assert 181 <= one_row <= 199
