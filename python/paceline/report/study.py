"""Results arranged for tables and pictures.

A *setting* is one combination of what was swept; its runs differ in the seed alone. One numeric swept quantity (a
buffer, if there is one) becomes the horizontal *axis*; a choice that was swept (mostly the pacing) makes the *series*,
which compete; what else was swept are *conditions* (see `roles`). A study with conditions has *parts*, one for each
combination of them, and series are compared within a part.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from paceline._statistics import Interval, interval
from paceline.report.axis_roles import Roles, roles
from paceline.report.metrics import METRICS, Metric, Row
from paceline.results.instruments import Curve
from paceline.results.quantities import method_words, path_phrase, path_words, quantity
from paceline.results.repeated_runs import same_rows, sentence

#: Columns of `runs.parquet` that carry what was swept begin with this.
SWEPT = "settings."
UNNAMED = "all"


@dataclass(frozen=True)
class Axis:
    """The swept quantity on the horizontal axis."""

    path: str
    dimension: str
    values: dict[str, float]

    @property
    def texts(self) -> list[str]:
        """As the scenario writes them, ascending."""
        return sorted(self.values, key=lambda text: self.values[text])

    @property
    def title(self) -> str:
        return path_words(self.path)

    @property
    def phrase(self) -> str:
        """Its title within a sentence."""
        return path_phrase(self.path)


@dataclass(frozen=True)
class Series:
    """What one line of a chart, one row of a group stands for: mostly a pacing method."""

    name: str
    slot: int
    method: str


@dataclass(frozen=True)
class Record:
    """A series recorded on one link: queue lengths sampled in bytes, or the packets that left with their bytes."""

    link: str
    seed: int
    time_ns: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]


@dataclass
class Setting:
    """One combination of what was swept."""

    swept: dict[str, str]
    runs: dict[int, Row] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)

    @cached_property
    def repeats(self) -> bool:
        """Whether its seeds all gave the same run, so that there is one run and no interval."""
        return same_rows(list(self.runs.values()))


class Recordings(Protocol):
    """Where the series of a study come from."""

    def links(self, kind: str) -> list[str]:
        """The links with a series of this kind (`queue`, `departure`)."""

    def of(self, setting: Setting, kind: str, link: str) -> Record | None:
        """What was recorded under the setting's first seed, in order of time; `None` where nothing was."""


class Findings(Protocol):
    """Where what instruments found comes from."""

    def names(self) -> list[str]:
        """The instruments that any run has."""

    def of(self, setting: Setting, name: str) -> dict[int, list[Curve]]:
        """The curves of one instrument by seed."""


@dataclass
class Study:
    """Everything that tables and pictures are made from."""

    settings: list[Setting]
    scenario: dict[str, Any]
    scenario_text: str
    description: dict[str, Any]
    recordings: Recordings
    #: Of the scenario's file, without its ending; empty where that is not known.
    file_name: str = ""
    #: Of the instruments; `None` where there were none.
    findings: Findings | None = None
    #: Of a part: the study that it is a part of, and the values that its conditions have, as written, by path.
    whole: Study | None = None
    condition: dict[str, str] = field(default_factory=dict)

    # What was swept

    @cached_property
    def parts(self) -> list[Study]:
        """A study for each combination of conditions, in order of appearance; itself where there are none."""
        if not self.roles.conditions:
            return [self]
        found: dict[tuple[str, ...], list[Setting]] = {}
        for setting in self.settings:
            found.setdefault(tuple(setting.swept.get(path, "") for path in self.roles.conditions), []).append(setting)
        return [
            replace(self, settings=some, whole=self, condition=dict(zip(self.roles.conditions, values, strict=True)))
            for values, some in found.items()
        ]

    @cached_property
    def roles(self) -> Roles:
        """What each swept path is to the comparison."""
        return self.whole.roles if self.whole else roles(list(self.swept), self.axis.path if self.axis else None)

    @property
    def contest(self) -> bool:
        """Whether series compete: whether they stand for something that one may choose."""
        return self.roles.contest and len(self.series) > 1

    @cached_property
    def swept(self) -> dict[str, list[str]]:
        """Each swept path with its values in order of appearance; paths with one value are left out."""
        seen: dict[str, list[str]] = {}
        for setting in self.settings:
            for path, text in setting.swept.items():
                values = seen.setdefault(path, [])
                if text not in values:
                    values.append(text)
        return {path: values for path, values in seen.items() if len(values) > 1}

    @cached_property
    def axis(self) -> Axis | None:
        """The first swept buffer, else the first swept quantity with one dimension; `None` where there is neither."""
        if self.whole:
            return self.whole.axis
        found: list[Axis] = []
        for path, texts in self.swept.items():
            parsed = {text: quantity(text) for text in texts}
            dimensions = {q[0] for q in parsed.values() if q}
            if len(dimensions) == 1 and all(parsed.values()):
                found.append(Axis(path, dimensions.pop(), {t: q[1] for t, q in parsed.items() if q}))
        found.sort(key=lambda axis: "buffer" not in axis.path)
        return found[0] if found else None

    def at(self, setting: Setting) -> str:
        """The setting's value on the axis, as written; one name for all where there is no axis."""
        return setting.swept.get(self.axis.path, UNNAMED) if self.axis else UNNAMED

    @property
    def positions(self) -> list[str]:
        return self.axis.texts if self.axis else [UNNAMED]

    def series_name(self, setting: Setting) -> str:
        parts = [self.choice(path, text) for path, text in setting.swept.items() if path in self.roles.series]
        return ", ".join(parts) or method_words(self.own_pacing)

    def choice(self, path: str, text: str) -> str:
        """A swept value as a reader would say it: `unpaced` of a pacing that is `none`."""
        if path == "pacing":
            return self.pacing_name(text)
        return method_words(text) if path == "pacing.method" else value_words(path, text)

    def setting_name(self, setting: Setting) -> str:
        """Everything that tells a setting from the others: `unpaced, 5 KB`, and the conditions where there are any."""
        parts = [self.series_name(setting)]
        if self.axis and self.axis.path in setting.swept:
            place = setting.swept[self.axis.path]
            # a unit mostly says of which quantity; a bare number does not
            parts.append(value_words(self.axis.path, place) if self.axis.dimension == "number" else place)
        given = self.roles.conditions
        parts += [self.choice(path, text) for path, text in setting.swept.items() if path in given]
        return ", ".join(parts)

    def pacing_name(self, label: str) -> str:
        """A swept pacing in words; its parameters are left out where they are many and the method says which it is."""
        labels = (self.whole or self).swept.get("pacing", [])
        alike = [other for other in labels if other.split()[:1] == label.split()[:1]]
        if len(alike) > 1:
            return method_words(label)
        method, _, parameters = label.partition(" at ")[0].partition(" ")
        return method_words(f"{method} {parameters}" if parameters.count(" ") < 2 else method)

    @cached_property
    def own_pacing(self) -> str:
        """The pacing that the scenario itself sets, as labels are written: `edge 10 ms`."""
        pacing = self.scenario.get("pacing", "none")
        if isinstance(pacing, dict):
            # what is swept beside is no part of the name
            first = "" if "pacing.delay" in self.swept else pacing.get("delay", "")
            pacing = f"{pacing.get('method', 'none')} {first}"
        if isinstance(pacing, str):
            return pacing.strip()
        described = self.description.get("pacing")
        return "+".join(str(one) for one in described) if isinstance(described, list) and described else "other"

    @cached_property
    def series(self) -> list[Series]:
        """Every series in order of appearance, each with a slot of its own: its colour and its mark."""
        if self.whole:
            own = {self.series_name(setting) for setting in self.settings}
            return [s for s in self.whole.series if s.name in own]
        taken: set[int] = set()
        found: list[Series] = []
        for setting in self.settings:
            name = self.series_name(setting)
            if any(s.name == name for s in found):
                continue
            method = self.method(setting)
            preferred = METHODS.index(method if method in METHODS else "other")
            slots = itertools.chain([preferred], itertools.count())
            slot = next(s for s in slots if s not in taken)
            taken.add(slot)
            found.append(Series(name, slot, method))
        return found

    def method(self, setting: Setting) -> str:
        """The bare name of the pacing method: `edge` of `edge 10 ms`."""
        text = setting.swept.get("pacing") or setting.swept.get("pacing.method") or self.own_pacing
        words = text.removeprefix("method=").split()
        return words[0] if words else "none"

    @property
    def baseline(self) -> Series | None:
        """What the others are compared with: no pacing, else the first."""
        unpaced = [s for s in self.series if s.method == "none"]
        if not self.contest:
            return None
        return unpaced[0] if unpaced else self.series[0]

    def setting(self, series: Series, position: str) -> Setting | None:
        return self._grid.get((series.name, position))

    @cached_property
    def _grid(self) -> dict[tuple[str, str], Setting]:
        grid: dict[tuple[str, str], Setting] = {}
        for setting in self.settings:
            grid.setdefault((self.series_name(setting), self.at(setting)), setting)
        return grid

    # What came out

    @cached_property
    def seeds(self) -> list[int]:
        return sorted({seed for setting in self.settings for seed in setting.runs})

    @cached_property
    def core(self) -> str:
        """The link that the report is about: `core`, else the one the description names, else the lossiest."""
        if self.whole:
            return self.whole.core
        links = self.links
        named = self.description.get("core")
        for candidate in ("core", named):
            if isinstance(candidate, str) and candidate in links:
                return candidate

        def lost(link: str) -> float:
            rows = [row for s in self.settings for row in s.runs.values()]
            values = [row.get(f"links.{link}.dropped_packets") for row in rows]
            return sum(v for v in values if isinstance(v, int | float))

        return max(links, key=lost) if links else "core"

    @cached_property
    def links(self) -> list[str]:
        suffix = ".throughput_bps"
        columns = {c: None for s in self.settings for row in s.runs.values() for c in row}
        return [c[len("links.") : -len(suffix)] for c in columns if c.startswith("links.") and c.endswith(suffix)]

    @cached_property
    def groups(self) -> list[str]:
        """The groups of flows that hold numbers, where there is more than one."""
        found: dict[str, None] = {}
        for setting in self.settings:
            for row in setting.runs.values():
                for column, value in row.items():
                    if column.startswith("groups.") and value is not None:
                        found[column.split(".")[1]] = None
        return list(found) if len(found) > 1 else []

    def by_seed(self, setting: Setting, metric: Metric) -> dict[int, float]:
        values = {seed: metric.value(row, self.core) for seed, row in setting.runs.items()}
        return {seed: value for seed, value in values.items() if value is not None}

    def estimate(self, setting: Setting, metric: Metric) -> Interval | None:
        values = list(self.by_seed(setting, metric).values())
        return interval(values[:1] if setting.repeats else values)

    @cached_property
    def repetition(self) -> str | None:
        """A sentence about settings whose seeds all gave the same run; `None` where there are none."""
        repeated = [s.swept for s in self.settings if s.repeats]
        return sentence(repeated, len(self.settings), len(self.seeds))

    @cached_property
    def has_intervals(self) -> bool:
        """Whether any setting has runs that differ."""
        return any(len(s.runs) > 1 and not s.repeats for s in self.settings)

    @cached_property
    def metrics(self) -> list[Metric]:
        """The metrics that at least one run has."""
        return [m for m in METRICS if any(self.by_seed(s, m) for s in self.settings)]

    def total(self, column: str) -> float | None:
        """Sum of a column over all runs; `None` where no run has it."""
        values = [row.get(column) for s in self.settings for row in s.runs.values()]
        numbers = [v for v in values if isinstance(v, int | float)]
        return float(sum(numbers)) if numbers else None


#: Known methods; the position is the colour slot.
METHODS = ("none", "host", "edge", "qlbp", "port", "token-bucket", "link", "other")


def value_words(path: str, text: str) -> str:
    """`access hosts 10`: what was swept and a value of it."""
    return f"{path_phrase(path)} {text}"


def study(rows: Iterable[Row], scenario_text: str, description: dict[str, Any], recordings: Recordings) -> Study:
    """Arranges runs by setting. `rows` are those of `runs.parquet`, in its order."""
    settings: dict[tuple[tuple[str, str], ...], Setting] = {}
    for number, row in enumerate(rows):
        swept = {
            column[len(SWEPT) :]: _text(value)
            for column, value in row.items()
            if column.startswith(SWEPT) and value is not None
        }
        setting = settings.setdefault(tuple(swept.items()), Setting(swept))
        seed = row.get("seed")
        seed = seed if isinstance(seed, int) else 0
        setting.runs[seed] = row
        run = row.get("run")
        setting.numbers[seed] = run if isinstance(run, int) else number
    try:
        scenario = tomllib.loads(scenario_text)
    except tomllib.TOMLDecodeError:
        scenario = {}
    return Study(list(settings.values()), scenario, scenario_text, description, recordings)


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)
