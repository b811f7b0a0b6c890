"""QLBP's cost beside a pacer of flows: models against their laws and a run, and a verdict that follows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import paceline as pl
import pytest
import synthetic
from paceline.papers import Length, Runs, select
from paceline.papers.qlbp import cost

COST = select(["qlbp-cost"])[0]
QUICK = Length(quick=True)


def drawn(seed: int, flows: int, number: int = 3000) -> cost.Packets:
    """Packets of two sizes at a mean of 83 Mbit/s, that leave as the model has it."""
    random = np.random.default_rng(seed)
    sizes = random.choice([40.0, 1000.0], number, p=[0.1, 0.9])
    arrivals = np.round(np.cumsum(random.exponential(87e3, number)))
    departures = cost.qlbp(arrivals, sizes)[0]
    return cost.Packets(arrivals, sizes, random.integers(0, flows, number), departures)


@pytest.mark.parametrize("flows", [1, 7, 300])
def test_a_pacer_of_flows_keeps_each_flows_own_law(flows: int) -> None:
    run = drawn(3, flows)
    releases, compared = cost.by_flow(run)
    earliest: dict[int, float] = {}
    for arrival, flow, apart, release in zip(run.arrivals, run.flows, cost.gaps(run), releases, strict=True):
        assert release == max(arrival, earliest.get(flow, arrival))
        earliest[flow] = release + apart
    assert (compared == 0) is (flows == 1)
    assert compared / len(releases) < 4 * np.log2(max(flows, 2))


def test_flows_are_remembered_until_their_next_packet_may_go() -> None:
    """Two flows of two packets, 1000 B each in 10 us: their gap is of 1.2 times 2000 B in that time, 4.17 us."""
    arrivals, flows = np.array([0.0, 1e3, 6e3, 10e3]), np.array([0, 1, 1, 0])
    run = cost.Packets(arrivals, np.full(4, 1000.0), flows, arrivals)
    assert cost.gaps(run) == pytest.approx(np.full(4, 10e3 / 2.4))
    assert cost.remembered(run, arrivals) == 2  # from 1 to 4.17 us
    apart = run._replace(arrivals=np.array([0.0, 4.5e3, 9e3, 13.5e3]))
    assert cost.remembered(apart, apart.arrivals) == 2  # gaps are longer as well: 5.6 us
    assert cost.remembered(run._replace(flows=np.zeros(4, int)), arrivals) == 1


def test_the_model_without_flows_is_the_simulated_pacer() -> None:
    scenario = COST.sweeps(QUICK)["main"].to_dict() | {"duration": "2 s", "warmup": "1 s"}
    scenario.pop("sweep", None)
    run = pl.Scenario(scenario).set(cost.COUNT, 50).seeds(1)
    work = [cost.work_of(cost.packets(one)) for one in pl.sweep(run)]
    assert work[0].apart < 1
    assert 1.5 < work[0].rates <= cost.RATES


def runs(late_ns: float = 0.0) -> Runs:
    def numbers(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        run = drawn(seed, int(settings[cost.COUNT]), 15_000)
        came = run.arrivals - cost.IN_NS - run.sizes * 8 / cost.FAST_GBPS
        left = run.departures + late_ns
        series = {
            "link": [cost.IN] * len(came) + [cost.PACED] * len(left),
            "time_ns": np.concatenate([came, left]),
            "bytes": np.tile(run.sizes, 2),
            "flow": np.tile(run.flows, 2),
        }
        return {"series": series, "window_s": [0.0, 1.0]}

    return synthetic.runs(COST, numbers, QUICK)


def failed(some: Runs) -> list[str]:
    return [row.statistic for row in COST.check(some).evidence if row.ok is False]


def test_the_models_own_departures_are_met_and_others_are_not() -> None:
    some = runs()
    verdict = COST.check(some)
    assert verdict.verdict == "reproduced", failed(some)
    assert "remembers no flow" in verdict.note
    assert COST.draw(some)[0].svg.startswith("<svg")
    late = failed(runs(late_ns=2e3))
    assert len(late) == len(cost.FLOWS)
    assert all("departures simulated" in one for one in late)


def test_a_timing_wheel_compares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    by_flow = cost.by_flow
    monkeypatch.setattr(cost, "by_flow", lambda run: (by_flow(run)[0], 0))
    wrong = failed(runs())
    assert sum("times compared" in one for one in wrong) == 3
    assert not any("remembered" in one or "departures" in one for one in wrong)


def test_state_that_does_not_grow_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "remembered", lambda run, releases: 1.0)
    assert sum("remembered" in one for one in failed(runs())) == 3
