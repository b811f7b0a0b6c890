"""Fig. 2 and 3 of the paper on very small buffers: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import synthetic
from paceline.papers import Claim, Runs, select
from paceline.papers.small_buffers import network

FIG2, FIG3 = (select([f"zhao-{name}"])[0] for name in ("fig2", "fig3"))


def rising(knee: float, top: float = 0.98) -> Callable[[Mapping[str, str], int], dict[str, Any]]:
    """Throughput that crosses 90 % at `knee` packets of buffer and ends at `top`."""

    def numbers(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        packets = int(settings[network.BUFFER].split()[0])
        value = min(top, 0.9 + 0.02 * (packets - knee)) + seed * 1e-6
        return {"links.core.utilisation": value, "flows.goodput_mean_bps": 180e3 * value}

    return numbers


def fig2(slow: float = 5.0, half: float = 9.5, fast: float = 14.5) -> Runs:
    return synthetic.runs(FIG2, {"slow": rising(slow), "half": rising(half), "fast": rising(fast)})


def fig3(slow: float = 0.95, paced: float = 0.95 * 1.04, knee: float = 5.0) -> Runs:
    names = FIG3.sweeps(synthetic.Length())
    tops = {name: slow if "slow" in name else paced for name in names}
    return synthetic.runs(FIG3, {name: rising(knee, tops[name]) for name in names})


def outcome(claim: Claim, runs: Runs) -> str:
    return claim.check(runs).verdict


def test_buffers_within_a_packet_are_reproduced() -> None:
    verdict = FIG2.check(fig2())
    assert verdict.verdict == "reproduced"
    assert verdict.ours == {"slow_access": 5, "half_fast": 10, "all_fast": 15, "half_over_slow": 2, "fast_over_slow": 3}


@pytest.mark.parametrize(("half", "ok"), [(8.2, True), (7.9, False), (11.1, False)])
def test_a_buffer_two_packets_away_is_not(half: float, ok: bool) -> None:
    rows = [row.ok for row in FIG2.check(fig2(half=half)).evidence if row.statistic.startswith("smallest buffer")]
    assert rows == [True, ok, True]


@pytest.mark.parametrize(("slow", "failed"), [(5.0, 0), (5.5, 2)])
def test_twofold_and_threefold_are_numbers_too(slow: float, failed: int) -> None:
    """Six packets for five is within one, and 10 and 15 are not two and three times six."""
    verdict = FIG2.check(fig2(slow=slow))
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert len(missed) == failed
    assert all(statistic.startswith("buffer over that of slow access") for statistic in missed)
    assert "two- and threefold" in verdict.note


def test_a_target_that_is_never_reached_fails() -> None:
    verdict = FIG2.check(fig2(slow=40, half=40, fast=40))
    assert verdict.verdict == "not reproduced"
    assert verdict.ours["all_fast"] is None


def test_the_smallest_buffer_is_whole_packets() -> None:
    runs = fig2(slow=5.2)
    found = network.buffer_for(runs["slow"])
    assert found is not None
    assert found.mean == 6
    assert network.crossing(runs["slow"]) == pytest.approx(5.2, abs=0.001)


def test_fig3_needs_the_gain_too() -> None:
    # 0.02 a packet: 95 % is reached at 7.5 packets, so that all of 10 to 20 have the full gain
    assert outcome(FIG3, fig3()) == "reproduced"
    assert outcome(FIG3, fig3(paced=0.95 * 1.025)) == "partly"
    assert outcome(FIG3, fig3(paced=0.95 * 1.025, knee=8)) == "not reproduced"


def test_fig3_explains_a_smaller_gain_by_its_experiments() -> None:
    verdict = FIG3.check(fig3(paced=0.95 * 1.025))
    informing = [row.statistic for row in verdict.evidence if row.ok is None]
    assert any("least retransmission timeout" in name for name in informing)
    assert "2.5 %" in verdict.note
    assert "5.3 % more" in verdict.note  # 1 / 0.95 - 1: what a full link would be


def test_pictures_are_drawn() -> None:
    assert FIG2.draw(fig2())[0].svg.startswith("<svg")
    assert FIG3.draw(fig3())[0].svg.startswith("<svg")
