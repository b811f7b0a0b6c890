"""Finite queues against published values, other closed forms, and the simulator."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import paceline as pl
import pytest
from paceline.theory import finite_queues as queues
from paceline.theory import periodic_streams

SCENARIOS = Path(__file__).parent.parent / "scenarios"


@pytest.mark.parametrize(
    ("load", "places", "loss"),
    [(0.7, 3, 0.0723), (0.7, 4, 0.0341), (0.8, 5, 0.0353), (0.8, 6, 0.0219), (0.9, 8, 0.0273), (0.9, 9, 0.0212)],
)
def test_published_losses_of_m_d_1_k(load: float, places: int, loss: float) -> None:
    assert queues.md1k_loss(load, places) == pytest.approx(loss, abs=5e-5)


def brun_garcia(load: float, places: int) -> tuple[float, float]:
    """Loss and mean packets of M/D/1/K in closed form: O. Brun, J.-M. Garcia, J. Appl. Prob. 37(4), 2000."""
    b = [
        math.fsum(
            (-1) ** k / math.factorial(k) * (n - k) ** k * math.exp((n - k) * load) * load**k for k in range(n + 1)
        )
        for n in range(places)
    ]
    scale = 1 + load * b[-1]
    return 1 - b[-1] / scale, places - sum(b) / scale


@pytest.mark.parametrize("load", [0.05, 0.5, 0.8, 0.95, 1.0, 1.3, 3.0])
@pytest.mark.parametrize("places", [1, 2, 3, 5, 8, 12])
def test_m_d_1_k_against_another_closed_form(load: float, places: int) -> None:
    loss, packets = brun_garcia(load, places)
    assert queues.md1k_loss(load, places) == pytest.approx(loss, rel=1e-6, abs=1e-11)
    states = queues.md1k_states(load, places)
    assert states.sum() == pytest.approx(1)
    assert queues.mean_packets(states) == pytest.approx(packets, rel=1e-9)


@pytest.mark.parametrize("load", [0.3, 0.9, 1.0, 1.5])
@pytest.mark.parametrize("places", [1, 4, 30])
def test_m_m_1_k_against_its_formula(load: float, places: int) -> None:
    formula = 1 / (places + 1) if load == 1 else (1 - load) * load**places / (1 - load ** (places + 1))
    assert queues.mm1k_loss(load, places) == pytest.approx(formula)


def test_one_place_is_erlangs() -> None:
    """K = 1 loses rho / (1 + rho) whatever the service (Erlang B, insensitive)."""
    for load in (0.1, 1.0, 5.0):
        assert queues.md1k_loss(load, 1) == pytest.approx(load / (1 + load))
        assert queues.mm1k_loss(load, 1) == pytest.approx(load / (1 + load))


@pytest.mark.parametrize("load", [0.2, 0.6, 0.9])
def test_many_places_are_pollaczek_and_khinchine(load: float) -> None:
    """Waits of M/D/1 and M/M/1 without limit: rho / (2 (1 - rho)) and rho / (1 - rho) times of service."""
    assert queues.mean_wait(queues.md1k_states(load, 400), load) == pytest.approx(load / (2 * (1 - load)))
    assert queues.mean_wait(queues.mm1k_states(load, 400), load) == pytest.approx(load / (1 - load))


def test_far_tails_do_not_drown_in_rounding() -> None:
    """The loss of M/D/1/K falls by the same factor a place, exp(-theta): load (e^theta - 1) = theta."""
    load = 0.5
    theta = 1.0
    for _ in range(200):
        theta = math.log1p(theta / load)
    ratios = [queues.md1k_states(load, k + 1)[k] / queues.md1k_states(load, k + 1)[k - 1] for k in (5, 8)]
    assert ratios == pytest.approx([math.exp(-theta)] * 2, rel=1e-3)
    overloaded = queues.md1k_loss(1.25, 5000)
    assert overloaded == pytest.approx(0.2)


def test_places_for_a_loss() -> None:
    for model in (queues.md1k_loss, queues.mm1k_loss):
        for target in (0.2, 0.01, 1e-3):
            places = queues.places_for(target, 0.9, model)
            assert model(0.9, places) <= target < model(0.9, places - 1)
    assert queues.places_for(0.5, 0.01) == 1


def test_the_simulator_is_an_m_d_1_k() -> None:
    """scenarios/mdk1.toml: four and five places to wait, K one more: loss, utilisation, queue."""
    results = pl.sweep(pl.Scenario.load(SCENARIOS / "mdk1.toml").set("duration", "500 s").seeds(10))
    for settings, runs in results.by_settings():
        places = int(settings["network.links.link.buffer"].split()[0]) + 1
        states = queues.md1k_states(0.8, places)
        expected = {
            "loss_ratio": states[-1],
            "utilisation": 1 - states[0],
            "queue_mean_bytes": 1000 * float(np.maximum(np.arange(places + 1) - 1, 0) @ states),
        }
        for name, theory in expected.items():
            found = runs.interval(f"links.link.{name}")
            assert found is not None
            assert found.half is not None
            assert found.half < 0.02 * theory
            assert abs(found.mean - theory) < 1.5 * found.half


@pytest.mark.parametrize("load", [0.3, 0.8, 1.0])
def test_two_periodic_streams_over_one_place(load: float) -> None:
    """They meet within a packet's time with probability `load`, and one of the two is lost for ever then."""
    exact = load * (1 - load / 2)
    assert periodic_streams.utilisation(2, load, 0) == pytest.approx(exact, rel=0.04)


@pytest.mark.parametrize(("streams", "load"), [(1, 0.7), (1, 1.2), (10, 0.9), (10, 1.2)])
def test_periodic_streams_that_all_have_room_lose_nothing_below_the_rate(streams: int, load: float) -> None:
    assert periodic_streams.utilisation(streams, load, streams) == pytest.approx(min(load, 1.0), abs=1e-9)


@pytest.mark.parametrize(("load", "waiting"), [(0.8, 1), (1.0, 4), (1.055, 7)])
def test_many_periodic_streams_are_m_d_1_k(load: float, waiting: int) -> None:
    used = 1 - queues.md1k_states(load, waiting + 1)[0]
    assert periodic_streams.utilisation(1000, load, waiting) == pytest.approx(used, rel=5e-3)
    assert periodic_streams.utilisation(10, load, waiting) > used


def test_the_simulator_is_a_sum_of_periodic_streams() -> None:
    """Twenty constant rates that start at random within a period, over four places to wait in."""
    streams, packet = 20, 1000
    period_ms = 8e-3 * packet * streams / 10  # each offers a twentieth of 10 Mbit/s
    scenario = pl.Scenario(
        {
            "title": "Evenly spaced streams",
            "duration": "1 s",
            "warmup": "500 ms",
            "network": {
                "template": "dumbbell",
                "counts": "waiting",
                "core": {"rate": "10 Mbit/s", "delay": "1 ms", "buffer": "4 packets"},
                "access": {"hosts": streams, "rate": "10 Gbit/s", "delay": "1 ms"},
            },
            "traffic": [
                {
                    "name": "even",
                    "kind": "cbr",
                    "packet": f"{packet} B",
                    "rate": f"{10 / streams:g} Mbit/s",
                    "start": f"0 ms .. {period_ms:g} ms",
                }
            ],
            "probes": {},
        }
    )
    found = pl.sweep(scenario.seeds(300)).interval("links.core.utilisation")
    assert found is not None
    assert found.half is not None
    told = periodic_streams.utilisation(streams, 1.0, 4)
    assert abs(found.mean - told) < 1.5 * found.half
    assert found.half < 0.01
