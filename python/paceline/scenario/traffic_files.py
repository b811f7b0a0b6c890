"""Files that a scenario names, as connection vectors and captures: their paths and digests.

A path is relative to the scenario's own file. What a run is known by is not where a file lies but what it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paceline.files.regular_files import reading
from paceline.scenario.paths import split_path

#: Kinds of traffic with a `file`.
_KINDS = ("cvec", "pcap")


def place(document: dict[str, Any], folder: Path) -> bool:
    """Makes every path absolute, in place, those that are swept too; whether there was one that was not."""
    changed = False
    for table in _tables(document):
        placed = _absolute(table["file"], folder)
        changed |= placed != table["file"]
        table["file"] = placed
    sweep = document.get("sweep")
    if not isinstance(sweep, dict):
        return changed
    for axis, values in sweep.items():
        if isinstance(values, list) and _names_a_file(axis):
            placed_values = [_absolute(value, folder) if isinstance(value, str) else value for value in values]
            changed |= placed_values != values
            sweep[axis] = placed_values
    return changed


def digest(document: dict[str, Any], known: dict[str, str]) -> None:
    """Puts what a file holds in the place of its absolute path, in place; one that cannot be read keeps its path.

    `known` holds the digests of paths met before.
    """
    for table in _tables(document):
        path = table["file"]
        if path not in known:
            try:
                with reading(Path(path)) as file:
                    known[path] = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
            except (OSError, ValueError):
                known[path] = path
        table["file"] = known[path]


def _tables(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    traffic = document.get("traffic")
    for table in traffic if isinstance(traffic, list) else ():
        if isinstance(table, dict) and table.get("kind") in _KINDS and isinstance(table.get("file"), str):
            yield table


def _names_a_file(axis: str) -> bool:
    keys = split_path(axis)
    return len(keys) == 3 and (keys[0], keys[2]) == ("traffic", "file")


def _absolute(path: str, folder: Path) -> str:
    try:
        return str((folder / path).resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL: the core says what is wrong
        return str(folder.absolute() / path)
