"""ns-2's reference traces of Reno that is idle and goes on: as it was, from one packet, or paced (test-suite-rbp.tcl).

A server writes ten packets thrice, some twenty seconds apart. The traces have a time for each packet at the bottleneck,
to a microsecond. When the server writes is drawn in the script, and read here from the first packet of each ten. Where
the sender's clock stands in its tick is drawn as well: half a tick is fitted, and .4 to .6 give the same; elsewhere the
smoothed round trip is an eighth of a tick off, and one restart's gaps 2.5 ms.
"""

from __future__ import annotations

import csv
import gzip
from itertools import pairwise
from pathlib import Path

import paceline as pl
import pytest
from ns2_suites import PLACES, WORDS

#: What the script sets, and ns-2's defaults.
SETTINGS = {
    "precisionReduce_": 0,
    "rtxcur_init_": 6,
    "minrto_": 1,
    "useHeaders_": 0,
    "singledup_": 0,
    "tcpTick_": 0.1,
    "rfc2988_": 0,
    "windowInit_": 1,
    "syn_": 0,
    "SYN_immediate_ack_": 0,
    "interval_": 0.1,
}
TRACES = {"reno_slow_start_restart": "one", "reno_no_slow_start_restart": "keep", "reno_pacing": "paced"}
#: From the server to the bottleneck's queue: 1000 B at 10 Mbit/s, and a millisecond.
BEFORE_US = 1800


def scenario(rule: str, folder: Path, writes_us: list[int]) -> Path:
    units = "".join(f"t> {at - before}\nc> 10000\n" for before, at in pairwise(writes_us))
    head = f"CONC {writes_us[0]} {len(writes_us)} 0 1 1\nw 1000000000 1000000000\nr 1\nl 0 0\n"
    (folder / "writes.cvec").write_text(f"{head}c> 10000\n{units}")
    words = [WORDS[variable](value) for variable, value in SETTINGS.items()]
    (folder / "idle.toml").write_text(
        "\n".join(
            [
                'duration = "60 s"',
                "[network]",
                'template = "path"',
                'counts = "ns2"',
                "links = [",
                '  { name = "server", rate = "10 Mbit/s", delay = "1 ms", buffer = "10 packets" },',
                '  { name = "bottleneck", rate = "800 kbit/s", delay = "100 ms", buffer = "10 packets" },',
                '  { name = "client", rate = "10 Mbit/s", delay = "1 ms", buffer = "10 packets" },',
                "]",
                "[[traffic]]",
                'kind = "cvec"',
                'file = "writes.cvec"',
                "windows = false",
                "[traffic.tcp]",
                'profile = "ns2-validation"',
                'variant = "reno"',
                'payload = "1000 B"',
                'ack = "40 B"',
                'max_window = "32 packets"',
                'tick_phase = "50 ms"',
                f'idle_restart = "{rule}"',
                *words,
                "",
            ]
        )
    )
    return folder / "idle.toml"


@pytest.mark.parametrize("name", TRACES)
def test_ten_packets_thrice_as_in_ns2(name: str, tmp_path: Path) -> None:
    files = [place / "test-output-rbp" / f"{name}.gz" for place in PLACES]
    shipped = next((file for file in files if file.exists()), None)
    if shipped is None:
        pytest.skip("needs Debian's ns2-examples")
    text = gzip.decompress(shipped.read_bytes()).decode()
    rows = [line.split() for line in text.split("\n\n")[1].splitlines()]
    theirs = [float(row[1]) for row in rows if row[0] == "move"]
    assert len(theirs) == 30
    writes = [round(theirs[first] * 1e6) - BEFORE_US for first in (0, 10, 20)]
    pl.run(scenario(TRACES[name], tmp_path, writes), trace=tmp_path / "trace.csv")
    with (tmp_path / "trace.csv").open(newline="") as file:
        ours = [
            int(row["time_ns"]) / 1e9
            for row in csv.DictReader(file)
            if (row["place"], row["event"], row["kind"]) == ("bottleneck", "enqueue", "data")
        ]
    assert ours == pytest.approx(theirs, abs=3e-6)
