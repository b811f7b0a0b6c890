"""Scenarios: loaded from TOML, built in Python, changed by path, and expanded into runs."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from paceline import _core
from paceline._arguments import index, quoted
from paceline.errors import InputError
from paceline.scenario import faults, traffic_files
from paceline.scenario.paths import assign, join_path, locate, split_path
from paceline.scenario.points import Case, Point, cases_of, labels_by_number, refuse_too_many, under_every_seed
from paceline.scenario.run_estimate import validate
from paceline.scenario.run_keys import key_from
from paceline.scenario.sweep_axes import axes_of, check_seed, refuse_what_is_no_setting, seeds_of
from paceline.scenario.toml_tables import plain, read, shown


class Scenario:
    """A scenario, as its TOML file says it. Never changed: `set`, `over` and `seeds` return another.

    Attributes:
        source: the file that it came from, for messages; ``None`` for one made in Python.

    Examples:
        >>> scenario = pl.Scenario.load("scenarios/one-flow.toml")
        >>> scenario.set("duration", "10 s").over({"network.links.bottleneck.buffer": ["5 KB", "20 KB"]}).seeds(5)
        Scenario('One flow, its window and its queue', 20 runs)
    """

    __slots__ = ("_document", "_origin", "_text", "source")

    def __init__(self, document: Mapping[str, Any], *, source: str | None = None, text: str | None = None) -> None:
        """Copies nested tables, which are read only when it is checked or run.

        Raises `InputError` where they are no tables, or hold what has no place in TOML.

        Args:
            document: the tables, as `tomllib` reads them.
            source: the file to name in messages, and whose folder relative names of files start from.
            text: of that file, for the lines of errors.
        """
        if not isinstance(document, Mapping):
            raise InputError(f"{quoted(document)} is no scenario; give a dict of its tables, or Scenario.load(file)")
        self._document: dict[str, Any] = plain(document)
        self._text = text
        self._origin = None if text is None else (text, self._document)  # the file as read: for the lines of errors
        self.source = source

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a TOML file. Raises `InputError` where it cannot be read or is not TOML; see `check` for the rest.

        Args:
            path: the file.

        Examples:
            >>> pl.Scenario.load("scenarios/one-flow.toml")
            Scenario('One flow, its window and its queue', 2 runs)
        """
        document, text = read(path)
        source = os.fsdecode(path)
        with faults.told_with_lines(source, lambda path: faults.line_in(text, document, path)):
            return cls(document, source=source, text=text)

    @property
    def title(self) -> str:
        """Its title; else the name of its file; else `scenario`.

        Examples:
            >>> pl.Scenario.load("scenarios/one-flow.toml").title
            'One flow, its window and its queue'
        """
        title = self._document.get("title")
        if isinstance(title, str) and title:
            return title
        return Path(self.source).stem if self.source else "scenario"

    @property
    def sweep(self) -> dict[str, list[Any]]:
        """What is swept, by path, in the order of the file; `seeds` aside. Raises `InputError`.

        Examples:
            >>> pl.Scenario.load("scenarios/one-flow.toml").sweep
            {'pacing': ['none', 'host']}
        """
        table = self._document.get("sweep", {})
        with self._told_with_lines():
            if not isinstance(table, dict):
                raise InputError(f"sweep: {shown(table)} is not a table; write one, [sweep], of paths and lists")
            return dict(axes_of(table, self.source))

    def to_dict(self) -> dict[str, Any]:
        """A copy as nested tables.

        Examples:
            >>> pl.Scenario.load("scenarios/one-flow.toml").to_dict()["duration"]
            '30 s'
        """
        return copy.deepcopy(self._document)

    def to_toml(self) -> str:
        """Its TOML: the text of the file where nothing was changed, comments included.

        Examples:
            >>> print(pl.Scenario({"duration": "10 s", "network": {"template": "path"}}).to_toml())
            duration = "10 s"
            <BLANKLINE>
            [network]
            template = "path"
            <BLANKLINE>
        """
        if self._text is not None:
            return self._text
        import tomli_w

        return tomli_w.dumps(self._document)

    def placed(self) -> Scenario:
        """The same scenario with absolute paths of the files that it names: it can lie in another folder.

        Examples:
            >>> replayed = {"kind": "pcap", "file": "traffic.pcap"}
            >>> scenario = pl.Scenario({"traffic": [replayed]}, source="/data/mine.toml")
            >>> scenario.placed().to_dict()["traffic"][0]["file"]
            '/data/traffic.pcap'
        """
        document = self.to_dict()
        return self.replaced(document) if traffic_files.place(document, self._folder()) else self

    def set(self, path: str, value: Any) -> Scenario:
        """The same scenario with `value` at `path`, as ``set("network.core.buffer", "5 KB")``.

        An entry of a list goes by number or name (``traffic.bulk.tcp.variant``). A path that the scenario sweeps is
        not swept any more. Raises `InputError` where the path leads nowhere, or is under one that is swept.

        Args:
            path: keys, joined by dots.
            value: text with a unit, a number, a list or a table, as in TOML.

        Examples:
            >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").set("traffic.bulk.tcp.variant", "newreno")
            >>> scenario.to_dict()["traffic"][0]["tcp"]["variant"]
            'newreno'
        """
        document = self.to_dict()
        sweep = self.sweep
        keys = split_path(self._place_of(path))
        swept = {axis: split_path(self._place_of(axis)) for axis in sweep}
        for axis, above in swept.items():
            if above != keys and keys[: len(above)] == above:
                raise InputError(f"{path}: the scenario sweeps {axis}; narrow that first, by setting {axis}")
        assign(document, path, plain(value, path))
        if keys in swept.values():
            sweep = {axis: values for axis, values in sweep.items() if swept[axis] != keys}
            document["sweep"] = sweep | {key: item for key, item in document["sweep"].items() if key == "seeds"}
        return self.replaced(document)

    def over(self, axes: Mapping[str, Sequence[Any]]) -> Scenario:
        """The same scenario, swept over these paths too; one that it sweeps already is replaced.

        Args:
            axes: a list of values for each path. Raises `InputError` where there is none.

        Examples:
            >>> scenario = pl.Scenario.load("scenarios/one-flow.toml")
            >>> scenario.over({"network.links.bottleneck.delay": ["10 ms", "20 ms"]}).counts()
            (4, 1)
        """
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
            table[join_path(keys)] = plain(list(values), f"sweep.{path}")
        seeds = document.get("sweep", {}).get("seeds")
        document["sweep"] = table if seeds is None else table | {"seeds": seeds}
        return self.replaced(document)

    def seeds(self, seeds: int | Sequence[int]) -> Scenario:
        """The same scenario under several seeds. Raises `InputError` where they are no seeds.

        Args:
            seeds: how many, counted from the scenario's ``seed`` (1 if it has none), or exactly these.

        Examples:
            >>> scenario = pl.Scenario.load("scenarios/one-flow.toml")
            >>> list(scenario.seeds(3).seed_numbers()), scenario.seeds([2, 5]).seed_numbers()
            ([1, 2, 3], [2, 5])
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

        Examples:
            >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").seeds(2)
            >>> [(point.settings["pacing"], point.seed) for point in scenario.points()]
            [('none', 1), ('none', 2), ('host', 1), ('host', 2)]
        """
        self._refuse_too_many(self.counts()[1])
        return under_every_seed(self._cases(), self.seed_numbers())

    def settings(self) -> list[Point]:
        """The first run of every combination of what is swept; further seeds repeat these, and are not built here.

        Raises as `points` does.

        Examples:
            >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").seeds(2)
            >>> [(point.settings["pacing"], point.seed) for point in scenario.settings()]
            [('none', 1), ('host', 1)]
        """
        return list(self.each_setting())

    def each_setting(self) -> Iterator[Point]:
        """As `settings`, each built when it is asked for.

        Examples:
            >>> next(pl.Scenario.load("scenarios/one-flow.toml").each_setting()).settings
            {'pacing': 'none'}
        """
        seed = self.seed_numbers()[0]
        for case in self._cases():
            yield Point(case.settings, seed, case.json, key_from(case.identity, seed))

    def counts(self) -> tuple[int, int]:
        """How many settings, and how many seeds of each. Raises `InputError` where there are too many settings.

        Examples:
            >>> pl.Scenario.load("scenarios/one-flow.toml").seeds(5).counts()
            (2, 5)
        """
        settings = math.prod(len(values) for values in self.sweep.values())
        self._refuse_too_many(1)
        return settings, len(self.seed_numbers())

    def labels(self) -> Callable[[int], dict[str, str]]:
        """What the setting of a number is called, 0 the first: as `settings` has it, and none is built.

        Examples:
            >>> pl.Scenario.load("scenarios/one-flow.toml").labels()(1)
            {'pacing': 'host'}
        """
        with self._told_with_lines():
            return labels_by_number(self.sweep, self.source)

    def check(self, *, here: bool = True) -> list[Point]:
        """Validates every combination, routes included, and returns the runs. Raises `InputError` of all that is wrong.

        Args:
            here: they must fit in this machine's memory too.

        Examples:
            >>> len(pl.Scenario.load("scenarios/one-flow.toml").check())
            2
        """
        faults.refuse_wrong_sweep(self)
        self._refuse_too_many(self.counts()[1])
        cases = list(self._cases())
        validate((case.json for case in cases), self.source, self._line_of, here=here)
        return under_every_seed(cases, self.seed_numbers())

    def check_settings(self, within_s: float = math.inf) -> list[Point]:
        """As `check`, but returns `settings`.

        Args:
            within_s: seconds after which no further setting is looked at; one always is.

        Examples:
            >>> len(pl.Scenario.load("scenarios/one-flow.toml").seeds(5).check_settings())
            2
        """
        faults.refuse_wrong_sweep(self)
        until = time.monotonic() + within_s
        points: list[Point] = []

        def each() -> Iterator[str]:
            for point in self.each_setting():
                points.append(point)
                yield point.json
                if time.monotonic() > until:
                    return

        validate(each(), self.source, self._line_of)
        return points

    def _cases(self) -> Iterator[Case]:
        self.counts()
        sweep = self.sweep
        places = {path: self._place_of(path) for path in sweep}
        with self._told_with_lines():
            yield from cases_of(self._document, sweep, places, self._folder(), self.source)

    def _line_of(self, path: str) -> int | None:
        """The line of the file that says this path; ``None`` where what is wrong has been put there since."""
        return self._origin and faults.line_of(path, *self._origin, self._document, self._place_of)

    def _refuse_too_many(self, seeds: int) -> None:
        with self._told_with_lines():
            refuse_too_many(self.sweep, seeds, self.source)

    def _told_with_lines(self) -> contextlib.AbstractContextManager[None]:
        return faults.told_with_lines(self.source, self._line_of)

    def replaced(self, document: Mapping[str, Any]) -> Scenario:
        """A scenario of these tables, known by the same file: for the names and lines of errors.

        Args:
            document: the tables.

        Examples:
            >>> scenario = pl.Scenario.load("scenarios/one-flow.toml")
            >>> scenario.replaced(scenario.to_dict() | {"title": "mine"}).title
            'mine'
        """
        changed = Scenario(document, source=self.source)
        changed._origin = self._origin
        return changed

    def describe(self, seed: int | None = None) -> dict[str, Any]:
        """The network as the core draws it for one seed, under the first settings.

        Args:
            seed: the scenario's first by default.

        Returns:
            What ``paceline check`` prints: ``hosts``, ``flows``, ``links`` (rates and delays as text), ``bdp_bytes``, …

        Examples:
            >>> network = pl.Scenario.load("scenarios/one-flow.toml").describe()
            >>> [link["name"] for link in network["links"]]
            ['access', 'bottleneck']
        """
        point = self.check_settings()[0]
        drawn = point.seed if seed is None else check_seed(seed, "seed")
        described: dict[str, Any] = json.loads(_core.describe(point.json, drawn))
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

    def _place_of(self, path: str) -> str:
        """The path, a traffic by number: without a name of its own it is called by its kind, which may be swept."""
        if split_path(path)[0] == "traffic" and "traffic" not in self.sweep:
            with contextlib.suppress(InputError):  # said where the value is put there
                return locate(self._document, path)
        return join_path(split_path(path))

    def seed_numbers(self) -> Sequence[int]:
        """The seeds of every setting. Raises `InputError` where they are no seeds.

        Examples:
            >>> list(pl.Scenario.load("scenarios/one-flow.toml").seeds(3).seed_numbers())
            [1, 2, 3]
        """
        with self._told_with_lines():
            return seeds_of(self._document, self.source)
