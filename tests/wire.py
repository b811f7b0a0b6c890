"""Two hosts and a box between them, in network namespaces: what the inline pacer is tested on.

Frames carry a number and the time at which they were sent, so that whoever receives them knows which are missing, which
came twice, and which came out of order.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Where ip and tc are, which a user's PATH may leave out.
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

#: Local experimental EtherType 1 (IEEE 802).
KIND = 0x88B5
_HEADER = struct.Struct("!6s6sH")
_MARK = struct.Struct("!QQ")
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def why_not() -> str | None:
    """Why nothing can be tested on namespaces here; None if it can."""
    if sys.platform != "linux":
        return "namespaces are Linux's"
    if os.geteuid() != 0:
        return "needs root, for namespaces and interfaces"
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return "needs ip and tc, of iproute2"
    probe = f"paceline-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"namespaces cannot be made: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", probe], check=True)
    return None


def program() -> list[str]:
    """The pacer: a build that the environment names, or this package's command."""
    folder = os.environ.get("PACELINE_PROGRAMS")
    return [str(Path(folder) / "paceline-pace")] if folder else [sys.executable, "-m", "paceline", "pace"]


def debug_program() -> Path | None:
    """A build that can be told to panic: cargo's for tests."""
    target = os.environ.get("CARGO_TARGET_DIR", str(Path(__file__).parent.parent / "target"))
    made = Path(target) / "debug" / "paceline-pace"
    return made if made.exists() else None


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """This thread is in a namespace."""
    here, there = Path("/proc/thread-self/ns/net"), Path("/run/netns") / namespace
    with here.open("rb") as before, there.open("rb") as after:
        if _libc.setns(after.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            yield
        finally:
            _libc.setns(before.fileno(), _CLONE_NEWNET)


@dataclass
class Wire:
    """Host `left`, a box with interfaces `in0` and `out0`, host `right`."""

    left: str
    box: str
    right: str
    closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def ip(self, namespace: str, *words: str) -> str:
        return subprocess.run(["ip", "-n", namespace, *words], capture_output=True, text=True, check=True).stdout

    def socket(self, namespace: str, interface: str) -> socket.socket:
        with inside(namespace):
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            made.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
            made.bind((interface, 3))
            self.closing.callback(made.close)
            return made

    def start(
        self,
        *arguments: str,
        ready: bool = True,
        before: Sequence[str] = (),
        panics: str | None = None,
        command: Sequence[str] | None = None,
    ) -> Pacer:
        """A pacer between the interfaces, or another program that has one.

        `before` stands before its command; `panics`: where it does at SIGUSR1.
        """
        begin = command or (program() if panics is None else [str(debug_program())])
        pace = [*begin, "--in", "in0", "--out", "out0", *arguments, "--json"]
        inside = ["ip", "netns", "exec", self.box, *before, *pace]
        environment = os.environ | ({"PACELINE_PANICS": panics} if panics else {})
        process = subprocess.Popen(inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        pacer = Pacer(process)
        self.closing.callback(pacer.end)
        if ready:
            pacer.wait_until_ready()
        return pacer


@contextlib.contextmanager
def wire(mtu: int = 1500) -> Iterator[Wire]:
    """Namespaces and veth pairs, gone afterwards."""
    names = [f"paceline-{os.getpid()}-{place}" for place in ("left", "box", "right")]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
            for key in ("all", "default"):
                quiet = f"/proc/sys/net/ipv6/conf/{key}/disable_ipv6"
                subprocess.run(["ip", "netns", "exec", name, "sh", "-c", f"echo 1 > {quiet}"], check=True)
        made = Wire(*names)
        pairs = [(made.left, "eth0", made.box, "in0"), (made.right, "eth0", made.box, "out0")]
        for a, x, b, y in pairs:
            command = ["ip", "link", "add", x, "mtu", str(mtu), "netns", a, "type", "veth", "peer", "name", y]
            subprocess.run([*command, "mtu", str(mtu), "netns", b], check=True)
            made.ip(a, "link", "set", "dev", x, "up")
            made.ip(b, "link", "set", "dev", y, "up")
        with made.closing:
            yield made
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class Pacer:
    """A pacer at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        self.ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))
            if "ready:" in line:
                self.ready.set()
        self.ready.set()

    def wait_until_ready(self) -> None:
        if not self.ready.wait(20) or self.process.poll() is not None:
            raise AssertionError(f"the pacer did not begin: {self.said}")

    def send(self, signal_: signal.Signals) -> None:
        self.process.send_signal(signal_)

    def stop(self) -> dict[str, Any]:
        """SIGINT; the summary."""
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=20)
        self._reader.join(5)
        assert self.process.returncode == 0, self.said
        summary: dict[str, Any] = json.loads(out)
        return summary

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def end(self) -> None:
        """Whatever it is at."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()
        self._reader.join(5)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


@dataclass
class Received:
    """What came in, in order."""

    numbers: list[int] = field(default_factory=list)
    sent_ns: list[int] = field(default_factory=list)
    at_ns: list[int] = field(default_factory=list)

    def reordered(self) -> int:
        return sum(b < a for a, b in zip(self.numbers, self.numbers[1:], strict=False))

    def duplicates(self) -> int:
        return len(self.numbers) - len(set(self.numbers))

    def missing(self, count: int) -> list[int]:
        return sorted(set(range(count)) - set(self.numbers))


def frame(number: int, size: int = 200) -> bytes:
    """A numbered frame; its time is now."""
    head = _HEADER.pack(b"\x02\0\0\0\0\2", b"\x02\0\0\0\0\1", KIND) + _MARK.pack(number, time.monotonic_ns())
    return head + bytes(size - len(head))


def receive(incoming: socket.socket, into: Received, stop: threading.Event) -> None:
    """Numbered frames until it is told to stop and nothing more comes."""
    incoming.settimeout(0.2)
    while True:
        try:
            data = incoming.recv(1 << 16)
        except TimeoutError:
            if stop.is_set():
                return
            continue
        except OSError as error:
            if error.errno != errno.ENETDOWN:  # which it says once, and receives again when it is up
                raise
            continue
        if len(data) >= 30 and data[12:14] == KIND.to_bytes(2, "big"):
            number, sent = _MARK.unpack_from(data, 14)
            into.numbers.append(number)
            into.sent_ns.append(sent)
            into.at_ns.append(time.monotonic_ns())


#: Longer than this between two frames, the sender was not there.
PAUSE_NS = 5_000_000


class Stream:
    """Numbered frames at a steady rate from left to right, until it is stopped. What cannot be sent is sent later."""

    def __init__(self, wire_: Wire, gap_s: float = 300e-6, size: int = 200) -> None:
        self.received = Received()
        self.sent_ns: list[int] = []
        self._stop = [threading.Event(), threading.Event()]
        self._gap, self._size = gap_s, size
        self._out = wire_.socket(wire_.left, "eth0")
        self._in = wire_.socket(wire_.right, "eth0")
        self._threads = [
            threading.Thread(target=self._send),
            threading.Thread(target=receive, args=(self._in, self.received, self._stop[1])),
        ]

    def __enter__(self) -> Stream:
        for thread in self._threads:
            thread.start()
        return self

    def _send(self) -> None:
        due = time.monotonic()
        while not self._stop[0].is_set():
            self.sent_ns.append(time.monotonic_ns())
            try:
                self._out.send(frame(len(self.sent_ns) - 1, self._size))
            except OSError:
                self.sent_ns.pop()  # its own interface has no carrier, is down, or gone: it has not left
            due = max(due + self._gap, time.monotonic() - 0.01)
            time.sleep(max(0.0, due - time.monotonic()))

    def __exit__(self, *_: object) -> None:
        self._stop[0].set()
        self._threads[0].join()
        time.sleep(0.3)
        self._stop[1].set()
        self._threads[1].join()
        self._out.close()
        self._in.close()

    def outage_s(self) -> float:
        """The longest time in which all that was sent was lost; pauses of the sender itself aside."""
        longest = time_lost = 0
        previous = None
        for number in self.received.missing(len(self.sent_ns)):
            in_a_row = previous is not None and number == previous + 1
            since = self.sent_ns[number] - self.sent_ns[number - 1] if in_a_row else 0
            time_lost = time_lost + min(since, PAUSE_NS) if in_a_row else 0
            previous = number
            longest = max(longest, time_lost)
        return longest / 1e9
