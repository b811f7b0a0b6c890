"""Two papers of which the abstract is at hand, and the data-centre paper's rereading: verdicts follow runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import synthetic
from paceline.papers import Claim, Length, Runs, select
from paceline.papers.aggarwal import told
from paceline.papers.aggarwal.network import HOSTS, PACING
from paceline.papers.datacentre import reread
from paceline.papers.vishwanath import anomaly

SOME, OFTEN, MIXED, SHORT, ANOMALY, POI, KULIK = (
    select([name])[0]
    for name in (
        "aggarwal-some",
        "aggarwal-often",
        "aggarwal-mixed",
        "aggarwal-short",
        "vishwanath-anomaly",
        "dc-aggarwal",
        "dc-kulik",
    )
)


def crowd(ahead: Mapping[int, float], fair: float = 0.1, lost: float = -0.01) -> synthetic.Numbers:
    """Throughput that pacing gains by the number of flows, fairness and loss everywhere."""

    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        paced = settings[PACING] != "none"
        noise = 1e-4 * seed + 1e-5 * (-1) ** seed * paced
        return {
            "links.core.utilisation": 0.8 + noise + ahead.get(int(settings[HOSTS]), 0.0) * paced,
            "links.core.loss_ratio": 0.02 + noise + lost * paced,
            "flows.jain": 0.7 + noise + fair * paced,
        }

    return one


def test_better_in_some_situations_needs_one_for_each_of_three() -> None:
    assert SOME.check(synthetic.runs(SOME, crowd({5: 0.05}))).verdict == "reproduced"
    assert SOME.check(synthetic.runs(SOME, crowd({5: 0.05}, fair=-0.1))).verdict == "partly"
    assert SOME.check(synthetic.runs(SOME, crowd({5: -0.05}, fair=-0.1, lost=0.01))).verdict == "not reproduced"


def test_often_is_more_than_half_of_the_numbers_of_flows() -> None:
    flows = (1, 2, 5, 10, 25, 50, 100)
    most = OFTEN.check(synthetic.runs(OFTEN, crowd(dict.fromkeys(flows[:4], -0.05))))
    assert most.verdict == "reproduced"
    assert most.ours == {"worse_at_flows": [1, 2, 5, 10]}
    assert OFTEN.check(synthetic.runs(OFTEN, crowd(dict.fromkeys(flows[:3], -0.05)))).verdict == "not reproduced"


def mixed(gap: float) -> synthetic.Numbers:
    return lambda settings, seed: {
        "groups.unpaced.goodput_mean_bps": 2e6 + seed,
        "groups.paced.goodput_mean_bps": (2e6 + seed) * (1 + gap + 0.001 * seed),
    }


def test_paced_flows_must_get_less_beside_others_at_every_share() -> None:
    assert MIXED.check(synthetic.runs(MIXED, mixed(-0.3))).verdict == "reproduced"
    assert MIXED.check(synthetic.runs(MIXED, mixed(0.3))).verdict == "not reproduced"


def test_short_transfers_must_take_longer_at_every_size() -> None:
    def slower(sizes: tuple[int, ...]) -> synthetic.Numbers:
        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            late = settings[PACING] != "none" and int(settings[told.SIZE].split()[0]) in sizes
            return {"flows.fct_mean_s": 0.5 + 0.01 * seed + 0.1 * late, "links.core.utilisation": 0.5}

        return one

    assert SHORT.check(synthetic.runs(SHORT, slower(told.SIZES))).verdict == "reproduced"
    assert SHORT.check(synthetic.runs(SHORT, slower(told.SIZES[:3]))).verdict == "partly"


def lossy(curve: Mapping[int, float]) -> synthetic.Numbers:
    """Loss of real-time packets by straight lines through these points, %."""

    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        size = int(settings[anomaly.BUFFER].split()[0])
        lost = float(np.interp(size, list(curve), list(curve.values()))) + 0.001 * ((seed * 7 + size) % 5)
        columns = {
            "name": ["bulk.0", "real-time.0"],
            "sent_packets": np.array([1e6, 1e6]),
            "received_packets": np.array([1e6, 1e6 * (1 - lost / 100)]),
        }
        return {"per_flow": columns, "links.core.utilisation": 0.9}

    return one


def test_the_anomaly_is_a_rise_that_other_seeds_confirm() -> None:
    risen = ANOMALY.check(synthetic.runs(ANOMALY, lossy({1: 5.0, 8: 0.5, 30: 1.0, 50: 0.6})))
    assert risen.verdict == "reproduced"
    assert (risen.ours["from_packets"], risen.ours["to_packets"]) == (8, 30)
    assert ANOMALY.check(synthetic.runs(ANOMALY, lossy({1: 5.0, 50: 0.1}))).verdict == "not reproduced"
    flat = ANOMALY.check(synthetic.runs(ANOMALY, lossy({1: 0.5, 50: 0.5})))  # chance picks a pair; the others refute it
    assert flat.verdict == "not reproduced"


def test_loss_is_that_of_real_time_packets_alone() -> None:
    run = synthetic.result({}, 1, lossy({8: 2.0, 9: 2.0})({anomaly.BUFFER: "8 packets"}, 1))
    assert anomaly.loss(run) == pytest.approx(2.0, abs=0.01)


def overtaken(point: float) -> synthetic.Numbers:
    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        lead = (int(settings[reread.HOSTS]) - point) * 1e-3 if settings[PACING] == "none" else 0.0
        return {"links.core.utilisation": 0.9 + lead + 1e-4 * seed}

    return one


def test_the_rereading_names_eight_flows() -> None:
    assert POI.check(synthetic.runs(POI, overtaken(8.0))).verdict == "reproduced"
    assert POI.check(synthetic.runs(POI, overtaken(16.0))).verdict == "partly"  # 50 lie beyond
    never = POI.check(synthetic.runs(POI, overtaken(100.0)))
    assert never.verdict == "not reproduced"
    assert never.ours["poi"] is None


def test_one_flow_must_not_lose_by_more_than_a_twentieth() -> None:
    def one(gap: float) -> synthetic.Numbers:
        return lambda settings, seed: {
            "links.core.utilisation": 0.8 * (1 + gap * (settings[PACING] != "none")) + 1e-4 * seed
        }

    assert KULIK.check(synthetic.runs(KULIK, one(-0.04))).verdict == "reproduced"
    assert KULIK.check(synthetic.runs(KULIK, one(-0.06))).verdict == "not reproduced"


def made_up(claim: Claim) -> Runs:
    numbers = {
        "aggarwal-some": crowd({5: 0.05}),
        "aggarwal-often": crowd({5: 0.05}),
        "aggarwal-mixed": mixed(0.1),
        "aggarwal-short": lambda settings, seed: {"flows.fct_mean_s": 0.5 + seed / 100, "links.core.utilisation": 0.5},
        "vishwanath-anomaly": lossy({1: 5.0, 8: 0.5, 30: 1.0, 50: 0.6}),
        "dc-aggarwal": overtaken(8.0),
        "dc-kulik": lambda settings, seed: {"links.core.utilisation": 0.8},
    }
    return synthetic.runs(claim, numbers[claim.id])


@pytest.mark.parametrize("claim", [SOME, OFTEN, MIXED, SHORT, ANOMALY, POI, KULIK], ids=lambda claim: claim.id)
def test_pictures_are_the_same_bytes_each_time_and_every_sweep_runs(claim: Claim) -> None:
    runs = made_up(claim)
    first, second = claim.draw(runs), claim.draw(runs)
    assert first == second
    assert all(one.svg.startswith("<svg") and one.caption for one in first)
    for length in (Length(), Length(quick=True)):
        for scenario in claim.sweeps(length).values():
            assert scenario.check()
