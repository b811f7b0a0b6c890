"""Advice: the search and what is stated, on networks whose truth is known by a formula; and whole answers, by runs."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from paceline.advise.answer import FRESH, state
from paceline.advise.evidence import Evidence, Run
from paceline.advise.fragility import changes
from paceline.advise.measures import goal_worth, worth
from paceline.advise.network import scenario_of
from paceline.advise.question import Candidate, Question
from paceline.advise.reading import read_question
from paceline.advise.search import search
from paceline.advise.sentence import sentence
from paceline.advise.surrogate import Outlook

ROOT = Path(__file__).parent.parent
ASKED: dict[str, Any] = {"rate": "1 Gbit/s", "rtt": "10 ms .. 50 ms", "flows": 20, "within": "600 min"}
SMALL: dict[str, Any] = {"rate": "5 Mbit/s", "rtt": "5 ms .. 15 ms", "flows": 4, "pacing": ["none", "host"]}

Truth = Callable[[Candidate], dict[str, float]]


class Formula:
    """A simulator whose long-run values are known: they are drawn around, the same draws for all under one seed."""

    def __init__(self, truth: Truth, noise: float, own: float) -> None:
        self.truth, self.noise, self.own = truth, noise, own
        self.runs = 0

    def __call__(self, pairs: Sequence[tuple[Candidate, int]]) -> Mapping[tuple[Candidate, int], Run]:
        return {pair: self.run(*pair) for pair in pairs}

    def run(self, candidate: Candidate, seed: int) -> Run:
        self.runs += 1
        common = random.Random(seed).gauss(0, self.noise)
        own = random.Random(f"{seed} {candidate.name}").gauss(0, self.own)
        return Run({name: value * (1 + common + own) for name, value in self.truth(candidate).items()}, 1.0, 1e6)


def rising(scale: Mapping[str, float]) -> Truth:
    """Utilisation 1 - exp(-B/B*), with a B* for each pacing; delay grows with the buffer."""

    def truth(one: Candidate) -> dict[str, float]:
        star = scale[one.pacing.method]
        return {"utilisation": 1 - math.exp(-one.buffer / star), "loss": 0.01, "wait": one.buffer * 12e-6}

    return truth


def found(question: Question, formula: Formula) -> Any:
    return search(question, formula, None, time.monotonic())


@pytest.mark.parametrize("number", range(40))
def test_the_least_buffer_is_found_in_few_runs(number: int) -> None:
    """Without noise it is the very one of the formula, and a tenth of the settings' exhaustive runs is not needed."""
    chance = random.Random(number)
    stars = {name: 10 ** chance.uniform(0.5, 3) for name in ("none", "host", "edge")}
    question = read_question(ASKED | {"bounds": [f"utilisation >= {chance.choice((80, 95, 98))} %"]})
    formula = Formula(rising(stars), 0.0, 0.0)
    right = max(question.candidates, key=lambda one: (worth(question, one, formula.truth(one)), -one.pacing.effort))
    best = found(question, formula).best
    assert best.buffer == right.buffer
    assert worth(question, best, formula.truth(best)) > 0
    assert formula.runs < len(question.candidates) * 24 / 10


@pytest.mark.parametrize("goal", ["utilisation", "wait"])
def test_other_goals_are_found_under_their_bounds(goal: str) -> None:
    other = {"utilisation": "wait <= 1 ms", "wait": "utilisation >= 90 %"}[goal]
    question = read_question(ASKED | {"goal": goal, "bounds": [other]})
    formula = Formula(rising({"none": 200, "host": 60, "edge": 100}), 1e-3, 1e-3)
    best = found(question, formula).best
    top = max(question.candidates, key=lambda one: worth(question, one, formula.truth(one)))
    ratio = goal_worth(question, best, formula.truth(best)) / goal_worth(question, top, formula.truth(top))
    assert ratio >= 0.98
    assert best.pacing.method == "host"


@pytest.mark.parametrize("pacing", ["host", "edge 2 ms", {"method": "edge", "delay": "2 ms"}, "host gain = 0.8"])
def test_every_change_is_a_scenario(pacing: Any) -> None:
    question = read_question(ASKED | {"pacing": [pacing], "tcp": {"cubic": 0.7, "bbr": 0.3}})
    names = []
    for name, changed, candidate in changes(question, question.candidates[3]):
        scenario_of(changed, candidate).check()
        names.append(name)
    assert {"twice the flows", "round trips half as long", "GSO on at the hosts"} < set(names)
    assert any(name.startswith("one in three of the ") for name in names)


def test_runs_are_paired_by_seed() -> None:
    """What all candidates share hides no difference: 10 % of common noise, and 0.5 % between two."""
    question = read_question(ASKED | {"goal": "utilisation", "bounds": [], "buffer": "50 packets"})
    values = {"none": 0.900, "host": 0.905, "edge": 0.890}
    formula = Formula(lambda one: {"utilisation": values[one.pacing.method]}, 0.05, 1e-5)
    none, host = (next(one for one in question.candidates if one.pacing.method == name) for name in ("none", "host"))
    evidence = Evidence(question)
    evidence.gather(formula, [(one, seed) for one in (none, host) for seed in range(4)])
    ahead = evidence.ahead(host, none)
    assert ahead is not None
    assert ahead.excludes_zero
    separate = evidence.interval(host, "utilisation")
    assert separate is not None
    assert separate.half is not None
    assert separate.half > 0.005 > abs(ahead.mean - 0.005 / 0.905)


def test_stated_intervals_hold_the_truth_and_those_of_the_search_would_not() -> None:
    """The winner of many is the best by luck: only fresh seeds state it without bias."""
    question = read_question(
        ASKED | {"goal": "utilisation", "bounds": [], "buffer": "5 packets .. 20 packets", "pacing": ["none", "host"]}
    )
    held, by_luck, count = 0, 0.0, 60
    for number in range(count):
        formula = Formula(lambda _: {"utilisation": 0.8}, 0.0, 0.02)
        formula.run = _shifted(formula, number)  # type: ignore[method-assign]
        result = found(question, formula)
        verdict = state(question, result, formula, math.inf)
        stated = verdict.best.intervals["utilisation"]
        assert verdict.best.fresh
        held += stated.low <= 0.8 <= stated.high
        by_luck += result.evidence.means(result.best)["utilisation"] / 0.8 - 1
    assert held / count >= 0.885  # 95 %, and three deviations of 100 draws
    assert by_luck / count > 0.003


def _shifted(formula: Formula, number: int) -> Callable[[Candidate, int], Run]:
    """The same with draws of its own."""
    plain = Formula.run
    return lambda candidate, seed: plain(formula, candidate, seed + 7919 * (number + 1))


def test_what_is_within_the_noise_is_no_winner() -> None:
    question = read_question(ASKED | {"goal": "utilisation", "bounds": [], "buffer": "50 packets"})
    for number in range(20):
        formula = Formula(lambda _: {"utilisation": 0.8, "loss": 0.01}, 0.01, 0.02)
        formula.run = _shifted(formula, number)  # type: ignore[method-assign]
        result = found(question, formula)
        verdict = state(question, result, formula, math.inf)
        assert verdict.status in ("tie", "undecided")
        said = sentence(question, verdict, result.ended)
        assert "as far as runs tell" in said or said.startswith("Not settled")


@pytest.mark.parametrize("runs", [None, 60])
def test_a_bound_within_the_noise_takes_the_runs_that_there_are(runs: int | None) -> None:
    """A twelfth of every setting under 24 seeds, 24 at least; more only where it is allowed."""
    asked = ASKED | {"buffer": ["10 packets", "20 packets"], "pacing": "none"} | ({"runs": runs} if runs else {})
    question = read_question(asked)
    formula = Formula(lambda one: {"utilisation": 0.979 if one.buffer == 20 else 0.9, "loss": 0.01}, 0.0, 0.005)
    result = found(question, formula)
    assert formula.runs == (runs or 24)
    assert result.ended == f"{formula.runs} runs were not enough to settle it; allow more by --runs"
    assert state(question, result, formula, math.inf).status == "undecided"


def test_where_nothing_differs_few_runs_say_so() -> None:
    """Ninety settings that are the same: a tenth of every setting under 24 seeds is not even needed."""
    question = read_question(ASKED | {"goal": "utilisation", "bounds": []})
    formula = Formula(lambda _: {"utilisation": 0.8, "loss": 0.01}, 0.01, 0.05)
    assert state(question, found(question, formula), formula, math.inf).status in ("tie", "undecided")
    assert formula.runs < len(question.candidates) * 24 / 10


def test_a_pacer_that_does_nothing_is_looked_at_once() -> None:
    """What leaves a run as it is, to the last digit, is the same setting: only that of less effort competes."""
    question = read_question(ASKED | {"goal": "utilisation", "bounds": [], "pacing": ["none", "host", "edge 2 ms"]})
    formula = Formula(rising({"none": 60, "host": 200, "edge": 60}), 0.0, 0.0)
    formula.run = lambda one, seed: Run(  # type: ignore[method-assign]
        {
            name: value * (1 + random.Random(f"{seed} {one.buffer}").gauss(0, 0.02))
            for name, value in formula.truth(one).items()
        }
    )
    result = found(question, formula)
    runs = {
        name: sum(len(of) for one, of in result.evidence.runs.items() if one.pacing.method == name)
        for name in ("none", "host", "edge")
    }
    assert result.best.pacing.method == "none"
    assert len({one.buffer for one in result.evidence.runs if one.pacing.method == "edge"}) == runs["edge"]
    assert runs["none"] > 2 * runs["edge"]


def test_settings_speak_for_their_neighbours() -> None:
    """One pacing is 8 % ahead at every buffer: under noise of 10 % runs of all buffers tell it, those of one do not."""
    question = read_question(ASKED | {"goal": "fct", "size": "50 KB", "pacing": ["none", "host"]})
    right = alone = 0
    for number in range(30):
        formula = Formula(lambda one: {"fct": 0.92 if one.pacing.method == "host" else 1.0}, 0.0, 0.1)
        formula.run = _shifted(formula, number)  # type: ignore[method-assign]
        evidence = Evidence(question)
        evidence.gather(formula, [(one, seed) for one in question.candidates[::2] for seed in (1, 2)])
        outlook = Outlook(evidence, question.candidates)
        none, host = (Candidate(question.buffers[2], pacing, "drop-tail") for pacing in question.pacings)
        right += outlook.worth(host) > outlook.worth(none)
        alone += evidence.means(host)["fct"] < evidence.means(none)["fct"]
        untried = question.candidates[1]
        assert untried not in evidence.runs
        assert outlook.worth(untried) == pytest.approx(1.0, rel=0.2)
    assert right >= 27 > alone


def test_the_second_is_advised_where_all_runs_have_it_ahead() -> None:
    """The search's few seeds flatter one setting; with the fresh ones the other is ahead, and is stated."""
    question = read_question(
        ASKED | {"goal": "utilisation", "bounds": [], "buffer": "50 packets", "pacing": ["none", "host"]}
    )

    def run(candidate: Candidate, seed: int) -> Run:
        value = 0.9 if candidate.pacing.method == "none" else (0.85 if seed < FRESH else 0.95)
        return Run({"utilisation": value + random.Random(f"{seed} {candidate.name}").gauss(0, 1e-3)}, 1.0, 1e6)

    formula = Formula(lambda _: {}, 0, 0)
    formula.run = run  # type: ignore[method-assign]
    result = found(question, formula)
    assert result.best.pacing.method == "none"
    verdict = state(question, result, formula, math.inf)
    assert verdict.best.candidate.pacing.method == "host"
    assert verdict.rival is not None
    assert verdict.rival.candidate.pacing.method == "none"
    assert verdict.best.intervals["utilisation"].mean == pytest.approx(0.95, abs=0.002)


def test_a_bound_at_the_truth_is_not_settled() -> None:
    question = read_question(ASKED | {"buffer": ["10 packets", "20 packets"], "pacing": "none"})
    undecided = 0
    for number in range(20):
        formula = Formula(lambda one: {"utilisation": 0.98 if one.buffer == 20 else 0.9}, 0.0, 0.002)
        formula.run = _shifted(formula, number)  # type: ignore[method-assign]
        verdict = state(question, found(question, formula), formula, math.inf)
        undecided += verdict.status != "settled"
    assert undecided >= 17  # a 95 % interval beside the bound, now and then


def test_a_choice_that_fresh_runs_refute_is_replaced() -> None:
    """The search's seeds flatter 20 packets; the fresh ones do not."""
    question = read_question(ASKED | {"buffer": ["10 packets", "20 packets", "40 packets"], "pacing": "none"})

    def run(candidate: Candidate, seed: int) -> Run:
        lucky = candidate.buffer == 20 and seed < FRESH
        value = 0.99 if candidate.buffer == 40 or lucky else 0.95
        return Run({"utilisation": value + random.Random(f"{seed}").gauss(0, 1e-4), "loss": 0.0}, 1.0, 1e6)

    formula = Formula(lambda _: {}, 0, 0)
    formula.run = run  # type: ignore[method-assign]
    verdict = state(question, found(question, formula), formula, math.inf)
    assert verdict.best.candidate.buffer == 40
    assert [one.buffer for one in verdict.refuted] == [20]
    assert verdict.status == "undecided"


@pytest.mark.parametrize("goal", ["buffer", "utilisation", "wait"])
def test_where_no_time_is_left_it_is_not_settled(goal: str) -> None:
    """The winner has two fresh runs, its rival none."""
    bounds = ["utilisation >= 90 %"] if goal != "utilisation" else ["wait <= 1 ms"]
    question = read_question(ASKED | {"goal": goal, "bounds": bounds, "within": "1 us"})
    formula = Formula(rising({"none": 200, "host": 60, "edge": 100}), 0.01, 0.01)
    result = search(question, formula, None, time.monotonic())
    verdict = state(question, result, formula, time.monotonic(), lambda count: float(count))
    assert verdict.status in ("undecided", "unreachable")
    assert verdict.best.seeds == 2
    said = sentence(question, verdict, result.ended)
    assert said.startswith(("Not settled", "No setting"))
    head = sentence(question, verdict, "time was over").partition("; ")[0]  # the head of the page
    assert head.count("(") == head.count(")")


def test_an_unreachable_goal_names_the_bound_and_the_nearest() -> None:
    question = read_question(ASKED | {"bounds": ["utilisation >= 98 %"], "buffer": "5 packets .. 50 packets"})
    formula = Formula(rising({"none": 200, "host": 20, "edge": 100}), 0.0, 1e-4)
    result = found(question, formula)
    verdict = state(question, result, formula, math.inf)
    assert verdict.status == "unreachable"
    assert verdict.best.candidate.pacing.method == "host"
    assert verdict.best.candidate.buffer == 50
    said = sentence(question, verdict, result.ended)
    assert said.startswith("No setting that may be keeps utilisation ≥ 98 %. The nearest misses it by 6.2 points: 50 p")


def test_bounds_that_exclude_each_other_are_named_together() -> None:
    """98 % takes 78 packets or more, and 0.5 ms of wait 41 or fewer; each alone can be had."""
    bounds = ["utilisation >= 98 %", "wait <= 0.5 ms"]
    question = read_question(ASKED | {"goal": "loss", "bounds": bounds, "buffer": "5 packets .. 500 packets"})
    formula = Formula(rising({"none": 20, "host": 20, "edge": 20}), 0.0, 1e-4)
    result = found(question, formula)
    verdict = state(question, result, formula, math.inf)
    assert verdict.status == "unreachable"
    said = sentence(question, verdict, result.ended)
    assert said.startswith(
        "No setting that may be keeps utilisation ≥ 98 % and wait ≤ 500 us together. The nearest misses"
    )
    assert re.search(r"misses (utilisation by [\d.]+ points|wait by [\d.]+ us)", said)


def test_losses_that_no_run_has_are_not_stated_to_be_none() -> None:
    """Of n packets without a loss, 3/n may be lost, at 95 %."""
    question = read_question(ASKED)
    evidence = Evidence(question)
    one = question.candidates[0]
    evidence.runs[one] = {seed: Run({"loss": 0.0}, 1.0, 1000.0) for seed in range(3)}
    stated = evidence.interval(one, "loss")
    assert stated is not None
    assert stated.half == pytest.approx(3 / 3000)
