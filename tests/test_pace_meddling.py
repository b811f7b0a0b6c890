"""The inline pacer while others meddle with its interfaces: they rename them, take its programs away, switch offloads.

Nothing arrives twice, out of order or with another's tag, what is lost is counted, and it goes on pacing.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import wire as net
from wire_joined import JoinedStream

REASON = net.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

BACK_ENDS = ["af_packet", "af_xdp"]
EDGE = ["--method", "edge", "--delay", "5ms"]

#: linux/ethtool.h: receive offload and segmentation; flags, and of these VLAN tags in sending and receiving.
GRO, TSO, GET_FLAGS, SET_FLAGS, VLANS = 0x2C, 0x1F, 0x25, 0x26, 0x180
_SIOCETHTOOL = 0x8946


@pytest.fixture
def wire() -> Iterator[net.Wire]:
    with net.wire() as made:
        yield made


def ethtool(namespace: str, device: str, command: int, value: int = 0) -> int:
    """As ethtool does it; what it says."""
    asked = array.array("B", struct.pack("II", command, value))
    with net.inside(namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCETHTOOL, struct.pack("16sP16x", device.encode(), asked.buffer_info()[0]))
    answer: int = struct.unpack("II", asked.tobytes())[1]
    return answer


def take_gate_away(namespace: str, device: str) -> None:
    """bpf(2): BPF_PROG_QUERY, BPF_PROG_GET_FD_BY_ID and BPF_PROG_DETACH at BPF_TCX_INGRESS."""
    query, by_id, detach, tcx_ingress = 16, 13, 9, 46
    libc = ctypes.CDLL(None, use_errno=True)

    def bpf(command: int, *words: Any, form: str) -> int:
        attributes = ctypes.create_string_buffer(struct.pack(form, *words), 128)
        done: int = libc.syscall(321, command, attributes, 128)  # on x86-64
        assert done >= 0, ctypes.get_errno()
        return done

    numbers = (ctypes.c_uint32 * 8)()
    with net.inside(namespace):
        index = socket.if_nametoindex(device)
        bpf(query, index, tcx_ingress, 0, 0, ctypes.addressof(numbers), 8, form="=IIIIQI")
        for number in filter(None, numbers):
            program = bpf(by_id, number, form="=I")
            bpf(detach, index, program, tcx_ingress, form="=III")


def driver_off(wire: net.Wire) -> None:
    wire.ip(wire.box, "link", "set", "dev", "in0", "xdp", "off")


def said(pacer: net.Pacer, what: str, within_s: float = 3.0) -> bool:
    until = time.monotonic() + within_s
    while not any(what in line for line in pacer.said):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def check(wire: net.Wire, stream: net.Stream, summary: dict[str, Any], unseen: int = 0) -> None:
    """Order and accounts; `unseen`: frames that may have been lost where no pacer sees it."""
    received, count = stream.received, len(stream.sent_ns)
    assert received.reordered() == received.duplicates() == 0
    assert received.numbers[-1] == count - 1
    # what an interface that goes down loses before anybody has it, its peer counts as dropped
    counters = "/sys/class/net/eth0/statistics/tx_packets"
    read = ["ip", "netns", "exec", wire.left, "cat", counters]
    came = int(subprocess.run(read, capture_output=True, text=True, check=True).stdout)
    # the pacer or the gate had each of them (AF_XDP does not count as received what is too large)
    assert came <= sum(summary[had]["packets"] for had in ("received", "bypassed")) + sum(summary["dropped"].values())
    assert 0 <= came - len(received.numbers) - sum(summary["dropped"].values()) <= unseen


@pytest.mark.skipif(struct.calcsize("P") != 8 or not sys.platform.startswith("linux"), reason="x86-64's call numbers")
@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_gate_that_was_taken_away_comes_back(wire: net.Wire, back_end: str) -> None:
    pacer = wire.start("--back-end", back_end, *EDGE)
    with net.Stream(wire) as stream:
        time.sleep(0.1)
        take_gate_away(wire.box, "in0")
        assert said(pacer, "is back")
        pacer.kill()
        time.sleep(0.3)
    assert stream.outage_s() < 0.055
    assert stream.received.reordered() == stream.received.duplicates() == 0
    assert stream.received.numbers[-1] == len(stream.sent_ns) - 1


def test_a_driver_program_that_was_taken_away_comes_back(wire: net.Wire) -> None:
    pacer = wire.start("--back-end", "af_xdp", *EDGE)
    with net.Stream(wire, gap_s=100e-6) as stream:
        for _ in range(2):
            time.sleep(0.2)
            pacer.said.clear()
            driver_off(wire)  # what comes now goes past what it holds
            assert said(pacer, "is back")
        time.sleep(0.3)
    summary = pacer.stop()["forward"]
    check(wire, stream, summary)
    paced = len(stream.sent_ns) - summary["bypassed"]["packets"]
    assert paced >= summary["sent"]["packets"] > 0.2 * len(stream.sent_ns)


def rename(wire: net.Wire) -> None:
    for device in ("in0", "out0"):
        for word in (["down"], ["name", f"new-{device}"]):
            wire.ip(wire.box, "link", "set", "dev", device, *word)
        wire.ip(wire.box, "link", "set", "dev", f"new-{device}", "up")


def flap_both(wire: net.Wire) -> None:
    for word in ("down", "up"):
        for device in ("in0", "out0"):
            wire.ip(wire.box, "link", "set", "dev", device, word)


def lower_mtu(wire: net.Wire) -> None:
    for mtu in (150, 1500):
        wire.ip(wire.box, "link", "set", "dev", "out0", "mtu", str(mtu))
        time.sleep(0.1)


def enslave(wire: net.Wire) -> None:
    wire.ip(wire.box, "link", "add", "bridge", "type", "bridge")
    for device in ("in0", "out0"):
        wire.ip(wire.box, "link", "set", "dev", device, "master", "bridge")
    time.sleep(0.1)
    wire.ip(wire.box, "link", "del", "dev", "bridge")


def look_at_all(wire: net.Wire) -> None:
    for word in ("off", "on", "off"):
        wire.ip(wire.box, "link", "set", "dev", "in0", "promisc", word)
        wire.ip(wire.box, "link", "set", "dev", "in0", "allmulticast", word)
    wire.ip(wire.box, "link", "set", "dev", "out0", "address", "02:00:00:00:00:02")


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("meddle", [rename, flap_both, lower_mtu, enslave, look_at_all])
def test_it_goes_on_and_counts(wire: net.Wire, back_end: str, meddle: Callable[[net.Wire], None]) -> None:
    pacer = wire.start("--back-end", back_end, *EDGE)
    with net.Stream(wire) as stream:
        for _ in range(1 if meddle is rename else 2):
            time.sleep(0.15)
            meddle(wire)
        time.sleep(0.2)
    summary = pacer.stop()["forward"]
    # what bypasses while in0 is up again and out0 is down, the kernel loses: the gate sends it where nothing leaves;
    # none does on a quiet machine, where the pacer is back before out0 goes down
    takes_out0_down = meddle in (flap_both, rename)
    check(wire, stream, summary, summary["bypassed"]["packets"] if takes_out0_down else 0)


def test_offloads_may_be_switched_while_joined_frames_pass(wire: net.Wire) -> None:
    pacer = wire.start("--method", "edge", "--delay", "3ms")
    ends = [(wire.box, "in0"), (wire.box, "out0"), (wire.left, "eth0")]
    with JoinedStream(wire) as stream:
        for turn in range(8):
            time.sleep(0.06)
            for namespace, device in ends:
                flags = ethtool(namespace, device, GET_FLAGS)
                ethtool(namespace, device, SET_FLAGS, flags ^ VLANS)
                ethtool(namespace, device, GRO, turn % 2)
                ethtool(namespace, device, TSO, turn // 2 % 2)
        time.sleep(0.3)
    received = stream.received
    assert received.wrong_tags() == received.reordered() == received.duplicates() == 0
    assert sum(pacer.stop()["forward"]["dropped"].values()) == stream.sent - len(received.seen)
