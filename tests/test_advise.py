"""Advice: the search and what is stated, on networks whose truth is known by a formula; and whole answers, by runs."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from click.testing import CliRunner
from paceline.advise.answer import FRESH, state
from paceline.advise.evidence import Evidence, Run
from paceline.advise.fragility import changes
from paceline.advise.measures import goal_worth, values_of, worth
from paceline.advise.network import length_of, scenario_of, simulated_flows
from paceline.advise.question import Candidate, Question
from paceline.advise.reading import read_question
from paceline.advise.running import Simulator
from paceline.advise.search import search
from paceline.advise.sentence import sentence
from paceline.advise.surrogate import Outlook
from paceline.cli.main import main

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


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rate": "-1 Gbit/s"}, 'rate: "-1 Gbit/s" is negative'),
        ({"rate": "0 bit/s"}, "is no rate at all"),
        ({"rtt": "80 ms .. 5 ms"}, 'write "5 ms .. 80 ms"'),
        ({"rtt": []}, "the list is empty"),
        ({"flows": 0}, "write a whole number from 1"),
        ({"flows": "many"}, "write a whole number from 1"),
        ({"buffer": "20 packets", "pacing": "none"}, "nothing may change"),
        ({"bounds": ["utilisation >= 120 %"]}, "is not from 0 % to 100 %"),
        ({"bounds": ["utilisation <= 50 %"]}, "asks for a bad utilisation"),
        ({"bounds": ["utilisation >= 98 %", "utilisation >= 50 %"]}, "bounded twice"),
        ({"bounds": []}, "the least buffer is none at all"),
        ({"bounds": ["speed >= 1"]}, "is no measure"),
        ({"bounds": ["loss"]}, "is no bound"),
        ({"bounds": ["loss much"]}, "is not from 0 %"),
        ({"goal": "happiness"}, "goal:"),
        ({"goal": "fct"}, "no completion time"),
        ({"think": "1 s"}, "goes with size"),
        ({"tcp": {"cubic": 0.7, "bbr": 0.7}}, "come to 1.4"),
        ({"tcp": "carrier-pigeon"}, "variant"),
        ({"pacing": "edge"}, 'pacing: "edge": delay missing'),
        ({"pacing": "edge 2 ms", "edges": 0}, "paces at edges"),
        ({"queue": "codle"}, 'queue: "codle" is no queue discipline; did you mean "codel"'),
        ({"sure": "120 %"}, "sure:"),
        ({"within": "soon"}, "within:"),
        ({"colour": "red"}, "unknown key"),
        ({"buffer": "1 BDP .. 5 packets"}, "begins above its end"),
    ],
)
def test_nonsense_is_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(pl.InputError) as error:
        read_question(ASKED | changes)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_command_refuses_in_one_line_with_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["advise", "--rate", "-1 Gbit/s", "--rtt", "5 ms", "--flows", "10"])
    assert left.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith('paceline: --rate: "-1 Gbit/s" is negative')
    assert output.err.count("\n") == 1


def test_round_trips_are_those_asked_for() -> None:
    """Every seed has the whole range of them, and as many flows as asked, dealt out to edges."""
    for asked in (
        ASKED,
        ASKED | {"flows": 7},
        ASKED | {"rtt": ["5 ms", "20 ms", "90 ms"], "flows": 30},
        ASKED | {"edges": 0},
        ASKED | {"rtt": [f"{trip} ms" for trip in range(10, 90, 10)], "flows": 8},
    ):
        question = read_question(asked)
        scenario = scenario_of(question, question.candidates[0])
        network = json.loads(pl._core.inspect(scenario.points()[0].json, 1))
        delay = [link["delay_ns"] * 1e-9 for link in network["links"]]
        flows = network["flows"]
        assert len(flows) == simulated_flows(question)
        assert abs(len(flows) - question.flows) <= 1
        trips = sorted(math.fsum(delay[link] for link in (*flow["forward"], *flow["reverse"])) for flow in flows)
        assert trips[0] >= question.round_trips_s[0][0] - 1e-6
        assert trips[-1] <= question.round_trips_s[-1][1] + 1e-6
        assert math.fsum(trips) / len(trips) == pytest.approx(question.round_trip_s, rel=0.12)


def test_a_bound_needs_no_sign() -> None:
    asked = [read_question(ASKED | {"bounds": bounds}).bounds for bounds in (["wait 5 ms"], ["wait <= 5 ms"])]
    assert asked[0] == asked[1]


def test_shares_of_tcps_are_dealt_out() -> None:
    question = read_question(ASKED | {"tcp": {"cubic": 0.75, "newreno": 0.25}})
    tables = scenario_of(question, question.candidates[0]).to_dict()["traffic"]
    assert [len(table["from"]) for table in tables] == [15, 5]
    scenario_of(question, question.candidates[0]).check()


def test_a_run_lasts_for_several_sawteeth() -> None:
    question = read_question(ASKED | {"flows": 2, "buffer": "5 packets .. 1 BDP"})
    assert length_of(question).window_s > length_of(question, 5).window_s  # a full buffer is part of a round trip
    assert length_of(read_question(ASKED)).window_s < length_of(question).window_s


def test_an_answer_by_runs(tmp_path: Path) -> None:
    """All of it on a small network: what is stated comes again by a run of the scenario; the store has every run."""
    asked = SMALL | {"within": "600 min"}
    advice = pl.advise(asked, out=tmp_path)
    again = pl.advise(asked, out=tmp_path)
    assert again.sentence == advice.sentence
    assert again.runs == advice.runs
    report = advice.save(tmp_path)
    answer = json.loads((tmp_path / "advice.json").read_text())
    assert answer["sentence"] == advice.sentence
    assert answer["best"]["fresh"]
    assert answer["best"]["buffer_bytes"] == answer["best"]["buffer_packets"] * 1500
    assert report.read_text().count("<script") == 1
    assert advice.sentence.partition("; ")[0] in report.read_text().replace("&#39;", "'")
    runs = pl.sweep(tmp_path / "scenario.toml", seeds=[FRESH + 1 + number for number in range(answer["best"]["seeds"])])
    question = read_question(asked)
    values = [values_of(run.to_dict(), question)["utilisation"] for run in runs]
    assert math.fsum(values) / len(values) == pytest.approx(answer["best"]["intervals"]["utilisation"]["mean"])
    assert advice._repr_html_().startswith("<p><b>")
    assert str(advice).startswith(advice.sentence[:40])


def test_the_command_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--rate", "5 Mbit/s", "--rtt", "5 ms", "--flows", "4", "--pacing", "none", "--no-changes", "--quiet"]
    result = CliRunner().invoke(main.__globals__["paceline"], ["advise", *options, "--json"], standalone_mode=False)
    assert result.exception is None
    answer = json.loads(result.stdout)
    assert answer["sentence"].startswith(("Give the core", "Not settled"))
    assert answer["theory"][0]["rule"] == "BDP"
    assert not (tmp_path / "results").exists()


def _bench() -> Any:
    spec = importlib.util.spec_from_file_location("bench_advise", ROOT / "benches" / "advise.py")
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    return bench


def test_the_bench_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has run is read, and only what is missing runs; of another core's runs none are used."""
    bench = _bench()
    kept = bench.Kept(3_000_000, tmp_path, 1)
    some = kept.question.candidates[:2]
    first = kept.evidence("exhaustive", some, 2)
    assert not kept.is_answered
    asked: list[Any] = []

    class Counting(Simulator):
        def __call__(self, pairs: Sequence[tuple[Candidate, int]]) -> Mapping[tuple[Candidate, int], Run]:
            asked.extend(pairs)
            return super().__call__(pairs)

    monkeypatch.setattr(bench, "Simulator", Counting)
    again = bench.Kept(3_000_000, tmp_path, 1)
    assert again.evidence("exhaustive", some, 2).runs == first.runs
    assert asked == []
    again.evidence("exhaustive", some, 3)
    assert [one for one, _ in asked] == some
    file = tmp_path / "3000000.json"
    file.write_text(file.read_text().replace('"core":"', '"core":"0'))
    bench.Kept(3_000_000, tmp_path, 1).evidence("exhaustive", some[:1], 1)
    assert len(asked) == 3
    assert bench._ranges([0, 1, 2, 5, 7, 8]) == "0 to 2, 5, 7 to 8"


def test_drawn_questions_are_answered_as_well_as_by_an_exhaustive_search() -> None:
    """The quick form of `make bench-advise`, on questions that it does not ask: small spaces, six seeds."""
    bench = _bench()
    for number in (3_000_000, 3_000_006):
        asked = bench.drawn(number)
        question = read_question(asked)
        advice = pl.advise(asked)
        best = advice.to_dict()["best"]
        every = Evidence(question)
        every.gather(Simulator(question), [(one, 500_000 + seed) for one in question.candidates for seed in range(6)])
        top = max(question.candidates, key=every.worth)
        advised = next(
            one
            for one in question.candidates
            if (one.buffer, one.pacing.name) == (best["buffer_packets"], best["pacing"])
        )
        assert bench.utility(question, every, advised, top) >= 0.98
