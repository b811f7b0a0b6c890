"""Fig. 3 of the edge paper: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import synthetic
from paceline.papers import Length, select

GOODPUT, REGION = (select([f"edge-fig3-{name}"])[0] for name in ("goodput", "region"))
PRINTED = {"none": 82e3, "host": 82e3, "edge 10 ms": 93e3}


def numbers(settings: Mapping[str, str], seed: int, **change: float) -> dict[str, Any]:
    """As the paper has it; `change` multiplies the goodput of a method."""
    method = settings["pacing"]
    goodput = PRINTED[method] * change.get(method.split()[0], 1.0) + seed
    return {
        "flows.goodput_mean_bps": goodput,
        "links.core.throughput_bps": goodput * 1000,
    }


def test_the_numbers_printed_are_reproduced() -> None:
    verdict = GOODPUT.check(synthetic.runs(GOODPUT, numbers))
    assert verdict.verdict == "reproduced"
    assert verdict.ours["edge_kbps"] == pytest.approx(93, abs=0.01)


@pytest.mark.parametrize(("share", "outcome"), [(0.96, "reproduced"), (0.94, "partly"), (1.06, "partly")])
def test_one_number_out_of_three_may_fail(share: float, outcome: str) -> None:
    runs = synthetic.runs(GOODPUT, lambda settings, seed: numbers(settings, seed, edge=share, host=min(share, 1)))
    assert GOODPUT.check(runs).verdict == outcome


def test_three_means_near_the_printed_ones_need_the_gain_too() -> None:
    runs = synthetic.runs(GOODPUT, lambda settings, seed: numbers(settings, seed, edge=0.97, host=1.02))
    failed = [row.statistic for row in GOODPUT.check(runs).evidence if row.ok is False]
    assert failed == ["goodput at 5 KB: edge 10 ms over host, less 1"]


def test_none_of_four_is_not_reproduced() -> None:
    runs = synthetic.runs(GOODPUT, lambda settings, seed: numbers(settings, seed, edge=1.5, host=2, none=2))
    assert GOODPUT.check(runs).verdict == "not reproduced"


def test_the_order_must_hold_outside_the_interval_at_every_point() -> None:
    assert REGION.check(synthetic.runs(REGION, numbers)).verdict == "reproduced"
    alike = synthetic.runs(REGION, lambda settings, seed: numbers(settings, seed, host=93 / 82))
    assert REGION.check(alike).verdict == "partly"
    one_seed = synthetic.runs(REGION, numbers, Length(seeds=1))
    assert REGION.check(one_seed).verdict == "not reproduced"


@pytest.mark.parametrize("length", [Length(), Length(quick=True)])
def test_the_order_has_five_points_at_least(length: Length) -> None:
    evidence = REGION.check(synthetic.runs(REGION, numbers, length)).evidence
    for order in (
        *(f"{what}: edge 10 ms − {other}" for what in ("throughput", "goodput") for other in ("none", "host")),
    ):
        assert sum(row.statistic.startswith(order) for row in evidence) >= 5


def test_pictures_are_the_same_bytes_each_time() -> None:
    first, second = (GOODPUT.draw(synthetic.runs(GOODPUT, numbers)) for _ in range(2))
    assert first == second
    assert first[0].svg.startswith("<svg")
    assert "currentColor" in first[0].svg
