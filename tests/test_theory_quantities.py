"""What the formulas of `paceline.theory` take, and how they refuse the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import paceline as pl
import pytest
from paceline import theory
from paceline.theory import quantities


def test_text_and_numbers_are_the_same_quantity() -> None:
    """By the parser of scenarios: 1 KB is 1000 B, 1 KiB is 1024 B."""
    assert quantities.answer(quantities.rate("100 Mbit/s", "rate")) == 100e6
    assert quantities.answer(quantities.time("1.5 ms", "time")) == 1.5e-3
    assert quantities.answer(quantities.size("5 KB", "size")) == 5000
    assert quantities.answer(quantities.size("5 KiB", "size")) == 5120
    assert theory.qlbp.delay_bound("150 KB", "300 Mbit/s") == theory.qlbp.delay_bound(150_000, 300e6)


def test_arrays_give_arrays_and_numbers_floats() -> None:
    one = theory.inflection.flows("1 Gbit/s", "30 ms", "64 KB")
    several = theory.inflection.flows("1 Gbit/s", "30 ms", ["64 KB", "128 KB"])
    assert type(one) is float
    assert isinstance(several, np.ndarray)
    assert several.tolist() == [one, one / 2]
    assert theory.edge_delay.loss_bound(np.array([[0.5], [0.9]]), np.array([1, 2, 3])).shape == (2, 3)
    assert theory.finite_queues.mm1k_loss(np.array([[0.5, 0.6]]), 3).shape == (1, 2)


OUTSIDE: list[tuple[Callable[[], object], str]] = [
    (lambda: theory.qlbp.delay_bound("150", "1 Mbit/s"), 'q_max: "150" has no unit; write for example "150 KB"'),
    (lambda: theory.qlbp.delay_bound("1 s", "1 Mbit/s"), "q_max: "),
    (lambda: theory.qlbp.delay_bound("1 KB", 0), "mu_max: 0 is outside its domain; write a number above 0"),
    (lambda: theory.qlbp.delay_bound([[1], [2, 3]], 1), "q_max: [[1], [2, 3]] is not a size; write "),
    (lambda: theory.qlbp.delay_bound([1, None], 1), "q_max: nan is outside its domain; write "),
    (lambda: theory.qlbp.steady_queue(1e6, 3e6, 2e6, 1000), "mu_min: 3e+06 bit/s is not below mu_max"),
    (lambda: theory.qlbp.parameters(1e6, 1.2, 0.01), "load: 1.2 is outside its domain; write a number above 0 and"),
    (lambda: theory.qlbp.service_rate(1, 1, 2e6, 1000, 1e6), "capacity: 1e+06 is outside its domain"),
    (lambda: theory.qlbp.steady_packets(1e6, 1, 2e6, 0), "q_max_packets: 0 is outside its domain"),
    (lambda: theory.qlbp_response.step_response(1, 3e6, 0, 2e6, 1000), "source: 3e+06 is outside its domain"),
    (lambda: theory.qlbp_response.response_constant(2, 2, 1000), "mu_min: 2 bit/s is not below mu_max"),
    (lambda: theory.qlbp_response.settling_time(1, 0, 2, 1000), "share: 1 is outside its domain"),
    (lambda: theory.on_off.covariance(-1, 1e6, 0.1, 0.1), "lag: -1 is outside its domain"),
    (lambda: theory.on_off.paced_covariance(0, 1e6, 0.1, 0.1, 0), "alpha: 0 is outside its domain"),
    (lambda: theory.on_off.mean_rate(1e6, 0, 0.1), "on: 0 is outside its domain"),
    (lambda: theory.edge_delay.loss_bound(1, 3), "load: 1 is outside its domain; write a number above 0 and below 1"),
    (lambda: theory.edge_delay.loss_bound([0.5, 1.5], 3), "load: 1.5 is outside its domain"),
    (lambda: theory.edge_delay.throughput(0.1, 0), "loss: 0 is outside its domain"),
    (lambda: theory.edge_delay.throughput_measure(0.5, "10"), 'delay: "10" has no unit'),
    (lambda: theory.edge_pacer.rate_bound(1000, 0, 0), "delay: 0 is outside its domain"),
    (lambda: theory.empty_buffer.load(5, 0), "scale: 0 is outside its domain"),
    (lambda: theory.empty_buffer.buffer_for(1, 5), "load: 1 is outside its domain"),
    (lambda: theory.empty_buffer.fit([1, 2, 3], [0.5, 0.6]), "load: write a load for each of two or more buffers"),
    (lambda: theory.empty_buffer.fit([1, 2], [0.5, 1.6]), "load: 1.6 is outside its domain"),
    (lambda: theory.finite_queues.md1k_loss(0.9, 0), "places: 0 is outside its domain; write a whole number, 1 or"),
    (lambda: theory.finite_queues.md1k_loss(0.9, 2.5), "places: 2.5 is outside its domain"),  # type: ignore[arg-type]
    (lambda: theory.finite_queues.mm1k_loss(0, 3), "load: 0 is outside its domain"),
    (lambda: theory.finite_queues.places_for(0.01, 1.2), "loss: load 1.2 loses 0.167 over any buffer"),
    (lambda: theory.inflection.flows(1e9, 0, 1000), "round_trip: 0 is outside its domain"),
    (lambda: theory.burst_model.probability(10, 0.02, 0.1), "interval: a flow has more than one packet in it"),
    (lambda: theory.burst_model.packets(3, 1.5), "chance: 1.5 is outside its domain"),
    (lambda: theory.buffer_rules.many_flows(1e9, 0.1, 0), "flows: 0 is outside its domain"),
    (lambda: theory.buffer_rules.tiny_packets(100, 1), "load: 1 is outside its domain"),
    (lambda: theory.buffer_rules.one_flow_utilisation(float("nan")), "buffer_of_bdp: nan is outside its domain"),
    (lambda: theory.small_buffer_tcp.rest(0), "share: 0 is outside its domain"),
    (lambda: theory.tcp_throughput.pftk(1, 0.1, 0.2), "loss: 1 is outside its domain"),
    (lambda: theory.tcp_throughput.square_root(0.1, "fast"), "round_trip: "),
    (lambda: theory.variation.coefficient([0, 0]), "series: has no variation"),
    (lambda: theory.variation.hurst_of_on_off(2), "shape: 2 is outside its domain; write a number above 1 and below 2"),
]


@pytest.mark.parametrize(("call", "words"), OUTSIDE, ids=[words[:40] for _, words in OUTSIDE])
def test_what_is_outside_a_domain_is_refused_in_one_line(call: Callable[[], object], words: str) -> None:
    with pytest.raises(pl.InputError) as error:
        call()
    assert str(error.value).startswith(words)
    assert "\n" not in str(error.value)
    assert isinstance(error.value, ValueError)
