"""Paths into a scenario, `network.core.buffer` or `traffic.bulk.tcp.variant`, and the values put there.

A path names keys from the top of the file, joined by dots. An entry of a list is named by its number, from 0, or by
its name, given or not: a traffic without ``name`` is called by its kind. A key that holds a dot is
quoted, as in TOML: ``sweep."network.core.buffer"``.
"""

from __future__ import annotations

import datetime
import difflib
import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from paceline.errors import InputError

_SEGMENT = re.compile(r'"([^"]*)"|\'([^\']*)\'|([^."\'\s]+)')
_PARAMETER = re.compile(r"\s*[A-Za-z_]\w*\s*=")
#: Tables that a file may leave out, at its top and within others: a path through them makes them.
_OPTIONAL_TABLES = ("pacing", "sweep", "probes")
_OPTIONAL_WITHIN = ("tcp", "jitter", "police", "queue", "reverse")
_OPENING = {"{": "}", "[": "]", "(": ")"}


def split_path(text: str) -> tuple[str, ...]:
    """The keys of a path. Raises `InputError` on an empty key or a stray quote."""
    if not isinstance(text, str):
        raise InputError(f"{text!r}: not a path; write keys joined by dots, as network.core.buffer")
    keys: list[str] = []
    position = 0
    text = re.sub(r"\[(\d+)\]", r".\1", text.strip())  # traffic[0].kind, as the core writes it
    while True:
        match = _SEGMENT.match(text, position)
        if match is None:
            raise InputError(f"{text or '(empty)'}: not a path; write keys joined by dots, as network.core.buffer")
        keys.append(next(group for group in match.groups() if group is not None))
        position = match.end()
        if position == len(text):
            return tuple(keys)
        if text[position] != ".":
            raise InputError(f"{text}: not a path; write keys joined by dots, as network.core.buffer")
        position += 1


def join_path(keys: Iterable[str]) -> str:
    """The text of a path: the inverse of `split_path`."""
    return ".".join(key if re.fullmatch(r"[^.\"'\s]+", key) else f'"{key}"' for key in keys)


def assign(document: dict[str, Any], path: str, value: Any) -> None:
    """Puts `value` at `path`, in place.

    What the path leads through must be there, or be a table that a file may leave out (`tcp`, `pacing`); the last key
    may be new, and whether it means anything is for the core to say. A bare word as `pacing` is its method.
    Raises `InputError`, which says what is there instead.
    """
    keys = split_path(path)
    if keys == ("pacing",) and isinstance(value, str) and not re.search(r"\s", value):
        value = {"method": value}
    if len(keys) > 1 and keys[0] in _OPTIONAL_TABLES:
        document.setdefault(keys[0], {})
    here: Any = document
    for depth, key in enumerate(keys[:-1]):
        if keys[:2] == ("network", "links") and depth < 2 and "link" in document:
            raise InputError(f"{join_path(keys)}: no such key; write {join_path(('link', *keys[2:]))}")
        here = _child(here, keys, depth, key)
    last = keys[-1]
    if isinstance(here, list):
        here[_position(here, keys, len(keys) - 1, last)] = value
    elif isinstance(here, dict):
        here[last] = value
    else:
        raise _not_a_table(keys, len(keys) - 1)


def locate(document: Mapping[str, Any], path: str) -> str:
    """The path with numbers for the names of entries: ``traffic.0.tcp`` for ``traffic.bulk.tcp``."""
    keys = list(split_path(path))
    here: Any = document
    for depth, key in enumerate(keys):
        if isinstance(here, list):
            keys[depth] = str(_position(here, tuple(keys), depth, key))
            here = here[int(keys[depth])]
        else:
            here = here.get(key) if isinstance(here, Mapping) else None
    return join_path(keys)


def parse_value(text: str) -> Any:
    """A value as written on a command line: TOML where it is TOML, else the text itself.

    So ``5`` is a number, ``true`` a truth value, ``{ method = "edge", delay = "10 ms" }`` a table, and ``10 ms`` text.
    Raises `InputError` where a bracket, brace or quote begins what does not parse.
    """
    text = text.strip()
    try:
        if "\n" in text:
            raise ValueError(text)
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        if text[:1] in ("{", "[", '"', "'"):
            raise InputError(f'{text} is not TOML; write as in {{ method = "edge", delay = "10 ms" }}') from None
        return text
    value = parsed["value"]
    odd = isinstance(value, (datetime.date, datetime.time)) or (isinstance(value, float) and not math.isfinite(value))
    return text if odd or len(parsed) > 1 else value


def split_values(text: str) -> list[Any]:
    """Values between commas.

    A comma within brackets, braces or quotes does not part them, nor does one before a further parameter:
    ``none,qlbp load = 0.9, max_delay = 10 ms`` are two.
    """
    parts: list[str] = []
    closing: list[str] = []
    quote = ""
    escaped = False
    start = 0
    for position, letter in enumerate(text):
        if quote:
            if escaped or letter != quote:
                escaped = quote == '"' and letter == "\\" and not escaped
            else:
                quote = ""
        elif letter in "\"'":
            quote = letter
        elif letter in _OPENING:
            closing.append(_OPENING[letter])
        elif closing and letter == closing[-1]:
            closing.pop()
        elif letter == "," and not closing and not _PARAMETER.match(text, position + 1):
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    if any(not part.strip() for part in parts):
        what = f"{text} has an empty value" if text else "has no value"
        raise InputError(f"{what}; write values with commas between, as 5 KB,10 KB")
    return [parse_value(part) for part in parts]


def label(value: Any) -> str:
    """A value as results name it: text as it is, a pacing table as its method and parameters (`edge 10 ms`)."""
    if isinstance(value, Mapping):
        words = [label(value["method"])] if "method" in value else []
        words += [_parameter(key, item) for key, item in value.items() if key != "method"]
        return " ".join(words) or "(empty)"
    if isinstance(value, list):
        return "+".join(label(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def full_label(value: Any) -> str:
    """As `label`, with every parameter's name: for values that `label` cannot tell apart."""
    if isinstance(value, Mapping):
        return " ".join(f"{key}={full_label(item)}" for key, item in value.items())
    return label(value)


def _parameter(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return key if value else f"no {key}"
    if isinstance(value, (int, float, list, Mapping)):
        return f"{key} {label(value)}"
    return label(value)


def _child(here: Any, keys: tuple[str, ...], depth: int, key: str) -> Any:
    if isinstance(here, list):
        return here[_position(here, keys, depth, key)]
    if not isinstance(here, dict):
        raise _not_a_table(keys, depth)
    if key in here:
        return here[key]
    if depth and key in _OPTIONAL_WITHIN:
        return here.setdefault(key, {})
    above = join_path(keys[:depth]) or "the scenario"
    close = difflib.get_close_matches(key, [*here, *(_OPTIONAL_WITHIN if depth else _OPTIONAL_TABLES)], 1)
    whole = join_path(keys[: depth + 1])
    below = [join_path((*found, *keys[depth + 1 :])) for found in _below(here, keys[:depth], key)]
    if below:
        remedy = f"did you mean {' or '.join(below[:3])}?"
    elif close:
        remedy = f'did you mean "{close[0]}"?'
    else:
        remedy = f"it has {', '.join(here) or 'nothing'}; set {whole} first"
    raise InputError(f'{join_path(keys)}: {above} has no "{key}"; {remedy}')


def _below(table: Mapping[str, Any], above: tuple[str, ...], key: str) -> Iterator[tuple[str, ...]]:
    """Where a table or an entry of this name is further down: whoever names a link may leave `links` out."""
    for name, value in table.items():
        if name == "sweep" or not isinstance(value, (list, dict)):
            continue
        at = (*above, name)
        inside = dict(zip(_names(value, at), value, strict=True)) if isinstance(value, list) else value
        if key in inside:
            yield (*at, key)
        yield from _below(inside, at, key)


def _position(entries: list[Any], keys: tuple[str, ...], depth: int, key: str) -> int:
    names = _names(entries, keys[:depth])
    if key.isascii() and key.isdecimal() and int(key) < len(entries):
        return int(key)
    if key in names:
        return names.index(key)
    above = join_path(keys[:depth])
    if not entries:
        raise InputError(f"{join_path(keys)}: {above} is an empty list")
    known = ", ".join(name for name in names[:8] if name)
    remedy = f"write its number, 0 to {len(entries) - 1}, or its name" + (f" ({known})" if known else "")
    alike = [name for name, entry in zip(names, entries, strict=True) if _kind(entry) == key]
    close = difflib.get_close_matches(key, names, 1)
    dotted = next((name for name in names if "." in name and ".".join(keys[depth:]).startswith(f"{name}.")), None)
    if dotted:
        rest = keys[depth + dotted.count(".") + 1 :]
        remedy = f"a name with a dot is written in quotes: {join_path((*keys[:depth], dotted, *rest))}"
    elif alike and keys[:depth] == ("traffic",):
        written = [join_path((*keys[:depth], name, *keys[depth + 1 :])) for name in alike]
        remedy = f"what has that kind has {'a name' if len(alike) == 1 else 'names'}; write {' or '.join(written)}"
    elif close and close[0]:
        remedy = f'did you mean "{close[0]}"? Else {remedy}'
    raise InputError(f'{join_path(keys)}: {above} has no entry "{key}"; {remedy}')


def _kind(entry: Any) -> Any:
    return entry.get("kind") if isinstance(entry, dict) else None


def _names(entries: list[Any], above: tuple[str, ...]) -> list[str]:
    """What the entries of a list are called; where no name is given, as the core calls them (docs/scenarios.md)."""
    names: list[str] = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            names.append("")
        elif "name" in entry:
            names.append(str(entry["name"]))
        elif above == ("traffic",) and "kind" in entry:
            kind = str(entry["kind"])
            further = (f"{kind}-{count}" for count in itertools.count(2))
            names.append(next(name for name in itertools.chain([kind], further) if name not in names))
        elif above == ("link",) and "from" in entry and "to" in entry:
            names.append(f"{entry['from']}-{entry['to']}")
        else:
            names.append(str(number))
    return names


def _not_a_table(keys: tuple[str, ...], depth: int) -> InputError:
    above = join_path(keys[:depth])
    return InputError(f"{join_path(keys)}: {above} is a value, not a table; set {above} itself")
