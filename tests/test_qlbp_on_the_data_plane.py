"""QLBP, Fig. 9 to 12 (section IV-A), with the inline pacer and this machine's own TCP in place of the simulator."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import paceline as pl
import pytest
from paceline.emulate import capabilities, emulate, programs
from paceline.papers.qlbp import fig9

sys.path.insert(0, str(Path(__file__).parent))
import wire as net

ROOT = Path(__file__).parent.parent
REASON = net.why_not()


def _why_not() -> str | None:
    try:
        capabilities.require()
        for name in ("paceline-wires", "paceline-traffic", "paceline-pace"):
            programs.find(name)
    except pl.InputError as error:
        return str(error)
    return None


@pytest.mark.skipif(_why_not() is not None, reason=str(_why_not()))
def test_a_flow_s_packets_leave_all_along_the_round_trip() -> None:
    """Fig. 9 and 10: unpaced they leave as a bunch at the beginning of each."""
    silences = {}
    for method in ("none", "qlbp"):
        asked = pl.Scenario.load(ROOT / "scenarios" / "kernel" / "qlbp-one-flow.toml").to_dict()
        del asked["sweep"]
        asked |= {"duration": "6 s", "warmup": "3 s"}
        asked["pacing"] |= {"method": method}
        asked["probes"]["departures"] |= {"from": "3 s", "to": "6 s"}
        scenario = pl.Scenario(asked)
        silences[method] = [fig9.silence_s(run) for run in (pl.run(scenario), emulate(scenario)[0])]
    for unpaced, paced in zip(silences["none"], silences["qlbp"], strict=True):
        assert paced < unpaced / 3
    for simulated, real in silences.values():
        assert real == pytest.approx(simulated, rel=0.5)


@pytest.fixture
def wire() -> Iterator[net.Wire]:
    with net.wire() as made:
        yield made


@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.parametrize(("rate_bps", "for_s"), [(200e3, 3.0), (3e6, 2.0)])
def test_a_constant_rate_leaves_as_it_came(wire: net.Wire, rate_bps: float, for_s: float) -> None:
    """Fig. 11 and 12: below mu_min and above it, all is sent at its rate, and none waits for long."""
    qlbp = "--method qlbp --mu-min 1.2Mbit/s --mu-max 200Mbit/s --q-max"
    pacer = wire.start(*qlbp.split(), "100 packets")
    with net.Stream(wire, gap_s=1500 * 8 / rate_bps, size=1500) as stream:
        time.sleep(for_s)
    forward = pacer.stop()["forward"]
    came = stream.received
    assert came.numbers == list(range(len(stream.sent_ns)))
    assert forward["sent"]["packets"] == len(came.numbers)
    assert forward["bypassed"]["packets"] == 0
    waited_s = (np.array(came.at_ns) - np.array(came.sent_ns)) / 1e9
    assert np.median(waited_s) < 0.1 * 1500 * 8 / rate_bps  # each finds the queue empty
