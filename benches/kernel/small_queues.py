"""What this machine's kernel keeps in the queue of its own host (TCP small queues): as root, with `tc` and `ss`.

    python benches/kernel/small_queues.py              the rest of the cases that are not recorded yet (12 s a run)
    python benches/kernel/small_queues.py --seeds 3    so many runs of each

Connections of one host over 20 ms whose own interface is the bottleneck: a token bucket (`tc qdisc ... tbf`) of one
packet before the device by which packets leave that host. What waits there, the round trip that TCP sees, its window
and the memory that its packets take are read every 20 ms. A run is a row of tests/oracles/kernel-small-queues.csv;
crates/sim/tests/small_queues.rs compares with it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import paceline as pl

RECORD = Path(__file__).parent.parent.parent / "tests" / "oracles" / "kernel-small-queues.csv"
FIELDS = ("rate", "flows", "control", "queue", "queue_p90", "rtt_ms", "cwnd", "unacked", "held", "utilisation", "jain")
#: Seconds of a run, of which those from SETTLED on count, and between two looks.
RUN, SETTLED, EVERY = 12, 4, 0.02
#: Bytes of a packet on the wire.
PACKET = 1500


class Case(NamedTuple):
    """Rate of the host's interface, Mbit/s; connections; the congestion control."""

    rate: int
    flows: int
    control: str = "cubic"


def cases() -> list[Case]:
    """All that are recorded."""
    of_cubic = [
        Case(rate, flows) for rate, flows in ((5, 1), (5, 4), (10, 1), (10, 4), (20, 1), (20, 8), (50, 1), (50, 4))
    ]
    return [*of_cubic, Case(10, 1, "reno"), Case(20, 4, "reno")]


def scenario(case: Case) -> dict[str, Any]:
    """Its file: the path beyond the host's interface, which is never full."""
    links = [
        {"name": "host", "rate": "400 Mbit/s", "delay": "1 ms"},
        {"name": "core", "rate": "400 Mbit/s", "delay": "9 ms"},
    ]
    variant = "sack" if case.control == "reno" else case.control
    tcp = {"profile": "linux", "variant": variant}
    return {
        "duration": f"{RUN} s",
        "warmup": f"{SETTLED} s",
        "network": {"template": "path", "links": links},
        "traffic": [{"kind": "bulk", "count": case.flows, "start": "0 s .. 200 ms", "tcp": tcp}],
    }


class Watch(threading.Thread):
    """Puts the token bucket before the host's device, and looks at it and at the connections."""

    def __init__(self, rate: int) -> None:
        super().__init__()
        self.rate, self.done = rate, threading.Event()
        self.queued: list[float] = []
        self.sockets: list[dict[str, float]] = []

    def run(self) -> None:
        """Until it is done."""
        while not self.done.is_set() and not (enter := self._find()):
            time.sleep(0.005)
        if self.done.is_set():
            return
        bucket = ["tbf", "rate", f"{self.rate}mbit", "burst", "1540", "limit", "20mb"]
        subprocess.run([*enter, "tc", "qdisc", "replace", "dev", "hosts", "root", *bucket], check=True)
        began = time.monotonic()
        while not self.done.wait(EVERY):
            shown = subprocess.run([*enter, "tc", "-s", "-j", "qdisc", "show", "dev", "hosts"], capture_output=True)
            sockets = subprocess.run([*enter, "ss", "-tinmH", "state", "established"], capture_output=True, text=True)
            if shown.returncode or sockets.returncode:
                return
            if SETTLED < time.monotonic() - began < RUN - 0.5:
                self.queued.append(next(one["backlog"] for one in json.loads(shown.stdout) if one["kind"] == "tbf"))
                self.sockets += _sockets(sockets.stdout)

    @staticmethod
    def _find() -> list[str]:
        """How to enter the namespace that has the device of the hosts that connect, once that is up."""
        own = _target(Path("/proc/self/ns/net"))
        held = [fd for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink() and _target(fd).startswith("net:")]
        for fd in sorted((fd for fd in held if _target(fd) != own), key=lambda fd: int(fd.name)):
            enter = ["nsenter", f"--net=/proc/{os.getpid()}/fd/{fd.name}"]
            shown = subprocess.run([*enter, "ip", "link", "show", "hosts", "up"], capture_output=True)
            return enter if shown.returncode == 0 and shown.stdout else []
        return []


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""  # closed meanwhile


def _sockets(shown: str) -> Iterator[dict[str, float]]:
    """Connections that send: their round trip, window, packets outstanding, and bytes in the host's queue."""
    for text in re.split(r"\n(?=\S)", shown):
        found = {
            "rtt_ms": re.search(r" rtt:([\d.]+)/", text),
            "cwnd": re.search(r" cwnd:(\d+)", text),
            "unacked": re.search(r" unacked:(\d+)", text),
            "held": re.search(r"skmem:\(.*?,t(\d+),", text),
        }
        if found["unacked"] and all(found.values()):
            yield {key: float(value.group(1)) for key, value in found.items() if value}


def main() -> None:
    from paceline.emulate.kernel_sweep import emulate

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    seeds = parser.parse_args().seeds
    rows = list(csv.DictReader(RECORD.read_text().splitlines())) if RECORD.exists() else []
    for case in cases():
        known = sum(1 for row in rows if (int(row["rate"]), int(row["flows"]), row["control"]) == case)
        for seed in range(known, seeds):
            watch = Watch(case.rate)
            watch.start()
            try:
                run = emulate(pl.Scenario(scenario(case)).set("seed", seed + 1))[0]
            finally:
                watch.done.set()
                watch.join()
            if not run.engine.valid or not watch.sockets:
                print(f"{case}: packets were {run.engine.lateness_p99_us} us late, so it does not count")
                continue
            found = {
                **case._asdict(),
                "queue": round(statistics.mean(watch.queued) / PACKET, 2),
                "queue_p90": round(statistics.quantiles(watch.queued, n=10)[-1] / PACKET, 2),
                **{
                    key: round(statistics.median(one[key] for one in watch.sockets), 2)
                    for key in ("rtt_ms", "cwnd", "unacked", "held")
                },
                "utilisation": round(run.links["host"].throughput_bps / case.rate / 1e6, 4),
                "jain": round(run.flows.jain or 0.0, 4),
            }
            with RECORD.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if file.tell() == 0:
                    writer.writeheader()
                writer.writerow(found)
            print(found)


if __name__ == "__main__":
    main()
