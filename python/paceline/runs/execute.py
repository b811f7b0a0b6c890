"""Executes points that the store does not have, shared out between all processes that work on them."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline.errors import InputError
from paceline.results import Result, Results
from paceline.runs import dask_cluster
from paceline.runs.driver import Driver
from paceline.runs.interrupted import Interrupted
from paceline.runs.shards import Place
from paceline.runs.workers import EngineOptions, ExecutorWorkers, ThreadWorkers, Workers, processors
from paceline.terminal.escapes import escape_controls
from paceline.terminal.progress import Watch

if TYPE_CHECKING:
    from distributed import Client

    from paceline.runs.trace import Trace
    from paceline.scenario import Point
    from paceline.store import Store

_LOG = logging.getLogger("paceline")


@dataclass(slots=True)
class Execution:
    """What came of it, in the order of the points.

    Attributes:
        points: what was asked for.
        runs: objects of the JSON contract; ``None`` for what failed or was not reached.
        columns: the tables of each by kind (`flows`, `series`, `instruments`), where they were kept.
        failures: points that failed, and why.
        reused: how many were in the store already, or were put there by another process meanwhile.
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


def execute(
    points: Sequence[Point],
    *,
    jobs: int | None = None,
    executor: Executor | Client | None = None,
    store: Store | None = None,
    keep_columns: bool = False,
    trace: Trace | None = None,
    engine: str = "auto",
    threads: int = 1,
    watch: Watch | None = None,
    tell: Callable[[str], object] = _LOG.warning,
) -> Execution:
    """Runs the points that the store does not have. A failed run does not stop the others.

    Processes with the same store share the points out: what another is running is waited for, and taken over if that
    process dies.

    Args:
        points: what to run.
        jobs: runs at a time; as many as keep the processors busy by default.
        executor: runs them elsewhere, as processes or machines that have Paceline installed, a Dask cluster among them;
            `jobs` is then its own affair; an interrupt ends what has begun where the store is seen, else leaves it.
        store: where finished runs go, and are looked for.
        keep_columns: keep per-flow columns, series and what instruments found in memory.
        trace: gets the events of the one point, which then runs whether the store has it or not.
        engine: how time advances: ``"auto"``, ``"reference"`` or ``"windowed"``; the results are the same.
        threads: that each run here may use, where its flows can be shared out; the results are the same.
        watch: hears of progress, ten times a second.
        tell: gets a line where there is nothing to do but wait for another process; it is logged by default.

    Raises:
        InputError: the core refuses a point after all (`Scenario.check` finds such before).
        RunError: the workers cannot run it at all, or the Dask scheduler has gone.
        StoreError: a finished run could not be kept.
        Interrupted: Ctrl-C; has the runs that finished.
    """
    done = Execution(points, [None] * len(points), [None] * len(points))
    with _marked(store if executor is not None else None) as place:
        workers = _workers(
            jobs, executor, place, store, keep_columns or store is None, trace, EngineOptions(engine, threads)
        )
        driver = Driver(done, workers, store, reuse=trace is None, keep_columns=keep_columns, tell=tell)
        try:
            driver.drive(watch)
        except BaseException as error:
            workers.cancel(list(driver.pending))
            workers.close()
            if not isinstance(error, KeyboardInterrupt):
                raise
            driver.collect_finished()
            raise Interrupted(done.results, len(points)) from None
        finally:
            workers.close()
            driver.release()
    return done


def describe_point(point: Point) -> str:
    """A run in words: ``pacing = edge 10 ms, seed 2``."""
    return describe_run(point.settings, f"seed {point.seed}")


def describe_run(settings: Mapping[str, str], seeds: str) -> str:
    """Settings in words, then which seeds."""
    return escape_controls(", ".join([*(f"{path} = {value}" for path, value in settings.items()), seeds]))


def _workers(
    jobs: int | None,
    executor: Executor | Client | None,
    place: Place | None,
    store: Store | None,
    columns: bool,
    trace: Trace | None,
    how: EngineOptions,
) -> Workers:
    if executor is None:
        return ThreadWorkers(jobs or max(1, processors() // how.threads), store, columns, trace, how)
    if isinstance(executor, Executor):
        return ExecutorWorkers(executor, how.engine, place)
    if dask_cluster.is_client(executor):
        return dask_cluster.DaskWorkers(executor, how.engine, place)
    kinds = "a concurrent.futures.Executor or a distributed.Client"
    raise InputError(f"executor: {executor!r} is no executor; give {kinds}")


@contextlib.contextmanager
def _marked(store: Store | None) -> Iterator[Place | None]:
    """The store as other processes may see it, as long as this goes on."""
    if store is None:
        yield None
        return
    with store.mark() as mark:
        yield Place(str(store.directory.resolve()), str(mark.resolve()))


def _named(tables: dict[str, _core.Columns] | None) -> dict[str, _core.Columns | None]:
    """Tables by the names that a `Result` has for them."""
    found = tables or {}
    return {"per_flow": found.get("flows"), "series": found.get("series"), "instruments": found.get("instruments")}
