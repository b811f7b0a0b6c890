"""An attack, the time that it has, and what came of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests"
sys.path.insert(0, str(TESTS))


@dataclass
class Turn:
    """What an attack is given, and what it has done so far."""

    seed: int
    seconds: float
    #: Its own directory, empty.
    folder: Path
    count: int = 0
    #: Each with what reproduces it.
    problems: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def goes_on(self) -> bool:
        """Whether there is time for another or none was made, and nothing is open."""
        return not self.problems and (self.count == 0 or time.monotonic() - self.began < self.seconds)


@dataclass(frozen=True)
class Attack:
    """One row of the table."""

    name: str
    #: Of the time of all of them.
    share: float
    #: What is counted.
    unit: str
    run: Callable[[Turn], None]
    #: Why it cannot be run here; None if it can.
    why_not: Callable[[], str | None] = lambda: None


class LeftOutError(Exception):
    """An attack that cannot be run here after all, and why."""


def said(command: Sequence[str | Path], **environment: str) -> tuple[int, str]:
    """Exit code, and all that a program of this repository says."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def cargo_tests(package: str, *names: str, **environment: str) -> tuple[int, str, str]:
    """Rust tests, optimised: exit code, what they say, and how to do it again."""
    command = ["cargo", "test", "--profile", "attack", "--locked", "-p", package, *names, "--", "--nocapture"]
    again = " ".join([*(f"{key}={value}" for key, value in environment.items()), *command])
    return *said(command, **environment), again


def pytests(name: str, share: float, *chosen: str, why_not: Callable[[], str | None] = lambda: None) -> Attack:
    """Tests of this repository, again and again: what they try is theirs, and the order of threads is chance."""

    def run(turn: Turn) -> None:
        command = [sys.executable, "-m", "pytest", "-rf", "-p", "no:cacheprovider", *chosen]
        while turn.goes_on():
            code, text = said(command)
            found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", text)}
            turn.count += found.get("passed", 0)
            failed = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))]
            if code:
                turn.problems += failed or [text[-500:]]
            elif not found.get("passed"):
                raise LeftOutError(f"its tests are skipped: {' '.join(command[1:])}")

    return Attack(name, share, "tests", run, why_not)
