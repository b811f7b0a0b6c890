"""What this machine's kernel joins at a receiver (GRO), and how it acknowledges that: as root, with `tc` and `tcpdump`.

    python benches/kernel/gro.py                       the rest of the cases that are not recorded yet (6 s a run)
    python benches/kernel/gro.py --seeds 3             so many runs of each

One connection between two network namespaces, its packets as far apart as a token bucket before the sender's device
lets them (no segmentation offload there), over a pair of virtual interfaces of which the receiver's joins what comes
within `gro_flush_timeout`. A capture behind that shows what was joined. A run is a row of
tests/oracles/kernel-gro.csv; crates/sim/tests/kernel_gro.rs compares with it.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

RECORD = Path(__file__).parent.parent.parent / "tests" / "oracles" / "kernel-gro.csv"
FIELDS = ("rate", "wait_us", "stamps", "joined", "mean", "p10", "p50", "p90", "per_ack")
#: Seconds of a run, of which those from SETTLED on count.
RUN, SETTLED = 6, 2
HERE, THERE, PORT = "10.9.0.1", "10.9.0.2", 4242


class Case(NamedTuple):
    """Rate at which packets come, Mbit/s; how long one waits for the next, us; whether there are timestamps."""

    rate: int
    wait_us: int
    stamps: int


def cases() -> list[Case]:
    """All that are recorded: packets of 1500 B are 1.2, 0.6 and 0.24 ms apart."""
    waits = {10: (600, 2400), 20: (300, 1200), 50: (120, 480, 2000)}
    return [Case(rate, wait, stamps) for stamps in (1, 0) for rate, all_ in waits.items() for wait in all_]


def run(command: str) -> None:
    """A command that has to succeed."""
    subprocess.run(command.split(), check=True)


def set_down(number: str, path: str) -> None:
    """Sets a parameter of the kernel."""
    Path(path).write_text(number)


def receive() -> None:
    """In a namespace of its own: waits for a line, which says what to wait for, and then takes what comes."""
    wait_us, capture = sys.stdin.readline().split()
    run("mount -t sysfs sysfs /sys")
    run("ethtool -K r gro on")
    set_down(str(int(wait_us) * 1000), "/sys/class/net/r/gro_flush_timeout")
    run(f"ip address add {THERE}/24 dev r")
    run("ip link set r up")
    listener = socket.create_server((THERE, PORT))
    dump = ["tcpdump", "-i", "r", "-n", "-s", "96", "-B", "65536", "-Z", "root", "--immediate-mode", "-w", capture]
    with subprocess.Popen([*dump, "tcp"], stderr=subprocess.DEVNULL) as running:
        while not Path(capture).exists():
            time.sleep(0.02)
        time.sleep(0.3)
        print("ready", flush=True)
        connection, _ = listener.accept()
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # reads, and so acknowledges, at once
        while connection.recv(1 << 16):
            pass
        running.terminate()


def send(case: Case, capture: str) -> None:
    """In another: makes the interfaces, and sends."""
    command = ["unshare", "--net", "--mount", sys.executable, __file__, "--receive"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        time.sleep(0.3)
        run(f"ip link add s type veth peer name r netns {other.pid}")
        run("ip link set s gso_max_segs 1")
        run("ethtool -K s tso off gso off")
        run(f"ip address add {HERE}/24 dev s")
        run("ip link set s up")
        run(f"tc qdisc add dev s root tbf rate {case.rate}mbit burst 1540 limit 20mb")
        set_down(str(case.stamps), "/proc/sys/net/ipv4/tcp_timestamps")
        other.stdin.write(f"{case.wait_us} {capture}\n")
        other.stdin.flush()
        assert other.stdout.readline() == "ready\n"
        with socket.create_connection((THERE, PORT)) as connection:
            end, data = time.monotonic() + RUN, bytes(1 << 16)
            while time.monotonic() < end:
                connection.sendall(data)
        other.wait(20)


def measure(path: Path, payload: int) -> dict[str, float]:
    """Packets in what was joined, and for each acknowledgement."""
    data, at = path.read_bytes(), 24
    joined, acks, start = [], 0, None
    while at + 16 <= len(data):
        seconds, micros, kept, _ = struct.unpack("<IIII", data[at : at + 16])
        packet = data[at + 16 + 14 : at + 16 + kept]
        at += 16 + kept
        now = seconds + micros / 1e6
        start = start or now
        header = (packet[0] & 15) * 4
        length = struct.unpack(">H", packet[2:4])[0] - header - (packet[header + 12] >> 4) * 4
        if now - start < SETTLED or now - start > RUN - 0.2:
            continue
        if packet[12:16] == socket.inet_aton(HERE) and length > 0:
            joined.append(-(-length // payload))
        elif packet[12:16] == socket.inet_aton(THERE):
            acks += 1
    sizes = sorted(joined)
    return {
        "joined": len(sizes),
        "mean": round(statistics.mean(sizes), 3),
        **{f"p{share}": sizes[len(sizes) * share // 100] for share in (10, 50, 90)},
        "per_ack": round(sum(sizes) / acks, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--receive", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--send", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if given.receive:
        return receive()
    if given.send:
        rate, wait_us, stamps, capture = given.send
        return send(Case(int(rate), int(wait_us), int(stamps)), capture)
    rows = list(csv.DictReader(RECORD.read_text().splitlines())) if RECORD.exists() else []
    for case in cases():
        known = sum(1 for row in rows if (int(row["rate"]), int(row["wait_us"]), int(row["stamps"])) == case)
        for _ in range(known, given.seeds):
            with tempfile.TemporaryDirectory() as folder:
                capture = Path(folder) / "capture"
                command = ["unshare", "--net", sys.executable, __file__, "--send", *map(str, case), str(capture)]
                subprocess.run(command, check=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
                found = {**case._asdict(), **measure(capture, 1448 if case.stamps else 1460)}
            with RECORD.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if file.tell() == 0:
                    writer.writeheader()
                writer.writerow(found)
            print(found)
    return None


if __name__ == "__main__":
    main()
