"""An answer on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.advise import words
from paceline.advise.fragility import words_of
from paceline.advise.measures import BUFFER
from paceline.terminal.text_tables import table, wrap

if TYPE_CHECKING:
    from paceline.advise.advice import Advice

_NOTE = "*"


def as_text(advice: Advice, width: int | None) -> str:
    """The sentence, the table, theory, what is ruled out, what changes do, what it rests on, and how to set it."""
    wide = width or 10_000
    lines = wrap(advice.sentence, wide)
    lines += ["", *_table(advice, width)]
    lines += _section("Theory, buffers in packets", [_rule(advice)], wide)
    verdict = advice._verdict
    lines += _section("Ruled out", [f"{words.spoken(name)}: {why}" for name, why in verdict.ruled_out], wide)
    lines += _section(
        "If it were otherwise",
        [f"{one.name}: {words_of(one, is_bounded=bool(advice._question.bounds))}" for one in advice._changes],
        wide,
    )
    if advice._verified:
        lines += _section("On the kernel", [advice._verified.said], wide)
    lines += _section("It rests on", advice.assumptions(), wide)
    for title, parts in advice.deployment():
        lines += _section(title, parts, wide)
    spent = f"{advice.runs} runs, {advice.cpu_s:.1f} s of processor time, {advice.wall_s:.1f} s."
    return "\n".join([*lines, "", *wrap(spent, wide)]) + "\n"


def columns(advice: Advice) -> list[str]:
    """The measures that the table shows: goal, bounds, and those that every question asks."""
    question = advice._question
    first = [] if question.goal == BUFFER else [question.goal]
    names = dict.fromkeys(
        [*first, *(one.measure for one in question.bounds), "utilisation", "loss", "wait", "fairness"]
    )
    return [name for name in names if any(name in row.intervals for row in advice._verdict.rows)]


def rows(advice: Advice) -> list[list[str]]:
    """Cells of the table: setting, measures, seeds; a star where seeds had a part in the choice."""
    question = advice._question
    found = []
    for row in advice._verdict.rows:
        one = row.candidate
        cells = [words.label(one.pacing, one.queue, question.queues), f"{one.buffer}"]
        cells += [words.estimate(row.intervals.get(name), name) for name in columns(advice)]
        found.append([*cells, f"{row.seeds}{'' if row.fresh else _NOTE}"])
    return found


def _table(advice: Advice, width: int | None) -> list[str]:
    head = ["pacing", "packets", *(columns(advice)), "seeds"]
    lines = [line.text for line in table(head, rows(advice), 1, width)]
    if any(not row.fresh for row in advice._verdict.rows):
        note = f"{_NOTE} runs of the search, which had a part in the choice; all others are of fresh seeds."
        lines += wrap(note, width or 10_000)
    return lines


def _rule(advice: Advice) -> str:
    best = advice._verdict.best.candidate
    said = ", ".join(f"{one.name} {words.number(one.packets)} ({one.source})" for one in advice._rules)
    return f"{said}; advised: {best.buffer}."


def _section(title: str, parts: list[str], width: int) -> list[str]:
    if not parts:
        return []
    lines = ["", *wrap(f"{title}:", width)]
    for part in parts:
        lines += wrap(f"  {part}", width, "    ")
    return lines
