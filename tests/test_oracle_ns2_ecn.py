"""ns-2's own reference traces of ECN: every data packet at the queue, as it comes and as it leaves, within 0.1 ms.

As test_oracle_ns2_networks.py; drops and marks are the same packets too. Where `ns` is installed, marks and drops of
drawn packets besides.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ns2_ecn_suite import ECN_SUITE, drawn
from ns2_networks import Network
from ns2_replay import agree_with_shipped, first_difference, made, needs_ns, run


@pytest.mark.parametrize("network", ECN_SUITE, ids=str)
def test_what_ns2_ships(network: Network, tmp_path: Path) -> None:
    assert agree_with_shipped(network, tmp_path) > 300


def test_the_suite_is_whole() -> None:
    assert len({network.name for network in ECN_SUITE}) == len(ECN_SUITE) == 84


@needs_ns
@pytest.mark.parametrize("seed", range(40))
def test_ns2_on_drawn_networks(seed: int, tmp_path: Path) -> None:
    network = drawn(seed)
    phases_ns, theirs = made(network, tmp_path)
    ours = run(network, phases_ns, tmp_path)
    end = network.duration_ms * 1_000_000 - 1_000_000
    difference = first_difference(*([row[:3] for row in rows if row[0] < end] for rows in (ours, theirs)))
    assert difference is None, f"{network}: the first difference is {difference}"
