"""What is no input at all, for every verb: one line, exit 2, no traceback; and the same from Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import paceline as pl
import pytest
from conftest import TINY, Command, without_progress

VERBS = (("check",), ("doctor",), ("run", "--json"), ("emulate", "--json"), ("analyse",), ("pace", "--config"))
READERS = (*VERBS, ("pace", "--method", "none", "--replay"))


def one_line(command: Command, *arguments: str | Path, code: int = 2) -> str:
    done = command(*arguments)
    assert done.stdout == ""
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("paceline: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "os error" not in done.stderr
    return done.stderr.removeprefix("paceline: ").rstrip("\n")


def utf16(path: Path) -> None:
    path.write_text(TINY, encoding="utf-16")


MAKERS: dict[str, Callable[[Path], object]] = {
    "nowhere": lambda _: None,
    "directory": Path.mkdir,
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "nul": lambda path: path.write_bytes(bytes(100)),
    "utf-16": utf16,
    "circular": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("verb", READERS, ids=" ".join)
def test_what_cannot_be_read(command: Command, tmp_path: Path, verb: tuple[str, ...], kind: str) -> None:
    path = tmp_path / "odd.toml"
    MAKERS[kind](path)
    assert str(path) in one_line(command, *verb, path)


@pytest.mark.skipif(os.geteuid() != 0, reason="drops rights that root has")
@pytest.mark.parametrize("verb", READERS, ids=" ".join)
def test_what_may_not_be_read(tiny: Path, verb: tuple[str, ...]) -> None:
    tiny.chmod(0)
    rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    command = [*rights, sys.executable, "-m", "paceline", *verb, str(tiny)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    said = without_progress(done.stderr)
    assert said.count("\n") == 1
    assert "ermission denied" in said


@pytest.mark.parametrize("verb", [one for one in READERS if one[-1] != "--config"], ids=" ".join)
def test_a_fifo_without_a_writer_is_left_by_ctrl_c(tmp_path: Path, verb: tuple[str, ...]) -> None:
    fifo = tmp_path / "fifo.toml"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "paceline", *verb, str(fifo)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    if verb[0] == "pace":
        time.sleep(2)
    else:
        assert "so far" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "paceline: interrupted"
    assert "Traceback" not in err


def test_a_gallery_is_not_written_over_a_file(command: Command, tmp_path: Path) -> None:
    assert command("reproduce", "qlbp-theorem2", "--quick", "--out", "papers", "-q").returncode == 0
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "fifo")
    for out in ("file", "file/below", "fifo", "/proc/x"):
        line = one_line(command, "gallery", "papers", "--out", out, "-q")
        assert line.startswith(f"--out: {out}")
        assert line.endswith("; name another directory, one that can be written")
    assert (tmp_path / "file").read_text() == "mine"


def test_every_wrong_option_is_told(command: Command, tiny: Path) -> None:
    tiny.write_text(TINY.replace('"4 s"', "4"))
    options = ["--set", "netwrok.core.rate=1", "--set", "traffic.9.kind=x", "--set", "durration=3 s", "--set", "pacing"]
    done = command("run", tiny, *options, "--sweep", "pacin=a,b", "--seeds", "0")
    assert (done.returncode, done.stdout) == (2, "")
    lines = [line.removeprefix("paceline: ") for line in done.stderr.splitlines()]
    assert sorted(lines[:-1]) == sorted(
        [
            '--set netwrok.core.rate: the scenario has no "netwrok"; did you mean "network"?',
            '--set traffic.9.kind: traffic has no entry "9"; write its number, 0 to 0, or its name (bulk)',
            '--set: pacing has no PATH and VALUE; write as "network.core.buffer=5 KB"',
            "--seeds: 0 is not a number of seeds; write a whole number from 1 to 1000000",
            '--set durration: unknown key; did you mean "duration"?',
            '--sweep pacin: unknown key; did you mean "pacing"?',
        ]
    )
    assert lines[-1].startswith(f"{tiny}: duration: ")
    assert lines[-1].endswith("(line 2)")


def test_a_link_of_a_graph_is_found() -> None:
    scenario = pl.Scenario.load(Path(__file__).parent.parent / "scenarios" / "shared-memory.toml")
    with pytest.raises(pl.InputError, match=r"^network\.links\.to-client\.rate: .*; write link\.to-client\.rate$"):
        scenario.set("network.links.to-client.rate", "1 Gbit/s")
    tables = scenario.to_dict()
    tables["link"][0]["name"] = "up.2"
    dotted = pl.Scenario(tables)
    written = r'has no entry "up"; a name with a dot is written in quotes: link\."up\.2"\.rate$'
    with pytest.raises(pl.InputError, match=written):
        dotted.set("link.up.2.rate", "1 Gbit/s")
    assert dotted.set('link."up.2".rate', "2 Gbit/s").to_dict()["link"][0]["rate"] == "2 Gbit/s"


def test_python_is_told_the_lines_of_the_file(tiny: Path) -> None:
    tiny.write_text(TINY.replace('"4 s"', "4").replace("buffer =", "bufer ="))
    seen = pl.Scenario.load(tiny)
    for call in (
        seen.check,
        seen.check_settings,
        seen.placed().check,
        lambda: pl.run(tiny),
        lambda: pl.run(seen, seed=7),
        lambda: pl.sweep(tiny, over={"pacing": ["none", "host"]}, seeds=3),
        lambda: pl.doctor(tiny),
    ):
        with pytest.raises(pl.InputError, match=r"duration.*\(line 2\)") as caught:
            call()
        assert [str(other)[-8:] for other in caught.value.others] == ["(line 7)"]


def test_what_python_sweeps_has_no_line(tiny: Path) -> None:
    tiny.write_text(TINY + '\n[sweep]\npacing = ["none", "host"]\n')
    with pytest.raises(pl.InputError, match="hots") as caught:
        pl.sweep(tiny, over={"pacing": ["none", "hots"]})
    assert "(line" not in str(caught.value)
    tiny.write_text(tiny.read_text().replace('"host"]', '"hots"]'))
    with pytest.raises(pl.InputError, match=r"hots.*\(line 20\)"):
        pl.sweep(tiny)


@pytest.mark.parametrize("given", ["x", None, 5, ["a"], b"x", TINY, "a\0b", ""])
def test_what_is_no_scenario(given: object) -> None:
    for call in (pl.Scenario, pl.run, pl.sweep, pl.doctor, pl.Scenario.load):
        with pytest.raises(pl.InputError) as caught:
            call(given)  # type: ignore[operator]
        assert "\n" not in str(caught.value)


def test_a_file_without_an_end(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paceline.scenario.toml_tables.MOST_BYTES", 1000)
    with pytest.raises(pl.InputError, match="more than 0 MiB"):
        pl.Scenario.load("/dev/zero")
