"""Pictures of claims: no curve through words, every panel named, no mark in half."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from paceline.papers import drawing, placing


def crowded() -> tuple[Figure, Axes]:
    """Axes whose every corner and middle has a curve, with a legend and a note."""
    figure, (ax,) = drawing.axes(1)
    for slot in range(4):
        drawing.curve(ax, [0, 1, 2, 3], [slot, 3 - slot, 3 - slot, slot], f"up and down {slot}", slot)
        drawing.curve(ax, [0, 3], [0.4 + slot, 0.4 + slot], f"level {slot}", slot + 4)
    ax.set_xlabel("buffer, packets")
    ax.set_ylabel("goodput, kbit/s")
    drawing.printed(ax, 1.5, 1.5, "paper: a long note beside a mark")
    drawing.legend(ax, loc="lower right")
    return figure, ax


def legend_of(ax: Axes) -> Legend:
    legend = ax.get_legend()
    assert legend is not None
    return legend


def test_nothing_crosses_words_of_a_picture() -> None:
    figure, ax = crowded()
    assert len(placing.crossed(figure)) == 2
    placing.settle(figure)
    assert placing.crossed(figure) == []
    words = [text.get_text() for text in legend_of(ax).get_texts()]
    assert "paper: a long note beside a mark" in words
    assert len(words) == 9


def test_a_legend_under_its_axes_takes_no_room_from_them() -> None:
    figure, ax = crowded()
    figure.draw_without_rendering()
    before = ax.bbox.height
    placing.settle(figure)
    assert legend_of(ax).get_window_extent().y1 < ax.xaxis.label.get_window_extent().y0
    assert ax.bbox.height == pytest.approx(before, rel=0.03)


def test_words_that_nothing_crosses_stay_where_they_are() -> None:
    figure, (ax,) = drawing.axes(1)
    drawing.curve(ax, [0, 1], [0, 1], "a diagonal", 0)
    drawing.printed(ax, 0.2, 0.8, "a note")
    drawing.legend(ax, loc="lower right")
    figure.draw_without_rendering()
    before = legend_of(ax).get_window_extent().bounds, ax.texts[0].get_position()
    placing.settle(figure)
    assert (legend_of(ax).get_window_extent().bounds, ax.texts[0].get_position()) == before


def test_a_note_moves_off_a_curve_and_stays_by_its_mark() -> None:
    figure, (ax,) = drawing.axes(1)
    drawing.curve(ax, [0, 1], [0.5, 0.5], "through the note", 0)
    drawing.curve(ax, [0, 1], [0, 1], "another", 1)
    drawing.printed(ax, 0.3, 0.5, "paper: 0.5")
    assert placing.crossed(figure) == ["paper: 0.5"]
    placing.settle(figure)
    assert placing.crossed(figure) == []
    assert max(abs(offset) for offset in ax.texts[0].get_position()) < 80


def test_the_name_of_an_axis_is_not_cut() -> None:
    """Longer than the picture, or than its axes have room for; the others stay as they are."""
    figure, (upper, lower, beside) = drawing.axes(3, size=(9.0, 5.5), columns=1)
    upper.set_ylabel("times computed, looked up")
    lower.set_ylabel("and times compared by a packet")
    beside.set_ylabel("short")
    placing.settle(figure)
    names = [ax.yaxis.label for ax in figure.axes]
    assert [name.get_text().count("\n") for name in names] == [1, 1, 0]
    boxes = [name.get_window_extent() for name in names]
    assert all(figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1 for box in boxes)
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))


def test_every_panel_says_what_its_axes_are() -> None:
    figure, panels = drawing.axes(4, columns=2)
    for ax in panels:
        drawing.curve(ax, [0, 1], [0, 1], "a", 0)
    panels[0].set_ylabel("goodput")
    panels[2].set_ylabel("Jain's index")
    for ax in panels[2:]:
        ax.set_xlabel("buffer")
    svg = drawing.picture(figure, "named", "").svg
    words = re.findall(r"<text[^>]*>([^<]+)</text>", svg)
    assert words.count("goodput") == words.count("Jain's index") == 2
    assert words.count("buffer") == 4


def test_a_mark_on_an_axis_from_zero_is_whole() -> None:
    _, (ax,) = drawing.axes(1)
    drawing.printed(ax, 0, 0.9, "")
    drawing.curve(ax, [0], [1.0], "most", 0)
    drawing.from_zero(ax)
    assert ax.get_ylim()[0] == 0
    assert ax.get_ylim()[1] > 1.05


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("none", "unpaced"),
        ("host", "host pacing"),
        ("host ideal", "host pacing, ideal"),
        ("edge 10 ms", "edge pacing 10 ms"),
        ("none, 500 flows", "unpaced, 500 flows"),
        ("edge 10 ms, one packet less", "edge pacing 10 ms, one packet less"),
        ("qlbp", "QLBP"),
        ("port, capped at its share", "port pacing, capped at its share"),
        ("Linux's rule", "Linux's rule"),
    ],
)
def test_labels_of_pacings_are_words(label: str, words: str) -> None:
    assert drawing.pacing_words(label) == words
