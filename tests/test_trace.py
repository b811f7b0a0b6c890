"""Traces: the same events as CSV, Parquet and pcap."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from pathlib import Path

import paceline as pl
import pyarrow.parquet as pq
import pytest
from conftest import TINY, Command

HEADER = "time_ns,event,place,flow,kind,seq,bytes,cwnd,cause"


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
        expected = {k: v if k == "cwnd" else "" if v is None else str(v) for k, v in other.items()}
        assert row | {"cwnd": cwnd} == expected


def test_drops_and_marks_have_a_cause(tmp_path: Path) -> None:
    """A link with every cause but a shared memory, and one whose pacer holds too little."""
    document = {
        "duration": "5 s",
        "network": {
            "template": "path",
            "links": [
                {
                    "name": "link",
                    "rate": "8 Mbit/s",
                    "delay": "1 ms",
                    "buffer": "20 packets",
                    "queue": {"discipline": "red", "ecn": "always", "thresh": "3 packets", "maxthresh": "9 packets"},
                    "police": {"rate": "10 Mbit/s", "burst": "4 KB"},
                },
            ],
        },
        "drop": [{"link": "link", "probability": 0.01}],
        "traffic": [
            {"kind": "poisson", "rate": "11 Mbit/s", "packet": "1000 B", "ecn": ecn} for ecn in ("ect0", "not-ect")
        ],
        "probes": {"drops": {"links": "link", "every": "1 s"}},
    }
    result = pl.run(pl.Scenario(document), trace=tmp_path / "x.csv")
    link, found = result.links["link"], rows(tmp_path)
    causes = {event: Counter(row["cause"] for row in found if row["event"] == event) for event in ("drop", "mark")}
    drops = {cause: getattr(link, f"{cause}_drops") for cause in ("overflow", "early", "forced", "policer")}
    assert causes == {"drop": drops, "mark": {"early": link.marked_packets}}
    assert min(drops["early"], drops["forced"], drops["policer"]) > 20
    assert sum(drops.values()) == link.dropped_packets
    assert {row["cause"] for row in found if row["event"] not in causes} == {""}
    curves = result.instrument("drops").select(["flow", "x", "y"]).to_pylist()
    ends = {point["flow"]: point["y"] for point in curves if point["x"] == 5}
    assert ends == {cause: count for cause, count in drops.items() if count}


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
