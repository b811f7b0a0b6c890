"""Signs that the character set of a terminal or a pipe lacks, in those of ASCII: ``6.1 +- 2.3``, not ``6.1 ? 2.3``.

Python has UTF-8 unless a locale, or PYTHONIOENCODING, says otherwise. Other letters, as in
names, are escaped: ``\\xf6``.
"""

from __future__ import annotations

import codecs
import io
from typing import TextIO

#: The error handler of streams.
HANDLER = "paceline-signs"
_SIGNS = {"±": "+-", "–": "-", "—": "-", "…": "...", "→": "->", "←": "<-", "×": "x", "·": ".", "≤": "<=", "≥": ">="}
_SIGNS |= {"²": "^2", "√": "root ", "✗": "x", "▲": "*", "━": "-", "µ": "u", "\u00a0": " "}


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_SIGNS.get(one) or one.encode("ascii", "backslashreplace").decode() for one in lacking), error.end


codecs.register_error(HANDLER, _in_ascii)


def speak_its_letters(stream: TextIO, encoding: str | None = None) -> None:
    """From now on what is written to it is never refused for its letters."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=encoding, errors=HANDLER)


def as_written(text: str, stream: TextIO) -> str:
    """The text as that stream will show it, for whoever lays out columns."""
    if text.isascii():
        return text
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, HANDLER).decode(encoding)
