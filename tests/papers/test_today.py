"""Claims on today's hosts: verdicts follow the numbers, for each question and TCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import synthetic
from paceline.papers import Length, Runs, select
from paceline.papers.today import network, questions
from paceline.papers.today.network import BUFFER, LABELS, PACING

CUBIC, BBR = (select([f"today-{name}"])[0] for name in ("cubic", "bbr"))
#: Gains over no pacing in a small buffer, as the papers have them.
GAINS = {"none": 0.0, "host": 0.2, "edge": 0.4, "qlbp": 0.3}


def flows(unfair: float) -> Mapping[str, Any]:
    """Ten long flows, the first of which has so much more, and one that is not long."""
    names = [f"bulk.{number}" for number in range(10)] + ["web.0"]
    return {"name": names, "goodput_bps": [1e6 * (1 + unfair)] + [1e6] * 9 + [1.0]}


def like_the_papers(
    gains: Mapping[str, float] = GAINS, large: float = 0.0, unfair: float = 0.0, slower: float = -0.1
) -> synthetic.Numbers:
    """Results by pacing method: goodput gains by method in small buffers and `large` in a large one; edge pacing lowers
    Jain's index by `unfair` and raises completion times by `slower`."""
    methods = {label: name for name, label in LABELS.items()}

    def numbers(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        method = methods.get(settings.get(PACING, ""), "none")
        size = int(settings.get(BUFFER, "10 packets").split()[0])
        gain = gains[method] if size < network.LARGE else large * (method != "none")
        edge = method == "edge"
        return {
            "flows.goodput_mean_bps": 1e7 * (1 + gain + 1e-3 * seed * gain),
            "flows.fct_mean_s": 0.1 * (1 + (slower + 1e-3 * seed) * edge),
            "links.core.utilisation": 0.6 + gain / 2,
            "links.core.loss_ratio": 0.01 * size,
            "per_flow": flows(unfair * edge),
        }

    return numbers


def runs(numbers: synthetic.Numbers, claim: Any = CUBIC, length: Length | None = None) -> Runs:
    return synthetic.runs(claim, numbers, length)


def answer(name: str, found: Runs, variant: str = "cubic") -> str:
    return questions.word(questions.answers(variant, found)[name])


def test_what_the_papers_found_is_reproduced() -> None:
    verdict = CUBIC.check(runs(like_the_papers()))
    assert verdict.verdict == "reproduced"
    assert set(verdict.ours) == set(questions.QUESTIONS)
    assert {text.partition(",")[0] for text in verdict.ours.values()} == {"holds"}


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("edge gains", like_the_papers(GAINS | {"edge": -0.1})),
        ("host gains", like_the_papers(GAINS | {"host": -0.1})),
        ("edge over host", like_the_papers(GAINS | {"host": 0.6})),
        ("QLBP gains", like_the_papers(GAINS | {"qlbp": -0.1})),
        ("gone when large", like_the_papers(large=0.06)),
        ("fair", like_the_papers(unfair=5.0)),
        ("short flows", like_the_papers(slower=0.1)),
    ],
)
def test_each_question_is_answered_by_its_own_number(name: str, numbers: synthetic.Numbers) -> None:
    found = runs(numbers)
    assert answer(name, runs(like_the_papers())) == "holds"
    assert answer(name, found) == "does not hold"
    assert CUBIC.check(found).verdict == "partly"


def test_one_pair_of_seeds_is_no_order() -> None:
    assert answer("edge gains", runs(like_the_papers(), length=Length(seeds=1))) == "does not hold"


def test_what_two_seeds_leave_open_is_said_to_be_so() -> None:
    verdict = CUBIC.check(runs(like_the_papers(slower=-0.0016), length=Length(quick=True, seeds=2)))
    assert verdict.ours["short flows"].startswith("undecided")
    assert "; undecided: short flows finish sooner behind edge pacers." in verdict.note


def test_bbr_is_not_asked_about_pacing_at_hosts() -> None:
    verdict = BBR.check(runs(like_the_papers(), BBR))
    assert {"host gains", "edge over host"} & set(verdict.ours) == set()
    assert "host" not in network.methods_of("bbr")


def test_the_least_buffer_that_is_enough() -> None:
    def numbers(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        size = int(settings[BUFFER].split()[0])
        return {"links.core.utilisation": {5: 0.95, 10: 0.7, 20: 0.9, 100: 0.97, 500: 1.0}[size]}

    found = synthetic.results(CUBIC.sweeps(Length())["trains"], numbers)
    assert network.enough(found, "edge", 0.9) == 20  # 5 packets are enough and 10 are not: from 20 on all are
    assert network.enough(found, "edge", 0.99) == 500
    assert network.enough(found, "edge", 1.1) is None


def test_fairness_is_of_the_long_flows() -> None:
    assert network.jain(synthetic.result({}, 1, {"per_flow": flows(0.0)})) == pytest.approx(1.0)
    assert network.jain(synthetic.result({}, 1, {"per_flow": flows(9.0)})) == pytest.approx(19**2 / (10 * 109))


def test_fairness_between_edges_is_of_what_four_hosts_have() -> None:
    names = [f"bulk.{number}" for number in range(20)]
    apart = {"name": names, "goodput_bps": [4e6, 0.0, 0.0, 0.0] * 5}  # one flow of each edge has all
    assert network.of_edges(synthetic.result({}, 1, {"per_flow": apart})) == pytest.approx(1.0)
    one = {"name": names, "goodput_bps": [1e6] * 4 + [0.0] * 16}  # all flows of one edge have all
    assert network.of_edges(synthetic.result({}, 1, {"per_flow": one})) == pytest.approx(0.2)


def test_experiments_inform_and_do_not_count() -> None:
    for claim, sweep in ((CUBIC, "why-long"), (BBR, "why-pacer-delay")):
        found = runs(like_the_papers(), claim)
        assert sweep in found
        told = [row for row in claim.check(found).evidence if row.criterion == sweep]
        assert told
        assert {row.ok for row in told} == {None}


def test_what_is_told_of_them_is_made_from_the_runs() -> None:
    told = ((CUBIC, "falls by 0.07 to 0.07", "falls by 0.20 to 0.20"), (BBR, "and 0.93 behind", "and 0.80 behind"))
    for claim, many, few in told:  # (2 + 9)² / 10 (4 + 9) and (3 + 9)² / 10 (9 + 9)
        for unfair, words in ((1.0, many), (2.0, few)):
            assert words in claim.check(runs(like_the_papers(unfair=unfair), claim)).note
    assert "at a loss of 10 to 500 %" in BBR.check(runs(like_the_papers(), BBR)).note


def test_pictures_are_drawn_in_either_length() -> None:
    for length in (Length(), Length(quick=True)):
        (picture,) = CUBIC.draw(runs(like_the_papers(), length=length))
        assert picture.svg.startswith("<svg")
