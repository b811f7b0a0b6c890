"""`paceline pace`: pace the frames between two interfaces. The work is the data plane's, `crates/dataplane`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from paceline import _core
from paceline.cli import completion
from paceline.cli.options import QUIET
from paceline.terminal.output import DONE, print_table, verbosity

#: Flags that every command has in its own way, or that the program `paceline-pace` alone has.
_COMMON = ("quiet", "version")
_EXAMPLES = """\
    \b
    paceline pace --in eth1 --out eth2 --method edge --delay 10ms
    paceline pace --in eth1 --out eth2 --method token-bucket --rate 100Mbit/s --burst 15KB
    paceline pace --in eth1 --out eth2 --reverse-method edge --reverse-delay 5ms
    paceline pace --config /etc/paceline/pace.toml --top
    paceline pace --replay traffic.pcap --write paced.pcap --method edge --delay 10ms
    paceline pace --restore --in eth1 --out eth2
"""


class _Pace(click.Command):
    """Its help has the flags of the way back in one line, and the parameters of each method by themselves."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        parts: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(context):
            record = option.get_help_record(context)
            if isinstance(option, _Flag) and option.is_reverse:
                continue
            method = option.method if isinstance(option, _Flag) else None
            if record is not None:
                parts.setdefault(f"Parameters of {method}" if method else "Options", []).append(record)
        for title, records in parts.items():
            with formatter.section(title):
                formatter.write_dl(records)


class _Flag(click.Option):
    def __init__(self, flag: Mapping[str, Any], *, is_reverse: bool) -> None:
        name = f"reverse-{flag['name']}" if is_reverse else flag["name"]
        self.is_reverse = is_reverse
        self.method: str | None = flag["method"]
        more = "  Also --reverse-." if flag["each_way"] and not flag["method"] else ""
        how: dict[str, Any] = {"metavar": flag["value"]} if flag["value"] else {"is_flag": True}
        super().__init__(
            [f"--{name}", name.replace("-", "_")],
            help=f"{flag['help']}{more}",
            shell_complete=_values(flag),
            **how,
        )


def _values(flag: Mapping[str, Any]) -> completion.Complete | None:
    if flag["value"] == "IF":
        return completion.interfaces
    if flag["value"] == "FILE":
        return completion.files
    return completion.words(flag["value"].split("|")) if "|" in flag["value"] else None


def _run(**values: Any) -> int:
    given = [(name.replace("_", "-"), value) for name, value in values.items() if value not in (None, False)]
    arguments = [f"--{name}" if value is True else f"--{name}={value}" for name, value in given]
    code, summary = _core.pace("paceline", arguments + ["--quiet"] * verbosity.is_quiet, False)
    if summary is not None:
        _print_summary(json.loads(summary))
    return code


def _print_summary(summary: Mapping[str, Any]) -> None:
    """A row a direction."""
    from paceline.capture.tables import quantity

    head = ["direction", "method", "packets in", "out", "dropped", "flushed", "past it"]
    head += ["held mean", "held max", "late p99"]
    rows = []
    for way in ("forward", "reverse"):
        if (one := summary.get(way)) is not None:
            counts = [one["received"]["packets"], one["sent"]["packets"], sum(one["dropped"].values())]
            counts += [one.get("flushed_packets", 0), one.get("bypassed", {}).get("packets", 0)]
            delay, lateness = (one.get(name) or {} for name in ("delay", "lateness"))  # null where nothing was held
            times = [delay.get("mean_us"), delay.get("max_us"), lateness.get("p99_us")]
            seconds = [None if time is None else time / 1e6 for time in times]
            rows.append([way, one["method"], *map(str, counts), *(quantity(time, "s") for time in seconds)])
    print_table(head, rows, 2)


def _flags() -> list[click.Parameter]:
    flags: list[click.Parameter] = []
    for flag in json.loads(_core.pace_flags()):
        if flag["name"] not in _COMMON:
            flags.append(_Flag(flag, is_reverse=False))
            if flag["each_way"]:
                flags.append(_Flag(flag, is_reverse=True))
    return flags


pace = QUIET(
    _Pace(
        "pace",
        callback=_run,
        params=_flags(),
        short_help="Pace the frames that pass between two interfaces.",
        help=f"""Pace the frames that pass between two network interfaces.

    Frames that come in by --in leave by --out when the method says so; those that come in by --out leave by --in, by
    the flags that begin with --reverse-. SIGINT and SIGTERM let what is held leave and put the interfaces back.
    docs/dataplane.md has the details.

{_EXAMPLES}""",
    )
)


def program() -> NoReturn:
    """The program `paceline-pace`: the same, without what other commands need."""
    code, _ = _core.pace("paceline-pace", sys.argv[1:], True)
    sys.exit(code or DONE)
