"""Reads a scenario's text into nested tables, and checks that they hold only what TOML has."""

from __future__ import annotations

import datetime
import difflib
import math
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paceline._arguments import file_name, index, is_text, quoted
from paceline.errors import InputError
from paceline.scenario.paths import join_path

#: A larger file is no scenario.
MOST_BYTES = 16 << 20
#: Tables and lists within each other; a scenario has 5 or so.
MOST_NESTED = 50


def read(path: str | os.PathLike[str], instead: str | None = None) -> tuple[dict[str, Any], str]:
    """The tables of a TOML file, and its text. Raises `InputError`, which names the file.

    `instead` is what to do where there is none, unless it is a scenario's.
    """
    file = file_name(path, None, "scenarios/one-flow.toml")
    source = os.fsdecode(path)
    if "\n" in source:
        raise InputError("this is a text, not a file's name; give its tables, as tomllib.loads(text)", "scenario")
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(f"more than {MOST_BYTES >> 20} MiB; name a scenario file", source)
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"no such file; {_near(file) or instead or _where_from(file.stem)}", source) from None
    except IsADirectoryError:
        raise InputError("a directory; name a scenario file in it", source) from None
    except UnicodeDecodeError as error:
        what = "UTF-16 text" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else f"not UTF-8 text (byte {error.start})"
        raise InputError(f"{what}; save the file as UTF-8", source) from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {why}", source) from None
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # broken; numbers of too many digits; too deep
        raise InputError(f"broken TOML: {error}", source) from None
    return document, text


def _near(file: Path) -> str:
    """A question about a file beside it, of a name much like this one's; "" where there is none."""
    try:
        there = [found.name for found in file.parent.glob("*.toml")]
    except (OSError, ValueError):
        return ""
    near = difflib.get_close_matches(file.name, there, n=1, cutoff=0.8)
    return f"did you mean {quoted(str(file.with_name(near[0])))}?" if near else ""


def _where_from(stem: str) -> str:
    """How to come by a scenario: by the template of this name, where there is one."""
    from paceline.scenario import shipped_files

    if stem in shipped_files.texts():
        return f"paceline init {stem} writes one"
    return "paceline init writes one to start from, paceline init --list says which there are"


def plain(value: Any, path: str = "") -> Any:
    """A deep copy in the types of TOML that a scenario uses. Raises an `InputError` of all that have other types."""
    wrong: list[InputError] = []
    copied = _plain(value, path, 0, wrong)
    if wrong:
        raise InputError.together(wrong)
    return copied


def _plain(value: Any, path: str, depth: int, wrong: list[InputError]) -> Any:
    if depth > MOST_NESTED:
        top = re.split(r"[.\[]", path)[0]
        raise InputError(f"{top}: more than {MOST_NESTED} tables and lists within each other; write fewer")
    if isinstance(value, Mapping):
        below = {str(key): join_path((str(key),)) for key in value}
        return {
            _text(str(key), path, wrong): _plain(
                item, f"{path}.{below[str(key)]}" if path else below[str(key)], depth + 1, wrong
            )
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{number}]", depth + 1, wrong) for number, item in enumerate(value)]
    if isinstance(value, str):
        return _text(value, path, wrong)
    number = index(value)
    if isinstance(value, bool):
        return value
    if number is not None and -(2**63) <= number < 2**64:
        return number
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    wrong.append(InputError(f"{path or 'scenario'}: {_refusal(value)}"))
    return None


def _refusal(value: Any) -> str:
    if isinstance(value, float):
        return f"{value} is no number that a scenario may have; write a finite one, or text with a unit"
    if index(value) is not None:
        return "a number of more than 64 bits has no place in a scenario; write a lesser one"
    if isinstance(value, datetime.time):
        return f'{value} is a time of day; write a time with its unit in quotes, as "10 s"'
    if isinstance(value, datetime.date):
        return "a date has no place in a scenario; write text in quotes"
    return f"{quoted(value)} has no place in a scenario; write text, a number, a list or a table"


def _text(value: str, path: str, wrong: list[InputError]) -> str:
    if not is_text(value):
        wrong.append(InputError(f"{path or 'scenario'}: {quoted(value)} is not UTF-8; write text that is"))
    return value


def shown(value: Any) -> str:
    """A value as a message shows it: ``true``, ``1.5``, ``"x"``, ``a table``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    for kind, name in ((Mapping, "a table"), ((list, tuple), "a list")):
        if isinstance(value, kind):
            return name
    return quoted(value)
