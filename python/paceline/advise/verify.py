"""The winner and what it was preferred to, on this machine's own TCP: does their order hold?

Both run by `paceline emulate`, and simulated beside it over the same time. Where the goal is a measure, the runner-up
is the next best that does not do as well. Where it is the buffer, it is what the answer says does not do: the first
pacing with the winner's buffer, or the winner's pacing with the next smaller one.

A run in which the machine did not keep time does not count, and is made once more. A seed of which both settings have
a run that counts is a pair, and pairs decide: of those that there are, if they are enough.
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
from paceline.advise.running import Simulator
from paceline.errors import InputError, PacelineError, RunError

if TYPE_CHECKING:
    from paceline.emulate import Choices
    from paceline.store import Store

#: Beyond these the links' program does not keep time on a machine of a few processors (docs/emulate.md).
_MOST_BPS, _MOST_FLOWS = 300e6, 500
#: Seeds of each setting, at least, and at most where runs are short; how long all runs may take, s. A third of a run at
#: most settles.
SEEDS, _MOST_SEEDS, LASTS_S = 3, 8, 120.0
#: So many pairs tell something.
_LEAST_PAIRS = 2
#: The kernel does not tell these.
_UNTOLD = ("delay",)
_COMMAND = "paceline advise … --verify"


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
    seeds = max(SEEDS, min(_MOST_SEEDS, int(LASTS_S / 2 / length.duration_s)))
    kernel = _Kernel(question, length, store, watch, warn, 2 * seeds)
    found: dict[tuple[str, Candidate], dict[int, float]] = {}
    try:
        for seed in range(question.seed, question.seed + seeds):
            if len(kernel.doubtful) > seeds - _LEAST_PAIRS:
                break
            if (
                len(pair := [value for one in (best, other) if (value := kernel.value(one, seed, measure)) is not None])
                == 2
            ):
                for one, value in zip((best, other), pair, strict=True):
                    found.setdefault(("kernel", one), {})[seed] = value
        kept = list(found.get(("kernel", best), {}))
        if len(kept) < _LEAST_PAIRS:
            return Verified("not run", _not_kept(kernel.doubtful, seeds, is_stored=store is not None))
        simulator = Simulator(question, store=store, length=length)
        for (one, seed), run in simulator([(one, seed) for one in (best, other) for seed in kept]).items():
            if measure in run.values:
                found.setdefault(("simulation", one), {})[seed] = run.values[measure]
    except InputError as error:
        return Verified("not run", f"Not run on the kernel: {error.message}.")
    except PacelineError as error:
        return Verified("not run", f"The kernel's runs failed: {error}.")
    return judged(measure, best, other, found, len(kernel.doubtful))


def _not_kept(doubtful: Mapping[int, list[str]], seeds: int, *, is_stored: bool) -> str:
    """What there is to do about it."""
    why = "; ".join(next(iter(doubtful.values())))
    again = "; runs that count are kept, and the same command makes the others" if is_stored else ""
    return (
        f"The kernel's runs do not count, the machine could not keep up in {len(doubtful)} of {seeds} seeds, twice in "
        f"each: {why}. End what else runs on it, or ask on one with two idle processors of its own, as root{again}."
    )


def _fitting(length: Length) -> Length:
    """No longer than all runs may take together: the kernel's are in real time."""
    longest = LASTS_S / (2 * SEEDS)
    warmup = min(length.warmup_s, longest / 3)
    return Length(warmup, min(length.window_s, longest - warmup))


def _other(question: Question, verdict: Verdict) -> Candidate | None:
    """What the winner was preferred to."""
    best = verdict.best.candidate
    if question.goal != BUFFER:
        rows = [one for one in (verdict.rival, verdict.baseline, *verdict.rows) if one and one.candidate != best]
        less = [one for one in rows if one.candidate not in verdict.alike]
        return next((one.candidate for one in (*less, *rows)), None)
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
        capabilities.require(_COMMAND)
    except InputError as error:
        return error.message
    return ""


class _Kernel:
    """Runs settings on the kernel, one seed at a time.

    Attributes:
        doubtful: seeds of which a run did not count, twice, and why.
    """

    def __init__(
        self,
        question: Question,
        length: Length,
        store: Store | None,
        watch: Callable[[float, int, int], None] | None,
        warn: Callable[[str], object],
        total: int,
    ) -> None:
        self._question, self._length, self._store = question, length, store
        self._watch, self._warn = watch, warn
        self._done, self._total = 0, total
        self._warned: set[str] = set()
        self.doubtful: dict[int, list[str]] = {}

    def value(self, one: Candidate, seed: int, measure: str) -> float | None:
        """A measure of a setting under a seed; ``None`` where the run does not count, or has none."""
        if seed in self.doubtful:
            return None
        run = self._run(one, seed)
        if not run["engine"].get("valid"):
            run = self._run(one, seed)
        self._done += 1
        if not run["engine"].get("valid"):
            self.doubtful[seed] = list(run["engine"]["doubts"])
            return None
        return values_of(run, self._question).get(measure)

    def _run(self, one: Candidate, seed: int) -> Mapping[str, Any]:
        from paceline.emulate import kernel_sweep

        scenario = scenario_of(self._question, one, self._length).seeds([seed])
        done = kernel_sweep.carry_out(
            scenario, scenario.check(), _choices(), store=self._store, watch=self._told, warn=self._say
        )
        if done.failures:
            raise RunError(done.failures[0][1])
        run = done.runs[0]
        assert run is not None
        return run

    def _told(self, share: float, _finished: int, _total: int) -> None:
        if self._watch:
            self._watch((self._done + min(share, 1.0)) / self._total, self._done, self._total)

    def _say(self, warning: str) -> None:
        if warning not in self._warned:
            self._warned.add(warning)
            self._warn(warning)


def _choices() -> Choices:
    """Link pacers as programs of their own where there is one, else within the links' program."""
    from paceline.emulate import Choices, programs

    try:
        programs.find("paceline-pace")
    except InputError:
        return Choices(pacers="built-in")
    return Choices()


def judged(
    measure: str,
    best: Candidate,
    other: Candidate,
    found: Mapping[tuple[str, Candidate], dict[int, float]],
    doubtful: int = 0,
) -> Verified:
    """Whether the kernel's runs, seed by seed, have the winner ahead; of so many other seeds a run does not count."""
    both: dict[str, Any] = {}
    for kind in ("kernel", "simulation"):
        values = [interval(found.get((kind, one), {}).values()) for one in (best, other)]
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
    if doubtful:
        what += f"; in {doubtful} more the machine could not keep up"
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
