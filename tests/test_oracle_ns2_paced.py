"""A flow paced at its host as by D. X. Wei's patch for ns-2, beside an ns-2.35 that has it (benches/peers/paced.py)."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import paceline as pl
import pytest

CASES = json.loads((Path(__file__).parent / "oracles" / "ns2-paced.json").read_text(encoding="utf-8"))
#: Those that leave ns-2's sequence at an instant that two events share, and the whole seconds before: an arrival meets
#: a departure (12, 25), or the pacing timer an acknowledgement; each lets a packet out in ns-2, both one here (5).
TIED = {("Reno", 5): 0, ("Newreno", 5): 1, ("Newreno", 12): 1, ("Newreno", 25): 1}


def name(case: dict[str, Any]) -> str:
    return f"{case['variant']}-{case['limit']}"


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_paced_flow_is_ns_2_s(case: dict[str, Any], tmp_path: Path) -> None:
    seconds = len(case["took"])
    links = [
        {"name": "source", "rate": "100 Mbit/s", "delay": "1 ms"},
        {"name": "bottleneck", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": f"{case['limit']} packets"},
        {"name": "sink", "rate": "100 Mbit/s", "delay": "500 us"},
    ]
    tcp = {
        "profile": "ns2",
        "variant": case["variant"].lower(),
        "max_window": "1000 packets",
        "min_rto": "200 ms",
        "tick_phase": f"{case['tick_phase_ns']} ns",
    }
    network = {"template": "path", "counts": "ns2", "links": links}
    traffic = [{"kind": "bulk", "tcp": tcp}]
    table = {"duration": f"{seconds} s", "probes": {}, "network": network, "traffic": traffic}
    run = pl.run(pl.Scenario({**table, "pacing": {"method": "host"}}), trace=tmp_path / "trace.csv")
    counts: dict[str, Counter[int]] = {"enqueue": Counter(), "drop": Counter()}
    with (tmp_path / "trace.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["place"] == "bottleneck" and row["event"] in counts:
                counts[row["event"]][int(row["time_ns"]) // 1_000_000_000] += 1
    equal = TIED.get((case["variant"], case["limit"]), seconds)
    for event, ours in (("took", "enqueue"), ("dropped", "drop")):
        assert [counts[ours][second] for second in range(equal)] == case[event][:equal], event
    if equal == seconds:
        assert run.flows.timeouts == case["timeouts"]


@pytest.mark.parametrize("variant", ["bic", "cubic"])
def test_tcp_linux_paced_loses_no_more_than_unpaced(variant: str) -> None:
    """The patch leaves TCP-Linux's cut as it is; the unpaced flow is ns-2's (test_oracle_ns2.py)."""
    links = [
        {"name": "source", "rate": "100 Mbit/s", "delay": "1 ms"},
        {"name": "bottleneck", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "10 packets"},
        {"name": "sink", "rate": "100 Mbit/s", "delay": "500 us"},
    ]
    network = {"template": "path", "counts": "ns2", "links": links}
    tcp = {"profile": "ns2", "variant": variant, "max_window": "1000 packets"}
    table = {"duration": "60 s", "warmup": "10 s", "network": network, "traffic": [{"kind": "bulk", "tcp": tcp}]}
    unpaced, paced = (pl.run(pl.Scenario({**table, "pacing": method})) for method in ("none", "host"))
    assert 0 < paced.links["bottleneck"].dropped_packets <= 1.1 * unpaced.links["bottleneck"].dropped_packets
    assert paced.flows.goodput_mean_bps > 0.95 * unpaced.flows.goodput_mean_bps
