"""Output of a command: data to standard output, everything else to standard error.

Nothing that steers a terminal comes from a file: see `escape_controls`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from paceline.terminal.escapes import escape_controls
from paceline.terminal.letters import as_written

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


class _Verbosity:
    """How the one command of this process speaks.

    Attributes:
        is_quiet: it says only what went wrong. spoke_at: when it last said or printed something, monotonic.
    """

    is_quiet = False
    spoke_at = time.monotonic()


verbosity = _Verbosity()


def say(what: str, code: int = DONE) -> int:
    """A line to standard error; returns the exit code that it explains. With --quiet only those that explain one."""
    if code == DONE and verbosity.is_quiet:
        return code
    lines = [f"paceline: {escape_controls(what)}"]
    with contextlib.suppress(OSError, ValueError):
        if (columns := columns_of(sys.stderr)) is not None:
            from paceline.terminal.text_tables import wrap

            lines = wrap(lines[0], columns, "  ")
        print(*lines, sep="\n", file=sys.stderr, flush=True)
    verbosity.spoke_at = time.monotonic()
    return code


def print_data(text: str) -> None:
    """Data, to standard output. Whoever reads it may stop when they have read enough."""
    print_styled(escape_controls(text, "\n\t"))


def print_styled(text: str) -> None:
    """The same, of text whose control characters are escaped already; the colours in it are ours."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget_output()
    verbosity.spoke_at = time.monotonic()


def print_text(text: str, indent: str = "") -> None:
    """A paragraph, to standard output; wrapped between words where that is a terminal."""
    from paceline.terminal.text_tables import paragraph

    print_data(paragraph(text, columns_of(sys.stdout), indent))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], names: int, texts: int = 0) -> None:
    """A table, its first columns names, its last so many texts, the others numbers; see `text_tables`."""
    from paceline.terminal.text_tables import table

    columns = columns_of(sys.stdout)
    first, *cells = [[as_written(escape_controls(cell), sys.stdout) for cell in row] for row in (head, *rows)]
    lines = table(first, cells, names, columns, texts)
    bold = takes_styles(sys.stdout)
    print_styled("".join(f"\x1b[1m{text}\x1b[0m\n" if bold and is_head else f"{text}\n" for text, is_head in lines))


def takes_styles(stream: TextIO) -> bool:
    """Whether it is a terminal that draws in bold and colours, and over what it has drawn; Windows' do not say."""
    said = os.environ.get("TERM") not in (None, "dumb") and not os.environ.get("NO_COLOR")
    return said and columns_of(stream) is not None


def columns_of(stream: TextIO) -> int | None:
    """How wide the terminal is; ``None`` where that is none. ``COLUMNS`` says otherwise, as for other programs."""
    if not stream.isatty():
        return None
    try:
        wide = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        wide = 0
    return wide if wide > 0 else shutil.get_terminal_size().columns or 80


def forget_output() -> None:
    """Keeps the interpreter from trying to write, as it ends, what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
