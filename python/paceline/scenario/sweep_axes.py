"""The axes of a sweep: which value of each a setting has, its labels, and seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from paceline._arguments import index, quoted
from paceline.errors import InputError
from paceline.scenario.paths import full_label, join_path, label

_SEED_LIMIT = 2**63


def refuse_what_is_no_setting(path: tuple[str, ...], prefix: str, source: str | None) -> None:
    """Seeds are swept apart from settings, and a title changes nothing."""
    if path[0] in ("seed", "seeds"):
        remedy = "use --seeds 3,4, or seeds = [3, 4] under [sweep], or seeds=[3, 4] in Python"
        raise InputError(f"{prefix}{join_path(path)}: a seed is not a setting; {remedy}", source)
    if path[0] in ("title", "sweep"):
        raise InputError(f"{prefix}{join_path(path)}: not a setting, so not swept; leave it out", source)


def check_seed(value: Any, path: str, source: str | None = None) -> int:
    """The seed that this is. Raises `InputError`, which says `path`."""
    number = index(value)
    if number is not None and 0 <= number < _SEED_LIMIT:
        return number
    raise InputError(f"{path}: {quoted(value)} is not a seed; write a whole number from 0 to 2^63 - 1", source)


def choice(number: int, axes: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """Which value of each axis the setting of this number has: the last axis changes first."""
    chosen = {}
    for path, values in reversed(list(axes.items())):
        number, chosen[path] = divmod(number, len(values))
    return dict(reversed(list(chosen.items())))


def labels_of(path: str, values: list[Any], source: str | None) -> list[str]:
    for name in (label, full_label):
        labels = [name(value) for value in values]
        if len(set(labels)) == len(labels):
            return labels
    twice = next(one for one, count in Counter(labels).items() if count > 1)
    raise InputError(f"sweep.{path}: {twice} is there twice; leave one out", source)
