"""A directory's tables and report are of one scenario; another does not take their place unasked."""

from __future__ import annotations

from pathlib import Path

import paceline as pl
import pytest
from conftest import TINY, Command

OTHER = TINY.replace('"tiny"', '"another"').replace('"10 KB"', '"30 KB"')


def test_another_scenarios_results_are_kept(command: Command, tiny: Path) -> None:
    other = tiny.with_name("other.toml")
    other.write_text(OTHER)
    assert command("run", tiny, "--out", "out").returncode == 0
    report = tiny.parent / "out" / "report.html"
    before = report.read_bytes()
    refused = command("run", other, "--out", "out")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        f'paceline: --out: out holds the results of "tiny" ({tiny}); '
        "add --force to put these in their place, or name another directory\n"
    )
    assert report.read_bytes() == before
    # what nobody told of a directory is a matter of names alone
    folder = tiny.parent / "elsewhere"
    folder.mkdir()
    assert command("run", tiny).returncode == 0
    (folder / "tiny.toml").write_text(OTHER)
    assert "or name another directory by --out\n" in command("run", folder / "tiny.toml").stderr
    forced = command("run", other, "--out", "out", "--force")
    assert forced.returncode == 0, forced.stderr
    assert report.read_bytes() != before
    assert "1 of 1 runs were in out already" in command("run", tiny, "--out", "out").stderr


def test_the_same_scenario_goes_on(command: Command, tiny: Path) -> None:
    """However it was changed, wherever its file is now, and by the scenario that lies beside its results."""
    assert command("run", tiny, "--out", "out").returncode == 0
    for more in (("--set", "network.core.buffer=5 KB"), ("--seeds", "2"), ("--set", "title=renamed")):
        assert command("run", tiny, *more, "--out", "out").returncode == 0
    tiny.write_text(OTHER)
    assert command("run", tiny, "--out", "out").returncode == 0, "a scenario that was edited"
    assert command("run", tiny.parent / "out" / "scenario.toml", "--out", "out").returncode == 0
    moved = tiny.with_name("moved.toml")
    moved.write_text(TINY)
    assert command("run", moved, "--out", "out").returncode == 0, "its runs are there"


def test_scenarios_made_in_python_go_by_their_titles(tmp_path: Path) -> None:
    first = pl.path([{"name": "link", "rate": "1 Mbit/s", "delay": "1 ms"}], duration="1 s", warmup="0.5 s")
    out = tmp_path / "out"
    pl.sweep(first, out=out)
    pl.sweep(first.set("duration", "2 s"), out=out)
    with pytest.raises(pl.InputError, match=r"^out: .*out holds the results of .*; name another directory, or add"):
        pl.sweep(first.set("title", "another").set("duration", "3 s"), out=out)
    pl.sweep(first.set("title", "another").set("duration", "3 s"), out=out, force=True)


def test_a_report_and_a_scenario_of_something_else_are_kept(command: Command, tiny: Path) -> None:
    """An analysis, an advice and a run have a report each, of one name; a scenario may be anybody's."""
    assert command("run", tiny, "--trace", "tiny.pcap", "--out", "out").returncode == 0
    advise = ("advise", "--rate", "10 Mbit/s", "--rtt", "20 ms", "--flows", "10", "--within", "1 min")
    report = tiny.parent / "out" / "report.html"
    before = report.read_bytes()
    for other in (("analyse", "tiny.pcap"), advise):
        refused = command(*other, "--out", "out")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == (
            f'paceline: --out: out holds the results of "tiny" ({tiny}); name another directory\n'
        )
    assert report.read_bytes() == before
    for _ in range(2):
        assert command("analyse", "tiny.pcap", "--out", "analysis").returncode == 0, "its own it replaces"
    written = tiny.parent / "written" / "scenario.toml"
    written.parent.mkdir()
    written.write_text(f"# by hand\n{OTHER}")
    for folder, name in (("analysis", "report.html"), ("written", "scenario.toml")):
        refused = command("run", tiny, "--out", folder)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{folder} has a {name} that this command has not written; add --force" in refused.stderr
        assert command(*advise, "--out", folder).returncode == 2
    assert command("run", written, "--out", "written").returncode == 0, "beside its own results"
    assert written.read_text().startswith("# by hand")
    assert command("run", tiny, "--out", "analysis", "--force").returncode == 0
