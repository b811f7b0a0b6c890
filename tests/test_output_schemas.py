"""JSON Schemas of outputs, beside what the commands really print."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import paceline as pl
import pytest
from conftest import TINY, Command
from paceline.cli.output_schemas import OUTPUTS, schema_of

ROOT = Path(__file__).parent.parent


def check(kind: str, text: str) -> Any:
    made = schema_of(kind)
    jsonschema.Draft7Validator.check_schema(made)
    printed = json.loads(text)
    found = jsonschema.exceptions.best_match(jsonschema.Draft7Validator(made).iter_errors(printed))
    assert found is None, (list(found.absolute_path), found.message[:300])
    return printed


def test_runs(tiny: Path, command: Command) -> None:
    """Links with classes, marks and a memory, groups, numbers that do not exist."""
    for setting in ('network.core.queue={discipline = "priority"}', "network.core.queue=red", "pacing=host"):
        done = command("run", tiny, "--json", "--set", setting)
        assert done.returncode == 0, done.stderr
        assert check("run", done.stdout)
    done = command("run", tiny, "--json", "--set", 'pacing={method = "host", share = 0.5}', "--seeds", "2")
    assert set(check("run", done.stdout)[0]["groups"]) == {"paced", "unpaced"}
    shared = command(
        "run", ROOT / "scenarios" / "shared-memory.toml", "--json", "--set", "duration=5 s", "--seeds", "1"
    )
    assert shared.returncode == 0, shared.stderr
    assert check("run", shared.stdout)


def test_a_key_of_later_versions_is_told(tiny: Path, command: Command) -> None:
    """The schema is closed: what is printed and not described fails above."""
    runs = json.loads(command("run", tiny, "--json").stdout)
    runs[0]["links"]["core"]["speed"] = 1.0
    with pytest.raises(AssertionError, match="speed"):
        check("run", json.dumps(runs))
    del runs[0]["links"]["core"]["speed"]
    runs[0]["engine"]["sort"] = runs[0]["engine"].pop("kind")
    with pytest.raises(AssertionError, match="'kind' is a required property"):
        check("run", json.dumps(runs))


def test_analyses(tiny: Path, tmp_path: Path, command: Command) -> None:
    assert command("run", tiny, "--trace", "flow.pcap").returncode == 0
    for more in ([], ["--by", "flow", "--pacer", "edge 10 ms"]):
        assert check("analyse", command("analyse", "flow.pcap", "--json", *more).stdout)["packets"] > 100


def test_comparisons(tmp_path: Path, command: Command) -> None:
    scenario = pl.Scenario(tomllib.loads(TINY))
    pl.sweep(scenario, {"network.core.buffer": ["5 KB", "9 KB"], "pacing": ["none"]}, seeds=2, out=tmp_path / "a")
    pl.sweep(scenario, {"network.core.buffer": ["5 KB", "8 KB"], "pacing": ["host"]}, seeds=3, out=tmp_path / "b")
    found = check("compare", command("compare", "a", "b", "--json").stdout)
    assert found["only_a"]
    assert found["apart"]
    assert (found["unpaired_a"], found["unpaired_b"]) == ([], [3])


def test_diagnoses(tiny: Path, command: Command) -> None:
    for file in (tiny, ROOT / "scenarios" / "rpc.toml", ROOT / "scenarios" / "priority.toml"):
        assert check("doctor", command("doctor", file, "--json").stdout)["settings"]


def test_advice(command: Command) -> None:
    asked = ("--rate", "10 Mbit/s", "--rtt", "20 ms", "--flows", "10", "--pacing", "none", "--pacing", "host")
    done = command("advise", *asked, "--within", "4 s", "--json")
    assert check("advise", done.stdout)["tried"]


def test_options_and_verdicts(command: Command) -> None:
    assert check("explain", command("explain", "tcp", "--json").stdout)
    assert check("reproduce", command("reproduce", "--list", "--json").stdout)
    done = command("reproduce", "qlbp-theorem1", "--quick", "--json", "--out", "papers")
    assert check("reproduce", done.stdout)[0]["verdict"]


@pytest.mark.parametrize("kind", OUTPUTS)
def test_each_is_printed(kind: str, command: Command) -> None:
    done = command("schema", kind)
    assert json.loads(done.stdout) == json.loads(json.dumps(schema_of(kind)))


def test_another_is_refused(command: Command) -> None:
    done = command("schema", "doctors")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'WHAT: "doctors" is no kind of file or output; write scenario, run, advise' in done.stderr
