"""Finds the best of many candidates with few runs.

1. A coarse look, one seed each: for each pacing and queue buffers that theory names, and some between; where the goal
   is the least buffer, the one that theory expects.
2. Closer: between the best and its neighbours buffers are halved until no untried one lies beside the best. Where the
   goal is the least buffer, between one that is too small and the least that does: a larger one is taken to do too.
3. Successive halving: of those that may still be the best, the better half gets twice as many seeds, the same for all,
   until the order is settled, or what still competes is worth the same, or time is over.

Intervals of an answer do not come from these runs, since whoever is best of many is so by luck too: the winner is run
again under seeds that had no part in choosing it (`answer`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from paceline.advise.candidates import first_buffers, likely_buffer
from paceline.advise.evidence import Evidence, Runner
from paceline.advise.measures import ALIKE, BUFFER, direction, kept
from paceline.advise.question import Candidate, Pacing, Question

#: Steps between the buffers of each pacing that are tried first, beside those that theory names where there are many.
_COARSE = 3
#: No candidate gets more seeds in the search, nor one that is tried late more at once; and the search's share of time.
_MOST_SEEDS, _LATE_SEEDS = 12, 4
#: Where more runs are asked for.
_ASKED_SEEDS = 96
SHARE = 0.5
#: Every candidate under so many seeds is an exhaustive search. This one ends at that share of its runs, or at so many.
_EXHAUSTIVE, _SPENT, _LEAST_SPENT = 24, 1 / 20, 32
#: Beside the best, so many are looked at more closely.
_CLOSE = 3
#: A good half of what competes stays, so many at least and at most.
_KEPT, _MOST_KEPT = 2, 4
#: Where choosing the best in the place of another is expected to cost less of its worth, more seeds are not worth it;
#: unless the other's chance to keep its bounds is larger by so much.
_CHEAP, _SAFER = ALIKE / 4, 0.1

#: Called with the evidence and the best so far.
Watch = Callable[[Evidence, Candidate], None]


@dataclass(slots=True)
class Found:
    """What a search has come to.

    Attributes:
        best: the candidate that is advised. rivals: those that may be as good, the best first.
        settled: whether runs tell it from all others. evidence: all runs. rounds: how often candidates were cut.
        ended: why it ended, in words.
    """

    best: Candidate
    rivals: list[Candidate]
    settled: bool
    evidence: Evidence
    ended: str
    rounds: int = 0
    dropped: dict[Candidate, int] = field(default_factory=dict)


def search(
    question: Question,
    runner: Runner,
    watch: Watch | None = None,
    began: float | None = None,
    scout: tuple[Question, Runner] | None = None,
) -> Found:
    """Searches until the order is settled, or the search's share of the question's time has passed.

    A `scout` is a smaller network, which is looked at once first: what does best there is tried first here.
    """
    began = time.monotonic() if began is None else began
    places: dict[tuple[Pacing, str], set[int]] = {}
    if scout:
        places = _Search(scout[0], scout[1], watch, began).places()
    return _Search(question, runner, watch, began, places).found()


class _Search:
    def __init__(
        self,
        question: Question,
        runner: Runner,
        watch: Watch | None,
        began: float,
        places: Mapping[tuple[Pacing, str], set[int]] | None = None,
    ) -> None:
        self._places = places or {}
        self._question = question
        self._runner = runner
        self._watch = watch
        self._until = began + SHARE * question.within_s
        self._evidence = Evidence(question)
        self._first = question.seed
        self._most_runs = question.runs or max(_LEAST_SPENT, _SPENT * _EXHAUSTIVE * len(question.candidates))
        self._most_seeds = _ASKED_SEEDS if question.runs else _MOST_SEEDS

    def found(self) -> Found:
        self._look(self._coarse(), 1)
        self._refine(1)
        seeds, rounds = 1, 0
        dropped: dict[Candidate, int] = {}
        ended = f"{self._most_seeds} seeds were not enough to settle it"
        while True:
            rivals = self._rivals()
            if not rivals and seeds == 1:
                rivals = self._ranked()[1 : 1 + _CLOSE]  # how much runs spread is not known from one of each
            if not rivals and self._is_sure():
                ended = "the order was settled"
                break
            if seeds >= self._most_seeds:
                break
            if self._is_late():
                ended = "time was over"
                break
            if self._evidence.count >= self._most_runs:
                ended = f"{self._evidence.count} runs were not enough to settle it; allow more by --runs"
                break
            kept = rivals[: min(max(_KEPT, math.ceil(len(rivals) / 2)), _MOST_KEPT)]
            dropped |= {one: seeds for one in rivals if one not in kept}
            seeds = self._next_seeds(seeds, [self._best(), *kept])
            self._look([self._best(), *kept], seeds)
            self._refine(min(seeds, _LATE_SEEDS))
            while len(self._evidence.runs[self._best()]) < seeds and not self._is_late():
                if self._evidence.count >= self._most_runs and seeds > _MOST_SEEDS:
                    break
                self._look([self._best()], seeds)  # one that leads by few runs leads by luck
            rounds += 1
        self._decide_bounds()
        best = self._choice()
        rivals = [one for one in [self._best(), *self._rivals()] if one != best]
        return Found(
            best, list(dict.fromkeys(rivals)), ended == "the order was settled", self._evidence, ended, rounds, dropped
        )

    def places(self) -> dict[tuple[Pacing, str], set[int]]:
        """After one seed of each: for each pacing and queue the place of the best buffer."""
        self._look(self._coarse(), 1)
        self._refine(1, every=True)
        found: dict[tuple[Pacing, str], set[int]] = {}
        for one in self._ranked():
            arm = (one.pacing, one.queue)
            if arm not in found:
                found[arm] = {self._question.buffers.index(one.buffer)}
        return found

    def _decide_bounds(self) -> None:
        """Where a bound alone speaks against what is worth most, it and what would be chosen instead get more seeds."""
        while not self._is_late() and (choice := self._choice()) != (best := self._best()):
            if self._evidence.keeps_bounds(best) is not None or not self._question.bounds:
                break
            seeds = min(len(self._evidence.runs[one]) for one in (choice, best)) + 2
            if seeds > self._most_seeds:
                break
            self._look([best, choice], seeds)

    def _next_seeds(self, seeds: int, candidates: list[Candidate]) -> int:
        """Twice as many, as far as that is not more runs than are left; one more at least."""
        runs = self._evidence.runs

        def needed(wanted: int) -> int:
            return sum(max(0, wanted - len(runs[one])) for one in candidates)

        left = self._most_runs - self._evidence.count
        most = min(2 * seeds, self._most_seeds)
        return next((one for one in range(most, seeds, -1) if needed(one) <= left), seeds + 1)

    def _is_late(self) -> bool:
        return time.monotonic() > self._until

    def _look(self, candidates: list[Candidate], seeds: int) -> None:
        wanted = [(one, self._first + number) for number in range(seeds) for one in dict.fromkeys(candidates)]
        self._evidence.gather(self._runner, wanted)
        if self._watch:
            self._watch(self._evidence, self._best())

    def _coarse(self) -> list[Candidate]:
        question = self._question
        count = len(question.buffers)
        found = []
        for queue in question.queues:
            for pacing in question.pacings:
                if (pacing, queue) in self._places:
                    places = self._places[pacing, queue]
                elif question.goal == BUFFER:
                    places = {likely_buffer(question, pacing.method)}
                else:
                    places = {round(step * (count - 1) / _COARSE) for step in range(_COARSE + 1)}
                    places |= set(first_buffers(question)) if count > 4 * _COARSE else set()
                found += [Candidate(question.buffers[place], pacing, queue) for place in sorted(places)]
        return found

    def _refine(self, seeds: int, *, every: bool = False) -> None:
        """Until no untried buffer lies between the best few and their neighbours; or `every` pacing's."""
        while not self._is_late():
            if self._question.goal == BUFFER:
                new = self._thresholds(every)
            else:
                new = [other for one in self._ranked()[:_CLOSE] for other in self._between(one)]
            if not new:
                return
            self._look(new, seeds)

    def _thresholds(self, every: bool) -> list[Candidate]:
        """For each pacing, where to look for the least buffer that does.

        Halfway between one that is too small and the least that does; where none does yet, twice as far from the last
        one as that was from the one before. Not for a pacing that cannot be better any more, but for the one of least
        effort: so that the answer can say what it takes without the others.
        """
        question, evidence = self._question, self._evidence
        best = self._best()
        limit = question.buffers.index(best.buffer) if evidence.worth(best) > 0 else len(question.buffers)
        new = []
        for queue in question.queues:
            for pacing in question.pacings:
                tried = {
                    question.buffers.index(one.buffer): evidence.means(one)
                    for one in evidence.runs
                    if (one.pacing, one.queue) == (pacing, queue)
                }
                is_first = pacing == question.pacings[0] and queue == question.queues[0]
                place = self._next_place(tried, len(question.buffers) if is_first or every else limit)
                if place is not None:
                    new.append(Candidate(question.buffers[place], pacing, queue))
        return new

    def _next_place(self, tried: dict[int, dict[str, float]], limit: int) -> int | None:
        """Where to look next among one pacing's buffers, below `limit`; ``None`` where there is nothing to find."""
        question = self._question
        ways = {place: direction(question, values) for place, values in tried.items()}
        does = [place for place, values in tried.items() if kept(question, values)]
        top = min(does, default=limit)
        low = max((place for place, way in ways.items() if place < top and place not in does and way >= 0), default=-1)
        if does:
            if limit <= top:  # it must do with less than the best so far
                return limit - 1 if low + 1 < limit else None
            return (low + top) // 2 if top - low > 1 else None
        if not tried:
            return None
        high = min((place for place, way in ways.items() if way < 0), default=len(question.buffers))
        if low + 1 >= min(limit, high):
            return None
        if high < len(question.buffers):
            return (low + high) // 2
        step = 2 * len(ways)
        return min(low + step, len(question.buffers) - 1, max(limit - 1, low + 1))

    def _between(self, one: Candidate) -> list[Candidate]:
        """Untried buffers halfway to the next tried ones on either side."""
        buffers = self._question.buffers
        tried = sorted(
            buffers.index(other.buffer)
            for other in self._evidence.runs
            if (other.pacing, other.queue) == (one.pacing, one.queue)
        )
        at = tried.index(buffers.index(one.buffer))
        halves = []
        for beside in (at - 1, at + 1):
            if 0 <= beside < len(tried) and abs(tried[beside] - tried[at]) > 1:
                halves.append((tried[beside] + tried[at]) // 2)
        return [Candidate(buffers[place], one.pacing, one.queue) for place in halves]

    def _ranked(self) -> list[Candidate]:
        """By worth as far as it is known; of equals the smallest buffer, then the least effort."""
        evidence = self._evidence
        return sorted(evidence.runs, key=lambda one: (-evidence.worth(one), one.buffer, one.pacing.effort))

    def _best(self) -> Candidate:
        return self._ranked()[0]

    def _choice(self) -> Candidate:
        """The best; where the goal is measured, by what it is worth times the chance that it keeps its bounds.

        Of those whose product is about the same, the smallest buffer and the least effort. Where the goal is the
        buffer, the next larger one is what is paid for being sure, and the answer says how sure it is.
        """
        evidence, best = self._evidence, self._best()
        if self._question.goal == BUFFER or evidence.worth(best) <= 0:
            return best
        most = max(map(len, evidence.runs.values()))
        known = {
            one: evidence.worth(one) * evidence.chance(one)
            for one, runs in evidence.runs.items()
            if 2 * len(runs) >= most and evidence.worth(one) > 0
        }
        if not known:
            return best
        top = max(known.values())
        alike = [one for one, value in known.items() if value >= top * (1 - ALIKE / 2)]
        return min(alike, key=lambda one: (one.buffer, one.pacing.effort))

    def _rivals(self) -> list[Candidate]:
        """Those that may be better than the best by more than what counts as alike."""
        evidence, best = self._evidence, self._best()
        low, _ = evidence.range_of_worth(best)
        found = []
        for one in self._ranked()[1:]:
            if evidence.range_of_worth(one)[1] <= max(low, 0.0) + 1e-12 and low > 0:
                continue
            if self._is_beaten(best, one):
                continue
            found.append(one)
        return found

    def _is_sure(self) -> bool:
        """Whether runs tell that the best keeps its bounds, or does not."""
        return self._evidence.keeps_bounds(self._best()) is not None or not self._question.bounds

    def _is_beaten(self, best: Candidate, one: Candidate) -> bool:
        """Whether runs show that the other is no better."""
        evidence = self._evidence
        keeps = evidence.keeps_bounds(one)
        if evidence.keeps_bounds(best) and keeps is False and len(evidence.runs[one]) > 1:
            return True
        if self._question.goal == BUFFER:
            worse = (one.buffer, one.pacing.effort) > (best.buffer, best.pacing.effort)
            return worse and evidence.keeps_bounds(best) is True
        if evidence.chance(one) > evidence.chance(best) + _SAFER or evidence.worth(best) <= 0:
            return False
        return len(evidence.runs[one]) > 1 and evidence.forgone(best, one) < _CHEAP
