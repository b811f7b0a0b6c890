"""What a command says and prints: data to standard output, everything else to standard error.

Nothing that steers a terminal comes from a file: see `harmless`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from paceline.harmless import harmless

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def say(what: str, code: int = DONE) -> int:
    """A line to standard error; returns the exit code that it explains."""
    with contextlib.suppress(OSError, ValueError):
        print(f"paceline: {harmless(what)}", file=sys.stderr, flush=True)
    return code


def print_data(text: str) -> None:
    """Data, to standard output. Whoever reads it may stop when they have read enough."""
    print_styled(harmless(text, "\n\t"))


def print_styled(text: str) -> None:
    """The same, of text that is harmless already, but for the colours that we gave it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_output()


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> None:
    """A table, its first columns names and the others numbers; in full width where it goes to no terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    terminal = sys.stdout.isatty()
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=False)
    for number, title in enumerate(head):
        table.add_column(harmless(title), justify="left" if number < names else "right", no_wrap=not terminal)
    for row in rows:
        table.add_row(*map(harmless, row))
    console = Console(highlight=False, markup=False, width=None if terminal else 10_000)
    with console.capture() as capture:
        console.print(table)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    print_styled("".join(f"{line}\n" for line in lines if line))


def forget_output() -> None:
    """Keeps the interpreter from trying to write, as it ends, what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
