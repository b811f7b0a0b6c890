"""`paceline table`: results as CSV, Markdown or LaTeX."""

from __future__ import annotations

import click

from paceline import _arguments
from paceline.cli import completion
from paceline.cli.options import QUIET, RESULTS
from paceline.terminal.output import DONE, print_data, say
from paceline.terminal.progress import phase

_FORMATS = ("csv", "markdown", "latex")


@click.command(short_help="Print results as CSV, Markdown or LaTeX.")
@RESULTS
@click.option(
    "--format",
    "form",
    metavar="NAME",
    default="markdown",
    shell_complete=completion.words(_FORMATS),
    help="csv, markdown or latex.  [default: markdown]",
)
@QUIET
def table(results: str, form: str) -> int:
    """Print the table of RESULTS, a directory that paceline run --out wrote, or its runs.parquet.

    Markdown and LaTeX (with the package booktabs) have a row a setting, means with 95 % intervals over seeds; CSV has a
    row a run and every number, in base units.

    \b
    paceline table results/mine
    paceline table results/mine --format latex > table.tex
    paceline table results/mine --format csv > runs.csv
    """
    from paceline.results import Results
    from paceline.results.text_formats import text_of

    _arguments.one_of(form, "--format", "form of a table", _FORMATS)
    with phase("reading the results"):
        runs = Results.load(results)
        text = text_of(runs, form)
    print_data(text)
    if form != "csv" and (repetition := runs.repetition):
        say(repetition)
    return DONE
