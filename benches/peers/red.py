"""Which packets ns-2's own RED drops, of arrivals that the tests of `crates/core/tests/aqm/red.rs` draw too.

`python benches/peers/red.py` runs ns-2 and writes `crates/core/tests/aqm/red-ns2.txt`: a line a setting, then the
numbers of the packets dropped, then
the average queue after each hundredth arrival.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

PACKETS = 4000
#: Bits a second: a byte takes a microsecond.
RATE = 8_000_000
#: By name: what is set of ``Queue/RED``.
SETTINGS = {
    "defaults": {},
    "packets": {"bytes_": "false", "queue_in_bytes_": "false", "mean_pktsize_": 1000, "thresh_": 4, "maxthresh_": 12},
    "no-wait": {"wait_": "false", "mean_pktsize_": 1000, "q_weight_": 0.01},
    "not-gentle": {"gentle_": "false", "thresh_": 10, "maxthresh_": 20, "linterm_": 20, "q_weight_": 0.02},
    "adaptive": {"adaptive_": 1, "mean_pktsize_": 1000, "thresh_": 5, "maxthresh_": 15},
}
OUT = Path(__file__).parents[2] / "crates/core/tests/aqm/red-ns2.txt"
MASK = (1 << 64) - 1


class Draws:
    """The draws of the tests (`drive.rs`)."""

    def __init__(self, state: int) -> None:
        self.state = state

    def below(self, below: int) -> int:
        self.state = (self.state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) & MASK
        mixed = ((self.state ^ (self.state >> 29)) * 0xBF58_476D_1CE4_E5B9) & MASK
        return (mixed ^ (mixed >> 32)) % below


def arrivals(seed: int, packets: int = PACKETS) -> list[tuple[int, int, int]]:
    """Times in nanoseconds, sizes in bytes and flows, as `drive.rs` draws them for the seed."""
    draws = Draws(seed ^ 0x5EED)
    now, load, flows = 1_000_000_000, 100, 1
    sizes = [1500, 1500, 1500, 40, 576, 1000]
    out = []
    for _ in range(packets):
        if draws.below(200) == 0:
            load = [20, 60, 90, 110, 150, 300, 1_000][draws.below(7)]
            flows = 1 + draws.below(12)
        size = sizes[draws.below(6)]
        now += draws.below(2 * size * 1_000 * 100 // load + 1) * [0, 1, 1, 1][draws.below(4)]
        out.append((now, size, draws.below(flows)))
    return out


def run(seed: int, settings: dict[str, object]) -> tuple[list[int], list[float]]:
    """The numbers of packets dropped, and the average queue at each hundredth arrival."""
    packets = arrivals(seed)
    script = ["set ns [new Simulator]"]
    script += [f"Queue/RED set {name} {value}" for name, value in settings.items()]
    script += [
        "set a [$ns node]; set b [$ns node]",
        f"$ns simplex-link $a $b {RATE} 10ms RED",
        "$ns queue-limit $a $b 100000",
        "set udp [new Agent/UDP]; $udp set packetSize_ 3000; $ns attach-agent $a $udp",
        "set sink [new Agent/Null]; $ns attach-agent $b $sink; $ns connect $udp $sink",
        "$ns trace-queue $a $b [open out.tr w]",
        "set red [[$ns link $a $b] queue]",
        "set averages [open averages w]",
    ]
    for number, (at, size, _) in enumerate(packets):
        script.append(f"$ns at {at / 1e9!r} {{$udp send {size}}}")
        if number % 100 == 99:
            script.append(f"$ns at {at / 1e9!r} {{puts $averages [format %.17g [$red set ave_]]}}")
    script += [f"$ns at {packets[-1][0] / 1e9 + 10!r} {{close $averages; $ns flush-trace; exit 0}}", "$ns run"]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "red.tcl").write_text("\n".join(script))
        subprocess.run(["ns", "red.tcl"], cwd=place, check=True)
        events = [line.split() for line in (Path(place) / "out.tr").read_text().splitlines()]
        averages = [float(line) for line in (Path(place) / "averages").read_text().split()]
    numbers = [int(event[-1]) for event in events if event[0] == "+"]
    assert numbers == sorted(numbers), "packets are numbered in their order"
    assert len(numbers) == PACKETS, len(numbers)
    place_of = {number: place for place, number in enumerate(numbers)}
    return [place_of[int(event[-1])] for event in events if event[0] == "d"], averages


def main() -> None:
    """Run every setting with its seed, and write what comes of it."""
    lines = []
    for seed, (name, settings) in enumerate(SETTINGS.items()):
        dropped, averages = run(seed, settings)
        print(name, len(dropped), max(averages))
        lines += [name, " ".join(map(str, dropped)), " ".join(map(repr, averages))]
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
