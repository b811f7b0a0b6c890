"""Programs of `emulate` as their caller sees them, who may be late on a busy machine."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from paceline.emulate.programs import PLACE, Program
from paceline.errors import RunError

#: It is told a plan, and when to start; then it ends so.
SCRIPT = """#!/bin/sh
read plan
echo ready
read start
{0}
"""


def started(folder: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> Program:
    program = folder / "paceline-wires"
    program.write_text(SCRIPT.format(end))
    program.chmod(0o755)
    monkeypatch.setenv(PLACE, str(folder))
    running = Program("paceline-wires", {}, [])
    running.wait_until_ready()
    running.start(0)
    deadline = time.monotonic() + 20
    while running._process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return running


def test_a_program_that_has_ended_well_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller slept past the end of the run, and asks whether it is at work still."""
    running = started(tmp_path, monkeypatch, "echo '{\"found\": 1}'")
    running.check()
    assert running.found(time.monotonic()) == {"found": 1}
    running.close()


def test_a_program_that_has_failed_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = started(tmp_path, monkeypatch, "echo 'no such device' >&2; exit 1")
    with pytest.raises(RunError, match="no such device"):
        running.check()
    running.close()


def test_a_program_without_a_report_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = started(tmp_path, monkeypatch, "exit 0")
    running.check()
    with pytest.raises(RunError, match="ended without a word, status 0"):
        running.found(time.monotonic())
    running.close()
