"""QLBP's theorems, response and Table II: verdicts follow the numbers, and short real runs agree with theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import paceline as pl
import pytest
import synthetic
from paceline.papers import Length, Runs, select
from paceline.papers.qlbp import response, steady, table2, theorem1, theorem2
from paceline.theory import on_off, qlbp, qlbp_response

TABLE2, THEOREM1, THEOREM2, RESPONSE = (
    select([f"qlbp-{name}"])[0] for name in ("table2", "theorem1", "theorem2", "response")
)


def table(settings: Mapping[str, str], seed: int, queues: float = 0.0, delays: float = 1.0) -> dict[str, Any]:
    """The printed rows, `queues` packets and a factor of `delays` off."""
    row = table2.PRINTED["rate_mbps"].index(steady.megabits(settings[steady.RATE]))
    held = table2.PRINTED["delay_ms"][row] * 1e-3 * delays if settings["pacing"].startswith("qlbp") else 0.0
    return {
        "links.paced.queue_mean_bytes": 1000 * (table2.PRINTED["queue_pkts"][row] + queues),
        "flows.network_delay_mean_s": 0.02 + seed * 1e-4 + held,
    }


@pytest.mark.parametrize(
    ("queues", "delays", "outcome"),
    [(0, 1, "reproduced"), (0.9, 1, "reproduced"), (1.1, 1, "partly"), (0, 1.04, "reproduced"), (0, 1.06, "partly")],
)
def test_table_2_wants_each_queue_and_delay(queues: float, delays: float, outcome: str) -> None:
    runs = synthetic.runs(TABLE2, lambda settings, seed: table(settings, seed, queues, delays))
    verdict = TABLE2.check(runs)
    assert verdict.verdict == outcome
    assert verdict.ours["delay_ms"] == pytest.approx([d * delays for d in table2.PRINTED["delay_ms"]], abs=1e-4)


def test_a_printed_zero_is_none_to_its_digits() -> None:
    def slow(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        late = 1e-5 if settings["pacing"].startswith("qlbp") and settings[steady.RATE] == "1 Mbit/s" else 0.0
        numbers = table(settings, seed)
        return numbers | {"flows.network_delay_mean_s": numbers["flows.network_delay_mean_s"] + late}

    failed = [row for row in TABLE2.check(synthetic.runs(TABLE2, slow)).evidence if row.ok is False]
    assert [row.statistic for row in failed] == ["pacing delay at 1 Mbit/s, ms"]


def delayed(setting: steady.Setting, q_max: float, factor: float) -> synthetic.Numbers:
    """A fluid's delay times `factor`, in the mean and for the last packet."""

    def numbers(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        rate = steady.megabits(settings[steady.RATE]) * 1e6
        held = float(qlbp.steady_delay(rate, setting.mu_min, setting.mu_max, q_max, setting.link)) * factor
        delay = 0.01 + seed * 1e-4 + (held if settings["pacing"].startswith("qlbp") else 0.0)
        return {"flows.network_delay_mean_s": delay, "instruments": synthetic.curve("delay", [0.01, delay], [0.5, 1.0])}

    return numbers


@pytest.mark.parametrize(("factor", "outcome"), [(0.99, "reproduced"), (0.94, "partly"), (1.01, "partly")])
def test_theorem_1_is_a_bound_that_is_nearly_met(factor: float, outcome: str) -> None:
    sweeps = {name: delayed(case.setting, case.q_max_bytes, factor) for name, case in theorem1.CASES.items()}
    sweeps["why-steady"] = delayed(theorem1.CASES["table2"].setting, 10e3, 3.0)
    sweeps[theorem1.SATURATED] = overflowing(0.0)
    verdict = THEOREM1.check(synthetic.runs(THEOREM1, sweeps))
    assert verdict.verdict == outcome
    assert "14.6 ms" in verdict.note
    sweeps[theorem1.SATURATED] = overflowing(30e-6)  # more than a packet's 20 us
    late = THEOREM1.check(synthetic.runs(THEOREM1, sweeps))
    assert sum(row.ok is False and "none to a packet" in row.statistic for row in late.evidence) == 4


def overflowing(held: float) -> synthetic.Numbers:
    """Full queues, and what the pacer adds, s."""
    return lambda settings, seed: {
        "flows.network_delay_mean_s": 5e-3 + seed * 1e-7 + (held if settings["pacing"].startswith("qlbp") else 0.0)
    }


def test_a_pacer_whose_source_outruns_its_link_adds_no_delay() -> None:
    """Case 4 of the proof, run: both queues are full."""
    runs = pl.sweep(theorem1.saturated("0.6 s", "0.4 s").over({steady.RATE: ["900 Mbit/s"]}).seeds(2))
    assert abs(steady.mean_delay(runs, "900 Mbit/s").mean) < 0.02
    assert all((run.links["paced"].loss_ratio or 0) > 0.3 for run in runs)


def covariance(settings: Mapping[str, str], seed: int, share: float = 1.0) -> dict[str, Any]:
    """The theorem's covariances; those behind the pacer times `share`."""
    alpha = theorem2.QUEUES.get(settings.get("pacing.q_max", ""), 15.0)
    lags = np.arange(21) * theorem2.INTERVAL
    columns: dict[str, list[Any]] = {}
    for link, factor in ((theorem2.BEFORE, 1.0), (theorem2.AFTER, share)):
        values = [factor * theorem2._theory(link, k, alpha) * (1 + 1e-3 * seed) for k in range(21)]
        for name, column in synthetic.curve("auto_covariance", list(lags), values, link=link).items():
            columns.setdefault(name, []).extend(column)
    return {"instruments": columns | {name: np.asarray(columns[name]) for name in ("x", "y", "count")}}


@pytest.mark.parametrize(
    ("share", "outcome"),
    [(1.0, "reproduced"), (1.02, "reproduced"), (1.04, "partly"), (1.07, "partly")],  # at 4 % the remark alone is off
)
def test_theorem_2_wants_each_covariance(share: float, outcome: str) -> None:
    runs = synthetic.runs(THEOREM2, lambda settings, seed: covariance(settings, seed, share), Length(quick=True))
    assert THEOREM2.check(runs).verdict == outcome
    assert THEOREM2.draw(runs)[0].svg.startswith("<svg")


@pytest.mark.parametrize(
    ("lags", "factor", "failed"),
    [
        (range(10), 1.0, set()),
        ((10,), 0.3, {"after − before, alpha 5/s, lag 200", "after − before, alpha 15/s, lag 200"}),
        ((0, 1), 1.9, {"as the remark has it, alpha 5/s, lag 0", "after − before, alpha 45/s, lag 0"}),
    ],
)
def test_theorem_2s_remark_wants_less_at_small_lags_and_more_at_a_large_one(
    lags: Sequence[int], factor: float, failed: set[str]
) -> None:
    def other(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        found = covariance(settings, seed)
        columns = found["instruments"]
        changed = (np.array(columns["link"]) == theorem2.AFTER) & np.isin(
            np.round(columns["x"] / theorem2.INTERVAL), list(lags)
        )
        columns["y"] = columns["y"] * np.where(changed, factor, 1.0)
        return found

    evidence = THEOREM2.check(synthetic.runs(THEOREM2, other, Length(quick=True))).evidence
    wrong = [row.statistic for row in evidence if row.ok is False]
    assert all(any(words in one for one in wrong) for words in failed)
    assert bool(wrong) is bool(failed)


def test_the_remarks_approximation_is_the_theorem_where_the_pacer_is_as_fast_as_its_source() -> None:
    source = [
        float(on_off.covariance(lag, theorem2.PEAK, theorem2.ON, theorem2.OFF)) for lag in (0, 1 / theorem2.DECAY)
    ]
    assert source[0] / source[1] == pytest.approx(np.e)
    for lag in theorem2.LAGS:
        assert theorem2.approximation(lag, theorem2.DECAY) == pytest.approx(
            theorem2._theory(theorem2.AFTER, lag, theorem2.DECAY), rel=1e-5
        )
    # to the first order elsewhere: what is left is half of (alpha s - s²) τ², of which pairs of one interval have T²/6
    for alpha in (5.0, 10.0):
        left = theorem2.approximation(0, alpha) / theorem2._theory(theorem2.AFTER, 0, alpha) - 1
        second = theorem2.DECAY * (alpha - theorem2.DECAY) / 2 * theorem2.INTERVAL**2 / 6
        assert left == pytest.approx(second, rel=0.2)


def departures(settings: Mapping[str, str], seed: int, hurry: float = 1.0) -> dict[str, Any]:
    """Times at which the closed form, with `hurry` times its response constant, has let go of each packet."""
    alpha = response._alpha(settings["pacing.q_max"])
    source = float(settings["traffic.step.rate"].split()[0]) * 1e6
    times = np.linspace(0, 0.55, 20_001)
    sent = (source * times - (source - 2e6) * -np.expm1(-hurry * alpha * times) / (hurry * alpha)) / 800
    packets = np.interp(np.arange(int(sent[-1])), sent, times) + 1e-3 * seed
    names = {"link": ["paced"] * packets.size, "kind": ["departure"] * packets.size}
    return {"series": names | {"time_ns": (packets * 1e9).astype(np.uint64)}}


@pytest.mark.parametrize(("hurry", "outcome"), [(1.0, "reproduced"), (1.5, "partly"), (0.6, "partly")])
def test_the_response_must_have_its_constant(hurry: float, outcome: str) -> None:
    runs = synthetic.runs(RESPONSE, lambda settings, seed: departures(settings, seed, hurry), Length(quick=True))
    assert RESPONSE.check(runs).verdict == outcome


def test_windows_of_the_closed_form_are_its_mean() -> None:
    alpha = response._alpha("25 KB")
    for start, end in response._windows():
        times = np.linspace(start, end, 2001) / alpha
        mean = np.mean(qlbp_response.step_response(times, "6 Mbit/s", "2 Mbit/s", "10 Mbit/s", "25 KB")) / 1e6
        assert response._mean("6 Mbit/s", start, end) == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize("claim", [TABLE2, RESPONSE, THEOREM1], ids=lambda claim: claim.id)
def test_short_real_runs_reproduce(claim: Any) -> None:
    length = Length(quick=True, seeds=2)
    runs = Runs({name: pl.sweep(scenario) for name, scenario in claim.sweeps(length).items()}, length)
    assert claim.check(runs).verdict == "reproduced"
    first, second = claim.draw(runs), claim.draw(runs)
    assert first == second
    assert first[0].svg.startswith("<svg")
