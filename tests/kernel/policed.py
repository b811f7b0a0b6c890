"""In a network namespace: sends trains of UDP packets to a policer of nftables, and says of each whether it passed.

Standard input has the policer's rate, packets a second, its burst, packets, the length of a packet with its IP header,
B, and the trains: seconds to wait before each, and how many packets it has. Standard output has a list of [time, ns;
passed]. Exit code 3 where this kernel has no such thing.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time

HERE, THERE, PORT = "10.9.0.1", "10.9.0.2", 4242
MACS = {"here": "02:00:00:00:00:01", "there": "02:00:00:00:00:02"}
HEADERS = 28  # IP and UDP, B
TIMESTAMP = 35  # SO_TIMESTAMPNS
ALL = 3  # ETH_P_ALL: sees what comes before the bucket does; a socket for IP alone sees what it lets pass


def set_up(rate: int, burst: int) -> None:
    """A pair of interfaces, and at the end of one a bucket."""
    lines = [
        f"ip link add here address {MACS['here']} type veth peer name there address {MACS['there']}",
        f"ip address add {THERE}/24 dev there",
        "ip link set here up",
        "ip link set there up",
        "nft add table netdev policed",
        "nft add chain netdev policed arrivals { type filter hook ingress device there priority 0 ; }",
        "nft add rule netdev policed arrivals udp dport "
        f"{PORT} limit rate over {rate}/second burst {burst} packets drop",
    ]
    for line in lines:
        done = subprocess.run(line.split(" "), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"{line}: {done.stderr.strip()}", file=sys.stderr)
            sys.exit(3)


def frame(number: int, length: int) -> bytes:
    """A UDP packet of so many bytes with its IP header, in Ethernet."""
    ethernet = b"".join(bytes.fromhex(MACS[end].replace(":", "")) for end in ("there", "here")) + b"\x08\x00"
    ends = socket.inet_aton(HERE) + socket.inet_aton(THERE)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, 64, socket.IPPROTO_UDP, 0) + ends
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
    udp = struct.pack("!HHHH", PORT, PORT, length - 20, 0)
    return ethernet + ip + udp + struct.pack("!I", number).ljust(length - HEADERS, b"\0")


def main() -> None:
    """Sends, and then reads what both sockets have."""
    asked = json.load(sys.stdin)
    set_up(asked["rate"], asked["burst"])
    passed = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    passed.bind((THERE, PORT))
    arrived = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL))
    arrived.bind(("there", ALL))
    arrived.setsockopt(socket.SOL_SOCKET, TIMESTAMP, 1)
    for one in (passed, arrived):
        one.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind(("here", 0x0800))
    number = 0
    trains = []
    for wait, packets in asked["trains"]:
        trains.append((wait, [frame(number + one, asked["length"]) for one in range(packets)]))
        number += packets
    time.sleep(0.2)  # the interfaces have their say
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # or a busy machine stretches trains
    for wait, frames in trains:
        time.sleep(wait)
        for one in frames:
            out.send(one)
    time.sleep(0.1)
    for one in (passed, arrived):
        one.setblocking(False)
    conforming: set[int] = set()
    seen = []
    try:
        while True:
            conforming.add(struct.unpack_from("!I", passed.recv(2048))[0])
    except BlockingIOError:
        pass
    try:
        while True:
            packet, control, *_ = arrived.recvmsg(4096, 64)
            if packet[9] == socket.IPPROTO_UDP and struct.unpack_from("!H", packet, 22)[0] == PORT:
                seconds, nanos = struct.unpack_from("qq", control[0][2])
                name = struct.unpack_from("!I", packet, HEADERS)[0]
                seen.append((seconds * 10**9 + nanos, name in conforming))
    except BlockingIOError:
        pass
    json.dump(seen, sys.stdout)


main()
