"""`paceline gallery`: the papers' claims, pictures and verdicts as a site to open or to put anywhere."""

from __future__ import annotations

import click

from paceline._arguments import directory
from paceline._optional import needed
from paceline.cli import completion
from paceline.cli.options import QUIET, not_written
from paceline.cli.reproduce import DEFAULT_OUT
from paceline.errors import StoreError
from paceline.terminal.output import DONE, print_data


@click.command(short_help="Make a site of the papers' claims and verdicts.")
@click.argument("results", default=DEFAULT_OUT, metavar="[RESULTS]", shell_complete=completion.directories)
@click.option(
    "--out",
    metavar="DIR",
    shell_complete=completion.directories,
    help="Where the site goes.  [default: gallery in RESULTS]",
)
@QUIET
def gallery(results: str, out: str | None) -> int:
    """Make a site of what paceline reproduce --out RESULTS kept: an overview, a page a paper, scenarios to download.

    It runs nothing, needs no network to be read, and can be copied anywhere. Claims without a verdict, or whose
    verdict is out of date, are shown as such; a verdict in full length goes before one of a quick look.

    \b
    paceline gallery
    paceline gallery results/papers --out public
    """
    from paceline.gallery import write
    from paceline.terminal.progress import phase

    needed("matplotlib", "paceline gallery")
    folder = directory(results, "RESULTS", "paceline gallery results/papers")
    site = folder / "gallery" if out is None else directory(out, "--out", "--out public")
    try:
        with phase("making the gallery"):
            page = write(folder, site)
    except StoreError as error:
        raise not_written(error, out) from None
    print_data(f"{page}\n")
    return DONE
