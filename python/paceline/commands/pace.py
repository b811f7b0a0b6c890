"""`paceline pace`: pace the frames between two interfaces. The work is the data plane's, `crates/dataplane`."""

from __future__ import annotations

import sys
from typing import NoReturn

import click


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    short_help="Pace the frames that pass between two interfaces.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def pace(arguments: tuple[str, ...]) -> int:
    """Pace the frames that pass between two interfaces: see paceline pace --help."""
    from paceline import _core

    return _core.pace("paceline pace", list(arguments) or ["--help"])


def program() -> NoReturn:
    """The program `paceline-pace`: the same, without what other commands need."""
    from paceline import _core

    sys.exit(_core.pace("paceline-pace", sys.argv[1:] or ["--help"]))
