"""Where runs are done: on threads here, by an executor of the caller's, or on a Dask cluster.

Threads suffice on one machine, since the core lets go of the interpreter's lock.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline.runs.memory_limit import ROOM
from paceline.runs.shards import Answer, Place, Task, run_shard, tables_of
from paceline.scenario.run_estimate import remembered_estimate_of

if TYPE_CHECKING:
    from paceline.runs.trace import Trace
    from paceline.store import Store

#: Called when a future is done, from any thread.
Done = Callable[[Any], None]


class Workers(ABC):
    """Somewhere to do runs.

    Attributes:
        shard_s: runs are handed over together up to this much processor time; 0 for one at a time.
    """

    shard_s = 0.0

    @abstractmethod
    def has_room(self, pending: int) -> bool:
        """Whether another shard is wanted beside so many."""

    @abstractmethod
    def submit(self, tasks: Sequence[Task], done: Done) -> Any:
        """Begins a shard; `done` gets its future when it has ended."""

    def answers(self, future: Any) -> list[Answer]:
        """What has come of a shard. Raises what its process raised; `RunError` where the place has gone."""
        found: list[Answer] = future.result()
        return found

    def fraction(self) -> float:
        """Runs under way, added up, as far as that is known."""
        return 0.0

    def check(self) -> None:  # noqa: B027
        """Raises `RunError` where the place has gone."""

    @abstractmethod
    def cancel(self, futures: Sequence[Any]) -> None:
        """Ends what can be ended, as soon as possible."""

    def close(self) -> None:  # noqa: B027
        """Waits for what is under way, and gives back what belongs to us."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How each run is made; the results are the same."""

    engine: str = "auto"
    threads: int = 1


class ThreadWorkers(Workers):
    """Threads of this process; they write into the store themselves."""

    def __init__(self, jobs: int, store: Store | None, columns: bool, trace: Trace | None, how: EngineOptions) -> None:
        self._jobs = jobs
        self._pool = ThreadPoolExecutor(jobs, "paceline")
        self._store = store
        self._columns = columns
        self._trace = trace
        self._how = how
        self._controls: dict[int, _core.Control] = {}
        self._cancelled = False

    def has_room(self, pending: int) -> bool:
        return pending <= self._jobs  # one waits, so that no thread does

    def submit(self, tasks: Sequence[Task], done: Done) -> Future[list[Answer]]:
        future = self._pool.submit(lambda: [self._run(task) for task in tasks])
        future.add_done_callback(done)
        return future

    def fraction(self) -> float:
        return sum(control.fraction for control in list(self._controls.values()))

    def cancel(self, futures: Sequence[Future[list[Answer]]]) -> None:
        self._cancelled = True
        for control in list(self._controls.values()):
            control.cancel()
        for future in futures:
            future.cancel()

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, task: Task) -> Answer:
        control = _core.Control()
        self._controls[id(control)] = control
        try:
            if self._cancelled:
                control.cancel()
            capture = self._trace.capture if self._trace else None
            how = (self._trace, self._how.engine, self._how.threads, capture)
            with ROOM.taking(remembered_estimate_of(task.json).memory_bytes, lambda: control.cancelled):
                run = _core.run(task.json, task.seed, control, *how)
        except _core.InputError as error:
            return Answer(task.key, failure=str(error), wrong=True)
        except _core.RunError as error:
            return Answer(task.key, failure=str(error))
        finally:
            del self._controls[id(control)]
        summary = json.loads(run.summary())
        columns = tables_of(run) if self._store or self._columns else None
        if self._store and columns:
            self._store.put(task.key, summary, columns)
        return Answer(task.key, summary, columns if self._columns else None)


class ExecutorWorkers(Workers):
    """An executor of `concurrent.futures`: gets every run at once, each by itself; what has begun is left alone."""

    def __init__(self, executor: Executor, engine: str, place: Place | None) -> None:
        self._executor = executor
        self._engine = engine
        self._place = place

    def has_room(self, pending: int) -> bool:  # noqa: ARG002
        return True

    def submit(self, tasks: Sequence[Task], done: Done) -> Future[list[Answer]]:
        future = self._executor.submit(run_shard, tasks, _core.fingerprint(), self._engine, self._place)
        future.add_done_callback(done)
        return future

    def cancel(self, futures: Sequence[Future[list[Answer]]]) -> None:
        for future in futures:
            future.cancel()


def processors() -> int:
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
