"""What ns-2 and Paceline do on a network of several flows, and whether it is the same."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import paceline as pl
import pytest
from ns2_networks import Network
from ns2_suites import PLACES
from ns2_traces import TOLERANCE_NS, WRAP, Arrival, in_order, marked, phases, sections, shipped

Line = tuple[int, int, int]  # nanoseconds, flow, number modulo WRAP

needs_ns = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not here: install the Debian package ns2")
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


def clocks(network: Network) -> list[int]:
    """Where in a tick the agents' clocks stand at time zero in the script of its suite, nanoseconds."""
    sources = [flow.source for flow in network.flows]
    return [int(phase * network.tick_s * 1e9) for phase in phases(sources, network.resets)]


def compare(network: Network, ours: list[Arrival], theirs: list[Arrival]) -> int:
    """All that arrives in the same order, with the same fate, at the same time, up to the end; how many packets."""
    until = (network.until_ms or network.duration_ms) * 1_000_000 - TOLERANCE_NS
    ours, theirs = ([row for row in rows if row[0] < until] for rows in (ours, theirs))
    for n, (mine, ns2) in enumerate(zip(ours, theirs, strict=False)):
        same = mine[1:] == ns2[1:] and abs(mine[0] - ns2[0]) <= TOLERANCE_NS
        around = slice(max(0, n - 5), n + 5)
        assert same, f"{network}, packet {n}: ns-2 {theirs[around]}, Paceline {ours[around]}"
    assert len(ours) == len(theirs), f"{network}: ns-2 has {len(theirs)} packets, Paceline {len(ours)}"
    return len(ours)


def both(network: Network, place: Path) -> tuple[list[Arrival], list[Arrival]]:
    """What Paceline does and what ns-2 ships, as the latter is written. Skips where that is not at hand."""
    path = network.reference()
    if path is None:
        pytest.skip(f"ns-2's examples are not here ({PLACES[0]}): install the Debian package ns2-examples")
    theirs = shipped(path)
    flows = sorted({row[1] for row in theirs})  # as the script numbers them
    theirs = [(time, flows.index(flow), seq, fate) for time, flow, seq, fate in theirs]
    ours = run(network, clocks(network), place)
    if network.numbers:
        ours = [(time, network.numbers[flow], seq, fate) for time, flow, seq, fate in ours]
    return in_order(ours), theirs


def agree(network: Network, place: Path) -> None:
    """ns-2 and Paceline do the same."""
    phases_ns, theirs = made(network, place)
    compare(network, run(network, phases_ns, place), theirs)


@dataclass
class Passing:
    """What data packets do at a link: flow and number modulo WRAP, with times in nanoseconds."""

    crossings: list[Line]  # as a packet is taken, and as it leaves
    drops: list[Line]
    marks: set[tuple[int, int]]  # of those that have left

    @classmethod
    def of_ns2(cls, path: Path, network: Network) -> Passing:
        """As a shipped trace draws it."""
        series = sections(path)
        drops = list(dict.fromkeys(series.get("drops", [])))
        ecn = marked(series)
        lines = [line for line in (*series["packets"], *ecn) if line not in drops]
        flows = sorted({flow for _, flow, _ in lines})  # as the script numbers them

        def here(lines: list[Line]) -> list[Line]:
            return [(time, flows.index(flow), seq) for time, flow, seq in lines if time < end_ns(network)]

        return cls(here(lines), here(drops), {line[1:] for line in here(ecn)})

    @classmethod
    def of_paceline(cls, network: Network, place: Path) -> Passing:
        """Run it and read the trace."""
        run(network, clocks(network), place)
        seen: dict[str, list[Line]] = {"enqueue": [], "dequeue": [], "drop": [], "mark": []}
        with (place / "trace.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                time, flow = int(row["time_ns"]), int(row["flow"])
                if row["place"] == network.traced and row["kind"] == "data" and time < end_ns(network):
                    number = network.numbers[flow] if network.numbers else flow
                    seen[row["event"]].append((time, number, int(row["seq"]) % WRAP))
        left: dict[tuple[int, int], int] = {line[1:]: line[0] for line in seen["dequeue"]}  # for the last time
        marks = {line[1:] for line in seen["mark"] if left.get(line[1:], 0) >= line[0]}
        return cls([*seen["enqueue"], *seen["dequeue"]], seen["drop"], marks)


def end_ns(network: Network) -> int:
    """Up to when traces are compared."""
    return (network.until_ms or network.duration_ms) * 1_000_000 - TOLERANCE_NS


def first_difference(ours: list[Line], theirs: list[Line]) -> Line | None:
    """The first packet that one side alone has, or at another time."""
    times: list[dict[tuple[int, int], list[int]]] = [defaultdict(list), defaultdict(list)]
    for lines, by_packet in zip((ours, theirs), times, strict=True):
        for time, *packet in sorted(lines):
            by_packet[packet[0], packet[1]].append(time)
    differences = []
    for packet in times[0].keys() | times[1].keys():
        for mine, ns2 in zip_longest(*(by_packet[packet] for by_packet in times)):
            if mine is None or ns2 is None or abs(mine - ns2) > TOLERANCE_NS:
                differences.append((min(time for time in (mine, ns2) if time is not None), *packet))
                break
    return min(differences, default=None)


def shown(network: Network, place: Path) -> tuple[Passing, Passing]:
    """What Paceline does and what ns-2 ships. Skips where that is not at hand."""
    path = network.reference()
    if path is None:
        pytest.skip(f"ns-2's examples are not here ({PLACES[0]}): install the Debian package ns2-examples")
    return Passing.of_paceline(network, place), Passing.of_ns2(path, network)


def agree_with_shipped(network: Network, place: Path) -> int:
    """Every data packet comes and leaves, is dropped or marked as in the shipped trace; how many crossings."""
    ours, theirs = shown(network, place)
    for what in ("drops", "crossings"):
        difference = first_difference(getattr(ours, what), getattr(theirs, what))
        assert difference is None, f"{network}, {what}: the first difference is {difference}"
    assert ours.marks == theirs.marks, f"{network}: marks {sorted(ours.marks ^ theirs.marks)}"
    return len(ours.crossings)


def first_found(lines: list[Line], kinds: dict[tuple[int, int], list[tuple[int, bool]]]) -> list[tuple[int, int]]:
    """When packets come, and how many that have come before have not left, in this order of events."""
    left = {packet: list(times) for packet, times in kinds.items()}
    waiting, found = 0, []
    for time, *packet in lines:
        known = left.get((packet[0], packet[1]))
        if not known:
            break
        _, comes = known.pop(0)
        if comes:
            found.append((time, waiting))
        waiting += 1 if comes else -1
    return found


def first_tie(network: Network, place: Path) -> tuple[int, int, int]:
    """The first packet that finds another queue than in ns-2: when it comes, how far from that another leaves, and the
    first difference, nanoseconds.

    ns-2 writes what happens at one time in the order in which it happens.
    """
    ours, theirs = shown(network, place)
    path = network.reference()
    assert path is not None
    series = sections(path)
    drops = set(series.get("drops", []))
    merged = sorted([*series["packets"], *marked(series)], key=lambda line: line[0])
    flows = sorted({flow for _, flow, _ in merged})
    lines = [(time, flows.index(flow), seq) for time, flow, seq in merged if (time, flow, seq) not in drops]
    kinds: dict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
    events = []
    with (place / "trace.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["place"] == network.traced and row["kind"] == "data" and row["event"] in {"enqueue", "dequeue"}:
                flow = network.numbers[int(row["flow"])] if network.numbers else int(row["flow"])
                packet = (flow, int(row["seq"]) % WRAP)
                kinds[packet].append((int(row["time_ns"]), row["event"] == "enqueue"))
                events.append((int(row["time_ns"]), *packet))
    for known in kinds.values():
        known.sort(key=lambda event: event[0])
    found = zip(first_found(events, kinds), first_found(lines, kinds), strict=False)
    when = next(mine[0] for mine, ns2 in found if mine[1] != ns2[1])
    leaves = [time for known in kinds.values() for time, comes in known if not comes]
    differences = [first_difference(*pair) for pair in ((ours.drops, theirs.drops), (ours.crossings, theirs.crossings))]
    return when, min(abs(time - when) for time in leaves), min(one[0] for one in differences if one)
