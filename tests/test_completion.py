"""Completion by zsh and fish themselves, where they are: files, claims, scenarios, directories and options."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

#: What is typed, and what it becomes.
TYPED = {
    "paceline run two": r"paceline run two\ words.toml",
    "paceline reproduce aggarwal-m": "paceline reproduce aggarwal-mixed",
    "paceline init very": "paceline init very-small-buffers",
    "paceline sch": "paceline schema",
    "paceline compare res": "paceline compare results/",
    "paceline run --eng": "paceline run --engine",
}
#: For a program that reads files on a busy machine, s.
PATIENCE_S = 60.0


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A folder with files, and the program's own name on the path."""
    (tmp_path / "two words.toml").touch()
    (tmp_path / "results").mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "paceline").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m paceline "$@"\n')
    (programs / "paceline").chmod(0o755)
    return os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize("typed", TYPED)
def test_fish(typed: str, environment: dict[str, str], tmp_path: Path) -> None:
    program = f"_PACELINE_COMPLETE=fish_source paceline | source; complete -C '{typed}'"
    command = ["fish", "--no-config", "-c", program]
    said = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    found = [line.split("\t")[0] for line in said.splitlines()]
    assert found == [TYPED[typed].split(" ", len(typed.split(" ")) - 1)[-1].replace("\\", "")]


class Zsh:
    """One that believes it has a terminal."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self._terminal, side = os.openpty()
        command = ["zsh", "-f", "-i"]
        self._process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=side, stdout=side, stderr=side, start_new_session=True
        )
        os.close(side)

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def reads(self, wanted: str) -> str:
        """What it says, until `wanted` is in it or time is over."""
        said, end = b"", time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if select.select([self._terminal], [], [], 0.1)[0]:
                said += os.read(self._terminal, 65536)
            text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.decode(errors="replace"))
            if wanted in text:
                return text
        return text

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)


@pytest.fixture
def zsh(environment: dict[str, str], tmp_path: Path) -> Iterator[Zsh]:
    shell = Zsh(environment, tmp_path)
    try:
        yield shell
    finally:
        shell.close()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh(zsh: Zsh) -> None:
    zsh.type("PS1='> '; autoload -Uz compinit; compinit -u -D\n")
    zsh.type('eval "$(_PACELINE_COMPLETE=zsh_source paceline)"; echo re""ady\n')
    assert "ready" in zsh.reads("ready")
    for typed, whole in TYPED.items():
        zsh.type(f"{typed}\t")
        assert whole in zsh.reads(whole)
        zsh.type("\x15")  # an empty line
