"""Results for tests of the report, made up: what a directory of `paceline run --out` holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

METHODS = ("none", "host", "edge 10 ms", "qlbp load 0.9 10 ms")
BUFFERS = ("5 KB", "10 KB", "20 KB")
PACKET_NS = 83_200
#: Goodput in kbit/s by method, at the first buffer and the last.
GOODPUT = {"none": (81.5, 94.0), "host": (80.6, 92.0), "edge": (92.4, 94.6), "qlbp": (90.1, 94.5)}

SCENARIO = """\
title    = {title}
duration = "400 s"
warmup   = "100 s"

[network]
template = "dumbbell"
core   = {{ rate = "100 Mbit/s", delay = "100 ms", buffer = "5 KB" }}
edge   = {{ count = 10, rate = "100 Mbit/s", delay = "5 ms .. 15 ms" }}
access = {{ per_edge = 100, rate = "8 Mbit/s .. 12 Mbit/s", delay = "1 ms .. 5 ms" }}

[[traffic]]
name = "bulk"
kind = "bulk"
tcp  = {{ variant = "reno", profile = "ns2", payload = "1000 B", header = "40 B" }}
start = "0 s .. 10 s"
"""


def directory(
    at: Path,
    *,
    methods: Sequence[str] = METHODS,
    buffers: Sequence[str] = BUFFERS,
    seeds: int = 5,
    title: str = "Edge versus host pacing",
    series: bool = True,
    groups: bool = False,
    without: Sequence[str] = (),
) -> Path:
    """Writes a directory of results; `without` names columns that are null in every run."""
    at.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    recorded: list[pa.Table] = []
    for method in methods:
        for number, buffer in enumerate(buffers):
            for seed in range(1, seeds + 1):
                swept = {"settings.pacing": method, "settings.network.core.buffer": buffer}
                swept = {k: v for k, v in swept.items() if len(methods if k.endswith("pacing") else buffers) > 1}
                row = {"run": len(rows)} | swept | {"seed": seed} | _numbers(method, number / 2, seed, groups)
                rows.append({k: None if k in without else v for k, v in row.items()})
                if series:
                    recorded += _series(len(rows) - 1, method, float(buffer.split()[0]) * 1000, seed)
    pq.write_table(pa.Table.from_pylist(rows), at / "runs.parquet")
    if recorded:
        pq.write_table(pa.concat_tables(recorded), at / "series.parquet")
    quoted = '"' + title.replace("\\", "\\\\").replace('"', '\\"') + '"'
    (at / "scenario.toml").write_text(SCENARIO.format(title=quoted), encoding="utf-8")
    return at


def _numbers(method: str, share: float, seed: int, groups: bool) -> dict[str, Any]:
    chance = np.random.default_rng(seed * 1000 + len(method))
    first, last = GOODPUT.get(method.split()[0], (85.0, 93.0))
    luck = np.random.default_rng(seed).normal(0, 0.4)
    goodput = 1e3 * (first + (last - first) * share + luck + chance.normal(0, 0.05))
    flows = {
        "count": 1000,
        "goodput_mean_bps": goodput,
        "jain": 0.97 + chance.normal(0, 0.001),
        "timeouts": 110_000 + int(chance.normal(0, 100)),
        "window_cuts": 200_000,
        "delay_mean_s": 0.21 + chance.normal(0, 0.001),
        "fct_mean_s": None,
        "fct_data_mean_s": None,
    }
    row = {
        "window_s.start": 100.0,
        "window_s.end": 400.0,
        "links.core.throughput_bps": goodput * 1040,
        "links.core.utilisation": goodput * 1040 / 1e8,
        "links.core.dropped_packets": 400_000,
        "links.core.loss_ratio": 0.16 - goodput / 1e6,
        "links.core.queue_mean_bytes": 2100.0,
        "links.edge.l.0.throughput_bps": goodput * 104,
        "links.edge.l.0.dropped_packets": 0,
        "engine.kind": "simulation",
        "engine.method": "reference",
        "engine.cpu_s": 1.4,
        "engine.core_packets": 4_380_000,
    } | {f"flows.{k}": v for k, v in flows.items()}
    if groups:
        row |= {f"groups.paced.{k}": v for k, v in flows.items()}
        row |= {f"groups.unpaced.{k}": v for k, v in flows.items()}
        row["groups.unpaced.goodput_mean_bps"] = goodput * 0.9
    return row


def _series(run: int, method: str, buffer: float, seed: int) -> list[pa.Table]:
    chance = np.random.default_rng(run)
    queue_ns = np.arange(2000) * 200_000_000
    queue = np.clip(chance.normal(0.5, 0.4, 2000), 0, 1) * buffer // 1040 * 1040
    if method.split()[0] in ("none", "host"):
        starts = np.sort(chance.uniform(0, 0.3e9, 60)).astype(np.int64)
        times = np.concatenate([s + np.arange(5) * PACKET_NS for s in starts])
    else:
        times = np.cumsum(chance.gamma(8, 1e6 / 8, 300)).astype(np.int64)
    order = np.arange(len(times)) * PACKET_NS
    # the wire carries one packet at a time
    times = np.maximum.accumulate(np.sort(times) - order) + order + 399_700_000_000
    return [
        _table(run, seed, "core", "queue", queue_ns, queue.astype(np.int64)),
        _table(run, seed, "edge.l.0", "departure", times, np.full(len(times), 1040)),
    ]


def _table(run: int, seed: int, link: str, kind: str, times: np.ndarray, sizes: np.ndarray) -> pa.Table:
    count = len(times)
    return pa.table(
        {
            "run": np.full(count, run),
            "seed": np.full(count, seed),
            "link": pa.array([link] * count).dictionary_encode(),
            "kind": pa.array([kind] * count).dictionary_encode(),
            "time_ns": times,
            "flow": np.zeros(count, np.int64),
            "bytes": sizes,
        }
    )
