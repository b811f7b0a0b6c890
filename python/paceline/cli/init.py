"""`paceline init`: a scenario to start from, out of those that come with the package."""

from __future__ import annotations

import click

from paceline.cli import completion
from paceline.cli.options import QUIET
from paceline.terminal.output import DONE, print_data, print_table, say


def _templates() -> list[str]:
    from paceline.scenario import shipped_files

    return [*shipped_files.texts(), shipped_files.ALL]


@click.command(short_help="Write a scenario to start from.")
@click.argument("template", default="one-flow", required=False, shell_complete=completion.words(_templates))
@click.argument("dir", default=".", required=False, shell_complete=completion.directories)
@click.option("--list", "as_list", is_flag=True, help="Say which templates there are, a line each.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@QUIET
def init(template: str, dir: str, as_list: bool, force: bool) -> int:  # noqa: A002
    """Write the scenario TEMPLATE into DIR, to run, change and sweep.

    TEMPLATE is one of those that --list shows, or all; one-flow unless given. DIR is here unless given, and made where
    it is not there. No file is replaced without --force. Prints what was written.

    \b
    paceline init
    paceline init --list
    paceline init edge-vs-host study && paceline run study/edge-vs-host.toml
    """
    from paceline.scenario import shipped_files

    if as_list:
        print_table(("template", "what it is about"), list(shipped_files.titles().items()), 1, texts=1)
        return DONE
    names = shipped_files.chosen(template)
    texts = shipped_files.texts()
    written = shipped_files.write_files({f"{name}.toml": texts[name] for name in names}, dir, force=force)
    print_data("".join(f"{path}\n" for path in written))
    if len(names) == 1:
        say(f"next: paceline run {written[0]}")
    return DONE
