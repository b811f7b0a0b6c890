"""docs/reference/cli.md from the commands themselves: ``python -m paceline.cli.reference_page``."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from paceline.cli.main import paceline

DEFAULT = Path("docs/reference/cli.md")

_HEAD = """\
# Command line

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 a run failed or its results could
not be written, 2 the input is wrong, 130 interrupted (finished runs are kept). `NO_COLOR`, and a pipe in the place of a
terminal, switch colours off. `paceline COMMAND --help` prints what is here.
"""

_NOTICE = "\n*Written by `python -m paceline.cli.reference_page` from the commands; change them there.*\n"


def page() -> str:
    """The page, Markdown."""
    return _HEAD + "".join(_entry(name, command) for name, command in _commands(paceline)) + _NOTICE


def _commands(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """By name, those of groups within by both names."""
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _entry(name: str, command: click.Command) -> str:
    arguments = " ".join(_argument(one) for one in command.params if isinstance(one, click.Argument))
    options = [one for one in command.params if isinstance(one, click.Option) and not getattr(one, "is_reverse", False)]
    usage = " ".join(part for part in ("paceline", name, "[OPTIONS]" if options else "", arguments) if part)
    parts = [f"## paceline {name}", f"```\n{usage}\n```", *_paragraphs(command.help or ""), _table(options)]
    return "\n" + "\n\n".join(part for part in parts if part) + "\n"


def _argument(argument: click.Argument) -> str:
    text = (argument.name or "").upper() + ("…" if argument.nargs != 1 else "")
    return text if argument.required else f"[{text}]"


def _paragraphs(text: str) -> Iterator[str]:
    """What Click would wrap as text; what it leaves as it is (after ``\\b``) as code."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = paragraph.replace("\f", "").split("\n")
        if lines[0].strip() == "\b":
            yield "\n".join(["```", *lines[1:], "```"])
        else:
            yield _linked("\n".join(re.sub(r"(--[a-z][a-z-]*)", r"`\1`", line) for line in lines))


def _linked(text: str) -> str:
    return re.sub(r"docs/([a-z-]+)\.md", r"[\1](../\1.md)", text)


def _table(options: list[click.Option]) -> str:
    if not options:
        return ""
    rows = ["| option | what it does |", "|---|---|"]
    for one in options:
        takes = "" if one.is_flag else f" {one.metavar or 'TEXT'}".replace("|", "&#124;")  # a bar would end the cell
        names = ", ".join(f"<code>{name}{takes}</code>" for name in (*one.opts, *one.secondary_opts))
        rows.append(f"| {names} | {_cell(one)} |")
    return "\n".join(rows)


def _cell(option: click.Option) -> str:
    text = _linked(" ".join((option.help or "").split()).replace("|", "&#124;").replace("<", "&lt;"))
    if method := getattr(option, "method", None):
        text = f"Of method `{method}`: {text}"
    return f"{text} May be given several times." if option.multiple and "repeatable" not in text else text


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    target.write_text(page(), encoding="utf-8")
