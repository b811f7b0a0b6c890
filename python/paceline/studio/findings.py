"""What the page shows of a run: its figures, its curves, and how paced and unpaced differ under the same seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paceline import _core
from paceline._statistics import Interval, interval, paired
from paceline.report.metrics import BY_KEY, Metric, group_metrics
from paceline.results import repeated_runs
from paceline.results.tables import flatten
from paceline.runs.precision import LEAST_SEEDS


def _of_group(group: str) -> Metric:
    """The goodput of the flows that are paced, or are not, where a share of them is: known in the paced world alone."""
    goodput = next(metric for metric in group_metrics(group) if metric.key == "goodput")
    return replace(
        goodput,
        key=f"goodput_{group}",
        title=f"Goodput per {group} flow",
        meaning=f"{goodput.meaning} Of {group} flows alone, where others are not.",
    )


_OF_GROUPS = (_of_group("paced"), _of_group("unpaced"))
_METRICS: dict[str, Metric] = BY_KEY | {metric.key: metric for metric in _OF_GROUPS}
#: In the order of the page.
SHOWN = (
    "throughput",
    "utilisation",
    "goodput",
    "goodput_paced",
    "goodput_unpaced",
    "loss",
    "marks",
    "queue_mean",
    "queue_p99",
    "delay_mean",
    "delay_p99",
    "fct_mean",
    "fct_p99",
    "jain",
    "timeouts",
)
#: Points that a distribution is drawn with.
_MOST_POINTS = 200

Runs = Mapping[int, Mapping[str, Any]]


def metrics() -> list[dict[str, Any]]:
    """What is measured, for the page: key, title, kind (its unit), which way is better, what it means."""
    return [
        {"key": one.key, "title": one.title, "kind": one.kind, "better": one.better, "meaning": one.meaning}
        for one in (_METRICS[key] for key in SHOWN)
    ]


def figures(run: Mapping[str, Any], core: str) -> dict[str, float | None]:
    """Each of `SHOWN`, in bit/s, s, bytes or as a fraction; ``None`` where the run has none."""
    row = flatten(run)
    return {key: _METRICS[key].value(row, core) for key in SHOWN}


def curves(run: _core.Run, core: str) -> dict[str, Any]:
    """Queue and rate of the core, windows of flows, completion times: columns of each."""
    series, found = run.series(), run.instruments()
    rows = zip(series["link"], series["kind"], series["time_ns"], series["bytes"], strict=True)
    queue = {int(time): int(count) for link, kind, time, count in rows if (link, kind) == (core, "queue")}
    points: dict[tuple[str, str | None], tuple[list[float], list[float | None]]] = {}
    kept = ("cwnd", "carried", "fct")
    columns = (found["instrument"], found["link"], found["flow"], found["x"], found["y"])
    for name, link, flow, x, y in zip(*columns, strict=True):
        if name in kept and link in (core, None):
            xs, ys = points.setdefault((name, flow), ([], []))
            xs.append(float(x))
            ys.append(float(y) if math.isfinite(y) else None)
    return {
        "queue": [[time / 1e9 for time in queue], list(queue.values())],
        "rate": _rate(*next((pair for (name, _), pair in points.items() if name == "carried"), ([], []))),
        "windows": {flow: list(pair) for (name, flow), pair in points.items() if name == "cwnd"},
        "completion": _thinned(*next((pair for (name, _), pair in points.items() if name == "fct"), ([], []))),
    }


def _rate(times: Sequence[float], carried: Sequence[float | None]) -> list[list[float]]:
    """bit/s between samples of what was carried, at the later of each two."""
    steps = zip(times, times[1:], carried, carried[1:], strict=False)
    rates = [(end, 8 * (now - before) / (end - start)) for start, end, before, now in steps if _is_step(before, now)]  # type: ignore[operator]
    return [[time for time, _ in rates], [rate for _, rate in rates]]


def _is_step(before: float | None, now: float | None) -> bool:
    return before is not None and now is not None


def _thinned(xs: Sequence[float], ys: Sequence[float | None]) -> list[list[float | None]]:
    step = max(1, math.ceil(len(xs) / _MOST_POINTS))
    last = len(xs) - 1
    chosen = [number for number in range(len(xs)) if number % step == 0 or number == last]
    return [[xs[number] for number in chosen], [ys[number] for number in chosen]]


def repeated(unpaced: Runs, paced: Runs) -> bool:
    """Whether every seed has given the same run of both worlds: then there is one run, and no interval."""
    return all(repeated_runs.same([side[seed] for seed in sorted(side)]) for side in (unpaced, paced))


def compared(unpaced: Runs, paced: Runs, core: str) -> list[dict[str, Any]]:
    """Means of both worlds and the difference that pacing makes, seed by seed, for each figure that both have.

    An interval is given from as many seeds on as the project's intervals have at least (`LEAST_SEEDS`), and none where
    every seed gives the same run again.
    """
    both = sorted(unpaced.keys() & paced.keys())
    worlds = [[side[seed] for seed in both] for side in (unpaced, paced)]
    found = [[figures(run, core) for run in runs] for runs in worlds]
    once = repeated(*({seed: side[seed] for seed in both} for side in (unpaced, paced)))
    enough = len(both) >= LEAST_SEEDS and not once
    rows = []
    for key in SHOWN:
        before, after = ({s: one[key] for s, one in zip(both, side, strict=True)} for side in found)
        known = {seed for seed in both if before[seed] is not None and after[seed] is not None}
        values = [{seed: float(side[seed] or 0.0) for seed in known} for side in (before, after)]
        difference = paired(values[1], values[0], once=once)
        row: dict[str, Any] = {"key": key, "unpaced": None, "paced": None, "difference": None}
        for name, side in zip(("unpaced", "paced"), (before, after), strict=True):
            row[name] = _as_numbers(interval(side.values()), enough)
        row["difference"] = _as_numbers(difference, enough and len(known) >= LEAST_SEEDS)
        rows.append(row)
    return rows


def _as_numbers(found: Interval | None, with_interval: bool) -> dict[str, Any] | None:
    if found is None:
        return None
    half = found.half if with_interval else None
    return {"mean": found.mean, "half": half, "count": found.count}
