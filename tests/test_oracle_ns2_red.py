"""ns-2's own reference traces of RED: every data packet at the queue, as it comes and as it leaves, within 0.1 ms.

As test_oracle_ns2_ecn.py, with ns-2's own draws. A queue that acts hangs on the order of simultaneous events, since
what acknowledgements clock comes as others leave; where ns-2's doubles order them otherwise than Paceline, the traces
part. `PACELINE_FULL=1` compares them whole.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ns2_networks import Network
from ns2_red_suites import RED_SUITES, ROUNDED
from ns2_replay import agree_with_shipped, first_tie


def rounded(network: Network) -> bool:
    """Rounding decides something in it."""
    return network.suite == "adaptive-red" and network.name in ROUNDED


@pytest.mark.parametrize("network", [one for one in RED_SUITES if not rounded(one)], ids=str)
def test_what_ns2_ships(network: Network, tmp_path: Path) -> None:
    assert agree_with_shipped(network, tmp_path) > 800


@pytest.mark.parametrize("network", [one for one in RED_SUITES if rounded(one)], ids=str)
def test_where_rounding_decides(network: Network, tmp_path: Path) -> None:
    """The first packet that finds another queue than in ns-2 comes as another leaves, and all is equal before."""
    when, from_a_departure, difference = first_tie(network, tmp_path)
    assert from_a_departure == 0
    assert when < difference
