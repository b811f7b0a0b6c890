"""Settings, numbers and goals in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from paceline._statistics import Interval
from paceline._units import STEPS, step_for
from paceline.advise.measures import BUFFER, MEASURES
from paceline.advise.question import Bound, Candidate, Pacing, Question
from paceline.results.quantities import method_words


def estimate(value: Interval | None, measure: str) -> str:
    """``98.6 ± 0.3 %``; the mean alone where there is no interval."""
    if value is None:
        return "–"
    kind = MEASURES[measure].kind
    factor, unit = 1.0, ""
    if kind == "share":
        factor, unit = 0.01, "%"
    elif kind == "s":
        factor, unit = step_for(max(abs(value.mean), 1e-9), STEPS["s"])
    mean, half = value.mean / factor, None if value.half is None else value.half / factor
    if half is None or half == 0:
        text = f"{mean:.3g}"
    else:
        decimals = min(6, max(0, 1 - math.floor(math.log10(half)) - (half / 10 ** math.floor(math.log10(half)) >= 3)))
        text = f"{mean:.{decimals}f} ± {half:.{decimals}f}"
    return f"{text} {unit}".strip()


def quantity(value: float, measure: str) -> str:
    """A number of a measure without an interval: ``98 %``."""
    kind = MEASURES[measure].kind
    if kind == "share":
        return f"{value * 100:.4g} %"
    return time(value) if kind == "s" else f"{value:.3g}"


def number(value: float) -> str:
    """Three digits, without a power of ten: ``35400``."""
    return f"{float(f'{value:.3g}'):.10g}"


def time(seconds: float) -> str:
    factor, unit = step_for(max(seconds, 1e-9), STEPS["s"])
    return f"{seconds / factor:.3g} {unit}"


def size(count: float) -> str:
    factor, unit = step_for(count, STEPS["B"])
    return f"{count / factor:.3g} {unit}"


def rate(bps: float) -> str:
    factor, unit = step_for(bps, STEPS["bit/s"])
    return f"{bps / factor:.4g} {unit}"


def packets(count: int) -> str:
    return f"{count} packet{'s' * (count != 1)}"


def buffer(question: Question, count: int) -> str:
    """``40 packets (60 KB, 48 us)``."""
    held = count * question.packet_bytes
    return f"{packets(count)} ({size(held)}, {time(held * 8 / question.rate_bps)})"


def pace(pacing: Pacing) -> str:
    """What to do: ``pace at the edges with a delay bound of 2 ms``."""
    rest = pacing.name.removeprefix(pacing.method).strip()
    if pacing.method == "none":
        return "do not pace"
    if pacing.method == "host":
        return "pace at the hosts" + (f" ({rest})" if rest else "")
    if pacing.method == "port":
        return "pace at the hosts' ports" + (f" ({rest})" if rest else "")
    if pacing.method == "edge":
        return f"pace at the edges with a delay bound of {rest.removeprefix('delay ')}"
    return f"pace at the edges by {pacing.name}"


def without(pacing: Pacing) -> str:
    """``without pacing``, ``with host``."""
    return "without pacing" if pacing.method == "none" else f"with {pacing.name}"


def label(pacing: Pacing, queue: str, queues: Sequence[str]) -> str:
    """``edge pacing 2 ms``, ``unpaced``, for a table or a legend; the queue's discipline where there are several."""
    named = method_words(pacing.name)
    return named if len(queues) < 2 else f"{named}, {queue}"


def spoken(name: str) -> str:
    """The name of a pacing within a sentence, with its queue where it has one: ``no pacing, codel``."""
    method, *rest = name.split(", ")
    return ", ".join(["no pacing" if method == "none" else method, *rest])


def setting(candidate: Candidate, queues: Sequence[str] = ("drop-tail",)) -> str:
    """``40 packets, edge 2 ms``, ``40 packets without pacing``; the queue's discipline where there are several."""
    paced = " without pacing" if candidate.pacing.method == "none" else f", {candidate.pacing.name}"
    named = f"{packets(candidate.buffer)}{paced}"
    return named if len(queues) < 2 else f"{named}, {candidate.queue}"


def bound(one: Bound) -> str:
    """``utilisation ≥ 98 %``."""
    return f"{one.measure} {'≥' if one.at_least else '≤'} {quantity(one.value, one.measure)}"


def goal(question: Question) -> str:
    """``the least buffer with utilisation ≥ 98 %``."""
    if question.goal == BUFFER:
        wanted = "the least buffer"
    else:
        wanted = f"{'most' if MEASURES[question.goal].better > 0 else 'least'} {MEASURES[question.goal].words}"
    kept = " and ".join(bound(one) for one in question.bounds)
    return f"{wanted} with {kept}" if kept else wanted


def listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + f" and {items[-1]}" if items else ""
