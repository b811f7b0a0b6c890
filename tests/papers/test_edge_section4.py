"""The edge paper's model and its law of load: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import paceline as pl
import pytest
import synthetic
from paceline.papers import Length, Runs, select
from paceline.papers.edge_vs_host import fig9, poisson
from paceline.theory import edge_delay, empty_buffer
from paceline.theory import variation as theory

NAMES = ("edge-fig9-analysis", "edge-empty-buffer", "edge-poisson")
FIG9, LOAD, MANY = (select([name])[0] for name in NAMES)


def lossy(settings: Mapping[str, str], seed: int, share: float = 0.5) -> dict[str, Any]:
    """A share of eq. (3)'s bound, and half of d as delay."""
    load = float(settings["traffic.poisson.rate"].split()[0]) / 8
    held = int(settings["pacing.delay"].split()[0])
    loss = share * float(edge_delay.loss_bound(load, held)) * (1 + 1e-3 * seed)
    return {"links.core.loss_ratio": loss, "flows.network_delay_mean_s": 1e-3 * (1 + 0.5 * held)}


def test_the_model_turns_over_where_the_claim_says_and_losses_keep_its_bound() -> None:
    runs = synthetic.runs(FIG9, lossy)
    verdict = FIG9.check(runs)
    assert verdict.verdict == "reproduced"
    assert {"rises_below_load": 0.9033, "falls_above_load": 0.9206}.items() <= verdict.ours.items()
    assert verdict.ours["added_over_d, load 0.9, d 10 ms"] == 0.5
    assert "load 0.9: from d 0 to 100 ms" in " ".join(row.statistic for row in verdict.evidence if row.ok)
    assert FIG9.draw(runs) == FIG9.draw(runs)


def test_a_loss_beyond_the_bound_is_seen() -> None:
    verdict = FIG9.check(synthetic.runs(FIG9, lambda settings, seed: lossy(settings, seed, 1.01)))
    assert verdict.verdict == "partly"
    assert all("loss simulated" in row.statistic for row in verdict.evidence if row.ok is False)


@pytest.mark.parametrize(
    ("unit", "failed"),
    [
        ({0.999: 3e-8}, ["eq. (4), load 0.999: largest step a ms"]),
        ({0.9: 0.1}, ["eq. (4), load 0.9: least step a ms"]),
    ],
)
def test_a_model_that_turned_over_elsewhere_would_fail(
    monkeypatch: pytest.MonkeyPatch, unit: Mapping[float, float], failed: list[str]
) -> None:
    """Counted in tens of nanoseconds heavy load rises too; in tenths of a second light load falls too."""
    measure = edge_delay.throughput_measure
    monkeypatch.setattr(
        edge_delay,
        "throughput_measure",
        lambda load, delay, base="200 ms": measure(load, delay, base, unit=unit.get(load, 1e-3)),
    )
    found = [row.statistic for row in FIG9.check(synthetic.runs(FIG9, lossy)).evidence if row.ok is False]
    assert found == failed


def test_simulated_losses_decide_too() -> None:
    """Losses that fall with the pacer's delay at any load: eq. (1) rises where the model falls."""

    def falling(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        found = lossy(settings, seed)
        held = int(settings["pacing.delay"].split()[0])
        return found | {"links.core.loss_ratio": found["links.core.loss_ratio"] / (1 + held)}

    failed = [row.statistic for row in FIG9.check(synthetic.runs(FIG9, falling)).evidence if row.ok is False]
    assert failed == ["eq. (1) with simulated loss, load 0.999: from d 0 to 100 ms"]


def test_more_than_half_of_d_is_seen() -> None:
    def longer(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        held = int(settings["pacing.delay"].split()[0])
        return lossy(settings, seed) | {"flows.network_delay_mean_s": 1e-3 * (1 + 0.53 * held)}

    verdict = FIG9.check(synthetic.runs(FIG9, longer))
    failed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert len(failed) == 2 * 11
    assert all(statistic.startswith("delay added over d, load 0.9") for statistic in failed)
    assert "held for 0.53 to 0.53 of d" in verdict.note


def test_simulated_losses_keep_the_bound() -> None:
    length = Length(quick=True, seeds=1)
    scenario = FIG9.sweeps(length)["main"].over({"pacing.delay": ["2 ms", "20 ms"]})
    runs = Runs({"main": pl.sweep(scenario)}, length)
    assert all(row.ok for row in fig9._losses(runs))


def loads(scale: float, off: float = 0.0) -> synthetic.Numbers:
    """The law with this B*, KB; `off` it at 15 KB."""

    def numbers(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        size = float(settings["network.core.buffer"].split()[0])
        load = float(empty_buffer.load(size, scale * (1 + 1e-3 * seed))) + (off if size == 15 else 0.0)
        return {"links.core.utilisation": load}

    return numbers


@pytest.mark.parametrize(
    ("scale", "off", "failed"),
    [
        (2.2, 0.0, []),
        (1.9, 0.0, ["B* by least squares", "least B* of a load alone"]),
        (5.0, 0.0, ["load at 5 KB"]),
        (12.0, 0.0, ["B* by least squares", "load at 5 KB", "load at 50 KB", "largest B* of a load alone"]),
        (2.2, -0.25, ["largest B* of a load alone", "B* of the load at 15 KB alone"]),
    ],
)
def test_the_law_of_load(scale: float, off: float, failed: list[str]) -> None:
    runs = synthetic.runs(LOAD, loads(scale, off))
    verdict = LOAD.check(runs)
    assert verdict.verdict == ("partly" if failed else "reproduced")
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert len(missed) == len(failed)
    assert all(statistic.startswith(name) for statistic, name in zip(missed, failed, strict=True))
    if not off:
        assert verdict.ours["B*, KB"] == pytest.approx(scale, rel=5e-3)
    assert LOAD.draw(runs)[0].svg.startswith("<svg")


def test_a_scale_that_drifts_with_the_buffer_is_no_constant() -> None:
    """2 KB at the least buffer, 2.4 at the largest: each within 2 to 10, and one network with several."""

    def drifting(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        size = float(settings["network.core.buffer"].split()[0])
        scale = 2.1 * (1 + 0.05 * np.log(size)) * (1 + 1e-3 * seed)
        return {"links.core.utilisation": float(empty_buffer.load(size, scale))}

    verdict = LOAD.check(synthetic.runs(LOAD, drifting))
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert verdict.verdict == "partly"
    assert all("that of all" in statistic for statistic in missed)


def test_a_load_of_one_has_no_scale_but_a_verdict() -> None:
    """A quick run may find the core busy throughout at 50 KB."""

    def full(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        return {"links.core.utilisation": 1.0 if settings["network.core.buffer"] == "50 KB" else 0.9}

    verdict = LOAD.check(synthetic.runs(LOAD, full))
    assert np.isfinite(verdict.ours["B*, KB"])


def arriving(short: float, large: float) -> synthetic.Numbers:
    """So variable in 1 ms beside Poisson packets, and so much more over the large buffer than small ones in 256 ms."""

    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        small = settings[poisson.BUFFER] != f"{poisson.LARGE} KB"
        noise = 1 + 1e-4 * (seed % 3)
        told = [float(theory.poisson(0.95 / 0.92 * 1e8 / 8320, scale)) for scale in (poisson.SHORT_S, poisson.LONG_S)]
        spread = [short * told[0] * noise, (1.0 if small else large) * told[1] * noise]
        curve = synthetic.curve("rate_variation", [poisson.SHORT_S, poisson.LONG_S], spread, link="core")
        return {"links.core.utilisation": 0.95, "links.core.loss_ratio": 0.08, "instruments": curve}

    return one


@pytest.mark.parametrize(
    ("short", "large", "failed"),
    [(1.02, 5.0, ""), (1.5, 5.0, "coefficient of variation in 1 ms"), (1.0, 0.9, "256 ms")],
)
def test_many_flows_are_poisson_and_large_buffers_synchronise_them(short: float, large: float, failed: str) -> None:
    runs = synthetic.runs(MANY, arriving(short, large))
    verdict = MANY.check(runs)
    assert verdict.verdict == ("partly" if failed else "reproduced")
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert len(missed) == (len(poisson.SMALL) if failed else 0)
    assert all(failed in statistic for statistic in missed)
    assert f"{short:.2f} (5 KB)" in verdict.note
    assert f"{large:.2f} (3125 KB)" in verdict.note
    assert MANY.draw(runs) == MANY.draw(runs)
