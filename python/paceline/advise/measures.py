"""What can matter of a setting, how it is read from a run, and what a setting is worth.

A setting's worth is its goal where it keeps the bounds: a goal of which more is better counts as it is, one of which
less is better as its reciprocal, and a buffer by its logarithm: each doubling costs `DOUBLING`. A bound counts as kept
where the value is within `TOLERANCE` of it, relative: no run tells more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paceline.advise.question import Bound, Candidate, Question

#: A bound is kept from this share short of it on; the worth of two settings that differ by less is the same.
TOLERANCE = 0.001
ALIKE = 0.01
#: What a buffer twice as large costs, of a setting's worth.
DOUBLING = 0.05
#: Losses below this hardly matter, and their reciprocal would.
LOSS_FLOOR = 0.001

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a run.

    Attributes:
        name: in a question. words: in a sentence. kind: of its unit, ``share``, ``s`` or ``number``. better: +1 where
        more is, -1 where less is. spread: of one run's value, relative, until runs say more. read: from a run.
    """

    name: str
    words: str
    kind: str
    better: int
    spread: float
    read: Callable[[Mapping[str, Any], Question], float | None]


def _core(key: str) -> Callable[[Mapping[str, Any], Question], float | None]:
    return lambda run, _: run["links"]["core"][key]


def _flows(key: str) -> Callable[[Mapping[str, Any], Question], float | None]:
    return lambda run, _: run["flows"].get(key)


def _wait(run: Mapping[str, Any], question: Question) -> float:
    return float(run["links"]["core"]["queue_mean_bytes"]) * 8 / question.rate_bps


MEASURES: Mapping[str, Measure] = {
    one.name: one
    for one in (
        Measure("utilisation", "utilisation", "share", +1, 0.01, _core("utilisation")),
        Measure("loss", "loss", "share", -1, 0.2, _core("loss_ratio")),
        Measure("wait", "mean wait in the core's buffer", "s", -1, 0.1, _wait),
        Measure("delay", "p99 delay of packets, one way", "s", -1, 0.1, _flows("delay_p99_s")),
        Measure("fct", "p99 completion time", "s", -1, 0.1, _flows("fct_p99_s")),
        Measure("fairness", "Jain's fairness", "number", +1, 0.05, _flows("jain")),
    )
}
BUFFER = "buffer"
GOALS = (BUFFER, *MEASURES)


def values_of(run: Mapping[str, Any], question: Question) -> dict[str, float]:
    """All measures of a run that it has."""
    found = {name: one.read(run, question) for name, one in MEASURES.items()}
    return {name: float(value) for name, value in found.items() if value is not None and math.isfinite(value)}


def shortfall(bound: Bound, value: float | None) -> float:
    """By how much of it a bound is missed; negative where there is room. Infinite where there is no value."""
    if value is None:
        return math.inf
    if bound.value == 0:
        return value if not bound.at_least else -value
    return (bound.value - value) / bound.value if bound.at_least else (value - bound.value) / bound.value


def worth(question: Question, candidate: Candidate, values: Values) -> float:
    """How good it is: above 0 where all bounds are kept, else minus the largest shortfall."""
    missed = max((shortfall(bound, values.get(bound.measure)) for bound in question.bounds), default=0.0)
    if missed > TOLERANCE:
        return -missed
    return goal_worth(question, candidate, values)


def goal_worth(question: Question, candidate: Candidate, values: Values) -> float:
    """The goal alone."""
    if question.goal == BUFFER:
        return max(1 - DOUBLING * math.log2(max(candidate.buffer, 1) / max(question.buffers[0], 1)), 1e-6)
    value = values.get(question.goal)
    if value is None:
        return 1e-6
    if question.goal == "loss":
        return LOSS_FLOOR / (LOSS_FLOOR + value)
    return value if MEASURES[question.goal].better > 0 else 1 / max(value, 1e-9)


#: Of a buffer that misses these, a larger one may do; of one that misses the others, a smaller one.
_LARGER_HELPS = ("utilisation", "loss", "fairness", "fct")


def direction(question: Question, values: Values) -> int:
    """Where to look from a buffer that does not keep its bounds: +1 for larger ones, -1 for smaller, 0 for neither."""
    missed = [one.measure for one in question.bounds if shortfall(one, values.get(one.measure)) > TOLERANCE]
    larger = any(name in _LARGER_HELPS for name in missed)
    smaller = any(name not in _LARGER_HELPS for name in missed)
    return larger - smaller


def kept(question: Question, values: Values) -> bool:
    """Whether every bound is."""
    return all(shortfall(bound, values.get(bound.measure)) <= TOLERANCE for bound in question.bounds)
