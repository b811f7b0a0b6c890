"""`paceline gallery`: the papers' claims, pictures and verdicts as a site to open or to put anywhere."""

from __future__ import annotations

from pathlib import Path

import click

from paceline.commands.reproduce import DEFAULT_OUT
from paceline.console import DONE, print_data
from paceline.errors import InputError


@click.command(short_help="Make a site of the papers' claims and verdicts.")
@click.argument("results", default=DEFAULT_OUT, metavar="[RESULTS]")
@click.option("--out", metavar="DIR", help="Where the site goes.  [default: gallery in RESULTS]")
def gallery(results: str, out: str | None) -> int:
    """Make a site of what paceline reproduce --out RESULTS kept: an overview, a page a paper, scenarios to download.

    It runs nothing, needs no network to be read, and can be copied anywhere. Claims without a verdict, or whose
    verdict is out of date, are shown as such; a verdict in full length goes before one of a quick look.

    \b
    paceline gallery
    paceline gallery results/papers --out public
    """
    from paceline.gallery import write

    if out is not None and not out.strip():
        raise InputError("names no directory; write one that can be written, as --out public", "--out")
    page = write(Path(results), Path(out) if out else Path(results) / "gallery")
    print_data(f"{page}\n")
    return DONE
