"""`paceline analyse`: how bursty a capture is, and what pacers would make of it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline._arguments import directory, typed
from paceline.cli import completion
from paceline.cli.options import QUIET, refuse_results_of_others
from paceline.cli.usage import Argument
from paceline.errors import InputError, RunError
from paceline.terminal.output import DONE, print_data, print_table, print_text, say

if TYPE_CHECKING:
    from paceline.capture.analysis import Analysis


@click.command(short_help="Say how bursty a capture is, and what pacers would do.")
@click.argument("file", cls=Argument, what="a capture", shell_complete=completion.files)
@click.option(
    "--by",
    default="interface",
    metavar="interface|flow",
    shell_complete=completion.words(("interface", "flow")),
    help="Interfaces, or also the largest flows.",
)
@click.option("--pacer", "pacers", multiple=True, metavar="PACER", help="What to put the packets through; repeatable.")
@click.option(
    "--write",
    metavar="FILE",
    shell_complete=completion.files,
    help="Write what the one pacer lets go: .pcap or .pcapng, .gz or .zst after that.",
)
@click.option("--burst-gap", default="100 us", metavar="TIME", help="A longer gap ends a burst.  [default: 100 us]")
@click.option("--top", default="10", metavar="N", help="How many flows to show.  [default: 10]")
@click.option("--json", "as_json", is_flag=True, help="Print the analysis as JSON only; write files only with --out.")
@click.option(
    "--out",
    metavar="DIR",
    shell_complete=completion.directories,
    help="Write report.html there, and the numbers as Parquet.",
)
@QUIET
def analyse(
    file: str,
    by: str,
    pacers: tuple[str, ...],
    write: str | None,
    burst_gap: str,
    top: str,
    as_json: bool,
    out: str | None,
) -> int:
    """Say how bursty the capture in FILE is, and what pacers would make of it.

    FILE is a pcap or pcapng, gzip'd, in zstd or plain; - is standard input. It is read once, in bounded memory. A PACER
    is written as in a scenario, with the link that it stands before: link (its rate; none unless given), buffer,
    pacer_buffer.

    \b
    paceline analyse traffic.pcap
    paceline analyse traffic.pcap --by flow --top 20
    paceline analyse traffic.pcap --pacer none --pacer "edge 10 ms" --out results/traffic
    paceline analyse traffic.pcap --pacer "token-bucket rate = 50 Mbit/s, burst = 10 KB, link = 1 Gbit/s"
    paceline analyse traffic.pcap --pacer "edge 10 ms" --write paced.pcap
    tcpdump -i eth0 -c 100000 -w - | paceline analyse - --json
    """
    from paceline.capture.analyse import analyse as analyse_capture
    from paceline.terminal.progress import reading

    folder = None if out is None else _folder(out)
    how: dict[str, Any] = {"by": by, "pacers": pacers, "write": write, "burst_gap": burst_gap, "top": typed(top)}
    with reading(file) as watch:
        try:
            analysis = analyse_capture(file, watch=watch, **how)
        except InputError as error:
            name, _, pacer = str(error.source).partition(" ")
            if name not in (*how, "pacer"):
                raise
            option = f"--{name.replace('_', '-')} {pacer}".rstrip()
            raise InputError(error.message, option) from None
    for note in analysis.notes():
        say(f"{file}: {note}")
    if as_json:
        print_data(json.dumps(analysis.to_dict(), allow_nan=False) + "\n")
    else:
        _print_analysis(analysis)
    if write is not None:
        say(f"paced: {write}")
    if folder is not None:
        _write_files(analysis, folder)
    return DONE


def _folder(out: str) -> Path:
    """Where files go; that it cannot be written is said before anything is read."""
    folder = directory(out, "--out", "--out results/mine")
    refuse_results_of_others(folder, "summary.parquet", out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".paceline.partial"
        probe.touch()
        probe.unlink()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{out}: {why}; name another directory, one that can be written", "--out") from None
    return folder


def _print_analysis(analysis: Analysis) -> None:
    from paceline.capture.tables import headline, summary_rows

    print_text(headline(analysis))
    if analysis.packets:
        head, rows, names = summary_rows(analysis)
        print_table(head, rows, names)


def _write_files(analysis: Analysis, folder: Path) -> None:
    import pyarrow.parquet as pq

    from paceline.report import capture_page
    from paceline.terminal.progress import phase

    tables = {
        "summary": analysis.to_arrow,
        "scales": analysis.scales,
        "histograms": analysis.histograms,
        "rates": analysis.rates,
    }
    partial = folder / ".paceline.partial"
    try:
        with phase("writing the report"):
            for name, table in tables.items():
                pq.write_table(table(), partial)
                partial.replace(folder / f"{name}.parquet")
            report = capture_page.write(analysis, folder)
        say(f"report: {report}")
    except OSError as error:
        raise RunError(f"{error.filename or folder}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
