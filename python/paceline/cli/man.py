"""`paceline man`: the command's page of the system's manual, made from the commands themselves.

``python -m paceline.cli.man`` writes it where the wheel takes it from: `packaging/paceline.data/`.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from paceline import _core
from paceline.terminal.output import DONE, print_data

DEFAULT = Path("packaging/paceline.data/data/share/man/man1/paceline.1")


@click.command(short_help="Show the page of the system's manual.")
@click.pass_context
def man(context: click.Context) -> int:
    """Show the page paceline(1) of the system's manual, which a wheel installs, so that man paceline shows it too.

    On a terminal by man, or as text where there is none; into a pipe or a file as roff.

    \b
    paceline man
    paceline man > paceline.1
    """
    root = context.find_root().command
    assert isinstance(root, click.Group)
    if not sys.stdout.isatty():
        print_data(page(root))
        return DONE
    reader = shutil.which("man")
    show = [reader or "", "-l", "-"]
    if reader is None or subprocess.run(show, input=page(root).encode(), check=False).returncode:  # noqa: S603 (fixed)
        print_data(text(root))
    return DONE


def text(root: click.Group) -> str:
    """The help of the command and of all that it has, for who has no reader of manuals."""
    pages = [click.Context(root, info_name="paceline", **root.context_settings).get_help()]
    for name, command in _commands(root):
        context = click.Context(command, info_name=f"paceline {name}", **root.context_settings)
        pages.append(f"{name.upper()}\n\n{command.get_help(context)}")
    return "\n\n".join(pages) + "\n"


def page(root: click.Group) -> str:
    """The page in roff, with the commands of the group."""
    version = _core.version().removesuffix("-debug")
    lines = [
        f'.TH PACELINE 1 "" "Paceline {version}" "User Commands"',
        ".SH NAME",
        r"paceline \- simulate pacing in networks with small buffers",
        ".SH SYNOPSIS",
        ".B paceline",
        r"\fICOMMAND\fR [\fIOPTIONS\fR] ...",
        ".SH DESCRIPTION",
        *_paragraphs(root.help or ""),
        ".SH COMMANDS",
    ]
    for name, command in _commands(root):
        lines += [f".SS {_text(_usage(name, command))}", *_paragraphs(command.help or "")]
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                lines += [".TP", *_option(option)]
    lines += [".SH EXIT STATUS", *_paragraphs(root.epilog or "")]
    lines += [".SH SEE ALSO", r"The documentation of this version, without a network: \fBpaceline open\fR."]
    return "\n".join(lines) + "\n"


def _commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _usage(name: str, command: click.Command) -> str:
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    shown = [(one.name or "").upper() + ("..." if one.nargs != 1 else "") for one in arguments]
    shown = [text if one.required else f"[{text}]" for one, text in zip(arguments, shown, strict=True)]
    return " ".join(["paceline", name, *shown])


def _option(option: click.Option) -> Iterator[str]:
    value = "" if option.is_flag else f" {option.metavar or 'TEXT'}"
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in (*option.opts, *option.secondary_opts))
    yield names + (rf"\fI{_text(value)}\fR" if value else "")
    yield _text(" ".join((option.help or "").split()))


def _paragraphs(text: str) -> Iterator[str]:
    """What Click would wrap as paragraphs; what it leaves as it is (after ``\\b``) unfilled."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = paragraph.replace("\f", "").split("\n")
        if lines[0].strip() == "\b":
            yield from [".PP", ".nf", ".RS 4", *map(_text, lines[1:]), ".RE", ".fi"]
        else:
            yield from [".PP", _text(" ".join(line.strip() for line in lines))]


def _text(text: str) -> str:
    """As roff reads it: a backslash, a hyphen that can be copied, a dot or quote that begins no request."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    DEFAULT.parent.mkdir(parents=True, exist_ok=True)
    DEFAULT.write_text(page(importlib.import_module("paceline.cli.main").paceline), encoding="utf-8")
