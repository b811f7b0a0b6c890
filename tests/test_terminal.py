"""What people see on terminals of 80, 60 and 40 columns: every number whole, no line wider than the terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import Command
from hypothesis import given
from hypothesis import strategies as st
from paceline.terminal import text_tables

SCENARIOS = Path(__file__).parent.parent / "scenarios"
WIDTHS = (80, 60, 40)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

Terminal = Callable[..., str]


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """Runs `paceline` with standard output on a terminal so wide; what it shows, without colours."""

    def run(width: int, *arguments: str | Path, stderr: bool = False) -> str:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 25, width, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        process = subprocess.Popen(
            [sys.executable, "-m", "paceline", *map(str, arguments)],
            cwd=tmp_path,
            env=environment | {"TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs if stderr else subprocess.DEVNULL,
        )
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 1 << 16):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait(120) in (0, 2)
        return _ESCAPE.sub("", shown.decode()).replace("\r\n", "\n")

    return run


def numbers(text: str) -> set[str]:
    return set(NUMBER.findall(text))


def fits(text: str, width: int) -> bool:
    return all(len(line) <= width for line in text.splitlines()) and "…" not in text


def few(scenario: str) -> list[str | Path]:
    """A sweep of a scenario that is over soon."""
    fewer = ("--set", "network.access.per_edge=10") if scenario == "edge-vs-host.toml" else ()
    return [SCENARIOS / scenario, "--set", "duration=3 s", "--set", "warmup=1 s", *fewer]


@pytest.fixture
def capture(command: Command, tiny: Path) -> Path:
    done = command("run", tiny, "--json", "--trace", "tiny.pcap")
    assert done.returncode == 0
    return tiny.parent / "tiny.pcap"


@pytest.mark.parametrize("scenario", ["edge-vs-host.toml", "rpc.toml"])
def test_every_number_of_a_run_is_whole(terminal: Terminal, command: Command, scenario: str) -> None:
    run = ("run", *few(scenario), "--seeds", "2", "--out", "out")
    piped = command(*run).stdout
    rows = json.loads(command(*run, "--json").stdout)
    for width in WIDTHS:
        shown = terminal(width, *run)
        assert fits(shown, width), shown
        assert numbers(shown) >= numbers(piped)
        for first, second in zip(rows[::2], rows[1::2], strict=True):
            timeouts = (first["flows"]["timeouts"] + second["flows"]["timeouts"]) / 2
            assert any(abs(float(one) - timeouts) <= 0.5 + 0.05 * timeouts for one in numbers(shown))


@pytest.mark.parametrize(
    ("verb", "scenario"), [("check", "edge-vs-host.toml"), ("doctor", "parking-lot.toml"), ("doctor", "rpc.toml")]
)
def test_check_and_doctor_keep_to_the_width(terminal: Terminal, command: Command, verb: str, scenario: str) -> None:
    piped = command(verb, SCENARIOS / scenario).stdout
    for width in WIDTHS:
        shown = terminal(width, verb, SCENARIOS / scenario)
        assert fits(shown, width), shown
        assert numbers(shown) >= numbers(piped)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_capture_of_flows_and_pacers(terminal: Terminal, command: Command, capture: Path, width: int) -> None:
    arguments = ("analyse", capture.name, "--by", "flow", "--pacer", "none", "--pacer", "edge 10 ms")
    shown = terminal(width, *arguments)
    assert fits(shown, width), shown
    assert numbers(shown) >= numbers(command(*arguments).stdout)
    found = json.loads(command(*arguments, "--json").stdout)
    for group in found["interfaces"]:
        assert str(group["captured"]["packets"]) in numbers(shown)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_a_pacer_has_done(terminal: Terminal, command: Command, capture: Path, width: int) -> None:
    arguments = ("pace", "--replay", capture.name, "--method", "edge", "--delay", "10 ms")
    shown = terminal(width, *arguments)
    assert fits(shown, width), shown
    assert numbers(shown) >= numbers(command(*arguments).stdout)
    found = json.loads(command(*arguments, "--json").stdout)["forward"]
    assert {str(found["received"]["packets"]), str(found["sent"]["packets"])} <= numbers(shown)


@pytest.mark.parametrize("width", WIDTHS)
def test_options_and_claims(terminal: Terminal, command: Command, width: int) -> None:
    shown = terminal(width, "explain", "tcp", "--profile", "linux")
    assert fits(shown, width), shown
    (profile,) = json.loads(command("explain", "tcp", "--profile", "linux", "--json").stdout)
    lines = {line.strip() for line in shown.splitlines()}
    for option in profile["options"]:
        value = option["value"]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            assert any(f"{value:g}" in NUMBER.findall(line) for line in lines), option
    shown = terminal(width, "reproduce", "--list")
    assert fits(shown, width), shown
    assert numbers(shown) >= numbers(command("reproduce", "--list").stdout)


def test_what_is_said_is_wrapped_between_words(terminal: Terminal, tiny: Path) -> None:
    shown = terminal(40, "check", tiny, "--set", "network.core.buffer=5000", stderr=True)
    assert fits(shown, 40), shown
    assert shown.startswith("paceline: --set network.core.buffer:")


def test_without_a_terminal_a_row_is_a_line(command: Command, tiny: Path) -> None:
    lines = command("run", tiny, "--sweep", "network.core.buffer=5 KB,20 KB", COLUMNS="40").stdout.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) > 80


CELLS = st.from_regex(r"\A-?\d{1,6}(\.\d{1,4})?( ± \d{1,3}(\.\d)?)?( (ms|Mbit/s|KB|%))?\Z")
NAMES = st.lists(st.text("abc 0123456789.-_", max_size=12), max_size=4).map(" ".join)


@given(st.data(), st.integers(0, 3), st.integers(1, 8), st.integers(0, 5), st.integers(1, 130))
def test_no_table_cuts_a_number(data: st.DataObject, names: int, others: int, rows: int, width: int) -> None:
    head = [data.draw(NAMES) for _ in range(names + others)]
    body: list[Sequence[str]] = [
        [*(data.draw(NAMES) for _ in range(names)), *(data.draw(CELLS) for _ in range(others))] for _ in range(rows)
    ]
    lines = [line.text for line in text_tables.table(head, body, names, width)]
    words = [word for row in (head, *body) for cell in row for word in text_tables.kept(cell).split(" ")]
    widest = max([0, *map(len, words)], default=0)
    for row in body:
        for cell in row[names:]:
            assert any(cell.strip() in line for line in lines)
    assert max(map(len, lines), default=0) <= max(width, widest + 4)
    whole = [line.text for line in text_tables.table(head, body, names, None)]
    assert len(whole) == 1 + rows


@pytest.mark.parametrize(("letters", "between"), [("ascii", "+-"), ("latin-1", "\xb1"), ("utf-8", "\xb1")])
def test_a_character_set_without_a_sign_gets_another(tmp_path: Path, letters: str, between: str) -> None:
    """An interval and a number that is missing are read as such on any terminal, in columns that stand below heads."""

    def shown(*arguments: str | Path) -> tuple[str, str]:
        command = [sys.executable, "-m", "paceline", *map(str, arguments)]
        environment = os.environ | {"PYTHONIOENCODING": letters, "COLUMNS": "200"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        return done.stdout.decode(letters), done.stderr.decode(letters)

    one = ("--set", "pacing=none", "--set", "network.core.buffer=5 KB", "--seeds", "3")
    out, _ = shown("run", *few("edge-vs-host.toml"), *one, "--out", "out")
    head, row = out.splitlines()
    assert f" {between} " in row
    table, _ = shown("table", "out")
    assert "?" not in out + table
    for start, end in ((m.start(), m.end()) for m in re.finditer(r"\S+(?: \S+)*", head)):
        assert row[start:end].strip(), "each head has its number below it"
        assert not row[end : end + 1].strip(), "which ends where the head does"
    assert "no such file" in shown("run", "\u4f60.toml")[1]
    assert ("\u4f60" if letters == "utf-8" else r"\u4f60") in shown("run", "\u4f60.toml")[1]
