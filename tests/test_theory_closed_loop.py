"""The closed-loop model of edge pacing: both of its halves hold at its rest, and its limits are what they should be."""

from __future__ import annotations

import numpy as np
import pytest
from paceline import InputError, theory
from paceline.theory.closed_loop import Link, burst, paced_burst, predicted, rest

LINK = Link("100 Mbit/s", "1040 B", 6, "150 ms", 200)


@pytest.mark.parametrize("size", [0.3, 1.0, 4.0, 20.0])
def test_tcp_and_buffer_agree_at_rest(size: float) -> None:
    found = rest(LINK, size)
    sent = LINK.flows * theory.tcp_throughput.pftk(found.loss, "150 ms", "225 ms") / LINK.packets_a_second
    assert sent == pytest.approx(found.load, rel=1e-4)
    idle = (found.load - 1) / np.expm1(2 * (found.load - 1) * 7 / (size * found.load))
    assert found.utilisation == pytest.approx(1 - idle, rel=1e-4)
    assert found.loss == pytest.approx(1 - found.utilisation / found.load)


def test_bursts_cost_and_are_found_again() -> None:
    used = [rest(LINK, size).utilisation for size in (0.5, 1, 2, 4, 8, 16)]
    assert used == sorted(used, reverse=True)
    assert [burst(LINK, one) for one in used] == pytest.approx([0.5, 1, 2, 4, 8, 16], rel=1e-3)


def test_single_packets_lose_as_in_a_queue_of_poisson_arrivals() -> None:
    """In heavy traffic, where both hold: M/D/1/K has half the variance of the wait, and loses the same at load 1."""
    loss = theory.finite_queues.md1k_loss(0.999, 60)
    load = 0.999
    idle = (load - 1) / np.expm1(2 * (load - 1) * 60 / load)
    assert 1 - (1 - idle) / load == pytest.approx(loss, rel=0.02)


def test_a_pacer_leaves_the_burst_where_it_holds_nothing_and_single_packets_where_it_holds_much() -> None:
    assert paced_burst(8, 0, 10, 12_000) == 8
    assert paced_burst(8, "1000 s", 10, 12_000) == pytest.approx(1, abs=0.01)
    assert paced_burst(0.7, "10 ms", 10, 12_000) == 0.7  # smoother already
    few, many = (paced_burst(8, "10 ms", edges, 12_000) for edges in (5, 50))
    assert 1 < few < many < 8


def test_delay_gains_until_it_costs() -> None:
    used = [predicted(LINK, 0.6, f"{delay} ms", 10).utilisation for delay in (0, 1, 5, 20, 100, 2000)]
    assert used[0] == pytest.approx(0.6, rel=1e-4)
    assert used[:4] == sorted(used[:4])
    assert used[5] < used[4]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: Link("100 Mbit/s", "1040 B", 0, "150 ms", 200), "buffer_packets"),
        (lambda: Link("100 Mbit/s", "1040 B", 6, "0 ms", 200), "round_trip"),
        (lambda: burst(LINK, 1.0), "utilisation"),
        (lambda: rest(LINK, 0), "burst"),
        (lambda: paced_burst(2, "1 ms", 0.5, 12_000), "edges"),
    ],
)
def test_what_lies_outside_is_refused(call, what: str) -> None:
    with pytest.raises(InputError, match=what):
        call()
