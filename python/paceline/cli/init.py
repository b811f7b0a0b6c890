"""`paceline init`: a scenario or a notebook to start from, out of those that come with the package."""

from __future__ import annotations

import click

from paceline._arguments import directory
from paceline.cli import completion
from paceline.cli.options import QUIET, not_written
from paceline.errors import StoreError
from paceline.terminal.output import DONE, print_data, print_table, say


def _templates() -> list[str]:
    from paceline.scenario import shipped_files

    return [*shipped_files.titles(), shipped_files.ALL]


@click.command(short_help="Write a scenario or a notebook to start from.")
@click.argument("template", default="one-flow", required=False, shell_complete=completion.words(_templates))
@click.argument("dir", default=".", required=False, shell_complete=completion.directories)
@click.option("--list", "as_list", is_flag=True, help="Say which templates there are, a line each.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@QUIET
def init(template: str, dir: str, as_list: bool, force: bool) -> int:  # noqa: A002
    """Write the scenario or the notebook TEMPLATE into DIR, to run, change and sweep.

    TEMPLATE is one of those that --list shows, or all; one-flow unless given. DIR is here unless given, and made where
    it is not there. Beside it goes a JSON Schema, which its first line names: an editor with a TOML language server
    then completes, explains and checks it. No file is replaced without --force. Prints what was written.

    \b
    paceline init
    paceline init --list
    paceline init edge-vs-host study && paceline run study/edge-vs-host.toml
    paceline init notebooks/first-steps
    """
    from paceline.scenario import schema, shipped_files

    if as_list:
        print_table(("template", "what it is about"), list(shipped_files.titles().items()), 1, texts=1)
        return DONE
    scenarios, notebooks = shipped_files.texts(), shipped_files.notebooks()
    files = {}
    for name in shipped_files.chosen(template):
        if name in notebooks:
            files[f"{name}.ipynb"] = notebooks[name]
        else:
            files[f"{name}.toml"] = schema.naming(scenarios[name], schema.beside(name))
            files[schema.FILE] = schema.text()
    folder = directory(dir, "DIR", "paceline init edge-vs-host study")
    try:
        written = shipped_files.write_files(files, folder, force=force)
    except OSError as error:
        wrong = StoreError(f"{error.filename or folder}: {error.strerror or error}")
        wrong.__context__ = error
        raise not_written(wrong, dir, "DIR") from None
    print_data("".join(f"{path}\n" for path in written))
    if template != shipped_files.ALL:
        say(f"next: {'jupyter lab' if template in notebooks else 'paceline run'} {written[0]}")
    return DONE
