"""What decides claims that are not reproduced: every choice changes their runs, and criteria meet by their places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from paceline.cli.deciding_choices import cell, decides, in_short, part, summary
from paceline.cli.verdict_table import rows as verdict_rows
from paceline.cli.verdict_table import rows_beside
from paceline.papers import Evidence, Verdict, claims, select
from paceline.papers.claim import Length
from paceline.papers.deciding import Cell, Row, rows
from paceline.papers.open_choices import BY_CLAIM, EXPERIMENTS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("claim", BY_CLAIM)
def test_every_choice_changes_the_runs_and_leaves_sound_scenarios(claim: str) -> None:
    experiment = BY_CLAIM[claim]
    base = experiment.base(select([claim])[0], full=False)
    before = base.sweeps(experiment.length(False))
    assert before
    assert all(len(one.seed_numbers()) >= 3 for one in before.values())  # two cannot judge an order
    names = [one.name for one in experiment.choices]
    assert len(set(names)) == len(names)
    for choice in experiment.choices:
        after = choice.of(base).sweeps(experiment.length(False))
        changed = [name for name, one in after.items() if one.to_dict() != before[name].to_dict()]
        assert after.keys() == before.keys()
        assert changed or choice.check is not None, choice.name
        for name in changed[:1]:
            assert after[name].check()


def test_a_short_run_is_not_longer_than_a_full_one() -> None:
    for experiment in EXPERIMENTS:
        (claim,) = select([experiment.claim])
        short, full = (experiment.base(claim, whole).sweeps(experiment.length(whole)) for whole in (False, True))
        assert short.keys() == full.keys()
        assert sum(len(one.points()) for one in short.values()) < sum(len(one.points()) for one in full.values())


def verdict(*evidence: Evidence) -> Verdict:
    return Verdict("partly", {}, {}, "A note.", evidence)


def row(statistic: str, value: float, ok: bool | None, *, undecided: bool = False) -> Evidence:
    return Evidence(statistic, value, (value - 0.1, value + 0.1), "above 0", ok, undecided)


def test_criteria_meet_by_place_and_what_informs_is_left_out() -> None:
    ours = verdict(
        row("gain: over the best (a)", -0.2, False), Evidence("told", 1.0, None, "", None), row("b", 1, True)
    )
    other = verdict(row("gain: over the best (b)", 0.3, True), row("b", 0.5, None, undecided=True))
    found = rows(ours, {"x": other})
    assert [one.statistic for one in found] == ["gain: over the best (a)", "b"]
    assert found[0].others["x"] == Cell(0.3, pytest.approx(0.1), True)
    assert not found[1].others["x"].met  # undecided is not met
    assert [decides(one) for one in found] == ["x would do", "ours, not x"]
    with pytest.raises(ValueError, match="no such criterion"):
        rows(ours, {"x": verdict(row("other: thing", 0.3, True), row("b", 1, True))})
    with pytest.raises(ValueError, match="no such criterion"):
        rows(ours, {"x": verdict(row("gain: over", 0.3, True))})


def test_a_table_tells_what_no_choice_moves_and_within_what() -> None:
    missed, met = Cell(-0.2, 0.05, False), Cell(0.1, None, True)
    found = [
        Row("a", "above 0", missed, {"x": met, "y": missed}),
        Row("b", "above 0", missed, {"x": Cell(-0.4, None, False), "y": Cell(-0.1, None, False)}),
        Row("c", "above 0", met, {"x": met, "y": met}),
    ]
    told = summary(found, ["x", "y"], "in short")
    assert "ours 1; x 2; y 1." in told
    assert "Of the 2 that do not hold under ours some other choice meets 1, and none meets the other 1." in told
    assert "1 that hold under every choice are left out" in told
    table = part(found, ["x", "y"], "in short").splitlines()[2:]
    assert len(table) == 4
    assert table[-1].endswith("| none: −0.4 to −0.1 |")
    assert cell(missed) == "−0.200 ± 0.0500"
    assert cell(met) == "**0.1**"


def test_every_claim_that_is_not_reproduced_has_an_experiment() -> None:
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    now = {name: outcome for name, (_, outcome, _) in verdict_rows(page).items()} | rows_beside(page)
    # a row of a table, or the sentence on what no choice moves, which has no row
    told = set(re.findall(r"`([\w.-]+)`", (DOCS / "free-choices.md").read_text(encoding="utf-8")))
    for claim in claims():
        if now[claim.id] == "reproduced":
            continue
        own = any(name.startswith("why-") for name in claim.sweeps(Length()))
        assert own or claim.id in BY_CLAIM or claim.id in told, claim.id


def test_the_page_has_a_part_for_each() -> None:
    page = (DOCS / "deciding-choices.md").read_text(encoding="utf-8")
    for claim in BY_CLAIM:
        table = page.partition(f"<!-- {claim} -->")[2].partition(f"<!-- /{claim} -->")[0]
        assert "criteria so many hold" in table, claim
        for choice in BY_CLAIM[claim].choices:
            assert f"; {choice.name} " in table, (claim, choice.name)


def test_a_table_of_all_is_made_from_the_parts() -> None:
    missed, met = Cell(-0.2, 0.05, False), Cell(0.1, None, True)
    found = [
        Row("a", "above 0", missed, {"30 s": met, "hosts pace": met, "y": missed}),
        Row("b", "above 0", missed, {"30 s": missed, "hosts pace": missed, "y": missed}),
    ]
    text = part(found, ["30 s", "hosts pace", "y"], "in short runs of 3 seeds")
    page = (
        f"<!-- spang-one-flow -->\n\n{text}\n\n<!-- /spang-one-flow -->\n<!-- today-dctcp -->\n<!-- /today-dctcp -->\n"
    )
    lines = in_short(page).splitlines()
    assert len(lines) == 3
    assert lines[2] == "| `spang-one-flow` | 2 | 0 | 1 | 30 s, hosts pace | 1, 1 |"
