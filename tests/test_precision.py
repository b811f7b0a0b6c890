"""Seeds are added until an interval is as narrow as asked, and no further."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from conftest import Command
from paceline._statistics import interval


def share(runs: list[dict[str, Any]], key: str = "goodput_mean_bps") -> float:
    found = interval(run["flows"][key] for run in runs)
    assert found is not None
    assert found.half is not None
    return found.half / found.mean


def by_setting(runs: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        groups.setdefault(json.dumps(run["settings"]), []).append(run)
    return list(groups.values())


def test_every_setting_is_as_close_as_asked(command: Command, tiny: Path) -> None:
    asked = ("--sweep", "network.core.buffer=5 KB,40 KB", "--until-ci", "4%", "--ci-metric", "flows.jain")
    done = command("run", tiny, *asked, "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    groups = by_setting(json.loads(done.stdout))
    assert len(groups) == 2
    for group in groups:
        assert [run["seed"] for run in group] == list(range(1, len(group) + 1))
        assert len(group) >= 5
        assert share(group, "jain") <= 0.04
    assert len({len(group) for group in groups}) == 2  # each stops by itself
    widest = max(groups, key=len)
    assert len(widest) > 5
    assert share(widest[:5], "jain") > 0.04
    again = command("run", tiny, *asked, "--json", "--out", "out")
    assert again.stdout == done.stdout
    assert f"{sum(map(len, groups))} of {sum(map(len, groups))} runs were in out already" in again.stderr


def test_five_seeds_are_enough_for_little(tiny: Path) -> None:
    results = pl.sweep(pl.Scenario.load(tiny), until_ci=0.9)
    assert [run.seed for run in results] == [1, 2, 3, 4, 5]
    assert len(pl.sweep(pl.Scenario.load(tiny), seeds=[2, 9], until_ci=0.9)) == 5
    assert len(pl.sweep(pl.Scenario.load(tiny), seeds=7, until_ci=0.9)) == 7


def test_a_limit_is_kept_and_said(command: Command, tiny: Path) -> None:
    done = command("run", tiny, "--until-ci", "0.01%", "--max-seeds", "8", "--json")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)) == 8
    assert re.fullmatch(
        r"paceline: 1 of 1 settings are not known to 0\.01 % after 8 seeds \(widest: [\d.]+ %, at the one setting\); "
        r"allow more by --max-seeds, or ask for less\n",
        done.stderr,
    )
    with pytest.warns(RuntimeWarning, match="not known to"):
        pl.sweep(pl.Scenario.load(tiny), until_ci=0.0001, max_seeds=6)


def test_fewer_seeds_than_five_are_said(command: Command, tiny: Path) -> None:
    """Where they are asked for; a scenario that says nothing of seeds asks for none."""
    asked = ("--until-ci", "90%", "--json")
    for seeds, said in (("3", "3 seeds are"), ("1", "1 seed is"), ("2,9", "2 seeds are")):
        done = command("run", tiny, *asked, "--seeds", seeds)
        assert len(json.loads(done.stdout)) == 5
        more = 5 - int(said[0])
        assert done.stderr == f"paceline: --until-ci: {said} asked for, and every setting begins with 5: {more} more\n"
    assert command("run", tiny, *asked).stderr == ""
    assert command("run", tiny, *asked, "--seeds", "5").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--until-ci", "1"), '--until-ci: "1" is no share of a mean; write as 1% or 0.5%'),
        (("--until-ci", "x%"), '--until-ci: "x%" is no share of a mean; write as 1% or 0.5%'),
        (("--until-ci", "0%"), '--until-ci: "0%" is no share of a mean; write as 1% or 0.5%'),
        (("--until-ci", "nan%"), '--until-ci: "nan%" is no share of a mean; write as 1% or 0.5%'),
        (
            ("--until-ci", "1%", "--ci-metric", "goodput"),
            '--ci-metric: "goodput" is no number of a run; write as flows.goodput_mean_bps, or links.core.loss_ratio',
        ),
        (
            ("--until-ci", "1%", "--ci-metric", "links.cor.loss_ratio"),
            '--ci-metric: no run has "links.cor.loss_ratio"; name a link that results have, as core',
        ),
        (("--until-ci", "1%", "--max-seeds", "3"), "--max-seeds: 3 is fewer than the 5 that every setting has"),
        (("--max-seeds", "9"), "--max-seeds: goes with --until-ci, as --until-ci 1%"),
        (("--ci-metric", "flows.jain"), "--ci-metric: goes with --until-ci, as --until-ci 1%"),
    ],
)
def test_what_is_wrong_is_said(command: Command, tiny: Path, arguments: tuple[str, ...], message: str) -> None:
    done = command("run", tiny, *arguments, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"paceline: {message}\n"


def test_equal_values_have_no_spread() -> None:
    found = interval([0.881744384] * 5)
    assert found is not None
    assert (found.mean, found.half) == (0.881744384, 0.0)
