"""Tables and picture of docs/what-still-holds.md, from stored runs.

    python -m paceline.cli.what_still_holds [--results DIR] [--page FILE] [--picture FILE]

Runs what `paceline reproduce today` does, in full, into the same directory; what is there is not run again. Each table
is written between the lines ``<!-- NAME -->`` and ``<!-- /NAME -->`` of its part (`paceline.papers.today.tables`).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from paceline.cli import claim_runs
from paceline.papers import Length, Runs, select
from paceline.papers.today import tables
from paceline.store import Store
from paceline.terminal.output import say

RESULTS = Path("results/papers")
PAGE = Path("docs/what-still-holds.md")
PICTURE = Path("docs/images/what-still-holds.svg")


def runs_of_each(directory: Path, length: Length | None = None) -> dict[str, Runs]:
    """Runs of every TCP by its variant. Raises `StoreError`, and `ValueError` where a run failed."""
    length = length or Length()
    store = Store(directory)
    plans = claim_runs.plan(select(["today"]), length)
    done = claim_runs.run(plans, store, tell=say)
    if done.failures:
        point, why = done.failures[0]
        raise ValueError(f"{point.settings}, seed {point.seed}: {why}")
    return {one.claim.id.removeprefix("today-"): claim_runs.runs_of(one, done, store, length) for one in plans}


def put(page: str, name: str, text: str) -> str:
    """The page with the text between the marks of that name. Raises `ValueError` where it does not have them once."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"no lines {begin.strip()} and {end}; write them where the table belongs")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n{text}\n\n{end}{rest.partition(end)[2]}"


def write(runs: Mapping[str, Runs], page: Path, picture: Path) -> None:
    """Every part of the page, and the picture."""
    import matplotlib as mpl

    text = page.read_text(encoding="utf-8")
    for name, part in tables.PARTS.items():
        text = put(text, name, part(runs))
    with mpl.rc_context({"svg.hashsalt": "paceline", "font.size": 9.5}):
        figure = tables.draw(runs)
        picture.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(picture, metadata={"Date": None})
    page.write_text(text, encoding="utf-8")


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a directory of `paceline reproduce --out`")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    arguments = parser.parse_args(words)
    write(runs_of_each(arguments.results), arguments.page, arguments.picture)
    print(f"{arguments.picture}, {arguments.page}")


if __name__ == "__main__":
    main()
