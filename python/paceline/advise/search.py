"""Finds the best of many candidates with few runs.

1. A coarse look, one seed each: for each pacing and queue buffers that theory names, and some between; where the goal
   is the least buffer, the one that theory expects.
2. Closer: between the best and its neighbours buffers are halved until no untried one lies beside the best. Where the
   goal is the least buffer, between one that is too small and the least that does: a larger one is taken to do too.
3. What all runs say of all settings (`surrogate`) tells whom it may pay to know better: the next seeds go to those with
   the largest expected gain beside the best, and to the best while it may miss a bound; until the order is settled, or
   what still competes is worth the same, or the runs or the time are used.

A pacer that left a run as it was to the last digit is the same setting as the simpler one, and is not run again.

Intervals of an answer do not come from these runs, since whoever is best of many is so by luck too: the winner is run
again under seeds that had no part in choosing it (`answer`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paceline.advise.candidates import first_buffers, likely_buffer
from paceline.advise.evidence import Evidence, Runner
from paceline.advise.measures import ALIKE, BUFFER, direction, kept
from paceline.advise.question import Candidate, Pacing, Question

if TYPE_CHECKING:
    from paceline.advise.surrogate import Fitted, Outlook

#: Steps between the buffers of each pacing that are tried first, beside those that theory names where there are many.
_COARSE = 3
#: No candidate gets more seeds in the search; and the search's share of time.
_MOST_SEEDS = 24
#: Where more runs are asked for.
_ASKED_SEEDS = 96
SHARE = 0.5
#: Every candidate under so many seeds is an exhaustive search. This one ends at that share of its runs, less what the
#: statement takes, or at so many.
_EXHAUSTIVE, _SPENT, _STATED, _LEAST_SPENT = 24, 1 / 12, 14, 24
#: Beside the best, so many are looked at more closely.
_CLOSE = 3
#: Where choosing the best in the place of another is expected to cost less of its worth, more seeds are not worth it.
_CHEAP = ALIKE / 4
#: What is worth so much of the best, and is among the best few, gets several seeds: one or two do not show an outlier.
_NEAR, _SEVERAL = 0.9, 4
#: Where no setting keeps the bounds with a larger chance, the nearest is wanted.
_HOPELESS = 0.02

#: Called with the evidence and the best so far.
Watch = Callable[[Evidence, Candidate], None]


@dataclass(slots=True)
class Found:
    """What a search has come to.

    Attributes:
        best: the candidate that is advised. rivals: those that may be as good, the best first.
        settled: whether runs tell it from all others. evidence: all runs. ended: why it ended, in words.
    """

    best: Candidate
    rivals: list[Candidate]
    settled: bool
    evidence: Evidence
    ended: str


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
        whole = _EXHAUSTIVE * len(question.candidates)
        self._most_runs = question.runs or max(_LEAST_SPENT, round(_SPENT * whole) - _STATED)
        self._twins: set[tuple[Pacing, str]] = set()
        self._fitted: dict[str, Fitted] = {}
        self._most_seeds = _ASKED_SEEDS if question.runs else _MOST_SEEDS

    def found(self) -> Found:
        self._look(self._coarse(), 1)
        self._refine(1)
        ended, is_settled = "", False
        while not ended:
            outlook = self._outlook()
            best = self._chosen(outlook)
            wanted = self._wanted(outlook, best)
            if not wanted:
                ended, is_settled = "the order was settled", True
            elif self._is_late():
                ended = "time was over"
            elif self._evidence.count >= self._most_runs:
                ended = f"{self._evidence.count} runs were not enough to settle it; allow more by --runs"
            elif all(len(self._evidence.runs.get(one, {})) >= self._most_seeds for one in wanted):
                ended = f"{self._most_seeds} seeds were not enough to settle it"
            else:
                self._more(wanted)
                self._refine(1)
        rivals = [one for one in self._challengers(outlook, best) if one in self._evidence.runs]
        return Found(best, rivals, is_settled, self._evidence, ended)

    def _outlook(self) -> Outlook:
        from paceline.advise.surrogate import Outlook  # with NumPy, whose threads the other commands do without

        candidates = [one for one in self._question.candidates if not self._is_twin(one)]
        return Outlook(self._evidence, candidates, self._fitted)

    def _chosen(self, outlook: Outlook) -> Candidate:
        """Of those that were run, what is worth most as far as is known, with the chance that it keeps its bounds.

        Where the goal is the buffer, the least of which it is likelier than not that it does: the next larger one is
        what is paid for being sure, and the answer says how sure it is. Of about the same, the smallest buffer and the
        least effort.
        """
        tried = [one for one in outlook.candidates if one in self._evidence.runs]
        if self._question.goal == BUFFER:
            does = [one for one in tried if outlook.chance(one) >= 0.5]
            if does:
                return min(does, key=lambda one: (one.buffer, one.pacing.effort))
        values = {one: outlook.value(one) for one in tried}
        top = max(values.values())
        if max(map(outlook.chance, tried)) < _HOPELESS:
            return min(tried, key=outlook.missed)
        alike = [one for one in tried if values[one] >= top * (1 - ALIKE / 2)]
        return min(alike, key=lambda one: (one.buffer, one.pacing.effort))

    def _challengers(self, outlook: Outlook, best: Candidate) -> list[Candidate]:
        """Those that it may pay to know better, the most first."""
        least = _CHEAP * outlook.worth(best)
        gains = {one: outlook.gain(one, best) for one in outlook.candidates if one != best}
        return sorted((one for one, gain in gains.items() if gain > least), key=lambda one: -gains[one])

    def _wanted(self, outlook: Outlook, best: Candidate) -> list[Candidate]:
        """What is to be run again, or for the first time."""
        evidence = self._evidence
        challengers = self._challengers(outlook, best)[:_CLOSE]
        count = len(evidence.runs[best])
        most = max((len(evidence.runs.get(one, {})) for one in challengers), default=0)
        is_doubtful = outlook.doubt(best) > _CHEAP * outlook.worth(best)
        if challengers or is_doubtful:
            return [*([best] if count < 2 or count <= most or is_doubtful else []), *challengers]
        if self._question.goal == BUFFER:
            return [best] if count < 2 else []
        near = [one for one in outlook.candidates if outlook.value(one) >= _NEAR * outlook.value(best)]
        near.sort(key=lambda one: -outlook.value(one))
        return [
            one
            for one in {best: None, **dict.fromkeys(near[: 1 + _CLOSE])}
            if len(evidence.runs.get(one, {})) < _SEVERAL
        ]

    def _more(self, wanted: list[Candidate]) -> None:
        """One more seed of each, or some where there are many already, as far as that is not more than is left."""
        runs = self._evidence.runs
        left = self._most_runs - self._evidence.count
        pairs = []
        for one in wanted:
            count = len(runs.get(one, {}))
            for number in range(count, min(count + 1 + count // 4, self._most_seeds)):
                pairs.append((one, self._first + number))
        self._evidence.gather(self._runner, pairs[: max(left, 1)])
        if self._watch:
            self._watch(self._evidence, self._best())

    def _is_twin(self, one: Candidate) -> bool:
        """Whether its pacing did to every packet what one of less effort did, in all runs that both have."""
        return (one.pacing, one.queue) in self._twins

    def _find_twins(self) -> None:
        """A pacer that holds no packet back leaves a run as it is, to the last digit."""
        arms: dict[tuple[Pacing, str], dict[tuple[int, int], Mapping[str, float]]] = {}
        for one, runs in self._evidence.runs.items():
            for seed, run in runs.items():
                arms.setdefault((one.pacing, one.queue), {})[one.buffer, seed] = run.values
        order = sorted(arms, key=lambda arm: (self._question.queues.index(arm[1]), arm[0].effort))
        self._twins = set()
        for place, arm in enumerate(order):
            for other in order[:place]:
                common = arms[arm].keys() & arms[other].keys()
                if other not in self._twins and common and all(arms[arm][at] == arms[other][at] for at in common):
                    self._twins.add(arm)
                    break

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

    def _is_late(self) -> bool:
        return time.monotonic() > self._until

    def _look(self, candidates: list[Candidate], seeds: int) -> None:
        wanted = [(one, self._first + number) for number in range(seeds) for one in dict.fromkeys(candidates)]
        self._evidence.gather(self._runner, wanted)
        self._find_twins()
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
                own = [one for one in self._ranked() if not self._is_twin(one)]
                new = [other for one in own[:_CLOSE] for other in self._between(one)]
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
                if (pacing, queue) in self._twins:
                    continue
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
