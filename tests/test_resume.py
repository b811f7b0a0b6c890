"""A sweep that is cut off, by Ctrl-C or worse, keeps what has finished and goes on from there."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import Command, without_progress

#: The last of these takes hours.
ENDLESS = "duration=2 s,3 s,1000000 s"
FINITE = "duration=2 s,3 s,4 s"


@contextlib.contextmanager
def started(scenario: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The sweep over `ENDLESS`, two of its runs finished, the third under way."""
    with subprocess.Popen(
        [sys.executable, "-m", "paceline", "run", str(scenario), "--sweep", ENDLESS, "--jobs", "1", *arguments],
        cwd=scenario.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while len(list((scenario.parent / "out" / "store").glob("[!.]*.zip"))) < 2:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            time.sleep(0.2)
            yield process
        finally:
            process.kill()


def test_an_interrupt_keeps_what_has_finished(command: Command, tiny: Path) -> None:
    with started(tiny, "--out", "out") as process:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (
        without_progress(errors)
        == "paceline: interrupted: 2 of 3 runs had finished, kept in out; the same command goes on from there\n"
    )
    again = command("run", tiny, "--sweep", FINITE, "--out", "out", "--json")
    assert again.returncode == 0
    assert "2 of 3 runs were in out already" in again.stderr
    assert len(json.loads(again.stdout)) == 3
    assert pq.read_table(tiny.parent / "out" / "runs.parquet").num_rows == 3


def test_the_scenario_beside_tables_is_theirs_after_an_interrupt(command: Command, tiny: Path) -> None:
    assert command("run", tiny, "--out", "out", "--set", "title=first").returncode == 0
    with started(tiny, "--out", "out", "--set", "title=second") as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert 'title = "first"' in (tiny.parent / "out" / "scenario.toml").read_text()


def test_commands_in_one_directory_write_tables_one_after_the_other(tiny: Path) -> None:
    """Whichever comes last, scenario, tables and report are its own."""
    names = [f"title-{number}" for number in range(4)]
    commands = [
        [sys.executable, "-m", "paceline", "run", str(tiny), "--out", "out", "--set", f"title={name}", "--seeds", seeds]
        for name, seeds in zip(names, "1234", strict=True)
    ]
    processes = [
        subprocess.Popen(command, cwd=tiny.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for command in commands
    ]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    out = tiny.parent / "out"
    last = next(name for name in names if f'"{name}"' in (out / "scenario.toml").read_text())
    assert pq.read_table(out / "runs.parquet").num_rows == names.index(last) + 1
    assert last in (out / "report.html").read_text()


def test_an_interrupt_prints_what_has_finished_as_json(tiny: Path) -> None:
    with started(tiny, "--out", "out", "--json") as process:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert [run["settings"]["duration"] for run in json.loads(output)] == ["2 s", "3 s"]


def test_a_kill_leaves_nothing_half_written(command: Command, tiny: Path) -> None:
    with started(tiny, "--out", "out") as process:
        process.kill()
        process.communicate(timeout=30)
    leftover = tiny.parent / "out" / "store" / f".x.zip.{os.uname().nodename}.{process.pid}.partial"
    leftover.write_bytes(b"half")
    again = command("run", tiny, "--sweep", FINITE, "--out", "out")
    assert again.returncode == 0, again.stderr
    assert "2 of 3 runs were in out already" in again.stderr
    assert not list((tiny.parent / "out").rglob("*.partial"))


@pytest.mark.parametrize("damage", [b"", b"half", None])
def test_a_damaged_result_is_run_again(command: Command, tiny: Path, damage: bytes | None) -> None:
    first = command("run", tiny, "--out", "out", "--seeds", "2")
    path = min((tiny.parent / "out" / "store").glob("*.zip"))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"?" + whole[len(whole) // 2 + 1 :] if damage is None else damage)
    again = command("run", tiny, "--out", "out", "--seeds", "2")
    assert again.returncode == 0, again.stderr
    assert f"out/store/{path.name}: damaged; ran that one again" in again.stderr
    assert "1 of 2 runs were in out already" in again.stderr
    assert again.stdout == first.stdout


def test_no_room_is_a_failure_in_one_line_and_leaves_nothing(command: Command, tiny: Path) -> None:
    script = f"ulimit -f 1; exec {sys.executable} -m paceline run {tiny} --out out --seeds 3"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tiny.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"paceline: out/store/\S+: File too large\n", without_progress(done.stderr))
    assert {path.name for path in (tiny.parent / "out").rglob("*")} == {
        "store",
        "core-version",
        ".leases",
    }
    assert command("run", tiny, "--out", "out", "--seeds", "3").returncode == 0


def test_a_changed_title_is_the_same_run_and_a_changed_buffer_is_not(command: Command, tiny: Path) -> None:
    command("run", tiny, "--out", "out", "--json")
    title = command("run", tiny, "--out", "out", "--json", "--set", "title=other")
    assert "1 of 1 runs were in out already" in title.stderr
    buffer = command("run", tiny, "--out", "out", "--json", "--set", "network.core.buffer=11 KB")
    assert "already" not in buffer.stderr
