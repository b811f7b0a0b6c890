"""Nothing that comes from a file steers a terminal, and no file that a scenario names is more than a file."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from conftest import TINY, Command
from hypothesis import given
from hypothesis import strategies as st
from paceline.terminal.escapes import escape_controls

#: Clears the screen, sets the window's title, turns the direction of writing, ends the line.
EVIL = "a\x1b[2Jb\x1b]0;owned\x07c\u202ed\u2066e\u200bf\x9bg\rh"
DIRECTIONS = ("LRO", "RLO", "LRE", "RLE", "PDF", "LRI", "RLI", "FSI", "PDI")
ESCAPED = EVIL.encode("unicode_escape").decode()


def toml(text: str) -> str:
    return '"' + "".join(f"\\U{ord(one):08x}" if ord(one) < 32 or ord(one) > 126 else one for one in text) + '"'


@given(st.text())
def test_what_is_harmless_steers_nothing_and_stays_what_it_is(text: str) -> None:
    shown = escape_controls(text)
    assert escape_controls(shown) == shown
    assert not any(unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") for one in shown)
    assert all(
        unicodedata.bidirectional(one) not in ("LRO", "RLO", "LRE", "RLE", "PDF", "LRI", "RLI", "FSI", "PDI")
        for one in shown
    )
    if text.isprintable():
        assert shown == text


def test_no_letter_is_lost() -> None:
    for text in ("Überlast · 10 µs ≤ √n", "エッジ", "می‌خواهم", "👩‍🔬"):
        assert escape_controls(text) == text


def on_a_terminal(folder: Path, *arguments: str | Path) -> str:
    """What a command writes to a terminal, standard output and error."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "paceline", *map(str, arguments)]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, cwd=folder, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        written = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            written += chunk
        process.wait(timeout=60)
    os.close(leader)
    return written.decode(errors="replace")


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "evil.toml"),
        ("doctor", "evil.toml"),
        ("doctor", "evil.toml", "--json"),
        ("run", "evil.toml", "--out", "out"),
        ("run", "evil.toml", "--out", "out", "--seeds", "0"),
        ("run", "worse.toml"),
        ("check", "key.toml"),
        ("check", f"no{EVIL}.toml"),
        ("run", "evil.toml", "--sweep", f"{EVIL}=1"),
        ("analyse", "evil.toml", "--pacer", EVIL),
    ],
)
def test_titles_names_and_keys_are_harmless_on_a_terminal(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    evil = TINY.replace('"tiny"', toml(EVIL)).replace('"bulk"\nkind', f"{toml('n' + EVIL)}\nkind")
    (tmp_path / "evil.toml").write_text(TINY.replace('"tiny"', toml(EVIL)))
    (tmp_path / "worse.toml").write_text(evil)
    (tmp_path / "key.toml").write_text(f"{TINY}\n[{toml(EVIL)}]\nx = {toml(EVIL)}\n")
    written = on_a_terminal(tmp_path, *arguments)
    for steering in ("\x1b[2J", "\x1b]0", "\x07", "\u202e", "\u2066", "\u200b", "\x9b"):
        assert steering not in written, written


def test_a_title_is_shown_as_escapes(command: Command, tmp_path: Path) -> None:
    (tmp_path / "evil.toml").write_text(TINY.replace('"tiny"', toml(EVIL)))
    assert command("check", "evil.toml").stdout.startswith(f"{ESCAPED}: 1 run\n")


TRAFFIC = """
[[traffic]]
kind = "KIND"
file = FILE
"""
SECRET = "root:$6$hunter2$secret:19000::::::\n" * 10


@pytest.mark.parametrize("kind", ["cvec", "pcap"])
@pytest.mark.parametrize(
    "name", ["nul", "loop", "fifo", "zero", "tty", "folder", "socket", "nowhere", "link-to-zero", "secret", "long"]
)
def test_files_that_are_none_are_refused_before_they_are_opened(
    command: Command, tmp_path: Path, kind: str, name: str
) -> None:
    import socket

    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link-to-zero").symlink_to("/dev/zero")
    (tmp_path / "secret").write_text(SECRET)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        file = {"nul": "a\0b", "zero": "/dev/zero", "tty": "/dev/tty", "long": "x" * 5000}.get(name, name)
        (tmp_path / "x.toml").write_text(TINY + TRAFFIC.replace("KIND", kind).replace("FILE", toml(file)))
        for verb in ("check", "doctor", "run"):
            begun = time.monotonic()
            done = command(verb, "x.toml")
            assert time.monotonic() - begun < 30
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
            assert "file: " in done.stderr
            assert not any(word in done.stderr for word in ("root:", "hunter2", "19000"))


def test_a_scenario_that_never_ends_is_none(command: Command) -> None:
    done = command("check", "/dev/zero")
    assert (done.returncode, done.stderr) == (2, "paceline: /dev/zero: more than 16 MiB; name a scenario file\n")
