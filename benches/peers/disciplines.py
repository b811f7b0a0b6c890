"""Queue disciplines beside those of ns-3, fed the same packets: `python benches/peers/disciplines.py`, a minute.

Arrivals are those of the tests of `crates/core/tests/aqm/`: sizes and flows drawn, at loads from .2 to 10 that change
every few hundred packets. Both sides have one link of 8 Mbit/s; ns-3's discipline stands alone (disciplines.cc). What a
row says is summed over the seeds, delays are means. The last rows are CoDel and FQ-CoDel written out
(codel_reference.py), as here and as in ns-3. Needs Debian's libns3-dev and g++.
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import codel_reference
import numpy as np
from red import RATE, arrivals
from speed import finished

HERE = Path(__file__).resolve().parent
LIBRARIES = ("core", "network", "internet", "traffic-control", "stats", "bridge")
Arrivals = list[tuple[int, int, int]]


@dataclass(frozen=True)
class Both:
    """A discipline in the words of both.

    Attributes:
        name: what the row is called.
        ours: the `queue` of a link, whose buffer takes a thousand packets.
        ns3: its type, and its attributes in brackets.
        ecn: packets can be marked.
    """

    name: str
    ours: dict[str, Any]
    ns3: str
    ecn: bool = False


_RED = {"thresh": "5 packets", "maxthresh": "15 packets", "mean_packet": "1000 B", "unit": "packets", "q_weight": 0.002}
_NS3_RED = "ns3::RedQueueDisc[MaxSize=1000p|MinTh=5|MaxTh=15|MeanPktSize=1000|QW=0.002|LInterm=10|LinkBandwidth=8Mbps"
CASES = (
    Both("drop-tail", {"discipline": "drop-tail"}, "ns3::FifoQueueDisc[MaxSize=1000p]"),
    Both("codel", {"discipline": "codel"}, "ns3::CoDelQueueDisc[MaxSize=1000p]"),
    Both("codel, marks", {"discipline": "codel"}, "ns3::CoDelQueueDisc[MaxSize=1000p|UseEcn=true]", True),
    Both("fq-codel", {"discipline": "fq-codel"}, "ns3::FqCoDelQueueDisc[MaxSize=1000p|DropBatchSize=1]"),
    Both("fq-codel, marks", {"discipline": "fq-codel"}, "ns3::FqCoDelQueueDisc[MaxSize=1000p|DropBatchSize=1]", True),
    Both("pie", {"discipline": "pie"}, "ns3::PieQueueDisc[MaxSize=1000p]"),
    Both("red", {"discipline": "red"} | _RED, f"{_NS3_RED}]"),
    Both("red, adaptive", {"discipline": "red", "adaptive": "yes"} | _RED, f"{_NS3_RED}|AdaptMaxP=true]"),
)


def compiled(folder: Path) -> Path:
    """The program of ns-3.

    Raises:
        SystemExit: it does not compile.
    """
    program = folder / "disciplines"
    libraries = [f"-lns3-{name}" for name in LIBRARIES]
    command = ["g++", "-std=c++17", "-O1", "-o", str(program), str(HERE / "disciplines.cc"), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"disciplines.cc does not compile; apt-get install libns3-dev g++: {done.stderr.splitlines()[0]}")
    return program


def by_ns3(program: Path, both: Both, packets: Arrivals, seed: int) -> dict[str, float]:
    """Packets dropped, marked and sent until the last arrival, and the mean time from arrival to last bit, s."""
    lines = "\n".join(f"{at} {size} {flow}" for at, size, flow in packets)
    command = [
        str(program),
        f"--discipline={both.ns3}",
        f"--rate={RATE}",
        f"--ecn={int(both.ecn)}",
        f"--seed={1 + seed}",
    ]
    return finished(command, "ns-3", lines)


def capture(file: Path, packets: Iterable[tuple[int, int]]) -> None:
    """Packets of these times (ns) and sizes, as a capture of nanoseconds."""
    with file.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for at, size in packets:
            out.write(struct.pack("<IIII", at // 10**9, at % 10**9, 0, size))


def by_paceline(both: Both, packets: Arrivals, seed: int) -> dict[str, float]:
    """The same."""
    import paceline as pl

    with tempfile.TemporaryDirectory() as folder:
        traffic = []
        for flow in sorted({flow for _, _, flow in packets}):
            own = [(at, size) for at, size, whose in packets if whose == flow]
            file = Path(folder) / f"{flow}.pcap"
            capture(file, own)
            table = {"kind": "pcap", "name": f"f{flow}", "file": str(file), "start": f"{own[0][0]} ns"}
            traffic.append(table | ({"ecn": "ect0"} if both.ecn else {}))
        link = {"name": "wire", "rate": f"{RATE} bit/s", "delay": "0 s", "buffer": "1000 packets", "queue": both.ours}
        document = {
            "duration": f"{packets[-1][0]} ns",
            "network": {"template": "path", "links": [link]},
            "traffic": traffic,
        }
        run = pl.run(pl.Scenario(document), 1 + seed)
    wire, came = run.links[run.core], run.per_flow["received_packets"]
    return {
        "dropped": wire.dropped_packets,
        "marked": wire.marked_packets or 0,
        "left": int(came.sum()),
        "delay_mean_s": float(np.nansum(came * run.per_flow["network_delay_mean_s"]) / came.sum()),
    }


#: Disciplines that codel_reference.py has.
WRITTEN_OUT = {"codel": codel_reference.Fifo, "fq-codel": codel_reference.Fair}


def written_out(name: str, packets: Arrivals, as_ns3: bool, marks: bool) -> dict[str, float]:
    """The same by the second writing of a discipline."""
    dropped, marked, delay = codel_reference.run(WRITTEN_OUT[name](as_ns3, marks, 1000), packets)
    return {"dropped": dropped, "marked": marked, "delay_mean_s": delay}


def row_of(name: str, ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> list[str]:
    """Sums and mean delays of both sides, and how far they are apart."""
    row = [name]
    for key in ("dropped", "marked", "delay_mean_s"):
        here, there = (sum(one[key] for one in side) for side in (ours, theirs))
        scale = 1e3 / len(ours) if key == "delay_mean_s" else 1
        row += [f"{here * scale:.5g}", f"{there * scale:.5g}", f"{here / there - 1:+.2%}" if there else ""]
    return row


def main() -> int:
    """Runs every discipline under every seed, and prints a table."""
    parser = argparse.ArgumentParser(description="Queue disciplines beside those of ns-3, fed the same packets.")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("--packets", type=int, default=4000, metavar="N", help="arrivals a seed")
    asked = parser.parse_args()
    # no two at one instant, of which either could be the first
    drawn = [arrivals(seed, asked.packets) for seed in range(asked.seeds)]
    inputs = [[(at + place, size, flow) for place, (at, size, flow) in enumerate(packets)] for packets in drawn]
    rows = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        program = compiled(Path(folder))
        for both in CASES:
            theirs = list(pool.map(partial(by_ns3, program, both), inputs, range(asked.seeds)))
            ours = [by_paceline(both, packets, seed) for seed, packets in enumerate(inputs)]
            rows.append(row_of(both.name, ours, theirs))
            print(".", end="", file=sys.stderr, flush=True)
    for name, marks in product(WRITTEN_OUT, (False, True)):
        ours, theirs = ([written_out(name, packets, as_ns3, marks) for packets in inputs] for as_ns3 in (False, True))
        rows.append(row_of(f"{name}{', marks' if marks else ''}, written out", ours, theirs))
    heads = [""]
    for what in ("dropped", "marked", "delay, ms"):
        heads += [what, "ns-3", ""]
    for line in (heads, *rows):
        print(f"{line[0]:26}", *(f"{cell:>9}" for cell in line[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
