"""docs/free-choices.md: how each thing that a paper leaves open moves every number that it prints.

    python -m paceline.cli.free_choices [PAPER…] [--full] [--add CLAIM]… [--results DIR] [--page FILE]

Runs each claim that prints numbers under every choice of `paceline.papers.free_choices`, in quick length unless said
otherwise, and writes a table a paper. What DIR has is not run again. With --add it runs these claims alone, and adds
their rows and counts to a table that has none of them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from paceline.cli import claim_runs
from paceline.cli.what_still_holds import put
from paceline.gallery.sentences import number
from paceline.papers import Claim, Length, select
from paceline.papers.free_choices import CHOICES, Choice, Number, printed, standing
from paceline.report.formatting import DASH
from paceline.store import Store
from paceline.terminal.output import say
from paceline.terminal.progress import progress

PAGE = Path("docs/free-choices.md")
RESULTS = Path("results/free-choices")
OURS = "ours"
#: By claim and statistic: the number under each choice.
Values = dict[tuple[str, str], dict[str, Number]]


def values(claims: Sequence[Claim], choices: Sequence[Choice], length: Length, store: Store) -> Values:
    """Printed numbers under each choice; one that a choice leaves no run or no check of is not there."""
    found: Values = {}
    asked = {OURS: claims} | {one.name: [one.of(claim) for claim in claims] for one in choices}
    plans = {name: claim_runs.plan(some, length) for name, some in asked.items()}
    with progress("running") as watch:
        done = claim_runs.run([plan for some in plans.values() for plan in some], store, watch=watch, tell=say)
    told: dict[tuple[str, frozenset[str]], list[tuple[str, Number]]] = {}
    for name, some in plans.items():
        for plan in some:
            key = plan.claim.id, frozenset(point.key for point in plan.all_points())
            if key not in told:  # a choice that changes none of the runs is judged with ours
                try:
                    told[key] = list(printed(plan.claim.check(claim_runs.runs_of(plan, done, store, length)).evidence))
                except Exception as error:
                    say(f"{plan.claim.id}, {name}: {type(error).__name__}: {error}")
                    continue
            for statistic, one in told[key]:
                found.setdefault((plan.claim.id, statistic), {})[name] = one
    return {key: some for key, some in found.items() if OURS in some}


def table(found: Values, choices: Sequence[Choice]) -> str:
    """A row a number that some choice moves: printed, ours, under each choice; bold where it is met."""
    head = ["claim", "number", "printed", OURS, *(one.name for one in choices), "which choice"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for (claim, statistic), some in found.items():
        if not moves(some):
            continue
        others = {one.name: some.get(one.name) for one in choices}
        cells = [cell(one) for one in (some.get(OURS), *others.values())]
        row = [f"`{claim}`", statistic, some[OURS].criterion, *cells, standing(some.get(OURS), others)]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def moves(some: Mapping[str, Number]) -> bool:
    """Whether some choice makes it another number."""
    return any(one.value != some[OURS].value for one in some.values())


def cell(one: Number | None) -> str:
    """A number of ours, bold where it meets the printed one."""
    if one is None:
        return DASH
    return f"**{number(one.value)}**" if one.met else number(one.value)


def summary(found: Values, choices: Sequence[Choice]) -> str:
    """How many numbers each choice meets, and how many none does."""
    names = (OURS, *(one.name for one in choices))
    met = {name: sum(name in some and some[name].met for some in found.values()) for name in names}
    best = sum(any(one.met for one in some.values()) for some in found.values())
    told = "; ".join(f"{name} {count}" for name, count in met.items())
    still = sum(not moves(some) for some in found.values())
    left_out = f" {still} that no choice moves are left out below." if still else ""
    return (
        f"Of {len(found)} printed numbers met: {told}. Some choice meets {best}, none the other {len(found) - best}."
        f"{left_out}"
    )


def added(page: str, paper: str, found: Values, choices: Sequence[Choice]) -> str:
    """The paper's part of the page with the rows of further claims, and its counts with theirs.

    Raises `ValueError` where the part has rows of one of these claims already, or other choices.
    """
    before = page.partition(f"<!-- {paper} -->")[2].partition(f"<!-- /{paper} -->")[0].strip()
    sentence, _, rows = before.partition("\n\n")
    more, _, further = f"{summary(found, choices)}\n\n{table(found, choices)}".partition("\n\n")
    head, _, further = further.partition("\n")
    if rows.partition("\n")[0] != head:
        raise ValueError(f"{paper}: its table has other choices; run all of it")
    twice = [claim for claim in dict.fromkeys(claim for claim, _ in found) if f"| `{claim}` |" in rows]
    if twice:
        raise ValueError(f"{paper}: its table has {', '.join(twice)} already; run all of it")
    new = further.partition("\n")[2]
    return f"{_summed(sentence, more)}\n\n{rows}" + (f"\n{new}" if new else "")


def _summed(one: str, other: str) -> str:
    """Two sentences of `summary` on the same choices, of both tables together."""
    digits = re.compile(r"(?<= )\d+(?=; |\. |\.$| printed|, none)")
    left = re.compile(r" (\d+) that no choice moves are left out below\.$")
    still = sum(int(found[1]) for found in map(left.search, (one, other)) if found)
    one, other = (left.sub("", sentence) for sentence in (one, other))
    counts = iter([int(a) + int(b) for a, b in zip(digits.findall(one), digits.findall(other), strict=True)])
    total = digits.sub(lambda _: str(next(counts)), one)
    return f"{total} {still} that no choice moves are left out below." if still else total


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", default=list(CHOICES), metavar="PAPER")
    parser.add_argument("--full", action="store_true", help="runs of full length: hours")
    parser.add_argument("--add", action="append", default=[], metavar="CLAIM", help="only these, to what is there")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args(words)
    for paper in arguments.papers:
        if paper not in CHOICES:
            parser.error(f"no choices are known of {paper}; there are {', '.join(CHOICES)}")
        claims = [one for one in select([paper]) if not arguments.add or one.id in arguments.add]
        found = values(claims, CHOICES[paper], Length(quick=not arguments.full), Store(arguments.results))
        page = arguments.page.read_text(encoding="utf-8")
        if arguments.add:
            text = added(page, paper, found, CHOICES[paper])
        else:
            text = f"{summary(found, CHOICES[paper])}\n\n{table(found, CHOICES[paper])}"
        arguments.page.write_text(put(page, paper, text), encoding="utf-8")
        print(f"{paper}: {arguments.page}")


if __name__ == "__main__":
    main()
