"""`paceline gallery`: the papers' claims, pictures and verdicts as a site to open or to put anywhere."""

from __future__ import annotations

import click

from paceline.arguments import directory
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

    folder = directory(results, "RESULTS", "paceline gallery results/papers")
    site = folder / "gallery" if out is None else directory(out, "--out", "--out public")
    try:
        page = write(folder, site)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        what = f"{error.filename}: {error.strerror}; name another directory, one that can be written"
        raise InputError(what, "--out" if out else None) from None
    print_data(f"{page}\n")
    return DONE
