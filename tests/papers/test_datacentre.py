"""Claims about data centres: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import synthetic
from paceline.papers import Length, select
from paceline.papers.datacentre import fig4, fig7, fig8, fig9
from paceline.papers.datacentre.testbed import COUNT, NONE, PACED, network

UNDER, OVER, POI, ALIKE, CLUSTERS, SYNC, PORT = (
    select([f"dc-{name}"])[0]
    for name in ("base-under", "base-over", "poi", "fig7", "fig8-clustering", "fig9-sync", "port-pacing")
)
QUICK = Length(quick=True)


# --- the test-bed


@pytest.mark.parametrize("flows", [4, 58, 29, 14, 100])
def test_any_number_of_flows_is_dealt_to_the_four_pairs(flows: int) -> None:
    scenario = network(QUICK, 64, flows)
    assert scenario.describe()["flows"] == 2 * flows  # a request's flow and a response's
    tables = scenario.to_dict()["traffic"]
    assert (
        sum(table["count"] * (len(table["from"]) if isinstance(table["from"], list) else 4) for table in tables)
        == flows
    )


# --- Fig. 2


def alone(settings: Mapping[str, str], unpaced_ms: float, paced_ms: float, gain: float | None) -> dict[str, Any]:
    """Utilisation is inverse to the time of a call, one at a time; or by the gain that is given."""
    paced = settings["pacing"] != "none"
    time = paced_ms if paced else unpaced_ms
    used = 8.3 / time if gain is None else 0.2 * (1 if paced else 1 + gain)
    return {"flows.fct_mean_s": time / 1e3, "flows.fct_p99_s": time / 1e3, "links.core.utilisation": used}


@pytest.mark.parametrize(
    ("unpaced_ms", "paced_ms", "gain", "outcome"),
    [
        (38.2, 63.0, 0.38, "reproduced"),
        (38.2, 63.0, None, "partly"),  # 63/38.2 - 1 = 65 %, and not 38
        (38.2, 58.0, 0.38, "partly"),
        (39.5, 63.0, 0.38, "partly"),  # a transmission of 9.5 ms, and not nearly all within 39
        (60.0, 100.0, None, "not reproduced"),
    ],
)
def test_the_gain_and_the_times_of_calls_are_judged(
    unpaced_ms: float, paced_ms: float, gain: float | None, outcome: str
) -> None:
    runs = synthetic.runs(UNDER, lambda settings, seed: alone(settings, unpaced_ms, paced_ms, gain))
    verdict = UNDER.check(runs)
    assert verdict.verdict == outcome
    assert verdict.ours["gain"] == pytest.approx(paced_ms / unpaced_ms - 1 if gain is None else gain, abs=1e-3)


def test_an_inferred_set_up_is_told_and_does_not_count() -> None:
    verdict = UNDER.check(synthetic.runs(UNDER, lambda settings, seed: alone(settings, 38.2, 63.0, None)))
    told = [row for row in verdict.evidence if row.criterion.startswith("inferred set-up, not counted")]
    assert [row.ok for row in told] == [None] * 3
    assert [row.criterion.rpartition(": ")[2] for row in told] == ["holds"] * 3


# --- Fig. 3


def two(settings: Mapping[str, str], seed: int, rates_mbps: tuple[float, float], **change: float) -> dict[str, Any]:
    """Two connections; `change`: loss unpaced and paced, and a second from which on paced stands still."""
    paced = settings["pacing"] != "none"
    rate = rates_mbps[paced] * 1e6 / 8
    times = np.arange(0.0, 301.0)
    stop = change.get("stop", 300.0) if paced else 300.0
    sent = rate * np.minimum(times, stop) * (1 + 0.001 * seed)
    return {
        "window_s": (10.0, 300.0),
        "instruments": synthetic.curve("carried", times, sent, link="core"),
        "links.core.utilisation": rates_mbps[paced] / 1000 * (1 + 0.001 * seed),
        "flows.fct_mean_s": (0.08, 0.0602)[paced] + seed * 1e-4,
        "flows.fct_p99_s": (0.6, 0.062)[paced] + seed * 1e-4,
        "links.core.loss_ratio": (change.get("unpaced", 0.005) + seed * 1e-5, change.get("paced", 0.0))[paced],
    }


@pytest.mark.parametrize(
    ("rates", "change", "failed"),
    [
        ((200, 270), {}, []),
        ((270, 270), {}, ["utilisation: paced − unpaced, the whole run", "share of readings"]),
        ((200, 270), {"stop": 290.0}, ["share of readings"]),
        ((200, 270), {"paced": 0.002}, ["loss, paced"]),
        ((200, 270), {"unpaced": 0.0002}, ["loss, unpaced, %"]),
    ],
)
def test_the_base_case_needs_the_whole_run_every_reading_and_the_printed_losses(
    rates: tuple[float, float], change: Mapping[str, float], failed: list[str]
) -> None:
    verdict = OVER.check(synthetic.runs(OVER, lambda s, k: two(s, k, rates, **change)))
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert verdict.verdict == ("partly" if failed else "reproduced")
    assert len(missed) == len(failed)
    assert all(statistic.startswith(name) for statistic, name in zip(missed, failed, strict=True))


# --- Fig. 4 to 6


@pytest.mark.parametrize(
    ("ahead", "place"),
    [
        ([-2, -1, 1, 2], 25.0),
        ([-3, -1, 3, 2], 22.5),
        ([-1, 1, -1, -1, 1, 1], 45.0),  # the place that leaves the fewest points on the wrong side
        ([-1, -1], None),
        ([1, 1], None),
    ],
)
def test_the_point_of_inflection_lies_between_two_numbers_of_flows(ahead: list[float], place: float | None) -> None:
    flows = [10 * (number + 1) for number in range(len(ahead))]
    assert fig4.overtaking(flows, ahead) == (None if place is None else pytest.approx(place))


def test_points_of_inflection_are_judged_by_their_number_and_bounds() -> None:
    def numbers(points: Mapping[int, float], size: int) -> synthetic.Numbers:
        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            flows = 4 * int(settings[COUNT])
            lead = (flows - points[size]) * 1e-3 if settings["pacing"] == NONE else 0.0
            call = 0.1 + 0.01 * (settings["pacing"] == NONE) + seed * 1e-4
            return {
                "links.core.utilisation": 0.8 + lead + seed * 1e-4,
                "links.core.loss_ratio": 0.0 if size == 256 else losses[settings["pacing"] == NONE] + seed * 1e-5,
                "flows.fct_mean_s": call,
                "flows.fct_p99_s": 2 * call,
            }

        return one

    losses = [0.001, 0.002]  # paced, unpaced

    def verdict(points: Mapping[int, float]) -> Any:
        sweeps = {name: numbers(points, int(name.rpartition("-")[2])) for name in POI.sweeps(Length())}
        return POI.check(synthetic.runs(POI, sweeps))

    as_printed = verdict(fig4.PRINTED_POI)
    assert as_printed.verdict == "reproduced"
    bounds = [row.value for row in as_printed.evidence if row.statistic.startswith("N* = ")]
    assert bounds == pytest.approx([58.6, 29.3, 14.6], abs=0.05)
    assert as_printed.ours["poi_64kb"] == pytest.approx(80)
    assert "80 flows at 64 KB, 48 flows at 128 KB, 19 flows at 256 KB" in as_printed.note
    off = verdict({64: 70, 128: 40, 256: 27})  # within N* and 2 N*, but not the numbers
    assert off.verdict == "partly"
    assert [row.ok for row in off.evidence[:6]] == [False, True] * 3
    never = verdict({64: 1000, 128: 1000, 256: 1000})
    assert never.verdict == "partly"  # calls are shorter, and nothing is lost at 256 KB
    assert [row.ok for row in never.evidence[:6]] == [False] * 6
    assert never.ours == {"poi_64kb": None, "poi_128kb": None, "poi_256kb": None}
    losses.reverse()  # paced loses more: Fig. 5 has it lose less with any number of flows
    more = [row for row in verdict(fig4.PRINTED_POI).evidence if row.ok is False]
    assert [row.statistic for row in more] == [f"loss: unpaced − paced, {n} flows, 128 KB, %" for n in fig4.FULL[128]]


# --- Fig. 7


def test_at_n_star_flows_ten_percent_is_alike() -> None:
    def numbers(share: float, tail: float | None = None) -> synthetic.Numbers:
        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            paced = settings["pacing"] != "none"
            factor = share if paced else 1.0
            return {
                "links.core.utilisation": 0.8 * factor,
                "flows.fct_mean_s": 0.5 / factor,
                "flows.fct_p99_s": (1.0 + seed * 0.01) * ((tail or 1 / share) if paced else 1.0),
            }

        return one

    alike = ALIKE.check(synthetic.runs(ALIKE, numbers(1.05)))
    assert alike.verdict == "reproduced"
    assert "+5% (40 KB)" in alike.note
    assert "Theorem 1" not in alike.note
    assert ALIKE.check(synthetic.runs(ALIKE, numbers(1.3))).verdict == "not reproduced"
    shorter = ALIKE.check(synthetic.runs(ALIKE, numbers(1.05, 0.5)))  # Fig. 7(c) alone is another
    missed = [row.statistic.partition(":")[0] for row in shorter.evidence if row.ok is False]
    assert missed == ["99th percentile"] * len(fig7.FULL)
    assert "99th percentile of calls by -50% (40 KB)" in shorter.note


# --- Fig. 8


def succession(diagonal: float) -> dict[str, Any]:
    rest = (1 - diagonal) / (len(fig8.NAMES) - 1)
    rows = [(a, b) for a in fig8.NAMES for b in fig8.NAMES]
    return {
        "instrument": ["succession"] * len(rows),
        "link": ["access.l.0"] * len(rows),
        "flow": [a for a, _ in rows],
        "next": [b for _, b in rows],
        "x": np.full(len(rows), np.nan),
        "y": np.array([diagonal if a == b else rest for a, b in rows]),
        "count": np.ones(len(rows), np.int64),
        "x_unit": [""] * len(rows),
        "y_unit": ["1"] * len(rows),
    }


@pytest.mark.parametrize(
    ("unpaced", "paced", "outcome"), [(0.95, 0.001, "reproduced"), (0.3, 0.001, "partly"), (0.95, 0.2, "partly")]
)
def test_diagonals_decide_clustering(unpaced: float, paced: float, outcome: str) -> None:
    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        plain = settings["pacing"] == "none"
        loss = 0.004 if plain else 0.002
        columns = succession(unpaced if plain else paced)
        return {"links.core.loss_ratio": loss + seed * 1e-5 * plain, "instruments": columns}

    runs = synthetic.runs(CLUSTERS, one)
    assert CLUSTERS.check(runs).verdict == outcome
    if outcome == "reproduced":
        assert CLUSTERS.draw(runs)[0].svg.startswith("<svg")


# --- Fig. 9


def drop_events(share: Mapping[int, float], flows: int) -> dict[str, Any]:
    """For each length of an event: this share of them hits 90 % of the flows, the others 10 %."""
    curves = []
    for ms in fig9.LENGTHS_MS:
        points = [(0.1 * flows, 1 - share[ms])] * (share[ms] > 0) * (share[ms] < 1)
        points.append(((0.1 if share[ms] == 0 else 0.9) * flows, 1.0))
        x, y = zip(*points, strict=True)
        curves.append(synthetic.curve("drop_event_flows", x, y, link="core"))
    return synthetic.together(*curves)


def synchronised(paced_share: float, few: float = 0.0) -> Any:
    """Unpaced events of 300 ms hit many with 10 %, longer ones more often, shorter ones never."""
    unpaced = {ms: 0.1 if ms == 300 else float(ms > 300) for ms in fig9.LENGTHS_MS}

    def numbers(flows: int) -> synthetic.Numbers:
        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            shares = dict(unpaced)
            if settings["pacing"] != NONE:
                # with 96 flows between the two others
                gap = paced_share - 0.1 if flows == fig9.MANY else few + (flows == 96) * 0.1
                shares[300] = 0.1 + gap
            return {"instruments": drop_events(shares, flows)}

        return one

    names = SYNC.sweeps(Length())
    sweeps = {name: numbers(int(name[5:]) if name.startswith("main-") else fig9.MANY) for name in names}
    return SYNC.check(synthetic.runs(SYNC, sweeps))


def test_the_length_of_an_event_is_taken_from_the_unpaced_share() -> None:
    verdict = synchronised(0.80)
    assert verdict.verdict == "reproduced"
    assert verdict.ours == {"period_ms": 300, "unpaced": pytest.approx(0.1), "paced": pytest.approx(0.8)}


def test_the_paced_share_and_likeness_of_few_flows_are_judged() -> None:
    assert [row.ok for row in synchronised(0.9).evidence[:3]] == [False, True, True]
    assert [row.ok for row in synchronised(0.8, few=0.8).evidence[:5]] == [True, True, False, True, False]
    assert [row.ok for row in synchronised(0.8, few=-0.1).evidence[:5]] == [True, True, True, False, True]


def test_curves_of_several_lengths_are_told_apart() -> None:
    shares = {ms: number / 100 for number, ms in enumerate(fig9.LENGTHS_MS)}
    run = synthetic.result({}, 1, {"instruments": drop_events(shares, 384)})
    assert [fig9.hitting(run, ms) for ms in fig9.LENGTHS_MS] == pytest.approx(list(shares.values()))
    assert fig9.hitting(run, 30, 10) == 1.0


# --- section V


def test_port_pacing_must_leave_less_than_a_tenth() -> None:
    def numbers(share: float) -> synthetic.Numbers:
        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            loss = 0.004 + seed * 1e-5
            return {
                "links.core.loss_ratio": loss * (share if settings["pacing"] == "port" else 1.0),
                "links.core.utilisation": 0.9,
            }

        return one

    assert PORT.check(synthetic.runs(PORT, numbers(0.05))).verdict == "reproduced"
    assert PORT.check(synthetic.runs(PORT, numbers(0.5))).verdict == "not reproduced"
    sweeps = {name: numbers(0.0 if name.startswith("steady") else 0.5) for name in PORT.sweeps(Length())}
    verdict = PORT.check(synthetic.runs(PORT, sweeps))
    assert verdict.verdict == "partly"
    assert "0.50 (100 flows)" in verdict.note
    assert "0.00 (16 flows), 0.00 (32 flows)" in verdict.note
    assert "Ports capped at their share" in verdict.note


def test_nothing_lost_without_pacing_is_no_success() -> None:
    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        return {"links.core.loss_ratio": 0.0, "links.core.utilisation": 0.9}

    assert PORT.check(synthetic.runs(PORT, one)).verdict == "not reproduced"


def test_labels_are_those_of_the_methods() -> None:
    labels = {run.settings["pacing"] for run in POI.sweeps(QUICK)["main-64"].points()}
    assert labels == {NONE, PACED}
