"""Runs claims: what their sweeps share is run once, then each claim is judged, drawn and kept."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.errors import InputError
from paceline.execute import core_of, describe_point, execute
from paceline.papers import verdicts
from paceline.papers.claim import Claim, Length, Runs
from paceline.papers.verdicts import Record
from paceline.results import Result, Results
from paceline.store import Store
from paceline.tables import flatten

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


@dataclass
class Reproduction:
    """What came of it.

    Attributes:
        records: verdicts in the order of the claims; a claim whose runs or check failed has none.
        failures: claims that failed, and why.
        runs: different runs that the claims asked for.
        reused: how many were there already.
        damaged: files of the store that were not whole; their runs were done again.
        cpu_s: processor time of all runs, each counted once.
        core_packets: data packets that they delivered, each run counted once.
    """

    records: list[Record] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    runs: int = 0
    reused: int = 0
    damaged: list[Path] = field(default_factory=list)
    cpu_s: float = 0.0
    core_packets: int = 0


def plan(claims: Sequence[Claim], length: Length) -> list[Plan]:
    """The runs of each claim, checked. Raises `InputError` naming the claim."""
    plans = []
    for claim in claims:
        try:
            scenarios = dict(claim.sweeps(length))
            plans.append(Plan(claim, scenarios, {name: scenario.check() for name, scenario in scenarios.items()}))
        except InputError as error:
            raise InputError(error.message, f"{claim.id}") from None
    return plans


def reproduce(
    claims: Sequence[Claim],
    length: Length,
    store: Store,
    **how: Any,
) -> Reproduction:
    """Runs what the store does not have, judges every claim and keeps all of it in the store's directory.

    `how` is as for `execute`: `jobs`, `executor`, `watch`.

    Raises:
        InputError: a claim's scenario is wrong; nothing has run.
        StoreError: the store cannot be written.
        Interrupted: Ctrl-C; finished runs are kept.
    """
    plans = plan(claims, length)
    points = list({point.key: point for one in plans for group in one.points.values() for point in group}.values())
    done = execute(points, store=store, **how)
    found = {point.key: run for point, run in zip(points, done.runs, strict=True) if run is not None}
    failed = {point.key: f"{describe_point(point)}: {why}" for point, why in done.failures}
    outcome = Reproduction(runs=len(points), reused=done.reused, damaged=done.damaged)
    for run in found.values():
        outcome.cpu_s += run["engine"]["cpu_s"] or 0.0
        outcome.core_packets += run["engine"]["core_packets"] or 0
    for one in plans:
        why = next((failed[point.key] for group in one.points.values() for point in group if point.key in failed), None)
        record = None if why else _judged(one, found, store, length, outcome)
        if why:
            outcome.failures.append((one.claim.id, why))
        if record:
            outcome.records.append(record)
    return outcome


def _judged(
    plan: Plan, found: Mapping[str, dict[str, Any]], store: Store, length: Length, outcome: Reproduction
) -> Record | None:
    """A claim's verdict, kept. What goes wrong in its check is its failure, not that of the others."""
    runs = Runs({name: _results(points, found, store) for name, points in plan.points.items()}, length)
    try:
        verdict = plan.claim.check(runs)
        pictures = plan.claim.draw(runs)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        outcome.failures.append((plan.claim.id, f"its check failed: {type(error).__name__}: {error} ({where})"))
        return None
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
