"""`paceline pace` as the other verbs: its flags, help, completion, results and errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Command
from paceline import _core


@pytest.fixture
def capture(command: Command, tiny: Path) -> Path:
    assert command("run", tiny, "--json", "--trace", "tiny.pcap").returncode == 0
    return tiny.parent / "tiny.pcap"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "--in: names no interface; write for example --in eth1 --out eth2"),
        (("--in", "lo", "--out", "lo"), "--out: is lo, as --in is; write two interfaces"),
        (("--in", "nope0", "--out", "nope1"), '--in: there is no interface "nope0"'),
        (("--config", "."), ".: a directory; name a file of settings in it"),
        (("--config", "nowhere"), "nowhere: no such file"),
        (("--method", "edge"), '--method: edge needs --delay; write for example --delay "10 ms"'),
        (("--method", "edge", "--delay", "10"), '--delay: "10" has no unit; write for example "10 ms"'),
        (("--method", "edge", "--delay", "1 mph"), '--delay: "1 mph" has an unknown unit'),
        (("--reverse-method", "edge", "--reverse-delay", "1 MB"), "--reverse-delay: "),
        (("--method", "egde"), '--method: there is no pacer "egde"; did you mean "edge"?'),
        (("--methd", "edge"), "--methd: no such option; did you mean --method, "),
        (("--delay",), "--delay: its value is missing; write --delay TIME; see paceline pace --help"),
        (("odd",), '"odd" is too much; put a value with a space in quotes, as "10 s"; see paceline pace --help'),
        (("--replay", "tiny.toml"), "tiny.toml: not a pcap or pcapng capture: it is text"),
    ],
)
def test_errors(command: Command, tiny: Path, arguments: tuple[str, ...], line: str) -> None:
    done = command("pace", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"paceline: {line}")


@pytest.mark.skipif(sys.platform != "linux", reason="as for what paces interfaces")
def test_a_file_of_settings(command: Command, tmp_path: Path) -> None:
    settings = tmp_path / "pace.toml"
    settings.write_bytes(b'\xef\xbb\xbfin = "nope0"\nout = "nope1"\n')
    assert 'no interface "nope0"' in command("pace", "--config", settings).stderr, "a byte order mark is read"
    settings.write_text('in = "nope0"\nout = "nope1"\n[forward]\nmethod = "edge"\ndelay = 10\n')
    assert f"{settings}: forward" in command("pace", "--config", settings).stderr


def test_results_go_to_standard_output(command: Command, capture: Path) -> None:
    replay = ("pace", "--replay", capture.name, "--method", "edge", "--delay", "10 ms")
    table, found = command(*replay), command(*replay, "--json")
    assert (table.returncode, table.stderr) == (found.returncode, found.stderr) == (0, "")
    summary = json.loads(found.stdout)["forward"]
    head, row = table.stdout.splitlines()
    assert head.split()[:2] == ["direction", "method"]
    assert str(summary["sent"]["packets"]) in row.split()
    assert f"{summary['delay']['mean_us'] / 1e3:.4g} ms" in row
    assert command(*replay, "--quiet").stdout == table.stdout


@pytest.mark.parametrize("name", ["x.txt", "x", "x.pcap.bz2"])
def test_a_name_says_the_format(command: Command, capture: Path, name: str) -> None:
    line = command("pace", "--replay", capture.name, "--method", "none", "--write", name).stderr
    assert line.startswith(f"paceline: --write: {name}: the name must end in .pcap or .pcapng")
    assert not (capture.parent / name).exists()


def test_help_has_every_flag_and_is_that_of_the_others(command: Command) -> None:
    text = command("pace", "--help").stdout
    assert text == command("pace", "-h").stdout
    assert text.startswith("Usage: paceline pace [OPTIONS]\n")
    for flag in json.loads(_core.pace_flags()):
        shown = re.search(rf"^  (-q, )?--{flag['name']}\b", text, re.MULTILINE)
        assert shown or flag["name"] == "version", flag
    assert "|" not in "".join(line for line in text.splitlines() if line.startswith("|")), "no Markdown"
    assert "  -h, --help" in text
    methods = next(flag for flag in json.loads(_core.pace_flags()) if flag["name"] == "method")
    for method in methods["value"].split("|"):
        assert f"`{method}`" in _core.pacers(), "the words of the flag are the methods that there are"


def complete(words: str, position: int) -> list[str]:
    asked = {"_PACELINE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(position)}
    command = [sys.executable, "-m", "paceline"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("paceline pa", {"plain,pace"}),
        ("paceline pace --back", {"plain,--back-end"}),
        ("paceline pace --reverse-de", {"plain,--reverse-delay"}),
        ("paceline pace --method e", {"plain,edge"}),
        ("paceline pace --reverse-overload ", {"plain,drop", "plain,flush"}),
        ("paceline pace --in l", {"plain,lo"}),
        ("paceline pace --replay tr", {"file,tr"}),
        ("paceline run sce", {"file,sce"}),
        ("paceline run x --out res", {"dir,res"}),
        ("paceline analyse x --by f", {"plain,flow"}),
        ("paceline explain tcp --profile lin", {"plain,linux"}),
        ("paceline figure x --metric ja", {"plain,jain"}),
        ("paceline reproduce qlbp-theorem1", {"plain,qlbp-theorem1"}),
    ],
)
def test_completion(words: str, found: set[str]) -> None:
    assert found <= set(complete(words, words.count(" ")))


@pytest.mark.skipif(sys.platform != "linux", reason="signals are held there")
def test_ctrl_c_leaves_no_part_of_a_file(capture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "replay"
    folder.mkdir()
    os.mkfifo(folder / "fifo.pcap")
    command = [
        sys.executable,
        "-m",
        "paceline",
        "pace",
        "--replay",
        "fifo.pcap",
        "--method",
        "none",
        "--write",
        "x.pcap",
    ]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    with (folder / "fifo.pcap").open("wb", buffering=0) as fifo:
        fifo.write(capture.read_bytes()[:4096])  # and no more comes
        until = time.monotonic() + 20
        while not list(folder.glob(".x.pcap.*")) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "paceline: interrupted\n")
    assert [path.name for path in folder.iterdir()] == ["fifo.pcap"]
