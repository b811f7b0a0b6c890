"""`paceline analyse` and `paceline.analyse`: closed forms, what is refused, what is written."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import captures
import paceline as pl
import pytest
from captures import EPOCH_NS
from conftest import Command
from hypothesis import given
from hypothesis import strategies as st


def capture(folder: Path, packets: list[captures.Packet], link_type: int = captures.ETHERNET) -> Path:
    path = folder / "traffic.pcap"
    path.write_bytes(captures.pcap(packets, link_type))
    return path


def test_a_constant_rate_has_no_burstiness(tmp_path: Path) -> None:
    analysis = pl.analyse(capture(tmp_path, captures.even(50_000, 20_000, size=1236)))
    (group,) = analysis.interfaces
    assert (group.captured.packets, group.captured.bytes) == (50_000, 62_500_000)
    assert group.captured.rate_mean_bps == pytest.approx(50_000 * 10_000 / (49_999 * 20e-6))
    assert [scale.cv for scale in group.captured.scales if scale.scale_s > 75e-6] == [0.0] * 10
    at_1_ms = group.captured.at_scale(1e-3)
    assert at_1_ms is not None
    assert at_1_ms.scale_s == 1e-3
    assert at_1_ms.peak_bps == pytest.approx(500e6)
    assert group.captured.at_scale(1.0) is None
    assert group.captured.bursts.count == 1
    assert group.captured.gaps_ns.bins == ((19_456, 20_479, 49_999),)


def test_durations_are_exact_and_means_are_of_the_packets(tmp_path: Path, command: Command) -> None:
    """999 us and 1 us are not 998.9 us and 1.008 us, nor are a hundred packets 102."""
    path = capture(tmp_path, captures.even(100, 1000))
    analysis = pl.analyse(path, pacers=["token-bucket rate = 8 Mbit/s, burst = 100 KB"])
    stream = analysis.interfaces[0].captured
    assert (stream.first_ns, stream.last_ns) == (EPOCH_NS, EPOCH_NS + 99_000)
    assert (stream.bursts.mean, stream.bursts.p50, stream.bursts.max) == (100.0, 100, 100)
    assert (stream.gaps_ns.mean, stream.gaps_ns.p50, stream.gaps_ns.p99, stream.gaps_ns.max) == (
        1000.0,
        1000,
        1000,
        1000,
    )
    said = command("analyse", path).stdout
    assert ": pcap, 100 packets in 99 us from 2020-09-13" in said
    assert said.splitlines()[2].split()[-3:] == ["us", "100", "100"]
    path.write_bytes(captures.pcap([(EPOCH_NS + 123_456_789, b"x" * 60), (EPOCH_NS + 3_723_456_789_123, b"x" * 60)]))
    assert ": pcap, 2 packets in 3723.333332334 s from" in command("analyse", path).stdout


@pytest.mark.parametrize(("place", "time_s"), [(50, 4_000_000_000), (0, 4_000_000_000), (0, 0), (-1, 4_000_000_000)])
def test_an_absurd_time_does_not_end_the_reading(tmp_path: Path, command: Command, place: int, time_s: int) -> None:
    packets = captures.even(100, 1000)
    packets[place] = (time_s * 10**9, packets[place][1])
    path = capture(tmp_path, packets)
    analysis = pl.analyse(path)
    assert (analysis.interfaces[0].captured.packets, analysis.mistimed_packets) == (99, 1)
    assert analysis.interfaces[0].captured.duration_s == (99e-6 if place == 50 else 98e-6)
    done = command("analyse", path, "--json")
    assert done.stderr == (
        f"paceline: {path}: 1 packet has a time that cannot be (before 1970, after 2554, or far from those around "
        "it) and is left out\n"
    )


def test_a_token_bucket_lets_a_burst_go_as_its_tokens_come(tmp_path: Path) -> None:
    path = capture(tmp_path, [(EPOCH_NS, frame) for _, frame in captures.even(40, 1)])
    written = tmp_path / "paced.pcap"
    analysis = pl.analyse(path, pacers=["token-bucket rate = 8 Mbit/s, burst = 5 KB"], write=written)
    (paced,) = analysis.interfaces[0].paced
    assert paced.delay_mean_s == pytest.approx(sum(range(1, 36)) * 1e-3 / 40)
    assert paced.delay_max_s == pytest.approx(35e-3, rel=1e-3)
    (again,) = pl.analyse(written).interfaces
    assert again.captured == paced.stream
    assert again.captured.duration_s == pytest.approx(35e-3)


def test_no_pacer_and_no_link_leave_a_capture_as_it_is(tmp_path: Path) -> None:
    path = capture(tmp_path, captures.mixed())
    written = tmp_path / "same.pcap"
    analysis = pl.analyse(path, pacers=["none"], write=written)
    assert written.read_bytes() == path.read_bytes()
    assert analysis.interfaces[0].paced[0].stream == analysis.interfaces[0].captured


def test_flows_one_by_one_and_the_rest_together(tmp_path: Path) -> None:
    analysis = pl.analyse(capture(tmp_path, captures.mixed()), by="flow", top=3)
    assert analysis.flows is not None
    assert analysis.other_flows is not None
    assert len(analysis.flows) == 3
    assert [flow.captured.bytes for flow in analysis.flows] == sorted(
        (flow.captured.bytes for flow in analysis.flows), reverse=True
    )
    assert sum(flow.captured.bytes for flow in analysis.flows) + analysis.other_flows.bytes == sum(
        len(frame) for _, frame in captures.mixed()
    )


def test_tables_have_a_row_a_group_and_pacer(tmp_path: Path) -> None:
    analysis = pl.analyse(capture(tmp_path, captures.even(2000, 50_000)), by="flow", pacers=["none", "edge 10 ms"])
    summary = analysis.to_arrow().to_pylist()
    assert [row["pacer"] for row in summary] == [None, "none", "edge 10 ms"] * 2
    assert {row["packets"] for row in summary} == {2000}
    assert analysis.scales().num_rows == sum(len(s.scales) for g in analysis.groups for _, s, _ in g.streams())
    gaps = [row for row in analysis.histograms().to_pylist() if row["kind"] == "gap_ns" and row["pacer"] is None]
    assert sum(row["count"] for row in gaps) == 2 * 1999
    rates = analysis.rates().to_pylist()
    assert rates[0]["time_ns"] == EPOCH_NS
    assert sum(row["rate_bps"] * row["interval_s"] for row in rates) == pytest.approx(6 * 2000 * 8000)


def test_a_pipe_and_gzip_give_what_a_file_gives(tmp_path: Path, command: Command) -> None:
    path = capture(tmp_path, captures.mixed())
    plain = json.loads(command("analyse", path, "--by", "flow", "--json").stdout)
    packed = tmp_path / "traffic.pcap.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    unpacked = json.loads(command("analyse", packed, "--by", "flow", "--json").stdout)
    with path.open("rb") as file:
        arguments = [sys.executable, "-m", "paceline", "analyse", "-", "--by", "flow", "--json"]
        piped = json.loads(subprocess.run(arguments, stdin=file, capture_output=True, check=True, timeout=60).stdout)
    for other in (unpacked, piped):
        assert other | {"source": ""} == plain | {"source": ""}


def test_a_cut_off_capture_gives_what_was_readable(tmp_path: Path, command: Command) -> None:
    path = capture(tmp_path, captures.even(100, 1000))
    path.write_bytes(path.read_bytes()[:-1])
    done = command("analyse", path, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["packets"] == 99
    assert done.stderr == (
        f"paceline: {path}: the capture ends within a packet, at byte 100608, after 99 packets; "
        "what comes before is analysed\n"
    )


def test_time_that_runs_backwards_is_said(tmp_path: Path) -> None:
    frame = captures.ethernet(captures.ipv4(17, captures.udp((1, 2), 9)))
    packets = [(EPOCH_NS + offset, frame) for offset in (5000, 9000, 2000, 9500)]
    analysis = pl.analyse(capture(tmp_path, packets))
    assert analysis.notes() == [
        "time runs backwards at 1 packets, by up to 7e-06 s; they count at the time of the packet before"
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing.pcap"], "nothing.pcap: no such file"),
        (["."], ".: it is a directory"),
        (["text"], "text: not a pcap or pcapng capture: it is text"),
        (["empty"], "empty: not a pcap or pcapng capture: it is empty"),
        (["short.pcap"], "short.pcap: the capture ends within a packet's header, at byte 24, after 0 packets"),
        (["user.pcap", "--by", "flow"], "link type 147 (USER0), in which flows cannot be told apart"),
        (["good.pcap", "--pacer", "egde"], '--pacer "egde": there is no pacer "egde"; did you mean "edge"?'),
        (["good.pcap", "--pacer", "edge 10"], "has no unit"),
        (["good.pcap", "--pacer", "edge 1 ms", "--pacer", "edge  1 ms"], "is given twice"),
        (["good.pcap", "--pacer", "host"], "by a sender's window"),
        (["good.pcap", "--by", "host"], "--by: "),
        (["good.pcap", "--top", "0"], "--top: "),
        (["good.pcap", "--top", "ten"], "--top: "),
        (["good.pcap", "--burst-gap", "5"], "--burst-gap: "),
        (["good.pcap", "--write", "new.pcap"], "--write: writes what one pacer lets go"),
        (["good.pcap", "--pacer", "none", "--write", "new.csv"], "must end in .pcap or .pcapng"),
        (["good.pcap", "--pacer", "none", "--write", "good.pcap"], "is the capture itself"),
        (["good.pcap", "--pacer", "none", "--write", "no/new.pcap"], "--write: "),
        (["good.pcap", "--out", "text"], "--out: text: "),
        (["good.pcap", "--out", " "], "--out: names no directory"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, command: Command, arguments: list[str], says: str) -> None:
    good = captures.pcap(captures.even(10, 1000))
    files = {
        "text": b'duration = "1 s"\n',
        "empty": b"",
        "short.pcap": good[:30],
        "user.pcap": captures.pcap(captures.even(10, 1000), captures.USER0),
        "good.pcap": good,
    }
    for name, contents in files.items():
        (tmp_path / name).write_bytes(contents)
    done = command("analyse", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("paceline: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    assert (tmp_path / "good.pcap").read_bytes() == good


def test_an_unknown_link_type_is_counted_where_frames_are_not_asked_for(tmp_path: Path) -> None:
    assert pl.analyse(capture(tmp_path, captures.even(10, 1000), captures.USER0)).packets == 10


def test_a_report_and_its_tables_are_written(tmp_path: Path, command: Command) -> None:
    import pyarrow.parquet as pq

    path = capture(tmp_path, captures.mixed())
    done = command("analyse", path, "--by", "flow", "--pacer", "edge 1 ms", "--out", "out")
    assert done.returncode == 0, done.stderr
    names = ["histograms.parquet", "rates.parquet", "report.html", "scales.parquet", "summary.parquet"]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == names
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") >= 5
    assert "10.0.0.5:500 &gt; 10.0.0.6:501 udp" in page
    assert page.count("<script") == 1
    assert "nan" not in page.partition("<script")[0].lower().replace("nanosecond", "")
    assert pq.read_table(tmp_path / "out" / "summary.parquet").num_rows == 2 * 9


@pytest.mark.parametrize("packets", [0, 1, 2])
def test_next_to_nothing_is_no_failure(tmp_path: Path, command: Command, packets: int) -> None:
    path = capture(tmp_path, captures.even(packets, 0))
    done = command("analyse", path, "--by", "flow", "--pacer", "edge 1 ms", "--out", "out", "--write", "paced.pcap")
    assert done.returncode == 0, done.stderr
    assert f"{packets} packet" in done.stdout
    assert pl.analyse(tmp_path / "paced.pcap").packets == packets


def test_an_interrupt_leaves_nothing_half_written(tmp_path: Path) -> None:
    arguments = ["analyse", "-", "--pacer", "none", "--write", "paced.pcap"]
    with subprocess.Popen(
        [sys.executable, "-m", "paceline", *arguments],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(captures.pcap(captures.even(5, 1000)))
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == b"paceline: interrupted"
    assert list(tmp_path.iterdir()) == []


@given(st.binary(max_size=400), st.sampled_from([b"", captures.pcap([]), captures.pcap(captures.mixed()[:3])]))
def test_no_bytes_are_more_than_wrong_input(tmp_path_factory: pytest.TempPathFactory, tail: bytes, head: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "any"
    path.write_bytes(head + tail)
    said: list[str] = []
    for by in ("interface", "flow"):
        try:
            analysis = pl.analyse(path, by=by, pacers=["edge 1 ms"])
        except pl.InputError as error:
            said.append(str(error))
        else:
            assert sum(group.captured.packets for group in analysis.interfaces) == analysis.packets
    assert all(len(line.splitlines()) == 1 for line in said)
