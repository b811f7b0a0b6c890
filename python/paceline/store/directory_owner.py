"""The scenario that a directory of results belongs to: its tables and its report are of one scenario.

``DIR/store/scenario``, written with the tables, names it: its file and its title. What is run into the directory later
is the same scenario where it comes from that file, however changed, or has runs there already. Any other would
overwrite tables and a report that may still be wanted. So would an analysis or an advice, which have a report too; and
results would overwrite a `scenario.toml` that was written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.errors import InputError
from paceline.files.regular_files import check_regular, read_bounded

if TYPE_CHECKING:
    from paceline.scenario import Point, Scenario
    from paceline.store import Store


#: A scenario's name and title take less.
_MOST_BYTES = 1 << 20
#: What several commands write.
_SHARED = ("report.html", "scenario.toml")


@dataclass(frozen=True, slots=True)
class Owner:
    """A scenario as a directory remembers it. `file` is an absolute path; ``None`` for one made in Python."""

    file: str | None
    title: str

    def in_words(self) -> str:
        """``"Edge pacing" (scenarios/edge.toml)``."""
        return f'"{self.title}"' + (f" ({self.file})" if self.file else "")


def refuse_other_scenario(store: Store, scenario: Scenario, points: Sequence[Point]) -> None:
    """Raises `InputError` where the directory holds the results of another scenario."""
    there = owner_of(store.directory)
    here = _as_owner(scenario)
    if there is None:
        if not any(store.has(point.key) for point in points):
            _refuse_shared(store.directory, here.file)
        return
    own = here.file is not None and Path(here.file).parent == store.directory.resolve()
    # a scenario without a file is known by its title; so is one whose directory does not say the file
    same = there.file == here.file if there.file and here.file else there.title == here.title
    if not (same or own or any(store.has(point.key) for point in points)):
        raise InputError(f"{store.directory} holds the results of {there.in_words()}")


def refuse_results_of_others(directory: Path, mark: str) -> None:
    """Raises `InputError` where the report there, or a scenario, is not of a command that has left its file `mark`."""
    there = owner_of(directory)
    if there is not None:
        raise InputError(f"{directory} holds the results of {there.in_words()}")
    if not (directory / mark).exists():
        _refuse_shared(directory, None)


def _refuse_shared(directory: Path, source: str | None) -> None:
    for name in _SHARED:
        if (directory / name).exists() and str((directory / name).resolve()) != source:
            raise InputError(f"{directory} has a {name} that this command has not written")


def owner_text(scenario: Scenario) -> bytes:
    """What is written down of whose results lie there from now on."""
    here = _as_owner(scenario)
    return (json.dumps({"file": here.file, "title": here.title}) + "\n").encode()


def owner_of(directory: Path) -> Owner | None:
    """Whose results lie there; of results of an earlier version only the title is known."""
    try:
        found = json.loads(read_bounded(directory / "store" / "scenario", _MOST_BYTES))
        file = found["file"]
        return Owner(file if isinstance(file, str) and "\0" not in file else None, str(found["title"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    if not (directory / "runs.parquet").is_file():
        return None
    from paceline.scenario import Scenario

    try:
        check_regular(directory / "scenario.toml")
        return Owner(None, Scenario.load(directory / "scenario.toml").title)
    except (InputError, OSError):
        return None


def _as_owner(scenario: Scenario) -> Owner:
    return Owner(str(Path(scenario.source).resolve()) if scenario.source else None, scenario.title)
