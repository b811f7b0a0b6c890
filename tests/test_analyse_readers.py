"""The capture reader and writer against Wireshark's and tcpdump's; skipped where those are not installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from fractions import Fraction
from pathlib import Path

import captures
import paceline as pl
import pytest
from conftest import Command


def tool(name: str, *arguments: str | Path) -> str:
    """What a tool prints."""
    if shutil.which(name) is None:
        package = "tcpdump" if name == "tcpdump" else "tshark"
        pytest.skip(f"{name} is not installed: on Debian or Ubuntu, apt-get install {package}")
    done = subprocess.run([name, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def by_tshark(path: Path) -> Counter[str]:
    """Bytes of each flow, as we name flows."""
    fields = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport"]
    fields += ["frame.len", "arp.opcode", "icmp.type", "ip.id"]
    options = [option for field in fields for option in ("-e", field)]
    # fragments are one flow: the ports are those of the packet that they make
    text = tool("tshark", "-r", path, "-T", "fields", "-E", "separator=;", "-o", "ip.defragment:TRUE", *options)
    flows: Counter[str] = Counter()
    for line in text.splitlines():
        src4, dst4, src6, dst6, *rest = line.split(";")
        tcp_from, tcp_to, udp_from, udp_to, length, arp, icmp, number = rest
        source, destination = src4 or src6, dst4 or dst6
        if not source:
            name = "ARP" if arp else "?"
        elif icmp:
            name = f"{source} > {destination} icmp"
        else:
            if int(number or "0", 0) == 77 and not udp_from:
                udp_from, udp_to = "500", "501"
            kind, ports = ("tcp", (tcp_from, tcp_to)) if tcp_from else ("udp", (udp_from, udp_to))
            ends = [f"[{end}]" if ":" in end else end for end in (source, destination)]
            name = f"{ends[0]}:{ports[0]} > {ends[1]}:{ports[1]} {kind}"
        flows[name] += int(length)
    return flows


def times_ns(path: Path) -> list[int]:
    """Times of all packets, as tshark reads them."""
    text = tool("tshark", "-r", path, "-T", "fields", "-e", "frame.time_epoch")
    return [int(Fraction(line) * 10**9) for line in text.split()]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.pcap"
    path.write_bytes(captures.pcap(captures.mixed()))
    return path


def test_flows_are_those_of_tshark(mixed: Path) -> None:
    analysis = pl.analyse(mixed, by="flow", top=100)
    ours = {flow.name: flow.captured.bytes for flow in analysis.flows or ()}
    assert ours == dict(by_tshark(mixed))
    assert len(ours) == 8


@pytest.mark.parametrize("kind", ["pcap", "nsecpcap", "pcapng", "modpcap"])
def test_what_others_write_is_read(tmp_path: Path, mixed: Path, kind: str) -> None:
    path = tmp_path / "converted"
    tool("editcap", "-F", kind, mixed, path)
    told = tool("capinfos", "-M", "-c", "-d", "-u", path)
    analysis = pl.analyse(path, by="flow", top=100)
    number = {key: re.search(rf"{key}:\s+([0-9.]+)", told) for key in ("Number of packets", "Data size", "duration")}
    assert all(number.values())
    values = {key: float(found[1]) for key, found in number.items() if found}
    captured = analysis.interfaces[0].captured
    assert (captured.packets, captured.bytes) == (values["Number of packets"], values["Data size"])
    assert captured.duration_s == pytest.approx(values["duration"], abs=1e-9)
    assert {flow.name: flow.captured.bytes for flow in analysis.flows or ()} == dict(by_tshark(mixed))


def test_interfaces_of_a_merged_capture(tmp_path: Path, mixed: Path) -> None:
    other = tmp_path / "other.pcap"
    contents = [(time + 1000, frame[14:]) for time, frame in captures.even(200, 500_000)]
    other.write_bytes(captures.pcap(contents, captures.RAW))
    both = tmp_path / "both.pcapng"
    tool("mergecap", "-F", "pcapng", "-w", both, mixed, other)
    analysis = pl.analyse(both, by="flow", pacers=["edge 1 ms"], write=tmp_path / "paced.pcapng")
    assert [group.captured.packets for group in analysis.interfaces] == [400, 200]
    assert sum(group.captured.bytes for group in analysis.interfaces) == sum(by_tshark(both).values())
    paced = times_ns(tmp_path / "paced.pcapng")
    assert len(paced) == 600
    assert paced == sorted(paced)


@pytest.mark.parametrize("suffix", [".pcap.gz", ".pcap.zst", ".pcapng.gz", ".pcapng.zst"])
def test_what_is_written_compressed_is_read_again(tmp_path: Path, mixed: Path, suffix: str) -> None:
    plain, packed = tmp_path / "paced.pcap", tmp_path / f"packed{suffix}"
    for path in (plain, packed):
        pl.analyse(mixed, pacers=["edge 5 ms"], write=path)
    assert packed.read_bytes()[:2] == (b"\x1f\x8b" if suffix.endswith("gz") else b"\x28\xb5")
    assert packed.stat().st_size < plain.stat().st_size / 2
    assert pl.analyse(packed).format == suffix.split(".")[1]
    assert pl.analyse(packed, by="flow").flows == pl.analyse(plain, by="flow").flows
    if suffix.endswith("gz"):
        assert times_ns(packed) == times_ns(plain)


def test_pace_reads_and_writes_what_analyse_does(tmp_path: Path, mixed: Path, command: Command) -> None:
    packed = tmp_path / "mixed.pcapng.zst"
    pl.analyse(mixed, pacers=["none"], write=packed)
    paced, replayed = tmp_path / "paced.pcapng", tmp_path / "replayed.pcapng"
    pl.analyse(mixed, pacers=["edge 5 ms"], write=paced)
    flags = ("--method", "edge", "--delay", "5 ms", "--json")
    done = command("pace", "--replay", packed, "--write", replayed, *flags)
    assert done.returncode == 0, done.stderr
    assert replayed.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    assert pl.analyse(replayed, by="flow").flows == pl.analyse(paced, by="flow").flows


@pytest.mark.parametrize("suffix", [".pcap", ".pcapng"])
def test_others_read_what_is_written(tmp_path: Path, mixed: Path, suffix: str) -> None:
    paced = tmp_path / f"paced{suffix}"
    analysis = pl.analyse(mixed, pacers=["edge delay = 5 ms, link = 100 Mbit/s"], write=paced)
    stream = analysis.interfaces[0].paced[0].stream
    times = times_ns(paced)
    assert len(times) == stream.packets == 400
    assert times[0] == stream.first_ns
    assert times == sorted(times)
    arrivals = times_ns(mixed)
    delays = [after - before for before, after in zip(arrivals, times, strict=True)]
    assert analysis.interfaces[0].paced[0].delay_mean_s == pytest.approx(sum(delays) / 400 / 1e9, rel=1e-12)
    assert 0 <= min(delays) <= max(delays) <= 5_200_000
    assert by_tshark(paced) == by_tshark(mixed)
    hexes = [tool("tshark", "-r", path, "-x") for path in (mixed, paced)]
    assert hexes[0] == hexes[1]
    lines = tool("tcpdump", "-r", paced, "-n", "-tt", "--nano", "--number").splitlines()
    assert len(lines) == 400
    stamps = [int(Fraction(re.split(r"\s+", line.strip())[1]) * 10**9) for line in lines]
    assert stamps == times
