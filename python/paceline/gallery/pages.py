"""Writes the gallery: an overview, a page a paper, pictures, scenarios and verdicts to download. Links are relative."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

import paceline.report
from paceline import _core
from paceline.errors import InputError, StoreError
from paceline.gallery import pictures, sentences
from paceline.gallery.entries import Entry, cost, entries
from paceline.gallery.questions import QUESTIONS, Question
from paceline.papers import Paper, papers
from paceline.papers.claim import NS2_PACKET_S
from paceline.report import script
from paceline.report.formatting import plain, unbroken

_HERE = Path(__file__).parent
_SIGN = re.compile(r"(?<![^\s(])-(?=\d)")
_SHARE = re.compile(r"(?<=\d)%")
#: Nothing has no sign: ``+0 %``.
_NO_SIGN = re.compile(r"(?<![\w.])[+\-\u2212](0(?:\.0+)?)(?![.\d])")
_MICROSECONDS = re.compile(r"(?<=\d) us\b|(?<=,) us$")
#: More rows of evidence than this are folded away, and more files.
MOST_ROWS, MOST_FILES = 12, 24
#: Wider pictures have a page's width to themselves, px: beside text their words would be under 8 px.
BESIDE_TEXT = 800


@dataclass(frozen=True)
class Figure:
    """A picture on a page.

    Attributes:
        file: of it, from the site's root.
        small: one of its panels, the claim's, the thumbnail.
        tall: the same with its panels stacked, for a narrow page; empty where that would be the same.
        width, height, small_width, small_height, tall_width, tall_height: px.
        caption: what is seen.
        drawn: the picture within the page, whose script answers in it; ``None`` for one of an earlier version.
        svg: its text, by which equal pictures are found.
    """

    file: str
    small: str
    tall: str
    width: int
    height: int
    small_width: int
    small_height: int
    tall_width: int
    tall_height: int
    caption: str
    svg: str
    drawn: Markup | None

    @property
    def is_wide(self) -> bool:
        """Whether it takes the whole width of a page to be read."""
        return self.width > BESIDE_TEXT


def write(results: Path, out: Path) -> Path:
    """Writes the gallery of the verdicts in `results` to the directory `out`, and returns its overview.

    Raises:
        InputError: `results` has no verdict at all.
        StoreError: something cannot be written.
    """
    shown = entries(results)
    if not any(entry.record for entry in shown):
        again = f"paceline reproduce all --quick --out {results}"
        raise InputError(f"{results}: no verdicts to show; make some first: {again}")
    with _as_store_error(out):
        out.mkdir(parents=True, exist_ok=True)
        figures = {entry.claim.id: list(_figures(entry, out)) for entry in shown}
        downloads = {entry.claim.id: _downloads(entry, out) for entry in shown}
        environment = _environment()
        base = {"shown": shown, "figures": figures, "downloads": downloads}
        for question in QUESTIONS:
            page = environment.get_template("question.html").render(**base, **_of_question(question, shown))
            _write(out / f"{question.name}.html", page)
        for paper in papers():
            page = environment.get_template("paper.html").render(**base, **_of_paper(paper, shown))
            _write(out / f"{paper.name}.html", page)
        overview = environment.get_template("overview.html").render(**base, **_overview(shown, figures))
        _write(out / "index.html", overview)
    return out / "index.html"


def _spaced(value: Any) -> Any:
    """Words with percentages and signs as everywhere: claims say `-3.7%` in places."""
    if type(value) is not str:
        return value
    value = _NO_SIGN.sub(r"\1", value)
    return unbroken(_SHARE.sub("\u00a0%", _SIGN.sub("\u2212", _MICROSECONDS.sub("\u00a0µs", value))))


def _environment() -> jinja2.Environment:
    report = Path(paceline.report.__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_spaced,
    )
    style = (report / "style.css").read_text(encoding="utf-8") + (_HERE / "gallery.css").read_text(encoding="utf-8")
    environment.globals |= {
        "script": script.text(),
        "policy": script.policy("'self' file: data:"),
        "style": Markup(style),  # noqa: S704 - our own style sheets, not input
        "version": _core.version(),
        "words": sentences,
        "most_rows": MOST_ROWS,
        "most_files": MOST_FILES,
        "papers": papers(),
        "questions": QUESTIONS,
    }
    return environment


def _overview(shown: Sequence[Entry], figures: Mapping[str, Sequence[Figure]]) -> dict[str, Any]:
    total = cost(shown)
    facts = [
        ("Runs", plain(total.runs, 0)),
        ("Processor time", sentences.duration(total.cpu_s)),
        ("Packets delivered", f"{plain(total.core_packets / 1e6, 1)} million"),
        (
            "ns-2 would take about",
            f"{sentences.duration(total.core_packets * NS2_PACKET_S)}, at {NS2_PACKET_S * 1e6:g} us a packet",
        ),
        ("Version", f"Paceline {_core.version()}"),
    ]
    of_paper = {paper.name: [e for e in shown if e.claim.paper == paper.name] for paper in papers()}
    thumbnails = {name: _thumbnails(some, figures) for name, some in of_paper.items()}
    found = {entry.claim.id: entry for entry in shown}
    answers = {question.name: list(question.answer(found)) for question in QUESTIONS}
    return {"facts": facts, "of_paper": of_paper, "thumbnails": thumbnails, "answers": answers}


def _thumbnails(some: Sequence[Entry], figures: Mapping[str, Sequence[Figure]]) -> list[tuple[Figure, list[Entry]]]:
    """The first picture of each claim; claims of one panel of one picture share it."""
    found: dict[tuple[str, int], tuple[Figure, list[Entry]]] = {}
    for entry in some:
        for figure in figures[entry.claim.id][:1]:
            found.setdefault((figure.svg, entry.claim.panel), (figure, []))[1].append(entry)
    return list(found.values())


def _of_question(question: Question, shown: Sequence[Entry]) -> dict[str, Any]:
    found = {entry.claim.id: entry for entry in shown}
    evidence = question.evidence(found)
    return {
        "question": question,
        "answer": list(question.answer(found)),
        "evidence": evidence,
        "some": list({entry.claim.id: entry for some in evidence.values() for entry in some}.values()),
        "titles": {paper.name: paper.title for paper in papers()},
    }


def _of_paper(paper: Paper, shown: Sequence[Entry]) -> dict[str, Any]:
    return {"paper": paper, "some": [entry for entry in shown if entry.claim.paper == paper.name]}


def _figures(entry: Entry, out: Path) -> Iterator[Figure]:
    for one in entry.record.pictures if entry.record else ():
        try:
            svg = (entry.place / one["file"]).read_text(encoding="utf-8")
            whole = pictures.themed(svg)
        except (OSError, ValueError):
            continue  # its page says so
        panels = pictures.panels(whole)
        tall = pictures.stacked(whole, panels) if panels else None
        chosen = entry.claim.panel if entry.claim.panel < len(panels) else 0
        small = pictures.stacked(whole, panels[chosen : chosen + 1]) if panels else whole
        place = f"pictures/{entry.claim.id}"
        _write(out / place / f"{one['name']}.svg", whole.svg)
        if tall:
            _write(out / place / f"{one['name']}-tall.svg", tall.svg)
            _write(out / place / f"{one['name']}-small.svg", small.svg)
        yield Figure(
            f"{place}/{one['name']}.svg",
            f"{place}/{one['name']}{'-small' if tall else ''}.svg",
            f"{place}/{one['name']}-tall.svg" if tall else "",
            whole.width,
            whole.height,
            small.width,
            small.height,
            tall.width if tall else 0,
            tall.height if tall else 0,
            one["caption"],
            svg,
            pictures.within(whole, f"{entry.claim.id}-{one['name']}", one["caption"]),
        )


def _downloads(entry: Entry, out: Path) -> list[tuple[str, str, str]]:
    """Name, file and kind of what a page offers: scenarios as they were run, the verdict, a table of the runs."""
    if entry.record is None:
        return []
    wanted = [(name, file, "scenario") for name, file in entry.record.sweeps.items()]
    wanted += [("verdict.json", "verdict.json", "data"), ("runs.parquet", "runs.parquet", "data")]
    found = []
    for name, file, kind in wanted:
        with contextlib.suppress(FileNotFoundError):
            data = (entry.place / file).read_bytes()
            link = f"claims/{entry.claim.id}/{file}"
            _write(out / link, data)
            found.append((name, link, kind))
    return found


def _write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


@contextlib.contextmanager
def _as_store_error(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or out}: {error.strerror or error}") from None
