"""The axes of a sweep: which value of each a setting has, its labels, and seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from paceline._arguments import index
from paceline.errors import InputError
from paceline.scenario.paths import full_label, join_path, label, split_path
from paceline.scenario.toml_tables import shown

#: Seeds are paired between settings: seed k means the same draws under each of them.
DEFAULT_SEED = 1
#: More seeds of one setting would say nothing more.
MOST_SEEDS = 1_000_000
_SEED_LIMIT = 2**63
#: Keys of the file that are not swept.
NO_SETTINGS = frozenset({"seed", "title", "sweep"})


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
    raise InputError(f"{path}: {shown(value)} is not a seed; write a whole number from 0 to 2^63 - 1", source)


def seeds_of(document: Mapping[str, Any], source: str | None) -> Sequence[int]:
    """The seeds of every setting. Raises `InputError` where they are no seeds."""
    base = check_seed(document.get("seed", DEFAULT_SEED), "seed", source)
    table = document.get("sweep")
    seeds = table.get("seeds", 1) if isinstance(table, dict) else 1
    if isinstance(seeds, list):
        numbers = [check_seed(seed, "sweep.seeds", source) for seed in seeds]
        if not numbers or len(set(numbers)) < len(numbers):
            raise InputError("sweep.seeds: must be different seeds, one at least", source)
        return numbers
    number = index(seeds)
    if number is None or not 1 <= number <= MOST_SEEDS:
        what = f"sweep.seeds: {shown(seeds)} is not a number of seeds"
        raise InputError(f"{what}; write a whole number from 1 to {MOST_SEEDS}", source)
    return range(base, check_seed(base + number - 1, "seed", source) + 1)


def axes_of(table: Mapping[str, Any], source: str | None) -> Iterator[tuple[str, list[Any]]]:
    """Path and values of everything that a ``[sweep]`` table varies. Raises `InputError` of all that cannot be."""
    wrong: list[InputError] = []
    yield from _axes_under((), table, source, wrong)
    if wrong:
        raise InputError.together(wrong)


def _axes_under(
    above: tuple[str, ...], table: Mapping[str, Any], source: str | None, wrong: list[InputError]
) -> Iterator[tuple[str, list[Any]]]:
    for key, value in table.items():
        if not above and key == "seeds":
            continue
        try:
            path = (*above, *split_path(key))
            refuse_what_is_no_setting(path, "sweep.", source)
        except InputError as error:
            wrong.append(error)
            continue
        if isinstance(value, dict):
            yield from _axes_under(path, value, source, wrong)
        elif isinstance(value, list) and value:
            yield join_path(path), value
        else:
            empty = "an empty list asks for no run; write one value at least"
            what = (
                empty if isinstance(value, list) else f"{shown(value)} is not a list of values; write [{shown(value)}]"
            )
            wrong.append(InputError(f"sweep.{join_path(path)}: {what}", source))


def choice(number: int, axes: Mapping[str, Sequence[Any]]) -> dict[str, int]:
    """Which value of each axis the setting of this number has: the last axis changes first."""
    chosen = {}
    for path, values in reversed(list(axes.items())):
        number, chosen[path] = divmod(number, len(values))
    return dict(reversed(list(chosen.items())))


def labels_of(path: str, values: Sequence[Any], source: str | None) -> list[str]:
    """What each value is called, in short where that tells them apart. Raises `InputError` where one is there twice."""
    for name in (label, full_label):
        labels = [name(value) for value in values]
        if len(set(labels)) == len(labels):
            return labels
    twice = next(one for one, count in Counter(labels).items() if count > 1)
    raise InputError(f"sweep.{path}: {twice} is there twice; leave one out", source)
