"""Handles Ctrl-C while the command is still loading: one line in place of a traceback.

Python's own answer would be a traceback out of the midst of an import. Only where this process is the command: a
program that imports Paceline keeps its handlers. Once loaded, `cli.main` hears of Ctrl-C itself.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_PROGRAMS = ("paceline", "paceline-pace")


def exit_interrupted(_signal: int, _frame: FrameType | None) -> None:
    """Ends the process at once."""
    os.write(2, b"paceline: interrupted\n")
    os._exit(130)


def _is_command() -> bool:
    if sys.argv[0] == "-m":  # while the module that is run is being looked for
        return any(pair == ("-m", "paceline") for pair in zip(sys.orig_argv, sys.orig_argv[1:], strict=False))
    return os.path.basename(sys.argv[0]) in _PROGRAMS  # noqa: PTH119 (pathlib is not loaded yet)


if sys.argv and _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, exit_interrupted)
