"""On which line of its file a scenario is wrong, and all that is wrong with its seeds and its sweep."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline.errors import InputError
from paceline.scenario.paths import split_path
from paceline.scenario.sweep_axes import axes_of

if TYPE_CHECKING:
    from paceline.scenario.scenario import Scenario


@contextlib.contextmanager
def told_with_lines(source: str | None, line_of: Callable[[str], int | None]) -> Iterator[None]:
    """Errors get the file and the line of the path that they begin with."""
    try:
        yield
    except InputError as error:
        told = []
        for one in (error, *error.others):
            if one.line is None and one.source in (None, source):
                one = InputError(one.message, source, line=line_of(one.message.partition(": ")[0]))
            told.append(one)
        raise InputError.together(told) from None


def line_of(
    path: str, text: str, read: Mapping[str, Any], now: Mapping[str, Any], place_of: Callable[[str], str]
) -> int | None:
    """The line of `text`, which was `read`, that says this path; ``None`` where what is there `now` is not of the file.

    What a sweep puts there stands under ``[sweep]``. `place_of` has the names of entries as their numbers.
    """
    try:
        keys = split_path(path)
    except InputError:  # not a path after all
        return None
    if keys[0] != "sweep":
        axis = next((one for one in _axes(now) if split_path(place_of(one)) == keys[: len(split_path(one))]), None)
        keys = keys if axis is None else ("sweep", *split_path(axis))
    written, found = _spelt(read, keys)
    return _core.line_of(text, list(written)) if found == _spelt(now, keys)[1] else None


def line_in(text: str, document: Mapping[str, Any], path: str) -> int | None:
    """The line of `text`, which was read as `document`, that says this path."""
    return _core.line_of(text, list(_spelt(document, split_path(path))[0]))


def _axes(document: Mapping[str, Any]) -> list[str]:
    table = document.get("sweep")
    with contextlib.suppress(InputError):
        return list(dict(axes_of(table, None))) if isinstance(table, dict) else []
    return []


def _spelt(document: Any, keys: tuple[str, ...]) -> tuple[tuple[str, ...], Any]:
    """The keys as a file has them, several as one perhaps, as far as they lead; and what stands there, if they do."""
    if not keys:
        return (), document
    if isinstance(document, list):
        if keys[0].isdecimal() and int(keys[0]) < len(document):
            written, found = _spelt(document[int(keys[0])], keys[1:])
            return (keys[0], *written), found
    elif isinstance(document, Mapping):
        for key in document:
            parts = (key,) if key == keys[0] else _parts(key)
            if parts == keys[: len(parts)]:
                written, found = _spelt(document[key], keys[len(parts) :])
                return (key, *written), found
    return (), None


def _parts(key: str) -> tuple[str, ...]:
    with contextlib.suppress(InputError):
        return split_path(key)
    return (key,)


def refuse_wrong_sweep(scenario: Scenario) -> None:
    """Raises an `InputError` of all that is wrong where seeds or sweep are: with them, and with the rest."""
    wrong: dict[str, InputError] = {}
    for look in (scenario.seed_numbers, lambda: scenario.sweep, scenario.counts, scenario.labels):
        with noted(wrong):
            look()
    if not wrong:
        return
    document = scenario.to_dict()
    table = document.pop("sweep", {})
    document.pop("seed", None)
    rest: dict[str, InputError] = {}
    with noted(rest):
        scenario.replaced(document).check_settings(0)
    for message, error in rest.items():  # but what a sweep would have put there
        path = error.message.partition(": ")[0]
        if not _spelt(table, _parts(path))[0]:
            wrong.setdefault(message, error)
    raise InputError.together(list(wrong.values()))


@contextlib.contextmanager
def noted(wrong: dict[str, InputError]) -> Iterator[None]:
    """What is wrong is told with the rest, once."""
    try:
        yield
    except InputError as error:
        for one in (error, *error.others):
            wrong.setdefault(str(one), one)
