"""Validates arguments of functions and options of commands alike: an `InputError` names which, and what to write."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paceline.errors import InputError

#: More would exhaust a machine long before it saved any time.
MOST_JOBS = 4096
MOST_THREADS = 1024
ENGINES = ("auto", "windowed", "reference")


def whole(given: Any, name: str, what: str, least: int, most: int) -> int:
    """A whole number from `least` to `most`."""
    number = index(given)
    if number is None or not least <= number <= most:
        raise InputError(f"{quoted(given)} is not a {what}; write a whole number from {least} to {most}", name)
    return number


def index(given: Any) -> int | None:
    """The whole number that this is, NumPy's included; ``None`` where it is none, as a truth value."""
    try:
        return None if isinstance(given, bool) else operator.index(given)
    except TypeError:
        return None


def typed(text: str) -> int | str:
    """The whole number that a text on a command line is, where it is one."""
    return int(text) if text.isascii() and text.removeprefix("-").isdecimal() and len(text) < 20 else text


def jobs(given: Any, name: str = "jobs") -> int:
    """Runs at a time."""
    return whole(given, name, "number of runs at a time", 1, MOST_JOBS)


def threads(given: Any, name: str = "threads") -> int:
    """Threads that one run may use."""
    return whole(given, name, "number of threads", 1, MOST_THREADS)


def engine(given: Any, name: str = "engine") -> str:
    """How time advances; the results are the same."""
    return one_of(given, name, "engine", ENGINES)


def one_of(given: Any, name: str, what: str, choices: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(given, str) or given not in choices:
        known = ", ".join(choices[:-1]) + f" or {choices[-1]}"
        raise InputError(f"{quoted(given)} is no {what}; write {known}", name)
    return given


def directory(given: Any, name: str | None, example: str) -> Path:
    """A directory's path, there or not."""
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(f"{quoted(given)} is no directory's name; write as {example}", name)
    path = os.fsdecode(given)
    if not path.strip():
        raise InputError(f"names no directory; write one, as {example}", name)
    if not is_text(path):
        raise InputError(f"{path}: a name that is not UTF-8; write another, as {example}", name)
    return Path(path)


def file_name(given: Any, name: str | None, example: str) -> Path:
    """A file's path, there or not."""
    if not isinstance(given, (str, os.PathLike)):
        raise InputError(f"{quoted(given)} is no file's name; write as {example}", name)
    if not os.fsdecode(given):
        raise InputError(f"names no file; write one, as {example}", name)
    return Path(os.fsdecode(given))


#: How the name of a capture that is to be written must end.
CAPTURE_NAMES = ".pcap or .pcapng (.gz or .zst after that compresses it)"


def text(given: Any, name: str, what: str, example: str) -> str:
    """A text that can be written down."""
    if not isinstance(given, str):
        raise InputError(f'{quoted(given)} is no {what}; write as "{example}"', name)
    if not is_text(given):
        raise InputError(f'{quoted(given)} is not UTF-8; write as "{example}"', name)
    return given


def is_text(text: str) -> bool:
    """Whether a text can be written down: bytes of a command line that are not UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def quoted(given: Any) -> str:
    """What was given, as a message shows it."""
    try:
        shown = f'"{given}"' if isinstance(given, str) else repr(given)
    except ValueError:  # more digits than Python writes
        return "a number of thousands of digits"
    return shown if len(shown) <= 80 else f"{shown[:77]}…"
