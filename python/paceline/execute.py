"""Runs points: on threads, since the core lets go of the interpreter's lock, or on an executor of the caller's."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline.errors import InputError, Interrupted, RunError, StoreError
from paceline.results import Result, Results

if TYPE_CHECKING:
    from paceline.scenario import Point
    from paceline.store import Store
    from paceline.trace import Trace

#: Called with the share that is done, 0 to 1, and the numbers of runs finished and wanted.
Watch = Callable[[float, int, int], None]
_POLL_S = 0.1


@dataclass(slots=True)
class Execution:
    """What came of it, in the order of the points.

    Attributes:
        points: what was asked for.
        runs: objects of the JSON contract; ``None`` for what failed or was not reached.
        columns: the tables of each by kind (`flows`, `series`, `instruments`), where they were kept.
        failures: points that failed, and why.
        reused: how many were in the store already.
        damaged: files of the store that were not whole; their runs were done again.
    """

    points: Sequence[Point]
    runs: list[dict[str, Any] | None]
    columns: list[dict[str, _core.Columns] | None]
    failures: list[tuple[Point, str]] = field(default_factory=list)
    reused: int = 0
    damaged: list[Path] = field(default_factory=list)

    @property
    def results(self) -> Results:
        """What has finished."""
        pairs = zip(self.runs, self.columns, strict=True)
        core = core_of(self.points[0]) if self.points else None
        return Results(
            [Result.from_dict(run, core=core, **_named(columns)) for run, columns in pairs if run is not None]
        )


def core_of(point: Point) -> str:
    """Name of the link that the network is about."""
    return str(json.loads(_core.describe(point.json, point.seed))["core"])


def cores() -> int:
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def execute(
    points: Sequence[Point],
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    store: Store | None = None,
    keep_columns: bool = False,
    trace: Trace | None = None,
    engine: str = "auto",
    watch: Watch | None = None,
) -> Execution:
    """Runs the points that the store does not have. A failed run does not stop the others.

    Args:
        points: what to run.
        jobs: runs at a time; the number of processors by default.
        executor: runs them elsewhere, as processes or machines that have Paceline installed; `jobs` is then its own
            affair, and an interrupt leaves alone what has begun.
        store: where finished runs go, and are looked for.
        keep_columns: keep per-flow columns, series and what instruments found in memory.
        trace: gets the events of the one point, which then runs whether the store has it or not.
        engine: how time advances: ``"auto"``, ``"reference"`` or ``"windowed"``; the results are the same.
        watch: hears of progress, ten times a second.

    Raises:
        InputError: the core refuses a point after all (`Scenario.check` finds such before).
        StoreError: a finished run could not be kept.
        Interrupted: Ctrl-C; has the runs that finished.
    """
    done = Execution(points, [None] * len(points), [None] * len(points))
    pending: dict[Future[_Finished], int] = {}
    task = _Task(
        store if executor is None else None, executor is not None or keep_columns or store is not None, trace, engine
    )
    pool = ThreadPoolExecutor(jobs or cores(), "paceline") if executor is None else executor
    try:
        for number, point in enumerate(points):
            found = store.get(point.key, done.damaged.append) if store and trace is None else None
            if found is not None:
                done.runs[number] = _with_settings(point, found)
                done.reused += 1
            elif executor is None:
                pending[pool.submit(task.run, point.key, point.json, point.seed)] = number
            else:
                pending[pool.submit(run_elsewhere, point.json, point.seed, engine)] = number
        while pending:
            if watch:
                finished = len(points) - len(pending)
                watch((finished + task.fraction()) / len(points), finished, len(points))
            for future in wait(pending, _POLL_S, FIRST_COMPLETED).done:
                _collect(done, pending.pop(future), future, store if executor else None, keep_columns)
    except BaseException as error:
        task.cancel()
        for future in pending:
            future.cancel()
        if executor is None:
            pool.shutdown(wait=True, cancel_futures=True)
        if not isinstance(error, KeyboardInterrupt):
            raise
        for future, number in pending.items():
            if future.done() and not future.cancelled():
                _collect(done, number, future, None, keep_columns)
        raise Interrupted(done.results, len(points)) from None
    finally:
        if executor is None:
            pool.shutdown(wait=True, cancel_futures=True)
    return done


@dataclass(frozen=True, slots=True)
class _Finished:
    run: dict[str, Any]
    columns: dict[str, _core.Columns] | None


def run_elsewhere(scenario_json: str, seed: int, engine: str = "auto") -> _Finished:
    """One run, for an executor: what comes back can be pickled."""
    run = _core.run(scenario_json, seed, engine=engine)
    return _Finished(json.loads(run.summary()), _tables(run))


def _tables(run: _core.Run) -> dict[str, _core.Columns]:
    return {"flows": run.flows(), "series": run.series(), "instruments": run.instruments()}


def _named(tables: dict[str, _core.Columns] | None) -> dict[str, _core.Columns | None]:
    """Tables by the names that a `Result` has for them."""
    found = tables or {}
    return {"per_flow": found.get("flows"), "series": found.get("series"), "instruments": found.get("instruments")}


class _Task:
    """What the threads share."""

    def __init__(self, store: Store | None, columns: bool, trace: Trace | None, engine: str) -> None:
        self._store = store
        self._columns = columns
        self._trace = trace
        self._engine = engine
        self._controls: dict[int, _core.Control] = {}
        self._cancelled = False

    def run(self, key: str, scenario_json: str, seed: int) -> _Finished:
        control = _core.Control()
        self._controls[id(control)] = control
        try:
            if self._cancelled:
                control.cancel()
            run = _core.run(scenario_json, seed, control, self._trace, self._engine)
            summary = json.loads(run.summary())
            columns = _tables(run) if self._columns else None
            if self._store and columns:
                self._store.put(key, summary, columns)
            return _Finished(summary, columns)
        finally:
            del self._controls[id(control)]

    def cancel(self) -> None:
        self._cancelled = True
        for control in list(self._controls.values()):
            control.cancel()

    def fraction(self) -> float:
        """Runs under way, added up."""
        return sum(control.fraction for control in list(self._controls.values()))


def _collect(done: Execution, number: int, future: Future[_Finished], store: Store | None, columns: bool) -> None:
    point = done.points[number]
    try:
        finished = future.result()
    except _core.InputError as error:
        raise InputError(str(error)) from None
    except StoreError:
        raise
    except Exception as error:
        why = str(error) if isinstance(error, (_core.RunError, RunError)) else f"{type(error).__name__}: {error}"
        done.failures.append((point, " ".join(why.split())))
        return
    if store and finished.columns:
        store.put(point.key, finished.run, finished.columns)
    done.runs[number] = _with_settings(point, finished.run)
    if columns:
        done.columns[number] = finished.columns


def _with_settings(point: Point, run: dict[str, Any]) -> dict[str, Any]:
    """A run of the contract, in the contract's order."""
    order = ("seed", "window_s", "links", "flows", "groups", "engine")
    return {"settings": dict(point.settings)} | {key: run[key] for key in order} | run


def describe_point(point: Point) -> str:
    """A run in words: ``pacing = edge 10 ms, seed 2``."""
    return ", ".join([f"{path} = {value}" for path, value in point.settings.items()] + [f"seed {point.seed}"])
