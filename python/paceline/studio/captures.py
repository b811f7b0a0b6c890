"""A capture that was dropped on the page: analysed as `paceline analyse` does, with its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline.capture.analyse import analyse
from paceline.capture.tables import summary_rows
from paceline.report import capture_page

#: A larger one is for the command line.
MOST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Found:
    """Where its report is, what is odd about it, and the first rows of its table, the head first."""

    report: Path
    notes: list[str]
    rows: list[list[str]]


def analysed(path: Path, pacers: Sequence[str]) -> Found:
    """Reads it and writes its report beside it. Raises `InputError`."""
    analysis = analyse(path, pacers=pacers)
    head, rows, _ = summary_rows(analysis) if analysis.packets else ([], [], 0)
    report = capture_page.write(analysis, path.parent)
    table = [[str(cell) for cell in row] for row in (head, *rows)]
    return Found(report, [str(note) for note in analysis.notes()], table)
