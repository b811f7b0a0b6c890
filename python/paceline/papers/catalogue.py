"""Finds claims: every module of a paper's folder lists its own.

A folder here is a paper, if its ``__init__.py`` has a ``PAPER``. Each file in it with a ``CLAIM`` or ``CLAIMS`` adds
them; others (a network that several figures share) are left aside. Papers and claims come in the order of their lists.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from functools import cache

from paceline.errors import InputError
from paceline.papers.claim import Claim, Paper

#: Folders of papers, in the order in which they are shown; others follow by name.
_ORDER = (
    "edge_vs_host",
    "small_buffers",
    "qlbp",
    "datacentre",
    "cs244",
    "aggarwal",
    "vishwanath",
    "today",
    "ware",
    "spang",
    "findings",
)


@cache
def papers() -> tuple[Paper, ...]:
    """Every paper that has a folder."""
    return tuple(paper for _, paper in _folders())


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim, by paper, then by file in the order of figures' numbers, then as its file lists them."""
    found: dict[str, Claim] = {}
    for folder, paper in _folders():
        for claim in _claims_of(folder):
            if claim.paper != paper.name:
                raise ValueError(f"{claim.id}: its paper is {claim.paper!r}, but it lies in {folder}")
            if claim.id in found:
                raise ValueError(f"{claim.id}: two claims have this id")
            found[claim.id] = claim
    return tuple(found.values())


def select(names: Sequence[str]) -> tuple[Claim, ...]:
    """The claims of these names: ids, papers, or ``all``; each once, in the order of `claims`.

    Raises `InputError` for a name that is none of them, and says what comes near.
    """
    known = claims()
    of_paper = {paper.name: {claim.id for claim in known if claim.paper == paper.name} for paper in papers()}
    wanted: set[str] = set()
    for name in names:
        if name == "all":
            wanted |= {claim.id for claim in known}
        elif name in of_paper:
            wanted |= of_paper[name]
        elif any(claim.id == name for claim in known):
            wanted.add(name)
        else:
            near = difflib.get_close_matches(name, [*(claim.id for claim in known), *of_paper, "all"], 3, 0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "see paceline reproduce --list"
            raise InputError(f'no claim or paper is called "{name}"; {hint}')
    return tuple(claim for claim in known if claim.id in wanted)


def _folders() -> Iterator[tuple[str, Paper]]:
    import paceline.papers as package

    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg)
    for name in sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)):
        folder = f"{package.__name__}.{name}"
        paper = getattr(importlib.import_module(folder), "PAPER", None)
        if isinstance(paper, Paper):
            yield folder, paper


def _claims_of(folder: str) -> Iterator[Claim]:
    package = importlib.import_module(folder)
    for name in sorted((module.name for module in pkgutil.iter_modules(package.__path__)), key=_by_number):
        module = importlib.import_module(f"{folder}.{name}")
        yield from getattr(module, "CLAIMS", None) or filter(None, [getattr(module, "CLAIM", None)])


def _by_number(name: str) -> list[tuple[int, str]]:
    """fig3 before fig10."""
    return [(int(digits or -1), letters) for letters, digits in re.findall(r"(\D+)(\d*)", name)]
