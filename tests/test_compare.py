"""`paceline compare`: settings aligned, differences with the intervals that runs give, an exit code."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
import paceline as pl
import pyarrow.parquet as pq
import pytest
from conftest import Command
from paceline._statistics import welch
from paceline.cli.compare import compare as compare_command
from paceline.cli.compare import table_of
from paceline.errors import InputError
from paceline.results.comparison import compare
from paceline.results.tables import runs_table
from paceline.terminal.text_tables import table

RUN: dict[str, Any] = {
    "settings": {},
    "seed": 1,
    "window_s": [1.0, 4.0],
    "links": {"core": {"throughput_bps": 8e6, "loss_ratio": 0.01, "queue_mean_bytes": 4000.0}},
    "flows": {"count": 4, "goodput_mean_bps": 2e6, "fct_mean_s": None, "timeouts": 3, "jain": 0.9},
    "groups": {},
    "engine": {"kind": "simulation"},
}


def runs(
    goodput: Callable[[str, int], float], buffers: tuple[str, ...] = ("5 KB",), seeds: tuple[int, ...] = (1, 2, 3)
):
    made = []
    for buffer in buffers:
        for seed in seeds:
            one = copy.deepcopy(RUN) | {"settings": {"buffer": buffer, "pacing": "none"}, "seed": seed}
            one["flows"]["goodput_mean_bps"] = goodput(buffer, seed)
            made.append(pl.Result.from_dict(one))
    return pl.Results(made)


GOODPUT = ("flows.goodput_mean_bps",)


def test_welchs_interval_is_that_of_the_textbook() -> None:
    """By hand: variances of the means 1/3 and 4/3, 50/17 degrees of freedom, so 2; t = 4.302653 (any table)."""
    found = welch([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    assert found is not None
    assert found.half is not None
    assert found.mean == pytest.approx(-2.0)
    assert found.half == pytest.approx(4.302653 * math.sqrt(5 / 3), rel=1e-6)
    assert welch([1.0], [2.0, 3.0]) is None


def test_welchs_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Means 0 apart, spreads 1 and 5, 4 and 9 samples: 95 of 100 within 3 standard errors, and no fewer."""
    draw = random.Random(7)
    held = 0
    for _ in range(2000):
        found = welch([draw.gauss(3, 1) for _ in range(4)], [draw.gauss(3, 5) for _ in range(9)])
        held += found is not None and not found.excludes_zero
    assert held / 2000 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 2000)


def test_the_same_seeds_are_paired() -> None:
    """Seeds lie far apart, each difference is near 10: paired, the interval is that of the differences 9, 10, 11."""
    a = runs(lambda _, seed: 1000.0 * seed)
    b = runs(lambda _, seed: 1000.0 * seed + 8 + seed)
    (row,) = compare(a, b, GOODPUT).rows
    assert row.difference is not None
    assert (row.method, row.difference.count, row.differs) == ("paired", 3, True)
    assert row.difference.mean == pytest.approx(10.0)
    assert row.difference.half == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    other = runs(lambda _, seed: 1000.0 * (seed - 10) + 8, seeds=(11, 12, 13))
    (row,) = compare(a, other, GOODPUT).rows
    assert (row.method, row.differs) == ("welch", False)
    assert row.difference is not None
    assert row.difference.half is not None
    assert row.difference.half > 1000


def test_seeds_that_one_side_lacks_count_for_nothing_and_are_said(tmp_path: Path, command: Command) -> None:
    """Seed 4 is far off and only in b: the means are of the pairs, so that they differ by what is shown."""
    a = runs(lambda _, seed: 1000.0 * seed, seeds=(1, 2, 3))
    b = runs(lambda _, seed: 1000.0 * seed, seeds=(2, 3, 4))
    found = compare(a, b, GOODPUT)
    (row,) = found.rows
    assert row.difference is not None
    assert (row.a, row.b, row.difference.mean, row.method) == (2500.0, 2500.0, 0.0, "paired")
    assert (found.unpaired_a, found.unpaired_b, found.differs) == ([1], [4], False)
    alone = compare(a, runs(lambda _, seed: 1.0 * seed, seeds=(3, 8, 9)), GOODPUT)
    assert (alone.rows[0].method, alone.unpaired_a, alone.unpaired_b) == ("welch", [], [])
    for name, made in (("before", a), ("after", b)):
        (tmp_path / name).mkdir()
        pq.write_table(runs_table(made.to_dicts()), tmp_path / name / "runs.parquet")
    said = command("compare", "before", "after").stderr
    assert "left aside: seed 1 of before, which after does not have\n" in said
    assert "left aside: seed 4 of after, which before does not have\n" in said


def test_one_seed_is_compared_with_the_same_seed(tmp_path: Path, command: Command) -> None:
    """The same run is in both: nothing differs, whatever the mean of the other seeds is."""
    many, one = (runs(lambda _, seed: 1000.0 * seed, seeds=seeds) for seeds in ((1, 2, 3), (1,)))
    for a, b, left in ((many, one, ([2, 3], [])), (one, many, ([], [2, 3]))):
        found = compare(a, b, GOODPUT)
        assert (found.rows[0].a, found.rows[0].b, found.differs) == (1000.0, 1000.0, False)
        assert (found.unpaired_a, found.unpaired_b) == left
    for name, made in (("many", many), ("one", one), ("other", runs(lambda _, seed: 7.0 * seed, seeds=(8, 9)))):
        (tmp_path / name).mkdir()
        pq.write_table(runs_table(made.to_dicts()), tmp_path / name / "runs.parquet")
    assert "left aside: seeds 2, 3 of many" in command("compare", "many", "one").stderr
    said = command("compare", "many", "other").stderr
    assert "many and other have fewer than two seeds in common: intervals are Welch's" in said
    assert "a difference without an interval counts" in command("compare", "one", "other").stderr


def test_no_exponent_is_shown_of_what_is_large() -> None:
    a = runs(lambda _, seed: 100.0 * seed)
    _, rows, _ = table_of(compare(a, runs(lambda _, seed: 400.0 * seed), GOODPUT))
    assert rows[0][-3] == "+600 ± 750"
    _, rows, _ = table_of(compare(a, runs(lambda _, seed: 100.0 * seed + 99.96), GOODPUT))
    assert rows[0][-3] == "+100"


def test_no_interval_is_claimed_that_runs_do_not_give() -> None:
    one = runs(lambda *_: 100.0, seeds=(1,))
    many = runs(lambda _, seed: 100.0 + seed)
    repeated = runs(lambda *_: 100.0)
    for a, b in ((one, many), (many, one), (one, one), (repeated, repeated), (many, many), (repeated, one)):
        (row,) = compare(a, b, GOODPUT).rows
        assert row.difference is not None
        assert row.difference.half is None, (a, b)
        assert row.differs is (row.a != row.b)
    (row,) = compare(repeated, many, GOODPUT).rows  # one run again and again beside draws: the draws' spread
    assert row.difference is not None
    assert row.difference.half is not None


def test_what_is_allowed_is_a_share_of_the_first() -> None:
    a, b = runs(lambda *_: 100.0, seeds=(1,)), runs(lambda *_: 102.0, seeds=(1,))
    assert compare(a, b, GOODPUT).differs
    assert not compare(a, b, GOODPUT, limit=0.02).differs
    assert compare(a, b, GOODPUT, limit=0.0199).differs
    zero = runs(lambda *_: 0.0, seeds=(1,))
    assert compare(zero, b, GOODPUT, limit=10.0).differs
    assert compare(zero, b, GOODPUT).rows[0].relative is None


def test_settings_are_aligned_by_what_they_mean() -> None:
    a = runs(lambda *_: 100.0, ("5 KB", "20 KB", "80 KB"))
    b = runs(lambda *_: 100.0, ("20000 B", "5000 B"))
    for run in b:
        run.settings["pacing"] = "host"  # type: ignore[index]
    found = compare(a, b)
    assert [row.settings["buffer"] for row in found.rows if row.metric == GOODPUT[0]] == ["5 KB", "20 KB"]
    assert [one["buffer"] for one in found.only_a] == ["80 KB"]
    assert found.apart == {"pacing": ("none", "host")}
    assert found.differs
    assert not [row for row in found.rows if row.metric == "flows.fct_mean_s"]  # in none
    with pytest.raises(InputError, match=r"no setting is in both; one sweeps .*5 KB.*the other .*1 KB"):
        compare(a, runs(lambda *_: 1.0, ("1 KB", "2 KB")))
    with pytest.raises(InputError, match=r"flows\.jian: no such number of these runs; did you mean flows\.jain\?"):
        compare(a, b, ["flows.jian"])
    with pytest.raises(InputError, match=r"did you mean flows\.goodput_mean_bps"):
        compare(a, b, ["goodput"])


@pytest.mark.parametrize("width", [80, 60])
def test_the_table_keeps_to_the_columns(width: int) -> None:
    a = runs(lambda _, seed: 1e6 + seed, ("5 KB", "20 KB"))
    head, rows, names = table_of(compare(a, runs(lambda _, seed: 1.1e6 + seed**2, ("5 KB", "20 KB"))))
    lines = [line.text for line in table(head, rows, names, width)]
    assert max(map(len, lines)) <= width
    assert "flows.goodput_mean_bps" in "\n".join(lines).replace("\n", "") or width == 60
    assert {row[-1] for row in rows} == {"yes", "no"}
    goodput = next(row for row in rows if "flows.goodput_mean_bps" in row)
    assert (goodput[2], goodput[3], goodput[4]) == ("Mbit/s", "1", "1.1")
    assert goodput[5].startswith("+0.1 ± ")
    assert {row[5] for row in rows if row[1] == "flows.jain"} == {"0"}


def test_the_command_has_an_exit_code(tmp_path: Path) -> None:
    for name, goodput in (("a", 100.0), ("b", 103.0)):
        (tmp_path / name).mkdir()
        made = runs(lambda _, seed, goodput=goodput: goodput + seed)
        pq.write_table(runs_table(made.to_dicts()), tmp_path / name / "runs.parquet")
    a, b = str(tmp_path / "a"), str(tmp_path / "b" / "runs.parquet")

    def call(*arguments: str) -> click.testing.Result:
        return click.testing.CliRunner().invoke(compare_command, list(arguments), standalone_mode=False)

    assert call(a, a).return_value == 0
    assert call(a, b).return_value == 1
    assert call(a, b, "--fail-above", "5%").return_value == 0
    done = call(a, b, "--json", "--metric", GOODPUT[0])
    said = json.loads(done.stdout)
    assert said["differs"] is True
    assert [(one["a"], one["b"], one["half"], one["unit"]) for one in said["differences"]] == [
        (102, 105, None, "bit/s")
    ]
    for wrong in ((a, b, "--fail-above", "2"), (a, b, "--metric", "jain"), (a, str(tmp_path)), (a, "nowhere")):
        assert isinstance(call(*wrong).exception, InputError), wrong  # which the command ends with 2
