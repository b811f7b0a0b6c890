"""How an answer bears what it does not rest on: other flows, round trips and TCPs, offloads, hosts that do not pace."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from paceline._statistics import Interval
from paceline.advise.evidence import Evidence
from paceline.advise.measures import BUFFER
from paceline.advise.question import Candidate, Pacing, Question
from paceline.advise.running import Simulator

#: Seeds of each change at first, and at most where the verdict is open and there is time.
_SEEDS, _MOST_SEEDS = 2, 6


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the network, and what it does to the advised setting.

    Attributes:
        name: ``twice the flows``. intervals: of what is bounded and the goal. keeps: whether all bounds are kept;
        ``None`` where runs do not say.
    """

    name: str
    intervals: Mapping[str, Interval]
    keeps: bool | None


def fragility(question: Question, best: Candidate, simulator: Simulator, until: float) -> list[Change]:
    """Runs the advised setting in changed networks, as many of them as there is time for."""
    every = [(name, changed, candidate, Evidence(changed)) for name, changed, candidate in changes(question, best)]
    for seeds in range(_SEEDS, _MOST_SEEDS + 1, _SEEDS):
        for _, changed, candidate, evidence in every:
            if time.monotonic() + simulator.lasts(_SEEDS, changed) > until:
                continue
            if seeds == _SEEDS or evidence.keeps_bounds(candidate) is None or not question.bounds:
                wanted = [(candidate, question.seed + number) for number in range(seeds)]
                evidence.gather(partial(simulator.run, changed), wanted)
    return [_change(name, candidate, evidence) for name, _, candidate, evidence in every if evidence.runs]


def _change(name: str, candidate: Candidate, evidence: Evidence) -> Change:
    question = evidence.question
    names = dict.fromkeys([*(bound.measure for bound in question.bounds), question.goal])
    intervals = {one: value for one in names if one != BUFFER and (value := evidence.interval(candidate, one))}
    return Change(name, intervals, evidence.keeps_bounds(candidate) if question.bounds else None)


def changes(question: Question, best: Candidate) -> Iterator[tuple[str, Question, Candidate]]:
    """Each change by name, and the setting in it."""
    yield "twice the flows", replace(question, flows=question.flows * 2), best
    if question.flows > 1:
        yield "half the flows", replace(question, flows=question.flows // 2), best
    for name, factor in (("round trips twice as long", 2.0), ("round trips half as long", 0.5)):
        trips = tuple((low * factor, high * factor) for low, high in question.round_trips_s)
        yield name, replace(question, round_trips_s=trips), best
    variants = {str(table.get("variant", "cubic")) for _, table in question.tcp}
    for variant in ("newreno", "cubic", "bbr"):
        if variant not in variants and not (variant == "newreno" and variants & {"reno"}):
            yield f"{variant} in the place of {', '.join(sorted(variants))}", _with_tcp(question, variant), best
    yield "GSO on at the hosts", _with(question, {"gso": "64 KB"}), best
    if best.pacing.method in ("host", "port", "edge", "qlbp", "token-bucket"):
        where = "hosts" if best.pacing.method in ("host", "port") else "edges"
        yield f"one in three of the {where} unpaced", question, replace(best, pacing=_shared(best.pacing, 2 / 3))


def _with(question: Question, more: Mapping[str, Any]) -> Question:
    return replace(question, tcp=tuple((share, dict(table) | dict(more)) for share, table in question.tcp))


def _with_tcp(question: Question, variant: str) -> Question:
    return replace(question, tcp=((1.0, {"variant": variant}),))


def _shared(pacing: Pacing, share: float) -> Pacing:
    """The same pacing at a share of the places."""
    value = {"method": pacing.method} | pacing.parameters | {"share": round(share, 4)}
    return Pacing(f"{pacing.name}, share {share:.2f}", value, pacing.method)


def words_of(change: Change, *, is_bounded: bool) -> str:
    """``97.2 % utilisation: missed``."""
    from paceline.advise import words

    parts = [f"{words.estimate(value, name)} {name}" for name, value in change.intervals.items()]
    verdict = {True: ": kept", False: ": missed", None: ": not settled"}[change.keeps] if is_bounded else ""
    return f"{words.listed(parts)}{verdict}"
