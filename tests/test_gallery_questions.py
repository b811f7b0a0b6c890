"""The gallery's answers: numbers of verdicts, and nothing that these do not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paceline.gallery.entries import Entry
from paceline.gallery.questions import QUESTIONS, Question
from paceline.papers import Verdict, claims
from paceline.papers.verdicts import Record

NAMED = {question.name: question for question in QUESTIONS}


def shown(**ours: Mapping[str, Any]) -> dict[str, Entry]:
    """All claims, those run that have numbers here."""
    found = {claim.id: Entry(claim, Path()) for claim in claims()}
    for name, numbers in ours.items():
        key = name.replace("_", "-")
        found[key] = replace(found[key], record=_record(Verdict("reproduced", numbers, {}, "")))
    return found


def _record(verdict: Verdict) -> Record:
    record = object.__new__(Record)
    object.__setattr__(record, "verdict", verdict)
    return record


def told(question: Question, found: Mapping[str, Entry]) -> list[str]:
    return [text for text, _ in question.answer(found)]


def test_every_claim_that_is_named_is_one() -> None:
    found = shown()
    for question in QUESTIONS:
        assert {sentence.claim for sentence in question.sentences} <= found.keys()
        assert all(entries for entries in question.evidence(found).values())
        assert told(question, found) == []  # nothing was run


def test_an_answer_has_the_numbers_of_a_verdict() -> None:
    numbers = {"edge_kbps": 91.9, "host_kbps": 81.9, "unpaced_kbps": 81.5}
    (text,) = told(NAMED["should-i-pace"], shown(edge_fig3_goodput=numbers))
    assert "92 kbit/s each if their edges pace, 82 if their hosts do and 82 unpaced" in text


@pytest.mark.parametrize(
    ("page", "claim", "numbers"),
    [
        ("should-i-pace", "edge_fig3_goodput", {"edge_kbps": 80.0, "host_kbps": 81.9, "unpaced_kbps": 81.5}),
        ("should-i-pace", "today_cubic", {"edge gains": "in part, 3 of 6"}),
        (
            "should-i-pace",
            "today_bbr",
            {"edge gains": "holds, 6 of 6", "fair": "holds, 6 of 6", "short flows": "holds, 1"},
        ),
        ("how-small", "finding_edges", {"exponent": None}),
        ("how-small", "zhao_fig2", {"slow_access": 5}),
        ("where", "finding_edges", {"gain, 10 edges, Mbit/s": 2.0, "gain, 50 edges, Mbit/s": 4.0}),
        ("what-it-costs", "aggarwal_short", {"10 KB": -0.1}),
    ],
)
def test_what_the_numbers_do_not_say_is_left_out(page: str, claim: str, numbers: Mapping[str, Any]) -> None:
    assert told(NAMED[page], shown(**{claim: numbers})) == []


def test_todays_tcps_answer_each_by_their_own_numbers() -> None:
    held = {"edge gains": "holds, 6 of 6", "QLBP gains": "holds, 5 of 5", "gone when large": "holds, 4 of 4"}
    apart = {"edge gains": "in part, 4 of 6", "fair": "does not hold, 0 of 6", "short flows": "does not hold, 1 of 6"}
    cubic, bbr = told(NAMED["should-i-pace"], shown(today_cubic=held, today_bbr=apart))
    assert "in 6 of 6 settings of small buffers, and by QLBP in 5 of 5" in cubic
    assert "BBR" not in cubic
    assert "in 4 of 6 settings" in bbr
    assert "stay equal in 0 of 6 and short flows finish sooner in 1 of 6" in bbr


def test_who_paces_first_is_told_by_access_and_tcp() -> None:
    found = {"Reno, slow access, 5 KB": -0.075, "Reno, fast access, 5 KB": 0.112}
    found |= {"CUBIC, slow access, 5 KB": -0.154, "CUBIC, fast access, 5 KB": -0.058}
    (text,) = told(NAMED["should-i-pace"], shown(finding_early_adopters=found))
    assert "8 % less than the others with Reno behind slow links and 11 % more behind fast ones" in text
    assert "with CUBIC they get 15 % and 6 % less" in text
    found["Reno, fast access, 5 KB"] = -0.01
    assert told(NAMED["should-i-pace"], shown(finding_early_adopters=found)) == []


def test_a_bound_is_told_as_the_theorem_has_it() -> None:
    """Q_max / mu_max: 150 KB leave in 4 ms at 300 Mbit/s, the highest rate and not the least."""
    (text,) = told(NAMED["what-it-costs"], shown(qlbp_theorem1={"150 KB, 300 Mbit/s": 3.996}))
    assert "longest queue over its highest rate at most: 4 ms for 150 KB and 300 Mbit/s" in text


def test_a_part_of_a_packet_is_said_to_be_a_mean() -> None:
    needed = {"slow_access": 6.0, "half_fast": 9.0, "all_fast": 14.2}
    (text,) = told(NAMED["how-small"], shown(zhao_fig2=needed))
    assert text.endswith("9 where half of them are fast, 14.2, the mean of runs, where all are.")
