"""Runs made up for tests of checks: a claim's own settings and seeds, with numbers of the test's choice.

    runs = synthetic.runs(CLAIM, lambda settings, seed: {"flows.goodput_mean_bps": 82e3 + seed})
    assert CLAIM.check(runs).verdict == "reproduced"

Numbers are named by the paths of the JSON contract; what is not named is ``None``. Nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from paceline.papers import Claim, Length, Runs
from paceline.results import FlowStats, LinkStats, Result, Results
from paceline.scenario import Scenario

#: From the settings of a run (labels by path) and its seed: its numbers by path.
Numbers = Callable[[Mapping[str, str], int], Mapping[str, Any]]


def runs(claim: Claim, numbers: Numbers | Mapping[str, Numbers], length: Length | None = None) -> Runs:
    """Every run that the claim's sweeps ask for; `numbers` for all sweeps, or by their names."""
    length = length or Length()
    return Runs(
        {
            name: results(scenario, numbers[name] if isinstance(numbers, Mapping) else numbers)
            for name, scenario in claim.sweeps(length).items()
        },
        length,
    )


def results(scenario: Scenario, numbers: Numbers) -> Results:
    """Every run of a scenario's sweep.

    Beside numbers by path, ``per_flow``, ``series`` and ``instruments`` may be given as columns (see `curve`).
    """
    return Results(
        [result(point.settings, point.seed, numbers(point.settings, point.seed)) for point in scenario.points()]
    )


def result(settings: Mapping[str, str], seed: int, numbers: Mapping[str, Any]) -> Result:
    """One run."""
    run: dict[str, Any] = {
        "settings": dict(settings),
        "seed": seed,
        "window_s": [0.0, 1.0],
        "links": {"core": {item.name: None for item in fields(LinkStats)}},
        "flows": {item.name: None for item in fields(FlowStats)},
        "groups": {},
        "engine": {"kind": "simulation", "method": "reference", "wall_s": 0.1, "cpu_s": 0.1, "core_packets": 1000},
    }
    columns = {}
    for path, value in numbers.items():
        head, _, rest = path.partition(".")
        if path in ("per_flow", "series", "instruments"):
            columns[path] = value
        elif head in ("links", "groups"):
            name, _, key = rest.rpartition(".")
            kind = LinkStats if head == "links" else FlowStats
            run[head].setdefault(name, {item.name: None for item in fields(kind)})[key] = value
        elif rest:
            run[head][rest] = value
        else:
            run[head] = value
    return Result.from_dict(run, core="core", **columns)


def curve(instrument: str, x: Sequence[float], y: Sequence[float], **place: str) -> dict[str, Any]:
    """Columns of one instrument with one curve; `place`: ``link``, ``flow``, ``next``, ``x_unit``, ``y_unit``."""
    texts = {name: [place.get(name, "")] * len(x) for name in ("link", "flow", "next", "x_unit", "y_unit")}
    numbers = {"x": np.asarray(x, float), "y": np.asarray(y, float), "count": np.ones(len(x), np.int64)}
    return {"instrument": [instrument] * len(x)} | texts | numbers


def together(*columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of several instruments or curves of one run, one after the other."""
    found: dict[str, Any] = {}
    for name in columns[0]:
        parts = [one[name] for one in columns]
        joined = (
            np.concatenate(parts) if isinstance(parts[0], np.ndarray) else [text for part in parts for text in part]
        )
        found[name] = joined
    return found
