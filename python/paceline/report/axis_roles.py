"""What each swept path is to a comparison: the axis, a choice between contenders, or a condition.

What a network's designer may choose competes: the pacing, else the hosts' TCP, else the queue discipline, whichever of
them is swept first in this order. All else that is swept (how many hosts there are, rates, delays, loads, simulator or
kernel) is given to every contender alike: contenders are compared within equal values of it. Where nothing is a choice,
there are lines to look at and nothing to win.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Roles:
    """`series` are the paths whose values make lines; `contest` is whether these compete; `conditions` the rest."""

    series: tuple[str, ...]
    conditions: tuple[str, ...]
    contest: bool


def roles(paths: Sequence[str], axis: str | None) -> Roles:
    """The roles of what was swept (paths with several values), in order of appearance."""
    others = [path for path in paths if path != axis]
    for is_choice in (_of_pacing, _of_tcp, _of_queue):
        chosen = [path for path in others if is_choice(path)]
        if chosen:
            return Roles(tuple(chosen), tuple(path for path in others if path not in chosen), True)
    return Roles(tuple(others), (), False)


def _of_pacing(path: str) -> bool:
    return path == "pacing" or path.startswith("pacing.")


def _of_tcp(path: str) -> bool:
    return path.startswith("traffic") and "tcp" in path.split(".")


def _of_queue(path: str) -> bool:
    return bool({"queue", "discipline"} & set(path.split(".")))
