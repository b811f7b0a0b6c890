"""Twenty flows with delayed acknowledgements at buffers of one to three packets: as on Linux 6.18 (docs/emulate.md)."""

from __future__ import annotations

import statistics

import paceline as pl
import pytest

#: By packets of buffer: utilisation, loss, and timeouts within 15 s; medians of four to ten runs of `paceline emulate`.
#: Single runs lie within 2 %, 3 % and 40 % of them.
KERNEL = {1: (0.387, 0.176, 89), 2: (0.677, 0.100, 56), 3: (0.825, 0.0772, 27)}


def simulated(packets: int, seed: int) -> pl.Result:
    scenario = {
        "duration": "20 s",
        "warmup": "5 s",
        "network": {
            "template": "path",
            "links": [
                {"name": "access", "rate": "100 Mbit/s", "delay": "5 ms"},
                {"name": "core", "rate": "20 Mbit/s", "delay": "20 ms", "buffer": f"{packets} packets"},
            ],
        },
        "traffic": [{"kind": "bulk", "count": 20, "tcp": {"profile": "linux", "variant": "sack"}}],
    }
    return pl.run(scenario, seed)


@pytest.mark.parametrize("packets", KERNEL)
def test_the_buffer_loses_what_it_loses_on_the_kernel(packets: int) -> None:
    """The medians of ten seeds."""
    runs = [simulated(packets, seed) for seed in range(1, 11)]
    utilisation, loss, timeouts = KERNEL[packets]
    core = [run.links["core"] for run in runs]
    assert statistics.median(link.utilisation for link in core) == pytest.approx(utilisation, rel=0.02)
    assert statistics.median(link.loss_ratio or 0.0 for link in core) == pytest.approx(loss, rel=0.03)
    assert statistics.median(run.flows.timeouts or 0 for run in runs) == pytest.approx(timeouts, rel=0.25)
