"""The answer in one sentence, and what it rests on."""

from __future__ import annotations

import math

from paceline.advise import words
from paceline.advise.answer import SETTLED, TIE, UNDECIDED, UNREACHABLE, Row, Verdict
from paceline.advise.measures import BUFFER, MEASURES, TOLERANCE, shortfall
from paceline.advise.network import Length, simulated_flows
from paceline.advise.question import Bound, Question


def sentence(question: Question, verdict: Verdict, ended: str) -> str:
    """What to do, and what comes of it; or which bound no setting keeps; or that it is not settled."""
    if verdict.status == UNREACHABLE:
        return _unreachable(question, verdict)
    best = verdict.best
    deed = _deed(question, best)
    also = _does_too(verdict) if question.goal == BUFFER else ""
    said = f"{deed}{also}: {_outcome(question, best)}"
    if verdict.status == UNDECIDED:
        said = f"Not settled ({_why(question, verdict, ended)}). Best so far: {said[0].lower()}{said[1:]}"
    if verdict.status == TIE and verdict.alike:
        others = words.listed([words.setting(one, question.queues) for one in verdict.alike[:2]])
        more = f" and {len(verdict.alike) - 2} more" if len(verdict.alike) > 2 else ""
        said += f"; {others}{more} do as well, within 1 % or as far as runs tell"
    return f"{said}{_safe(question, verdict)}{_beside(question, verdict)}."


def _does_too(verdict: Verdict) -> str:
    """Other pacing that does with as small a buffer, or may."""
    best = verdict.best.candidate
    said = []
    for candidates, one_does, many_do in ((verdict.alike, "does", "do"), (verdict.maybe, "may", "may")):
        names = list(dict.fromkeys(words.spoken(one.pacing.name) for one in candidates if one.pacing != best.pacing))
        if names:
            said.append(f"{words.listed(names)} {one_does if len(names) == 1 else many_do} too")
    return f" ({', '.join(said)}, as far as runs tell)" if said else ""


def _deed(question: Question, best: Row) -> str:
    one = best.candidate
    deed = f"Give the core {words.buffer(question, one.buffer)}"
    if len(question.queues) > 1 or one.queue != "drop-tail":
        deed += f" under {one.queue}"
    return f"{deed} and {words.pace(one.pacing)}"


def _outcome(question: Question, row: Row) -> str:
    """The goal, what is bounded, and loss."""
    names = [] if question.goal == BUFFER else [question.goal]
    names += [one.measure for one in question.bounds if one.measure not in names]
    if question.size is None and "utilisation" not in names:
        names.append("utilisation")
    parts = [f"{words.estimate(row.intervals.get(name), name)} {MEASURES[name].words}" for name in names]
    said = words.listed(parts)
    if "loss" not in names and "loss" in row.intervals:
        said += f" at {row.intervals['loss'].mean * 100:.2g} % loss"
    return said


def _safe(question: Question, verdict: Verdict) -> str:
    """The next larger buffer, where that keeps for sure what the best may miss."""
    safe = verdict.safe
    if safe is None or not safe.keeps:
        return ""
    worst = _deciding(question, verdict.best)
    value = words.estimate(safe.intervals[worst.measure], worst.measure)
    return f"; {words.packets(safe.candidate.buffer)} do for sure: {value}"


def _deciding(question: Question, row: Row) -> Bound:
    """The bound that an interval holds, or else the one that is missed by most."""

    def order(bound: Bound) -> tuple[bool, float]:
        value = row.intervals.get(bound.measure)
        if value is None:
            return True, math.inf
        return value.half is not None and value.low <= bound.value <= value.high, shortfall(bound, value.mean)

    missed = [one for one in question.bounds if order(one)[1] > TOLERANCE]
    return max(missed or question.bounds, key=order)


def _beside(question: Question, verdict: Verdict) -> str:
    """What it would be without the advised pacing."""
    base = verdict.baseline
    if base is None:
        return ""
    one = base.candidate
    if question.goal == BUFFER:
        if base.keeps is not True:
            worst = _deciding(question, base)
            value = words.estimate(base.intervals.get(worst.measure), worst.measure)
            open_ = ", which does not settle whether they do" if base.keeps is None else ""
            return f"; {words.without(one.pacing)} {words.packets(one.buffer)} get {value} {worst.measure}{open_}"
        if one.buffer == verdict.best.candidate.buffer:
            return f"; {words.without(one.pacing)} it takes as many"
        return f"; {words.without(one.pacing)} it takes {words.packets(one.buffer)}"
    value = words.estimate(base.intervals.get(question.goal), question.goal)
    return f"; {words.without(one.pacing)} it is {value} at best, with {words.packets(one.buffer)}"


def _why(question: Question, verdict: Verdict, ended: str) -> str:
    best = verdict.best
    for bound in question.bounds:
        value = best.intervals.get(bound.measure)
        if value and value.half is not None and value.low <= bound.value <= value.high:
            return f"whether {words.bound(bound)} is kept is within the noise"
    if verdict.refuted:
        return "fresh runs refuted what the search had chosen"
    if ended == "time was over":
        return "time was over before the order was clear: allow more by --within"
    return ended


def _unreachable(question: Question, verdict: Verdict) -> str:
    """Which bounds no setting keeps, alone or together; the nearest, and by how much it misses which."""
    best = verdict.best

    def short_of(bound: Bound, row: Row) -> float:
        value = row.intervals.get(bound.measure)
        return shortfall(bound, value.mean if value else None)

    missed = sorted(
        (one for one in question.bounds if short_of(one, best) > TOLERANCE), key=lambda one: -short_of(one, best)
    )
    missed = missed or [max(question.bounds, key=lambda one: short_of(one, best))]
    never = [one for one, alone in zip(question.bounds, verdict.alone, strict=True) if not alone]
    if len(question.bounds) > 1 and not never:
        head = f"{words.listed([words.bound(one) for one in question.bounds])} together"
    else:
        head = words.bound((never or missed)[0])
    parts, values = [], []
    for one in missed:
        value = best.intervals.get(one.measure)
        if value is None:
            return f"No setting has a {one.measure} to speak of: nothing was measured of it."
        off = abs(one.value - value.mean)
        short = f"{off * 100:.2g} points" if MEASURES[one.measure].kind == "share" else words.quantity(off, one.measure)
        name = "it" if len(missed) == 1 and not head.endswith("together") else one.measure
        parts.append(f"{name} by {short}")
        values.append(f"{words.estimate(value, one.measure)} {one.measure}")
    return (
        f"No setting that may be keeps {head}. The nearest misses {words.listed(parts)}: "
        f"{words.setting(best.candidate, question.queues)}, with {words.listed(values)}."
    )


def assumptions(question: Question, length: Length, verdict: Verdict) -> list[str]:
    """What the answer rests on."""
    flows = simulated_flows(question)
    trips = question.round_trips_s
    low, high = words.time(trips[0][0]), words.time(trips[-1][1])
    span = f"{len(trips)} measured lengths" if len(trips) > 1 else f"{low} to {high}" if low != high else low
    sides = f"{question.edges} edge links of the core's rate on each side" if question.edges else "no edge links"
    said = [*question.inferred]
    many = f"{flows} flow{'s' * (flows != 1)}"
    said += [
        f"Simulated: {many} over one core of {words.rate(question.rate_bps)}, {sides}, hosts on links of "
        f"{words.rate(question.access_bps)}; round trips of {span} before queueing; packets of "
        f"{question.packet_bytes} B.",
        f"Each run: {words.time(length.warmup_s)} to settle, then {words.time(length.window_s)} that count; the "
        f"{question.sure * 100:g} % intervals are of the mean over seeds, which draw round trips and starts.",
    ]
    if question.size is None:
        said.append("Flows last: they begin near a fair share, and what starting flows do to each other is not in it.")
    tcp = words.listed([f"{share * 100:g} % {table.get('variant', 'cubic')}" for share, table in question.tcp])
    said.append(f"TCP: {tcp}, as Linux has it unless the question says otherwise; hosts without offloads (GSO).")
    said.append("Only the core drops. A packet that arrives just as another leaves goes first or second by chance.")
    if verdict.status in (SETTLED, UNDECIDED) and question.goal == BUFFER:
        said.append("A buffer larger than one that does is taken to do too; between those tried nothing was run.")
    return said
