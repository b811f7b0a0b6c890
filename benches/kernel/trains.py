"""Trains and acknowledgements of this machine's kernel, captured at the sending host: as root, with tcpdump.

    python benches/kernel/trains.py                    the rest of the cases that are not recorded yet (13 s a run)
    python benches/kernel/trains.py --seeds 3          so many runs of each

One CUBIC flow over 20 ms, segmentation on (`gso`), at 1 to 200 Mbit/s with a BDP of buffer, and at 20 and 100 Mbit/s
with 5 to 50 packets. A run is a row of tests/oracles/kernel-trains.csv; crates/sim/tests/kernel_trains.rs compares
with it.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import paceline as pl

RECORD = Path(__file__).parent.parent.parent / "tests" / "oracles" / "kernel-trains.csv"
FIELDS = (
    "rate", "buffer", "acks", "trains", "mean", "p10", "p50", "p90", "per_ack", "utilisation", "loss", "retransmits",
)  # fmt: skip
#: Bytes of payload of a packet; packets of the longest train; seconds of a run, of which those from SETTLED on count.
PAYLOAD, LONGEST, RUN, SETTLED = 1448, 45, 12, 4
#: Packets of one train are captured closer together than this, ns.
TOGETHER = 12_000
SYN = 2


class Packet(NamedTuple):
    """A captured packet: ns, source address, number of its first byte, bytes of payload, TCP's flags."""

    at: int
    source: bytes
    seq: int
    bytes: int
    flags: int


class Case(NamedTuple):
    """Rate, Mbit/s; buffer, packets; acknowledgements are `delayed`, or each packet's goes at once (`each`); or they
    are delayed and the host paces (`paced`)."""

    rate: int
    buffer: int
    acks: str = "delayed"


def cases() -> list[Case]:
    """All that are recorded."""
    of_bdp = [Case(rate, max(2, round(rate * 1e6 * 0.020 / 8 / 1500))) for rate in (1, 2, 5, 10, 20, 50, 100, 200)]
    small = [Case(rate, buffer) for rate in (20, 100) for buffer in (5, 10, 20, 50)]
    paced = [
        Case(rate, buffer, "paced") for rate, buffer in ((10, 17), (20, 10), (50, 83), (100, 20), (100, 50), (200, 333))
    ]
    return [*of_bdp, *small, Case(100, 5, "each"), Case(100, 10, "each"), *paced]


def scenario(case: Case) -> dict[str, Any]:
    """Its file."""
    links = [
        {"name": "host", "rate": "1 Gbit/s", "delay": "1 ms"},
        {"name": "core", "rate": f"{case.rate} Mbit/s", "delay": "9 ms", "buffer": f"{case.buffer} packets"},
    ]
    tcp: dict[str, Any] = {"profile": "linux", "variant": "cubic", "gso": f"{LONGEST} packets"}
    if case.acks == "each":
        tcp["delayed_ack"] = False
    return {
        "pacing": "host" if case.acks == "paced" else "none",
        "duration": f"{RUN} s",
        "warmup": f"{SETTLED} s",
        "network": {"template": "path", "links": links},
        "traffic": [{"kind": "bulk", "tcp": tcp}],
    }


def capture(path: Path, done: threading.Event) -> None:
    """Captures at the device of the hosts that connect, in the first network namespace that this process holds."""
    own = _target(Path("/proc/self/ns/net"))
    while not done.is_set():
        held = [fd for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink() and _target(fd).startswith("net:")]
        for fd in sorted((fd for fd in held if _target(fd) != own), key=lambda fd: int(fd.name)):
            enter = ["nsenter", f"--net=/proc/{os.getpid()}/fd/{fd.name}"]
            if subprocess.run([*enter, "ip", "link", "show", "hosts"], capture_output=True).returncode:
                break  # the device is not there yet
            dump = ["tcpdump", "-i", "hosts", "-n", "-s", "96", "-B", "65536", "--time-stamp-precision=nano"]
            dump += ["-Z", "root", "-w", str(path), "tcp"]
            with subprocess.Popen([*enter, *dump], stderr=subprocess.DEVNULL) as running:
                while running.poll() is None and not done.wait(0.02):
                    pass
                running.terminate()
            if path.exists():
                return
            break  # the device was not up yet
        time.sleep(0.005)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""  # closed meanwhile


def packets(path: Path) -> Iterator[Packet]:
    """What a capture of a TUN device holds."""
    data = path.read_bytes()
    at = 24
    while at + 16 <= len(data):
        seconds, nanos, kept, _ = struct.unpack("<IIII", data[at : at + 16])
        packet = data[at + 16 : at + 16 + kept]
        at += 16 + kept
        header = (packet[0] & 15) * 4
        total, seq = struct.unpack(">H", packet[2:4])[0], struct.unpack(">I", packet[header + 4 : header + 8])[0]
        length = total - header - (packet[header + 12] >> 4) * 4
        yield Packet(seconds * 10**9 + nanos, packet[12:16], seq, length, packet[header + 13])


def measure(path: Path, run: pl.Result) -> dict[str, float]:
    """Lengths of trains of new data, and packets for each acknowledgement."""
    all_packets = list(packets(path))
    first = next(packet for packet in all_packets if packet.flags & SYN)
    start = first.at + SETTLED * 10**9
    sent: set[int] = set()
    trains: list[list[int]] = []  # packets, and how many of them were sent again
    last, count, acks = 0, 0, 0
    for packet in all_packets:
        if packet.source != first.source:
            acks += packet.at >= start and not packet.bytes
            continue
        again = packet.seq in sent
        sent.add(packet.seq)
        if not packet.bytes or packet.at < start:
            continue
        if not trains or packet.at - last >= TOGETHER:
            trains.append([0, 0])
        trains[-1][0] += 1
        trains[-1][1] += again
        last = packet.at
        count += 1
    sizes = sorted(packets for packets, again in trains if not again)
    core = run.links["core"]
    return {
        "trains": len(sizes),
        "mean": round(statistics.mean(sizes), 3),
        **{f"p{share}": sizes[len(sizes) * share // 100] for share in (10, 50, 90)},
        "per_ack": round(count / acks, 3),
        "utilisation": round(core.utilisation or 0.0, 4),
        "loss": round(core.loss_ratio or 0.0, 5),
        "retransmits": run.flows.retransmits or 0,
    }


def main() -> None:
    from paceline.emulate.kernel_sweep import emulate

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    seeds = parser.parse_args().seeds
    rows = list(csv.DictReader(RECORD.read_text().splitlines())) if RECORD.exists() else []
    for case in cases():
        known = sum(1 for row in rows if Case(int(row["rate"]), int(row["buffer"]), row["acks"]) == case)
        for seed in range(known, seeds):
            with tempfile.TemporaryDirectory() as folder:
                path, done = Path(folder) / "capture", threading.Event()
                watching = threading.Thread(target=capture, args=(path, done))
                watching.start()
                try:
                    run = emulate(pl.Scenario(scenario(case)).set("seed", seed + 1))[0]
                finally:
                    done.set()
                    watching.join()
                if not run.engine.valid:
                    print(f"{case}: packets were {run.engine.lateness_p99_us} us late, so it does not count")
                    continue
                found = {**case._asdict(), **measure(path, run)}
            with RECORD.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if file.tell() == 0:
                    writer.writeheader()
                writer.writerow(found)
            print(found)


if __name__ == "__main__":
    main()
