"""Every example of the README, the help and the package does what it says, here over a short time."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import click
import paceline as pl
import pytest
from conftest import Command
from paceline.cli.main import paceline

ROOT = Path(__file__).parent.parent
SHORT = ("--set", "duration=1 s", "--set", "warmup=500 ms")


def commands(text: str) -> list[str]:
    joined = text.replace("\\\n", " ")
    return re.findall(
        r"^\s*(?:\.venv/bin/)?paceline ((?:run|check|doctor) scenarios/.*?)\s*(?:\||$)", joined, re.MULTILINE
    )


def helps(group: click.Group) -> str:
    return "\n".join([group.help or "", *(one.help or "" for one in group.commands.values())])


PAGES = "\n".join((ROOT / page).read_text() for page in ("README.md", "docs/doctor.md"))
EXAMPLES = list(dict.fromkeys(commands(PAGES) + commands(helps(paceline))))


def test_the_examples_are_found() -> None:
    assert len(EXAMPLES) >= 9
    assert any("--trace" in one for one in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_command(command: Command, tmp_path: Path, example: str) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    arguments = shlex.split(example)
    assert command("check", *check_only(arguments)).returncode == 0
    if "--dask" in arguments:  # tests/test_dask.py has a cluster
        at = arguments.index("--dask")
        del arguments[at : at + 2]
    if arguments[0] == "run":
        if "edge-vs-host" in example:
            arguments += ["--sweep", "pacing=none,host", "--seeds", "1"]
        done = command(*arguments, *SHORT)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    if arguments[0] == "doctor":
        done = command(*arguments, *(("--set", "network.access.per_edge=10") if "edge-vs-host" in example else ()))
        assert done.returncode == 0, done.stderr
        assert done.stdout


def check_only(arguments: list[str]) -> list[str]:
    """What `check` takes of them: the file, and options that change the scenario."""
    kept = [arguments[1]]
    for option, value in itertools.pairwise(arguments):
        if option in ("--set", "--sweep", "--seeds"):
            kept += [option, value]
    return kept


def test_the_example_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    code = (pl.__doc__ or "").partition("\n\n")[2]
    short = code.replace('.toml")', '.toml").set("duration", "1 s").set("warmup", "500 ms")')
    assert short != code
    names: dict[str, object] = {}
    exec(compile(short, "paceline", "exec"), names)
    assert isinstance(names["result"], pl.Result)
    assert isinstance(names["results"], pl.Results)
