"""The scenarios and notebooks that come with the package: names, what they are about, and copies to start from."""

from __future__ import annotations

import difflib
import json
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
    return _ending(".toml")


@cache
def notebooks() -> Mapping[str, str]:
    """Notebooks by name, ``notebooks/first-steps``."""
    return _ending(".ipynb")


def _ending(suffix: str) -> dict[str, str]:
    folder = resources.files(__package__) / "shipped"
    found: dict[str, str] = {}
    for entry in sorted(folder.iterdir(), key=lambda one: (one.is_dir(), one.name)):
        inside = sorted(entry.iterdir(), key=lambda one: one.name) if entry.is_dir() else [entry]
        for file in inside:
            name = file.name if file is entry else f"{entry.name}/{file.name}"
            if name.endswith(suffix):
                found[name.removesuffix(suffix)] = file.read_text(encoding="utf-8")
    return found


def titles() -> dict[str, str]:
    """What each is about, in a line."""
    scenarios = {name: str(tomllib.loads(text)["title"]) for name, text in texts().items()}
    heads = {name: "".join(json.loads(text)["cells"][0]["source"]) for name, text in notebooks().items()}
    return scenarios | {name: head.partition("\n")[0].removeprefix("# ") for name, head in heads.items()}


def chosen(name: str) -> list[str]:
    """The one of this name, or all. Raises `InputError` where there is none."""
    known = [*texts(), *notebooks()]
    return known if name == ALL else [_one_of(name, known, "TEMPLATE", "paceline init --list says which there are")]


def one(name: str) -> str:
    """This name, if there is a scenario so called. Raises `InputError` where there is none."""
    return _one_of(name, list(texts()), "name", "write for example one-flow or edge-vs-host")


def _one_of(name: str, known: list[str], called: str, otherwise: str) -> str:
    if name in known:
        return name
    near = difflib.get_close_matches(str(name), known, n=1)
    instead = f"did you mean {quoted(near[0])}?" if near else otherwise
    raise InputError(f"{quoted(name)} is no template; {instead}", called)


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
    wrong = [
        InputError("is there already; say --force to replace it, or another directory", str(place)) for place in there
    ]
    if wrong:
        raise InputError.together(wrong)
