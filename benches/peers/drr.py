"""In which order ns-2's own DRR serves packets, of arrivals that the tests of `crates/core/tests/aqm/drr.rs` draw too.

`python benches/peers/drr.py` runs ns-2 and writes `crates/core/tests/aqm/drr-ns2.txt`: a line a quantum, in bytes, and
then the numbers of the packets in the order in which they leave.
"""

from __future__ import annotations

import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

from red import RATE, arrivals

PACKETS = 1000
#: Bytes, by seed.
QUANTA = [300, 500, 1500, 6000]
OUT = Path(__file__).parents[2] / "crates/core/tests/aqm/drr-ns2.txt"


def run(seed: int, quantum: int) -> list[int]:
    """The numbers of the packets in the order in which their service begins."""
    packets = arrivals(seed, PACKETS)
    script = [
        "set ns [new Simulator]",
        f"Queue/DRR set quantum_ {quantum}",
        # without a limit, and each source address in a bucket of its own
        "Queue/DRR set blimit_ 100000000; Queue/DRR set buckets_ 64; Queue/DRR set mask_ 0",
        "set a [$ns node]; set b [$ns node]",
        f"$ns simplex-link $a $b {RATE} 10ms DRR",
        "$ns trace-queue $a $b [open out.tr w]",
        "set sink [new Agent/Null]; $ns attach-agent $b $sink",
    ]
    for flow in sorted({flow for _, _, flow in packets}):
        script.append(f"set udp{flow} [new Agent/UDP]; $udp{flow} set packetSize_ 3000; $ns attach-agent $a $udp{flow}")
        script.append(f"$ns connect $udp{flow} $sink; $udp{flow} set agent_addr_ {flow % 8 + 1}")
    script += [f"$ns at {at / 1e9!r} {{$udp{flow} send {size}}}" for at, size, flow in packets]
    script += [f"$ns at {packets[-1][0] / 1e9 + 100!r} {{$ns flush-trace; exit 0}}", "$ns run"]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "drr.tcl").write_text("\n".join(script))
        subprocess.run(["ns", "drr.tcl"], cwd=place, check=True)
        events = [line.split() for line in (Path(place) / "out.tr").read_text().splitlines()]
    numbers = [int(event[-1]) for event in events if event[0] == "+"]
    assert numbers == sorted(numbers), "packets are numbered in their order"
    assert len(numbers) == PACKETS, len(numbers)
    place_of = {number: place for place, number in enumerate(numbers)}
    return [place_of[int(event[-1])] for event in events if event[0] == "-"]


def main() -> None:
    """Run every quantum with its seed, and write what comes of it."""
    lines = []
    for seed, quantum in enumerate(QUANTA):
        left = run(seed, quantum)
        print(quantum, len(left), sum(one > other for one, other in pairwise(left)), "overtake")
        lines += [str(quantum), " ".join(map(str, left))]
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
