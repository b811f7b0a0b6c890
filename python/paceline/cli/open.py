"""`paceline open`: the documentation in a browser, without a network."""

from __future__ import annotations

import difflib
import webbrowser
from pathlib import Path

import click

from paceline import _core
from paceline.cli import completion
from paceline.cli.options import QUIET
from paceline.errors import InputError
from paceline.terminal.output import DONE, print_data, say


def _pages() -> list[str]:
    from paceline.manual import pages

    return pages.names()


@click.command("open", short_help="Open the documentation, without a network.")
@click.argument("page", default="index", required=False, shell_complete=completion.words(_pages))
@click.option(
    "--out",
    metavar="DIR",
    shell_complete=completion.directories,
    help="Write the pages there.  [default: the user's cache]",
)
@click.option("--no-browser", is_flag=True, help="Write them and print where, and open nothing.")
@QUIET
def open_page(page: str, out: str | None, no_browser: bool) -> int:
    """Open the documentation of this version in the browser, at PAGE: howto/install, scenarios, …

    Its pages are in the package; they are written as HTML files, and nothing is fetched.

    \b
    paceline open
    paceline open scenarios
    paceline open --no-browser --out docs
    """
    from paceline.manual import pages

    name = page.removesuffix(".md").removesuffix(".html")
    known = pages.names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        instead = f'did you mean "{near[0]}"?' if near else "write for example scenarios or howto/install"
        raise InputError(f'"{page}" is no page; {instead}', "PAGE")
    folder = Path(out) if out else pages.cache_folder(_core.version())
    pages.write(folder)
    target = (folder / f"{name}.html").absolute()
    print_data(f"{target}\n")
    if not no_browser and not webbrowser.open(target.as_uri()):
        say("there is no browser to open it in")
    return DONE
