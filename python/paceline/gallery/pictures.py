"""Makes a claim's picture follow the page: its colours in light and dark, its font, its panels stacked on a phone.

A picture is a file of its own, shown by ``<img>``: one file for thumbnail, figure and download, whose names clash with
nothing on the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import paceline.report
from paceline.papers.drawing import PRINTED
from paceline.plot import COLOURS

_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
#: Pixels of CSS in a point, Matplotlib's unit.
_PIXELS = 96 / 72
#: Of a character, by the size of its font; wide enough for every font of `_FONT`.
_CHARACTER = 0.58
_LINE = 1.2


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
class _Box:
    """A part of a picture, pt."""

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


def stacked(picture: Shown) -> Shown | None:
    """Its panels one below the other, for a narrow page; ``None`` where it has one column, or words outside panels."""
    root = ElementTree.fromstring(picture.svg)  # noqa: S314 - our own picture, without declarations
    boxes = _panels(root)
    columns = sorted({round(box.left) for box in boxes})
    if len(columns) < 2:
        return None
    width, height = (float(v) for v in root.attrib["viewBox"].split()[2:])
    tops = sorted({round(box.top) for box in boxes})
    words = _words(root)
    parts = []
    for top_number, top in enumerate(tops):
        row = sorted((box for box in boxes if round(box.top) == top), key=lambda box: box.left)
        below = [box.top for box in boxes if round(box.top) > top]
        here = [word for word in words if top_number == len(tops) - 1 or word.bottom < min(below) + 2]
        low, high = 0.0, height
        if top_number:
            low = max(box.bottom for box in boxes if round(box.top) < top)
            low = max([low, *(w.bottom for w in words if low <= w.bottom < top - 4)]) + 1
        if below:
            high = max(b.bottom for b in row)
            high = max([high, *(w.bottom for w in here if high <= w.top < min(below) - 8)]) + 2
        cuts = [0.0, *(_left_of(box, words, before.right) for before, box in pairwise(row)), width]
        if any(_crosses(word, cut) for word in words for cut in cuts[1:-1] if low <= word.top and word.bottom <= high):
            return None
        parts += [_Box(left, low, right, high) for left, right in pairwise(cuts)]
    inner = picture.svg[picture.svg.index("</style>") + len("</style>") : picture.svg.rindex("</svg>")]
    across = max(part.right - part.left for part in parts)
    views, down = [], 0.0
    for part in parts:
        wide, tall = part.right - part.left, part.bottom - part.top
        view = f"{part.left:.2f} {part.top:.2f} {wide:.2f} {tall:.2f}"
        place = f'y="{down:.2f}" width="{wide:.2f}" height="{tall:.2f}"'
        views.append(f'<svg {place} viewBox="{view}"><use xlink:href="#whole"/></svg>')
        down += tall + 8
    return _document(f'<defs><g id="whole">{inner}</g></defs>{"".join(views)}', across, down - 8)


def _document(body: str, width: float, height: float) -> Shown:
    wide, tall = round(width * _PIXELS), round(height * _PIXELS)
    head = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
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


def _panels(root: ElementTree.Element) -> list[_Box]:
    """The frames of axes; axes that share one (a second scale) count once."""
    found: dict[tuple[int, int], _Box] = {}
    for group in root.iter():
        if not group.get("id", "").startswith("axes_"):
            continue
        frame = next((one for one in group.iter() if one.get("d")), None)
        if frame is None:
            continue
        numbers = [float(v) for v in re.findall(r"-?[0-9.]+", frame.attrib["d"])]
        box = _Box(min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2]))
        found[round(box.left), round(box.top)] = box
    return list(found.values())


def _words(root: ElementTree.Element) -> list[_Box]:
    """About where each text lies."""
    return [_word(text, x, y) for text, x, y in _texts(root, 0.0, 0.0)]


def _texts(element: ElementTree.Element, x: float, y: float) -> Iterator[tuple[ElementTree.Element, float, float]]:
    """Texts, and how far the groups around them are moved."""
    for child in element:
        if child.tag.endswith("}text"):
            yield child, x, y
            continue
        moved = re.match(r"translate\((-?[0-9.]+)[ ,]+(-?[0-9.]+)\)", child.get("transform", ""))
        yield from _texts(child, x + float(moved[1]), y + float(moved[2])) if moved else _texts(child, x, y)


def _word(text: ElementTree.Element, x: float, y: float) -> _Box:
    style = text.get("style", "") + "".join(part.get("style", "") for part in text)
    size = float((re.search(r"font(?:-size)?: (?:[a-z]+ )*([0-9.]+)px", style) or ["", "10"])[1])
    length = len("".join(text.itertext()).strip()) * size * _CHARACTER
    x, y = x + float(text.get("x", "0")), y + float(text.get("y", "0"))
    turned = re.search(r"rotate\((-?[0-9.]+)", text.get("transform", ""))
    shift = {"middle": length / 2, "end": length}.get((re.search(r"anchor: (\w+)", style) or ["", ""])[1], 0.0)
    if turned and abs(float(turned[1])) > 1:
        return _Box(x - size * _LINE, y - length + shift, x + size * 0.3, y + shift)
    return _Box(x - shift, y - size, x - shift + length, y + size * 0.3)


def _left_of(box: _Box, words: list[_Box], after: float) -> float:
    """Where to cut before a panel: left of its scale and its title, right of the panel before."""
    beside = [word.left for word in words if after < word.left < box.left and word.right <= box.left + 1]
    beside = [word for word in beside if word > after + 0.25 * (box.left - after)]
    return min([box.left, *beside]) - 3


def _crosses(word: _Box, cut: float) -> bool:
    """Whether a cut goes through a text, not merely its margin."""
    return word.left + 3 < cut < word.right - 3
