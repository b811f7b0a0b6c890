"""A run's trace as a capture, judged by tshark; skipped where that is not installed."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path

import captures
import paceline as pl
import pytest

#: A retransmission soon after new data is "out of order" to tshark, which does not know on which side the capture is.
AGAIN = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
ANALYSIS = (*AGAIN, "lost_segment", "ack_lost_segment", "ack_rtt")
FIELDS = (
    *("frame.time_epoch", "frame.len", "_ws.malformed", "ip.src", "ip.proto", "ip.len", "ip.checksum.status"),
    "ip.dsfield.ecn",
    *("tcp.stream", "tcp.srcport", "tcp.len", "tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "udp.length"),
    *("tcp.options.sack_le", "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr"),
    *("tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.sack_perm"),
)
FIN, SYN, ACK, ECE, CWR, AE = 1, 2, 16, 64, 128, 256

PATH = """
seed = 2
duration = "20 s"
[network]
template = "path"
links = [
  { name = "a", rate = "100 Mbit/s", delay = "1 ms" },
  { name = "b", rate = "10 Mbit/s", delay = "10 ms", buffer = "%s" },
]
"""
PROFILES = ("ns2", "ns2-2.28", "ns2-validation", "linux", "rfc")
VARIANTS = ("tahoe", "reno", "newreno", "sack", "sack1", "rfc6675", "fack", "bic", "cubic")

Packet = dict[str, str]


def packets(path: Path) -> list[Packet]:
    """What tshark says of each packet."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: on Debian or Ubuntu, apt-get install tshark")
    names = [*FIELDS, *(f"tcp.analysis.{name}" for name in ANALYSIS)]
    fields = [option for name in names for option in ("-e", name)]
    command = ["tshark", "-r", path, "-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "separator=;", *fields]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return [dict(zip(names, line.split(";"), strict=True)) for line in done.stdout.splitlines()]


def run(tmp_path: Path, text: str, name: str = "x.pcap") -> tuple[pl.Result, list[Packet]]:
    result = pl.run(pl.Scenario(tomllib.loads(text)), trace=tmp_path / name)
    return result, packets(tmp_path / name)


def flags(packet: Packet) -> int:
    return int(packet["tcp.flags"], 16)


def connections(result: pl.Result, seen: list[Packet]) -> list[list[Packet]]:
    """The packets of each, and what holds of every capture."""
    times = [float(packet["frame.time_epoch"]) for packet in seen]
    assert times == sorted(times)
    streams = defaultdict(list)
    for packet in seen:
        assert not packet["_ws.malformed"]
        assert packet["ip.checksum.status"] == "1"
        assert not packet["tcp.analysis.lost_segment"]
        assert not packet["tcp.analysis.ack_lost_segment"]
        if packet["tcp.stream"]:
            streams[packet["tcp.stream"]].append(packet)
    again = sum(any(packet[f"tcp.analysis.{kind}"] for kind in AGAIN) for packet in seen)
    assert again == result.flows.retransmits
    for stream in streams.values():
        opener = (stream[0]["ip.src"], stream[0]["tcp.srcport"])
        back = [(packet["ip.src"], packet["tcp.srcport"]) != opener for packet in stream]
        assert flags(stream[0]) == SYN
        answered = back.index(True)
        assert all(flags(packet) == SYN for packet in stream[:answered])
        assert flags(stream[answered]) == SYN | ACK, "no SYN goes without an answer for so long"
        assert not any(flags(packet) & SYN for packet in stream[answered + 1 :])
        assert all(packet["tcp.len"] == "0" for packet, is_back in zip(stream, back, strict=True) if is_back)
    return list(streams.values())


def sent(stream: list[Packet]) -> int:
    """Bytes of data, each once."""
    ends = [int(packet["tcp.seq_raw"]) + int(packet["tcp.len"]) for packet in stream if int(packet["tcp.len"])]
    return max(ends, default=1) - 1


@pytest.mark.parametrize("profile", PROFILES)
def test_retransmissions_are_those_of_the_run(tmp_path: Path, profile: str) -> None:
    text = PATH % "6 packets"
    for variant in VARIANTS:
        start = f"{VARIANTS.index(variant) * 0.1:.1f} s"
        tcp = f'{{ profile = "{profile}", variant = "{variant}", max_window = "40 packets" }}'
        text += f'[[traffic]]\nname = "{variant}"\nkind = "bulk"\nstart = "{start}"\ntcp = {tcp}\n'
    result, seen = run(tmp_path, text)
    streams = connections(result, seen)
    assert len(streams) == len(VARIANTS)
    assert result.flows.retransmits is not None
    assert result.flows.retransmits > 50
    for variant, stream in zip(VARIANTS, streams, strict=True):
        selective = variant not in ("tahoe", "reno", "newreno")
        assert (stream[0]["tcp.options.sack_perm"] != "") == selective
        assert any(packet["tcp.options.sack_le"] for packet in stream) == selective
        assert all((packet["tcp.options.timestamp.tsval"] != "") == (profile == "linux") for packet in stream)
        assert stream[0]["tcp.options.mss_val"] == {"linux": "1460", "rfc": "1460"}.get(profile, "1000")
        size = {"linux": 1448, "rfc": 1460}.get(profile, 1000)
        assert {int(packet["tcp.len"]) for packet in stream} == {0, size}


@pytest.mark.parametrize("payload", [2, 536, 1448, 8948, 65000])
@pytest.mark.parametrize("profile", ["ns2", "linux"])
def test_segments_have_their_payload(tmp_path: Path, payload: int, profile: str) -> None:
    tcp = f'tcp = {{ profile = "{profile}", payload = "{payload} B", max_window = "50 packets" }}'
    text = PATH.replace("20 s", "5 s") % "6 packets" + f'[[traffic]]\nkind = "bulk"\n{tcp}\n'
    result, seen = run(tmp_path, text)
    [stream] = connections(result, seen)
    assert {int(packet["tcp.len"]) for packet in stream} == {0, payload}
    header = 52 if profile == "linux" else 40
    data = [packet for packet in stream if packet["tcp.len"] != "0"]
    assert {int(packet["frame.len"]) for packet in data} == {14 + header + payload}


@pytest.mark.parametrize("profile", ["linux", "rfc", "ns2"])
@pytest.mark.parametrize("connection", ["new", "kept"])
def test_each_file_ends_with_a_short_packet_and_each_connection_with_a_fin(
    tmp_path: Path, profile: str, connection: str
) -> None:
    traffic = f"""
        [[traffic]]
        kind = "closed-loop"
        size = "10007 B"
        think = "50 ms"
        connection = "{connection}"
        files = 5
        count = 3
        tcp = {{ profile = "{profile}" }}
    """
    result, seen = run(tmp_path, PATH % "4 packets" + traffic)
    streams = connections(result, seen)
    assert result.flows.transfers == 15
    files = 1 if connection == "new" else 5
    assert len(streams) == 15 // files
    assert len({stream[0]["tcp.srcport"] for stream in streams}) == len(streams)
    for stream in streams:
        assert sent(stream) == 10007 * files
        ends = [packet for packet in stream if flags(packet) & FIN]
        assert len({packet["tcp.srcport"] for packet in ends}) == 2
        assert ends[-1]["ip.src"] != stream[0]["ip.src"]
        assert flags(stream[-1]) == ACK
        assert int(ends[-1]["tcp.ack_raw"]) == sent(stream) + 2


def test_every_kind_of_traffic(tmp_path: Path) -> None:
    vector = tmp_path / "x.cvec"
    vector.write_bytes((Path(__file__).parent.parent / "crates/sim/tests/small.cvec").read_bytes())
    capture = tmp_path / "replayed.pcap"
    capture.write_bytes(captures.pcap(captures.even(100, 10_000_000, size=763)))
    text = (
        PATH % "6 packets"
        + f"""
        [[traffic]]
        kind = "bulk"
        count = 2
        [[traffic]]
        kind = "rpc"
        request = "300 B"
        response = "20 KB"
        calls = 4
        count = 2
        [[traffic]]
        kind = "cvec"
        file = "{vector}"
        [[traffic]]
        kind = "cbr"
        rate = "100 kbit/s"
        packet = "501 B"
        [[traffic]]
        kind = "poisson"
        rate = "100 kbit/s"
        packet = "502 B"
        [[traffic]]
        kind = "pcap"
        file = "{capture}"
    """
    )
    result, seen = run(tmp_path, text)
    streams = connections(result, seen)
    assert len(streams) > 2 + 4
    totals = [sent(stream) for stream in streams]
    assert totals.count(1200) >= 2
    assert totals.count(80_000) >= 2
    datagrams = [packet for packet in seen if packet["udp.length"]]
    assert {int(packet["ip.len"]) for packet in datagrams} == {501, 502, 777}
    assert all(int(packet["udp.length"]) == int(packet["ip.len"]) - 20 for packet in datagrams)
    assert all(packet["ip.proto"] == ("17" if packet["udp.length"] else "6") for packet in seen)


def test_a_handshake_is_there_where_the_scenario_has_none(tmp_path: Path) -> None:
    result, seen = run(
        tmp_path, PATH % "6 packets" + '[[traffic]]\nkind = "bulk"\ntcp = { profile = "rfc", syn = false }\n'
    )
    [stream] = connections(result, seen)
    assert stream[2]["frame.time_epoch"] == stream[0]["frame.time_epoch"]


def test_round_trips_are_those_that_the_sender_smooths(tmp_path: Path) -> None:
    """RFC 6298 over tshark's round trips, and over those of echoed timestamps, is the sender's own srtt."""
    traffic = """
        [[traffic]]
        kind = "bulk"
        tcp = { profile = "linux", variant = "reno", delayed_ack = false, max_window = "60 packets" }
        [[probes.window]]
        flows = "bulk"
        every = "100 ms"
    """
    result, seen = run(tmp_path, PATH % "100 packets" + traffic)
    [stream] = connections(result, seen)
    assert result.flows.retransmits == 0
    samples = [
        (float(p["frame.time_epoch"]), float(p["tcp.analysis.ack_rtt"])) for p in stream if p["tcp.analysis.ack_rtt"]
    ]
    echoed = [
        float(p["frame.time_epoch"]) - int(p["tcp.options.timestamp.tsecr"]) / 1e6
        for p in stream
        if p["ip.src"] != stream[0]["ip.src"]
    ]
    back = [(time, rtt) for time, rtt in samples if rtt > 0]
    assert len(back) == len(echoed)
    assert [rtt for _, rtt in back] == pytest.approx(echoed, abs=2e-6)
    curve = result.instrument("srtt").to_pylist()
    assert len(curve) > 10
    for point in curve:
        srtt = None
        for time, rtt in back:
            if time > point["x"]:
                break
            srtt = rtt if srtt is None else srtt + (rtt - srtt) / 8
        assert point["y"] == pytest.approx(srtt, rel=1e-6)


@pytest.mark.parametrize("suffix", [".pcapng", ".pcap.gz", ".pcapng.zst"])
def test_every_form_says_the_same(tmp_path: Path, suffix: str) -> None:
    text = PATH % "6 packets" + '[[traffic]]\nkind = "bulk"\n'
    scenario = pl.Scenario(tomllib.loads(text))
    paths = [tmp_path / "x.pcap", tmp_path / f"x{suffix}"]
    for path in paths:
        pl.run(scenario, trace=path)
    plain, other = (pl.analyse(path, by="flow") for path in paths)
    assert other.format == suffix.split(".")[1]
    assert other.flows == plain.flows


def test_both_engines_write_the_same_bytes(tmp_path: Path) -> None:
    text = (
        PATH % "6 packets"
        + '[[traffic]]\nkind = "bulk"\ncount = 4\n[[traffic]]\nkind = "rpc"\nrequest = "1 KB"\nresponse = "9 KB"\n'
    )
    scenario = pl.Scenario(tomllib.loads(text))
    paths = [tmp_path / f"{engine}.pcap" for engine in ("reference", "windowed")]
    for path in paths:
        pl.run(scenario, trace=path, engine=path.stem)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("profile", ["rfc", "linux"])
@pytest.mark.parametrize("ecn", ["off", "rfc3168", "dctcp", "accecn"])
def test_congestion_notification_stands_in_the_headers(tmp_path: Path, ecn: str, profile: str) -> None:
    """RFC 3168 section 6.1: asked for in the SYN, answered by ECE alone; CWR once a reduction. RFC 9768 likewise."""
    text = PATH.replace('buffer = "%s"', 'buffer = "100 packets", queue = "codel"')
    tcp = f'tcp = {{ profile = "{profile}", variant = "reno", ecn = "{ecn}", max_window = "100 packets" }}'
    result, seen = run(tmp_path, text + f'[[traffic]]\nkind = "bulk"\n{tcp}\n')
    opening, answer = seen[0], next(packet for packet in seen if flags(packet) & SYN and flags(packet) & ACK)
    data = [packet for packet in seen if packet["tcp.len"] != "0"]
    acks = [packet for packet in seen[2:] if packet["ip.src"] == answer["ip.src"]]
    reduced = [packet for packet in data if flags(packet) & CWR]
    asked, answered = {"off": (0, 0), "accecn": (AE | CWR | ECE, CWR)}.get(ecn, (ECE | CWR, ECE))
    assert (flags(opening), flags(answer)) == (SYN | asked, SYN | ACK | answered)
    assert opening["ip.dsfield.ecn"] == answer["ip.dsfield.ecn"] == "0"
    assert {packet["ip.dsfield.ecn"] for packet in data} == {"0" if ecn == "off" else "2"}
    assert {packet["ip.dsfield.ecn"] for packet in acks} == {"2" if ecn == "dctcp" else "0"}
    marked = result.links["b"].marked_packets
    assert marked is not None
    echoed = sum(bool(flags(packet) & ECE) for packet in acks)
    if ecn == "accecn":  # RFC 9768 section 3.2.2.1: marks modulo 8, from 5 on; some may be under way at the end
        counts = [
            flags(packet) // ECE % 8 for packet in acks if flags(packet) == flags(packet) & (AE | CWR | ECE | ACK)
        ]
        told = sum((after - before) % 8 for before, after in zip([5, *counts], counts, strict=False))
        assert marked
        assert marked - 3 <= told <= marked
    elif ecn == "dctcp":  # an acknowledgement for at most two packets, but for those under way at the end
        assert marked / 2 - 1 <= echoed <= marked
        assert marked
    else:
        assert (echoed > marked > 1) if ecn == "rfc3168" else not marked + echoed
    assert len(reduced) == (result.flows.window_cuts if ecn == "rfc3168" else 0)
