"""Lays tables and paragraphs out in the columns of a terminal. A number is never cut.

A table that is too wide first wraps its heads and names, between words; then it goes on in further tables below, the
names repeated; and where names and one column of numbers do not fit side by side, each row becomes a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

_GAP = "  "
_INDENT = "  "
#: Names are not made narrower than this, nor prose than this: they would be towers of words.
_NARROWEST_NAME = 14
_NARROWEST_TEXT = 24

#: Stands for a space at which no line ends: a character for private use, for Rich breaks lines at U+00A0 too.
NO_BREAK = "\ue0a0"
#: The spaces within `8 .. 12 Mbit/s` and `87.71 ± 0.97`.
_QUANTITY = re.compile(
    r"(?<=\d) (?=(?:[kMGT]?bit/s|[KMG]?B|ns|us|ms|s|min|packets?|flows?|runs?|million|BDP)\b|%|\.\.|±)"
    r"|(?<=\.\.) |(?<=±) "
)
#: Where a long word may go on in the next line: behind a mark, never beside a digit.
_SEAM = re.compile(r"(?<=[^\d\s][-./_:,;=])(?=[^\d\s])")
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160), 0x2028, 0x2029), " ")


class Line(NamedTuple):
    """A line of a table, and whether it is of its head."""

    text: str
    is_head: bool = False


def kept(text: str) -> str:
    """The text with its quantities whole: no line ends between a number and its unit."""
    return _QUANTITY.sub(NO_BREAK, text)


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """A paragraph in lines of at most `width`, all but the first indented; wider where a word leaves no choice."""
    lines: list[str] = []
    line = " " * (len(text) - len(text.lstrip(" ")))
    for word in _words(text.strip(), width - len(indent)):
        glue = " " if line.strip() and not word.startswith(_JOINED) else ""
        word = word.removeprefix(_JOINED)
        if line.strip() and cell_len(line + glue + word) > width:
            lines.append(line)
            line, glue = indent, ""
        line += glue + word
    return [one.replace(NO_BREAK, " ").rstrip() for one in (*lines, line)]


def paragraph(text: str, width: int | None, indent: str = "") -> str:
    """The text as lines that end; as it is where there is no width to keep to."""
    return "".join(f"{line}\n" for line in ([text] if width is None else wrap(text, width, indent)))


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], names: int, width: int | None, texts: int = 0
) -> list[Line]:
    """A table: its first columns name a row, its last `texts` are prose, and those between are numbers."""
    columns = [_Column.of(number, head, rows, names, len(head) - texts) for number in range(len(head))]
    if width is None or _total(one.natural for one in columns) <= width:
        return _block(columns, [one.natural for one in columns])
    if _total(one.least for one in columns) <= width:
        return _block(columns, _widths(columns, width))
    first, others = columns[:names], columns[names:]
    if texts or not others or any(_total([*(one.least for one in first), other.least]) > width for other in others):
        return _paragraphs(columns, names, width)
    room = min(width // 2, width - len(_GAP) - max(one.least for one in others))
    first = [one._replace(natural=wide, least=wide) for one, wide in zip(first, _widths(first, room), strict=True)]
    lines: list[Line] = []
    while others:
        block = [*first, others.pop(0)]
        while others and _total(one.least for one in (*block, others[0])) <= width:
            block.append(others.pop(0))
        lines += [Line("")] if lines else []
        lines += _block(block, _widths(block, width))
    return lines


class _Column(NamedTuple):
    head: str
    cells: list[str]
    is_number: bool
    natural: int
    least: int

    @classmethod
    def of(cls, number: int, head: Sequence[str], rows: Sequence[Sequence[str]], names: int, texts: int) -> _Column:
        title = _plain(head[number]).strip()
        cells = [_plain(row[number]).strip() for row in rows]
        widest = max(map(cell_len, cells), default=0)
        natural = max(widest, cell_len(title))
        whole = max((cell_len(piece) for piece in _words(title, 0)), default=0)
        if names <= number < texts:
            return cls(title, cells, True, natural, max(widest, whole))
        words = max((cell_len(word) for cell in cells for word in kept(cell).split(" ")), default=0)
        narrowest = _NARROWEST_NAME if number < names else _NARROWEST_TEXT
        return cls(title, cells, False, natural, max(whole, words, min(natural, narrowest)))


def _total(widths: Iterable[int]) -> int:
    every = list(widths)
    return sum(every) + len(_GAP) * (len(every) - 1)


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """The least of each, and what is left shared out as they could use it."""
    spare = max(0, width - _total(one.least for one in columns))
    wanted = sum(one.natural - one.least for one in columns)
    share = min(1.0, spare / wanted) if wanted else 0.0
    return [one.least + int((one.natural - one.least) * share) for one in columns]


def _block(columns: Sequence[_Column], widths: Sequence[int]) -> list[Line]:
    heads = [wrap(one.head, width) for one, width in zip(columns, widths, strict=True)]
    deep = max(map(len, heads))
    lines = [Line(text, True) for text in _row([[""] * (deep - len(one)) + one for one in heads], columns, widths)]
    for number in range(len(columns[0].cells)):
        cells = [
            [one.cells[number]] if one.is_number else wrap(one.cells[number], width)
            for one, width in zip(columns, widths, strict=True)
        ]
        lines += [Line(text) for text in _row(cells, columns, widths)]
    return lines


def _row(cells: Sequence[list[str]], columns: Sequence[_Column], widths: Sequence[int]) -> list[str]:
    """One row as the lines that its deepest cell has."""
    lines = []
    for depth in range(max(map(len, cells))):
        parts = []
        for cell, column, width in zip(cells, columns, widths, strict=True):
            text = cell[depth] if depth < len(cell) else ""
            space = " " * (width - cell_len(text))
            parts.append(space + text if column.is_number else text + space)
        lines.append(_GAP.join(parts).rstrip())
    return lines


def _paragraphs(columns: Sequence[_Column], names: int, width: int) -> list[Line]:
    """Each row as its name and below it a line a column; a long value stands below its title."""
    first, others = columns[:1] if names == len(columns) else columns[:names], columns[names:]
    others = columns[1:] if names == len(columns) else others
    widest = max((cell_len(cell) for one in others if one.is_number for cell in one.cells), default=width // 2)
    room = width - len(_INDENT) - len(_GAP) - widest
    labels = min(max((cell_len(one.head) for one in others), default=0), max(room, width // 3))
    lines: list[Line] = []
    for number in range(len(columns[0].cells)):
        named = [(one.head, one.cells[number]) for one in first if one.cells[number]]
        for title, cell in named:
            name = cell if len(first) == 1 else f"{title} = {cell}"
            lines += [Line(text, True) for text in wrap(name, width, _INDENT * 2)]
        for one in others:
            if one.cells[number]:
                lines += [Line(text) for text in _entry(one.head, one.cells[number], labels, width)]
    return lines


def _entry(title: str, text: str, labels: int, width: int) -> list[str]:
    """A title and its text side by side, or one below the other."""
    room = width - labels - len(_INDENT) - len(_GAP)
    if cell_len(title) <= labels and max(cell_len(word) for word in _words(text, room)) <= room:
        head, *rest = wrap(text, room)
        left = _INDENT + title + " " * (labels - cell_len(title)) + _GAP
        return [left + head, *(" " * len(left) + line for line in rest)]
    below = [_INDENT * 2 + line for line in wrap(text, max(1, width - 2 * len(_INDENT)))]
    return [*(_INDENT + line for line in wrap(title, width - len(_INDENT), _INDENT)), *below]


#: Before a piece that goes on with the word before it.
_JOINED = "\ue0a1"


def _words(text: str, width: int) -> list[str]:
    """Words with their quantities whole; one that is longer than `width` in pieces, as far as it has seams."""
    words: list[str] = []
    for word in kept(_plain(text)).split(" "):
        if cell_len(word) <= width or NO_BREAK in word:
            words.append(word)
        else:
            first, *rest = _SEAM.split(word)
            words += [first, *(_JOINED + piece for piece in rest)]
    return words


def _plain(text: str) -> str:
    return text.translate(_CONTROLS)
