"""Puts words of a picture where nothing crosses them: legends, and notes beside marks.

A legend goes to the corner that is asked for, to another place in its axes where a curve is in the way, and below the
axes where all are taken. A note moves about its point, and goes into the legend where no place beside it is free. The
name of an axis that is longer than the picture, or that meets another's, goes on two lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from matplotlib.path import Path
from matplotlib.transforms import Bbox, BboxTransformTo, ScaledTranslation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

Numbers: TypeAlias = npt.NDArray[np.float64]
Place: TypeAlias = Literal[
    "upper right", "lower right", "upper left", "lower left", "center right", "center left", "upper center", "center"
]
#: Places in the axes, in the order in which they are tried.
PLACES: tuple[Place, ...] = get_args(Place)
#: What Matplotlib calls the line, or the mark, that is none.
_NO_LINE = ("None", "none", " ", "", None)
#: How far a note may be from its point, pt, and in how many directions it is tried there.
_AWAY, _DIRECTIONS = (5.0, 10.0, 16.0, 24.0, 34.0, 46.0), 16
#: What the frame of a legend, which is not drawn, and of a line of text has around its letters, pt.
_MARGIN = 1.5
#: Between the words below an axis and a legend under them, pt.
_UNDER = 4.0


def settle(figure: Figure) -> None:
    """Moves what is crossed. Curves, marks, bars and other words are in the way; lines of the grid are not."""
    figure.draw_without_rendering()
    _fold_names(figure)
    for ax in figure.axes:
        for note in ax.texts:
            if getattr(note, "anncoords", None) == "offset points":
                _settle_note(figure, ax, note)
    under = [_settle_legend(figure, ax) for ax in figure.axes if ax.get_legend() is not None]
    wide, tall = figure.get_size_inches()
    figure.set_size_inches(wide, tall + max(under, default=0.0))
    figure.draw_without_rendering()


def crossed(figure: Figure) -> list[str]:
    """Words of legends and notes that something crosses."""
    figure.draw_without_rendering()
    found = []
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is not None and _hits(figure, _box(legend), legend):
            found.append("; ".join(text.get_text() for text in legend.get_texts()))
        found += [note.get_text() for note in ax.texts if note.get_text() and _hits(figure, _box(note), note)]
    return found


def _fold_names(figure: Figure) -> None:
    """Each that is too long is broken at the space nearest to its middle."""
    names = [name for ax in figure.axes for name in (ax.xaxis.label, ax.yaxis.label) if name.get_text()]
    boxes = [name.get_window_extent() for name in names]
    for name, box in zip(names, boxes, strict=True):
        text = name.get_text()
        whole = figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        whole = whole and figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1
        if " " in text and not (whole and not any(_meet(box, other) for other in boxes if other is not box)):
            spaces = [at for at, letter in enumerate(text) if letter == " "]
            middle = min(spaces, key=lambda at: abs(2 * at - len(text)))
            name.set_text(f"{text[:middle]}\n{text[middle + 1 :]}")
    figure.draw_without_rendering()


def _settle_legend(figure: Figure, ax: Axes) -> float:
    """Returns the room that it needs under the axes, inches."""
    legend = ax.get_legend()
    assert legend is not None
    if not _hits(figure, _box(legend), legend):
        return 0.0
    legend.set_bbox_to_anchor((0, 0, 1, 1), ax.transAxes)
    for place in PLACES:
        legend.set_loc(place)
        if not _hits(figure, _box(legend), legend):
            return 0.0
    return _below(figure, ax, legend)


def _below(figure: Figure, ax: Axes, legend: Legend) -> float:
    """The legend under its axes, in as many columns as their width has room for; returns its height, inches."""
    names = ax.get_legend_handles_labels()[1]
    words_of_axis = [one for one in (ax.xaxis.label, *ax.get_xticklabels()) if one.get_text()]
    under = ax.bbox.y0 - min([ax.bbox.y0, *(one.get_window_extent().y0 for one in words_of_axis)])
    for columns in range(len(names), 0, -1):
        _anew(
            ax,
            legend,
            loc="upper left",
            ncols=columns,
            bbox_to_anchor=(0.0, 0.0),
            bbox_transform=ax.transAxes
            + ScaledTranslation(0, -under / figure.dpi - _UNDER / 72, figure.dpi_scale_trans),
            borderaxespad=0.0,
            borderpad=0.0,
            columnspacing=1.2,
            handlelength=1.6,
        )
        if _box(ax.get_legend()).width <= ax.bbox.width:
            break
    return _box(ax.get_legend()).height / figure.dpi + _UNDER / 72


def _anew(ax: Axes, legend: Legend, **where: Any) -> None:
    """The legend of all that has a name, in the look of the one before."""
    ax.legend(frameon=False, fontsize="small", labelcolor=legend.get_texts()[0].get_color(), **where)


def _settle_note(figure: Figure, ax: Axes, note: Any) -> None:
    if not note.get_text() or not _hits(figure, _box(note), note):
        return
    first = note.get_position()
    own = note.get_window_extent()
    wide, tall = own.width * 72 / figure.dpi, own.height * 72 / figure.dpi
    frame = ax.bbox.padded(2)
    for away in _AWAY:
        for angle in np.linspace(0, 2 * np.pi, _DIRECTIONS, endpoint=False):
            # the nearest point of the words' box is `away` from the mark in this direction
            across, up = np.cos(angle), np.sin(angle)
            note.set_position((away * across + (across - 1) * wide / 2, away * up + (up - 1) * tall / 2))
            box = _box(note)
            inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
            if inside and not _hits(figure, box, note):
                return
    note.set_position(first)
    legend = ax.get_legend()
    places = [(line, np.asarray(line.get_xydata())) for line in ax.lines]
    marks = [line for line, place in places if len(place) == 1 and tuple(place[0]) == tuple(note.xy)]
    if legend is not None and marks:
        marks[-1].set_label(note.get_text())
        note.set_text("")
        _anew(ax, legend, loc=PLACES[0])


def _box(words: Any) -> Bbox:
    box: Bbox = words.get_window_extent()
    return box.padded(_MARGIN)


def _hits(figure: Figure, box: Bbox, own: Any) -> bool:
    """Whether something lies in a box of pixels: a curve, a mark, a bar, other words."""
    for ax in figure.axes:
        legend = ax.get_legend()
        others = [text for text in (*ax.texts, ax.title, getattr(ax, "_left_title", None)) if text and text.get_text()]
        words = [one for one in (*others, *([legend] if legend else [])) if one is not own]
        if any(_meet(box, one.get_window_extent()) for one in words):
            return True
        if _meet(box, ax.bbox) and any(path.intersects_bbox(box, filled=filled) for path, filled in _shapes(ax)):
            return True
    return False


def _meet(one: Bbox, other: Bbox) -> bool:
    return bool(one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1)


def _shapes(ax: Axes) -> Iterator[tuple[Path, bool]]:
    """What is drawn in a plane, in pixels, and whether it is filled: lines, marks, bars, shades."""
    for line in ax.lines:
        path = line.get_transform().transform_path(line.get_path()).cleaned(remove_nans=True)
        if line.get_linestyle() not in _NO_LINE:
            yield path, False
        if line.get_marker() not in _NO_LINE:
            codes = np.asarray(path.codes)
            yield from _marks(ax, np.asarray(path.vertices)[codes != Path.STOP], line.get_markersize())
    for group in ax.collections:
        if hasattr(group, "get_sizes"):  # marks scattered
            places = group.get_offset_transform().transform(np.asarray(group.get_offsets(), float))
            sizes = np.asarray(group.get_sizes(), float)
            yield from _marks(ax, places, float(np.sqrt(np.max(sizes, initial=1.0))))
            continue
        for path in group.get_paths():
            yield group.get_transform().transform_path(path).cleaned(remove_nans=True), True
    for patch in ax.patches:
        yield patch.get_transform().transform_path(patch.get_path()), True
    for image in ax.images:
        yield _rectangle(image.get_window_extent()), True


def _marks(ax: Axes, places: Numbers, size_pt: float) -> Iterator[tuple[Path, bool]]:
    half = size_pt / 2 * ax.figure.dpi / 72
    for x, y in places:
        yield _rectangle(Bbox.from_extents(x - half, y - half, x + half, y + half)), True


def _rectangle(box: Bbox) -> Path:
    return Path.unit_rectangle().transformed(BboxTransformTo(box))
