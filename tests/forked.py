"""`paceline` in processes of their own that need not begin with the interpreter: a process that has imported it forks.

Hundreds of tests run the command; to start Python and import what a run needs takes longer than most of them do. The
process that forks, :class:`Forks`, has nothing but imports behind it: a child is what `python -m paceline` is, with
arguments, directory, environment and streams of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path


class Forks:
    """The process that forks, as tests see it. It ends when this end of its standard input is closed."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )

    def run(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs `paceline` with these arguments.

        Raises:
            subprocess.TimeoutExpired: it has not ended in time, and was killed.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            streams = [str(Path(folder) / name) for name in ("stdout", "stderr")]
            order = {"arguments": arguments, "cwd": str(cwd), "environment": dict(environment), "streams": streams}
            print(json.dumps(order | {"timeout": timeout}), file=self._server.stdin, flush=True)
            code = json.loads(self._server.stdout.readline())
            said = [Path(stream).read_bytes().decode() for stream in streams]
        if code is None:
            raise subprocess.TimeoutExpired(list(arguments), timeout)
        return subprocess.CompletedProcess(list(arguments), code, *map(_lines, said))

    def close(self) -> None:
        """Ends it."""
        self._server.communicate()


def _lines(text: str) -> str:
    """As `subprocess` reads text."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _child(order: dict[str, object], arguments: list[str]) -> int:
    """What a child does; returns its exit code."""
    for number, stream in enumerate(order["streams"], 1):  # type: ignore[arg-type,var-annotated]
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(str(order["cwd"]))
    os.environ.clear()
    os.environ.update(order["environment"])  # type: ignore[call-overload]
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))  # as an interpreter that starts
    sys.argv = ["paceline", *arguments]
    from paceline.cli.main import main

    try:
        main(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1


def _wait(child: int, seconds: float) -> int | None:
    """Its exit code, as `subprocess` has it; `None` where it had to be killed."""
    until = time.monotonic() + seconds
    pause = 0.001
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _serve() -> None:
    import jinja2  # noqa: F401
    import numpy  # noqa: F401
    import paceline.cli.main  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in orders:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                code = _child(order, order["arguments"])
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
        print(json.dumps(_wait(child, order["timeout"])), file=answers, flush=True)


if __name__ == "__main__":
    _serve()
