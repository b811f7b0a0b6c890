"""Asks and answers: theory proposes, the search disposes, fresh runs state, changes show how fragile it is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paceline.advise import words
from paceline.advise.advice import Advice
from paceline.advise.answer import state
from paceline.advise.candidates import rules
from paceline.advise.evidence import Evidence, Run
from paceline.advise.fragility import Change, fragility
from paceline.advise.network import length_of, smaller
from paceline.advise.question import Candidate, Question
from paceline.advise.running import Simulator
from paceline.advise.search import SHARE, search
from paceline.advise.sentence import sentence

if TYPE_CHECKING:
    from distributed import Client

    from paceline.store import Store

#: Shares of the time by which statements have their runs, and changes theirs.
_STATED, _CHANGED = 0.72, 0.9


def answer(
    question: Question,
    *,
    store: Store | None = None,
    jobs: int | None = None,
    executor: Executor | Client | None = None,
    tell: Callable[[str], object] | None = None,
    watch: Callable[[float, int, int], None] | None = None,
    with_changes: bool = True,
) -> Advice:
    """The answer to a question. Raises as `paceline.advise` does."""
    began = time.monotonic()
    say = tell or (lambda _: None)

    def progressed(_share: float, finished: int, _total: int) -> None:
        """By the time that it may take, while that lasts: how many runs there will be is not known."""
        if watch:
            share = (time.monotonic() - began) / question.within_s
            watch(share if share < 1 else 0.0, simulator.count + finished, 0)

    simulator = Simulator(
        question, store=store, jobs=jobs, executor=executor, until=began + SHARE * question.within_s, watch=progressed
    )
    say(f"wanted: {words.goal(question)}; theory: {_theory(question)}")
    last = ""

    def so_far(evidence: Evidence, best: Candidate) -> None:
        nonlocal last
        where = "" if evidence.question is question else f" in a network of {evidence.question.flows} flows"
        said = f"so far{where}: {_in_short(evidence, best)}"
        if said != last:
            say(f"{said} ({simulator.count} runs)")
        last = said

    small = smaller(question)
    scout = (small, _scouting(simulator, small)) if small else None
    found = search(question, simulator, so_far, began, scout)
    simulator.until = math.inf
    verdict = state(question, found, simulator, began + _STATED * question.within_s, simulator.lasts)
    changes: list[Change] = []
    if with_changes and verdict.status != "unreachable":
        changes = fragility(question, verdict.best.candidate, simulator, began + _CHANGED * question.within_s)
    return Advice(
        sentence(question, verdict, found.ended),
        verdict.status,
        simulator.count,
        simulator.cpu_s,
        time.monotonic() - began,
        question,
        verdict,
        rules(question),
        changes,
        found.evidence,
        length_of(question, verdict.best.candidate.buffer),
    )


def on_kernel(
    advice: Advice,
    *,
    store: Store | None = None,
    tell: Callable[[str], object] = lambda _: None,
    watch: Callable[[float, int, int], None] | None = None,
) -> Advice:
    """The same advice with this machine's kernel's word on it. Raises `Interrupted`."""
    from paceline.advise.verify import verify

    return replace(advice, _verified=verify(advice._question, advice._verdict, store, watch, tell))


def _scouting(simulator: Simulator, small: Question) -> Callable[[Any], Mapping[tuple[Candidate, int], Run]]:
    return lambda pairs: simulator.run(small, pairs)


def _theory(question: Question) -> str:
    return ", ".join(f"{one.name} {words.number(one.packets)} packets" for one in rules(question))


def _in_short(evidence: Evidence, best: Candidate) -> str:
    question = evidence.question
    means = evidence.means(best)
    names = [bound.measure for bound in question.bounds]
    if question.goal in means and question.goal not in names:
        names.insert(0, question.goal)
    values = ", ".join(f"{words.quantity(means[name], name)} {name}" for name in names if name in means)
    return f"{words.setting(best, question.queues)}: {values}"
