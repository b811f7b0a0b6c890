"""How long 500 finite transfers take, their connections and lost SYNs included: as long as in ns-2 2.35.

Made by benches/peers/transfers.py. In four of five seeds the means and percentiles are ns-2's to the digits recorded.
In the third, at 1.015169015 s, a packet arrives as another leaves: by the rule it goes first and is dropped, but ns-2's
sums of doubles have it 1.8 fs later, and it finds a place free. What follows differs, and the mean is 3 % more.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent.parent / "benches" / "peers")]

import transfers  # noqa: E402


@pytest.mark.parametrize("seed", transfers.SEEDS)
def test_transfers_take_as_long_as_in_ns2(seed: int) -> None:
    flows = transfers.run_paceline(seed).flows
    mean, p99 = transfers.recorded()[seed]
    assert flows.transfers == transfers.TRANSFERS
    tolerance = 0.04 if seed == 3 else 1e-4
    assert flows.fct_mean_s == pytest.approx(mean, rel=tolerance)
    assert flows.fct_p99_s == pytest.approx(p99, rel=tolerance)
    # Without the handshake, 40 ms, and the three seconds of a lost SYN, it was far too little.
    assert flows.fct_data_mean_s is not None
    assert flows.fct_data_mean_s < 0.9 * mean
