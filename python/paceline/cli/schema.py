"""`paceline schema`: JSON Schemas of scenarios, and of what commands print."""

from __future__ import annotations

import json

import click

from paceline import _arguments
from paceline.cli import completion
from paceline.cli.output_schemas import OUTPUTS, schema_of
from paceline.terminal.output import DONE, print_data

_KINDS = ("scenario", *OUTPUTS)


@click.command(short_help="Print a JSON Schema of scenarios, or of an output.")
@click.argument("what", default="scenario", required=False, shell_complete=completion.words(_KINDS))
def schema(what: str) -> int:
    """Print the JSON Schema (draft 7) of scenarios, or of what a command prints with --json: WHAT is that command.

    An editor with a TOML language server completes, explains and checks a scenario that begins with
    #:schema paceline.schema.json; paceline init writes that line, and the file.

    \b
    paceline schema > paceline.schema.json
    paceline schema run
    """
    from paceline.scenario import schema as of_scenarios

    _arguments.one_of(what, "WHAT", "kind of file or output", _KINDS)
    if what == "scenario":
        print_data(of_scenarios.text())
    else:
        print_data(json.dumps(schema_of(what), ensure_ascii=False, indent=1) + "\n")
    return DONE
