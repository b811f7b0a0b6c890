"""Runs candidates: here or on a cluster, from the store where it has them, in portions that time allows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from paceline.advise.evidence import Run
from paceline.advise.measures import values_of
from paceline.advise.network import Length, length_of, scenario_of
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
#: Before any run has finished, one of so many packets is taken to last a second.
_PACKETS_S = 1e6


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
        self._took_s = self._of_packets = 0.0

    def __call__(self, pairs: Sequence[tuple[Candidate, int]]) -> Mapping[tuple[Candidate, int], Run]:
        """Raises `RunError` where a run failed, and what `execute` raises."""
        return self.run(self._question, pairs)

    def run(self, question: Question, pairs: Sequence[tuple[Candidate, int]]) -> dict[tuple[Candidate, int], Run]:
        """As a call, of another question's network: a change of this one's."""
        found: dict[tuple[Candidate, int], Run] = {}
        waiting = list(pairs)
        while waiting:
            portion = self._portion(question, len(waiting))
            batch, waiting = waiting[:portion], waiting[portion:]
            began = time.monotonic()
            points = [self._point(question, candidate, seed) for candidate, seed in batch]
            done = execute(points, jobs=self._jobs, executor=self._executor, store=self._store, watch=self._watch)
            if done.failures:
                raise RunError(f"{batch[0][0].name}: {done.failures[0][1]}")
            self.reused += done.reused
            if done.reused < len(batch):
                self._took_s += time.monotonic() - began
                self._of_packets += sum(self._packets(question, one) for one, _ in batch)
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

    def lasts(self, count: int, question: Question | None = None) -> float:
        """How long so many runs will take about, s, of a question's network or this one's, by those that there were."""
        asked = question or self._question
        each = self._packets(asked, Candidate(asked.buffers[0], asked.pacings[0], asked.queues[0]))
        return count * each * (self._took_s / self._of_packets if self._of_packets else 1 / _PACKETS_S)

    def _packets(self, question: Question, candidate: Candidate) -> float:
        """That the core carries in a run, at most."""
        length = self._length or length_of(question, candidate.buffer)
        return length.duration_s * question.rate_bps / 8 / question.packet_bytes

    def _portion(self, question: Question, waiting: int) -> int:
        if self.until == math.inf:
            return waiting
        left = min(_PORTION_S, self.until - time.monotonic())
        return max(self._jobs, min(waiting, int(left / max(self.lasts(1, question), 1e-6))))

    def _point(self, question: Question, candidate: Candidate, seed: int) -> Point:
        point: Point = scenario_of(question, candidate, self._length).seeds([seed]).points()[0]
        return point
