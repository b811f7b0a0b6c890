"""Marks and early drops where people look: the table after a run, and the report."""

from __future__ import annotations

from pathlib import Path

import paceline as pl
import pytest
from paceline.cli.main import paceline as command
from paceline.report import write
from paceline.results.tables import summary_rows

DUMBBELL = """\
title    = "A marking dumbbell"
duration = "6 s"
warmup   = "2 s"

[network]
template = "dumbbell"
core   = { rate = "10 Mbit/s", delay = "5 ms", buffer = "100 packets", queue = "codel" }
access = { hosts = 4, rate = "50 Mbit/s", delay = "1 ms .. 2 ms" }

[[traffic]]
kind = "bulk"
tcp  = { profile = "rfc", variant = "newreno" }

[sweep]
"traffic.bulk.tcp.ecn" = ["off", "rfc3168"]
seeds = 2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marks")
    (folder / "marks.toml").write_text(DUMBBELL, encoding="utf-8")
    arguments = ["run", str(folder / "marks.toml"), "--out", str(folder / "out")]
    command.main(arguments, "paceline", standalone_mode=False)
    return folder


def test_the_table_has_marks_and_early_drops_where_there_are_any(folder: Path) -> None:
    head, rows = summary_rows(pl.sweep(folder / "marks.toml"))
    marks, early = ([float(row[head.index(name)].split(" ")[0]) for row in rows] for name in ("marks", "early drops"))
    assert marks[0] == 0
    assert early[1] < 2  # what is sent again is not ECN-capable
    assert min(marks[1], early[0]) > 10
    plain = pl.Scenario.load(folder / "marks.toml").set("network.core.queue", "drop-tail")
    assert not {"marks", "early drops"} & set(summary_rows(pl.sweep(plain))[0])


def test_the_report_has_a_chart_of_marks_where_there_are_any(folder: Path) -> None:
    text = write(folder / "out").read_text(encoding="utf-8")
    assert "Marked of core." in text
    assert "Dropped early" in text
    unmarked = folder / "unmarked"
    arguments = ["run", str(folder / "marks.toml"), "--out", str(unmarked), "--set", "traffic.bulk.tcp.ecn=off"]
    command.main(arguments, "paceline", standalone_mode=False)
    text = write(unmarked).read_text(encoding="utf-8")
    assert "Marked of core." not in text
    assert "Dropped early" in text
