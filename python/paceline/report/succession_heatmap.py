"""Who follows whom on a link: the matrix as a heat map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.report.formatting import plain, short
from paceline.report.study import Series
from paceline.report.svg import Drawing, text_width
from paceline.results.instruments import Place

WIDTH = 350.0
#: Larger matrices have no numbers in their cells; larger ones still no names beside them.
MOST_NUMBERS, MOST_NAMES = 8, 24
SAME = "same flow"


@dataclass(frozen=True)
class Grid:
    """Probabilities by row and column; not a number where nothing was seen."""

    rows: list[str]
    columns: list[str]
    shares: npt.NDArray[np.float64]

    def said(self) -> str:
        """How often the next packet is of the same flow."""
        if SAME in self.columns:
            own = self.shares[:, self.columns.index(SAME)]
        else:
            own = np.array(
                [self.shares[r, self.columns.index(n)] for r, n in enumerate(self.rows) if n in self.columns]
            )
        known = own[np.isfinite(own)]
        if not len(known):
            return "Nothing followed."
        if len(known) == 1:
            return f"The next packet is of the same flow {plain(100 * known[0], 1)}\u00a0% of the time."
        low, high = plain(100 * float(known.min()), 1), plain(100 * float(known.max()), 1)
        return f"The next packet is of the same flow {low} to {high}\u00a0% of the time, row by row."


def grids(means: Mapping[Place, Sequence[tuple[Series, float]]]) -> dict[str, list[tuple[Series, Grid]]]:
    """Matrices by link and series."""
    cells: dict[str, dict[str, tuple[Series, dict[tuple[str, str], float]]]] = {}
    for place, values in means.items():
        for series, share in values:
            by_series = cells.setdefault(place.link, {})
            by_series.setdefault(series.name, (series, {}))[1][place.flow, place.next] = share
    return {link: [(series, _grid(found)) for series, found in by_series.values()] for link, by_series in cells.items()}


def _grid(found: Mapping[tuple[str, str], float]) -> Grid:
    rows = list(dict.fromkeys(row for row, _ in found))
    columns = list(dict.fromkeys(column for _, column in found))
    shares = np.array([[found.get((row, column), np.nan) for column in columns] for row in rows])
    return Grid(rows, columns, shares)


def heat_map(title: str, slot: int, grid: Grid) -> Drawing:
    """Cells the darker the likelier, with their percentages where there is room."""
    rows, columns = len(grid.rows), len(grid.columns)
    named = max(rows, columns) <= MOST_NAMES
    left = min(max(text_width(short(row, 14), 11.5) for row in grid.rows) + 8, 100.0) if named else 14.0
    across = min((WIDTH - left) / columns, 64.0)
    down = min(across, 34.0) if rows <= MOST_NUMBERS else across
    tall = min(max(text_width(short(c, 14), 11.5) for c in grid.columns) * 0.62 + 14, 74.0) if named else 14.0
    top = 42.0 + tall
    worst = f"{rows} rows, {columns} columns; {grid.said()}"
    drawing = Drawing(WIDTH, top + down * rows + 8, f"Who follows whom, {title}", worst, "chart")
    drawing.heading(15, title, "%")
    drawing.text(left, 34, "followed by", "axis-title")
    drawing.open_slot(slot)
    for c, column in enumerate(grid.columns):
        x = left + (c + 0.5) * across
        if named:
            turned = f"rotate(-38 {x:.2f} {top - 6:.2f})"
            drawing.text(x - 4, top - 6, short(column, 14), "tick", transform=turned)
    for r, row in enumerate(grid.rows):
        y = top + r * down
        if named:
            drawing.text(left - 6, y + down / 2 + 4, short(row, 14), "tick", "end")
        for c in range(columns):
            share = float(grid.shares[r, c])
            if not np.isfinite(share):
                continue
            x = left + c * across
            cell: dict[str, Any] = {"x": x + 0.5, "y": y + 0.5, "width": across - 1, "height": down - 1}
            drawing.add("rect", class_="heat", style=f"fill-opacity:{0.04 + 0.42 * share:.3f}", **cell)
            if max(rows, columns) <= MOST_NUMBERS:
                digits = 1 if 0 < share < 0.0995 else 0
                drawing.text(x + across / 2, y + down / 2 + 4, plain(100 * share, digits), "cell", "middle")
    drawing.close()
    return drawing
