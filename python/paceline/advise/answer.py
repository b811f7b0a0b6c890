"""From what a search has found to an answer: fresh runs of the winner, the table, what is ruled out, and the sentence.

The winner of many is the best by luck too, so what is stated of it comes from seeds that had no part in choosing it.
Where those show that it misses a bound, the next best is stated instead, and the answer says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from paceline._statistics import Interval
from paceline.advise import words
from paceline.advise.evidence import Evidence, Runner
from paceline.advise.measures import ALIKE, BUFFER, MEASURES, TOLERANCE, shortfall
from paceline.advise.question import Bound, Candidate, Question
from paceline.advise.search import Found

#: Seeds of statements begin here, far from those of the search.
FRESH = 100_000
#: Every statement rests on so many seeds at least, and at most; where time does not allow, on two.
_LEAST, _MOST, _STEP, _FEWEST = 6, 8, 2, 2
#: Of what only stands beside it fewer tell enough.
_BESIDE = 4
#: So often a winner that fresh runs refute is replaced.
_MOST_REFUTED = 3
#: Rows of the table.
_MOST_ROWS = 8

SETTLED, TIE, UNDECIDED, UNREACHABLE = "settled", "tie", "undecided", "unreachable"


@dataclass(frozen=True, slots=True)
class Row:
    """One setting of the answer's table.

    Attributes:
        candidate: the setting. intervals: of each measure. seeds: runs behind them. fresh: whether these had no part
        in the choice. keeps: whether they show that all bounds are kept, or not; ``None`` where an interval holds one.
    """

    candidate: Candidate
    intervals: dict[str, Interval]
    seeds: int
    fresh: bool
    keeps: bool | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is stated.

    Attributes:
        status: ``settled``, ``tie``, ``undecided`` or ``unreachable``. best: the advised setting. rival: the next
        best, if one competes. baseline: the least that does under the first pacing, where that is another. alike:
        settings that are worth as much. rows: the table. ruled_out: names and why. refuted: settings that the search
        chose and fresh runs refuted. alone: of each bound, whether a setting that was tried keeps it.
    """

    status: str
    best: Row
    rival: Row | None
    baseline: Row | None
    safe: Row | None
    alike: list[Candidate]
    maybe: list[Candidate]
    rows: list[Row]
    ruled_out: list[tuple[str, str]]
    refuted: list[Candidate]
    alone: tuple[bool, ...]


def state(
    question: Question,
    found: Found,
    runner: Runner,
    until: float,
    lasts: Callable[[int], float] = lambda _: 0.0,
) -> Verdict:
    """Runs what is to be stated under fresh seeds, until `until` (monotonic), and judges.

    `lasts` says how long so many runs take, s.
    """
    fresh = Evidence(question)

    def seeds_for(candidates: list[Candidate], shares: int = 1) -> int:
        """As many as there is time for, where others will need as much of it."""
        left = (until - time.monotonic()) / shares
        return next((one for one in range(_LEAST, _FEWEST, -1) if lasts(one * len(candidates)) <= left), _FEWEST)

    best = found.best
    refuted: list[Candidate] = []
    while True:
        _more(fresh, [best], seeds_for([best], 2), runner)
        if fresh.keeps_bounds(best) is not False or found.evidence.worth(best) <= 0:
            break
        if len(refuted) == _MOST_REFUTED or (instead := _next_best(found, {best, *refuted})) is None:
            break
        refuted.append(best)
        best = instead
    rival = next((one for one in _rivals(question, found) if one != best and one not in refuted), None)
    baseline = _baseline(question, found, best)
    beside = [one for one in (baseline, rival) if one]
    if beside and time.monotonic() + lasts(_FEWEST * len(beside)) < until:
        seeds = seeds_for(beside)
        for one in beside:
            _more(fresh, [one], seeds if one == rival else min(seeds, _BESIDE), runner)
    if rival and _is_better(question, found, fresh, rival, best):
        beside = [best, *(one for one in beside if one != rival)]
        best, rival = rival, best
        baseline = _baseline(question, found, best)
    seeds = len(fresh.runs[best])
    while seeds < _MOST and not _is_precise(fresh, best):
        if time.monotonic() + lasts(_STEP) > until:
            break
        seeds += _STEP
        _more(fresh, [best], seeds, runner)
    if refuted and fresh.worth(best) < fresh.worth(refuted[0]):
        best = refuted[0]
    safe = _larger(question, best) if question.goal == BUFFER and fresh.keeps_bounds(best) is None else None
    if safe and time.monotonic() + lasts(_FEWEST) < until:
        _more(fresh, [safe], seeds_for([safe]), runner)
        if _both(found, fresh, best).worth(best) <= 0 < _both(found, fresh, safe).worth(safe):
            refuted.append(best)
            best, safe = safe, None
        beside.append(safe or refuted[-1])
    alike, maybe = _alike(question, found, best)
    status = _status(question, found, fresh, best, rival, refuted, alike)
    rows = _table(question, found, fresh, best, beside)
    named = {one.candidate: one for one in rows}
    return Verdict(
        status,
        named[best],
        named.get(rival) if rival else None,
        named.get(baseline) if baseline else None,
        named.get(safe) if safe else None,
        alike,
        maybe,
        rows,
        _ruled_out(question, found, best),
        refuted,
        tuple(_is_kept_somewhere(found.evidence, one) for one in question.bounds),
    )


def _is_better(question: Question, found: Found, fresh: Evidence, rival: Candidate, best: Candidate) -> bool:
    """Whether all runs of both, those of the search and the fresh ones, have the rival ahead of what was chosen.

    Half of what counts as alike is not enough for that.
    """
    if question.goal == BUFFER or rival not in fresh.runs or fresh.keeps_bounds(rival) is False:
        return False
    both = _both(found, fresh, best, rival)
    ours, theirs = (both.worth(one) * both.chance(one) if both.worth(one) > 0 else 0.0 for one in (best, rival))
    return theirs > ours * (1 + ALIKE / 2)


def _both(found: Found, fresh: Evidence, *candidates: Candidate) -> Evidence:
    """The search's runs and the fresh ones."""
    runs = {one: found.evidence.runs.get(one, {}) | fresh.runs.get(one, {}) for one in candidates}
    return Evidence(fresh.question, runs)


def _is_kept_somewhere(evidence: Evidence, bound: Bound) -> bool:
    return any(shortfall(bound, evidence.means(one).get(bound.measure)) <= TOLERANCE for one in evidence.runs)


def _more(fresh: Evidence, candidates: list[Candidate], seeds: int, runner: Runner) -> None:
    first = fresh.question.seed + FRESH
    fresh.gather(runner, [(one, first + number) for number in range(seeds) for one in candidates])


def _is_precise(fresh: Evidence, best: Candidate) -> bool:
    """Whether the goal and what is bounded are known as closely as asked, and each bound is settled."""
    question = fresh.question
    names = {one.measure for one in question.bounds} | ({question.goal} - {BUFFER})
    if fresh.keeps_bounds(best) is None:
        return False
    for name in names:
        value = fresh.interval(best, name)
        if value is None or value.half is None:
            return False
        if value.half > question.precision * max(abs(value.mean), 0.01 if MEASURES[name].kind == "share" else 0.0):
            return False
    return True


def _next_best(found: Found, without: set[Candidate]) -> Candidate | None:
    """Another that keeps its bounds by the search's runs."""
    evidence = found.evidence
    others = [one for one in evidence.runs if one not in without and evidence.worth(one) > 0]
    return max(others, key=lambda one: (evidence.worth(one), -one.buffer, -one.pacing.effort), default=None)


def _baseline(question: Question, found: Found, best: Candidate) -> Candidate | None:
    """The best under the first pacing and queue: what there is without the advice."""
    first = (question.pacings[0], question.queues[0])
    if (best.pacing, best.queue) == first:
        return None
    own = [one for one in found.evidence.runs if (one.pacing, one.queue) == first]
    return max(own, key=lambda one: (found.evidence.worth(one), -one.buffer), default=None)


def _rivals(question: Question, found: Found) -> list[Candidate]:
    """What competes; where the goal is measured, the second best at least: fresh runs have the last word on it."""
    if question.goal == BUFFER or found.rivals:
        return found.rivals
    evidence = found.evidence
    return sorted(evidence.runs, key=lambda one: (-evidence.worth(one), one.buffer, one.pacing.effort))[:2]


def _larger(question: Question, best: Candidate) -> Candidate | None:
    """The next larger buffer that may be, under the same pacing."""
    place = question.buffers.index(best.buffer) + 1
    return replace(best, buffer=question.buffers[place]) if place < len(question.buffers) else None


def _alike(question: Question, found: Found, best: Candidate) -> tuple[list[Candidate], list[Candidate]]:
    """Those that runs do not tell from the best: as small a buffer that does too, or a goal worth the same.

    The second are those with as small a buffer of which runs do not say whether they do.
    """
    evidence = found.evidence
    others = [one for one in evidence.runs if one != best and evidence.worth(one) > 0]
    if question.goal == BUFFER:
        small = [one for one in others if one.buffer <= best.buffer]
        sure = [one for one in small if evidence.keeps_bounds(one)]
        return sure, [one for one in small if one not in sure]
    alike = []
    for one in others:
        ahead = evidence.ahead(best, one)
        if ahead and ahead.half is not None and abs(ahead.mean) <= max(ALIKE, ahead.half) and ahead.count > 1:
            alike.append(one)
    return sorted(alike, key=lambda one: (one.buffer, one.pacing.effort)), []


def _status(
    question: Question,
    found: Found,
    fresh: Evidence,
    best: Candidate,
    rival: Candidate | None,
    refuted: list[Candidate],
    alike: list[Candidate],
) -> str:
    if fresh.worth(best) <= 0 and fresh.keeps_bounds(best) is False:
        return UNREACHABLE if found.evidence.worth(found.best) <= 0 or refuted else UNDECIDED
    if question.bounds and fresh.keeps_bounds(best) is None:
        return UNDECIDED
    if rival and question.goal != BUFFER and not refuted:
        ahead = fresh.ahead(best, rival)
        if ahead is None or ahead.half is None or ahead.low <= 0:
            alike.extend([rival] * (rival not in alike))
            return TIE if ahead and ahead.mean > -ALIKE else UNDECIDED
    if refuted or not found.settled:
        competing = [one for one in found.rivals if one != best]
        if question.goal != BUFFER and competing and all(one in alike for one in competing) and not refuted:
            return TIE
        return UNDECIDED
    return TIE if alike and question.goal != BUFFER else SETTLED


def _row(found: Found, fresh: Evidence, candidate: Candidate) -> Row:
    is_fresh = len(fresh.runs.get(candidate, {})) > 1
    evidence = fresh if is_fresh else found.evidence
    intervals = {name: value for name in MEASURES if (value := evidence.interval(candidate, name))}
    keeps = evidence.keeps_bounds(candidate)
    return Row(candidate, intervals, len(evidence.runs[candidate]), is_fresh, keeps)


def _table(question: Question, found: Found, fresh: Evidence, best: Candidate, beside: list[Candidate]) -> list[Row]:
    """The best, what it is compared with, each pacing's best, and settings that nothing else is better than in all."""
    evidence = found.evidence
    chosen = dict.fromkeys([best, *beside])
    for pacing in question.pacings:
        for queue in question.queues:
            own = [one for one in evidence.runs if (one.pacing, one.queue) == (pacing, queue)]
            if own:
                chosen.setdefault(max(own, key=lambda one: (evidence.worth(one), -one.buffer)))
    front = [one for one in evidence.runs if not any(_dominates(evidence, other, one) for other in evidence.runs)]
    front.sort(key=lambda one: -len(evidence.runs[one]))
    for one in front:
        if len(chosen) < _MOST_ROWS:
            chosen.setdefault(one)
    rows = [_row(found, fresh, one) for one in chosen]
    return sorted(rows, key=lambda row: (row.candidate != best, row.candidate.buffer, row.candidate.pacing.effort))


def _dominates(evidence: Evidence, other: Candidate, one: Candidate) -> bool:
    """Whether another has no larger buffer and is no worse in what matters, and better in something."""
    question = evidence.question
    names = {bound.measure for bound in question.bounds} | ({question.goal} - {BUFFER})
    ours, theirs = evidence.means(one), evidence.means(other)
    pairs = [
        (MEASURES[name].better * theirs.get(name, 0.0), MEASURES[name].better * ours.get(name, 0.0)) for name in names
    ]
    pairs.append((-float(other.buffer), -float(one.buffer)))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def _ruled_out(question: Question, found: Found, best: Candidate) -> list[tuple[str, str]]:
    """For each other pacing and queue, the run that speaks against it."""
    evidence, said = found.evidence, []
    for pacing in question.pacings:
        for queue in question.queues:
            own = sorted(one for one in evidence.runs if (one.pacing, one.queue) == (pacing, queue))
            if not own or (pacing, queue) == (best.pacing, best.queue):
                continue
            name = pacing.name if len(question.queues) == 1 else f"{pacing.name}, {queue}"
            does = [one for one in own if evidence.worth(one) > 0]
            if question.goal == BUFFER:
                said.append((name, _why_not_buffer(evidence, own, does, best)))
            elif does:
                top = max(does, key=evidence.worth)
                less = 1 - evidence.worth(top) / evidence.worth(best) if evidence.worth(best) > 0 else 0.0
                value = words.estimate(evidence.interval(top, question.goal), question.goal)
                verdict = "worth as much" if less <= ALIKE else f"worth {less * 100:.2g} % less"
                said.append((name, f"at best {value} {question.goal}, with {words.packets(top.buffer)}: {verdict}"))
            else:
                said.append((name, _missed(evidence, max(own, key=evidence.worth))))
    return said


def _why_not_buffer(evidence: Evidence, own: list[Candidate], does: list[Candidate], best: Candidate) -> str:
    smaller = [one for one in own if one.buffer <= best.buffer and evidence.worth(one) <= 0]
    if does and does[0].buffer <= best.buffer:
        said = words.packets(does[0].buffer)
        return f"does too with {said}" if evidence.keeps_bounds(does[0]) else f"may do with {said}: runs do not say"
    text = _missed(evidence, smaller[-1]) if smaller else ""
    if does:
        needs = f"{words.packets(does[0].buffer)} {'did' if evidence.keeps_bounds(does[0]) else 'may do'}"
        return f"{text}; {needs}" if text else needs
    return text or _missed(evidence, own[-1])


def _missed(evidence: Evidence, one: Candidate) -> str:
    """``97.1 % utilisation with 40 packets, of 98 % asked for``."""
    means = evidence.means(one)
    worst = max(evidence.question.bounds, key=lambda bound: shortfall(bound, means.get(bound.measure)))
    value = evidence.interval(one, worst.measure)
    asked = words.quantity(worst.value, worst.measure)
    return (
        f"{words.estimate(value, worst.measure)} {worst.measure} with {words.packets(one.buffer)}, of {asked} asked for"
    )
