"""The table of verdicts in docs/papers.md: every claim once, in order, and no verdict that moved without a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from paceline.cli import verdict_table
from paceline.papers.claim import OUTCOMES
from paceline.papers.moved import FIRST, WHY

PAGE = Path(__file__).parents[2] / "docs/papers.md"


def test_the_page_has_every_claim_with_its_first_verdict_and_why_it_moved() -> None:
    rows = verdict_table.rows(PAGE.read_text(encoding="utf-8"))
    assert list(rows) == [claim.id for claim in verdict_table.counted()]
    for name, (first, now, why) in rows.items():
        assert first == FIRST.get(name, verdict_table.NEW)
        assert now in (*OUTCOMES, verdict_table.NOT_RUN)
        assert why == WHY.get(name, "")
        assert why or now in (first, verdict_table.NOT_RUN) or first == verdict_table.NEW, name


def test_the_page_counts_its_own_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    now = {name: outcome for name, (_, outcome, _) in verdict_table.rows(text).items()}
    assert verdict_table.sentence(now) in text
    assert verdict_table.table(now) in text
    assert verdict_table.table_beside(verdict_table.rows_beside(text)) in text


def test_reasons_are_of_claims_that_there_are() -> None:
    known = {claim.id for claim in verdict_table.counted()}
    assert set(FIRST) | set(WHY) <= known
    assert len(FIRST) == 37


def test_a_verdict_that_moved_needs_a_reason() -> None:
    now = dict.fromkeys((claim.id for claim in verdict_table.counted()), "partly")
    silent = next(name for name, first in FIRST.items() if first == "reproduced" and name not in WHY)
    with pytest.raises(ValueError, match=f"{silent}: reproduced has become partly; say why"):
        verdict_table.table(now)


def test_what_is_no_verdict_is_refused() -> None:
    now = dict.fromkeys((claim.id for claim in verdict_table.counted()), "maybe")
    with pytest.raises(ValueError, match="maybe is no verdict"):
        verdict_table.table(now)


def test_a_page_without_stored_verdicts_stays_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "papers.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    verdict_table.main(["--results", str(tmp_path), "--page", str(page)])
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
