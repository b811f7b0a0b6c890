"""Captures made from nothing, byte by byte, apart from what reads them."""

from __future__ import annotations

import struct
from collections.abc import Iterable

ETHERNET, RAW, USER0 = 1, 101, 147
EPOCH_NS = 1_600_000_000 * 10**9

#: Time in nanoseconds since 1970, and the frame.
Packet = tuple[int, bytes]


def pcap(packets: Iterable[Packet], link_type: int = ETHERNET) -> bytes:
    """A pcap with times in nanoseconds."""
    parts = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, link_type)]
    for time, frame in packets:
        parts.append(struct.pack("<IIII", time // 10**9, time % 10**9, len(frame), len(frame)) + frame)
    return b"".join(parts)


def ethernet(contents: bytes, kind: int = 0x0800, vlan: int | None = None) -> bytes:
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    return bytes.fromhex("020000000002020000000001") + tag + struct.pack(">H", kind) + contents


def ipv4(
    protocol: int, contents: bytes, *, ends: tuple[int, int] = (1, 2), fragment: int = 0, number: int = 0
) -> bytes:
    length = 20 + len(contents)
    header = struct.pack(">BBHHHBBH", 0x45, 0, length, number, fragment, 64, protocol, 0)
    return header + bytes([10, 0, 0, ends[0], 10, 0, 0, ends[1]]) + contents


def ipv6(protocol: int, contents: bytes, extensions: bytes = b"") -> bytes:
    payload = extensions + contents
    first = 0 if extensions else protocol
    addresses = b"\xfe" + bytes(14) + b"\x01" + b"\xfe" + bytes(14) + b"\x02"
    return struct.pack(">IHBB", 6 << 28, len(payload), first, 64) + addresses + payload


def udp(ports: tuple[int, int], size: int) -> bytes:
    return struct.pack(">HHHH", *ports, 8 + size, 0) + bytes(size)


def tcp(ports: tuple[int, int], size: int) -> bytes:
    return struct.pack(">HHIIHHHH", *ports, 1, 1, 0x5010, 1000, 0, 0) + bytes(size)


def even(count: int, gap_ns: int, size: int = 986) -> list[Packet]:
    """Packets at equal gaps."""
    frame = ethernet(ipv4(17, udp((7, 8), size - 28)))
    return [(EPOCH_NS + number * gap_ns, frame) for number in range(count)]


def mixed() -> list[Packet]:
    """A little of all that has flows: VLAN, IPv6 with extension headers, fragments, ARP, several protocols."""
    options = struct.pack(">BBI", 17, 0, 0x01040000) + b"\x00\x00"
    whole = udp((500, 501), 2000)
    frames = [
        ethernet(ipv4(6, tcp((80, 4000), 100))),
        ethernet(ipv4(6, tcp((4000, 80), 0), ends=(2, 1))),
        ethernet(ipv4(17, udp((53, 5353), 40), ends=(3, 4)), vlan=7),
        ethernet(ipv6(6, tcp((443, 5000), 10)), 0x86DD),
        ethernet(ipv6(17, udp((123, 123), 48), options), 0x86DD),
        ethernet(ipv4(17, whole[:1480], ends=(5, 6), fragment=0x2000, number=77)),
        ethernet(ipv4(17, whole[1480:], ends=(5, 6), fragment=185, number=77)),
        ethernet(ipv4(1, bytes([8, 0, 0, 0]) + bytes(60))),
        ethernet(bytes.fromhex("0001080006040001") + bytes(20), 0x0806),
    ]
    return [(EPOCH_NS + number * 333_333, frames[number * 5 % len(frames)]) for number in range(400)]
