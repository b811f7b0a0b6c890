"""The table of verdicts in docs/papers.md: what each claim was at commit 389b9cf, what it is now, why it moved.

    python -m paceline.cli.verdict_table [--results DIR] [--page FILE]

Takes verdicts of full length that `paceline reproduce` has stored, and runs nothing. A claim that DIR has no such
verdict of keeps the one on the page; one that has none there either is not run. Reasons are in `paceline.papers.moved`.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from paceline.cli.what_still_holds import PAGE as _HOLDS
from paceline.cli.what_still_holds import RESULTS, put
from paceline.papers import Claim, Length, claims, papers, verdicts
from paceline.papers.claim import OUTCOMES
from paceline.papers.moved import FIRST, WHY

PAGE = _HOLDS.with_name("papers.md")
#: Marks of the table, and of the sentence that counts it.
TABLE, COUNTS = "verdicts", "counts"
BESIDE = "beside"
HEAD = "| claim | where | at 389b9cf | now | why it moved |\n|---|---|---|---|---|"
NEW, NOT_RUN = "–", "not run"
HEAD_BESIDE = "| claim | where | verdict |\n|---|---|---|"
_ROW_BESIDE = re.compile(r"^\| `(?P<id>[\w.-]+)` \|[^|]*\|(?P<now>[^|]*)\|$")
_ROW = re.compile(r"^\| `(?P<id>[\w.-]+)` \|[^|]*\|(?P<first>[^|]*)\|(?P<now>[^|]*)\|(?P<why>.*)\|$")


def counted(*, beside: bool = False) -> list[Claim]:
    """Claims of the five papers, in their order; or those beside, which have a table of their own."""
    names = {paper.name for paper in papers() if paper.beside}
    return [claim for claim in claims() if (claim.paper in names) == beside]


def rows(page: str) -> dict[str, tuple[str, str, str]]:
    """First verdict, verdict now and reason by claim, as a page has them."""
    found = filter(None, (_ROW.match(line) for line in _part(page, TABLE)))
    return {one["id"]: (one["first"].strip(), one["now"].strip(), one["why"].strip()) for one in found}


def rows_beside(page: str) -> dict[str, str]:
    """Verdict now of claims beside, as a page has them."""
    found = filter(None, (_ROW_BESIDE.match(line) for line in _part(page, BESIDE)))
    return {one["id"]: one["now"].strip() for one in found}


def _part(page: str, name: str) -> list[str]:
    text = page.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
    return [line.strip() for line in text.splitlines()]


def table_beside(now: Mapping[str, str]) -> str:
    """The table of claims beside."""
    lines = [f"| `{one.id}` | {one.where} | {now.get(one.id, NOT_RUN)} |" for one in counted(beside=True)]
    return "\n".join([HEAD_BESIDE, *lines])


def table(now: Mapping[str, str]) -> str:
    """The table. Raises `ValueError` for a verdict that is none, and for one that has moved without a reason."""
    lines = [HEAD]
    for claim in counted():
        outcome, first, why = now.get(claim.id, NOT_RUN), FIRST.get(claim.id, NEW), WHY.get(claim.id, "")
        if outcome not in (*OUTCOMES, NOT_RUN):
            raise ValueError(f"{claim.id}: {outcome} is no verdict; there are {', '.join((*OUTCOMES, NOT_RUN))}")
        if outcome != NOT_RUN and first not in (outcome, NEW) and not why:
            raise ValueError(f"{claim.id}: {first} has become {outcome}; say why in paceline.papers.moved")
        lines.append(f"| `{claim.id}` | {claim.where} | {first} | {outcome} | {why} |")
    return "\n".join(lines)


def sentence(now: Mapping[str, str]) -> str:
    """How many of each there are, now and then."""
    known = counted()
    then, counts = Counter[str](FIRST.values()), Counter[str](now.get(claim.id, NOT_RUN) for claim in known)
    number = len({claim.paper for claim in known})
    return (
        f"At full length {_told(counts)}, of {len(known)} claims of {number} papers. "
        f"At commit 389b9cf it was {_told(then)}, of {len(FIRST)}."
    )


def _told(counts: Mapping[str, int]) -> str:
    words = {"reproduced": "reproduced", "partly": "in part", "not reproduced": "not"}
    always = ", ".join(f"{counts.get(name, 0)} {word}" for name, word in words.items())
    rest = "".join(f", {counts[name]} {name}" for name in ("undecided", NOT_RUN) if counts.get(name))
    return always + rest


def write(results: Path, page: Path) -> None:
    """Every part of the page."""
    text = page.read_text(encoding="utf-8")
    now = {name: outcome for name, (_, outcome, _) in rows(text).items()} | rows_beside(text)
    for claim in claims():
        record = verdicts.load(results, claim, Length())
        if record is not None and record.seeds is None:
            now[claim.id] = record.verdict.verdict
    for name, part in ((TABLE, table(now)), (COUNTS, sentence(now)), (BESIDE, table_beside(now))):
        text = put(text, name, part)
    page.write_text(text, encoding="utf-8")


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a directory of `paceline reproduce --out`")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args(words)
    write(arguments.results, arguments.page)
    print(arguments.page)


if __name__ == "__main__":
    main()
