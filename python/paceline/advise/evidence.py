"""What runs have shown of each candidate, and how sure that is.

Seed k has the same draws under every candidate, so two of them are compared seed by seed. Where a candidate has few
runs, its spread is taken from all that have several: the relative spread of a measure hardly hangs on the setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from paceline._statistics import Interval, paired, student_t
from paceline.advise.measures import MEASURES, Values, goal_worth, shortfall, worth
from paceline.advise.question import Candidate, Question

#: Deviations for "as good as it may be".
_OPTIMISM = 2.0
#: Runs' spread is learnt from this many candidates with two runs or more.
_LEARNT_FROM = 3
#: Of so many pairs on their own spread counts, not that of all.
_PAIRED_FROM = 3

#: Runs so many pairs of candidate and seed; each by its pair, those that failed left out.
Runner = Callable[[Sequence[tuple[Candidate, int]]], Mapping[tuple[Candidate, int], "Run"]]


@dataclass(frozen=True, slots=True)
class Run:
    """One run: what was measured, and the processor time that it took, s."""

    values: Values
    cpu_s: float = 0.0
    packets: float = 0.0


@dataclass(slots=True)
class Evidence:
    """All runs so far.

    Attributes:
        question: what is asked. runs: by candidate and seed.
    """

    question: Question
    runs: dict[Candidate, dict[int, Run]] = field(default_factory=dict)

    def gather(self, runner: Runner, wanted: Iterable[tuple[Candidate, int]]) -> None:
        """Runs what is not there yet."""
        pairs = [(one, seed) for one, seed in wanted if seed not in self.runs.get(one, {})]
        for (candidate, seed), run in runner(pairs).items():
            self.runs.setdefault(candidate, {})[seed] = run

    @property
    def count(self) -> int:
        return sum(map(len, self.runs.values()))

    @property
    def cpu_s(self) -> float:
        return sum(run.cpu_s for runs in self.runs.values() for run in runs.values())

    def samples(self, candidate: Candidate, measure: str) -> dict[int, float]:
        """A measure by seed."""
        runs = self.runs.get(candidate, {})
        return {seed: run.values[measure] for seed, run in runs.items() if measure in run.values}

    def means(self, candidate: Candidate) -> dict[str, float]:
        """Of all measures."""
        found = {}
        for measure in MEASURES:
            if values := self.samples(candidate, measure):
                found[measure] = math.fsum(values.values()) / len(values)
        return found

    def interval(self, candidate: Candidate, measure: str) -> Interval | None:
        """Mean and interval of a measure, at the confidence asked for.

        Its half width is no less than what one packet more or less would do to a share: runs that all drop nothing do
        not show that nothing is ever dropped (of n packets without a loss, 3/n is as much as may be lost, at 95 %).
        """
        values = list(self.samples(candidate, measure).values())
        if not values:
            return None
        count = len(values)
        mean = math.fsum(values) / count
        if count < 2:
            return Interval(mean, None, count)
        variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
        half = student_t(count - 1, self.question.sure) * math.sqrt(variance / count)
        packets = math.fsum(run.packets for run in self.runs[candidate].values())
        if MEASURES[measure].kind == "share" and packets:
            half = max(half, 3 / packets)
        return Interval(mean, half, count)

    def spread(self, measure: str) -> float:
        """Relative deviation of one run's value: pooled over candidates with several runs, else as a rule."""
        found, freedom, known = 0.0, 0, 0
        for candidate in self.runs:
            values = list(self.samples(candidate, measure).values())
            if len(values) < 2 or not (mean := math.fsum(values) / len(values)):
                continue
            found += sum((value / mean - 1) ** 2 for value in values)
            freedom += len(values) - 1
            known += 1
        if known < _LEARNT_FROM:
            return MEASURES[measure].spread
        return max(math.sqrt(found / freedom), 1e-4)

    def worth(self, candidate: Candidate) -> float:
        """By the means."""
        return worth(self.question, candidate, self.means(candidate))

    def range_of_worth(self, candidate: Candidate) -> tuple[float, float]:
        """What it may be worth at the worst and at the best, two deviations of each mean away."""
        means, count = self.means(candidate), len(self.runs[candidate])
        ends = []
        for sign in (-1, +1):
            moved = {}
            for measure, value in means.items():
                off = _OPTIMISM * self.spread(measure) / math.sqrt(count)
                moved[measure] = _moved(measure, value, sign * MEASURES[measure].better * off)
            ends.append(worth(self.question, candidate, moved))
        return ends[0], ends[1]

    def chance(self, candidate: Candidate) -> float:
        """That all bounds are kept, by the means and their errors, taken as normal and independent."""
        means, count = self.means(candidate), len(self.runs[candidate])
        found = 1.0
        for bound in self.question.bounds:
            value = means.get(bound.measure)
            if value is None:
                return 0.0
            error = self.spread(bound.measure) * max(abs(value), 1e-12) / math.sqrt(count)
            room = (value - bound.value) if bound.at_least else (bound.value - value)
            found *= 0.5 * (1 + math.erf(room / error / math.sqrt(2)))
        return found

    def ahead(self, one: Candidate, other: Candidate) -> Interval | None:
        """By how much one's goal is worth more than the other's, of one's, seed by seed."""
        worths = [
            {
                seed: goal_worth(self.question, candidate, run.values)
                for seed, run in self.runs.get(candidate, {}).items()
            }
            for candidate in (one, other)
        ]
        common = worths[0].keys() & worths[1].keys()
        if not common or not (mean := math.fsum(worths[0][seed] for seed in common) / len(common)):
            return None
        difference = paired(worths[0], worths[1])
        if difference is None:
            return None
        half = None if difference.half is None else difference.half / mean
        return Interval(difference.mean / mean, half, difference.count)

    def forgone(self, one: Candidate, other: Candidate) -> float:
        """What choosing one and not the other is expected to cost, of one's worth.

        E[max(0, X)] of what the other is ahead, taken as normal: the opportunity cost (Chick and Inoue 2001).
        """
        ahead = self.ahead(one, other)
        if ahead is None:
            return math.inf
        if ahead.half is not None and ahead.count >= _PAIRED_FROM:
            error = ahead.half / student_t(ahead.count - 1)
        else:
            error = self.spread(self.question.goal) * math.sqrt(2 / ahead.count)
        if not error:
            return max(0.0, -ahead.mean)
        behind = ahead.mean / error
        density = math.exp(-(behind**2) / 2) / math.sqrt(2 * math.pi)
        return error * (density - behind * 0.5 * math.erfc(behind / math.sqrt(2)))

    def keeps_bounds(self, candidate: Candidate) -> bool | None:
        """``None`` where runs do not settle it."""
        verdicts = [self._verdict(candidate, index) for index in range(len(self.question.bounds))]
        if any(one is False for one in verdicts):
            return False
        return True if all(verdicts) else None

    def _verdict(self, candidate: Candidate, index: int) -> bool | None:
        bound = self.question.bounds[index]
        value = self.interval(candidate, bound.measure)
        if value is None:
            return False
        half = value.half
        if half is None:
            half = _OPTIMISM * self.spread(bound.measure) * abs(value.mean)
        worst, best = (value.mean - half, value.mean + half)
        if not bound.at_least:
            worst, best = best, worst
        if shortfall(bound, worst) <= 0:
            return True
        return False if shortfall(bound, best) > 0 else None


def _moved(measure: str, value: float, relative: float) -> float:
    """A value that much better or worse; a utilisation near 1 moves by what it lacks, and none leaves its range."""
    if measure in ("utilisation", "fairness"):
        room = 1.0 - value if relative > 0 else value
        return min(1.0, value + math.copysign(min(abs(relative) * value, max(room, 0.0)), relative))
    return value * math.exp(relative)
