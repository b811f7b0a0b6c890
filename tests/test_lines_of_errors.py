"""What is wrong in a file is told with its line, all at once, whoever finds it: the core, the reader, the sweep."""

from __future__ import annotations

from pathlib import Path

import paceline as pl
import pytest
from conftest import TINY

FILE = TINY.replace("[network]", "seed = 3\n\n[network]", 1) + '\n[sweep]\npacing = ["none", "host"]\nseeds = 2\n'
#: Literals of TOML that have no place here or there.
WRONG = ("1.5", "inf", "nan", "true", "2020-01-01", "10:00:00", "{ a = 1 }", "-1", "99999999999999999999", "[]")


def faults(text: str, tmp_path: Path) -> list[pl.InputError]:
    """All that is wrong with a file, which is something."""
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(pl.InputError) as told:
        pl.Scenario.load(file).check()
    found = [told.value, *told.value.others]
    assert all(str(one) == f"{file}: {one.message} (line {one.line})" for one in found)
    return found


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize(
    ("old", "path"),
    [
        ("seed = 3", "seed"),
        ('duration = "4 s"', "duration"),
        ('buffer = "10 KB"', "network.core.buffer"),
        ('start = "0 s .. 1 s"', "traffic[0].start"),
        ('pacing = ["none", "host"]', "sweep.pacing"),
        ("seeds = 2", "sweep.seeds"),
    ],
)
def test_every_wrong_value_has_its_line(value: str, old: str, path: str, tmp_path: Path) -> None:
    assert FILE.count(old) == 1
    text = FILE.replace(old, f"{old.partition(' = ')[0]} = {value}")
    line = FILE[: FILE.index(old)].count("\n") + 1
    assert {one.line for one in faults(text, tmp_path)} == {line}
    assert all(one.message.startswith(path) for one in faults(text, tmp_path))


def test_faults_of_the_sweep_and_of_the_rest_are_told_together(tmp_path: Path) -> None:
    text = FILE.replace("seed = 3", "seed = 1.5").replace('["none", "host"]', '"host"').replace('"10 KB"', "10")
    text += '"network.core.delay" = []\n"network.core.rate" = 3\ntitle = ["a"]\n'
    found = [one.message.partition(": ")[0] for one in faults(text, tmp_path)]
    paths = ["sweep.pacing", "sweep.network.core.delay", "sweep.network.core.rate", "sweep.title"]
    assert found == ["seed", "network.core.buffer", *paths]


def test_values_that_toml_has_and_a_scenario_not_are_told_together(tmp_path: Path) -> None:
    text = FILE.replace('"4 s"', "inf").replace('"10 KB"', "10:00:00").replace('"none", "host"', "nan")
    found = [one.message.partition(": ")[0] for one in faults(text, tmp_path)]
    assert found == ["duration", "network.core.buffer", "sweep.pacing[0]"]


def test_what_was_swept_or_set_in_python_has_no_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FILE)
    scenario = pl.Scenario.load(file)
    for changed in (scenario.over({"network.core.buffer": ["5 KB", "5"]}), scenario.set("network.core.buffer", 3)):
        with pytest.raises(pl.InputError) as told:
            changed.check()
        assert told.value.line is None
    with pytest.raises(pl.InputError) as told:
        pl.Scenario({"duration": float("nan"), "traffic": [{"kind": float("inf")}]})
    assert [str(one).partition(" is ")[0] for one in (told.value, *told.value.others)] == [
        "duration: nan",
        "traffic[0].kind: inf",
    ]


def test_a_sweep_too_large_or_with_a_value_twice_has_its_line(tmp_path: Path) -> None:
    twice = faults(FILE.replace('"none", "host"', '"none", "none"'), tmp_path)
    assert [one.message for one in twice] == ["sweep.pacing: none is there twice; leave one out"]
    assert faults(FILE.replace("seeds = 2", "seeds = 600000"), tmp_path)[0].message.startswith("sweep: asks for 1,200,")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[network]", "[[network]]", "network: a list of tables, where there is one; write [network]"),
        ("[[traffic]]", "[traffic]", "traffic: a single table, where there may be several; write [[traffic]]"),
        ("[sweep]", "[[sweep]]", "sweep: a list is not a table; write one, [sweep], of paths and lists"),
        ("core = {", "core = [{", "network.core: a list of tables, where there is one; write [network.core]"),
        ("tcp = {", "tcp = [{", "traffic[0].tcp: a list of tables, where there is one; write { key = value, … }"),
        ("[network]", "[[probes]]\n[network]", "probes: a list of tables, where there is one; write [probes]"),
    ],
)
def test_tables_that_are_one_and_lists_of_them(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = FILE.replace(old, new, 1)
    if new.endswith("[{"):
        text = "\n".join(line.replace(" }", " }]", 1) if new in line else line for line in text.split("\n"))
    assert message in [one.message for one in faults(text, tmp_path)]
