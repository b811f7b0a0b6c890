"""What blocks of instruments are made of: pictures, tables, and the curves of each series."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from paceline.report.line_plot import Line
from paceline.report.study import Series, Setting, Study
from paceline.results.instruments import FORMS, Curve, Mean, Place, by_place, mean_of

#: More places than this would fill the page.
MOST_PLACES = 6


@dataclass(frozen=True)
class Figure:
    """A picture and what is seen in it."""

    picture: Markup
    caption: str


@dataclass(frozen=True)
class Table:
    """Numbers under the pictures: a row a series."""

    caption: str
    head: list[str]
    rows: list[tuple[Series, list[str]]]


@dataclass
class Block:
    """One kind of instrument."""

    title: str
    text: str
    figures: list[Figure] = field(default_factory=list)
    table: Table | None = None


@dataclass(frozen=True)
class Compared:
    """What is compared in every picture: one setting a series."""

    study: Study
    settings: list[tuple[Series, Setting]]
    where: str

    def means(self, name: str) -> dict[Place, list[tuple[Series, Mean]]]:
        """Means over seeds of an instrument's curves, by place and series."""
        found: dict[Place, list[tuple[Series, Mean]]] = {}
        for series, runs in self._runs(name):
            for place, curves in by_place(runs.values()).items():
                found.setdefault(place, []).append((series, mean_of(curves, FORMS[name])))
        return dict(list(found.items())[:MOST_PLACES])

    def first(self, name: str) -> dict[Place, list[tuple[Series, Curve]]]:
        """Curves of the first seed."""
        found: dict[Place, list[tuple[Series, Curve]]] = {}
        for series, runs in self._runs(name):
            for curve in runs[min(runs)]:
                found.setdefault(curve.place, []).append((series, curve))
        return dict(list(found.items())[:MOST_PLACES])

    def pooled(self, name: str) -> dict[Place, list[tuple[Series, list[Curve]]]]:
        """Curves of every seed."""
        found: dict[Place, list[tuple[Series, list[Curve]]]] = {}
        for series, runs in self._runs(name):
            for place, curves in by_place(runs.values()).items():
                found.setdefault(place, []).append((series, curves))
        return found

    def means_of_matrix(self) -> dict[Place, list[tuple[Series, float]]]:
        """Means over seeds of the probabilities of a succession; a seed that never saw a row does not count."""
        found: dict[Place, list[tuple[Series, float]]] = {}
        for series, runs in self._runs("succession"):
            for place, curves in by_place(runs.values()).items():
                found.setdefault(place, []).append((series, float(np.mean([c.y[0] for c in curves]))))
        return found

    def _runs(self, name: str) -> Iterator[tuple[Series, dict[int, list[Curve]]]]:
        if self.study.findings is None:
            return
        for series, setting in self.settings:
            runs = self.study.findings.of(setting, name)
            if runs and setting.repeats:
                runs = {min(runs): runs[min(runs)]}
            if runs:
                yield series, runs

    def line(self, series: Series, mean: Mean) -> Line:
        half = mean.half if np.isfinite(mean.half).any() else None
        return Line(series.name, series.slot, mean.x, mean.y, half)
