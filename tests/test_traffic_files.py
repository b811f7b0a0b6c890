"""Scenarios that name files: found beside the scenario, known by what they hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import paceline as pl
import pytest
from conftest import Command

SCENARIO = """\
duration = "4 s"

[network]
template = "path"
links = [{ rate = "10 Mbit/s", delay = "5 ms" }]

[[traffic]]
kind = "cvec"
file = "vectors/talk.cvec"
tcp = { profile = "rfc" }
"""

VECTORS = "SEQ 1000 1 1 1\nw 65535 65535\nr 20000\nl 0.0 0.0\n> 300\nt 5000\n< 9000\n"


def written(folder: Path) -> Path:
    """A scenario and its file."""
    (folder / "vectors").mkdir(parents=True)
    (folder / "vectors" / "talk.cvec").write_text(VECTORS)
    (folder / "talk.toml").write_text(SCENARIO)
    return folder / "talk.toml"


def test_a_file_lies_beside_the_scenario_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = pl.run(pl.Scenario.load(path))
    assert result.flows.transfers == 2
    assert result.flows.count == 2


def test_a_run_is_known_by_what_the_file_holds_and_not_by_where_it_lies(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a"), written(tmp_path / "b")
    keys = [pl.Scenario.load(path).points()[0].key for path in (first, second)]
    assert keys[0] == keys[1]
    (tmp_path / "b" / "vectors" / "talk.cvec").write_text(VECTORS.replace("9000", "9001"))
    assert pl.Scenario.load(second).points()[0].key != keys[0]


def test_the_command_finds_the_file_keeps_the_run_and_runs_a_changed_file_again(
    tmp_path: Path, command: Command
) -> None:
    path, out = written(tmp_path / "a"), tmp_path / "out"
    ran = command("run", path, "--out", out, "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)[0]["flows"]["transfers"] == 2
    assert len(list((out / "store").glob("*.zip"))) == 1
    assert command("run", path, "--out", out).returncode == 0
    assert len(list((out / "store").glob("*.zip"))) == 1
    (path.parent / "vectors" / "talk.cvec").write_text(VECTORS + "t 1000\n< 10\n")
    assert json.loads(command("run", path, "--out", out, "--json").stdout)[0]["flows"]["transfers"] == 3
    assert len(list((out / "store").glob("*.zip"))) == 2
    # The scenario as run finds its file from where it lies now.
    again = command("run", out / "scenario.toml", "--out", tmp_path / "again", "--json")
    assert json.loads(again.stdout)[0]["flows"]["transfers"] == 3


def test_files_can_be_swept(tmp_path: Path) -> None:
    path = written(tmp_path / "a")
    shutil.copy(path.parent / "vectors" / "talk.cvec", path.parent / "vectors" / "other.cvec")
    with (path.parent / "vectors" / "other.cvec").open("a") as file:
        file.write("t 10\n< 10\n")
    path.write_text(SCENARIO + '\n[sweep]\n"traffic.0.file" = ["vectors/talk.cvec", "vectors/other.cvec"]\n')
    results = pl.sweep(pl.Scenario.load(path))
    assert [result.flows.transfers for result in results] == [2, 3]
    assert [result.settings for result in results] == [
        {"traffic.0.file": "vectors/talk.cvec"},
        {"traffic.0.file": "vectors/other.cvec"},
    ]


def test_what_is_wrong_with_a_file_is_one_line_that_names_the_line(tmp_path: Path, command: Command) -> None:
    path = written(tmp_path / "a")
    (path.parent / "vectors" / "talk.cvec").write_text(VECTORS + "< many\n")
    ran = command("run", path)
    expected = f'{path}: traffic[0].file: talk.cvec: line 8: "many" is no whole number; expected < BYTES (line 9)'
    assert (ran.returncode, ran.stderr.strip().removeprefix("paceline: ")) == (2, expected)
    (path.parent / "vectors" / "talk.cvec").unlink()
    ran = command("run", path)
    assert ran.returncode == 2
    assert len(ran.stderr.strip().splitlines()) == 1
    assert "no such file" in ran.stderr


def test_the_table_shows_how_long_transfers_take_where_there_are_any(tmp_path: Path, command: Command) -> None:
    path = written(tmp_path / "a")
    ran = command("run", path, "--out", tmp_path / "out")
    head, row = ran.stdout.splitlines()[:2]
    assert "mean transfer, ms" in head
    # 300 B and 9000 B over 10 Mbit/s and 5 ms each way: a round trip, and 0.3 ms or 7.5 ms.
    took = json.loads(command("run", path, "--out", tmp_path / "out", "--json").stdout)[0]["flows"]["fct_mean_s"]
    assert 0.010 < took < 0.020
    assert f"{took * 1e3:.2f}" in row


TRACED = """\
duration = "2 s"

[network]
template = "path"
links = [{ name = "cell", rate = { trace = "cell.up" }, delay = "5 ms" }]

[[traffic]]
kind = "cbr"
rate = "1 Mbit/s"
packet = "1000 B"

[sweep]
"network.links.cell.rate.trace" = ["cell.up", "cell.down"]
"""


def test_traces_of_rates_lie_beside_the_scenario_and_are_known_by_what_they_hold(tmp_path: Path) -> None:
    keys = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "cell.up").write_text("6\n12\n")
        (tmp_path / folder / "cell.down").write_text("5\n")
        (tmp_path / folder / "cell.toml").write_text(TRACED)
        keys.append([point.key for point in pl.Scenario.load(tmp_path / folder / "cell.toml").points()])
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 2
