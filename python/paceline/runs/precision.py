"""Adds seeds until a mean is known as closely as asked: `--until-ci 1%`.

Every setting begins with at least five seeds. Where the 95 % interval of the metric's mean (Student t) is wider than
asked, on either side, more are run: as many as the spread so far calls for, since the interval narrows by their root,
at most twice as many at a time. Each setting stops by itself, at once where its seeds all gave the same run. Stopping
at the first interval that happens to be narrow enough makes intervals cover a little less than 95 %; five seeds to
begin with keep that small.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from paceline._arguments import quoted, whole
from paceline._statistics import Interval, interval
from paceline.errors import InputError
from paceline.results import FlowStats, LinkStats, number
from paceline.results.repeated_runs import same
from paceline.runs.execute import Execution, core_of, execute
from paceline.runs.interrupted import Interrupted
from paceline.scenario import MOST_SEEDS as MOST_COUNT
from paceline.scenario import Point, Scenario
from paceline.terminal.progress import Watch

#: No setting has fewer.
LEAST_SEEDS = 5
MOST_SEEDS = 200
#: Numbers of a link whose queue tells classes apart (docs/reference/results.md).
_BY_CLASS = re.compile(r"class_[0-7]_(arrived_packets|dropped_packets|queue_mean_bytes)")

#: Runs and their columns by key.
_Found = dict[str, tuple[dict[str, Any], Any]]


@dataclass(frozen=True, slots=True)
class Precision:
    """What is asked for.

    Attributes:
        share: half width of the 95 % interval over the mean: 0.01 for 1 %. metric: path of a number of the JSON
        contract; ``None`` for goodput, or what the core carries where there is none. most_seeds: no setting gets
        more.
    """

    share: float
    metric: str | None = None
    most_seeds: int = MOST_SEEDS

    def __post_init__(self) -> None:
        if isinstance(self.share, bool) or not isinstance(self.share, (int, float)) or not 0 < self.share < 1:
            raise InputError(f"{quoted(self.share)} is no share of a mean; write 0.01 for 1 %", "until_ci")
        if self.metric is not None and not (isinstance(self.metric, str) and _is_number(self.metric)):
            remedy = "write as flows.goodput_mean_bps, or links.core.loss_ratio"
            raise InputError(f"{quoted(self.metric)} is no number of a run; {remedy}", "ci_metric")
        most = whole(self.most_seeds, "max_seeds", "number of seeds", 1, MOST_COUNT)
        if most < LEAST_SEEDS:
            raise InputError(f"{most} is fewer than the {LEAST_SEEDS} that every setting has", "max_seeds")


@dataclass(frozen=True, slots=True)
class Short:
    """A setting that is not known closely enough after all its seeds."""

    settings: dict[str, str]
    share: float
    seeds: int


def execute_until(
    scenario: Scenario, precision: Precision, *, watch: Watch | None = None, **how: Any
) -> tuple[Execution, list[Short]]:
    """As `execute` of the scenario's points, with further seeds where they are needed, in the order of the sweep.

    Also says which settings fell short. `how` is as for `execute`, which says what is raised; `InputError` too where a
    metric is none.
    """
    wanted = _first_seeds(scenario)
    found: _Found = {}
    total = Execution([], [], [])
    while True:
        points = _points(scenario, wanted)
        new = [point for point in points if point.key not in found]
        seen = _counted(watch, len(points) - len(new), len(points))
        try:
            done = execute(new, watch=seen, **how)
        except Interrupted as error:
            before = Execution(points, *_of(points, found)).results
            raise Interrupted(type(before)([*before, *error.results]), len(points)) from None
        total.failures += done.failures
        total.reused += done.reused
        total.damaged += done.damaged
        for point, run, columns in zip(done.points, done.runs, done.columns, strict=True):
            if run is not None:
                found[point.key] = (run, columns)
        total = replace(total, points=points, runs=_of(points, found)[0], columns=_of(points, found)[1])
        more, short = _judged(points, found, precision, wanted)
        if not more or total.failures:
            return total, short
        wanted |= more


def _is_number(path: str) -> bool:
    """Whether runs may have a number of this path; whether they have a link of that name shows when they have run."""
    head, _, rest = path.partition(".")
    name, _, key = rest.rpartition(".")
    kind = LinkStats if head == "links" else FlowStats
    is_by_class = head == "links" and _BY_CLASS.fullmatch(key)
    if key not in {item.name for item in fields(kind)} and not is_by_class:
        return False
    return not name if head == "flows" else head in ("links", "groups") and bool(name)


def shortfall(precision: Precision, short: Sequence[Short], settings: int) -> str:
    """One line about settings that fell short."""
    widest = max(short, key=lambda one: one.share)
    where = ", ".join(f"{path} = {value}" for path, value in widest.settings.items()) or "the one setting"
    asked = f"{precision.share * 100:.3g} %"
    return (
        f"{len(short)} of {settings} settings are not known to {asked} after {widest.seeds} seeds "
        f"(widest: {widest.share * 100:.2g} %, at {where}); allow more by max_seeds, or ask for less"
    )


def _first_seeds(scenario: Scenario) -> dict[str, list[int]]:
    """The scenario's own seeds for each setting (by its JSON), five at least."""
    points = scenario.points()
    seeds = list(dict.fromkeys(point.seed for point in points))
    seeds += _next(seeds, LEAST_SEEDS - len(seeds))
    return {point.json: seeds for point in points}


def _next(seeds: Sequence[int], count: int) -> list[int]:
    return list(range(max(seeds) + 1, max(seeds) + 1 + count))


def _points(scenario: Scenario, wanted: dict[str, list[int]]) -> list[Point]:
    every = sorted({seed for seeds in wanted.values() for seed in seeds})
    sets = {setting: set(seeds) for setting, seeds in wanted.items()}
    return [point for point in scenario.seeds(every).points() if point.seed in sets[point.json]]


def _of(points: Sequence[Point], found: _Found) -> tuple[list[Any], list[Any]]:
    pairs = [found.get(point.key, (None, None)) for point in points]
    return [run for run, _ in pairs], [columns for _, columns in pairs]


def _judged(
    points: Sequence[Point], found: _Found, precision: Precision, wanted: dict[str, list[int]]
) -> tuple[dict[str, list[int]], list[Short]]:
    """More seeds for settings that need them, and those that have all they may have and still fall short."""
    runs: dict[str, list[dict[str, Any]]] = {}
    settings = {point.json: dict(point.settings) for point in points}
    for point in points:
        if point.key in found:
            runs.setdefault(point.json, []).append(found[point.key][0])
    metric = precision.metric or _main_metric(points[0], [run for group in runs.values() for run in group])
    more: dict[str, list[int]] = {}
    short: list[Short] = []
    for setting, group in runs.items():
        try:
            value = interval(number(run, metric) for run in group)
        except KeyError:
            value = None
        if value is None and precision.metric is not None:
            raise InputError(f'no run has "{metric}"; name a link that results have, as core', "ci_metric")
        share = _share(value)
        seeds = wanted[setting]
        if share <= precision.share or same(group):
            continue
        if len(seeds) >= precision.most_seeds:
            short.append(Short(settings[setting], share, len(seeds)))
            continue
        needed = math.ceil(len(seeds) * min(2.0, (share / precision.share) ** 2))
        count = min(max(needed, len(seeds) + 1), precision.most_seeds)
        more[setting] = seeds + _next(seeds, count - len(seeds))
    return more, short


def _share(value: Interval | None) -> float:
    """Half width over mean; 0 where all samples are equal, or none is there."""
    if value is None or not value.half:
        return 0.0
    return value.half / abs(value.mean) if value.mean else math.inf


def _main_metric(point: Point, runs: Sequence[dict[str, Any]]) -> str:
    if any(run["flows"].get("goodput_mean_bps") is not None for run in runs):
        return "flows.goodput_mean_bps"
    return f"links.{core_of(point)}.throughput_bps"


def _counted(watch: Watch | None, before: int, total: int) -> Watch | None:
    """Progress of a round as that of the whole."""
    if watch is None:
        return None
    tell: Callable[[float, int, int], None] = watch
    new = max(total - before, 1)
    return lambda share, finished, _: tell((before + share * new) / total, before + finished, total)
