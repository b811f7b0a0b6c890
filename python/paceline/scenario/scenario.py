"""Scenarios: loaded from TOML, built in Python, changed by path, and expanded into runs."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline import _core
from paceline._arguments import index, quoted
from paceline.errors import InputError
from paceline.scenario import traffic_files
from paceline.scenario.paths import assign, join_path, locate, split_path
from paceline.scenario.run_estimate import estimate_of
from paceline.scenario.run_keys import canonical, identity, key_from
from paceline.scenario.sweep_axes import check_seed, choice, labels_of, refuse_what_is_no_setting
from paceline.scenario.toml_tables import plain, read, value_at

#: Seeds are paired between settings: seed k means the same draws under each of them.
DEFAULT_SEED = 1
#: More seeds of one setting would say nothing more.
MOST_SEEDS = 1_000_000
#: Runs of one scenario: a sweep of more is a slip of the pen.
MOST_RUNS = 1_000_000
#: A wrong sweep of many settings is not told in full.
_MOST_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Point:
    """One run: a scenario without a sweep, under one seed.

    Attributes:
        settings: what is swept, by path, as labels: ``{"pacing": "edge 10 ms"}``.
        seed: from 0.
        json: the scenario as the core reads it, in canonical form.
        key: what the result is stored under: a hash of scenario (its title aside; of a file that it names, what that
            holds), seed and core version.
    """

    settings: Mapping[str, str]
    seed: int
    json: str
    key: str


@dataclass(frozen=True, slots=True)
class _Case:
    """One combination of what is swept: its labels, the scenario as the core reads it, and what it is known by."""

    settings: Mapping[str, str]
    json: str
    identity: str


class Scenario:
    """A scenario, as its TOML file says it. Never changed: `set`, `over` and `seeds` return another.

    Attributes:
        source: the file that it came from, for messages; ``None`` for one made in Python.
    """

    __slots__ = ("_document", "_origin", "_text", "source")

    def __init__(self, document: Mapping[str, Any], *, source: str | None = None, text: str | None = None) -> None:
        """Takes a scenario as nested tables; its tables are copied, and read only when it is checked or run.

        Raises `InputError` where it is no table, or holds what has no place in TOML.
        """
        if not isinstance(document, Mapping):
            raise InputError(f"{quoted(document)} is no scenario; give a dict of its tables, or Scenario.load(file)")
        self._document: dict[str, Any] = plain(document, ())
        self._text = text
        self._origin: Scenario | None = None if text is None else self  # the file as read: for the lines of errors
        self.source = source

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a TOML file. Raises `InputError` where it cannot be read or is not TOML; see `check` for the rest."""
        document, text = read(path)
        source = os.fsdecode(path)
        try:
            return cls(document, source=source, text=text)
        except InputError as error:
            raise InputError(error.message, source) from None

    @property
    def title(self) -> str:
        """Its title; else the name of its file; else `scenario`."""
        title = self._document.get("title")
        if isinstance(title, str) and title:
            return title
        return Path(self.source).stem if self.source else "scenario"

    @property
    def sweep(self) -> dict[str, list[Any]]:
        """What is swept, by path, in the order of the file; `seeds` aside. Raises `InputError`."""
        table = self._document.get("sweep", {})
        if not isinstance(table, dict):
            raise InputError("sweep: must be a table of paths and lists", self.source)
        return dict(self._axes(table, ()))

    def to_dict(self) -> dict[str, Any]:
        """A copy as nested tables."""
        return copy.deepcopy(self._document)

    def to_toml(self) -> str:
        """Its TOML: the text of the file where nothing was changed, comments included."""
        if self._text is not None:
            return self._text
        import tomli_w

        return tomli_w.dumps(self._document)

    def placed(self) -> Scenario:
        """The same scenario with absolute paths of the files that it names: it can lie in another folder."""
        document = self.to_dict()
        return self.replaced(document) if traffic_files.place(document, self._folder()) else self

    def set(self, path: str, value: Any) -> Scenario:
        """The same scenario with `value` at `path`, as ``set("network.core.buffer", "5 KB")``.

        An entry of a list goes by number or name (``traffic.bulk.tcp.variant``). A path that the scenario sweeps is
        not swept any more. Raises `InputError` where the path leads nowhere, or is under one that is swept.
        """
        document = self.to_dict()
        sweep = self.sweep
        keys = split_path(self._place_of(path))
        swept = {axis: split_path(self._place_of(axis)) for axis in sweep}
        for axis, above in swept.items():
            if above != keys and keys[: len(above)] == above:
                raise InputError(f"{path}: the scenario sweeps {axis}; narrow that first, by setting {axis}")
        assign(document, path, plain(value, split_path(path)))
        if keys in swept.values():
            sweep = {axis: values for axis, values in sweep.items() if swept[axis] != keys}
            document["sweep"] = sweep | {key: item for key, item in document["sweep"].items() if key == "seeds"}
        return self.replaced(document)

    def over(self, axes: Mapping[str, Sequence[Any]]) -> Scenario:
        """The same scenario, swept over these paths too; one that it sweeps already is replaced."""
        asked: Any = axes
        if not isinstance(asked, Mapping):
            raise InputError(f'{quoted(asked)} is no table of values; write as {{"pacing": ["none", "host"]}}', "over")
        document = self.to_dict()
        table = self.sweep
        for path, values in asked.items():
            keys = split_path(path)
            refuse_what_is_no_setting(keys, "", None)
            if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
                raise InputError(f"{path}: {values!r} is not a list of values; write a list, as [{values!r}]")
            table[join_path(keys)] = plain(list(values), ("sweep", path))
        seeds = document.get("sweep", {}).get("seeds")
        document["sweep"] = table if seeds is None else table | {"seeds": seeds}
        return self.replaced(document)

    def seeds(self, seeds: int | Sequence[int]) -> Scenario:
        """The same scenario under this many seeds, counted from `seed` (1 if it has none), or under exactly these.

        Raises `InputError` where they are no seeds.
        """
        asked: Any = seeds
        if isinstance(asked, str) or (index(asked) is None and not isinstance(asked, Iterable)):
            raise InputError(f"sweep.seeds: {quoted(seeds)} is not a number of seeds; write 5, or seeds as [3, 5, 8]")
        document = self.to_dict()
        document.setdefault("sweep", {})["seeds"] = list(asked) if isinstance(asked, Iterable) else asked
        changed = self.replaced(document)
        changed.seed_numbers()
        return changed

    def points(self) -> list[Point]:
        """Every run that it asks for: every combination of what is swept, seeds innermost.

        Raises `InputError` where the sweep is wrong; what the core has to say comes from `check`.
        """
        self._refuse_too_many(*self.counts())
        return self._under_every_seed(self._cases())

    def settings(self) -> list[Point]:
        """The first run of every combination of what is swept; further seeds repeat these, and are not built here.

        Raises as `points` does.
        """
        return list(self.each_setting())

    def each_setting(self) -> Iterator[Point]:
        """The same, each built when it is asked for."""
        seed = self.seed_numbers()[0]
        for case in self._cases():
            yield Point(case.settings, seed, case.json, key_from(case.identity, seed))

    def counts(self) -> tuple[int, int]:
        """How many settings, and how many seeds of each. Raises `InputError` where there are too many settings."""
        settings = math.prod(len(values) for values in self.sweep.values())
        self._refuse_too_many(settings, 1)
        return settings, len(self.seed_numbers())

    def _refuse_too_many(self, settings: int, seeds: int) -> None:
        if settings * seeds <= MOST_RUNS:
            return
        factors = [f"{len(values)} of {path}" for path, values in self.sweep.items() if len(values) > 1]
        factors += [f"{seeds} seeds"] if seeds > 1 else []
        what = f"sweep: asks for {settings * seeds:,} runs ({' times '.join(factors)})"
        raise InputError(f"{what}; write fewer values, for {MOST_RUNS:,} at most", self.source)

    def labels(self) -> Callable[[int], dict[str, str]]:
        """What the setting of a number is called, 0 the first: as `settings` has it, and none is built."""
        axes = self.sweep
        labels = {path: labels_of(path, values, self.source) for path, values in axes.items()}
        return lambda number: {path: labels[path][at] for path, at in choice(number, axes).items()}

    def _under_every_seed(self, cases: Iterable[_Case]) -> list[Point]:
        seeds = self.seed_numbers()
        return [Point(one.settings, seed, one.json, key_from(one.identity, seed)) for one in cases for seed in seeds]

    def _cases(self) -> Iterator[_Case]:
        axes = self.sweep
        count, _ = self.counts()
        labels = {path: labels_of(path, values, self.source) for path, values in axes.items()}
        order = sorted(axes, key=lambda path: len(split_path(path)))
        places = {path: self._place_of(path) for path in axes}
        digests: dict[str, str] = {}
        common = {key: value for key, value in self._document.items() if key not in ("sweep", "seed")}
        for number in range(count):
            chosen = choice(number, axes)
            document = copy.deepcopy(common)
            for path in order:
                try:
                    assign(document, places[path], copy.deepcopy(axes[path][chosen[path]]))
                except InputError as error:
                    raise InputError(f"sweep.{error.message}", self.source) from None
            traffic_files.place(document, self._folder())
            text = canonical(document)
            known_by = identity(document, digests)
            yield _Case({path: labels[path][at] for path, at in chosen.items()}, text, known_by)

    def check(self, *, here: bool = True) -> list[Point]:
        """Validates every combination, routes included, and returns the runs. Raises `InputError`.

        `here` they must fit in this machine's memory too.
        """
        self._refuse_too_many(*self.counts())
        cases = list(self._cases())
        self._validate((case.json for case in cases), here)
        return self._under_every_seed(cases)

    def check_settings(self, within_s: float = math.inf) -> list[Point]:
        """As `check`, but returns `settings`; those that it gets through in so many seconds, one at least."""
        until = time.monotonic() + within_s
        points: list[Point] = []

        def each() -> Iterator[str]:
            for point in self.each_setting():
                points.append(point)
                yield point.json
                if time.monotonic() > until:
                    return

        self._validate(each(), here=True)
        return points

    def _validate(self, texts: Iterable[str], here: bool) -> None:
        """Has the core read every setting; what is wrong is told once, all of it."""
        wrong: dict[str, InputError] = {}
        seen: set[int] = set()
        for text in texts:
            if hash(text) in seen:
                continue
            seen.add(hash(text))
            try:
                estimate = estimate_of(text)
            except _core.InputError as error:
                for line in str(error).splitlines():
                    wrong.setdefault(line, InputError(line, self.source, line=self._line_of(line.partition(": ")[0])))
            else:
                if here and (refusal := estimate.refusal()):
                    wrong.setdefault(refusal, InputError(refusal, self.source))
            if len(wrong) >= _MOST_ERRORS:
                break
        if wrong:
            raise InputError.together(list(wrong.values()))

    def _line_of(self, path: str) -> int | None:
        """The line of the file that says this path; ``None`` where what is wrong has been put there since."""
        origin = self._origin
        if origin is None or origin._text is None or path == "":
            return None
        try:
            keys = split_path(path)
            swept = [axis for axis in self.sweep if split_path(self._place_of(axis)) == keys[: len(split_path(axis))]]
            if swept and origin.sweep.get(swept[0]) != self.sweep[swept[0]]:
                return None  # swept in Python, or by an option
        except InputError:  # not a path after all
            return None
        if swept:
            table = origin._document.get("sweep", {})
            whole = swept[0] in table
            keys = ("sweep", swept[0]) if whole else ("sweep", *split_path(swept[0]))
            return _core.line_of(origin._text, list(keys)) if isinstance(table, dict) and table else None
        if value_at(origin._document, keys) != value_at(self._document, keys):
            return None
        return _core.line_of(origin._text, list(keys))

    def replaced(self, document: Mapping[str, Any]) -> Scenario:
        """A scenario of these tables, known by the same file: for the names and lines of errors."""
        changed = Scenario(document, source=self.source)
        changed._origin = self._origin
        return changed

    def describe(self, seed: int | None = None) -> dict[str, Any]:
        """The network as the core draws it for one seed (the first by default), under the first settings."""
        point = self.check_settings()[0]
        described: dict[str, Any] = json.loads(
            _core.describe(point.json, point.seed if seed is None else check_seed(seed, "seed"))
        )
        return described

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._document == other._document

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Scenario({self.title!r}, {self._size()})"

    def _repr_html_(self) -> str:
        import html

        return f"<b>{html.escape(self.title)}</b> · {self._size()}<pre>{html.escape(self.to_toml())}</pre>"

    def _folder(self) -> Path:
        return Path(self.source).parent if self.source else Path()

    def _size(self) -> str:
        try:
            count = math.prod(self.counts())
        except InputError as error:
            return error.message
        return "1 run" if count == 1 else f"{count} runs"

    def _axes(self, table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, list[Any]]]:
        for key, value in table.items():
            if not above and key == "seeds":
                continue
            path = (*above, *split_path(key))
            refuse_what_is_no_setting(path, "sweep.", self.source)
            if isinstance(value, dict):
                yield from self._axes(value, path)
            elif isinstance(value, list) and value:
                yield join_path(path), value
            else:
                raise InputError(f"sweep.{join_path(path)}: must be a list of values, one at least", self.source)

    def _place_of(self, path: str) -> str:
        """The path, a traffic by number: without a name of its own it is called by its kind, which may be swept."""
        if split_path(path)[0] == "traffic" and "traffic" not in self.sweep:
            with contextlib.suppress(InputError):  # said where the value is put there
                return locate(self._document, path)
        return join_path(split_path(path))

    def seed_numbers(self) -> Sequence[int]:
        """The seeds of every setting. Raises `InputError`."""
        base = check_seed(self._document.get("seed", DEFAULT_SEED), "seed", self.source)
        table = self._document.get("sweep")
        seeds = table.get("seeds", 1) if isinstance(table, dict) else 1
        if isinstance(seeds, list):
            if not seeds or len(set(map(str, seeds))) < len(seeds):
                raise InputError("sweep.seeds: must be different seeds, one at least", self.source)
            return [check_seed(seed, "sweep.seeds", self.source) for seed in seeds]
        if not isinstance(seeds, int) or isinstance(seeds, bool) or not 1 <= seeds <= MOST_SEEDS:
            what = f"sweep.seeds: {quoted(seeds)} is not a number of seeds"
            raise InputError(f"{what}; write a whole number from 1 to {MOST_SEEDS}", self.source)
        return range(base, check_seed(base + seeds - 1, "seed", self.source) + 1)


#: What is taken for a scenario: its file, or its tables.
Source = Scenario | str | os.PathLike[str] | Mapping[str, Any]


def loaded(source: Source) -> Scenario:
    """The scenario that is given. Raises `InputError`."""
    if isinstance(source, Scenario):
        return source
    return Scenario(source) if isinstance(source, Mapping) else Scenario.load(source)
