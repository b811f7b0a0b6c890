"""What papers leave open: each choice changes what it names, and numbers are judged by their claims' own criteria."""

from __future__ import annotations

import pytest
from paceline.papers import Evidence, Length, papers, select
from paceline.papers.free_choices import CHOICES, Number, printed, standing


@pytest.mark.parametrize("paper", CHOICES)
def test_every_choice_changes_some_claim_and_leaves_sound_scenarios(paper: str) -> None:
    assert paper in {one.name for one in papers()}
    for choice in CHOICES[paper]:
        changed = 0
        for claim in select([paper]):
            before, after = claim.sweeps(Length(quick=True)), choice.of(claim).sweeps(Length(quick=True))
            assert before.keys() == after.keys()
            for name, scenario in after.items():
                if scenario.to_dict() != before[name].to_dict():
                    assert changed or scenario.check()  # the first of them
                    assert scenario.sweep == before[name].sweep
                    changed += 1
        assert changed > 0, choice.name


def test_printed_numbers_are_those_of_criteria() -> None:
    rows = [
        Evidence("a", 92.0, None, "93 within 5 %", True),
        Evidence("b", 3.0, None, "above 0, interval included", True),
        Evidence("c", 0.12, None, "above 0.13", False),
        Evidence("d", 92.0, None, "93 within 5 %", None),
        Evidence("e", "none", None, "8 flows within 5 %", False),
    ]
    assert dict(printed(rows)) == {
        "a": Number(92.0, "93 within 5 %", True),
        "c": Number(0.12, "above 0.13", False),
    }


def test_a_number_says_which_choice_it_is_of() -> None:
    met, missed = Number(1, "", True), Number(2, "", False)
    assert standing(met, {"x": met, "y": met}) == "any"
    assert standing(met, {"x": met, "y": None}) == "any; no number under y"
    assert standing(met, {"x": missed, "y": met}) == "ours, not x"
    assert standing(missed, {"x": missed, "y": met}) == "y would fit"
    assert standing(missed, {"x": missed, "y": None}) == "none"
