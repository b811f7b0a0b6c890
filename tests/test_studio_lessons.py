"""What each lesson says comes of it, held against runs of the lesson's own state."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from paceline.results import Results
from paceline.runs.precision import LEAST_SEEDS
from paceline.runs.python_api import sweep
from paceline.scenario import Scenario
from paceline.studio.findings import SHOWN, compared
from paceline.studio.lessons import LESSONS, Lesson, Outcome
from paceline.studio.worlds import state_of, worlds_of


@cache
def rows_of(key: str) -> tuple[dict[str, Any], Results]:
    """The page's own rows by figure, over as many seeds as an interval has at least; and the paced world's runs."""
    (document,) = (lesson.document for lesson in LESSONS if lesson.key == key)
    worlds = worlds_of(Scenario(document))
    runs = [sweep(world.scenario, seeds=LEAST_SEEDS) for world in worlds]
    by_seed = [{run.seed: run.to_dict() for run in results} for results in runs]
    return {row["key"]: row for row in compared(*by_seed, worlds[0].core)}, runs[1]


def holds(outcome: Outcome, rows: dict[str, Any], paced: Results) -> bool:
    if outcome.figure == "group":
        groups = [run.to_dict()["groups"] for run in paced]
        pairs = [(one["paced"]["goodput_mean_bps"], one["unpaced"]["goodput_mean_bps"]) for one in groups]
        return all(mine < others if outcome.says == "lower" else mine > others for mine, others in pairs)
    row = rows[outcome.figure]
    before, after, difference = (row[name] for name in ("unpaced", "paced", "difference"))
    match outcome.says:
        case "higher":
            return bool(difference["mean"] > difference["half"])
        case "lower":
            return bool(-difference["mean"] > difference["half"])
        case "alike":
            return abs(difference["mean"]) <= outcome.bound * before["mean"]
        case "at least":
            return min(before["mean"], after["mean"]) >= outcome.bound
        case "at most":
            return max(before["mean"], after["mean"]) <= outcome.bound


@pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.key for lesson in LESSONS])
def test_what_a_lesson_says_comes_of_it(lesson: Lesson) -> None:
    rows, paced = rows_of(lesson.key)
    for outcome in lesson.outcomes:
        assert holds(outcome, rows, paced), (outcome, rows.get(outcome.figure))


def test_there_are_twelve_each_with_three_sentences_and_an_outcome() -> None:
    assert len({lesson.key for lesson in LESSONS}) == len({lesson.title for lesson in LESSONS}) == 12
    for lesson in LESSONS:
        assert len(lesson.sentences) == 3
        assert all(text.endswith(".") for text in lesson.sentences)
        assert {outcome.figure for outcome in lesson.outcomes} <= {*SHOWN, "group"}
        assert lesson.outcomes
        state = Scenario(lesson.document)
        assert state_of(state) == state


def test_the_page_of_the_docs_lists_them() -> None:
    text = (Path(__file__).parent.parent / "docs" / "studio.md").read_text()
    listed = text.partition("<!-- lessons -->")[2].partition("<!-- /lessons -->")[0]
    assert re.findall(r"^\d+\. (.+)$", listed, re.MULTILINE) == [lesson.title for lesson in LESSONS]


def test_an_outcome_that_does_not_come_is_seen() -> None:
    rows, paced = rows_of(LESSONS[0].key)
    assert not holds(Outcome("throughput", "lower"), rows, paced)
    assert not holds(Outcome("throughput", "alike", 0.02), rows, paced)
    assert not holds(Outcome("utilisation", "at least", 0.97), rows, paced)


def test_who_is_paced_is_told_from_who_is_not() -> None:
    rows, _ = rows_of("half-paced")
    paced, others = rows["goodput_paced"], rows["goodput_unpaced"]
    assert paced["paced"]["mean"] > others["paced"]["mean"]
    assert [row[of] for row in (paced, others) for of in ("unpaced", "difference")] == [None] * 4
    assert rows_of("bursts")[0]["goodput_paced"]["paced"] is None
