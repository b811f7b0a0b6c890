"""`paceline figure`: results as a figure for print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from paceline import _arguments
from paceline.cli import completion
from paceline.cli.options import QUIET, RESULTS
from paceline.errors import InputError
from paceline.terminal.output import DONE, print_data, say
from paceline.terminal.progress import phase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = ("metrics", "queue", "raster")
_WIDTHS = ("column", "text")


def _metrics() -> list[str]:
    from paceline.report.metrics import BY_KEY

    return sorted(BY_KEY)


@click.command(short_help="Draw results as PDF, SVG, PGF or PNG.")
@RESULTS
@click.option(
    "--of",
    "what",
    metavar="WHAT",
    default="metrics",
    shell_complete=completion.words(_KINDS),
    help="metrics over what was swept, the queue over time, or a raster of departures.  [default: metrics]",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.words(_metrics),
    help="goodput, loss, jain, …, one below the other.  [default: throughput, goodput and loss]",
)
@click.option(
    "--out",
    "files",
    multiple=True,
    metavar="FILE",
    shell_complete=completion.files,
    help="What to write: .pdf, .svg, .pgf or .png.  [default: WHAT.pdf]",
)
@click.option(
    "--width",
    metavar="WIDTH",
    default="column",
    shell_complete=completion.words(_WIDTHS),
    help="column (3.5 in), text (7.16 in), or a length, 84mm.  [default: column]",
)
@click.option("--height", metavar="LENGTH", help="Of the figure.  [default: what it takes]")
@QUIET
def figure(
    results: str, what: str, metrics: tuple[str, ...], files: tuple[str, ...], width: str, height: str | None
) -> int:
    """Draw RESULTS, a directory that paceline run --out wrote, at the size of a column, in the look of the report.

    Text is 8 points. A .pgf goes into LaTeX with \\input and needs LaTeX here too. Prints the files.

    \b
    paceline figure results/mine
    paceline figure results/mine --metric loss --out loss.pdf --out loss.svg
    paceline figure results/mine --of raster --width text --height 40mm --out raster.png
    """
    with phase("drawing the figure"):
        drawn_files, note = _draw(results, what, metrics, files, width, height)
    if note:
        say(note)
    print_data("".join(f"{target}\n" for target in drawn_files))
    return DONE


def _draw(
    results: str, what: str, metrics: tuple[str, ...], files: tuple[str, ...], width: str, height: str | None
) -> tuple[list[Path], str]:
    """The files, and what there is to say of them. What draws takes seconds to load."""
    from paceline import plot
    from paceline.results import Results
    from paceline.results.loading import read_runs

    note = ""
    _arguments.one_of(what, "--of", "kind of figure", _KINDS)
    inches = {"column": plot.COLUMN, "text": plot.TEXT}.get(width) or _inches(width, "--width")
    tall = None if height is None else _inches(height, "--height")
    targets = [Path(name) for name in files or (f"{what}.pdf",)]
    for target in targets:
        if target.suffix.lower().removeprefix(".") not in plot.FORMATS:
            known = ", ".join(f".{form}" for form in plot.FORMATS)
            raise InputError(f'"{target}" has no suffix that says a form; write one of {known}', "--out")
    file = read_runs(Path(results))[0]
    try:
        with plot.paper():
            drawn = _drawn(file, what, metrics, (inches, tall))
            if what == "queue" and (settings := len(Results.load(file).by_settings())) > len(drawn.axes):
                note = f"drawn are the queues of {len(drawn.axes)} of {settings} settings"
            for target in targets:
                target.parent.mkdir(parents=True, exist_ok=True)
                plot.save(drawn, target)
    except InputError as error:
        raise InputError(error.message, "--metric") if error.source == "metrics" else error from None
    except ValueError as error:
        raise InputError(str(error), results) from None
    return targets, note


def _drawn(runs: Path, what: str, metrics: tuple[str, ...], size: tuple[float, float | None]) -> Figure:
    from paceline import plot

    if what == "queue":
        return plot.queue(runs, size=size)
    if what == "raster":
        return plot.raster(runs, size=size)
    chosen = metrics or ("throughput", "goodput", "loss")
    return plot.against_buffer(runs, chosen, size=size, stacked=size[0] < plot.TEXT)


def _inches(text: str, option: str) -> float:
    """A length: 84mm, 8.4 cm, 3.5in, 252pt."""
    units = {"mm": 25.4, "cm": 2.54, "in": 1.0, "pt": 72.27}
    number, unit = text[:-2].strip(), text[-2:]
    try:
        length = float(number) / units[unit]
    except (KeyError, ValueError):
        length = 0.0
    if not 0.5 <= length <= 50:
        raise InputError(f'"{text}" is no length from 0.5 to 50 in; write column, text, or for example 84mm', option)
    return length
