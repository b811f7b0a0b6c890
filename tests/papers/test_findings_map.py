"""Findings on the point of inflection and on ties: verdicts follow the runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import synthetic
from paceline.papers import Length, select
from paceline.papers.datacentre.testbed import COUNT, FCT, FCT_P99, HOSTS, NONE, UTILISATION
from paceline.papers.findings import inflection, same_instant

MAP, TIES = (select([f"finding-{name}"])[0] for name in ("inflection", "same-instant"))

CELLS = {cell.name: cell for cell in inflection.CELLS}


def turning(
    growth: Mapping[str, float], mean: float = 1.0, tail: float = 2.0, few: float = 1.0
) -> Mapping[str, synthetic.Numbers]:
    """Unpaced overtakes at a number over N* that grows by a factor a step; by the times of calls so much later."""

    def numbers(name: str) -> synthetic.Numbers:
        cell = CELLS[name]
        point = 0.8
        for axis, (_, values, _) in inflection.AXES.items():
            point *= growth[axis] ** list(values).index(getattr(cell, axis))
        first = inflection.connections(Length(), cell)[0]

        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            count = int(settings[COUNT])
            over = HOSTS * count / cell.n_star * (1 - 0.002 * (seed % 3))

            def lead(place: float) -> float:
                if settings["pacing"] != NONE:
                    return 1.0
                if count == first:
                    return 1 + 0.05 * (few if cell.holds else -few) * (1 + 0.01 * (seed % 3))
                return 1 + 0.1 * math.log2(over / place)

            times = {FCT: 0.5 / lead(point * mean), FCT_P99: 1.0 / lead(point * tail)}
            return {UTILISATION: 0.7 * lead(point)} | times

        return one

    return {name: numbers(name) for name in MAP.sweeps(Length())}


EVENLY = {"round_trip": 1.4, "n_star": 1.4, "call": 1.4}


@pytest.mark.parametrize(
    ("growth", "mean", "tail", "few", "failed"),
    [
        (EVENLY, 1.0, 2.0, 1.0, {}),
        (EVENLY | {"round_trip": 1.0}, 1.0, 2.0, 1.0, {"point of inflection over N*, round trip": 2}),
        (EVENLY | {"call": 0.9}, 1.0, 2.0, 1.0, {"point of inflection over N*, size of calls": 2}),
        (EVENLY, 1.6, 2.0, 1.0, {"have the same point by mean time": 3}),
        (EVENLY, 1.0, 1.1, 1.0, {"have the tail's point farther out": 3}),
        (EVENLY, 1.0, 2.0, -1.0, {"lead unpaced at half of N*": 3}),
    ],
)
def test_the_point_must_grow_along_each_axis_and_the_tail_lie_beyond(
    growth: Mapping[str, float], mean: float, tail: float, few: float, failed: Mapping[str, int]
) -> None:
    verdict = MAP.check(synthetic.runs(MAP, turning(growth, mean, tail, few)))
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert verdict.verdict == ("partly" if failed else "reproduced")
    assert len(missed) == sum(failed.values())
    assert all(any(statistic.startswith(name) for name in failed) for statistic in missed)
    assert "How far" in verdict.note


def test_a_point_is_the_end_of_the_stretch_in_which_paced_leads() -> None:
    flows = [10, 20, 30, 40]

    def found(*gaps: float) -> tuple[float, str]:
        one = inflection.point(flows, gaps, 10)
        return one.place, one.found

    assert found(-0.2, -0.1, 0.1, 0.2) == (2.5, "yes")
    assert found(0.9, -0.1, 0.3, 0.1) == (2.25, "yes")  # what fits into the buffer goes before
    assert found(-0.2, 0.02, -0.3, 0.1) == (3.75, "yes")  # one that stands out does not end it
    assert found(-0.2, -0.1, -0.1, -0.2) == (4.0, "none")
    assert found(0.2, 0.1, -0.005, 0.2) == (1.0, "never")
    assert found(0.2, 0.1, 0.1, 0.2) == (1.0, "never")


def test_cells_are_all_crossings_and_have_the_buffer_of_their_bound() -> None:
    assert len(CELLS) == 27
    assert inflection.Cell(30, 29, 1000).buffer == 129_310
    assert inflection.Cell(100, 29, 1000).buffer == 431_034
    assert [cell.holds for cell in inflection.CELLS].count(True) == 7
    full = inflection.connections(Length(), inflection.Cell(30, 58, 1000))
    assert [HOSTS * count for count in full] == [28, 56, 88, 144, 232, 464]  # 0.5 to 8 N*


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
    start = "Who goes first moves the use of the link by more than 5%, in the mean, with these numbers of flows: 2, 5 ("
    assert verdict.note.startswith(start)
    assert "of forty flows or more it does so in none." in verdict.note
    assert not verdict.ours.keys() & same_instant.PAPERS.keys()
    calm = TIES.check(synthetic.runs(TIES, ruled(lambda name, pacing, flows: 0.0)))
    assert "at no number of flows." in calm.note


def test_drops_on_ties_are_told_where_arrivals_go_first() -> None:
    rows = TIES.check(synthetic.runs(TIES, ruled(expected))).evidence
    shares = {row.value for row in rows if row.statistic.startswith("drops that fell on a tie")}
    assert shares == {0.5}


@pytest.mark.parametrize(("claim", "numbers"), [(MAP, turning(EVENLY)), (TIES, ruled(expected))], ids=["map", "ties"])
def test_pictures_are_the_same_bytes_each_time(claim: Any, numbers: Any) -> None:
    runs = synthetic.runs(claim, numbers)
    assert claim.draw(runs) == claim.draw(runs)
    assert all(one.svg.startswith("<svg") and one.caption for one in claim.draw(runs))
