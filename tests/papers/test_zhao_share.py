"""The share of fast access links, of the paper on very small buffers: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import synthetic
from paceline.papers import Length, Runs, select
from paceline.papers.small_buffers import network, share

SHARE = select(["zhao-share"])[0]


def crossing_at(knee: float) -> synthetic.Numbers:
    """Throughput that crosses 90 % at `knee` packets."""
    return lambda settings, seed: {
        "links.core.utilisation": 0.9 + 0.02 * (int(settings[network.BUFFER].split()[0]) - knee - 0.01 * (seed % 3))
    }


KNEES = {0: 5.4, 10: 6.2, 25: 7.1, 50: 8.7, 75: 11.3, 100: 13.9}


def shared(knees: Mapping[int, float], paced: float = 5.0) -> Runs:
    names = SHARE.sweeps(Length())
    each = {
        name: crossing_at(knees[int(name.partition("-")[2])] if name.startswith("fast") else paced) for name in names
    }
    return synthetic.runs(SHARE, each)


def test_each_larger_share_needs_more_and_paced_ones_five() -> None:
    verdict = SHARE.check(shared(KNEES))
    assert verdict.verdict == "reproduced"
    assert verdict.ours["unpaced, 50 % fast"] == pytest.approx(8.7, abs=0.02)
    assert verdict.ours["rule_of_thumb_gbit"] == pytest.approx(10)
    assert "Half of the links being fast costs 39% of what all cost" in verdict.note
    assert SHARE.draw(shared(KNEES)) == SHARE.draw(shared(KNEES))


@pytest.mark.parametrize(
    ("knees", "paced", "failed"),
    [
        (KNEES | {25: 6.2, 10: 6.2}, 5.0, ["buffer for 90% of the core: 25 % fast − 10 %, packets"]),
        (
            KNEES | {75: 20.0},
            5.0,
            ["buffer for 90% of the core: 75 % fast − 50 %", "buffer for 90% of the core: 100 %"],
        ),
        (KNEES, 8.0, ["smallest buffer"] * 5),
    ],
)
def test_a_step_without_a_rise_and_a_crossing_beyond_fail(
    knees: Mapping[int, float], paced: float, failed: list[str]
) -> None:
    missed = [row.statistic for row in SHARE.check(shared(knees, paced)).evidence if row.ok is False]
    assert len(missed) == len(failed)
    assert all(statistic.startswith(name) for statistic, name in zip(missed, failed, strict=True))


def test_mixes_of_the_figures_are_shares() -> None:
    for mix, part in (("slow", 0.0), ("half", 0.5), ("fast", 1.0)):
        assert network.dumbbell(mix).to_dict() == network.shared(part).to_dict()
    groups = network.shared(0.1).to_dict()["network"]["access"]
    assert [group["hosts"] for group in groups] == [900, 100]
    at = {share.at_fast(one).get("at", "all") for one in (10, 50, 100)}
    assert at == {"fast", "all"}
