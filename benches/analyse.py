"""How fast `paceline analyse` reads a capture, and in how much memory.

    python benches/analyse.py            five million packets of 96 captured bytes, 560 MB
    python benches/analyse.py --quick    a tenth of that

Packets come at random from 20,000 flows over Ethernet, as a pcap with times in nanoseconds. `ns a packet` and `MB/s`
are by the command's own CPU time, start-up included; memory is its peak. Ratios hold across machines, nanoseconds do
not.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CAPTURED = 96
RECORD = np.dtype(
    [("seconds", "<u4"), ("nanoseconds", "<u4"), ("captured", "<u4"), ("length", "<u4"), ("frame", "u1", CAPTURED)]
)
WAYS: tuple[tuple[str, ...], ...] = (
    (),
    ("--by", "flow"),
    ("--pacer", "edge 10 ms"),
    ("--pacer", "qlbp load = 0.5, max_delay = 10 ms, link = 10 Gbit/s"),
    ("--pacer", "token-bucket rate = 5 Gbit/s, burst = 30 KB, link = 10 Gbit/s"),
    ("--by", "flow", "--pacer", "none link = 10 Gbit/s", "--pacer", "edge 10 ms link = 10 Gbit/s"),
)


def make(path: Path, packets: int) -> None:
    """Writes a capture of 2 Gbit/s."""
    random = np.random.default_rng(1)
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        now = 1_600_000_000 * 10**9
        for start in range(0, packets, 100_000):
            count = min(100_000, packets - start)
            times = now + np.cumsum(random.exponential(3000.0, count).astype(np.int64))
            now = int(times[-1])
            records = np.zeros(count, RECORD)
            records["seconds"], records["nanoseconds"] = times // 10**9, times % 10**9
            records["captured"], records["length"] = CAPTURED, random.choice([CAPTURED, 1514], count)
            flow = np.minimum(random.pareto(1.1, count) * 10, 20_000).astype(np.int64)
            frame = records["frame"]
            frame[:, 12:16] = (8, 0, 0x45, 0)
            frame[:, 23], frame[:, 26], frame[:, 30] = 6, 10, 10
            frame[:, 28], frame[:, 29], frame[:, 33] = flow >> 8, flow & 255, 1
            frame[:, 34:38] = (0x1F, 0x90, 0, 80)
            file.write(records.tobytes())


def measure(path: Path, way: tuple[str, ...]) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of one command."""
    command = [sys.executable, "-m", "paceline", "analyse", str(path), *way]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Prints a row a way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the packets")
    packets = 500_000 if parser.parse_args().quick else 5_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traffic.pcap"
        make(path, packets)
        size = path.stat().st_size
        print(f"{'paceline analyse traffic.pcap':90} {'ns a packet':>12} {'MB/s':>6} {'memory, MB':>11}")
        for way in WAYS:
            seconds, memory = min(measure(path, way) for _ in range(3))
            words = " ".join(f'"{word}"' if " " in word else word for word in way)
            print(f"{words:90} {seconds / packets * 1e9:12.0f} {size / seconds / 1e6:6.0f} {memory:11.0f}")


if __name__ == "__main__":
    main()
