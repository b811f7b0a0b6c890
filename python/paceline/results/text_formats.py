"""Tables of results as text for papers and spreadsheets: CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Sequence

from paceline.results.quantities import path_phrase
from paceline.results.results import Results
from paceline.results.tables import summary_rows

FORMATS = ("csv", "markdown", "latex")
#: Letters in a line of a head.
_HEAD = 12
_LATEX = {
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "…": r"\dots{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_LATEX_SIGN = re.compile("[" + re.escape("".join(_LATEX)) + "]")
_MARKDOWN_SIGN = re.compile(r"([\\`*_{}\[\]<>|])")


def text_of(results: Results, form: str) -> str:
    """The table of means with 95 % intervals that `paceline run` prints; as CSV, the numbers of every run."""
    if form == "csv":
        return to_csv(results)
    head, rows = summary_rows(results)
    names = len(results.by_settings()[0][0]) if len(results) else 0
    if form == "markdown":
        return to_markdown(head, rows, names)
    return to_latex([*map(path_phrase, head[:names]), *head[names:]], rows, names)


def to_csv(results: Results) -> str:
    """RFC 4180, but for line ends, which are line feeds: a row a run, as in ``runs.parquet``; nothing where null."""
    table = results.to_arrow()
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(table.column_names)
    columns = [column.to_pylist() for column in table.columns]
    writer.writerows(zip(*columns, strict=True))
    return sink.getvalue()


def to_markdown(head: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> str:
    """A pipe table, numbers to the right; it lines up as text too."""
    cells = [[_MARKDOWN_SIGN.sub(r"\\\1", _one_line(cell)) for cell in row] for row in (head, *rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(head))]
    rule = ["-" * width if column < names else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    padded = [
        [cell.ljust(width) if column < names else cell.rjust(width) for column, (cell, width) in enumerate(pairs)]
        for pairs in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in (padded[0], rule, *padded[1:]))


def to_latex(head: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> str:
    """A tabular with the rules of the package booktabs, numbers to the right; a long head takes several rows."""
    parts = [_head_lines(cell) for cell in head]
    deep = max(map(len, parts), default=1)
    heads = [*zip(*([""] * (deep - len(part)) + part for part in parts), strict=True)]
    cells = [
        [_LATEX_SIGN.sub(lambda sign: _LATEX[sign[0]], _one_line(cell)) for cell in row] for row in (*heads, *rows)
    ]
    lines = ["  " + " & ".join(row) + r" \\" for row in cells]
    columns = "l" * names + "r" * (len(head) - names)
    body = [r"  \toprule", *lines[:deep], r"  \midrule", *lines[deep:], r"  \bottomrule"]
    begin = rf"\begin{{tabular}}{{{columns}}}"
    return "\n".join([r"% needs \usepackage{booktabs}", begin, *body, r"\end{tabular}"]) + "\n"


def _head_lines(text: str) -> list[str]:
    """A head in lines as short as its words allow, its unit in the last: else ten columns are wider than a page."""
    words, comma, unit = _one_line(text).rpartition(", ")
    return [*_wrapped(words), unit] if comma else _wrapped(unit) or [""]


def _wrapped(text: str) -> list[str]:
    """Lines of a head; a link's name is not cut."""
    return textwrap.wrap(text, _HEAD, break_long_words=False, break_on_hyphens=False)


def _one_line(text: str) -> str:
    return " ".join(text.split())
