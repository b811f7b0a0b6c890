"""What ns-3's own CUBIC, BBR and FQ-CoDel take, and what Paceline's do, on the network of 1000 flows: CPU ns a packet.

    python benches/peers/ns3_controls.py                 three turns, some minutes: most of it ns-3's
    python benches/peers/ns3_controls.py --turns 1       one
    python benches/peers/ns3_controls.py --write-docs    and puts the table into docs/performance.md

Both sides take turns, so that other work on the machine affects both alike. ns-3's time is of the four seconds after
all flows have started, Paceline's of a minute. The two models are not each other's: the table says what either carries
and loses.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import cases  # noqa: E402
import runs  # noqa: E402
import speed  # noqa: E402
import tables  # noqa: E402

PAGE = runs.ROOT / "docs" / "performance.md"
TIMES = cases.Times(14, 10)
LONG = cases.Times(60, 20)


@dataclass(frozen=True)
class Row:
    """A control or a discipline on both sides: what ns-3 is told, and what changes in the scenario."""

    name: str
    tcp: str
    queue: str
    settings: runs.Settings


def _as_linux(variant: str) -> runs.Settings:
    tcp = {"variant": variant, "profile": "linux", "payload": "1000 B"}
    return {**cases.LIKE_NS3, "pacing": "none", "traffic.bulk.tcp": tcp}


ROWS = (
    Row("Reno with SACK", "TcpLinuxReno", "DropTail", {**cases.LIKE_NS3, "pacing": "none"}),
    Row("CUBIC", "TcpCubic", "DropTail", _as_linux("cubic")),
    Row("BBR", "TcpBbr", "DropTail", _as_linux("bbr")),
    Row(
        "Reno with SACK over FQ-CoDel",
        "TcpLinuxReno",
        "FqCoDelQueueDisc",
        {**cases.LIKE_NS3, "pacing": "none", "network.core.buffer": "1000 packets", "network.core.queue": "fq-codel"},
    ),
)


@dataclass(frozen=True)
class Measured:
    """CPU ns a packet, packets a second over the core, and the share that is lost there."""

    ns: float
    rate: float
    loss: float


def ours(row: Row, seed: int) -> Measured:
    """One run of Paceline."""
    cost = runs.measure(cases.DEMO, {**row.settings, "probes": {}, **LONG.settings}, seed)
    core, (start, end) = cost.result["links"]["core"], cost.result["window_s"]
    left = core["arrived_packets"] - core["dropped_packets"]
    return Measured(cost.ns_a_packet, left / (end - start), core["loss_ratio"])


def theirs(row: Row, program: Path, seed: int) -> Measured:
    """One run of ns-3."""
    network = speed.Network.of(runs.scenario(cases.DEMO, {**row.settings, "network.core.buffer": "5 KB"}))
    buffer = 1000 if row.queue != "DropTail" else 4
    peer = speed.ns3(program, network, TIMES.duration, TIMES.warmup, seed, tcp=row.tcp, queue=row.queue, buffer=buffer)
    return Measured(peer.ns_a_packet, peer.packets / peer.simulated_s, peer.result["loss_ratio"])


def table(found: dict[str, tuple[list[Measured], list[Measured]]]) -> str:
    """Medians of the turns, ns-3's over ours."""
    rows = []
    for name, (peers, own) in found.items():
        ns3, here = (statistics.median(one.ns for one in side) for side in (peers, own))
        carried = [f"{statistics.mean(one.rate for one in side):,.0f}" for side in (peers, own)]
        lost = [f"{100 * statistics.mean(one.loss for one in side):.1f}" for side in (peers, own)]
        rows.append([name, f"{ns3:,.0f}", f"{here:,.0f}", f"{ns3 / here:,.0f}", " / ".join(carried), " / ".join(lost)])
    heads = ["control", "ns-3, ns a packet", "here", "times", "packets a second, ns-3 / here", "lost, %"]
    return tables.markdown(heads, rows)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3, help="runs of each side, with a seed each (3)")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/performance.md")
    wanted = parser.parse_args()
    found: dict[str, tuple[list[Measured], list[Measured]]] = {row.name: ([], []) for row in ROWS}
    with tempfile.TemporaryDirectory() as folder:
        program = speed.compiled_ns3(Path(folder))
        if program is None:
            sys.exit(f"ns-3 is not installed: {speed.INSTALL['ns-3']}")
        for seed in range(1, wanted.turns + 1):
            for row in ROWS:
                peers, own = found[row.name]
                peers.append(theirs(row, program, seed))
                own.append(ours(row, seed))
                print(f"turn {seed}, {row.name}: {peers[-1].ns:,.0f} and {own[-1].ns:,.0f} ns", file=sys.stderr)
    print(table(found))
    if wanted.write_docs:
        tables.put_between(PAGE, "ns3-controls", table(found) + "\n")


if __name__ == "__main__":
    main()
