"""The smoothest way out, against its dual, its conditions of optimality and any other curve; and the pacer's own."""

from __future__ import annotations

import numpy as np
import paceline as pl
import pytest
from numpy.typing import NDArray
from paceline.theory import exit_curves

Arrays = tuple[NDArray[np.float64], NDArray[np.float64]]


def drawn(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Arrivals, some at one instant, of mixed sizes, and a bound."""
    random = np.random.default_rng(seed)
    number = int(random.integers(1, 150))
    gaps = random.exponential(1.0, number) * random.choice([0.0, 0.1, 1.0, 20.0], number, p=[0.2, 0.3, 0.4, 0.1])
    return np.cumsum(gaps), random.choice([40.0, 1000.0, 1500.0], number), float(random.choice([0.5, 3.0, 30.0]))


def bounds(
    arrivals: NDArray[np.float64], sizes: NDArray[np.float64], delay: float
) -> tuple[Arrays, NDArray[np.float64]]:
    """Least and most that may have been served at each instant at which either changes, and the instants."""
    times = np.unique(np.concatenate([arrivals, arrivals + delay]))
    total = np.concatenate([[0.0], np.cumsum(sizes)])
    least = total[np.searchsorted(arrivals + delay, times, side="right")]
    most = total[np.searchsorted(arrivals, times, side="left")]
    return (least, most), times


@pytest.mark.parametrize("seed", range(60))
def test_it_keeps_the_bounds_and_bends_at_them_alone(seed: int) -> None:
    """What makes a path the shortest: it gets steeper only where arrivals hold it, and flatter only at a deadline."""
    arrivals, sizes, delay = drawn(seed)
    curve = exit_curves.smoothest(arrivals, sizes, delay)
    (least, most), times = bounds(arrivals, sizes, delay)
    served = np.interp(times, curve.times, curve.served)
    scale = 1e-9 * sizes.sum()
    assert (served >= least - scale).all()
    assert (served <= most + scale).all()
    assert (curve.times[0], curve.served[0]) == (arrivals[0], 0.0)
    assert (curve.times[-1], curve.served[-1]) == (arrivals[-1] + delay, sizes.sum())
    slopes = np.diff(served) / np.diff(times)
    steeper, flatter = np.diff(slopes) > 1e-6 * slopes.max(), np.diff(slopes) < -1e-6 * slopes.max()
    assert np.abs(served - most)[1:-1][steeper] == pytest.approx(0, abs=scale)
    assert np.abs(served - least)[1:-1][flatter] == pytest.approx(0, abs=scale)


@pytest.mark.parametrize("seed", range(60))
def test_its_highest_rate_is_the_duals(seed: int) -> None:
    arrivals, sizes, delay = drawn(seed)
    curve = exit_curves.smoothest(arrivals, sizes, delay)
    highest = 8 * float((np.diff(curve.served) / np.diff(curve.times)).max())
    assert highest == pytest.approx(exit_curves.least_peak(arrivals, sizes, delay))


@pytest.mark.parametrize("seed", range(20))
def test_no_other_curve_has_less_variance_or_a_lower_peak(seed: int) -> None:
    """Curves drawn within the bounds, and steps from the path towards each of them."""
    arrivals, sizes, delay = drawn(seed)
    curve = exit_curves.smoothest(arrivals, sizes, delay)
    (least, most), times = bounds(arrivals, sizes, delay)
    best = np.interp(times, curve.times, curve.served)
    random = np.random.default_rng(seed)
    lasts = np.diff(times)
    if not lasts.size:
        return
    square, peak = float(np.sum(np.diff(best) ** 2 / lasts)), float((np.diff(best) / lasts).max())
    for _ in range(50):
        other = np.maximum.accumulate(least + random.random(len(times)) * (np.maximum(most, least) - least))
        for step in (1.0, 0.1, 1e-3):
            some = best + step * (other - best)
            assert float(np.sum(np.diff(some) ** 2 / lasts)) >= square * (1 - 1e-9)
            assert float((np.diff(some) / lasts).max()) >= peak * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_online_it_is_the_steepest_of_what_is_known(seed: int) -> None:
    """Against the definition: at each instant the largest of what is due over the time until then; no envelope."""
    arrivals, sizes, delay = drawn(seed)
    arrivals = arrivals + np.arange(len(arrivals)) * 1e-3  # none at one instant: each has its own release
    found = exit_curves.online(arrivals, sizes, delay)
    total = np.cumsum(sizes)
    firsts = np.concatenate([[0.0], total[:-1]])
    now, served, expected = arrivals[0], 0.0, np.full(len(arrivals), np.nan)
    ends = np.unique(np.concatenate([arrivals, arrivals + delay]))
    for end in ends[1:]:
        known = (arrivals <= now) & (arrivals + delay > now) & (total > served + 1e-9)
        while known.any() and end > now:
            slopes = (total[known] - served) / (arrivals[known] + delay - now)
            slope = slopes.max()
            until = min(end, float((arrivals[known] + delay)[slopes >= slope * (1 - 1e-12)].max()))
            reached = served + slope * (until - now)
            passed = np.isnan(expected) & (firsts < reached - 1e-9) & (arrivals <= now)
            expected[passed] = np.maximum(now, now + (firsts[passed] - served) / slope)
            now, served = until, reached
            known = (arrivals <= now) & (arrivals + delay > now) & (total > served + 1e-9)
        now = end
    assert found.releases == pytest.approx(expected, abs=1e-6)
    assert (found.releases >= arrivals - 1e-9).all()
    assert (found.releases <= arrivals + delay + 1e-9).all()
    assert found.pops.sum() <= len(arrivals)
    assert found.compared.sum() <= 2 * len(arrivals)


def test_the_simulated_pacer_follows_it() -> None:
    """Each release to a nanosecond, but for what the end of the run cuts off."""
    document = {
        "duration": "3 s",
        "network": {
            "template": "path",
            "links": [{"name": one, "rate": "100 Gbit/s", "delay": "1 ms"} for one in ("in", "paced")],
        },
        "traffic": [{"kind": "poisson", "packet": "1000 B", "rate": "10 Mbit/s"}],
        "pacing": {"method": "edge", "delay": "20 ms", "at": "paced"},
        "probes": {"departures": {"links": ["in", "paced"], "from": "0 s"}},
    }
    series = pl.run(pl.Scenario(document)).series
    assert series is not None
    link, times = np.asarray(series["link"]), np.asarray(series["time_ns"])
    arrivals, left = (times[link == "in"] + 80 + 1_000_000) * 1e-9, times[link == "paced"] * 1e-9
    found = exit_curves.online(arrivals, np.full(len(arrivals), 1000.0), "20 ms").releases
    some = slice(0, len(left) - 50)
    assert found[: len(left)][some] == pytest.approx(left[some], abs=2e-9)


def test_a_burst_that_is_all_known_leaves_as_smoothly_as_can_be() -> None:
    arrivals, sizes = np.zeros(20), np.full(20, 1000.0)
    path = exit_curves.releases(exit_curves.smoothest(arrivals, sizes, "10 ms"), sizes)
    assert path == pytest.approx(np.arange(20) * 0.5e-3)
    assert exit_curves.online(arrivals, sizes, "10 ms").releases == pytest.approx(path)


def test_ever_smaller_packets_add_a_point_each_and_one_large_pops_them_all() -> None:
    sizes = np.array([2e6, *(1400.0 - 10 * np.arange(99)), 1e9])
    found = exit_curves.online(np.arange(101) * 1e-3, sizes, "1 s")
    assert found.pops[:-1].sum() == 0
    assert found.pops[-1] == found.compared[-1] == 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], "1 ms"), "arrivals: are not times in their order"),
        (([1.0, 0.5], [1.0, 1.0], "1 ms"), "arrivals: are not times in their order"),
        (([0.0, 0.5], [1.0], "1 ms"), "sizes: 1 for 2 arrivals; write one for each"),
        (([0.0], [0.0], "1 ms"), "sizes: 0 is outside its domain"),
        (([0.0], [1.0], "0 ms"), "delay: 0 is outside its domain"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[list[float], list[float], str], message: str) -> None:
    for function in (exit_curves.smoothest, exit_curves.least_peak, exit_curves.online):
        with pytest.raises(pl.InputError, match=message):
            function(*arguments)
