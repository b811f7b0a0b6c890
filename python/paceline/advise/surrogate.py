"""What runs of some settings say of all: neighbours and the same pacing speak for each other.

A measure is taken by its logarithm (a share of which more is better by what it lacks), since its spread goes with its
size. As a Gaussian process over settings it is an average, a part that all settings with about the same buffer share,
one of the pacing, one of both, a little of its own; and of a run what its seed adds to all settings, and noise (kriging
with replicates: Ankenman, Nelson, Staum 2010, with common random numbers as a part of its own). Near buffers speak for
each other by exp(-|ln B - ln B'| / l), which asks for no smoothness beyond that. How large the parts are is decided by
the likelihood of the runs, over a grid. It says where to look, and which of two is likelier the better; what is stated
of a setting comes from its own runs alone (`answer`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.advise.evidence import Evidence
from paceline.advise.measures import BUFFER, LOSS_FLOOR, MEASURES, TOLERANCE, goal_worth, shortfall
from paceline.advise.question import Candidate, Pacing

Array = npt.NDArray[np.float64]

#: The reach of a buffer, as a logarithm: of what two share a third is left where one is e^1.5 times as large.
_REACH = 1.5
#: What parts may be: all of them, of the spread of settings; the pacing's part of that, alone and with the buffer's;
#: the seed's part of a run's variance; and the variance of runs, of what is told by those that are repeated.
_AMPLITUDES = (0.5, 2.0)
_PACINGS = (0.02, 0.15, 0.5)
_SEEDS = (0.0, 0.4, 0.8)
_NOISES = (0.1, 0.4, 1.0, 2.5)
#: What a setting has of its own, of that spread: nothing else speaks for that.
_OWN = 0.05
#: They are looked for again once there are so many times as many runs.
_MORE = 1.25
#: So many runs beyond the first of each tell the noise: then it is not guessed.
_KNOWN_FROM = 2
#: The spread of runs of one setting counts by its own runs, and as if by so many more with the spread of all.
_BORROWED = 4.0
#: Added before the logarithm is taken, of what is usual, and of a share at least: how much less a run has than that
#: hardly matters to a mean. A rule for the deviation of what is lacked.
_USUAL, _LEAST_SHARE, _LACK_SPREAD = 0.3, 1e-3, 0.2


@dataclass(frozen=True, slots=True)
class Fitted:
    """What the likelihood of so many runs has chosen of `_AMPLITUDES`, `_PACINGS`, `_SEEDS` and `_NOISES`."""

    parts: tuple[float, float, float, float]
    runs: int


@dataclass(frozen=True, slots=True)
class Surrogate:
    """What is known of a measure of all settings of a question.

    Attributes:
        mean: by setting, in the measure's unit. slope: of the measure by the logarithm. cov: of the logarithms' means.
    """

    mean: Array
    slope: Array
    cov: Array

    def deviation(self, place: int) -> float:
        """Of the mean, in the measure's unit."""
        return max(abs(float(self.slope[place])) * math.sqrt(max(float(self.cov[place, place]), 0.0)), 1e-12)


def surrogate(
    evidence: Evidence, candidates: list[Candidate], measure: str, fitted: Fitted | None = None
) -> tuple[Surrogate, Fitted] | None:
    """Of these settings, with what parts it was taken to have; ``None`` where no run has the measure.

    With `fitted`, from fewer runs, these are not looked for again until there are a quarter more.
    """
    flat = [
        (place, seed, value)
        for place, one in enumerate(candidates)
        for seed, value in evidence.samples(one, measure).items()
    ]
    if not flat:
        return None
    places = np.array([place for place, _, _ in flat])
    seeds = np.array([seed for _, seed, _ in flat])
    raw = np.array([value for _, _, value in flat])
    lacks = MEASURES[measure].better > 0
    size = np.maximum(1.0 - raw if lacks else raw, 0.0)
    floor = max(_USUAL * float(np.median(size)), _LEAST_SHARE if MEASURES[measure].kind == "share" else 1e-9)
    size = size + floor
    values = np.log(size)
    noise, ratio, repeated = _noise(measure, places, values, size, len(candidates))
    means = np.array([values[places == place].mean() for place in np.unique(places)])
    centre, spread = float(means.mean()), max(float(means.var()), 1e-4)
    near, same = _parts(candidates)
    at = np.ix_(places, places)
    common = (seeds[:, None] == seeds[None, :]).astype(float)
    wide = np.sqrt(noise[places])
    shared = np.outer(wide, wide) * common

    def factor_of(parts: tuple[float, float, float, float]) -> Array:
        amplitude, pacing, seed, much = parts
        kernel = (1 - pacing) * near[at] + pacing * same[at] + 1.0 + _OWN * (places[:, None] == places[None, :])
        cover = amplitude * spread * kernel + seed * much * shared
        cover[np.diag_indices_from(cover)] += (1 - seed) * much * wide**2 + 1e-9 * spread
        return np.linalg.cholesky(cover)

    if fitted is None or len(flat) > fitted.runs * _MORE:
        noises = (1.0,) if repeated >= _KNOWN_FROM else _NOISES
        grid = itertools.product(_AMPLITUDES, _PACINGS, _SEEDS, noises)
        parts = max(grid, key=lambda one: _likelihood(factor_of(one), values - centre))
        fitted = Fitted(parts, len(flat))
    factor = factor_of(fitted.parts)
    amplitude, pacing, _, _ = fitted.parts
    kernel = amplitude * spread * ((1 - pacing) * near + pacing * same + 1.0 + _OWN * np.eye(len(candidates)))
    across = np.linalg.solve(factor, kernel[places, :])
    found = np.exp(centre + across.T @ np.linalg.solve(factor, values - centre)) * ratio
    mean = 1.0 + floor - found if lacks else found - floor
    return Surrogate(mean, -found if lacks else found, kernel - across.T @ across), fitted


def _likelihood(factor: Array, deviations: Array) -> float:
    """Its logarithm, of deviations whose covariance has this Cholesky factor; a constant left out."""
    half = np.linalg.solve(factor, deviations)
    return -0.5 * float(half @ half) - float(np.log(np.diag(factor)).sum())


def _parts(candidates: list[Candidate]) -> tuple[Array, Array]:
    """How much two settings share: by their buffers, and by their pacing."""
    buffers = np.log([max(one.buffer, 1) for one in candidates])
    near = np.exp(-np.abs(buffers[:, None] - buffers[None, :]) / _REACH)
    named: dict[tuple[Pacing, str], int] = {}
    arms = np.array([named.setdefault((one.pacing, one.queue), len(named)) for one in candidates])
    return near, (arms[:, None] == arms[None, :]) * (0.5 + 0.5 * near)


def _noise(measure: str, places: Array, values: Array, size: Array, count: int) -> tuple[Array, Array, int]:
    """Of a run, by setting: the variance of its logarithm, and the mean over its logarithm's.

    Both by a setting's own runs, as far as it has some, else by those of all. And how many runs tell them, beyond the
    first of each.
    """
    squares, freedom, own = np.zeros(count), np.zeros(count), np.zeros(count)
    for place in np.unique(places):
        ours = values[places == place]
        squares[place] = float(((ours - ours.mean()) ** 2).sum())
        freedom[place] = ours.size - 1
        own[place] = math.log(float(size[places == place].mean())) - float(ours.mean())
    repeated = int(freedom.sum())
    rule = (_LACK_SPREAD if MEASURES[measure].better > 0 else MEASURES[measure].spread) ** 2
    pooled = (float(squares.sum()) + 2 * rule) / (repeated + 2)
    noise = np.maximum((squares + _BORROWED * pooled) / (freedom + _BORROWED), 1e-8)
    common = float((freedom * own).sum()) / max(repeated, 1)
    return noise, np.exp((freedom * own + _BORROWED * common) / (freedom + _BORROWED)), repeated


class Outlook:
    """What each setting may be worth, by all runs so far."""

    def __init__(
        self, evidence: Evidence, candidates: list[Candidate], fitted: dict[str, Fitted] | None = None
    ) -> None:
        """`fitted` is what the last one has found, by measure, and is changed."""
        fitted = {} if fitted is None else fitted
        self._question = question = evidence.question
        self.candidates = candidates
        self._place = {one: place for place, one in enumerate(candidates)}
        names = {one.measure for one in question.bounds} | ({question.goal} - {BUFFER})
        self._known: dict[str, Surrogate | None] = {}
        for name in names:
            found = surrogate(evidence, candidates, name, fitted.get(name))
            self._known[name] = found[0] if found else None
            fitted |= {name: found[1]} if found else {}
        tried = [value for one in candidates for value in evidence.samples(one, question.goal).values()]
        self._least = 0.5 * min(tried, default=0.0)

    def chance(self, one: Candidate) -> float:
        """That all bounds are kept, taken as independent."""
        found = 1.0
        for bound in self._question.bounds:
            known = self._known[bound.measure]
            if known is None:
                return 0.0
            place = self._place[one]
            edge = bound.value * (1 - TOLERANCE if bound.at_least else 1 + TOLERANCE)
            room = float(known.mean[place]) - edge
            found *= _below((room if bound.at_least else -room) / known.deviation(place))
        return found

    def missed(self, one: Candidate) -> float:
        """By how much of it the bound is missed that is missed most."""
        place = self._place[one]
        known = [(bound, self._known[bound.measure]) for bound in self._question.bounds]
        return max((shortfall(bound, float(it.mean[place]) if it else None) for bound, it in known), default=0.0)

    def worth(self, one: Candidate) -> float:
        """Of the goal alone."""
        known = self._known.get(self._question.goal)
        return goal_worth(self._question, one, {self._question.goal: self._goal(one)} if known else {})

    def _goal(self, one: Candidate) -> float:
        """Its mean; between runs a line may lead to less than there is."""
        known = self._known[self._question.goal]
        assert known is not None
        return max(float(known.mean[self._place[one]]), self._least)

    def value(self, one: Candidate) -> float:
        """The goal's worth times the chance that the bounds are kept."""
        return self.worth(one) * self.chance(one)

    def gain(self, one: Candidate, best: Candidate) -> float:
        """What knowing one would bring beside the best, expected: that it keeps its bounds, and is the better.

        E[max(0, X)] of what it is ahead, taken as normal: the opportunity cost (Chick and Inoue 2001).
        """
        ahead = self.worth(one) - self.value(best)
        known = self._known.get(self._question.goal)
        if known is None:
            return self.chance(one) * max(0.0, ahead)
        ours, theirs = self._place[one], self._place[best]
        a, b = self._slope(one), self._slope(best)
        variance = (
            a * a * known.cov[ours, ours] + b * b * known.cov[theirs, theirs] - 2 * a * b * known.cov[ours, theirs]
        )
        return self.chance(one) * expected_excess(ahead, math.sqrt(max(float(variance), 0.0)))

    def _slope(self, one: Candidate) -> float:
        """How much worth is gained with the logarithm of the goal's measure, at the mean."""
        known = self._known[self._question.goal]
        assert known is not None
        slope = float(known.slope[self._place[one]])
        value = max(self._goal(one), 1e-9)
        if self._question.goal == "loss":
            return -self.worth(one) * slope / (LOSS_FLOOR + value)
        return slope if MEASURES[self._question.goal].better > 0 else -self.worth(one) * slope / value

    def doubt(self, one: Candidate) -> float:
        """Of its worth, what is lost where it is chosen and does not keep its bounds, expected."""
        chance = self.chance(one)
        return min(chance, 1 - chance) * self.worth(one)


def _below(deviations: float) -> float:
    """P(X <= x) of a standard normal."""
    return 0.5 * math.erfc(-deviations / math.sqrt(2))


def expected_excess(mean: float, deviation: float) -> float:
    """E[max(0, X)] of a normal X."""
    if deviation <= 0:
        return max(0.0, mean)
    at = mean / deviation
    return deviation * math.exp(-at * at / 2) / math.sqrt(2 * math.pi) + mean * _below(at)
