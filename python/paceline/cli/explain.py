"""`paceline explain`: what the simulator's options are, with values, units and sources."""

from __future__ import annotations

import difflib
import json
from typing import Any

import click

from paceline.cli import completion
from paceline.errors import InputError
from paceline.terminal.output import DONE, print_data, print_table, print_text


def _profiles() -> list[str]:
    from paceline import _core

    return [one["profile"] for one in json.loads(_core.tcp_options())]


@click.group(short_help="Say what options TCP has, and where they come from.")
def explain() -> None:
    """Say what options there are, what they are set to, and where that comes from."""


@explain.command()
@click.option(
    "--profile",
    "profile",
    metavar="NAME",
    shell_complete=completion.words(_profiles),
    help="This profile alone.  [default: every profile]",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON: a list of profiles.")
def tcp(profile: str | None, as_json: bool) -> int:
    """List every option of TCP's profiles: value, unit, source and meaning.

    A scenario sets them in a traffic's tcp table; docs/tcp.md has the profiles side by side.

    \b
    paceline explain tcp --profile ns2
    paceline explain tcp --json | jq '.[] | select(.profile == "linux").options[] | [.option, .value, .unit]'
    """
    from paceline import _core

    profiles: list[dict[str, Any]] = json.loads(_core.tcp_options())
    if profile is not None:
        names = [one["profile"] for one in profiles]
        if profile not in names:
            raise InputError(f'"{profile}" is unknown; {_instead(profile, names)}', "--profile")
        profiles = [one for one in profiles if one["profile"] == profile]
    if as_json:
        print_data(json.dumps(profiles, ensure_ascii=False) + "\n")
        return DONE
    for number, one in enumerate(profiles):
        print_data("\n" if number else "")
        print_text(f"{one['profile']}: {one['meaning']}")
        print_data("\n")
        _print_options(one["options"])
    return DONE


def _instead(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    quoted = [f'"{known}"' for known in names]
    return f'did you mean "{near[0]}"?' if near else f"write {', '.join(quoted[:-1])} or {quoted[-1]}"


def _print_options(options: list[dict[str, Any]]) -> None:
    rows = [(one["option"], _value(one), one["unit"] or "", one["source"], one["meaning"]) for one in options]
    print_table(("option", "value", "unit", "source", "meaning"), rows, 1, texts=4)


def _value(option: dict[str, Any]) -> str:
    value = option["value"]
    if value is None:
        return str(option["written"])
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
