"""Drives runs to their end: what is stored is read, what another process runs is waited for, the rest is handed out.

Each run is leased from the store before it is handed out, and given back when it is kept or has failed. A run whose
lease is held elsewhere is looked at again and again: either it appears in the store, or its lease comes free, because
its holder failed or died, and it is ours.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from paceline.errors import InputError, RunError, StoreError
from paceline.runs.shards import Answer, Task
from paceline.store.run_archive import packed_columns, unpack_run

if TYPE_CHECKING:
    from paceline.runs.execute import Execution
    from paceline.runs.workers import Workers
    from paceline.scenario import Point
    from paceline.store import Store
    from paceline.terminal.progress import Watch

_POLL_S = 0.1
#: How often to look at what others run.
_OTHERS_S = 0.5
#: After so long with nothing to do but wait it is said for whom.
_PATIENCE_S = 2.0
#: What a run costs at least, s: one of no time would be nothing of what is done.
_LEAST_S = 1e-6


class Driver:
    """One call of `execute`."""

    def __init__(
        self,
        done: Execution,
        workers: Workers,
        store: Store | None,
        *,
        reuse: bool,
        keep_columns: bool,
        tell: Callable[[str], object],
    ) -> None:
        self._done = done
        self._workers = workers
        self._store = store
        self._shared = store if reuse else None
        self._keep_columns = keep_columns
        self._numbers: dict[str, list[int]] = {}
        for number, point in enumerate(done.points):
            self._numbers.setdefault(point.key, []).append(number)
        self._todo = deque(_seed_by_seed([done.points[numbers[0]] for numbers in self._numbers.values()]))
        self._others: list[str] = []
        self._others_at = 0.0
        self._tell = tell
        self._idle_since: float | None = None
        self._told: list[str] = []
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._costs = Costs()
        self._finished = 0
        self.pending: dict[Any, list[str]] = {}

    def drive(self, watch: Watch | None) -> None:
        """Until every point has its run, or has failed."""
        for key in self._numbers:
            self._costs.expect(self._point(key).json)
        self._todo = deque(key for key in self._todo if not self._in_store(key, first=True))
        while self._todo or self.pending or self._others:
            self._hand_out()
            if watch:
                watch(self._costs.share(self._workers.fraction()), self._finished, len(self._done.points))
            self._workers.check()
            self._collect(_POLL_S)
            self._look_at_others()
            self._say_for_whom()

    def collect_finished(self) -> None:
        """After an interrupt: what has come in meanwhile."""
        while self.pending and not self._answers.empty():
            self._collect(0)
        for key, numbers in self._numbers.items():
            if self._done.runs[numbers[0]] is None:
                self._in_store(key)  # a worker has put it there, and we have not heard yet

    def release(self) -> None:
        """Gives back every lease."""
        if self._shared:
            for key in self._numbers:
                self._shared.leases.release(key)
            self._shared.leases.retire()

    def _hand_out(self) -> None:
        while self._todo and self._workers.has_room(len(self.pending)):
            shard: list[str] = []
            cost = 0.0
            while self._todo:
                key = self._todo[0]
                expected = self._costs.of(self._point(key).json)
                if shard and (expected is None or cost + expected > self._workers.shard_s):
                    break
                self._todo.popleft()
                if self._ours(key):
                    shard.append(key)
                    cost += self._workers.shard_s if expected is None else expected
            if shard:
                points = [self._point(key) for key in shard]
                tasks = [Task(point.key, point.json, point.seed) for point in points]
                self.pending[self._workers.submit(tasks, self._answers.put)] = shard

    def _ours(self, key: str) -> bool:
        """Whether to run it: not if another process does, or has done meanwhile."""
        if self._shared is None:
            return True
        if not self._shared.leases.take(key):
            self._others.append(key)
            return False
        if not self._in_store(key):
            return True
        self._shared.leases.release(key)
        return False

    def _in_store(self, key: str, *, first: bool = False) -> bool:
        if self._shared is None or not self._shared.has(key):
            return False
        run = self._shared.get(key, self._point(key).seed, self._done.damaged.append if first else None)
        if run is None:
            return False
        self._settle(key, run, self._shared.columns(key) if self._keep_columns else None)
        self._done.reused += len(self._numbers[key])
        return True

    def _look_at_others(self) -> None:
        if not self._others or time.monotonic() - self._others_at < _OTHERS_S:
            return
        self._others_at = time.monotonic()
        others, self._others = self._others, []
        for key in others:
            if not self._in_store(key) and self._ours(key):
                self._todo.append(key)

    def _say_for_whom(self) -> None:
        """Where there is nothing to do but wait for others: which, once."""
        if self._shared is None or self._todo or self.pending or not self._others:
            self._idle_since = None
            return
        self._idle_since = self._idle_since or time.monotonic()
        if time.monotonic() - self._idle_since < _PATIENCE_S:
            return
        holders = self._shared.leases.holders() or ["a process that does not say which"]
        if holders != self._told:
            self._told = holders
            count = f"{len(self._others)} run{'s' * (len(self._others) != 1)}"
            self._tell(f"{self._shared.directory}: waiting for {count} of {', '.join(holders)}")

    def _collect(self, timeout: float) -> None:
        """What has come in, waiting for the first so many seconds."""
        try:
            futures = [self._answers.get(timeout=timeout) if timeout else self._answers.get_nowait()]
            while not self._answers.empty():
                futures.append(self._answers.get_nowait())
        except queue.Empty:
            return
        for future in futures:
            shard = self.pending.pop(future, None)
            if shard is None:
                continue
            try:
                answers = self._workers.answers(future)
            except (InputError, RunError, StoreError):
                raise
            except Exception as error:
                why = " ".join(f"{type(error).__name__}: {error}".split())
                answers = [Answer(key, failure=why) for key in shard]
            for answer in answers:
                self._take(answer)

    def _take(self, answer: Answer) -> None:
        key, run, columns = answer.key, answer.run, answer.columns
        if answer.wrong:
            raise InputError(str(answer.failure))
        if answer.packed is not None:
            if self._store:
                self._store.put_packed(key, answer.packed)
            run = unpack_run(answer.packed, key, self._point(key).seed)
            columns = {name: dict(table) for name, table in packed_columns(answer.packed).items()}
        elif run is None and self._store:
            run = self._store.get(key, self._point(key).seed)
        if answer.failure is not None:
            self._done.failures.append((self._point(key), " ".join(answer.failure.split())))
            self._finished += len(self._numbers[key])
        elif run is None:  # said to be in the store, and is not whole
            self._todo.append(key)
            return
        else:
            self._settle(key, run, columns if self._keep_columns else None)
        if self._shared:
            self._shared.leases.release(key)

    def _settle(self, key: str, run: dict[str, Any], columns: Any = None) -> None:
        self._costs.learn(self._point(key).json, run["engine"].get("cpu_s") or 0.0)
        self._finished += len(self._numbers[key])
        for number in self._numbers[key]:
            self._done.runs[number] = with_settings(self._done.points[number], run)
            self._done.columns[number] = columns

    def _point(self, key: str) -> Point:
        return self._done.points[self._numbers[key][0]]


class Costs:
    """What a run of each setting costs, learnt from those that have finished; others are taken for the mean of all.

    Sums are kept, not made anew: they are asked for many times a second, of sweeps of a hundred thousand settings.
    """

    def __init__(self) -> None:
        self._wanted: dict[str, int] = {}
        self._finished: dict[str, int] = {}
        self._spent: dict[str, float] = {}
        self._all_finished = 0
        self._all_spent = 0.0
        #: Expected time of all runs of settings of which one has finished, s, and how many runs the others have.
        self._known_s = 0.0
        self._unknown = 0

    def expect(self, setting: str) -> None:
        """A run of this setting is wanted."""
        self._wanted[setting] = self._wanted.get(setting, 0) + 1
        if setting in self._finished:
            self._known_s += self._spent[setting] / self._finished[setting]
        else:
            self._unknown += 1

    def learn(self, setting: str, cpu_s: float) -> None:
        """A run of this setting has finished."""
        cpu_s = max(cpu_s, _LEAST_S)
        wanted = self._wanted.get(setting, 0)
        if setting in self._finished:
            self._known_s -= wanted * self._spent[setting] / self._finished[setting]
        else:
            self._unknown -= wanted
        self._finished[setting] = self._finished.get(setting, 0) + 1
        self._spent[setting] = self._spent.get(setting, 0.0) + cpu_s
        self._known_s += wanted * self._spent[setting] / self._finished[setting]
        self._all_finished += 1
        self._all_spent += cpu_s

    def of(self, setting: str) -> float | None:
        """Expected processor time, s; ``None`` while nothing has finished."""
        if setting in self._finished:
            return self._spent[setting] / self._finished[setting]
        return self._all_spent / self._all_finished if self._all_finished else None

    def share(self, running: float) -> float:
        """How much is done, 0 to 1, of all that is wanted; `running` is the runs under way, added up."""
        mean = self._all_spent / self._all_finished if self._all_finished else 1.0
        total = self._known_s + self._unknown * mean
        return min(1.0, (self._all_spent + running * mean) / total) if total > 0 else 1.0


def with_settings(point: Point, run: dict[str, Any]) -> dict[str, Any]:
    """A run of the contract, in the contract's order."""
    order = ("seed", "window_s", "links", "flows", "groups", "engine")
    return {"settings": dict(point.settings)} | {key: run[key] for key in order} | run


def _seed_by_seed(points: Sequence[Point]) -> list[str]:
    """Keys, every setting's first seed before any setting's second: what a setting costs is known soon."""
    met: dict[str, int] = {}
    rounds: list[tuple[int, str]] = []
    for point in points:
        rounds.append((met.get(point.json, 0), point.key))
        met[point.json] = rounds[-1][0] + 1
    return [key for _, key in sorted(rounds, key=lambda one: one[0])]
