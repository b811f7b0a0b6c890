"""An answer as a page, one file; and in short for a notebook."""

from __future__ import annotations

import html
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup

from paceline import _core
from paceline.advise import view, words
from paceline.advise.deploy import Command
from paceline.advise.fragility import words_of
from paceline.advise.measures import MEASURES
from paceline.report import script
from paceline.report.formatting import unbroken
from paceline.report.line_plot import Axis, Line, line_plot

if TYPE_CHECKING:
    from paceline.advise.advice import Advice

_STATUS = {
    "settled": "Runs settle it.",
    "tie": "Others do as well, as far as runs tell.",
    "undecided": "Runs did not settle it.",
    "unreachable": "No setting that may be keeps the bounds.",
}

#: Of fewer runs an interval is too wide to be drawn.
_BAND_FROM = 3


def render(advice: Advice) -> str:
    """The page as HTML."""
    here = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(here),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["unbroken"] = unbroken
    environment.globals["outer_first"] = lambda rows, row: row is rows[0]
    # our own style sheet, not input
    style = Markup((here.parent / "report" / "style.css").read_text(encoding="utf-8"))  # noqa: S704
    return environment.get_template("advice.html").render(
        style=style, script=script.text(), policy=script.policy(), **_content(advice)
    )


def notebook(advice: Advice) -> str:
    """The sentence and the table."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in ["pacing", "packets", *view.columns(advice), "seeds"])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in view.rows(advice)
    )
    said = html.escape(advice.sentence)
    return f"<p><b>{said}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _content(advice: Advice) -> dict[str, Any]:
    question, verdict = advice._question, advice._verdict
    names = view.columns(advice)
    head, _, rest = advice.sentence.partition("; ")
    starred = any(not row.fresh for row in verdict.rows)
    return {
        "title": f"{words.rate(question.rate_bps)}, {question.flows} flows",
        "answer": head + ("." if rest else ""),
        "beside": f"{rest[:1].upper()}{rest[1:]}",
        "goal": words.goal(question),
        "status": _STATUS[advice.status],
        "sure": f"{question.sure * 100:g}",
        "note": "A star: runs that had a part in the choice; all others are of fresh seeds." if starred else "",
        "head": ["pacing", "packets", *names, "seeds"],
        "rows": view.rows(advice),
        "curves": _curves(advice, names),
        "tried_head": ["pacing", "packets", *names, "seeds"],
        "tried": _tried(advice, names),
        "rules": [
            {"name": one.name, "packets": words.number(one.packets), "about": one.about, "source": one.source}
            for one in advice._rules
        ],
        "parts": _parts(advice),
        "deploy": [(title, _in_blocks(lines)) for title, lines in advice.deployment()],
        "scenario": advice.scenario.to_toml(),
        "spent": f"{advice.runs} runs, {advice.cpu_s:.1f} s of processor time, {advice.wall_s:.1f} s. "
        f"Paceline {_core.version()}",
    }


def _parts(advice: Advice) -> list[tuple[str, list[str]]]:
    parts = [
        ("What was ruled out, and why", [f"{words.spoken(name)}: {why}" for name, why in advice._verdict.ruled_out]),
        (
            "If it were otherwise",
            [f"{one.name}: {words_of(one, is_bounded=bool(advice._question.bounds))}" for one in advice._changes],
        ),
        ("On the kernel", [advice._verified.said] if advice._verified else []),
        ("What it rests on", advice.assumptions()),
    ]
    return [(title, items) for title, items in parts if items]


def _in_blocks(lines: list[str]) -> list[tuple[bool, list[str]]]:
    """Lines together that are commands, and those that are words."""
    return [(is_command, list(some)) for is_command, some in groupby(lines, lambda line: isinstance(line, Command))]


def _tried(advice: Advice, names: list[str]) -> list[list[str]]:
    evidence = advice._evidence
    found = []
    for one in sorted(evidence.runs, key=lambda one: (one.queue, one.pacing.effort, one.pacing.name, one.buffer)):
        label = words.label(one.pacing, one.queue, advice._question.queues)
        cells = [words.estimate(evidence.interval(one, name), name) for name in names]
        found.append([label, str(one.buffer), *cells, str(len(evidence.runs[one]))])
    return found


def _curves(advice: Advice, names: list[str]) -> list[dict[str, Any]]:
    """For each measure what every pacing gets, over the buffer."""
    evidence, question = advice._evidence, advice._question
    found = []
    for name in names:
        lines = []
        for slot, arm in enumerate(dict.fromkeys((one.pacing, one.queue) for one in sorted(evidence.runs, key=_order))):
            own = sorted(one for one in evidence.runs if (one.pacing, one.queue) == arm)
            values = [value for one in own if (value := evidence.interval(one, name))]
            if len(values) != len(own):
                continue
            label = words.label(*arm, question.queues)
            x = np.array([float(one.buffer) for one in own])
            y = np.array([value.mean for value in values])
            half = np.array([value.half or 0.0 if value.count >= _BAND_FROM else 0.0 for value in values])
            lines.append(Line(label, slot, x, y, half))
        bounds = [one.value for one in question.bounds if one.measure == name]
        if lines and bounds:
            ends = np.array([min(line.x[0] for line in lines), max(line.x[-1] for line in lines)])
            lines.append(Line("bound", 8, ends, np.array([bounds[0], bounds[0]]), quiet=True, seen=True))
        if not lines:
            continue
        kind = MEASURES[name].kind
        drawing = line_plot(
            MEASURES[name].words.capitalize(),
            f"{MEASURES[name].words} over the core's buffer, a line a pacing method",
            lines,
            Axis("buffer of the core, packets", "packets", logarithmic=True),
            Axis(MEASURES[name].words, kind if kind != "number" else "index"),
        )
        caption = f"Bands are intervals over seeds; settings with fewer than {_BAND_FROM} have none."
        found.append({"name": name, "picture": drawing.markup(), "caption": caption})
    return found


def _order(one: Any) -> tuple[str, int, str, int]:
    return one.queue, one.pacing.effort, one.pacing.name, one.buffer
