"""The winner and what it was preferred to, on this machine's own TCP: does their order hold?

Both run by `paceline emulate`, and simulated beside it over the same time. Where the goal is a measure, the runner-up
is the next best. Where it is the buffer, it is what the answer says does not do: the first pacing with the winner's
buffer, or the winner's pacing with the next smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paceline._statistics import Interval, interval, paired
from paceline.advise import words
from paceline.advise.answer import Verdict
from paceline.advise.measures import BUFFER, MEASURES, values_of
from paceline.advise.network import Length, length_of, scenario_of
from paceline.advise.question import Candidate, Question
from paceline.errors import InputError, PacelineError, RunError

if TYPE_CHECKING:
    from paceline.emulate import Choices
    from paceline.store import Store

#: Beyond these the links' program does not keep time on a machine of a few processors (docs/emulate.md).
_MOST_BPS, _MOST_FLOWS = 300e6, 500
#: Seeds of each setting, and how long all runs may take, s. A third of a run at most settles.
SEEDS, LASTS_S = 3, 120.0
#: The kernel does not tell these.
_UNTOLD = ("delay",)


@dataclass(frozen=True, slots=True)
class Verified:
    """What the kernel says.

    Attributes:
        status: ``held``, ``reversed``, ``open`` where runs do not tell the two apart, or ``not run``. said: a
        sentence, with the reason. measure: by which they are compared. other: the runner-up. kernel, simulated: that
        measure of the winner and of the other.
    """

    status: str
    said: str
    measure: str | None = None
    other: Candidate | None = None
    kernel: tuple[Interval, Interval] | None = None
    simulated: tuple[Interval, Interval] | None = None


def verify(
    question: Question,
    verdict: Verdict,
    store: Store | None = None,
    watch: Callable[[float, int, int], None] | None = None,
    warn: Callable[[str], object] = lambda _: None,
) -> Verified:
    """Runs both, in real time. What stands in the way is said, not raised. Raises `Interrupted`."""
    best = verdict.best.candidate
    other = _other(question, verdict)
    measure = question.bounds[0].measure if question.goal == BUFFER else question.goal
    if (why := _why_not(question, measure, other)) or other is None:
        return Verified("not run", f"Not run on the kernel: {why}.")
    length = _fitting(length_of(question, max(best.buffer, other.buffer)))
    found: dict[tuple[str, Candidate], dict[int, float]] = {}
    try:
        for one in (best, other):
            for kind, values in _runs(question, one, length, store, watch, warn).items():
                found[kind, one] = values
    except InputError as error:
        return Verified("not run", f"Not run on the kernel: {error.message}.")
    except PacelineError as error:
        return Verified("not run", f"The kernel's runs failed: {error}.")
    except _NotKeptError as error:
        return Verified("not run", f"The kernel's runs do not count, the machine could not keep up: {error}.")
    return judged(measure, best, other, found)


def _fitting(length: Length) -> Length:
    """No longer than all runs may take together: the kernel's are in real time."""
    longest = LASTS_S / (2 * SEEDS)
    warmup = min(length.warmup_s, longest / 3)
    return Length(warmup, min(length.window_s, longest - warmup))


class _NotKeptError(Exception):
    """The machine did not keep time."""


def _other(question: Question, verdict: Verdict) -> Candidate | None:
    """What the winner was preferred to."""
    best = verdict.best.candidate
    if question.goal != BUFFER:
        rows = [one.candidate for one in (verdict.rival, verdict.baseline, *verdict.rows) if one]
        return next((one for one in rows if one != best), None)
    first = replace(best, pacing=question.pacings[0], queue=question.queues[0])
    if first != best:
        return first
    place = question.buffers.index(best.buffer) - 1
    return replace(best, buffer=question.buffers[place]) if place >= 0 else None


def _why_not(question: Question, measure: str, other: Candidate | None) -> str:
    from paceline.emulate import capabilities

    if other is None:
        return "nothing was tried beside the advised setting"
    if measure in _UNTOLD:
        return f"it does not tell {MEASURES[measure].words}"
    if question.rate_bps > _MOST_BPS or question.flows > _MOST_FLOWS:
        return (
            f"{words.rate(question.rate_bps)} and {question.flows} flows are more than a machine emulates in time, "
            f"{words.rate(_MOST_BPS)} and {_MOST_FLOWS} flows"
        )
    try:
        capabilities.require()
    except InputError as error:
        return error.message
    return ""


def _runs(
    question: Question,
    one: Candidate,
    length: Length,
    store: Store | None,
    watch: Callable[[float, int, int], None] | None,
    warn: Callable[[str], object],
) -> Mapping[str, dict[int, float]]:
    """A setting's measure by seed, of the simulation and the kernel."""
    from paceline.emulate import kernel_sweep

    scenario = scenario_of(question, one, length).seeds(SEEDS)
    points = scenario.check()
    done = kernel_sweep.carry_out(scenario, points, _choices(), and_simulate=True, store=store, watch=watch, warn=warn)
    if done.failures:
        raise RunError(done.failures[0][1])
    if doubtful := kernel_sweep.invalid(done):
        raise _NotKeptError("; ".join(doubtful[0][1]))
    measure = question.bounds[0].measure if question.goal == BUFFER else question.goal
    found: dict[str, dict[int, float]] = {"simulation": {}, "kernel": {}}
    for point, run in zip(done.points, done.runs, strict=True):
        assert run is not None
        values = values_of(run, question)
        if measure in values:
            found[str(point.settings["engine"])][point.seed] = values[measure]
    return found


def _choices() -> Choices:
    """Link pacers as programs of their own where there is one, else within the links' program."""
    from paceline.emulate import Choices, programs

    try:
        programs.find("paceline-pace")
    except InputError:
        return Choices(pacers="built-in")
    return Choices()


def judged(
    measure: str, best: Candidate, other: Candidate, found: Mapping[tuple[str, Candidate], dict[int, float]]
) -> Verified:
    """Whether the kernel's runs, seed by seed, have the winner ahead."""
    both: dict[str, Any] = {}
    for kind in ("kernel", "simulation"):
        values = [interval(found[kind, one].values()) for one in (best, other)]
        if None in values:
            return Verified("not run", f"The kernel's runs do not have {MEASURES[measure].words}.", measure, other)
        both[kind] = tuple(values)
    better = MEASURES[measure].better
    ahead = paired(found["kernel", best], found["kernel", other])
    told = [f"{words.estimate(one, measure)} against {words.estimate(two, measure)}" for one, two in both.values()]
    what = (
        f"{words.setting(best)}, against {words.setting(other)}: {told[0]} {MEASURES[measure].words} on the kernel, "
        f"{told[1]} simulated, {both['kernel'][0].count} seeds each"
    )
    if ahead is None or not ahead.excludes_zero:
        return Verified("open", f"The kernel's runs do not tell the two apart. {what}.", measure, other, **_of(both))
    if ahead.mean * better > 0:
        return Verified("held", f"The order holds on this machine's kernel. {what}.", measure, other, **_of(both))
    said = f"The order does not hold on this machine's kernel. {what}."
    return Verified("reversed", said, measure, other, **_of(both))


def _of(both: Mapping[str, tuple[Interval, Interval]]) -> dict[str, Any]:
    return {"kernel": both["kernel"], "simulated": both["simulation"]}


def as_dict(one: Verified) -> dict[str, Any]:
    """Plain values of it, for JSON."""
    found: dict[str, Any] = {"status": one.status, "said": one.said, "measure": one.measure}
    for name, values in (("kernel", one.kernel), ("simulated", one.simulated)):
        found[name] = [{"mean": value.mean, "half": value.half} for value in values] if values else None
    return found
