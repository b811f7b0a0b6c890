"""TCP of this machine's kernel through a policer: as root, with `nft`.

    python benches/kernel/policer.py                   the rest of the cases that are not recorded yet (24 s a run)
    python benches/kernel/policer.py --seeds 3         so many runs of each

One CUBIC connection over 20 ms, whose packets pass a token bucket that counts packets (nftables' `limit`) before they
reach the other host; unpaced or paced by the host, packet by packet or in trains. A run is a row of
tests/oracles/kernel-policer.csv; crates/sim/tests/kernel_policer.rs compares with it.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import paceline as pl

RECORD = Path(__file__).parent.parent.parent / "tests" / "oracles" / "kernel-policer.csv"
FIELDS = ("rate", "burst", "sender", "passed", "loss", "retransmits")
#: Seconds of a run, of which those from SETTLED on count.
RUN, SETTLED = 24, 4
#: Bytes of a packet on the wire, and the address of the host that listens.
PACKET, LISTENS = 1500, "10.128.0.2/"


class Case(NamedTuple):
    """Packets a second; packets in the bucket; the sender is `unpaced`, `paced`, sends `trains`, or `paced-trains`."""

    rate: int
    burst: int
    sender: str


def cases() -> list[Case]:
    """All that are recorded: 10 and 20 Mbit/s."""
    by_packet = [
        Case(rate, burst, how) for rate in (833, 1667) for burst in (5, 20, 80) for how in ("unpaced", "paced")
    ]
    return [*by_packet, *(Case(1667, burst, how) for burst in (5, 20) for how in ("trains", "paced-trains"))]


def scenario(case: Case) -> dict[str, Any]:
    """Its file, without the policer."""
    links = [
        {"name": "host", "rate": "200 Mbit/s", "delay": "1 ms"},
        {"name": "core", "rate": "200 Mbit/s", "delay": "9 ms"},
    ]
    tcp: dict[str, Any] = {"profile": "linux", "variant": "cubic"}
    if "trains" in case.sender:
        tcp["gso"] = "45 packets"
    return {
        "pacing": {"method": "host", "rule": "linux"} if "paced" in case.sender.split("-") else "none",
        "duration": f"{RUN} s",
        "warmup": f"{SETTLED} s",
        "network": {"template": "path", "links": links},
        "traffic": [{"kind": "bulk", "tcp": tcp}],
    }


class Policer(threading.Thread):
    """Puts the policer before the host that listens, and counts what it passes and drops."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case, self.done = case, threading.Event()
        self.counted: list[tuple[int, int]] = []

    def run(self) -> None:
        """Until it is done."""
        while not self.done.is_set() and not (enter := _find()):
            time.sleep(0.005)
        if self.done.is_set():
            return
        lines = [
            "add table ip policed",
            "add chain ip policed arrivals { type filter hook prerouting priority -400 ; }",
            f"add rule ip policed arrivals meta length > {PACKET // 2} limit rate over {self.case.rate}/second"
            f" burst {self.case.burst} packets counter drop",
            f"add rule ip policed arrivals meta length > {PACKET // 2} counter",
        ]
        for line in lines:
            subprocess.run([*enter, "nft", *line.split(" ")], check=True)
        began = time.monotonic()
        for at in (SETTLED, RUN - 0.5):
            if self.done.wait(max(0.0, began + at - time.monotonic())):
                return
            shown = subprocess.run([*enter, "nft", "list", "table", "ip", "policed"], capture_output=True, text=True)
            numbers = [
                int(line.split("counter packets ")[1].split()[0])
                for line in shown.stdout.splitlines()
                if "counter" in line
            ]
            self.counted.append((numbers[0], numbers[1]))


def _find() -> list[str]:
    """How to enter the namespace of the host that listens, once its device has its address."""
    held = [fd for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink() and _target(fd).startswith("net:")]
    for fd in held:
        enter = ["nsenter", f"--net=/proc/{os.getpid()}/fd/{fd.name}"]
        shown = subprocess.run([*enter, "ip", "-o", "address"], capture_output=True, text=True)
        if shown.returncode == 0 and LISTENS in shown.stdout:
            return enter
    return []


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""  # closed meanwhile


def main() -> None:
    from paceline.emulate.kernel_sweep import emulate

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    seeds = parser.parse_args().seeds
    rows = list(csv.DictReader(RECORD.read_text().splitlines())) if RECORD.exists() else []
    for case in cases():
        known = sum(1 for row in rows if (int(row["rate"]), int(row["burst"]), row["sender"]) == case)
        for seed in range(known, seeds):
            policer = Policer(case)
            policer.start()
            try:
                run = emulate(pl.Scenario(scenario(case)).set("seed", seed + 1))[0]
            finally:
                policer.done.set()
                policer.join()
            if not run.engine.valid or len(policer.counted) < 2:
                print(f"{case}: packets were {run.engine.lateness_p99_us} us late, so it does not count")
                continue
            (dropped, passed), (dropped_at_end, passed_at_end) = policer.counted
            dropped, passed = dropped_at_end - dropped, passed_at_end - passed
            found = {
                **case._asdict(),
                "passed": round(passed / (RUN - 0.5 - SETTLED) / case.rate, 4),
                "loss": round(dropped / (passed + dropped), 5),
                "retransmits": run.flows.retransmits or 0,
            }
            with RECORD.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if file.tell() == 0:
                    writer.writeheader()
                writer.writerow(found)
            print(found)


if __name__ == "__main__":
    main()
