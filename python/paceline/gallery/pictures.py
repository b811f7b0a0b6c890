"""Makes a claim's picture follow the page: its colours in light and dark, its font, its panels stacked on a phone.

A picture is a file of its own, shown by ``<img>``: one file for thumbnail, figure and download, whose names clash with
nothing on the page.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from markupsafe import Markup, escape

import paceline.report
from paceline._palette import COLOURS
from paceline.papers.drawing import PRINTED

_XLINK = "http://www.w3.org/1999/xlink"
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
#: Pixels of CSS in a point, Matplotlib's unit.
_PIXELS = 96 / 72
#: Height of a line, by the size of its font.
_LINE = 1.2
#: Between panels that are stacked, pt.
_GAP = 8.0


@dataclass(frozen=True)
class Shown:
    """A picture for the page.

    Attributes:
        svg: the file.
        width, height: px.
    """

    svg: str
    width: int
    height: int


@dataclass(frozen=True)
class Box:
    """A part of a picture, pt from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


def themed(svg: str) -> Shown:
    """The picture in the colours and the font of the report. Raises `ValueError` for what is no SVG picture."""
    found = re.search(r'<svg\b[^>]*\bviewBox="0 0 ([0-9.]+) ([0-9.]+)"[^>]*>', svg)
    if found is None:
        raise ValueError("no SVG picture with a viewBox from 0 0")
    width, height = float(found[1]), float(found[2])
    body = svg[found.end() : svg.rindex("</svg>")]
    for slot, colour in enumerate(COLOURS):
        body = body.replace(colour, f"var(--s{slot})")
    body = body.replace(PRINTED, "var(--printed)").replace("#000000", "currentColor")
    return _document(body, width, height)


def within(picture: Shown, name: str, told: str) -> Markup | None:
    """The picture for a page whose script answers in it; ``None`` where it says nothing of its planes.

    Its identifiers begin with `name`, so that they clash with nothing on the page, and the page has its styles.
    """
    if 'class="plane"' not in picture.svg:
        return None
    body = picture.svg[picture.svg.index("</style>") + len("</style>") : picture.svg.rindex("</svg>")]
    body = re.sub(r"<style.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{name}-", body)
    view = re.search(r'viewBox="[^"]+"', picture.svg)
    assert view is not None
    head = f'class="picture drawn" {view[0]} role="img" aria-label="{escape(told)}" xmlns:xlink="{_XLINK}"'
    return Markup(f"<svg {head}>{body}</svg>")  # noqa: S704 - our own, its words were escaped when it was drawn


def panels(picture: Shown) -> list[Box]:
    """The panels of a picture, row by row; none where it has one column, or a cut would go through words."""
    root = ElementTree.fromstring(picture.svg)  # noqa: S314 - our own picture, without declarations
    own, words = _frames(root), _words(root)
    frames = list(own)
    if len({round(frame.left) for frame in frames}) < 2:
        return []
    width, height = (float(v) for v in root.attrib["viewBox"].split()[2:])
    tops = sorted({round(frame.top) for frame in frames})
    rows = [sorted((one for one in frames if round(one.top) == top), key=lambda one: one.left) for top in tops]
    ends = [0.0, *(_between(above, below, own) for above, below in pairwise(rows)), height]
    found = []
    for row, (low, high) in zip(rows, pairwise(ends), strict=True):
        cuts = [0.0, *(_beside(one, other, own) for one, other in pairwise(row) if not _is_bar(other)), width]
        here = [word for word in words if low <= word.top and word.bottom <= high]
        if any(_crosses(word, cut) for word in here for cut in cuts[1:-1]):
            return []
        found += [Box(left, low, right, high) for left, right in pairwise(cuts)]
    return found


def stacked(picture: Shown, parts: Sequence[Box]) -> Shown:
    """Parts of a picture one below the other: all panels for a narrow page, or the first as thumbnail."""
    inner = picture.svg[picture.svg.index("</style>") + len("</style>") : picture.svg.rindex("</svg>")]
    across = max(part.right - part.left for part in parts)
    views, down = [], 0.0
    for part in parts:
        wide, tall = part.right - part.left, part.bottom - part.top
        view = f"{part.left:.2f} {part.top:.2f} {wide:.2f} {tall:.2f}"
        place = f'y="{down:.2f}" width="{wide:.2f}" height="{tall:.2f}"'
        views.append(f'<svg {place} viewBox="{view}"><use xlink:href="#whole"/></svg>')
        down += tall + _GAP
    return _document(f'<defs><g id="whole">{inner}</g></defs>{"".join(views)}', across, down - _GAP)


def _document(body: str, width: float, height: float) -> Shown:
    wide, tall = round(width * _PIXELS), round(height * _PIXELS)
    head = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="' + _XLINK + '"'
    size = f'width="{wide}" height="{tall}" viewBox="0 0 {width:g} {height:g}"'
    return Shown(f"<svg {head} {size}><style>{_style()}</style>{body}</svg>\n", wide, tall)


def _style() -> str:
    """The report's colours, from its style sheet."""
    sheet = (Path(paceline.report.__file__).parent / "style.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)[:2]
    return (
        f":root {{{light}color: var(--ink); --printed: {PRINTED}; }}"
        f"@media (prefers-color-scheme: dark) {{ :root {{{dark}--printed: #ff86ae; }} }}"
        f"text {{ font-family: {_FONT} !important; }}"
    )


def _frames(root: ElementTree.Element) -> dict[Box, list[Box]]:
    """The frames of axes and the words of each; axes that share one (a second scale) count once."""
    found: dict[tuple[int, int], Box] = {}
    words: dict[Box, list[Box]] = {}
    for group in root.iter():
        if not group.get("id", "").startswith("axes_"):
            continue
        frame = next((one for one in group.iter() if one.get("d")), None)
        if frame is None:
            continue
        numbers = [float(v) for v in re.findall(r"-?[0-9.]+", frame.attrib["d"])]
        box = Box(min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2]))
        box = found.setdefault((round(box.left), round(box.top)), box)
        words.setdefault(box, []).extend(_words(group))
    return words


def _words(element: ElementTree.Element) -> list[Box]:
    """About where each text of the picture or of a panel lies."""
    return [_word(text, x, y) for text, x, y in _texts(element, 0.0, 0.0)]


def _texts(element: ElementTree.Element, x: float, y: float) -> Iterator[tuple[ElementTree.Element, float, float]]:
    """Texts, and how far the groups around them are moved."""
    for child in element:
        if child.tag.endswith("}text"):
            yield child, x, y
            continue
        moved = re.match(r"translate\((-?[0-9.]+)[ ,]+(-?[0-9.]+)\)", child.get("transform", ""))
        yield from _texts(child, x + float(moved[1]), y + float(moved[2])) if moved else _texts(child, x, y)


def _word(text: ElementTree.Element, x: float, y: float) -> Box:
    style = text.get("style", "") + "".join(part.get("style", "") for part in text)
    size = float((re.search(r"font(?:-size)?: (?:[a-z]+ )*([0-9.]+)px", style) or ["", "10"])[1])
    length = _length(" ".join("".join(text.itertext()).split()), size)
    x, y = x + float(text.get("x", "0")), y + float(text.get("y", "0"))
    turned = re.search(r"rotate\((-?[0-9.]+)", text.get("transform", ""))
    shift = {"middle": length / 2, "end": length}.get((re.search(r"anchor: (\w+)", style) or ["", ""])[1], 0.0)
    if turned and abs(float(turned[1])) > 1:
        return Box(x - size * _LINE, y - length + shift, x + size * 0.3, y + shift)
    return Box(x - shift, y - size, x - shift + length, y + size * 0.3)


def _length(text: str, size: float) -> float:
    """In the font that Matplotlib laid it out with, pt; those of `_FONT` are as wide or narrower."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family="DejaVu Sans", size=size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a sign that the font lacks
        return float(TextToPath().get_text_width_height_descent(text, font, ismath=False)[0])


def _beside(before: Box, after: Box, own: Mapping[Box, list[Box]]) -> float:
    """Where to cut between two panels: right of the words of the one, left of those of the other."""
    low, high = before.right, after.left
    right = [word.right for word in own[before] if (word.left + word.right) / 2 < high]
    left = [word.left for word in own[after] if (word.left + word.right) / 2 > low]
    return (max([low, *right]) + min([high, *left])) / 2


def _between(above: list[Box], below: list[Box], own: Mapping[Box, list[Box]]) -> float:
    """Where to cut between two rows of panels: below the words of the upper, above those of the lower."""
    low, high = max(one.bottom for one in above), min(one.top for one in below)
    under = [word.bottom for one in above for word in own[one] if (word.top + word.bottom) / 2 < high]
    over = [word.top for one in below for word in own[one] if (word.top + word.bottom) / 2 > low]
    return (max([low, *under]) + min([high, *over])) / 2


def _is_bar(frame: Box) -> bool:
    """Whether a frame is a bar of colours, which belongs to the panel on its left."""
    return frame.right - frame.left < (frame.bottom - frame.top) / 5


def _crosses(word: Box, cut: float) -> bool:
    """Whether a cut goes through a text, not merely its margin."""
    return word.left + 3 < cut < word.right - 3
