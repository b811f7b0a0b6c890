"""ns-2's own reference traces of several flows: every data packet in the same order, at the link within 0.1 ms.

As test_oracle_ns2_suites.py, but several flows meet at the queue. Where `ns` is installed, the same networks and drawn
ones run again with times that are exact in binary: no order of simultaneous events hangs on rounding then.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ns2_network_suites import NETWORKS, ROUNDED, drawn
from ns2_networks import Network
from ns2_replay import agree, both, compare, needs_ns


@pytest.mark.parametrize("network", [network for network in NETWORKS if str(network) not in ROUNDED], ids=str)
def test_what_ns2_ships(network: Network, tmp_path: Path) -> None:
    compare(network, *both(network, tmp_path))


@needs_ns
@pytest.mark.parametrize("network", [network for network in NETWORKS if network.may_be_exact], ids=str)
def test_ns2_where_times_are_exact(network: Network, tmp_path: Path) -> None:
    """Simultaneous events abound, and rounding orders none of them."""
    agree(network.exact(), tmp_path)


@needs_ns
@pytest.mark.parametrize("seed", range(30))
def test_ns2_on_drawn_networks(seed: int, tmp_path: Path) -> None:
    agree(drawn(seed), tmp_path)
