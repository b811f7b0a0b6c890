"""ns-2's own reference traces of several flows: every data packet in the same order, at the link within 0.1 ms.

As test_oracle_ns2_suites.py, but several flows meet at the queue. Where `ns` is installed, the same networks and drawn
ones run again with times that are exact in binary: no order of simultaneous events hangs on rounding then.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

import paceline as pl
import pytest
from ns2_network_suites import NETWORKS, ROUNDED, drawn
from ns2_networks import Network
from ns2_suites import PLACES
from ns2_traces import TOLERANCE_NS, WRAP, Arrival, in_order, phases, shipped

SCRIPT = Path(__file__).parent.parent / "benches" / "peers" / "networks.tcl"


def made(network: Network, place: Path) -> tuple[list[int], list[Arrival]]:
    """Run ns-2: the phases of the flows' clocks in nanoseconds, and what arrives at the traced link."""
    command = ["ns", str(SCRIPT), *network.ns_options(), "-trace", str(place / "ns.tr")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    arrivals: dict[str, Arrival] = {}  # by unique id: a `d` follows the `+` of a packet that a full queue refuses
    for line in (place / "ns.tr").read_text().splitlines():
        event, time, _, _, kind, _, _, flow, *_, seq, identity = line.split()
        if kind == "tcp" and event in {"+", "d"}:
            fate = "enqueue" if event == "+" else "drop"
            arrivals[identity] = (round(float(time) * 1e9), int(flow) - 1, int(seq) % WRAP, fate)
    return [round(float(phase) * 1e9) for phase in done.stdout.split()], list(arrivals.values())


def run(network: Network, phases_ns: list[int], place: Path) -> list[Arrival]:
    """Run it and read what arrives at the traced link."""
    (place / "case.toml").write_text(network.scenario(phases_ns))
    for number, flow in enumerate(network.flows):
        (place / f"flow{number}.cvec").write_text(flow.vector(network.payload))
    pl.run(place / "case.toml", trace=place / "trace.csv")
    with (place / "trace.csv").open(newline="") as file:
        return [
            (int(row["time_ns"]), int(row["flow"]), int(row["seq"]) % WRAP, row["event"])
            for row in csv.DictReader(file)
            if row["place"] == network.traced and row["event"] in {"enqueue", "drop"} and row["kind"] == "data"
        ]


def compare(network: Network, ours: list[Arrival], theirs: list[Arrival]) -> None:
    """All that arrives in the same order, with the same fate, at the same time."""
    until = network.duration_ms * 1_000_000 - TOLERANCE_NS
    ours, theirs = ([row for row in rows if row[0] < until] for rows in (ours, theirs))
    for n, (mine, ns2) in enumerate(zip(ours, theirs, strict=False)):
        same = mine[1:] == ns2[1:] and abs(mine[0] - ns2[0]) <= TOLERANCE_NS
        around = slice(max(0, n - 5), n + 5)
        assert same, f"{network}, packet {n}: ns-2 {theirs[around]}, Paceline {ours[around]}"
    assert len(ours) == len(theirs), f"{network}: ns-2 has {len(theirs)} packets, Paceline {len(ours)}"


@pytest.mark.parametrize("network", [network for network in NETWORKS if str(network) not in ROUNDED], ids=str)
def test_what_ns2_ships(network: Network, tmp_path: Path) -> None:
    path = network.reference()
    if path is None:
        pytest.skip(f"ns-2's examples are not here ({PLACES[0]}): install the Debian package ns2-examples")
    theirs = shipped(path)
    flows = sorted({row[1] for row in theirs})  # as the script numbers them
    theirs = [(time, flows.index(flow), seq, fate) for time, flow, seq, fate in theirs]
    phases_ns = [int(phase * network.tick_s * 1e9) for phase in phases(len(network.flows))]
    ours = run(network, phases_ns, tmp_path)
    if network.one_id:
        ours = [(time, 0, seq, fate) for time, _, seq, fate in ours]
    compare(network, in_order(ours), theirs)


needs_ns = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not here: install the Debian package ns2")


def agree(network: Network, place: Path) -> None:
    """ns-2 and Paceline do the same."""
    phases_ns, theirs = made(network, place)
    compare(network, run(network, phases_ns, place), theirs)


@needs_ns
@pytest.mark.parametrize("network", [network for network in NETWORKS if network.may_be_exact], ids=str)
def test_ns2_where_times_are_exact(network: Network, tmp_path: Path) -> None:
    """Simultaneous events abound, and rounding orders none of them."""
    agree(network.exact(), tmp_path)


@needs_ns
@pytest.mark.parametrize("seed", range(30))
def test_ns2_on_drawn_networks(seed: int, tmp_path: Path) -> None:
    agree(drawn(seed), tmp_path)
