"""Findings on the point of inflection and on ties: verdicts follow the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import synthetic
from paceline.papers import Length, select
from paceline.papers.datacentre.testbed import COUNT, FCT, FCT_P99, HOSTS, NONE, UTILISATION
from paceline.papers.findings import inflection, same_instant

MAP, TIES = (select([f"finding-{name}"])[0] for name in ("inflection", "same-instant"))

#: Points over N* by cell, as hypothesised: growing along each axis.
GROWING = {
    "rtt-10": 1.2,
    "base": 1.6,
    "rtt-100": 2.6,
    "buffer-58": 1.1,
    "buffer-14": 2.4,
    "call-300": 2.0,
    "call-100": 2.8,
}


def turning(points: Mapping[str, float], mean: float = 0.0, tail: float = 1.0) -> Mapping[str, synthetic.Numbers]:
    """Unpaced overtakes at these numbers over N*; by the times of calls so much later."""

    def numbers(name: str) -> synthetic.Numbers:
        cell, point = inflection.CELLS[name], points[name]

        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            over = HOSTS * int(settings[COUNT]) / cell.n_star - 0.01 * (seed % 3)
            unpaced = settings["pacing"] == NONE
            return {
                UTILISATION: 0.7 + 0.1 * (over - point) * unpaced,
                FCT: 0.5 - 0.1 * (over - point - mean) * unpaced,
                FCT_P99: 1.0 - 0.1 * (over - point - tail) * unpaced,
            }

        return one

    return {name: numbers(name) for name in MAP.sweeps(Length())}


@pytest.mark.parametrize(
    ("points", "mean", "tail", "failed"),
    [
        (GROWING, 0.0, 1.0, {}),
        (GROWING | {"rtt-100": 1.6}, 0.0, 1.0, {"point of inflection over N*, round trip": 1}),
        (GROWING, 0.4, 1.0, {"distance of the point by mean time": 7}),
        (GROWING, 0.0, 0.2, {"point by 99th percentile": 7}),
    ],
)
def test_the_point_must_grow_along_each_axis_and_the_tail_lie_beyond(
    points: Mapping[str, float], mean: float, tail: float, failed: Mapping[str, int]
) -> None:
    verdict = MAP.check(synthetic.runs(MAP, turning(points, mean, tail)))
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert verdict.verdict == ("partly" if failed else "reproduced")
    assert len(missed) == sum(failed.values())
    assert all(any(statistic.startswith(name) for name in failed) for statistic in missed)
    assert "How far" in verdict.note


def test_no_point_counts_as_the_end_of_what_was_run() -> None:
    flows = [12, 28, 60, 116]
    assert inflection.place(flows, [-1, -1, 1, 1]) == 44
    assert inflection.place(flows, [-1, -1, -1, -1]) == 116
    assert inflection.place(flows, [1, 1, 1, 1]) == 12


def test_cells_have_the_buffer_of_their_bound() -> None:
    assert inflection.CELLS["base"].buffer == 129_310
    assert inflection.CELLS["rtt-100"].buffer == 431_034
    assert inflection.CELLS["call-100"].buffer == inflection.CELLS["base"].buffer


def ruled(moves: Callable[[str, str, int], float]) -> Mapping[str, synthetic.Numbers]:
    """Utilisation that departures first moves by a share, by access, pacing and flows."""

    def numbers(name: str) -> synthetic.Numbers:
        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            flows = int(settings.get("network.access.hosts", "1000"))
            by = moves(name, settings.get("pacing", NONE), flows) if settings[same_instant.TIES] == "departure" else 0.0
            noise = 1 + 1e-3 * (seed % 3)
            drops = {same_instant.TIED: 5, same_instant.DROPPED: 10}
            return {same_instant.UTILISATION: 0.5 * noise * (1 + by * (1 + 1e-3 * seed)), **drops}

        return one

    return {name: numbers(name) for name in TIES.sweeps(Length())}


def expected(name: str, pacing: str, flows: int) -> float:
    """As hypothesised: with few flows and exact rates, unpaced."""
    return 0.3 if name in same_instant.EXACT and pacing == NONE and flows <= 5 else 0.01


@pytest.mark.parametrize(
    ("moves", "failed"),
    [
        (expected, 0),
        (lambda name, pacing, flows: 0.0, 4),
        (lambda name, pacing, flows: 0.3, 4 + 12 + 3),
        (lambda name, pacing, flows: 0.3 if name == "edge" else expected(name, pacing, flows), 1),
    ],
)
def test_a_result_hangs_on_ties_only_where_it_is_said_to(moves: Callable[[str, str, int], float], failed: int) -> None:
    verdict = TIES.check(synthetic.runs(TIES, ruled(moves)))
    assert sum(row.ok is False for row in verdict.evidence) == failed
    assert (verdict.verdict == "reproduced") == (failed == 0)


def test_the_answer_names_what_moves_and_no_key_of_a_sweep() -> None:
    verdict = TIES.check(synthetic.runs(TIES, ruled(expected)))
    start = "The rule moves the use of the link by more than 5%, in the mean, with these numbers of flows: 2, 5 (access"
    assert verdict.note.startswith(start)
    assert "of forty flows or more it does so in none." in verdict.note
    assert not verdict.ours.keys() & same_instant.PAPERS.keys()
    calm = TIES.check(synthetic.runs(TIES, ruled(lambda name, pacing, flows: 0.0)))
    assert "at no number of flows." in calm.note


def test_drops_on_ties_are_told_where_arrivals_go_first() -> None:
    rows = TIES.check(synthetic.runs(TIES, ruled(expected))).evidence
    shares = {row.value for row in rows if row.statistic.startswith("drops that fell on a tie")}
    assert shares == {0.5}


@pytest.mark.parametrize(("claim", "numbers"), [(MAP, turning(GROWING)), (TIES, ruled(expected))], ids=["map", "ties"])
def test_pictures_are_the_same_bytes_each_time(claim: Any, numbers: Any) -> None:
    runs = synthetic.runs(claim, numbers)
    assert claim.draw(runs) == claim.draw(runs)
    assert all(one.svg.startswith("<svg") and one.caption for one in claim.draw(runs))
