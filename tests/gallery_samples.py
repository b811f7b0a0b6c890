"""Verdicts for tests of the gallery, made up: what a directory of `paceline reproduce --out` holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paceline.papers import Claim, Evidence, Length, Picture, Verdict, drawing, select, verdicts
from paceline.papers.claim import Outcome

QUICK = Length(quick=True)
#: Claims that have a verdict in `directory`; the others were not run.
VERDICTS: Mapping[str, Outcome] = {
    "edge-fig3-goodput": "reproduced",
    "edge-fig3-loss": "partly",
    "zhao-fig2": "not reproduced",
    "qlbp-table2": "reproduced",
    "dc-poi": "partly",
}


def claim(name: str) -> Claim:
    return select([name])[0]


def panels(count: int, name: str = "curves") -> Picture:
    """A picture of `count` panels side by side."""
    figure, axes = drawing.axes(count)
    for number, ax in enumerate(axes):
        drawing.curve(ax, [2, 5, 10], [81.5, 92.4, 93.0], "a curve with a long name", slot=number)
        drawing.printed(ax, 5, 93, "paper: 93")
        ax.set(title=f"panel {number}", xlabel=f"buffer {number}, KB", ylabel=f"a quantity with a long name {number}")
        drawing.legend(ax)
    return drawing.picture(figure, name, f"A picture of {count} panels; crosses are the paper's.")


def rows() -> Picture:
    """A picture of two rows of two panels with nothing over them, so that words between rows are the upper ones'."""
    figure, axes = drawing.axes(4, columns=2)
    for number, ax in enumerate(axes):
        drawing.curve(ax, [2, 5, 10], [81.5, 92.4, 93.0], "a curve", slot=number)
        ax.set(xlabel=f"buffer {number}, KB", ylabel=f"quantity {number}")
    return drawing.picture(figure, "rows", "A picture of two rows.")


def gapped() -> Picture:
    """A curve with a value that is not known: of its interval nothing is drawn."""
    figure, (ax,) = drawing.axes(1)
    drawing.curve(ax, [2, 5, 10], [81.5, math.nan, 93.0], "a curve", slot=1)
    ax.set(xlabel="buffer, KB", ylabel="a quantity")
    return drawing.picture(figure, "gapped", "A picture of a curve that lacks a value.")


def coloured() -> Picture:
    """Two panels in colours, each with its bar on the right."""
    figure, axes = drawing.axes(2)
    for ax, most in zip(axes, (3, 7), strict=True):
        ax.grid(visible=False)
        figure.colorbar(ax.pcolormesh([[0, most], [most, 0]]), ax=ax, label=f"up to {most}")
    return drawing.picture(figure, "coloured", "A picture of two panels in colours.")


def keep(
    at: Path, name: str, outcome: Outcome = "reproduced", length: Length = QUICK, panels_of: int = 2, **change: Any
) -> Path:
    """A claim's verdict with its own scenarios, two runs and two pictures; returns its folder."""
    rows = [
        Evidence("goodput at 5 KB, none, kbit/s", 81.59344, (80.33095, 82.85593), "82 kbit/s within 5 %", True),
        Evidence("a statistic with a long name that goes on and on for lines", -1234.5678, None, "above 0", False),
        Evidence("what explains", "a word", (0.0, 0.1), "beside 0.05", None),
    ]
    note = "The one holds. The other does not: see why-it-is-so. Fig. 2 is another matter."
    numbers = {"unpaced_kbps": 81.59, "a list": [1, 2.5, 3.25]}
    verdict = Verdict(**({"verdict": outcome, "ours": numbers, "theirs": {"unpaced_kbps": 82}, "note": note} | change))
    if not verdict.evidence:
        verdict = Verdict(outcome, verdict.ours, verdict.theirs, verdict.note, rows * (5 if name == "dc-poi" else 1))
    runs = [
        {"sweep": "main", "key": key, "engine.cpu_s": 1.5, "engine.core_packets": 1000}
        for key in ("shared", f"of {name}")
    ]
    pictures = [panels(panels_of), panels(1, "another")]
    scenarios = claim(name).sweeps(length)
    verdicts.save(at, claim(name), length, verdict, scenarios, pictures, runs)
    return verdicts.folder(at, claim(name), length)


def directory(at: Path) -> Path:
    """Verdicts of every kind, quick ones, one in full length, one that is out of date."""
    for name, outcome in VERDICTS.items():
        keep(at, name, outcome, Length() if name == "qlbp-table2" else QUICK, 1 if name == "zhao-fig2" else 3)
    old = verdicts.folder(at, claim("zhao-fig2"), QUICK) / "verdict.json"
    old.write_text(old.read_text().replace('"core": "', '"core": "0.0.1-'))
    return at
