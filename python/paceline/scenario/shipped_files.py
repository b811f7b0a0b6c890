"""The scenarios that come with the package: their names, what they are about, and copies to start from."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from paceline._arguments import quoted
from paceline.errors import InputError
from paceline.files.atomic_writes import replacing

#: In the place of a name: every one of them.
ALL = "all"


@cache
def texts() -> Mapping[str, str]:
    """TOML by name, ``one-flow`` or ``kernel/one-flow``: those to begin with first."""
    folder = resources.files(__package__) / "shipped"
    found: dict[str, str] = {}
    for entry in sorted(folder.iterdir(), key=lambda one: (one.is_dir(), one.name)):
        inside = sorted(entry.iterdir(), key=lambda one: one.name) if entry.is_dir() else [entry]
        for file in inside:
            name = file.name if file is entry else f"{entry.name}/{file.name}"
            if name.endswith(".toml"):
                found[name.removesuffix(".toml")] = file.read_text(encoding="utf-8")
    return found


def titles() -> dict[str, str]:
    """What each is about, in a line."""
    return {name: str(tomllib.loads(text)["title"]) for name, text in texts().items()}


def chosen(name: str) -> list[str]:
    """The one of this name, or all. Raises `InputError` where there is none."""
    known = texts()
    if name == ALL:
        return list(known)
    if name in known:
        return [name]
    near = difflib.get_close_matches(name, known, n=1)
    instead = f"did you mean {quoted(near[0])}?" if near else "paceline init --list says which there are"
    raise InputError(f"{quoted(name)} is no template; {instead}", "TEMPLATE")


def write_files(files: Mapping[str, str], folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Writes texts by name into a folder, which is made; what is there already with this text stays.

    Raises:
        InputError: a file is there with another text, and `force` is false; nothing is written then.
        OSError: the folder cannot be written to.

    Returns:
        The files, those that stayed included.
    """
    places = {Path(folder) / name: text for name, text in files.items()}
    if not force:
        _refuse(path for path, text in places.items() if _is_other(path, text))
    for path, text in places.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if force or not path.exists():
            with replacing(path) as file:
                file.write(text.encode())
    return list(places)


def _is_other(path: Path, text: str) -> bool:
    return os.path.lexists(path) and (not path.is_file() or path.read_bytes() != text.encode())


def _refuse(there: Iterable[Path]) -> None:
    wrong = [InputError("is there already; say --force to replace it, or another directory", str(one)) for one in there]
    if wrong:
        raise InputError.together(wrong)
