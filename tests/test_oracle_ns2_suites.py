"""ns-2's own reference traces: every data packet in the same order, and at the link within 0.1 ms.

The traces are read from Debian's package ns2-examples, or made by the installed `ns`; where neither is there the tests
are skipped. None of ns-2's files is part of Paceline.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from ns2_suites import CASES, PLACES, Case
from ns2_traces import TOLERANCE_NS, WRAP, Arrival, phases, shipped, simulate

SCRIPT = Path(__file__).parent.parent / "benches" / "peers" / "one_flow.tcl"


def made(case: Case, place: Path) -> tuple[int, list[Arrival]]:
    """Run ns-2: the phase of its clock in nanoseconds, and what arrives at the second link."""
    command = ["ns", str(SCRIPT), *case.ns_options(), "-trace", str(place / "ns.tr")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    arrivals: dict[str, Arrival] = {}  # by unique id: a `d` follows the `+` of a packet that a full queue refuses
    for line in (place / "ns.tr").read_text().splitlines():
        event, time, _, _, kind, _, *_, seq, identity = line.split()
        if kind == "tcp" and event in {"+", "d"}:
            arrival = (round(float(time) * 1e9), 0, int(seq) % WRAP, "enqueue" if event == "+" else "drop")
            arrivals[identity] = arrival
    return round(float(done.stdout) * 1e9), list(arrivals.values())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_ns2_ships(case: Case, tmp_path: Path) -> None:
    path, link = case.reference(), case.traced
    if path is not None:
        phase, theirs = int(phases(["s1"])[0] * case.tick_s * 1e9), shipped(path)
    elif shutil.which("ns"):
        link = "second"
        phase, theirs = made(case, tmp_path)
    else:
        pytest.skip(f"neither ns-2's examples ({PLACES[0]}) nor `ns`: install the Debian packages ns2-examples, ns2")
    rows = simulate(case.scenario(phase), tmp_path, link)["data"]
    ours = [(row.time_ns, row.seq % WRAP, row.event) for row in rows]
    theirs = [(time, seq, fate) for time, _, seq, fate in theirs]
    until = case.duration_ms * 1_000_000 - TOLERANCE_NS
    ours, theirs = ([row for row in rows if row[0] < until] for rows in (ours, theirs))
    for n, (mine, ns2) in enumerate(zip(ours, theirs, strict=False)):
        same = mine[1:] == ns2[1:] and abs(mine[0] - ns2[0]) <= TOLERANCE_NS
        assert same, f"{case}, packet {n}: ns-2 {theirs[max(0, n - 5) : n + 5]}, Paceline {ours[max(0, n - 5) : n + 5]}"
    assert len(ours) == len(theirs), f"{case}: ns-2 has {len(theirs)} packets, Paceline {len(ours)}"


def test_the_cases_are_many() -> None:
    assert len({str(case) for case in CASES}) == len(CASES) >= 140
