"""Runs claims of papers: what their sweeps share is run once, then each claim is judged, drawn and kept."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.errors import InputError
from paceline.papers import verdicts
from paceline.papers.claim import Claim, Length, Runs
from paceline.papers.verdicts import Record
from paceline.results import Result, Results
from paceline.results.tables import flatten
from paceline.runs.execute import Execution, core_of, describe_point, execute
from paceline.store import Store
from paceline.terminal.progress import Watch

if TYPE_CHECKING:
    from paceline.scenario import Point, Scenario


@dataclass(frozen=True)
class Plan:
    """What a claim runs.

    Attributes:
        claim: which.
        scenarios: its sweeps by name.
        points: their runs.
    """

    claim: Claim
    scenarios: Mapping[str, Scenario]
    points: Mapping[str, Sequence[Point]]

    def all_points(self) -> Iterator[Point]:
        """The runs of all its sweeps."""
        for group in self.points.values():
            yield from group


@dataclass
class Reproduction:
    """What came of it.

    Attributes:
        records: verdicts by claim.
        failures: claims whose runs or check failed, and why.
        cpu_s: processor time of all runs, each counted once.
        core_packets: data packets that they delivered, each run counted once.
    """

    records: dict[str, Record] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    cpu_s: float = 0.0
    core_packets: int = 0


def plan(claims: Sequence[Claim], length: Length) -> list[Plan]:
    """The runs of each claim, checked. Raises `InputError` naming the claim."""
    plans = []
    checked: dict[str, Sequence[Point]] = {}  # claims of one figure have the same sweeps
    for claim in claims:
        try:
            scenarios = dict(claim.sweeps(length))
            if length.first_seed != 1:
                scenarios = {name: one.set("seed", length.first_seed) for name, one in scenarios.items()}
            points: dict[str, Sequence[Point]] = {}
            for name, scenario in scenarios.items():
                document = json.dumps(scenario.to_dict())
                points[name] = checked[document] if document in checked else scenario.check()
                checked[document] = points[name]
        except InputError as error:
            raise InputError(error.message, claim.id) from None
        plans.append(Plan(claim, scenarios, points))
    return plans


def run(plans: Sequence[Plan], store: Store, **how: Any) -> Execution:
    """Runs what plans ask for and the store does not have, each run once. `how` is as for `execute`, which raises."""
    return execute(list({point.key: point for one in plans for point in one.all_points()}.values()), store=store, **how)


def judge(
    plans: Sequence[Plan], done: Execution, length: Length, store: Store, watch: Watch | None = None
) -> Reproduction:
    """Judges every claim by its finished runs, and keeps all of it in the store's directory. Raises `StoreError`."""
    found = {point.key: run for point, run in zip(done.points, done.runs, strict=True) if run is not None}
    failed = {point.key: f"{describe_point(point)}: {why}" for point, why in done.failures}
    outcome = Reproduction()
    for run in found.values():
        outcome.cpu_s += run["engine"]["cpu_s"] or 0.0
        outcome.core_packets += run["engine"]["core_packets"] or 0
    for number, one in enumerate(plans):
        if watch:
            watch(number / len(plans), number, len(plans))
        why = next((failed[point.key] for point in one.all_points() if point.key in failed), None)
        verdict = why or _judged(one, found, store, length)
        if isinstance(verdict, str):
            outcome.failures[one.claim.id] = verdict
        else:
            outcome.records[one.claim.id] = verdict
    return outcome


def runs_of(plan: Plan, done: Execution, store: Store, length: Length) -> Runs:
    """Finished runs of a plan, with all that the store has of them. Raises `KeyError` where one failed."""
    found = {point.key: run for point, run in zip(done.points, done.runs, strict=True) if run is not None}
    return _runs(plan, found, store, length)


def _runs(plan: Plan, found: Mapping[str, dict[str, Any]], store: Store, length: Length) -> Runs:
    return Runs({name: _results(points, found, store) for name, points in plan.points.items()}, length)


def _judged(plan: Plan, found: Mapping[str, dict[str, Any]], store: Store, length: Length) -> Record | str:
    """A claim's verdict, kept; or why there is none: what goes wrong in its check does not stop the others."""
    runs = _runs(plan, found, store, length)
    try:
        verdict = plan.claim.check(runs)
        pictures = plan.claim.draw(runs)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        return " ".join(f"its check failed: {type(error).__name__}: {error} ({where})".split())
    return verdicts.save(
        store.directory, plan.claim, length, verdict, plan.scenarios, pictures, list(_rows(plan, found))
    )


def _results(points: Sequence[Point], found: Mapping[str, dict[str, Any]], store: Store) -> Results:
    core = core_of(points[0]) if points else None
    runs = []
    for point in points:
        run = found[point.key] | {"settings": dict(point.settings)}
        tables = store.columns(point.key)
        runs.append(
            Result.from_dict(
                run, per_flow=tables["flows"], series=tables["series"], instruments=tables["instruments"], core=core
            )
        )
    return Results(runs)


def _rows(plan: Plan, found: Mapping[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for name, points in plan.points.items():
        for point in points:
            row = flatten(found[point.key] | {"settings": dict(point.settings)})
            yield {"sweep": name, "key": point.key} | row
