"""Traces: the same events as CSV, Parquet and pcap."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import paceline as pl
import pyarrow.parquet as pq
import pytest
from conftest import TINY, Command

HEADER = "time_ns,event,place,flow,kind,seq,bytes,cwnd"


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the same run as `x.csv`, `x.parquet` and `x.pcap`."""
    directory = tmp_path_factory.mktemp("traces")
    scenario = pl.Scenario(tomllib.loads(TINY))
    for suffix in ("csv", "parquet", "pcap"):
        pl.run(scenario, trace=directory / f"x.{suffix}")
    return directory


def rows(directory: Path) -> list[dict[str, str]]:
    with (directory / "x.csv").open() as file:
        return list(csv.DictReader(file))


def test_csv_is_in_the_contracts_words_and_order(traces: Path) -> None:
    assert (traces / "x.csv").read_text().partition("\n")[0] == HEADER
    found = rows(traces)
    times = [int(row["time_ns"]) for row in found]
    assert times == sorted(times)
    assert {row["event"] for row in found} == {"send", "enqueue", "drop", "dequeue", "receive"}
    assert {row["kind"] for row in found} == {"data", "ack"}
    assert "core" in {row["place"] for row in found}
    assert [path.name for path in sorted(traces.iterdir())] == ["x.csv", "x.parquet", "x.pcap"]


def test_parquet_says_the_same(traces: Path) -> None:
    table = pq.read_table(traces / "x.parquet")
    assert table.column_names == HEADER.split(",")
    for row, other in zip(rows(traces), table.to_pylist(), strict=True):
        cwnd = None if row["cwnd"] == "" else float(row["cwnd"])
        assert row | {"cwnd": cwnd} == {k: v if k == "cwnd" else str(v) for k, v in other.items()}


def test_the_command_writes_a_trace_and_no_other_file_with_json(command: Command, tiny: Path) -> None:
    done = command("run", tiny, "--json", "--trace", "x.csv")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tiny.parent.iterdir()) == ["tiny.toml", "x.csv"]


def test_a_trace_that_cannot_be_written_leaves_nothing(command: Command, tiny: Path) -> None:
    done = command("run", tiny, "--json", "--trace", "nowhere/x.csv")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tiny.parent.iterdir()] == ["tiny.toml"]


def test_a_trace_is_written_though_the_result_is_there(command: Command, tiny: Path) -> None:
    assert command("run", tiny, "--out", "out").returncode == 0
    assert command("run", tiny, "--out", "out", "--trace", "x.pcap").returncode == 0
    assert (tiny.parent / "x.pcap").stat().st_size > 1000
