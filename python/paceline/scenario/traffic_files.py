"""Files that a scenario names, as connection vectors, captures and traces of rates: their paths and digests.

A path is relative to the scenario's own file. What a run is known by is not where a file lies but what it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from paceline.files.regular_files import reading
from paceline.scenario.paths import split_path

#: Kinds of traffic with a `file`.
_KINDS = ("cvec", "pcap")


def place(document: dict[str, Any], folder: Path) -> bool:
    """Makes every path absolute, in place, those that are swept too; whether there was one that was not."""
    changed = False
    for table, key in _named(document):
        placed = _absolute(table[key], folder)
        changed |= placed != table[key]
        table[key] = placed
    sweep = document.get("sweep")
    if not isinstance(sweep, dict):
        return changed
    for axis, values in sweep.items():
        if not isinstance(values, list):
            continue
        placed_values = [_placed(value, axis, folder) for value in values]
        changed |= placed_values != values
        sweep[axis] = placed_values
    return changed


def digest(document: dict[str, Any], known: dict[str, str]) -> None:
    """Puts what a file holds in the place of its absolute path, in place; one that cannot be read keeps its path.

    `known` holds the digests of paths met before.
    """
    for table, key in _named(document):
        path = table[key]
        if path not in known:
            try:
                with reading(Path(path)) as file:
                    known[path] = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
            except (OSError, ValueError):
                known[path] = path
        table[key] = known[path]


def _named(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Tables and their keys under which a file is named."""
    traffic = document.get("traffic")
    for table in traffic if isinstance(traffic, list) else ():
        if isinstance(table, dict) and table.get("kind") in _KINDS and isinstance(table.get("file"), str):
            yield table, "file"
    yield from _traces([document.get("network"), document.get("link")])


def _traces(part: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Of the links in a part of a scenario, those whose rate is by a trace."""
    for inner in part if isinstance(part, list) else part.values() if isinstance(part, dict) else ():
        yield from _traces(inner)
    rate = part.get("rate") if isinstance(part, dict) else None
    if isinstance(rate, dict) and isinstance(rate.get("trace"), str):
        yield rate, "trace"


def _placed(value: Any, axis: str, folder: Path) -> Any:
    """A value of a sweep, with the file that it names, or tables in it."""
    keys = split_path(axis)
    if isinstance(value, str):
        return _absolute(value, folder) if _names_a_file(keys) else value
    if not isinstance(value, dict) or keys[0] not in ("network", "link"):
        return value
    table = deepcopy({keys[-1]: value})
    for inner, key in _traces([table]):
        inner[key] = _absolute(inner[key], folder)
    return table[keys[-1]]


def _names_a_file(keys: tuple[str, ...]) -> bool:
    of_traffic = len(keys) == 3 and (keys[0], keys[2]) == ("traffic", "file")
    return of_traffic or (keys[0] in ("network", "link") and keys[-2:] == ("rate", "trace"))


def _absolute(path: str, folder: Path) -> str:
    try:
        return str((folder / path).resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL: the core says what is wrong
        return str(folder.absolute() / path)
