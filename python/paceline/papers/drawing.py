"""How pictures of claims look: Matplotlib figures as SVG whose lines and words take the colour of the page.

figure, (left, right) = drawing.axes(2)
drawing.curve(left, [2, 5, 10], [interval, …], "edge 10 ms", slot=2)
drawing.printed(left, 5, 93, "paper: 93")
drawing.picture(figure, "goodput", "Goodput of a flow against the core's buffer.")
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from paceline._palette import COLOURS, MARKERS
from paceline._statistics import Interval
from paceline.papers.claim import Picture
from paceline.papers.planes import Planes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Stand-ins that `picture` turns into the page's colour: words and axes, and the quieter grid.
INK = "#010203"
GRID = "#040506"
#: What the paper printed.
PRINTED = "#c2185b"
#: A pacing as scenarios label it, and what is said of it: `none`, `host ideal`, `edge 10 ms, 500 flows`.
_PACING = re.compile(r"(none|host|edge|port)(?: (ideal|linux|ns2|[0-9.]+ ms))?(, .*)?")


def axes(
    count: int = 1, size: tuple[float, float] | None = None, *, columns: int | None = None
) -> tuple[Figure, list[Any]]:
    """A figure with `count` axes in our style; `size` in inches."""
    from matplotlib.figure import Figure

    across = columns or count
    rows = -(-count // across)
    figure = Figure(figsize=size or (4.6 * across, 3.4 * rows), layout="constrained")
    grid = list(np.ravel(figure.subplots(rows, across, squeeze=False)))
    for spare in grid[count:]:
        spare.remove()
    for ax in grid[:count]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(INK)
        ax.tick_params(colors=INK, labelsize="small")
        ax.xaxis.label.set_color(INK)
        ax.yaxis.label.set_color(INK)
        ax.grid(axis="y", color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, grid[:count]


def curve(ax: Axes, x: Sequence[float], y: Sequence[Interval | float], name: str, slot: int, **style: Any) -> None:
    """A line through means with their 95 % intervals, in the colour and marker of `slot` (0 none, 1 host, 2 edge …)."""
    means, halves = _ends(y)
    ax.errorbar(x, means, yerr=halves, label=pacing_words(name), **(_look(slot) | style))


def across(ax: Axes, x: Sequence[Interval | float], y: Sequence[float], name: str, slot: int) -> None:
    """Means with their 95 % intervals along the x axis, a row each: where what is compared has a name, not a number."""
    means, halves = _ends(x)
    ax.errorbar(means, y, xerr=halves, label=pacing_words(name), **(_look(slot) | {"linestyle": "none"}))


def _ends(values: Sequence[Interval | float]) -> tuple[list[float], list[float]]:
    means = [one.mean if isinstance(one, Interval) else float(one) for one in values]
    return means, [(one.half or 0.0) if isinstance(one, Interval) else 0.0 for one in values]


def _look(slot: int) -> dict[str, Any]:
    return {
        "color": COLOURS[slot % len(COLOURS)],
        "marker": MARKERS[slot % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.6,
        "capsize": 2.5,
        "elinewidth": 1.0,
    }


def pacing_words(label: str) -> str:
    """The label of a swept pacing as a reader would say it, ``host pacing, ideal``; any other name as it is."""
    found = _PACING.fullmatch(label)
    if found is None:
        return "QLBP" if label == "qlbp" else label
    method, rest, more = found.groups()
    if method == "none":
        return f"unpaced{more or ''}"
    return f"{method} pacing{', ' if rest and rest.isalpha() else ' ' if rest else ''}{rest or ''}{more or ''}"


def law(ax: Axes, x: Sequence[float], y: Sequence[float], name: str, slot: int, **style: Any) -> None:
    """A closed form: a thin line in the colour of `slot`."""
    look: dict[str, Any] = {"color": COLOURS[slot % len(COLOURS)], "linewidth": 1.1}
    ax.plot(x, y, label=name or None, **(look | style))


def logarithmic(ax: Axes, which: str, ticks: Sequence[float]) -> None:
    """A logarithmic ``x`` or ``y`` axis that names these places in plain numbers, and no others."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def from_zero(ax: Axes) -> None:
    """An axis from 0 up, with room above what is highest: a mark at the frame's edge would be cut in half."""
    ax.set_ylim(0, 1.06 * ax.dataLim.y1)


def printed(ax: Axes, x: float, y: float, words: str, *, offset: tuple[float, float] = (8, -4)) -> None:
    """Marks a number of the paper."""
    ax.plot([x], [y], marker="x", markersize=9, markeredgewidth=2, color=PRINTED, linestyle="none", zorder=5)
    ax.annotate(words, (x, y), offset, textcoords="offset points", fontsize="small", color=PRINTED)


def legend(ax: Axes, **where: Any) -> None:
    """Names the curves."""
    ax.legend(frameon=False, fontsize="small", labelcolor=INK, **where)


def picture(figure: Figure, name: str, caption: str) -> Picture:
    """The figure as SVG, the same bytes each time, on no background; words stay words."""
    import matplotlib as mpl

    from paceline.papers import placing

    sink = io.StringIO()
    _label_every_panel(figure)
    placing.settle(figure)
    planes = Planes(figure)
    _break_grid(figure)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.sans-serif": ["DejaVu Sans"]}):
        figure.savefig(sink, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = sink.getvalue()
    svg = planes.describe(svg[svg.index("<svg") :])  # no declarations: it stands within a page too
    svg = svg.replace(GRID, "currentColor; stroke-opacity: 0.15").replace(INK, "currentColor")
    return Picture(name, re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL), caption)


def _label_every_panel(figure: Figure) -> None:
    """Gives panels without words at an axis those of the panel on their left, or below: a phone has them stacked."""
    placed = [(ax, spec) for ax in figure.axes if (spec := ax.get_subplotspec()) is not None and ax.axison]
    for ax, at in placed:
        before = [one for one, spec in placed if spec.rowspan == at.rowspan and spec.colspan.start < at.colspan.start]
        under = [one for one, spec in placed if spec.colspan == at.colspan and spec.rowspan.start > at.rowspan.start]
        if not ax.get_ylabel():
            ax.set_ylabel(next((one.get_ylabel() for one in reversed(before) if one.get_ylabel()), ""))
        if not ax.get_xlabel():
            ax.set_xlabel(next((one.get_xlabel() for one in under if one.get_xlabel()), ""))


def _break_grid(figure: Figure) -> None:
    """Grid lines stop before a legend and go on behind it, so that none runs through its words."""
    figure.draw_without_rendering()
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is None:
            continue
        inside = ax.transAxes.inverted().transform_bbox(legend.get_window_extent())
        for tick in ax.yaxis.get_major_ticks():
            line = tick.gridline
            _, height = ax.transAxes.inverted().transform(line.get_transform().transform((0, tick.get_loc())))
            if inside.y0 <= height <= inside.y1:
                line.set_xdata([0, max(inside.x0, 0), np.nan, min(inside.x1, 1), 1])
