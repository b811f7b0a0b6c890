"""A scenario that runs in milliseconds, and the command as a user starts it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forked import Forks
from hypothesis import settings

# A busy machine is no failure; what was found failing is printed, and found again.
settings.register_profile("paceline", deadline=None, print_blob=True)
settings.load_profile("paceline")

TINY = """\
title = "tiny"
duration = "4 s"
warmup = "1 s"

[network]
template = "dumbbell"
core = { rate = "10 Mbit/s", delay = "10 ms", buffer = "10 KB" }
access = { hosts = 4, rate = "20 Mbit/s", delay = "1 ms .. 5 ms" }

[[traffic]]
name = "bulk"
kind = "bulk"
tcp = { variant = "reno", profile = "ns2" }
start = "0 s .. 1 s"

[pacing]
method = "none"
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file goes to one process, as what it sets up is used by all of its tests."""
    from by_file import ByFile

    return ByFile(config, log)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The scenario in a file `tiny.toml`."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


#: A line of progress, which a command that takes longer than two seconds on a busy machine writes.
_PROGRESS = re.compile(
    r"^paceline: .*: (\d+ %(, \d+ of \d+ \w+)?(, about \d+ \w+ left)?|\d+ of \d+ (runs|claims)|\d+ s so far)\n",
    re.MULTILINE,
)


def without_progress(said: str) -> str:
    """What a command has said, without its lines of progress."""
    return _PROGRESS.sub("", said)


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """A process that has imported `paceline`, and forks."""
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture
def command(tmp_path: Path, forks: Forks) -> Command:
    """Runs `paceline` with these arguments in the test's own directory; what it says is without lines of progress."""

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        done = forks.run([*map(str, arguments)], tmp_path, os.environ | environment, timeout=120)
        done.stderr = without_progress(done.stderr)
        return done

    return run
