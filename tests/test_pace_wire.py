"""The inline pacer between two real interfaces: each frame once, in order, whatever happens to the pacer."""

from __future__ import annotations

import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import wire as net

REASON = net.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

BACK_ENDS = ["af_packet", "af_xdp"]


@pytest.fixture
def wire() -> Iterator[net.Wire]:
    with net.wire() as made:
        yield made


def settings(wire: net.Wire) -> str:
    """All that a pacer could leave behind on its interfaces."""
    said = ""
    for interface in ("in0", "out0"):
        said += wire.ip(wire.box, "-d", "link", "show", "dev", interface)
        for place in ("ingress", "egress"):
            tc = ["tc", "-n", wire.box, "filter", "show", "dev", interface, place]
            said += subprocess.run(tc, capture_output=True, text=True, check=False).stdout
    return said


def programs(wire: net.Wire) -> list[str]:
    """Ingress programs that are still on the interfaces, as the next pacer finds them."""
    pacer = wire.start("--restore", ready=False)
    pacer.process.wait(20)
    pacer.end()
    return pacer.said


@pytest.mark.parametrize("method", ["none", "edge --delay 5ms", "token-bucket --rate 20Mbit/s --burst 3KB"])
def test_each_frame_once_and_in_order(wire: net.Wire, method: str) -> None:
    before = settings(wire)
    pacer = wire.start("--method", *method.split())
    with net.Stream(wire) as stream:
        time.sleep(1.5)
    summary = pacer.stop()
    count = len(stream.sent_ns)
    assert count > 500
    assert stream.received.numbers == list(range(count))
    forward = summary["forward"]
    assert forward["received"]["packets"] == forward["sent"]["packets"] == count
    assert forward["reordered_packets"] == forward["unexplained_misses"] == 0
    assert forward["bypassed"]["packets"] == 0
    assert settings(wire) == before
    assert programs(wire) == []


def test_the_way_back_has_settings_of_its_own(wire: net.Wire) -> None:
    pacer = wire.start("--method", "none", "--reverse-method", "edge", "--reverse-delay", "30ms")
    left, right = wire.socket(wire.left, "eth0"), wire.socket(wire.right, "eth0")
    for sender, receiver in ((left, right), (right, left)):
        sender.send(net.frame(0))
        sender.send(net.frame(1))
        receiver.settimeout(5)
        while receiver.recv(4096)[14:22] != (1).to_bytes(8, "big"):
            pass
    summary = pacer.stop()
    assert summary["forward"]["sent"]["packets"] == summary["reverse"]["sent"]["packets"] == 2
    assert summary["forward"]["delay"]["max_us"] < 15_000
    # the second of two that came at once leaves when half of the bound has gone by: see the edge pacer's curve
    assert 10_000 < summary["reverse"]["delay"]["max_us"] < 60_000


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("method", ["none", "edge --delay 5ms"])
def test_a_killed_pacer_lets_traffic_pass(wire: net.Wire, back_end: str, method: str) -> None:
    pacer = wire.start("--back-end", back_end, "--method", *method.split())
    with net.Stream(wire) as stream:
        time.sleep(0.7)
        pacer.kill()
        time.sleep(0.7)
    assert stream.outage_s() <= 0.055
    assert stream.received.reordered() == stream.received.duplicates() == 0
    assert stream.received.numbers[-1] == len(stream.sent_ns) - 1
    lost = len(stream.received.missing(len(stream.sent_ns)))
    # the next pacer says what was lost, and puts all back in the end
    pacer = wire.start("--method", "none")
    said = "\n".join(pacer.said)
    assert "did not end as it should" in said
    told = sum(int(line.split(" packets were lost")[0].split()[-1]) for line in pacer.said if "were lost" in line)
    assert lost <= told <= lost + 3, (lost, said)
    pacer.stop()
    assert "PROMISC" not in settings(wire)


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("method", ["none", "edge --delay 5ms"])
def test_a_stopped_pacer_lets_traffic_pass(wire: net.Wire, back_end: str, method: str) -> None:
    pacer = wire.start("--back-end", back_end, "--method", *method.split())
    with net.Stream(wire) as stream:
        for _ in range(3):
            time.sleep(0.4)
            pacer.send(signal.SIGSTOP)
            time.sleep(0.3)
            pacer.send(signal.SIGCONT)
        time.sleep(0.4)
    summary = pacer.stop()
    assert stream.outage_s() <= 0.055
    assert stream.received.reordered() == stream.received.duplicates() == 0
    forward = summary["forward"]
    count, lost = len(stream.sent_ns), len(stream.received.missing(len(stream.sent_ns)))
    assert forward["bypassed"]["trips"] >= 3
    assert forward["received"]["packets"] + forward["bypassed"]["packets"] == count
    assert sum(forward["dropped"].values()) == forward["dropped"]["outage"] == lost


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_odd_frames_pass_untouched_or_are_counted(wire: net.Wire, back_end: str) -> None:
    pacer = wire.start("--back-end", back_end, "--method", "none")
    left, right = wire.socket(wire.left, "eth0"), wire.socket(wire.right, "eth0")
    right.settimeout(5)
    ends = b"\x02\0\0\0\0\2" + b"\x02\0\0\0\0\1"
    odd = [
        ends + b"\x88\xb5",  # nothing behind the header
        ends + b"\x88\xb5" + b"x",
        ends + b"\x00\x26" + b"\x42\x42\x03" + bytes(35),  # IEEE 802.3, a length
        ends + b"\x08\x00" + bytes(46),  # IPv4, all zero
        ends + b"\x08\x00\x4f\xff\xff\xff" + bytes(20),  # IPv4 that is longer than the frame
        ends + b"\x08\x00\x45\x00\x00\x28\0\0\x20\x01\x40\x06\0\0" + bytes(8),  # a fragment, cut off
        ends + b"\x86\xdd\x60" + bytes(7),  # IPv6, cut off
        ends + b"\x81\x00\x00\x05\x08\x00" + bytes(46),  # VLAN 5
        ends + b"\x88\xa8\x00\x06\x81\x00\xa0\x05\x88\xb5" + bytes(46),  # two tags
        b"\xff" * 6 + ends[6:] + b"\x08\x06" + bytes(46),  # broadcast
        ends + b"\x88\xb5" + bytes(range(250)) * 6,  # as large as it gets: 1514
    ]
    chance = random.Random(5)
    odd += [ends + chance.randbytes(chance.randrange(2, 1400)) for _ in range(300)]
    for data in odd:
        left.send(data)
        got = right.recv(4096, socket.MSG_TRUNC)
        while got[6:12] != ends[6:]:
            got = right.recv(4096)
        tagged = data[12:14] in (b"\x81\x00", b"\x88\xa8")
        # a packet socket sees a frame without its first tag
        assert got == (data[:12] + data[16:] if tagged else data), data.hex()
    summary = pacer.stop()
    assert summary["forward"]["sent"]["packets"] == len(odd)
    assert sum(summary["forward"]["dropped"].values()) == 0


@pytest.mark.parametrize(("back_end", "mtu"), [("af_packet", 9000), ("af_xdp", 3000)])
def test_what_is_larger_than_the_way_out_is_refused_and_counted(wire: net.Wire, back_end: str, mtu: int) -> None:
    for namespace, interface in ((wire.left, "eth0"), (wire.box, "in0")):
        wire.ip(namespace, "link", "set", "dev", interface, "mtu", str(mtu))
    pacer = wire.start("--back-end", back_end, "--method", "none")
    left = wire.socket(wire.left, "eth0")
    right = wire.socket(wire.right, "eth0")
    for size in (mtu, 1600, 1519, 200):
        left.send(net.frame(size, size))
    right.settimeout(5)
    while right.recv(1 << 14)[14:22] != (200).to_bytes(8, "big"):
        pass
    summary = pacer.stop()
    assert summary["forward"]["sent"]["packets"] == 1
    assert summary["forward"]["dropped"]["too_large"] + summary["forward"]["dropped"]["rejected"] == 3


def test_settings_are_read_again_without_loss(wire: net.Wire, tmp_path: Path) -> None:
    file = tmp_path / "pace.toml"
    file.write_text('[forward]\nmethod = "edge"\ndelay = "20 ms"\n')
    pacer = wire.start("--config", str(file))
    with net.Stream(wire) as stream:
        for delay in ("1 ms", "30 ms", "wrong", "5 ms"):
            time.sleep(0.3)
            file.write_text(f'[forward]\nmethod = "edge"\ndelay = "{delay}"\n')
            pacer.send(signal.SIGHUP)
        time.sleep(0.3)
        file.write_text('[forward]\nmethod = "token-bucket"\nrate = "40 Mbit/s"\nburst = "2 KB"\n')
        pacer.send(signal.SIGHUP)
        time.sleep(0.4)
    summary = pacer.stop()
    assert stream.received.numbers == list(range(len(stream.sent_ns)))
    assert summary["forward"]["method"].startswith("token-bucket")
    said = "\n".join(pacer.said)
    assert said.count("settings read again") == 4
    assert "the settings stay as they were" in said


def test_a_full_queue_drops_or_flushes_as_it_was_told(wire: net.Wire) -> None:
    for overload in ("drop", "flush"):
        slow = ["--method", "token-bucket", "--rate", "100kbit/s", "--burst", "200B"]
        pacer = wire.start(*slow, "--buffer", "20 packets", "--overload", overload)
        with net.Stream(wire, gap_s=1e-3) as stream:
            time.sleep(1.0)
        summary = pacer.stop()["forward"]
        count = len(stream.sent_ns)
        assert stream.received.reordered() == stream.received.duplicates() == 0
        if overload == "drop":
            assert summary["dropped"]["queue"] > 100
            assert summary["sent"]["packets"] + summary["dropped"]["queue"] == count
            assert summary["flushed_packets"] <= 20
        else:
            assert summary["sent"]["packets"] == count
            assert summary["flushed_packets"] > 100
            assert sum(summary["dropped"].values()) == 0


def test_metrics_and_the_live_view_say_what_goes_on(wire: net.Wire) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    wire.ip(wire.box, "link", "set", "dev", "lo", "up")
    pacer = wire.start("--method", "edge", "--delay", "5ms", "--metrics", f"127.0.0.1:{port}", "--top")
    with net.Stream(wire) as stream:
        time.sleep(2.5)
    time.sleep(0.3)
    with net.inside(wire.box):
        asked = socket.create_connection(("127.0.0.1", port), 5)
    with asked:
        asked.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b"".join(iter(lambda: asked.recv(1 << 16), b"")).decode()
    pacer.stop()
    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 200 OK")
    lines = [line for line in body.splitlines() if not line.startswith("#")]
    values = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
    assert len(values) == len(lines)
    count = len(stream.sent_ns)
    assert values['paceline_sent_packets_total{direction="forward"}'] == count
    assert values['paceline_added_delay_seconds_bucket{direction="forward",le="+Inf"}'] == count
    assert values['paceline_bypass_active{direction="forward"}'] == 0
    assert values['paceline_queue_packets{direction="forward"}'] == 0
    buckets = [
        value for name, value in values.items() if name.startswith('paceline_lateness_seconds_bucket{direction="f')
    ]
    assert buckets == sorted(buckets)
    assert sum(line.startswith("forward: in ") for line in pacer.said) >= 3


def test_two_pacers_do_not_share_an_interface(wire: net.Wire) -> None:
    first = wire.start("--method", "none")
    second = wire.start("--method", "none", ready=False)
    assert second.process.wait(10) == 1
    assert f"a pacer is at work on it, process {first.process.pid}" in "\n".join(second.said)
    first.stop()


def test_restore_takes_away_what_a_killed_pacer_left(wire: net.Wire) -> None:
    before = settings(wire)
    pacer = wire.start("--method", "none")
    pacer.kill()
    assert settings(wire) != before
    wire.start("--restore", ready=False).process.wait(10)
    assert settings(wire) == before


def test_zero_copy_is_refused_where_it_cannot_be_had(wire: net.Wire) -> None:
    before = settings(wire)
    pacer = wire.start("--back-end", "af_xdp_zero_copy", "--method", "none", ready=False)
    assert pacer.process.wait(10) == 1
    pacer.end()
    assert "has no zero copy" in pacer.said[-1]
    assert settings(wire) == before


def test_an_interface_that_is_not_there_is_wrong_input(wire: net.Wire) -> None:
    pacer = wire.start("--in", "eth7", ready=False)
    assert pacer.process.wait(10) == 2
    pacer.end()
    assert len(pacer.said) == 1
    assert '--in: there is no interface "eth7"; there are in0, lo, out0' in pacer.said[0]


def test_without_root_it_says_which_capability_is_missing(wire: net.Wire) -> None:
    unprivileged = ["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    command = ["ip", "netns", "exec", wire.box, *unprivileged, *net.program(), "--in", "in0", "--out", "out0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "lacks CAP_NET_RAW" in done.stderr
    assert "setcap" in done.stderr


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_the_services_capabilities_are_enough(wire: net.Wire, tmp_path: Path, back_end: str) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv, of util-linux")
    unit = (Path(__file__).parent.parent / "packaging" / "paceline-pace.service").read_text()
    granted = re.search(r"^AmbientCapabilities=(.*)$", unit, re.M)
    assert granted
    caps = "-all," + ",".join("+" + name.removeprefix("CAP_").lower() for name in granted[1].split())
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]
    limits = [f"--inh-caps={caps}", f"--ambient-caps={caps}", f"--bounding-set={caps}"]
    before = settings(wire)
    pacer = wire.start("--back-end", back_end, "--method", "edge", "--delay", "2ms", before=[*nobody, *limits])
    with net.Stream(wire) as stream:
        time.sleep(0.7)
    summary = pacer.stop()
    assert stream.received.numbers == list(range(len(stream.sent_ns)))
    assert summary["forward"]["sent"]["packets"] == len(stream.sent_ns)
    assert not any("real-time" in line or "given up" in line for line in pacer.said)
    assert settings(wire) == before


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("address", "add", "192.0.2.1/24", "dev", "out0"), "--out: out0 has the address 192.0.2.1"),
        (("address", "add", "2001:db8::1/64", "dev", "in0", "nodad"), "--in: in0 has the address 2001:db8::1"),
        (("route", "add", "default", "dev", "in0"), "--in: in0 carries the default route"),
        (("route", "add", "128.0.0.0/1", "dev", "in0"), "--in: in0 carries the route to 128.0.0.0/1"),
        (("route", "add", "default", "dev", "out0", "table", "100"), "--out: out0 carries the default route"),
        (("-6", "route", "add", "default", "dev", "in0", "table", "7"), "--in: in0 carries the default route"),
        (("route", "add", "192.0.2.0/24", "nexthop", "dev", "in0"), "--in: in0 carries the route to 192.0.2.0/24"),
        (("address", "add", "192.0.2.1/24", "dev", "on0"), "--out: out0 is below on0, which has the address 192.0.2.1"),
        (("address", "add", "192.0.2.1/24", "dev", "top0"), "--in: in0 is below top0, which has the address 192.0.2.1"),
        (("route", "add", "default", "dev", "top0"), "--in: in0 is below top0, which carries the default route"),
    ],
)
def test_an_interface_that_the_machine_uses_is_refused(wire: net.Wire, command: tuple[str, ...], why: str) -> None:
    for stacked in (  # a bridge over in0 and an interface on that, another on out0
        ("add", "br0", "up", "type", "bridge"),
        ("set", "in0", "master", "br0"),
        ("add", "link", "br0", "name", "top0", "up", "type", "macvlan"),
        ("add", "link", "out0", "name", "on0", "up", "type", "macvlan"),
    ):
        if command[-1] in ("on0", "top0"):
            wire.ip(wire.box, "link", *stacked)
    inside = ["ip", "netns", "exec", wire.box]
    subprocess.run([*inside, "sysctl", "-q", "-w", "net.ipv6.conf.in0.disable_ipv6=0"], check=True)
    subprocess.run([*inside, "ip", *command], check=True)
    refused = subprocess.run(
        [*inside, *net.program(), "--in", "in0", "--out", "out0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert why in refused.stderr
    assert "--force" in refused.stderr
    wire.start("--force").stop()  # it paces, and ends well
