"""Runs candidates: here or on a cluster, from the store where it has them, in portions that time allows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from paceline.advise.evidence import Run
from paceline.advise.measures import values_of
from paceline.advise.network import Length, scenario_of
from paceline.advise.question import Candidate, Question
from paceline.errors import RunError
from paceline.runs.execute import execute
from paceline.runs.workers import processors

if TYPE_CHECKING:
    from distributed import Client

    from paceline.scenario import Point
    from paceline.store import Store

#: Runs are handed over in portions of about so long, s: after each, time is looked at.
_PORTION_S = 4.0


class Simulator:
    """Runs pairs of candidate and seed; a `Runner`.

    Attributes:
        count: runs asked for. reused: those that the store had. cpu_s: spent by all others.
    """

    def __init__(
        self,
        question: Question,
        *,
        store: Store | None = None,
        jobs: int | None = None,
        executor: Executor | Client | None = None,
        until: float = math.inf,
        length: Length | None = None,
        watch: Callable[[float, int, int], None] | None = None,
    ) -> None:
        self._question = question
        self._store = store
        self._jobs = jobs or processors()
        self._executor = executor
        self._watch = watch
        self._points: dict[Candidate, Any] = {}
        self.until = until
        self._length = length
        self.count = self.reused = 0
        self.cpu_s = 0.0

    def __call__(self, pairs: Sequence[tuple[Candidate, int]]) -> Mapping[tuple[Candidate, int], Run]:
        """Raises `RunError` where a run failed, and what `execute` raises."""
        return self.run(self._question, pairs)

    def run(self, question: Question, pairs: Sequence[tuple[Candidate, int]]) -> dict[tuple[Candidate, int], Run]:
        """As a call, of another question's network: a change of this one's."""
        found: dict[tuple[Candidate, int], Run] = {}
        waiting = list(pairs)
        while waiting:
            portion = self._portion(len(waiting))
            batch, waiting = waiting[:portion], waiting[portion:]
            points = [self._point(question, candidate, seed) for candidate, seed in batch]
            done = execute(points, jobs=self._jobs, executor=self._executor, store=self._store, watch=self._watch)
            if done.failures:
                raise RunError(f"{batch[0][0].name}: {done.failures[0][1]}")
            self.reused += done.reused
            for pair, run in zip(batch, done.runs, strict=True):
                assert run is not None
                cpu_s = float(run["engine"].get("cpu_s") or 0.0)
                packets = run["links"]["core"]["arrived_packets"]
                found[pair] = Run(values_of(run, question), cpu_s, float(packets))
                self.count += 1
                self.cpu_s += cpu_s
            if time.monotonic() > self.until:
                break
        return found

    def mean_cpu_s(self) -> float | None:
        """Of one run; ``None`` while none has finished."""
        return self.cpu_s / self.count if self.count else None

    def _portion(self, waiting: int) -> int:
        if self.until == math.inf:
            return waiting
        if (each := self.mean_cpu_s()) is None:
            return min(waiting, 2 * self._jobs)
        return max(self._jobs, int(_PORTION_S * self._jobs / max(each, 1e-4)))

    def _point(self, question: Question, candidate: Candidate, seed: int) -> Point:
        point: Point = scenario_of(question, candidate, self._length).seeds([seed]).points()[0]
        return point
