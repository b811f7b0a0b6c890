"""What papers leave open: each choice changes what it names, and numbers are judged by their claims' own criteria."""

from __future__ import annotations

import pytest
from paceline.cli.free_choices import added
from paceline.papers import Evidence, Length, free_choices, papers, select
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


PAGE = """\
<!-- cs244 -->

Of 12 printed numbers met: ours 11; patched ns-2 2.28 7. Some choice meets 11, none the other 1. \
8 that no choice moves are left out below.

| claim | number | printed | ours | patched ns-2 2.28 | which choice |
|---|---|---|---|---|---|
| `old` | a | 1 within 5 % | **1** | 2 | ours, not patched ns-2 2.28 |

<!-- /cs244 -->
"""


def test_claims_are_added_to_a_table_with_their_counts() -> None:
    patched = free_choices.tcp("patched ns-2 2.28", profile="ns2-2.28")
    met, missed = Number(1.0, "above 0.5", True), Number(0.1, "above 0.5", False)
    found = {("new", "b"): {"ours": missed, patched.name: met}, ("new", "c"): {"ours": met, patched.name: met}}
    text = added(PAGE, "cs244", found, [patched])
    assert text.splitlines()[0] == (
        "Of 14 printed numbers met: ours 12; patched ns-2 2.28 9. Some choice meets 13, none the other 1. "
        "9 that no choice moves are left out below."
    )
    assert text.splitlines()[-2:] == [
        "| `old` | a | 1 within 5 % | **1** | 2 | ours, not patched ns-2 2.28 |",
        "| `new` | b | above 0.5 | 0.1 | **1** | patched ns-2 2.28 would fit |",
    ]
    with pytest.raises(ValueError, match="already"):
        added(PAGE, "cs244", {("old", "b"): {"ours": met, patched.name: missed}}, [patched])
    with pytest.raises(ValueError, match="other choices"):
        added(PAGE, "cs244", found, [free_choices.tcp("another", min_rto="2 s")])
