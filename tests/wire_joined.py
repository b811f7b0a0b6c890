"""Joined frames on the wire of `wire.py`: TCP of several segments in one, as an offload makes them, each in a VLAN.

Every segment says which VLAN it belongs to and which number it has: a receiver knows whether its tag is its own.
"""

from __future__ import annotations

import itertools
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

import wire as net

#: linux/if_packet.h
_VNET_HDR, _AUXDATA = 15, 8
#: linux/virtio_net.h: the checksum is missing; TCP over IPv4
_NEEDS_CHECKSUM, _TCP4 = 1, 1
_VALID_VLAN = 1 << 4
_SEGMENT = 1000
_MARK = struct.Struct("!HI")
_BEFORE_TCP = 14 + 4 + 20


def joined(vlan: int, first: int, segments: int) -> bytes:
    """A frame that stands for so many, numbered from `first`, its header for offloads before it."""
    payload = b"".join(_MARK.pack(vlan, first + index).ljust(_SEGMENT, b".") for index in range(segments))
    ethernet = b"\x02\0\0\0\0\2" + b"\x02\0\0\0\0\1" + struct.pack("!HHH", 0x8100, vlan, 0x0800)
    length = 40 + len(payload)
    ends = socket.inet_aton("10.0.0.1") + socket.inet_aton("10.0.0.2")
    ip = struct.pack("!BBHHHBBH", 0x45, 0, length, first & 0xFFFF, 0x4000, 64, 6, 0) + ends
    ip = ip[:10] + (~_sum(ip) & 0xFFFF).to_bytes(2, "big") + ip[12:]
    tcp = struct.pack("!HHIIBBHHH", 1, 2, first * _SEGMENT, 0, 0x50, 0x10, 1000, 0, 0)
    pseudo = _sum(ends + struct.pack("!HH", 6, length - 20))
    tcp = tcp[:16] + pseudo.to_bytes(2, "big") + tcp[18:]
    header = struct.pack("=BBHHHH", _NEEDS_CHECKSUM, _TCP4, _BEFORE_TCP + 20, _SEGMENT, _BEFORE_TCP, 16)
    return header + ethernet + ip + tcp + payload


def _sum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@dataclass
class Segments:
    """Segments that came in: the tag of each, the VLAN that it says it belongs to, and its number."""

    seen: list[tuple[int, int, int]] = field(default_factory=list)

    def wrong_tags(self) -> int:
        return sum(tag != vlan for tag, vlan, _ in self.seen)

    def numbers(self) -> list[int]:
        return [number for _, _, number in self.seen]

    def reordered(self) -> int:
        numbers = self.numbers()
        return sum(b < a for a, b in itertools.pairwise(numbers))

    def duplicates(self) -> int:
        return len(self.seen) - len(set(self.numbers()))


class JoinedStream:
    """Joined frames in VLANs 10 and 20 by turns, from left to right, until it is stopped."""

    def __init__(self, wire: net.Wire, gap_s: float = 2e-3, segments: int = 6) -> None:
        self.received, self.sent, self.mark = Segments(), 0, 0
        self._gap, self._segments = gap_s, segments
        self._stop = [threading.Event(), threading.Event()]
        self._out, self._in = wire.socket(wire.left, "eth0"), wire.socket(wire.right, "eth0")
        self._out.setsockopt(263, _VNET_HDR, 1)
        self._in.setsockopt(263, _AUXDATA, 1)
        self._in.settimeout(0.2)
        self._threads = [threading.Thread(target=self._send), threading.Thread(target=self._receive)]

    def __enter__(self) -> JoinedStream:
        for thread in self._threads:
            thread.start()
        return self

    def _send(self) -> None:
        while not self._stop[0].is_set():
            vlan = 10 + 10 * (self.sent // self._segments % 2)
            try:
                self._out.send(joined(vlan, self.sent, self._segments))
            except OSError:
                continue  # the interface is down
            self.sent += self._segments
            time.sleep(self._gap)

    def _receive(self) -> None:
        while True:
            try:
                data, beside, _, _ = self._in.recvmsg(1 << 16, 64)
            except TimeoutError:
                if self._stop[1].is_set():
                    return
                continue
            if data[6:12] != b"\x02\0\0\0\0\1" or len(data) < 14 + 40 + _MARK.size:
                continue
            tag = 0
            for _, _, value in beside:
                status, _, _, _, _, tci, _ = struct.unpack_from("=IIIHHHH", value)
                tag = tci if status & _VALID_VLAN else 0
            vlan, number = _MARK.unpack_from(data, 14 + 40)
            self.received.seen.append((tag, vlan, number))

    def __exit__(self, *_: object) -> None:
        self._stop[0].set()
        self._threads[0].join()
        time.sleep(0.3)
        self._stop[1].set()
        self._threads[1].join()
        self._out.close()
        self._in.close()
