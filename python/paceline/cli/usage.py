"""What is wrong with a command line, in a line: what is missing or too much, and what to write."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Sequence
from typing import Any

import click


class Argument(click.Argument):
    """An argument that says what it is where it is missing."""

    def __init__(self, names: list[str], *, what: str, **how: Any) -> None:
        super().__init__(names, **how)
        self.what = what


def said(error: click.UsageError, root: click.Group, arguments: Sequence[str]) -> str:
    """The error in a line: of its command or, where Click does not say of which, of what the arguments call."""
    command: click.Command = root
    path = ["paceline"]
    for word in arguments:
        if not isinstance(command, click.Group) or word not in command.commands:
            break
        command = command.commands[word]
        path.append(word)
    words = _words(error, error.ctx.command if error.ctx else command)
    name = error.ctx.command_path if error.ctx else " ".join(path)
    return f"{words}{'' if words.endswith('?') else ';'} see {name} --help"


def _words(error: click.UsageError, command: click.Command) -> str:
    if isinstance(error, click.MissingParameter) and error.param in command.params:
        return _missing(command, error.param)
    if isinstance(error, click.NoSuchOption):
        return f"{error.option_name}: no such option{_meant(error.possibilities)}"
    if isinstance(error, click.NoSuchCommand) and isinstance(command, click.Group):
        near = difflib.get_close_matches(error.command_name, command.commands)
        known = f"; there is {', '.join(sorted(command.commands))}"
        return f'"{error.command_name}": no such command{_meant(near) or known}'
    if isinstance(error, click.BadOptionUsage):
        option = next((one for one in command.params if error.option_name in (*one.opts, *one.secondary_opts)), None)
        if isinstance(option, click.Option) and not option.is_flag:
            return f"{error.option_name}: its value is missing; write {error.option_name} {option.metavar}"
        return f"{error.option_name}: takes no value; write it alone"
    if extra := re.fullmatch(r"Got unexpected extra arguments? \((.*)\)\.?", error.format_message()):
        return f'"{extra[1]}" is too much; put a value with a space in quotes, as "10 s"'
    return error.format_message().rstrip(".")


def _missing(command: click.Command, first: click.Parameter) -> str:
    """All that is missing from the first on, and the first example of the command's help."""
    later = command.params[command.params.index(first) :]
    wanted = [one for one in later if isinstance(one, Argument) and one.required]
    named = " and ".join(f"{(one.name or '').upper()}, {one.what}," for one in wanted)
    examples = inspect.cleandoc(command.help or "").partition("\b\n")[2].splitlines()
    return f"{named} {'are' if len(wanted) > 1 else 'is'} missing; write for example {examples[0]}"


def _meant(near: list[str] | None) -> str:
    if not near:
        return ""
    return f"; did you mean {', '.join(near[:-1])}{' or ' if near[1:] else ''}{near[-1]}?"
