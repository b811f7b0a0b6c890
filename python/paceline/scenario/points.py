"""What a scenario asks to run: every combination of what is swept, under every seed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.errors import InputError
from paceline.scenario import traffic_files
from paceline.scenario.paths import assign, split_path
from paceline.scenario.run_keys import canonical, identity, key_from
from paceline.scenario.sweep_axes import choice, labels_of

#: Runs of one scenario: a sweep of more is a slip of the pen.
MOST_RUNS = 1_000_000
#: What is swept: a list of values for each path.
Axes = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Point:
    """One run: a scenario without a sweep, under one seed.

    Attributes:
        settings: what is swept, by path, as labels: ``{"pacing": "edge 10 ms"}``.
        seed: from 0.
        json: the scenario as the core reads it, in canonical form.
        key: what the result is stored under: a hash of scenario (its title aside; of a file that it names, what that
            holds), seed and core version.

    Examples:
        >>> point = pl.Scenario.load("scenarios/one-flow.toml").points()[1]
        >>> point.settings, point.seed
        ({'pacing': 'host'}, 1)
    """

    settings: Mapping[str, str]
    seed: int
    json: str
    key: str


@dataclass(frozen=True, slots=True)
class Case:
    """One combination of what is swept: its labels, the scenario as the core reads it, and what it is known by."""

    settings: Mapping[str, str]
    json: str
    identity: str


def refuse_too_many(axes: Axes, seeds: int, source: str | None) -> None:
    """Raises `InputError` where there are more runs than anyone means."""
    settings = math.prod(len(values) for values in axes.values())
    if settings * seeds <= MOST_RUNS:
        return
    factors = [f"{len(values)} of {path}" for path, values in axes.items() if len(values) > 1]
    factors += [f"{seeds} seeds"] if seeds > 1 else []
    what = f"sweep: asks for {settings * seeds:,} runs ({' times '.join(factors)})"
    raise InputError(f"{what}; write fewer values, for {MOST_RUNS:,} at most", source)


def labels_by_number(axes: Axes, source: str | None) -> Callable[[int], dict[str, str]]:
    """What the setting of a number is called, 0 the first."""
    labels = {path: labels_of(path, values, source) for path, values in axes.items()}
    return lambda number: {path: labels[path][at] for path, at in choice(number, axes).items()}


def cases_of(
    document: Mapping[str, Any], axes: Axes, places: Mapping[str, str], folder: Path, source: str | None
) -> Iterator[Case]:
    """Every combination of what is swept; `places` says where each path leads in the document."""
    called = labels_by_number(axes, source)
    order = sorted(axes, key=lambda path: len(split_path(path)))
    digests: dict[str, str] = {}
    common = {key: value for key, value in document.items() if key not in ("sweep", "seed")}
    for number in range(math.prod(len(values) for values in axes.values())):
        chosen = choice(number, axes)
        tables = copy.deepcopy(common)
        for path in order:
            try:
                assign(tables, places[path], copy.deepcopy(axes[path][chosen[path]]))
            except InputError as error:
                raise InputError(f"sweep.{error.message}", source) from None
        traffic_files.place(tables, folder)
        yield Case(called(number), canonical(tables), identity(tables, digests))


def under_every_seed(cases: Iterable[Case], seeds: Sequence[int]) -> list[Point]:
    """Seeds innermost."""
    return [Point(one.settings, seed, one.json, key_from(one.identity, seed)) for one in cases for seed in seeds]
