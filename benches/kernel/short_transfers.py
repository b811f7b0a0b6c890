"""How long short transfers take on this machine's kernel, beside the simulator: as root, on an idle machine.

    python benches/kernel/short_transfers.py                 a table of what is recorded, beside the simulator's
    python benches/kernel/short_transfers.py --record        runs the kernel, a minute, and records it first

One user fetches files of 1, 3 and 11 packets over a round trip of 2 or 50 ms, a connection each or all on one. Means
are rows of tests/oracles/kernel-transfers.csv, with which tests/test_kernel_transfers.py compares.
"""

from __future__ import annotations

import argparse
import csv
import sys
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import paceline as pl
from paceline.emulate import Choices, emulate

RECORD = Path(__file__).parent.parent.parent / "tests" / "oracles" / "kernel-transfers.csv"
FIELDS = ("packets", "rtt_ms", "connection", "fct_ms", "fct_data_ms")
#: Payload of a packet, bytes.
PAYLOAD = 1448
#: The links' program is awake for so long before a packet is due: longer than the shorter delay.
SPIN_US = 1_500


class Case(NamedTuple):
    """Packets of a file; the round trip without a queue, ms; `new` connections or one that is `kept`."""

    packets: int
    rtt_ms: int
    connection: str


CASES = [Case(*one) for one in product((1, 3, 11), (2, 50), ("new", "kept"))]


def scenario(case: Case) -> pl.Scenario:
    """Its file."""
    users: dict[str, Any] = {"kind": "closed-loop", "size": f"{case.packets * PAYLOAD} B", "think": "10 ms"}
    link = {"name": "link", "rate": "100 Mbit/s", "delay": f"{case.rtt_ms / 2} ms"}
    return pl.Scenario(
        {
            "duration": "4 s",
            "network": {"template": "path", "links": [link]},
            "traffic": [users | {"connection": case.connection, "tcp": {"profile": "linux"}}],
        }
    )


def times_ms(run: pl.Result) -> tuple[float, float]:
    """Mean completion time, from the start and from the first data."""
    assert run.flows.fct_mean_s is not None
    assert run.flows.fct_data_mean_s is not None
    return run.flows.fct_mean_s * 1e3, run.flows.fct_data_mean_s * 1e3


def recorded() -> list[tuple[Case, tuple[float, float]]]:
    """The kernel's."""
    with RECORD.open(newline="") as file:
        return [
            (
                Case(int(row["packets"]), int(row["rtt_ms"]), row["connection"]),
                (float(row["fct_ms"]), float(row["fct_data_ms"])),
            )
            for row in csv.DictReader(file)
        ]


def record() -> None:
    """Runs them on the kernel."""
    rows = []
    for case in CASES:
        run = emulate(scenario(case), Choices(spin_us=SPIN_US))[0]
        if doubts := run.to_dict()["engine"]["doubts"]:
            print(f"{case}: {'; '.join(doubts)}", file=sys.stderr)
        rows.append((*case, *(f"{time:.3f}" for time in times_ms(run))))
    with RECORD.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([FIELDS, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description="Short transfers on this machine's kernel.")
    parser.add_argument("--record", action="store_true", help="run them on the kernel, and record that")
    if parser.parse_args().record:
        record()
    print("packets  round trip  connection   kernel, ms  simulator  apart     from the first data")
    for case, kernel in recorded():
        ours = times_ms(pl.run(scenario(case)))
        apart = [100 * (here / there - 1) for here, there in zip(ours, kernel, strict=True)]
        print(
            f"{case.packets:7}  {case.rtt_ms:7} ms  {case.connection:10}  {kernel[0]:11.3f}  {ours[0]:9.3f}"
            f"  {apart[0]:+5.1f} %  {apart[1]:+5.1f} %"
        )


if __name__ == "__main__":
    main()
