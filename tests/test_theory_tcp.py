"""Throughput formulas of TCP against hand calculations, a draw of PFTK's own rounds, and the simulator."""

from __future__ import annotations

import math
from inspect import signature

import numpy as np
import paceline as pl
import pytest
from paceline.theory import small_buffer_tcp
from paceline.theory import tcp_throughput as tcp


def test_the_square_root_law() -> None:
    """Mathis: 1.22 / (RTT √p); 1 % and 100 ms are 122 packets a second, and 87 with delayed acknowledgements."""
    assert tcp.square_root(0.01, "100 ms") == pytest.approx(122.47, abs=0.01)
    assert tcp.square_root(0.01, "100 ms", delayed=2) == pytest.approx(86.60, abs=0.01)


def test_rfc_5348_by_hand() -> None:
    """p = 1 %, R = 100 ms, t_RTO = 400 ms: 1 / (0.1 · 0.0816497 + 0.4 · 3 · 0.0612372 · 0.01 · 1.0032)."""
    assert tcp.rfc5348(0.01, "100 ms") == pytest.approx(1 / (0.00816497 + 0.00073720), rel=1e-5)
    assert tcp.rfc5348(0.01, 0.1, 0.2) > tcp.rfc5348(0.01, 0.1)


def test_the_full_model_has_the_right_limits() -> None:
    """Few losses: the square root's. A small window: W_max / RTT."""
    for delayed in (1, 2):
        root = tcp.square_root(1e-8, 0.1, delayed=delayed)
        assert tcp.pftk(1e-8, 0.1, 0.4, delayed=delayed) == pytest.approx(root, rel=2e-3)
    assert tcp.pftk(1e-7, 0.1, 0.4, max_window=20) == pytest.approx(200, rel=1e-3)
    rates = tcp.pftk(np.geomspace(1e-5, 0.9, 60), 0.1, 0.4, max_window=40)
    assert (np.diff(rates) < 0).all()


def test_an_acknowledgement_a_packet_unless_said_otherwise() -> None:
    """In every formula: beside each other they are of the same receiver."""
    formulas = [tcp.square_root, tcp.rfc5348, tcp.pftk]
    assert {signature(formula).parameters["delayed"].default for formula in formulas} == {1}
    assert tcp.pftk(1e-8, 0.1, 0.4) == pytest.approx(tcp.square_root(1e-8, 0.1), rel=2e-3)


def drawn_rounds(p: float, trip: float, timeout: float, most: float, seed: int, losses: int) -> float:
    """Packets a second of PFTK's own process, b = 2: rounds, independent first losses, timeouts that back off."""
    random = np.random.default_rng(seed)
    window, sent, clock = 1.0, 0, 0.0
    for _ in range(losses):
        to_loss = int(random.geometric(p))  # this one is lost
        grown = 0
        while True:
            size = max(int(window + random.random()), 1)  # in the mean, the window
            clock += trip
            if to_loss > size:
                to_loss -= size
                sent += size
                grown += 1
                window = min(window + 0.5, most)  # a packet every b rounds
                continue
            # The rest of this round is lost; one more round of what came before it tells.
            sent += size
            delivered = to_loss - 1
            survived = 0
            while survived < delivered and random.random() >= p:
                survived += 1
            sent += delivered
            clock += trip
            break
        window = max(window / 2, 1.0)  # after a timeout too, as the model has it
        if survived >= 3:
            continue
        wait = timeout
        while True:
            clock += wait
            sent += 1
            if random.random() >= p:
                break
            wait = min(2 * wait, 64 * timeout)
    return sent / clock


@pytest.mark.parametrize("p", [0.003, 0.01, 0.03, 0.1])
def test_the_full_model_against_its_own_rounds_drawn(p: float) -> None:
    """The model puts means where the draw has whole windows of every size: 15 % where these are a few packets."""
    found = drawn_rounds(p, 0.1, 0.4, 64, seed=3, losses=20_000)
    assert tcp.pftk(p, 0.1, 0.4, max_window=64, delayed=2) == pytest.approx(found, rel=0.15)


@pytest.mark.parametrize("p", [0.001, 0.01, 0.03])
def test_a_simulated_flow_gets_what_the_formulas_say(p: float) -> None:
    """SACK under independent losses has fewer timeouts than Reno (RFC 5348), and some (none in the square root)."""
    scenario = pl.Scenario(
        {
            "duration": "2000 s",
            "warmup": "20 s",
            "network": {"template": "path", "links": [{"name": "link", "rate": "1 Gbit/s", "delay": "50 ms"}]},
            "traffic": [{"kind": "bulk", "tcp": {"variant": "sack", "profile": "rfc", "payload": "1000 B"}}],
            "drop": [{"link": "link", "probability": p}],
        }
    )
    run = pl.run(scenario)
    assert run.flows.goodput_mean_bps is not None
    rate = run.flows.goodput_mean_bps / 8000
    assert 0.95 * tcp.rfc5348(p, 0.1, 1.0) * (1 - p) < rate < 1.05 * tcp.square_root(p, 0.1)


def rest_by_steps(share: float, places: float, window: float, rounds: int = 400) -> tuple[float, float]:
    """The model's delay equation by small steps, in round trips, and how far the last rounds swing."""
    steps = 500
    past = [window] * (steps + 1)
    for _ in range(rounds * steps):
        delayed = past[-steps - 1]
        loss = min((delayed / share) ** places, 1.0)
        past.append(past[-1] + (1 - past[-1] / 2 * delayed * loss) / steps)
    last = past[-20 * steps :]
    return sum(last) / len(last), (max(last) - min(last)) / (sum(last) / len(last))


@pytest.mark.parametrize(("share", "places", "steady"), [(10.0, 3.0, True), (10.0, 30.0, False), (40.0, 30.0, True)])
def test_the_fluid_model_rests_where_it_says(share: float, places: float, steady: bool) -> None:
    found = small_buffer_tcp.rest(share, places)
    assert found.window**2 * found.loss == pytest.approx(2)
    assert found.loss == pytest.approx(found.load**places)
    assert found.utilisation == pytest.approx(found.load * (1 - found.loss))
    assert found.stable is steady
    window, swing = rest_by_steps(share, places, found.window * 1.02)
    assert (swing < 1e-3) is steady
    if steady:
        assert window == pytest.approx(found.window, rel=5e-3)


def test_without_a_buffer_the_link_is_full_and_loses_the_rest() -> None:
    found = small_buffer_tcp.rest(5.0)
    assert found.loss == pytest.approx(1 - 1 / found.load)
    assert found.utilisation == pytest.approx(1)
    assert found.window == pytest.approx(math.sqrt(2 / found.loss))
