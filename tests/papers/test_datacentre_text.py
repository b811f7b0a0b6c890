"""Claims of the data-centre paper's text beside its figures: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import paceline as pl
import pytest
import synthetic
from paceline.papers import Length, select
from paceline.papers.datacentre import binomial, fairness, setups, timeouts
from paceline.papers.datacentre.testbed import COUNT, FCT, FCT_P99, HOSTS, LOSS, NONE, UTILISATION
from paceline.results.instruments import curves_of
from paceline.scenario import Scenario

NAMES = ("setups", "timeouts", "binomial", "fairness")
SETUPS, TIMEOUTS, BINOMIAL, FAIRNESS = (select([f"dc-{name}"])[0] for name in NAMES)


# --- other set-ups


def set_up(point: float, lost: float = 0.001) -> Mapping[str, synthetic.Numbers]:
    """Unpaced overtakes at so many times N*, and loses so much more."""

    def numbers(name: str) -> synthetic.Numbers:
        setup = setups.SETUPS[name.rpartition("-")[2]]
        bound = setup.product / setup.buffer

        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            unpaced = settings["pacing"] == NONE
            lead = 0.1 * (HOSTS * int(settings[COUNT]) / bound - point) if unpaced else 0.0
            noise = 1e-4 * (seed % 3) * unpaced
            return {UTILISATION: 0.7 + lead + noise, LOSS: 0.002 + lost * unpaced + noise / 100, FCT: 0.5 + noise}

        return one

    return {name: numbers(name) for name in SETUPS.sweeps(Length())}


def test_every_set_up_must_turn_over_between_half_and_twice_the_bound() -> None:
    assert SETUPS.check(synthetic.runs(SETUPS, set_up(1.4))).verdict == "reproduced"
    late = SETUPS.check(synthetic.runs(SETUPS, set_up(3.0)))
    failed = [row.statistic for row in late.evidence if row.ok is False]
    assert len(failed) == len(setups.SETUPS)
    assert all(statistic.startswith("utilisation, ") for statistic in failed)
    assert "with twice N* it is behind in 0 of 10" in late.note
    assert {name.rpartition(", ")[0] for name in late.ours} == {setup.words for setup in setups.SETUPS.values()}
    lossy = SETUPS.check(synthetic.runs(SETUPS, set_up(1.4, lost=-0.001)))
    assert sum(row.ok is False for row in lossy.evidence) == 2 * len(setups.SETUPS)


def test_set_ups_have_the_bound_and_flows_that_four_hosts_share() -> None:
    assert setups.SETUPS["figures"].flows == (12, 60)
    assert setups.SETUPS["1ms"].flows == (4, 20)
    assert {setup.product // setup.buffer for name, setup in setups.SETUPS.items() if name != "1ms"} == {29}


# --- reducing the timeout


def reduced(change: Mapping[tuple[int, int], float]) -> Mapping[str, synthetic.Numbers]:
    """Times of calls that a shorter timeout changes by so much, by buffer and flows."""

    def numbers(name: str) -> synthetic.Numbers:
        size = int(name.rpartition("-")[2])

        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            by = change.get((size, HOSTS * int(settings[COUNT])), 0.0) if not name.startswith("usual") else 0.0
            time = (0.5 + 0.001 * seed) * (1 + by + 1e-4 * (seed % 2) * (by != 0))
            return {FCT: time, FCT_P99: 2 * time, UTILISATION: 0.5}

        return one

    return {name: numbers(name) for name in TIMEOUTS.sweeps(Length())}


def test_often_is_at_more_than_half_of_the_settings() -> None:
    settings = [(size, flows) for size in timeouts.BUFFERS for flows in timeouts.FLOWS]
    some = TIMEOUTS.check(synthetic.runs(TIMEOUTS, reduced(dict.fromkeys(settings[:4], -0.2))))
    assert some.verdict == "reproduced"
    assert some.evidence[0].value == 4
    most = TIMEOUTS.check(synthetic.runs(TIMEOUTS, reduced(dict.fromkeys(settings[:5], -0.2))))
    assert most.verdict == "not reproduced"
    little = TIMEOUTS.check(synthetic.runs(TIMEOUTS, reduced(dict.fromkeys(settings, -0.04))))
    assert little.verdict == "reproduced"  # 4 % is no significant improvement


# --- arrivals of paced flows


def arrivals(factor: float, power: float = 1.0) -> Mapping[str, synthetic.Numbers]:
    """The law's coefficient of variation, times so much."""

    def numbers(name: str) -> synthetic.Numbers:
        flows = int(name.rpartition("-")[2])
        law = factor * binomial.law(flows, binomial.PACKETS * 0.95) ** power

        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            curve = synthetic.curve("rate_variation", [binomial.DELTA_S], [law * (1 + 1e-4 * seed)], link="core")
            return {"instruments": curve, "links.core.utilisation": 0.95}

        return one

    return {name: numbers(name) for name in BINOMIAL.sweeps(Length())}


@pytest.mark.parametrize(
    ("factor", "power", "outcome"), [(1.0, 1.0, "reproduced"), (1.2, 1.0, "partly"), (0.3, -1.0, "not reproduced")]
)
def test_the_law_must_be_met_at_each_number_of_flows_and_rise(factor: float, power: float, outcome: str) -> None:
    assert BINOMIAL.check(synthetic.runs(BINOMIAL, arrivals(factor, power))).verdict == outcome


def test_the_law_is_that_of_a_binomial() -> None:
    # of 4 flows each with a packet in half of the intervals: mean 2, variance 1
    assert binomial.law(4, 2.0) == pytest.approx(0.5)
    assert binomial.law(10**9, 2.0) == pytest.approx(2**-0.5)


@pytest.mark.parametrize(
    ("claim", "numbers"),
    [(SETUPS, set_up(1.4)), (TIMEOUTS, reduced({})), (BINOMIAL, arrivals(1.0))],
    ids=lambda one: getattr(one, "id", ""),
)
def test_pictures_are_the_same_bytes_each_time(claim: Any, numbers: Mapping[str, synthetic.Numbers]) -> None:
    runs = synthetic.runs(claim, numbers)
    assert claim.draw(runs) == claim.draw(runs)
    assert all(one.svg.startswith("<svg") and one.caption for one in claim.draw(runs))


# --- short-term fairness


def sharing(even: Mapping[int, float], tail: float = 0.5) -> synthetic.Numbers:
    """Paced connections share more evenly by so much in windows of each length, and have so much shorter a tail."""

    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        paced = settings["pacing"] != NONE
        noise = 1e-3 * (seed % 3)
        # one probe after the other, as runs have them: times start again with each
        x = [time for _ in fairness.WINDOWS_MS for time in (10.0, 11.0)]
        y = [
            0.8 + noise + even.get(ms, 0.0) * paced * (1 + noise) + change
            for ms in fairness.WINDOWS_MS
            for change in (-0.1, 0.1)
        ]
        columns = synthetic.together(synthetic.curve("jain", x, y), synthetic.curve("fct", [0.2, 1.0 + seed], [0.5, 1]))
        return {FCT_P99: 1.0 + noise - tail * paced * (1 + noise), "instruments": columns}

    return one


EVEN = dict.fromkeys(fairness.WINDOWS_MS, 0.1)


@pytest.mark.parametrize(
    ("even", "tail", "verdict", "failed"),
    [
        (EVEN, 0.5, "reproduced", 0),
        (EVEN | {100: -0.1}, 0.5, "partly", 5),
        (EVEN | {1000: 0.0}, 0.5, "partly", 5),
        (EVEN | {30: -0.1, 10_000: -0.1}, 0.5, "reproduced", 0),
        (EVEN, -0.5, "partly", 5),
        (dict.fromkeys(EVEN, -0.1), -0.5, "not reproduced", 15),
    ],
)
def test_paced_flows_are_fairer_in_both_windows_and_by_the_tail(
    even: Mapping[int, float], tail: float, verdict: str, failed: int
) -> None:
    runs = synthetic.runs(FAIRNESS, sharing(even, tail))
    found = FAIRNESS.check(runs)
    assert found.verdict == verdict
    assert sum(row.ok is False for row in found.evidence) == failed
    assert f"0.80 and {0.8 + even[100]:.2f} (8)" in found.note
    assert FAIRNESS.draw(runs) == FAIRNESS.draw(runs)


def test_what_connections_get_is_seen_on_their_way_back_alone() -> None:
    """The way of requests would halve the index; every window is watched from the warm-up's end."""
    document = FAIRNESS.sweeps(Length())["main"].to_dict()
    probes = document["probes"]["fairness"]
    assert [probe["flows"] for probe in probes] == ["rpc.*.back"] * len(fairness.WINDOWS_MS)
    assert {probe["from"] for probe in probes} == {document["warmup"]}
    document = FAIRNESS.sweeps(Length(quick=True))["main"].to_dict()
    small = Scenario(document).set("duration", "6 s").set("warmup", "2 s").set(COUNT, 1).to_dict()
    del small["sweep"]
    small["probes"]["fairness"] = [probe | {"from": "2 s"} for probe in probes[:3]]
    run = pl.run(Scenario(small))
    (curve,) = curves_of(run.instrument("jain"))
    assert curve.y.max() > 0.9  # of four alike, eight with the requests' way would have a half at most
