"""QLBP Fig. 9 to 12, 15 and 16: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from paceline.cli import claim_runs
from paceline.papers import Length, Runs, select
from paceline.papers.qlbp import fig9, fig15, fig16
from paceline.store import Store

FIG9, FIG15, FIG16 = (select([f"qlbp-{name}"])[0] for name in ("fig9-12", "fig15", "fig16"))


def queue(settings: Mapping[str, str]) -> int:
    return int(settings["pacing.q_max"].split()[0]) if "pacing.q_max" in settings else 0


def fig15_runs(by_queue: float = 0.001, by_pacer: float = 0.1, shift: float = 0.0) -> Runs:
    """A ratio that falls by `by_queue` a packet of Q_max and `by_pacer` a pacer; the rate moves by `shift`."""

    def numbers(name: str) -> synthetic.Numbers:
        pacers = int(name.removeprefix("pacers-")) if name != "none" else 0

        def made(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            ratio = 1 - by_pacer * pacers - by_queue * queue(settings) + 1e-6 * seed * pacers
            cv = (1 + 0.01 * seed) * ratio
            rate = 667e3 * (1 + shift * (pacers > 0))
            return {fig15.THROUGHPUT: rate, "instruments": synthetic.curve("rate_variation", [0.05], [cv])}

        return made

    return synthetic.runs(FIG15, {name: numbers(name) for name in FIG15.sweeps(Length())})


def test_fig15_needs_a_fall_by_queue_and_by_pacer_and_the_mean() -> None:
    assert FIG15.check(fig15_runs()).verdict == "reproduced"
    assert FIG15.check(fig15_runs(by_queue=-0.0001)).verdict == "partly"
    assert FIG15.check(fig15_runs(by_pacer=-0.01)).verdict == "partly"
    assert FIG15.check(fig15_runs(shift=0.01)).verdict == "partly"


def test_fig15_has_ten_runs_in_full_length() -> None:
    assert all(len(results) % 10 == 0 for results in fig15_runs().values())


def fig9_runs(cv: float = 0.3, single: float = 1.0, gap: float = 0.005, rate: float = 1.0) -> Runs:
    """Paced: the coefficient of variation, the share of lone packets, the longest gap, a rate's change."""

    def made(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        paced = settings["pacing.method"] == "qlbp"
        silent = gap if paced else 0.04
        turns = 10 + 0.1 * np.arange(6)[:, None]
        times = (turns + np.linspace(0, 0.1 - silent, 20)[None, :]).ravel()
        curves = [
            synthetic.curve("rate_variation", [0.01], [(cv if paced else 0.9) + 1e-4 * seed]),
            synthetic.curve("burst_size", [1, 2], [single if paced else 1e-3 * seed, 1.0]),
        ]
        return {
            fig9.THROUGHPUT: 3e6 * (rate if paced else 1.0),
            "instruments": {name: np.concatenate([one[name] for one in curves]) for name in curves[0]},
            "series": {
                "link": ["entry"] * times.size,
                "kind": ["departure"] * times.size,
                "time_ns": (times * 1e9).astype(np.int64),
            },
        }

    return synthetic.runs(FIG9, made)


def test_fig9_needs_a_smoother_flow_and_the_rates() -> None:
    assert FIG9.check(fig9_runs()).verdict == "reproduced"
    for change in ({"cv": 0.95}, {"single": 0.0}, {"gap": 0.05}, {"rate": 0.99}):
        assert FIG9.check(fig9_runs(**change)).verdict == "partly", change


def fig16_runs(near: float = 0.5, far: float = 0.3) -> Runs:
    """A cut of `near` at 5 ms for Q_max 5 and 10, fading to 1 %; one of `far` at 2.5 s and beyond for large ones."""
    scales = 0.005 * 2.0 ** np.arange(12)

    def made(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        size = queue(settings)
        unpaced = scales**-0.05
        small, wide = size in (5, 10), size >= 160
        cut = np.where(scales < 0.01, near if small else 0.8, 0.01 if not wide else far) if size else 0 * scales
        cut = np.where(np.isclose(scales, 0.08), 0.001 * size, cut) if size else cut
        curves = [
            synthetic.curve("rate_variation", scales, (1 - cut * (1 + 1e-3 * seed)) * unpaced),
            synthetic.curve("carried", [0, 1, 2, 3], [0, 1e6, 3e6, 6e6]),
        ]
        joined = {name: np.concatenate([one[name] for one in curves]) for name in curves[0]}
        return {fig16.THROUGHPUT: 16e6, "instruments": joined}

    return synthetic.runs(FIG16, made)


@pytest.mark.parametrize(("near", "outcome"), [(0.5, "reproduced"), (0.48, "reproduced"), (0.45, "partly")])
def test_fig16_needs_one_half_within_5_percent(near: float, outcome: str) -> None:
    assert FIG16.check(fig16_runs(near)).verdict == outcome


def test_fig16_needs_the_reach_of_large_queues() -> None:
    assert FIG16.check(fig16_runs(far=-0.1)).verdict == "partly"


def test_fig16_measures_its_surrogate() -> None:
    rows = {row.statistic: row.value for row in FIG16.check(fig16_runs()).evidence}
    assert rows["Hurst exponent by variance and time, 0.3 to 25 s"] == pytest.approx(0.95)
    assert rows["greatest rate in a second, Mbit/s"] == pytest.approx(24)


def test_real_runs_of_fig9_and_fig15_reproduce(tmp_path: Path) -> None:
    length, store = Length(quick=True), Store(tmp_path)
    plans = claim_runs.plan([FIG9, FIG15], length)
    done = claim_runs.judge(plans, claim_runs.run(plans, store), length, store)
    assert not done.failures
    assert [record.verdict.verdict for record in done.records.values()] == ["reproduced", "reproduced"]


def test_pictures_are_drawn() -> None:
    for claim, runs in ((FIG9, fig9_runs()), (FIG15, fig15_runs()), (FIG16, fig16_runs())):
        assert claim.draw(runs)[0].svg.startswith("<svg")
