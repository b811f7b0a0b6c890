"""`paceline init`: the scenarios of the package, written where there is nothing else."""

from __future__ import annotations

from pathlib import Path

import click.testing
import paceline as pl
import pytest
from conftest import Command
from paceline.cli.init import init
from paceline.errors import InputError
from paceline.scenario import shipped_files

ROOT = Path(__file__).parent.parent
SCENARIOS = {
    path.relative_to(ROOT / "scenarios").with_suffix("").as_posix(): path
    for path in (ROOT / "scenarios").rglob("*.toml")
}


def test_the_package_has_every_scenario() -> None:
    """A link to each stands in python/paceline/scenario/shipped: make one for a new scenario."""
    assert set(shipped_files.texts()) == set(SCENARIOS)
    assert len(shipped_files.notebooks()) == 6
    for name, path in SCENARIOS.items():
        assert shipped_files.texts()[name] == path.read_text(), name
        assert (ROOT / "python/paceline/scenario/shipped" / f"{name}.toml").is_symlink(), name


def test_titles_tell_templates_apart() -> None:
    titles = shipped_files.titles()
    assert len(set(titles.values())) == len(titles) > 20
    assert next(iter(titles)) not in ("kernel/one-flow", "scale/many-flows")


def test_all_of_them_are_sound_where_they_are_written(tmp_path: Path) -> None:
    shipped = shipped_files.write_files(
        {f"{name}.toml": text for name, text in shipped_files.texts().items()}, tmp_path
    )
    assert len(shipped) == len(SCENARIOS)
    for path in shipped:
        assert pl.Scenario.load(path).check_settings(2.0), path


def test_it_runs_at_once_in_an_empty_folder(command: Command) -> None:
    made = command("init")
    assert (made.returncode, made.stdout) == (0, "one-flow.toml\npaceline.schema.json\n")
    assert "paceline run one-flow.toml" in made.stderr
    ran = command("run", "one-flow.toml", "--set", "duration=6 s")
    assert ran.returncode == 0, ran.stderr


def test_nothing_is_replaced_without_force(tmp_path: Path) -> None:
    mine = tmp_path / "rpc.toml"
    mine.write_text("mine")
    with pytest.raises(InputError, match=r"rpc\.toml: is there already; say --force"):
        init.main(["all", str(tmp_path)], standalone_mode=False)
    assert [path.name for path in tmp_path.iterdir()] == ["rpc.toml"]
    assert mine.read_text() == "mine"
    init.main(["rpc", str(tmp_path), "--force"], standalone_mode=False)
    assert mine.read_text() == "#:schema ./paceline.schema.json\n" + SCENARIOS["rpc"].read_text()
    before = mine.stat().st_mtime_ns
    init.main(["rpc", str(tmp_path)], standalone_mode=False)  # it is there already, as it would be written
    assert mine.stat().st_mtime_ns == before


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "rpc.toml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is there already"):
        init.main(["rpc", str(tmp_path)], standalone_mode=False)
    assert not (tmp_path / "nowhere").exists()


def test_list_has_a_line_each() -> None:
    lines = click.testing.CliRunner().invoke(init, ["--list"], standalone_mode=False).stdout.splitlines()
    assert {line.split()[0] for line in lines[1:]} == set(SCENARIOS) | set(shipped_files.notebooks())
    assert len(lines) == 1 + len(SCENARIOS) + 6


def test_a_file_in_a_folder_names_the_schema_above(tmp_path: Path) -> None:
    init.main(["kernel/one-flow", str(tmp_path)], standalone_mode=False)
    assert (tmp_path / "kernel" / "one-flow.toml").read_text().startswith("#:schema ../paceline.schema.json\n")
    assert (tmp_path / "paceline.schema.json").is_file()


def test_a_notebook_is_one_file(tmp_path: Path) -> None:
    init.main(["notebooks/sweep", str(tmp_path)], standalone_mode=False)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")] == ["notebooks/sweep.ipynb"]


@pytest.mark.parametrize(("name", "said"), [("onee-flow", 'did you mean "one-flow"?'), ("x", "init --list")])
def test_an_unknown_one_is_refused(name: str, said: str) -> None:
    with pytest.raises(InputError, match=f"TEMPLATE: .*{said}".replace("?", r"\?")):
        shipped_files.chosen(name)


@pytest.mark.parametrize(("folder", "said"), [("there", "DIR: "), ("", "DIR: names no directory")])
def test_what_is_no_directory_is_wrong_input(command: Command, tmp_path: Path, folder: str, said: str) -> None:
    (tmp_path / "there").write_text("a file")
    done = command("init", "one-flow", folder and str(tmp_path / folder))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"paceline: {said}")
    assert done.stderr.count("\n") == 1
