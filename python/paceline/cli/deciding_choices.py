"""docs/deciding-choices.md: what decides each claim beside the five papers that is not reproduced.

    python -m paceline.cli.deciding_choices [CLAIM…] [--full] [--results DIR] [--page FILE]

Runs each claim of `paceline.papers.open_choices` under our choices and under every other one, in short unless said
otherwise, judges it, and writes a table a claim: the criteria that some choice does not meet. What DIR has is not run
again.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from paceline.cli import claim_runs
from paceline.cli.what_still_holds import put
from paceline.gallery.sentences import number
from paceline.papers import Length, Verdict, select
from paceline.papers.deciding import Cell, Experiment, Row, range_of, rows
from paceline.papers.open_choices import BY_CLAIM
from paceline.report.formatting import DASH
from paceline.store import Store
from paceline.terminal.output import say
from paceline.terminal.progress import progress

PAGE = Path("docs/deciding-choices.md")
RESULTS = Path("results/deciding-choices")
OURS = "ours"
#: Marks of the table over all claims.
IN_SHORT = "in-short"
_COUNTS = re.compile(
    r"Of (?P<all>\d+) criteria so many hold, [^:]*: (?P<each>.*?)\. Of the (?P<missed>\d+) .* meets (?P<some>\d+), and"
)


def verdicts(experiment: Experiment, store: Store, full: bool) -> dict[str, Verdict]:
    """By choice, ours first. Raises what a check raises, and `ValueError` where a run failed."""
    (claim,) = select([experiment.claim])
    ours = experiment.base(claim, full)
    length = experiment.length(full)
    names = [OURS, *(one.name for one in experiment.choices)]
    plans = claim_runs.plan([ours, *(one.of(ours) for one in experiment.choices)], length)
    with progress(f"running {experiment.claim}") as watch:
        done = claim_runs.run(plans, store, watch=watch, tell=say)
    if done.failures:
        point, why = done.failures[0]
        raise ValueError(f"{experiment.claim}: {point.settings}, seed {point.seed}: {why}")
    return {
        name: plan.claim.check(claim_runs.runs_of(plan, done, store, length))
        for name, plan in zip(names, plans, strict=True)
    }


def part(found: list[Row], choices: list[str], seeds: str) -> str:
    """Of the page: how many criteria each choice meets, what decides the others, and a row a criterion that tells."""
    telling = [row for row in found if row.tells]
    if not telling:
        return summary(found, choices, seeds)
    head = ["criterion", "must be", OURS, *choices, "what decides"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in telling:
        cells = [cell(one) for one in (row.ours, *(row.others[name] for name in choices))]
        lines.append("| " + " | ".join([row.statistic, row.criterion, *cells, decides(row)]) + " |")
    return "\n".join([summary(found, choices, seeds), "", *lines])


def summary(found: list[Row], choices: list[str], seeds: str) -> str:
    """How many criteria hold under each choice, and how many of those that do not hold under ours under some other."""
    met = {OURS: sum(row.ours.met for row in found)}
    met |= {name: sum(row.others[name].met for row in found) for name in choices}
    told = "; ".join(f"{name} {count}" for name, count in met.items())
    missed = [row for row in found if not row.ours.met]
    some = sum(bool(row.fits) for row in missed)
    left = sum(not row.tells for row in found)
    kept = f" {left} that hold under every choice are left out below." if left else ""
    return (
        f"Of {len(found)} criteria so many hold, {seeds}: {told}. Of the {len(missed)} that do not hold under ours "
        f"some other choice meets {some}, and none meets the other {len(missed) - some}.{kept}"
    )


def in_short(page: str) -> str:
    """A row a claim, from the counts of the page's parts."""
    head = ["claim", "criteria", "hold under ours", "most under another choice", "which", "met by some, by none"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for claim in BY_CLAIM:
        found = _COUNTS.search(page.partition(f"<!-- {claim} -->")[2].partition(f"<!-- /{claim} -->")[0])
        if found is None:
            continue
        counts = {name: int(count) for name, count in (one.rsplit(" ", 1) for one in found["each"].split("; "))}
        ours = counts.pop(OURS)
        most = max(counts.values())
        which = ", ".join(name for name, count in counts.items() if count == most)
        missed, some = int(found["missed"]), int(found["some"])
        cells = [f"`{claim}`", found["all"], str(ours), str(most), which, f"{some}, {missed - some}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def decides(row: Row) -> str:
    """Which choices meet it, or within what range none does; of one that ours meets, which do not."""
    if not row.ours.met:
        if row.fits:
            return f"{', '.join(row.fits)} would do"
        ends = range_of(row)
        if ends is None or ends[0] == ends[1]:
            return "none touches it"
        return f"none: {number(ends[0])} to {number(ends[1])}"
    return f"ours, not {', '.join(name for name, one in row.others.items() if not one.met)}"


def cell(one: Cell) -> str:
    """A number with its interval, bold where the criterion holds."""
    if not isinstance(one.value, int | float):
        return DASH if one.value is None else str(one.value)
    text = number(one.value, one.half)
    if one.half is not None:
        text += f" ± {number(one.half, one.half)}"
    return f"**{text}**" if one.met else text


def write(claim: str, store: Store, page: Path, full: bool) -> None:
    """The claim's part of the page."""
    experiment = BY_CLAIM[claim]
    found = verdicts(experiment, store, full)
    ours = found.pop(OURS)
    length: Length = experiment.length(full)
    seeds = "at full length" if full else f"in short runs of {length.seeds} seeds"
    text = part(rows(ours, found), list(found), seeds)
    told = put(page.read_text(encoding="utf-8"), claim, text)
    page.write_text(put(told, IN_SHORT, in_short(told)), encoding="utf-8")


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", default=list(BY_CLAIM), metavar="CLAIM")
    parser.add_argument("--full", action="store_true", help="runs of full length: hours")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args(words)
    for claim in arguments.claims:
        if claim not in BY_CLAIM:
            parser.error(f"no choices are known of {claim}; there are {', '.join(BY_CLAIM)}")
        write(claim, Store(arguments.results), arguments.page, arguments.full)
        print(f"{claim}: {arguments.page}")


if __name__ == "__main__":
    main()
