"""Traffic of a question from a capture: of captures whose scenario is known, and of those that have none."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from captures import even, pcap
from conftest import Command
from paceline.advise.reading import read_question
from paceline.advise.traffic import traffic_of

NETWORK: dict[str, Any] = {
    "template": "dumbbell",
    "core": {"rate": "20 Mbit/s", "delay": "5 ms", "buffer": "60 packets"},
    "access": {"hosts": 8, "rate": "100 Mbit/s", "delay": "1 ms .. 10 ms"},
}


def captured(folder: Path, traffic: dict[str, Any], duration: str = "5 s", **network: Any) -> tuple[Path, pl.Scenario]:
    """The capture that a run writes, and its scenario."""
    document = {"duration": duration, "warmup": "0 s", "network": NETWORK | network, "traffic": [traffic]}
    scenario = pl.Scenario(document)
    file = folder / "traffic.pcap"
    pl.run(scenario, trace=file)
    return file, scenario


def round_trips(scenario: pl.Scenario) -> list[float]:
    """Of every flow, propagation alone, s."""
    network = json.loads(pl._core.inspect(scenario.points()[0].json, 1))
    delay = [link["delay_ns"] * 1e-9 for link in network["links"]]
    return sorted(math.fsum(delay[link] for link in (*flow["forward"], *flow["reverse"])) for flow in network["flows"])


def milliseconds(trips: list[str]) -> list[float]:
    return [float(one.removesuffix(" us")) / 1e3 for one in trips]


def test_flows_that_last_are_told_with_their_round_trips_and_rate(tmp_path: Path) -> None:
    file, scenario = captured(tmp_path, {"kind": "bulk", "start": "0 s .. 100 ms"})
    found = traffic_of(file).tables
    assert found["flows"] == 8
    assert "size" not in found
    assert found["payload"] == 1448
    true = [one * 1e3 for one in round_trips(scenario)]
    # the least of a connection has little of a queue in it, of 36 ms at most, and the packet's own time on the links
    for told, real in zip(milliseconds(found["rtt"]), true, strict=True):
        assert real <= told <= real + 10
    rate = pl._core.quantity("rate", found["rate"])
    assert rate == pytest.approx(20e6, rel=0.12)  # what senders sent, losses included


def test_round_trips_need_no_handshake(tmp_path: Path) -> None:
    """A capture that begins in the middle: timestamps tell."""
    file, scenario = captured(tmp_path, {"kind": "bulk"})
    data = file.read_bytes()
    head, rest, packets = data[:24], data[24:], []
    while rest:
        length = 16 + int.from_bytes(rest[8:12], "little")
        packets.append(rest[:length])
        rest = rest[length:]
    late = tmp_path / "late.pcap"
    late.write_bytes(head + b"".join(packets[len(packets) // 2 :]))
    told = milliseconds(traffic_of(late).tables["rtt"])
    for one, real in zip(told, round_trips(scenario), strict=True):
        assert real * 1e3 <= one <= real * 1e3 + 40  # a queue that never empties is in it


@pytest.mark.parametrize("reuse", [False, True])
def test_users_are_told_with_sizes_and_pauses(tmp_path: Path, reuse: bool) -> None:
    """Files of 50 KB, each of a connection of its own or not, 300 ms of thinking between two."""
    traffic = {"kind": "closed-loop", "size": "50 KB", "think": "300 ms", "start": "0 s .. 300 ms"}
    file, _ = captured(tmp_path, traffic | ({"connection": "kept"} if reuse else {}), "10 s")
    found = traffic_of(file).tables
    assert found["flows"] == 8
    assert pl._core.quantity("size", found["size"]) == pytest.approx(50_000, rel=0.03)
    mean = found["think"] if isinstance(found["think"], str) else next(iter(found["think"].values()))
    assert pl._core.quantity("time", mean.partition(" .. ")[0]) * 1e-9 == pytest.approx(0.3, rel=0.15)


def test_sizes_that_spread_are_drawn(tmp_path: Path) -> None:
    traffic = {"kind": "closed-loop", "size": {"exponential": "30 KB"}, "think": {"exponential": "50 ms"}}
    file, _ = captured(tmp_path, traffic, "10 s")
    found = traffic_of(file).tables
    assert list(found["size"]) == ["exponential"]
    assert pl._core.quantity("size", found["size"]["exponential"]) == pytest.approx(30_000, rel=0.2)


def test_a_capture_completes_a_question_and_options_go_before(tmp_path: Path) -> None:
    captured(tmp_path, {"kind": "bulk", "tcp": {"profile": "linux", "payload": "1000 B"}})
    question = tmp_path / "question.toml"
    question.write_text('from = "traffic.pcap"\nrate = "25 Mbit/s"\n')  # beside the question's file
    from paceline.advise.reading import load_question

    asked = load_question(question)
    assert (asked.rate_bps, asked.flows, asked.packet_bytes) == (25e6, 8, 1052)
    assert any("Traffic of the capture: 8 flows" in one for one in asked.inferred)
    other = read_question({"from": str(tmp_path / "traffic.pcap"), "rate": "25 Mbit/s"})
    assert other.key == asked.key, "the traffic counts, not the file's name"


def test_the_command_advises_from_a_capture(command: Command, tmp_path: Path) -> None:
    captured(tmp_path, {"kind": "bulk"})
    done = command("advise", "--from", "traffic.pcap", "--pacing", "none", "--no-changes", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["question"]["flows"] == 8
    assert answer["assumptions"][0].startswith("Traffic of the capture: 8 flows at a time last")


def test_a_capture_without_tcp_is_one_line_with_exit_2(command: Command, tmp_path: Path) -> None:
    (tmp_path / "udp.pcap").write_bytes(pcap(even(40, 1_000_000)))
    (tmp_path / "empty.pcap").write_bytes(pcap([]))
    (tmp_path / "text.pcap").write_text("no capture")
    for name, said in (
        ("udp.pcap", "has no TCP in its 40 packets"),
        ("empty.pcap", "empty.pcap"),
        ("text.pcap", "not a pcap"),
        ("missing.pcap", "no such file"),
    ):
        done = command("advise", "--from", name, "--rate", "10 Mbit/s")
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        assert said in done.stderr
        assert done.stderr.startswith("paceline: --from: ")
        assert done.stderr.count("\n") == 1


def test_what_a_capture_does_not_show_is_asked_for(tmp_path: Path) -> None:
    """One way alone, and no handshake: no round trips."""
    from captures import EPOCH_NS, ethernet, ipv4, tcp

    frames = [(EPOCH_NS + number * 10**6, ethernet(ipv4(6, tcp((80, 4000), 500)))) for number in range(20)]
    file = tmp_path / "one-way.pcap"
    file.write_bytes(pcap(frames))
    with pytest.raises(pl.InputError, match="rtt: the capture does not show it; write as rtt = "):
        read_question({"from": str(file)})
