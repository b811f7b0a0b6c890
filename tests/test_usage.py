"""What a command line lacks, or has too much of, is said in a line, with what to write."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest
from conftest import Command
from paceline.cli.main import paceline
from paceline.cli.man import page
from paceline.cli.usage import Argument


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            "run",
            "FILE, a scenario, is missing; write for example paceline run scenarios/one-flow.toml; see paceline",
        ),
        ("compare", "A, a directory of results, and B, another to compare with it, are missing; write for example "),
        ("compare r1", "B, another to compare with it, is missing; write for example paceline compare results/before "),
        ("analyse", "FILE, a capture, is missing; write for example paceline analyse traffic.pcap; see"),
        ("table", "RESULTS, a directory of results, is missing; write for example paceline table results/mine; see"),
        ("run --seed 3 x.toml", "--seed: no such option; did you mean "),
        ("run --set", "--set: its value is missing; write --set PATH=VALUE; see paceline run --help"),
        ("run x.toml --json=yes", "--json: takes no value; write it alone; see paceline run --help"),
        ("run x.toml --set duration=10 s", '"s" is too much; put a value with a space in quotes, as "10 s"; see'),
        ("rum x.toml", '"rum": no such command; did you mean run? see paceline --help'),
        ("help", '"help": no such command; there is advise, analyse, check, compare, '),
        ("explain udp", '"udp": no such command; there is tcp; see paceline explain --help'),
        ("explain tcp --profile", "--profile: its value is missing; write --profile NAME; see paceline explain tcp"),
        ("table one-flow.toml", "one-flow.toml: is no Parquet file, or a broken one; name a directory that "),
        ("compare one-flow.toml one-flow.toml", "one-flow.toml: is no Parquet file, or a broken one; name a directory"),
        ("init all /proc", "DIR: /proc/ack-aggregation.toml: No such file or directory; name another directory"),
        ("doctor one-flow.toml --seed -1", "--seed: -1 is not a seed; write a whole number from 0 to 2^63 - 1"),
        ("run one-flow.toml --sweep duration=", "--sweep duration: has no value; write values with commas between"),
    ],
)
def test_what_to_write_instead(command: Command, words: str, line: str) -> None:
    assert command("init", "one-flow").returncode == 0
    done = command(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"paceline: {line}")


def test_a_name_that_is_empty_is_none(command: Command, tmp_path: Path) -> None:
    done = command("compare", "", tmp_path)
    assert (done.returncode, done.stderr) == (2, "paceline: names no directory; write one, as results/mine\n")


@pytest.mark.parametrize("name", sorted(paceline.commands))
def test_every_argument_says_what_it_is_and_every_command_has_an_example(name: str) -> None:
    one = paceline.commands[name]
    needed = [argument for argument in one.params if isinstance(argument, click.Argument) and argument.required]
    assert all(isinstance(argument, Argument) and argument.what for argument in needed)
    if needed:
        assert f"\b\n    paceline {name} " in (one.help or "") or f"\b\npaceline {name} " in (one.help or "")


def on_terminal(tmp_path: Path, **environment: str) -> str:
    """What `paceline man` shows on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    how = os.environ | {"COLUMNS": "80", "MANPAGER": "cat", "PAGER": "cat"} | environment
    with subprocess.Popen([sys.executable, "-m", "paceline", "man"], stdin=theirs, stdout=theirs, env=how) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the end, on Linux
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert process.returncode == 0
    return shown.decode(errors="replace").replace("\r\n", "\n")


def test_the_manual_is_read_on_a_terminal_and_raw_in_a_pipe(command: Command, tmp_path: Path) -> None:
    assert command("man").stdout == page(paceline)
    shown = on_terminal(tmp_path)
    assert ".SH" not in shown
    assert "paceline run edge-vs-host.toml" in shown
    without = on_terminal(tmp_path, PATH=str(tmp_path))
    assert ".SH" not in without
    assert without.startswith("Usage: paceline [OPTIONS] COMMAND [ARGS]...\n")
    assert "\nEXPLAIN TCP\n\nUsage: paceline explain tcp [OPTIONS]\n" in without
    assert "--metric PATH" in without
