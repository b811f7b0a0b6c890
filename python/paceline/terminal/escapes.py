"""Escapes control characters in text from files and arguments, so that it cannot steer a terminal: ``\\x1b``.

Titles, names and labels are anybody's. Control characters move the cursor, set titles or colours; characters of
direction (bidi) and invisible ones make a line read as another. Everything that `output` prints comes through here.
"""

from __future__ import annotations

import unicodedata
from typing import Any

#: Of the format characters (Cf), those that scripts need: they join letters, or keep them apart.
_NEEDED = "\u00ad\u200c\u200d"
#: Controls, format characters, surrogates, and separators of lines and paragraphs.
_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def escape_controls(text: str, keep: str = "") -> str:
    """The text with nothing in it that steers a terminal; `keep` are control characters that stay, as line ends."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one in keep or not _steers(one) else _escaped(one) for one in text)


def escape_controls_in(value: Any) -> Any:
    """Plain nested values with every text in them made harmless."""
    if isinstance(value, str):
        return escape_controls(value)
    if isinstance(value, dict):
        return {escape_controls_in(key): escape_controls_in(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(escape_controls_in(item) for item in value)
    return value


def _steers(letter: str) -> bool:
    return unicodedata.category(letter) in _STEERING and letter not in _NEEDED


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
