"""What an SVG says of its axes: that of a claim, by Matplotlib, and that of the report."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest
from paceline.gallery import pictures
from paceline.papers import drawing
from paceline.report.line_plot import Axis, Line, line_plot
from paceline.report.series_marks import marker


def planes(svg: str) -> list[tuple[list[float], dict[str, object], dict[str, object]]]:
    """Box and axes of each plane."""
    found = re.findall(r'class="plane" data-box="([^"]*)" data-x="([^"]*)" data-y="([^"]*)"', svg)
    return [
        ([float(edge) for edge in box.split()], json.loads(html.unescape(x)), json.loads(html.unescape(y)))
        for box, x, y in found
    ]


def test_a_claims_axes_are_those_it_was_drawn_with() -> None:
    figure, (left, right) = drawing.axes(2)
    drawing.curve(left, [2, 5, 10], [81.5, 92.4, 93.0], "one & only", slot=0)
    drawing.printed(left, 5, 93, "paper: 93")
    left.set(xlabel="buffer, KB", ylabel="share of drops, of all of them", xlim=(0, 20), ylim=(80, 100))
    left.axvline(7)
    right.bar([0, 1], [3, 4], label="bars")
    right.set_xticks([0, 1], ["host", "edge"])
    right.set_yscale("log")
    drawing.legend(left)
    svg = drawing.picture(figure, "made", "").svg
    (box, x, y), (_, names, up) = planes(svg)
    assert x == {"title": "buffer", "low": 0.0, "high": 20.0, "unit": "KB"}
    assert y == {"title": "share of drops, of all of them", "low": 80.0, "high": 100.0, "unit": ""}
    assert [name for _, name in names["places"]] == ["host", "edge"]  # type: ignore[attr-defined]
    assert up["log"] is True
    # each point lies where the axes say
    points = re.findall(r'<use [^>]*x="([0-9.]+)" y="([0-9.]+)"', svg.split('class="series curve"')[1].split("</g>")[0])
    values = [
        (20 * (float(a) - box[0]) / (box[2] - box[0]), 80 + 20 * (box[3] - float(b)) / (box[3] - box[1]))
        for a, b in points
    ]
    assert values == [pytest.approx(pair, abs=0.01) for pair in ((2, 81.5), (5, 92.4), (10, 93.0))]
    assert re.search(r'class="key" data-name="one &amp; only"', svg)
    note = re.search(r'class="moves">\s*(?:<!--.*?-->\s*)?<text data-at="([0-9.]+) ([0-9.]+)"', svg)
    assert note is not None
    assert 20 * (float(note[1]) - box[0]) / (box[2] - box[0]) == pytest.approx(5, abs=0.01)
    assert svg.count('class="moves"') >= 3  # the cross, the line, the note


def test_a_scale_that_is_neither_has_no_plane() -> None:
    figure, (ax,) = drawing.axes(1)
    ax.plot([1, 2], [1, 2], label="line")
    ax.set_yscale("symlog")
    assert planes(drawing.picture(figure, "made", "").svg) == []


def test_a_picture_within_a_page_has_names_and_styles_of_its_own() -> None:
    figure, (ax,) = drawing.axes(1)
    drawing.curve(ax, [1, 2], [1, 2], "line", slot=0)
    whole = pictures.themed(drawing.picture(figure, "made", "").svg)
    first, second = (str(pictures.within(whole, name, 'said "so"')) for name in ("a", "b"))
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    asked = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', first))
    assert {a or b for a, b in asked} <= ids[0]
    assert "<style" not in first
    assert 'aria-label="said &#34;so&#34;"' in first
    assert pictures.within(pictures.Shown('<svg viewBox="0 0 1 1"><style></style></svg>', 1, 1), "c", "") is None


def test_a_line_of_the_report_lies_where_its_axes_say() -> None:
    x = np.array([1.0, 10.0, 100.0])
    picture = line_plot("T", "", [Line("a", 0, x, x**2)], Axis("X", "s", logarithmic=True), Axis("", "bytes"))
    ((box, across, up),) = planes(picture.markup())
    assert (across["low"], across["high"], across["log"]) == (1.0, 100.0, True)
    assert (up["low"], up["high"], up["unit"]) == (0.0, 10.0, "KB")
    path = re.search(r'<path d="M([^"]+)" class="line fine">', picture.markup())
    assert path is not None
    points = [tuple(map(float, pair.split())) for pair in path[1].split("L")]
    assert [10 ** (2 * (a - box[0]) / (box[2] - box[0])) for a, _ in points] == pytest.approx([1, 10, 100], rel=0.01)
    assert [10e3 * (box[3] - b) / (box[3] - box[1]) for _, b in points] == pytest.approx([1, 100, 10000], abs=2)


@pytest.mark.parametrize("slot", range(24))
def test_a_mark_moves_with_its_first_coordinate_alone(slot: int) -> None:
    """A zoom moves absolute coordinates; all others of a mark are relative."""
    path = marker(slot, 3.5, 7)
    assert path.startswith("M3.5 7m")
    assert re.findall("[MLHVC]", path) == ["M"]


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("none", "unpaced"),
        ("host ideal", "host pacing, ideal"),
        ("edge 10 ms", "edge pacing 10 ms"),
        ("edge links", "edge links"),
        ("qlbp", "QLBP"),
        ("Linux's rule", "Linux's rule"),
    ],
)
def test_a_pacing_that_was_swept_is_named_in_words(label: str, words: str) -> None:
    _, (ax,) = drawing.axes()
    drawing.curve(ax, [1, 2], [1.0, 2.0], label, slot=0)
    drawing.legend(ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [words]


def test_grid_lines_stop_at_a_legend() -> None:
    figure, (ax,) = drawing.axes(1)
    drawing.curve(ax, [1, 2, 3], [0.0, 1.0, 2.0], "one", 0)
    drawing.legend(ax, loc="upper left")
    svg = drawing.picture(figure, "grid", "Grid lines and a legend.").svg
    words = ax.get_legend().get_texts()[0].get_window_extent()  # pt: laid out for the SVG
    top = 72 * figure.get_figheight()
    lines = re.findall(r'd="M ([\d.]+) ([\d.]+) \nL ([\d.]+) \2 \n(?:M ([\d.]+) \2 \nL ([\d.]+) \2 \n)?"', svg)
    assert len(lines) >= 4
    broken = [line for line in lines if line[3]]
    assert broken, "the legend lies on no grid line"
    for _, height, until, since, right in broken:
        assert words.y0 - 8 <= top - float(height) <= words.y1 + 8
        assert float(until) < words.x0
        assert words.x1 < float(since) < float(right)
