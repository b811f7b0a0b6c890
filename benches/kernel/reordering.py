"""What this machine's kernel sends where packets come late, acknowledgement by acknowledgement: as root.

    python benches/kernel/reordering.py near.txt --every 40 --hold 6           every 40th packet is held for 6 ms
    python benches/kernel/reordering.py lossy.txt --every 40 --hold 6 --lose 300

Reno with SACK over 20 Mbit/s and 44 ms, each packet acknowledged at once, between two namespaces. This process is the
link between their devices: it hands each packet over when it is due and writes down what the host answers before the
call returns. The file is one of crates/tcp/tests/kernel/, which crates/tcp/tests/kernel_sequence.rs replays: times are
those at which the packets were handed over. Record anew where the application's first packet stands beside the
acknowledgement of the SYN: it was written meanwhile, and the replay has no application.
"""

from __future__ import annotations

import argparse
import ctypes
import heapq
import os
import random
import re
import select
import signal
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from paceline.emulate.namespace import Namespace

PAYLOAD, PORT, CALLER, LISTENER = 1448, 9000, "10.0.0.1", "10.0.0.2"
RATE_BPS, ONE_WAY_NS, TICK_NS = 20_000_000, 22_000_000, 4_000_000
PARAMETERS = {
    "tcp_congestion_control": "reno",
    "tcp_no_metrics_save": "1",
    "tcp_slow_start_after_idle": "0",
    "tcp_rmem": "4096 8388608 8388608",
    "tcp_wmem": "4096 8388608 8388608",
}
SYN = 2
#: A wait ends so long before what is due.
SPIN_NS = 150_000
#: What a host sends unasked within this is one line, ns.
TOGETHER = 300_000


class Packet(NamedTuple):
    """A packet's numbers: first byte, acknowledgement, flags, payload, timestamps, SACK blocks."""

    seq: int
    ack: int
    flags: int
    payload: int
    stamp: int
    echo: int
    blocks: list[tuple[int, int]]


class Seen(NamedTuple):
    """A packet at the sender's device: an acknowledgement handed over (a), what it sent at once (s), or later (t)."""

    kind: str
    at: int
    frame: bytes


def read_packet(frame: bytes) -> Packet:
    """The numbers of an IPv4 packet with TCP in it."""
    header = (frame[0] & 15) * 4
    seq, ack = struct.unpack(">II", frame[header + 4 : header + 12])
    length = (frame[header + 12] >> 4) * 4
    options, at = frame[header + 20 : header + length], 0
    stamp = echo = 0
    blocks: list[tuple[int, int]] = []
    while at < len(options) and options[at]:
        if options[at] == 1:
            at += 1
            continue
        size = options[at + 1]
        if options[at] == 8:
            stamp, echo = struct.unpack(">II", options[at + 2 : at + 10])
        elif options[at] == 5:
            starts = range(at + 2, at + size, 8)
            blocks = [struct.unpack(">II", options[start : start + 8]) for start in starts]
        at += size
    total = struct.unpack(">H", frame[2:4])[0]
    return Packet(seq, ack, frame[header + 13], total - header - length, stamp, echo, blocks)


class Link:
    """There: the rate, a buffer, packets that are held or lost. And back: a delay."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen, self.draws = chosen, random.Random(chosen.seed)
        self.free = self.count = self.number = 0
        self.calendar: list[tuple[int, int, bool, bytes]] = []

    def push(self, due: int, forward: bool, frame: bytes) -> None:
        """The packet is handed over then."""
        self.number += 1
        heapq.heappush(self.calendar, (due, self.number, forward, frame))

    def enter(self, frame: bytes, at: int) -> None:
        """The sending host has sent it."""
        service, held = len(frame) * 8 * 10**9 // RATE_BPS, 0
        if read_packet(frame).payload:
            if self.free - at > self.chosen.buffer * service:
                return
            self.count += 1
            if self.chosen.lose and not self.draws.randrange(self.chosen.lose):
                return
            if self.count % self.chosen.every == 0:
                held = int(self.chosen.hold * 1e6)
        self.free = max(self.free, at) + service
        self.push(self.free + ONE_WAY_NS + held, True, frame)


def host(address: str, metrics: dict[str, int]) -> tuple[Namespace, int]:
    """A host of its own, and its device."""
    namespace = Namespace()
    namespace.set_parameters(PARAMETERS)
    device = namespace.open_device("hosts")
    namespace.set_up("hosts", mtu=1500, addresses=[address], segments=1, metrics=metrics)
    return namespace, device


def apart(run: object, *arguments: object) -> int:
    """Runs it in a process of its own, which ends with this one."""
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        try:
            run(*arguments)  # type: ignore[operator]
        finally:
            os._exit(0)
    return child


def listen(listener: socket.socket) -> None:
    """Reads everything."""
    other, _ = listener.accept()
    while other.recv(1 << 20):
        pass


def call(caller: socket.socket, begin: int) -> None:
    """Sends without end."""
    os.read(begin, 1)
    caller.connect((LISTENER, PORT))
    while True:
        caller.sendall(bytes(1 << 20))


def ticks() -> tuple[int, int]:
    """The last tick's time, and its number (jiffies): the kernel says when the next one is due."""
    while True:
        text = Path("/proc/timer_list").read_text()
        now = int(re.findall(r"now at (\d+) nsecs", text)[0])
        due = int(re.findall(r"tick_nohz_handler.*\n # expires at (\d+)-", text)[0])
        number = int(re.findall(r"^jiffies: (\d+)", text, re.MULTILINE)[0])
        last = due - -(-(due - now) // TICK_NS) * TICK_NS
        if time.monotonic_ns() < last + TICK_NS:  # none has come meanwhile
            return last, number


def waiting(device: int) -> Iterator[bytes]:
    """What the host has sent."""
    while True:
        try:
            yield os.read(device, 65_536)
        except BlockingIOError:
            return


def carry(link: Link, devices: tuple[int, int], seconds: float) -> list[Seen]:
    """Hands packets over for so long."""
    there, back = devices
    seen: list[Seen] = []
    end = time.monotonic_ns() + int(seconds * 1e9)
    while (now := time.monotonic_ns()) < end:
        for frame in waiting(there):
            seen.append(Seen("t", now, frame))
            link.enter(frame, now)
        for frame in waiting(back):
            link.push(now + ONE_WAY_NS, False, frame)
        rest = (link.calendar[0][0] if link.calendar else end) - time.monotonic_ns()
        if rest > 0:
            if rest > SPIN_NS:  # a real-time process that never waits is stopped for 50 ms in each second
                select.select(devices, [], [], (rest - SPIN_NS) / 1e9)
            continue
        due, _, forward, frame = heapq.heappop(link.calendar)
        if forward:
            os.write(back, frame)
            for answer in waiting(back):
                link.push(due + ONE_WAY_NS, False, answer)
            continue
        now = time.monotonic_ns()
        seen.append(Seen("a", now, frame))
        os.write(there, frame)
        for answer in waiting(there):
            seen.append(Seen("s", now, answer))
            link.enter(answer, due)
    return seen


def lines(seen: list[Seen]) -> Iterator[str]:
    """A line for each acknowledgement, and for what was sent without one."""
    zero, first = seen[0].at, read_packet(seen[0].frame).seq + 1

    def packets(byte: int) -> int:
        return max(0, -(-(byte - first) // PAYLOAD)) + 1

    sent_at: dict[int, int] = {}
    told, last = "", 0
    sent: list[int] = []
    for kind, at, frame in seen:
        packet, us = read_packet(frame), (at - zero) // 1000
        if kind == "a":
            if told:
                yield f"{told} :{''.join(f' {seq}' for seq in sent)}"
            last = at
            blocks = "".join(f" {packets(start)}-{packets(end)}" for start, end in packet.blocks)
            told, sent = f"a {us} {packets(packet.ack)} {sent_at.get(packet.echo, 0)}{blocks}", []
            continue
        if not packet.payload and not packet.flags & SYN:
            continue
        is_late = told.startswith("a") and not sent  # the application was writing as the acknowledgement came
        if (kind == "t" and at - last >= TOGETHER) or (kind == "t" and told.startswith("a") and not is_late):
            if told:
                yield f"{told} :{''.join(f' {seq}' for seq in sent)}"
            told, sent, last = f"t {us}", [], at
        sent_at[packet.stamp] = us
        sent.append(0 if packet.flags & SYN else packets(packet.seq))
    yield f"{told} :{''.join(f' {seq}' for seq in sent)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--every", type=int, default=40, help="this packet of so many is held")
    parser.add_argument("--hold", type=float, default=6.0, help="for so long, ms")
    parser.add_argument("--lose", type=int, default=0, help="one packet in so many is lost; 0 is none")
    parser.add_argument("--buffer", type=int, default=40, help="packets")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    (one, there), (other, back) = host(CALLER, {"initcwnd": 2}), host(LISTENER, {"quickack": 1})
    with other.inside():
        listener = socket.create_server((LISTENER, PORT))
    with one.inside():
        caller = socket.socket()
    begin, go = os.pipe()
    children = [apart(listen, listener), apart(call, caller, begin)]
    tick_at, number = ticks()
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(30))
    os.write(go, b"x")
    seen = carry(Link(chosen), (there, back), chosen.seconds)
    for child in children:
        os.kill(child, signal.SIGKILL)
    ahead = (1024 * TICK_NS - number % 1024 * TICK_NS - (seen[0].at - tick_at)) % (1024 * TICK_NS)
    lost = f", one in {chosen.lose} lost" if chosen.lose else ""
    what = f"every {chosen.every}th packet held for {chosen.hold:g} ms{lost}, a buffer of {chosen.buffer} packets"
    kernel = os.uname().release.split("-")[0]
    title = f"# Linux {kernel}: one flow over 20 Mbit/s and 44 ms, {what}. Ticks at {ahead // 1000}"
    chosen.file.write_text("\n".join([title, *lines(seen)]) + "\n")


if __name__ == "__main__":
    main()
