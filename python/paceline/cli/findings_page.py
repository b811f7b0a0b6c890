"""docs/findings.md and its pictures, from stored verdicts.

    python -m paceline.cli.findings_page [--results DIR] [--page FILE]

Each finding has its question, hypothesis and statistic as its file in `paceline.papers.findings` has them, its answer,
picture and the criteria that decide, from the verdict of full length that `paceline reproduce findings` has stored, and
the verdict under fresh seeds (`--first-seed`). Runs nothing; a finding that DIR has no verdict of keeps its part of the
page, and one that has none there either is not run.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from paceline.cli.what_still_holds import RESULTS, put
from paceline.papers import Claim, Length, claims, verdicts
from paceline.papers.claim import Evidence
from paceline.papers.verdicts import Record

PAGE = Path("docs/findings.md")
PICTURES = "images"
MARK = "findings"
#: Seeds of the second run count from here; of others, from wherever DIR has them.
FRESH = 1001
_FROM = re.compile(r"full-from-(\d+)")
OUTCOME = {
    "reproduced": "came out",
    "partly": "came out in part",
    "not reproduced": "did not come out",
    "undecided": "is undecided",
}


def findings() -> list[Claim]:
    """Claims that ask a question."""
    return [claim for claim in claims() if claim.paper == "findings"]


def part(claim: Claim, record: Record | None, fresh: Mapping[int, Record], picture: str | None) -> str:
    """One finding of the page; `fresh` has its verdicts under other seeds, by the first of them."""
    statistic = next(one for one in claim.assumptions if one.open == "The statistic.")
    known = claim.assumptions[0]
    lines = [
        f"## {claim.question}",
        "",
        f"*Hypothesis*: {claim.says}",
        "",
        f"*Statistic*: {statistic.chosen} {statistic.why}",
        "",
        f"*Seen before*: {known.chosen}",
        "",
    ]
    if record is None:
        lines += [f"Not run yet: `paceline reproduce {claim.id}`."]
        return "\n".join(lines)
    told = [f"from {seed} on it {OUTCOME[one.verdict.verdict]} ({met(one)})" for seed, one in sorted(fresh.items())]
    again = ", ".join(told) or f"from {FRESH} on it is not run yet"
    first = min(fresh, default=FRESH)
    lines += [
        f"The hypothesis **{OUTCOME[record.verdict.verdict]}** ({met(record)}). Under seeds {again}: `paceline "
        f"reproduce {claim.id} --first-seed {first}`.",
        "",
        record.verdict.note,
        "",
    ]
    if picture:
        caption = next(iter(record.pictures))["caption"]
        lines += [f"![{claim.question}]({picture})", "", f"*{caption}*", ""]
    lines += ["| criterion | value | 95 % interval | must be | |", "|---|---|---|---|---|"]
    lines += [row(one) for one in record.verdict.evidence if one.ok is not None or one.undecided]
    return "\n".join(lines)


def parts_of(page: str) -> dict[str, str]:
    """What a page has of each finding, by its question."""
    inside = page.partition(f"<!-- {MARK} -->")[2].partition(f"<!-- /{MARK} -->")[0]
    return {part.partition("\n")[0]: f"## {part.strip()}" for part in inside.split("\n## ")[1:]}


def met(record: Record) -> str:
    """``3 of 4 criteria``."""
    counted = [bool(one.ok) for one in record.verdict.evidence if one.ok is not None or one.undecided]
    return f"{sum(counted)} of {len(counted)} criteria"


def row(one: Evidence) -> str:
    """A criterion as a row of a table."""
    value = f"{one.value:.4g}" if isinstance(one.value, int | float) else str(one.value)
    ends = f"{one.interval[0]:.4g} to {one.interval[1]:.4g}" if one.interval else ""
    held = "open" if one.undecided else "yes" if one.ok else "no"
    return f"| {one.statistic} | {value} | {ends} | {one.criterion} | {held} |"


def write(results: Path, page: Path) -> None:
    """Every finding of the page, and its picture."""
    text = page.read_text(encoding="utf-8")
    known = parts_of(text)
    seeds = sorted(int(found[1]) for one in results.glob("full-from-*") if (found := _FROM.fullmatch(one.name)))
    parts = []
    for claim in findings():
        record = verdicts.load(results, claim, Length())
        if record is None and claim.question in known:
            parts.append(known[claim.question])
            continue
        others = (verdicts.load(results, claim, Length(first_seed=seed)) for seed in seeds)
        fresh = {seed: one for seed, one in zip(seeds, others, strict=True) if one}
        picture = None
        if record and record.pictures:
            picture = f"{PICTURES}/{claim.id}.svg"
            source = verdicts.folder(results, claim, Length()) / record.pictures[0]["file"]
            target = page.parent / picture
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        parts.append(part(claim, record, fresh, picture))
    page.write_text(put(text, MARK, "\n\n".join(parts)), encoding="utf-8")


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a directory of `paceline reproduce --out`")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args(words)
    write(arguments.results, arguments.page)
    print(arguments.page)


if __name__ == "__main__":
    main()
