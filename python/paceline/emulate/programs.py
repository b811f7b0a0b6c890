"""The programs that an emulation runs: where they are, and the lines exchanged with them."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from paceline.errors import InputError, RunError

#: A directory to look in first.
PLACE = "PACELINE_PROGRAMS"
_READY_S = 60.0
_PDEATHSIG = 1  # PR_SET_PDEATHSIG
_GRACE_S = 20.0


def find(name: str) -> list[str]:
    """The command that is a program of Paceline's own: its binary, else this interpreter with the compiled module.

    Raises `InputError` where there is neither.
    """
    for folder in (os.environ.get(PLACE), Path(sys.executable).parent):
        if folder and os.access(Path(folder) / name, os.X_OK):
            return [str(Path(folder) / name)]
    if (found := shutil.which(name)) is not None:
        return [found]
    if name != "paceline-pace":
        return [sys.executable, "-m", "paceline.emulate.run_program", name]
    raise InputError(
        f"emulate: the program {name} is not installed; build it by `cargo build --release -p paceline-dataplane` "
        f"and name its directory in {PLACE}, as {PLACE}=target/release, or say --pacers built-in"
    )


class Program:
    """One that is told a plan, says when it is ready, is told when to start, and says what it found."""

    def __init__(self, name: str, plan: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        """Starts it with these descriptors of the caller's, under the same numbers."""
        self.name = name
        self._process = subprocess.Popen(  # noqa: S603 (a program of the package's own)
            find(name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=descriptors,
            start_new_session=True,  # Ctrl-C is for the caller, who ends it
        )
        self._tell(json.dumps(plan, separators=(",", ":")))

    def wait_until_ready(self) -> None:
        """Raises `RunError` with what the program said, if it does not get so far."""
        line = self._line(time.monotonic() + _READY_S)
        if line != "ready":
            raise RunError(f"{self.name}: said {line!r} where it should say that it is ready")

    def start(self, at_ns: int) -> None:
        """Time zero is then, by the monotonic clock."""
        self._tell(f"start {at_ns}")

    def check(self) -> None:
        """Raises `RunError` with its last words where it has failed. It may have ended in time: one asks late."""
        if self._process.poll():
            raise RunError(self._last_words())

    def found(self, end_s: float) -> dict[str, Any]:
        """What it found; it should be there soon after `end_s`, monotonic. Raises `RunError`."""
        found: dict[str, Any] = json.loads(self._line(end_s + _GRACE_S))
        return found

    def close(self) -> None:
        """Ends it, if it has not ended."""
        end(self._process)

    def _tell(self, line: str) -> None:
        stdin = _pipe(self._process.stdin)
        with contextlib.suppress(BrokenPipeError):  # it has ended; `_line` says why
            stdin.write(line.encode() + b"\n")
            stdin.flush()

    def _line(self, until: float) -> str:
        stdout = _pipe(self._process.stdout)
        text = b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise RunError(f"{self.name}: does not answer")
            piece = os.read(stdout.fileno(), 1 << 20)
            if not piece:
                raise RunError(self._last_words())
            text += piece
        return text.decode().strip()

    def _last_words(self) -> str:
        said = _pipe(self._process.stderr).read().decode(errors="replace").split("\n")
        words = " ".join(line for line in said if line)
        return words or f"{self.name}: ended without a word, status {self._process.wait()}"


def die_with_parent() -> None:
    """In a child, before it becomes its program: the kernel ends it when this process ends, however that happens."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, int(signal.SIGKILL))


def end(process: subprocess.Popen[bytes], patience_s: float = 0.0) -> None:
    """Asks a process to end if there is `patience_s`, then ends it, and lets go of its pipes."""
    if patience_s:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()


@contextlib.contextmanager
def running(*programs: Program) -> Iterator[None]:
    """Ends them in the end, whatever happens."""
    try:
        yield
    finally:
        for program in programs:
            program.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
