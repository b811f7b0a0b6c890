"""Reads a scenario's text into nested tables, and checks that they hold only what TOML has."""

from __future__ import annotations

import datetime
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from paceline import _core
from paceline._arguments import file_name, index, is_text, quoted
from paceline.errors import InputError
from paceline.scenario.paths import join_path, split_path

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
        raise InputError(f"no such file; {instead or _where_from(file.stem)}", source) from None
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


def _where_from(stem: str) -> str:
    """How to come by a scenario: by the template of this name, where there is one."""
    from paceline.scenario import shipped_files

    if stem in shipped_files.texts():
        return f"paceline init {stem} writes one"
    return "paceline init writes one to start from, paceline init --list says which there are"


def value_at(document: Any, keys: Sequence[str]) -> Any:
    """What stands there; ``None`` where nothing does."""
    for key in keys:
        if isinstance(document, list) and key.isdecimal() and int(key) < len(document):
            document = document[int(key)]
        else:
            document = document.get(key) if isinstance(document, dict) else None
    return document


def plain(value: Any, path: tuple[str, ...]) -> Any:
    """A deep copy in the types of TOML that a scenario uses; refuses the others by name."""
    if len(path) > MOST_NESTED:
        raise InputError(f"{path[0]}: more than {MOST_NESTED} tables and lists within each other; write fewer")
    if isinstance(value, Mapping):
        return {_text(str(key), path): plain(item, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, (*path, str(number))) for number, item in enumerate(value)]
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, bool):
        return value
    number = index(value)
    if number is not None and -(2**63) <= number < 2**64:
        return number
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    where = join_path(path) or "scenario"
    if number is not None:
        raise InputError(f"{where}: a number of more than 64 bits has no place in a scenario; write a lesser one")
    if isinstance(value, (datetime.date, datetime.time)):
        raise InputError(f"{where}: a date has no place in a scenario; write text in quotes")
    raise InputError(f"{where}: {quoted(value)} has no place in a scenario; write text, a number, a list or a table")


def _text(value: str, path: tuple[str, ...]) -> str:
    if is_text(value):
        return value
    raise InputError(f"{join_path(path) or 'scenario'}: {quoted(value)} is not UTF-8; write text that is")


def line_of(
    text: str, read: Mapping[str, Any], now: Mapping[str, Any], keys: tuple[str, ...], swept: str | None
) -> int | None:
    """The line of `text`, which was `read`, that has what is `now` at these keys; `swept` is the path of its sweep.

    ``None`` where what is there has been put there since.
    """
    if swept is not None:
        table = read.get("sweep", {})
        keys = ("sweep", swept) if swept in table else ("sweep", *split_path(swept))
        return _core.line_of(text, list(keys)) if isinstance(table, dict) and table else None
    return _core.line_of(text, list(keys)) if value_at(read, keys) == value_at(now, keys) else None
