"""What Python callers give wrongly is said in one line, as on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import paceline as pl
import pytest
from conftest import Command

ONE_FLOW = Path(__file__).parents[1] / "scenarios" / "one-flow.toml"
one_flow: Any = pl.Scenario.load(ONE_FLOW)
api: Any = pl


def nested(depth: int) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for _ in range(depth):
        tables = {"a": tables}
    return tables


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.Scenario([1]), "[1] is no scenario; give a dict of its tables, or Scenario.load(file)"),
        (lambda: api.Scenario(nested(5000)), "a: more than 50 tables and lists within each other; write fewer"),
        (lambda: api.Scenario({"duration": 10**5000}), "duration: a number of more than 64 bits"),
        (lambda: api.Scenario({"title": "\udcff"}), "title: "),
        (lambda: api.Scenario({"\udcff": 1}), "scenario: "),
        (lambda: api.Scenario.load(None), "None is no file's name; write as scenarios/one-flow.toml"),
        (lambda: api.Scenario.load(""), "names no file; write one, as scenarios/one-flow.toml"),
        (lambda: one_flow.set(5, 3), "5: not a path; write keys joined by dots"),
        (lambda: one_flow.over(["pacing"]), "over: ['pacing'] is no table of values; write as"),
        (lambda: one_flow.seeds(10**5000), "sweep.seeds: a number of more than 64 bits"),
        (lambda: one_flow.seeds(2_000_000), "2000000 is not a number of seeds; write a whole number from 1 to 1000000"),
        (lambda: one_flow.describe(-1), "seed: -1 is not a seed; write a whole number from 0 to 2^63 - 1"),
        (lambda: api.doctor(one_flow, seed=-1), "seed: -1 is not a seed"),
        (lambda: api.doctor(one_flow, seed="a"), 'seed: "a" is not a seed'),
        (lambda: api.run(5), "5 is no scenario; give a Scenario, its tables as a dict, or its file, as scenarios/"),
        (
            lambda: api.doctor([one_flow]),
            "flow, its window and its queue', 2 runs)] is no scenario; give",
        ),
        (lambda: api.template(5), "name: 5 is no template; write for example one-flow or edge-vs-host"),
        (lambda: api.Results.load("no\nwhere"), "no\\nwhere: no such file or directory; name a directory that"),
        (lambda: api.analyse("no\nwhere"), "no\\nwhere: no such file"),
        (lambda: api.sweep(one_flow, ci_metric="flows.jain"), "ci_metric: goes with until_ci, as until_ci=0.01"),
        (lambda: api.sweep(one_flow, max_seeds=7), "max_seeds: goes with until_ci, as until_ci=0.01"),
        (lambda: api.run({}), "duration: missing"),
        (lambda: api.run(one_flow, engine=None), "engine: None is no engine; write auto, windowed or reference"),
        (lambda: api.run(one_flow, threads=True), "threads: True is not a number of threads; write a whole number"),
        (lambda: api.run(one_flow.set("pacing", "host"), trace=5), "trace: 5 is no file's name"),
        (lambda: api.run(one_flow.set("pacing", "host"), trace="a.txt"), "trace: a.txt: the name must end in .csv"),
        (lambda: api.sweep(one_flow, jobs=100_000), "jobs: 100000 is not a number of runs at a time; write a whole"),
        (lambda: api.sweep(one_flow, out=5), "out: 5 is no directory's name; write as results/mine"),
        (lambda: api.sweep(one_flow, out=" "), "out: names no directory; write one, as results/mine"),
        (lambda: api.sweep(one_flow, out="\udcff"), "a name that is not UTF-8; write another"),
        (lambda: api.sweep(one_flow, until_ci="1%"), 'until_ci: "1%" is no share of a mean; write 0.01 for 1 %'),
        (lambda: api.sweep(one_flow, until_ci=0.1, ci_metric=5), "ci_metric: 5 is no number of a run"),
        (lambda: api.sweep(one_flow, until_ci=0.1, max_seeds="x"), 'max_seeds: "x" is not a number of seeds'),
        (lambda: api.sweep(one_flow, until_ci=0.1, max_seeds=3), "max_seeds: 3 is fewer than the 5 that every"),
        (lambda: api.analyse(None), "None is no file's name; write as traffic.pcap, or - for standard input"),
        (lambda: api.analyse("x", by=None), "by: None is no way to group packets; write interface or flow"),
        (lambda: api.analyse("x", top="x"), 'top: "x" is not a number of flows to show; write a whole number from 1'),
        (lambda: api.analyse("x", burst_gap=5), 'burst_gap: 5 is no time; write as "100 us"'),
        (lambda: api.analyse("x", pacers=[5]), 'pacer: 5 is no pacer; write as "edge 10 ms"'),
        (lambda: api.analyse("x", pacers=5), 'pacers: 5 is no list of pacers; write as ["edge 10 ms"]'),
        (lambda: api.analyse("x", pacers=["none"], write=5), "write: 5 is no file's name; write as paced.pcap"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(pl.InputError) as caught:
        call()
    assert message in str(caught.value)
    assert "--" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_of_numpy_and_tables_are_taken() -> None:
    assert one_flow.seeds(np.int32(3)) == one_flow.seeds(3)
    assert one_flow.seeds(np.arange(3)) == one_flow.seeds([0, 1, 2])
    assert one_flow.set("warmup", np.float64(2)).to_dict()["warmup"] == 2.0
    tables = one_flow.set("pacing", "host").set("duration", "6 s").to_dict()
    assert pl.run(tables, seed=np.int64(3)).seed == 3  # type: ignore[arg-type]


@pytest.mark.skipif(sys.getfilesystemencoding() != "utf-8", reason="names are of another encoding here")
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", ONE_FLOW, "--set", "title=\udcff"),
        ("run", ONE_FLOW, "--sweep", "pacing=none,\udcff"),
        ("run", ONE_FLOW, "--set", "\udcff=1"),
        ("run", ONE_FLOW, "--out", "\udcff"),
        ("analyse", ONE_FLOW, "--pacer", "\udcff"),
        ("analyse", ONE_FLOW, "--burst-gap", "\udcff"),
        ("analyse", ONE_FLOW, "--out", "\udcff"),
        ("gallery", "--out", "\udcff"),
    ],
)
def test_what_is_not_utf8_is_said_in_one_line(command: Command, arguments: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "UTF-8" in done.stderr
