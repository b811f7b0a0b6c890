"""The inline pacer when something fails: interfaces that flap, vanish or change, panics, a second pacer.

What is lost is counted, what arrives arrives once, in order and with its own tags, and traffic goes on by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
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
from wire_joined import JoinedStream

REASON = net.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

BACK_ENDS = ["af_packet", "af_xdp"]


@pytest.fixture
def wire() -> Iterator[net.Wire]:
    with net.wire() as made:
        yield made


def flap(wire: net.Wire, interface: str, down_s: float = 0.0) -> None:
    wire.ip(wire.box, "link", "set", "dev", interface, "down")
    time.sleep(down_s)
    wire.ip(wire.box, "link", "set", "dev", interface, "up")


def processor_s(pacer: net.Pacer) -> float:
    """Processor time that the pacer's threads have had, seconds."""
    tasks = Path(f"/proc/{pacer.process.pid}/task").glob("*")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


# ---- interfaces --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("down_s", [0.0, 0.1])
def test_joined_frames_keep_their_tags_when_the_ingress_flaps(wire: net.Wire, down_s: float) -> None:
    pacer = wire.start("--method", "none")
    with JoinedStream(wire) as stream:
        for _ in range(4):
            time.sleep(0.25)
            flap(wire, "in0", down_s)
        time.sleep(0.3)
        stream.mark = stream.sent
        time.sleep(0.3)
    summary = pacer.stop()["forward"]
    received = stream.received
    assert received.wrong_tags() == received.reordered() == received.duplicates() == 0
    assert summary["reordered_packets"] == 0
    # after the last flap nothing is lost, and nothing waits for the next to push it out
    assert [number for number in received.numbers() if number >= stream.mark] == list(range(stream.mark, stream.sent))


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_an_idle_pacer_stays_idle_when_an_interface_flaps(wire: net.Wire, back_end: str) -> None:
    pacer = wire.start("--back-end", back_end, "--method", "edge", "--delay", "1ms")
    for interface in ("in0", "out0"):
        flap(wire, interface, 0.1)
    time.sleep(0.1)
    before = processor_s(pacer)
    time.sleep(1.0)
    assert processor_s(pacer) - before < 0.2
    with net.Stream(wire) as stream:
        time.sleep(0.3)
    assert stream.received.numbers == list(range(len(stream.sent_ns)))
    pacer.stop()


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("interface", ["in0", "out0"])
def test_an_interface_that_is_gone_ends_the_pacer(wire: net.Wire, back_end: str, interface: str) -> None:
    pacer = wire.start("--back-end", back_end, "--method", "none")
    wire.ip(wire.box, "link", "del", "dev", interface)
    assert pacer.process.wait(3) == 1
    pacer.end()
    assert f"{interface} is gone" in "\n".join(pacer.said)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_an_egress_that_is_down_is_no_place_to_send_to(wire: net.Wire, back_end: str) -> None:
    pacer = wire.start("--back-end", back_end, "--method", "none")
    with net.Stream(wire) as stream:
        time.sleep(0.2)
        flap(wire, "out0", 0.3)
        time.sleep(0.3)
    summary = pacer.stop()["forward"]
    count, got = len(stream.sent_ns), stream.received.numbers
    assert stream.received.reordered() == stream.received.duplicates() == 0
    assert summary["sent"]["packets"] == len(got)
    assert sum(summary["dropped"].values()) == count - len(got)
    assert got[-1] == count - 1


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_an_egress_without_carrier_holds_nothing_back(wire: net.Wire, back_end: str) -> None:
    pacer = wire.start("--back-end", back_end, "--method", "edge", "--delay", "2ms")
    with net.Stream(wire) as stream:
        time.sleep(0.2)
        wire.ip(wire.right, "link", "set", "dev", "eth0", "down")
        time.sleep(0.5)
        before = processor_s(pacer)
        time.sleep(0.2)
        spent_s = processor_s(pacer) - before
        wire.ip(wire.right, "link", "set", "dev", "eth0", "up")
        time.sleep(0.3)
    summary = pacer.stop()["forward"]
    count, received = len(stream.sent_ns), stream.received
    assert received.reordered() == received.duplicates() == 0
    dropped = summary["dropped"]
    # "outage": where a busy machine keeps the pacer from its processor for so long that traffic passes without it
    assert dropped["rejected"] > 0
    assert dropped["rejected"] + dropped["outage"] == sum(dropped.values())
    # what the host at the right had when its interface went down is lost there
    assert 0 <= count - len(received.numbers) - sum(dropped.values()) < 64
    assert received.numbers[-1] == count - 1
    # none that came in meanwhile leaves long afterwards
    ages_ns = [b - a for a, b in zip(received.sent_ns, received.at_ns, strict=True)]
    assert max(ages_ns) < 100e6
    assert spent_s < 0.1


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_large_frames_pass_when_the_mtu_is_raised(wire: net.Wire, back_end: str) -> None:
    pacer = wire.start("--back-end", back_end, "--method", "none")
    ends = [(wire.left, "eth0"), (wire.box, "in0"), (wire.box, "out0"), (wire.right, "eth0")]
    for namespace, interface in ends:
        wire.ip(namespace, "link", "set", "dev", interface, "mtu", "3000")
    time.sleep(0.3)
    left, right = wire.socket(wire.left, "eth0"), wire.socket(wire.right, "eth0")
    right.settimeout(5)
    for number in range(20):
        left.send(net.frame(number, 2900))
        while (data := right.recv(1 << 14))[14:22] != number.to_bytes(8, "big"):
            pass
        assert len(data) == 2900
    if back_end == "af_xdp":  # its memory is in chunks of the size that was right; the next one has larger ones
        assert pacer.process.wait(5) == 1
        assert "MTU" in "\n".join(pacer.said)
        pacer = wire.start("--back-end", back_end, "--method", "none")
        left.send(net.frame(99, 2900))
        while right.recv(1 << 14)[14:22] != (99).to_bytes(8, "big"):
            pass
    assert pacer.stop()["forward"]["sent"]["packets"] == (1 if back_end == "af_xdp" else 20)


# ---- panics ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(net.debug_program() is None, reason="needs a build that can be told to panic: cargo test")
@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("place", ["forward", "reverse", "main"])
def test_a_panic_lets_traffic_pass(wire: net.Wire, back_end: str, place: str) -> None:
    settings = ["--back-end", back_end, "--method", "edge", "--delay", "2ms"]
    # a backtrace takes a tenth of a second, in which nothing may wait for it
    pacer = wire.start(*settings, before=["env", "RUST_BACKTRACE=1"], panics=place)
    with net.Stream(wire) as stream:
        time.sleep(0.3)
        pacer.send(signal.SIGUSR1)
        time.sleep(0.7)
    assert pacer.process.wait(5) in (1, 101)
    assert "panicked" in "\n".join(pacer.said)
    assert stream.outage_s() <= 0.03
    assert stream.received.reordered() == stream.received.duplicates() == 0
    assert stream.received.numbers[-1] == len(stream.sent_ns) - 1
    lost = len(stream.received.missing(len(stream.sent_ns)))
    assert pacer.process.stdout
    if summary := pacer.process.stdout.read():
        assert sum(json.loads(summary)["forward"]["dropped"].values()) == lost
    with net.Stream(wire) as stream:  # and goes on passing when the process has ended
        time.sleep(0.2)
    assert stream.received.numbers == list(range(len(stream.sent_ns)))
    pacer = wire.start(*settings)
    found = re.search(r"in0: .* (\d+) packets were lost in its queue, (\d+) before", "\n".join(pacer.said))
    assert found
    assert int(found[1]) + int(found[2]) == lost
    pacer.stop()


# ---- two at once -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--no-bypass"]])
def test_of_pacers_that_start_at_once_one_paces(wire: net.Wire, options: list[str]) -> None:
    for _ in range(10):
        pacers = [wire.start("--method", "none", *options, ready=False) for _ in range(3)]
        ended = time.monotonic() + 10
        while sum(pacer.process.poll() is None for pacer in pacers) > 1 and time.monotonic() < ended:
            time.sleep(0.02)
        running = [pacer for pacer in pacers if pacer.process.poll() is None]
        assert len(running) == 1
        running[0].wait_until_ready()
        for pacer in pacers:
            if pacer is not running[0]:
                assert pacer.process.returncode == 1
                assert "pacer is at work on it" in "\n".join(pacer.said), pacer.said
        left, right = wire.socket(wire.left, "eth0"), wire.socket(wire.right, "eth0")
        right.settimeout(0.3)
        left.send(net.frame(7))
        left.send(net.frame(8))
        assert [int.from_bytes(right.recv(4096)[14:22], "big") for _ in range(2)] == [7, 8]
        with pytest.raises(TimeoutError):
            right.recv(4096)
        running[0].stop()


@pytest.mark.parametrize("options", [[], ["--no-bypass"]])
def test_a_pacer_in_another_process_namespace_is_seen(wire: net.Wire, options: list[str]) -> None:
    first = wire.start("--method", "none", *options)
    apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    second = wire.start("--method", "none", *options, before=apart, ready=False)
    assert second.process.wait(10) == 1
    assert "pacer is at work on it" in "\n".join(second.said)
    restore = wire.start("--restore", before=apart, ready=False)
    assert restore.process.wait(10) == 1
    with net.Stream(wire) as stream:
        time.sleep(0.3)
    assert stream.received.numbers == list(range(len(stream.sent_ns)))
    first.stop()


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_stopped_pacer_is_still_the_one(wire: net.Wire, back_end: str) -> None:
    first = wire.start("--back-end", back_end, "--method", "none")
    with net.Stream(wire) as stream:
        time.sleep(0.2)
        first.send(signal.SIGSTOP)
        time.sleep(0.3)
        second = wire.start("--method", "none", ready=False)
        assert second.process.wait(10) == 1
        first.send(signal.SIGCONT)
        time.sleep(0.3)
    assert stream.outage_s() <= 0.05
    assert stream.received.reordered() == stream.received.duplicates() == 0
    assert stream.received.numbers[-1] == len(stream.sent_ns) - 1
    first.stop()


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_taking_over_leaves_no_hole(wire: net.Wire, back_end: str) -> None:
    first = wire.start("--back-end", back_end, "--method", "none")
    first.kill()
    with net.Stream(wire) as stream:
        time.sleep(0.3)
        second = wire.start("--back-end", back_end, "--method", "none")
        time.sleep(0.3)
    assert stream.outage_s() <= 0.002
    assert stream.received.reordered() == stream.received.duplicates() == 0
    assert stream.received.numbers == list(range(len(stream.sent_ns)))
    second.stop()


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_one_that_cannot_start_leaves_traffic_passing(wire: net.Wire, back_end: str) -> None:
    first = wire.start("--back-end", back_end, "--method", "none")
    first.kill()
    with net.Stream(wire) as stream:
        time.sleep(0.1)
        other = wire.start("--back-end", "af_xdp_zero_copy", "--method", "none", ready=False)  # veth has none
        assert other.process.wait(10) == 1
        time.sleep(0.2)
    assert stream.received.numbers == list(range(len(stream.sent_ns)))
    wire.start("--restore", ready=False).process.wait(10)


# ---- the process -------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def test_the_metrics_thread_has_no_more_capabilities_and_waits_for_nobody(wire: net.Wire) -> None:
    wire.ip(wire.box, "link", "set", "dev", "lo", "up")
    port = free_port()
    pacer = wire.start("--method", "none", "--metrics", f"127.0.0.1:{port}")
    names: dict[str, int] = {}
    until = time.monotonic() + 5
    # a thread names itself, a moment after it is there
    while not {"pace-forward", "pace-reverse", "pace-metrics"} <= set(names):
        assert time.monotonic() < until, names
        for task in Path(f"/proc/{pacer.process.pid}/task").glob("*"):
            status = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
            names[status["Name"].strip()] = int(status["CapEff"], 16)
    if os.environ.get("PACELINE_PROGRAMS"):
        assert set(names.values()) <= {0, 1 << 12}, names  # CAP_NET_ADMIN
    assert names["pace-metrics"] == 0, names
    with net.inside(wire.box), contextlib.ExitStack() as opened:

        def connect() -> socket.socket:
            return opened.enter_context(socket.create_connection(("127.0.0.1", port), 5))

        for index in range(100):
            silent = connect()
            if index % 2:
                silent.sendall(b"GET /metrics HT")
        for _ in range(3):
            began, asked, answer = time.monotonic(), connect(), b""
            asked.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while part := asked.recv(1 << 16):
                answer += part
            assert time.monotonic() - began < 5  # the hundred silent ones would take 100 s in turn
            assert answer.startswith(b"HTTP/1.1 200 OK")
            assert b"paceline_sent_packets_total" in answer
        # a byte now and then does not keep a place for ever
        began, slow = time.monotonic(), connect()
        hung_up = False
        while not hung_up and time.monotonic() - began < 8:
            try:
                slow.sendall(b"x")
            except ConnectionError:
                hung_up = True
            time.sleep(0.2)
        assert hung_up
    pacer.stop()


@pytest.mark.parametrize("kind", ["fifo", "device", "large"])
def test_settings_are_read_from_files_alone(wire: net.Wire, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "pace.toml"
    file.write_text('[forward]\nmethod = "none"\n')
    pacer = wire.start("--config", str(file))
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        with file.open("wb") as large:
            large.truncate(1 << 32)
    pacer.send(signal.SIGHUP)
    until = time.monotonic() + 5
    while not any("the settings stay as they were" in line for line in pacer.said):
        assert time.monotonic() < until, pacer.said
        time.sleep(0.02)
    pacer.stop()
    start = subprocess.run(
        [*net.program(), "--config", str(file)], capture_output=True, text=True, timeout=10, check=False
    )
    assert start.returncode == 2
    assert len(start.stderr.splitlines()) == 1
