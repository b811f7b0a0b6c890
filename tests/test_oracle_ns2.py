"""One TCP flow, packet by packet, against ns-2 2.35 (tests/oracles/ns2/, made by benches/peers/one_flow.py).

Every data packet must reach the second link in ns-2's order and within 0.1 ms of ns-2's time, with the same fate, and
every acknowledgement must reach the sender so. The cases force each rule of loss recovery and of the retransmission
timer: the first place that differs names the rule that is broken.
"""

from __future__ import annotations

import csv
import gzip
import tomllib
from pathlib import Path

import pytest
from ns2_traces import TOLERANCE_NS, Row, beside, differs, simulate

ORACLES = Path(__file__).parent / "oracles" / "ns2"
DELAYED = """
delayed_ack = "100 ms"
timestamps = true
"""
CASES = sorted(path.name.removesuffix(".csv.gz") for path in ORACLES.glob("*.csv.gz"))


def oracle(name: str) -> tuple[dict[str, object], dict[str, list[Row]]]:
    """The settings of a case, and what ns-2 did: rows of data and of acknowledgements."""
    with gzip.open(ORACLES / f"{name}.csv.gz", "rt") as file:
        lines = file.read().splitlines()
    head = [line[2:] for line in lines if line.startswith("# ")]
    settings = tomllib.loads("\n".join(line for line in head if " = " in line))
    rows: dict[str, list[Row]] = {"data": [], "ack": []}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        rows[row["kind"]].append(Row(int(row["time_ns"]), row["event"], int(row["seq"]), int(row["bytes"])))
    return settings, rows


def scenario(settings: dict[str, object]) -> str:
    """The case as a scenario: two links, one flow, the losses forced on the second."""
    duration_ms = (int(str(settings["until_ns"])) + 1_000_000) // 1_000_000
    drops = f'\n[[drop]]\nlink = "second"\nflow = 0\narrivals = {settings["drops"]}\n' if settings["drops"] else ""
    second = f'rate = "{settings["second_bps"]} bit/s", delay = "{settings["delay_ms"]} ms"'
    return f"""
title = "one flow, as ns-2 ran it"
duration = "{duration_ms} ms"
warmup = "0 s"

[network]
template = "path"
counts = "ns2"
links = [
    {{ name = "first", rate = "{settings["first_bps"]} bit/s", delay = "0 ms" }},
    {{ name = "second", {second}, buffer = "{settings["queue_packets"]} packets" }},
]

[[traffic]]
name = "bulk"
kind = "bulk"
start = "{settings["start_ns"]} ns"

[traffic.tcp]
profile = "ns2"
variant = "{settings["variant"]}"
payload = "{settings["payload_bytes"]} B"
header = "{50 if "delayed" in settings else 40} B"
ack = "40 B"
max_window = "{settings["window_packets"]} packets"
limited_transmit = {str(settings["limited_transmit"]).lower()}
tick_phase = "{settings["tick_phase_ns"]} ns"
{DELAYED if "delayed" in settings else ""}
{'overhead = "1 ns"' if "waits" in settings else ""}
{"data_with_syn = true" if settings["variant"] in ("bic", "cubic") else ""}

[pacing]
method = "none"
{drops}"""


@pytest.mark.parametrize("name", CASES)
def test_one_flow_does_what_ns2_does(name: str, tmp_path: Path) -> None:
    settings, theirs = oracle(name)
    ours = simulate(scenario(settings), tmp_path)
    until = int(str(settings["until_ns"])) - TOLERANCE_NS
    for kind in ("data", "ack"):
        a, b = ours[kind], theirs[kind]
        for n, (mine, ns2) in enumerate(zip(a, b, strict=False)):
            assert not differs(mine, ns2), f"{name}, {kind}: {beside(a, b, n)}"
        assert len(a) >= len(b), f"{name}, {kind}: {beside(a, b, len(a))}"
        extra = [row for row in a[len(b) :] if row.time_ns < until]
        assert not extra, f"{name}, {kind}: {beside(a, b, len(b))}"


def test_the_oracles_are_there() -> None:
    assert len(CASES) == 399
