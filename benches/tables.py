"""Tables: on a terminal, in Markdown, and between two marks in a page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

Row = Sequence[str]


def text_table(head: Row, rows: Sequence[Row]) -> str:
    """The first column to the left, the others to the right."""
    widths = [max(len(line[column]) for line in (head, *rows)) for column in range(len(head))]

    def line(cells: Row) -> str:
        padded = [cells[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join(padded).rstrip()

    return "\n".join(line(cells) for cells in (head, *rows))


def markdown(head: Row, rows: Sequence[Row]) -> str:
    """A table for a page."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def put_between(page: Path, mark: str, text: str) -> None:
    """Rewrites what stands between `<!-- mark -->` and `<!-- /mark -->`.

    Raises:
        SystemExit: the page has no such marks.
    """
    whole = page.read_text()
    begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->"
    before, found, rest = whole.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        sys.exit(f"{page} has no lines {begin.strip()} and {end} to write between")
    page.write_text(before + begin + "\n" + text + "\n" + end + after)
