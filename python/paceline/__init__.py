"""Paceline: pacing traffic in networks with small buffers.

import paceline as pl

scenario = pl.Scenario.load("scenarios/one-flow.toml")
result = pl.run(scenario.set("pacing", "host"))
results = pl.sweep(scenario, over={"network.links.bottleneck.buffer": ["5 KB", "20 KB"]}, seeds=5)
"""

from __future__ import annotations

from paceline import _interrupt as _interrupt  # isort: skip (before what takes its time to load)

import warnings

from paceline import _core
from paceline._statistics import Interval
from paceline.advise import advise
from paceline.advise.advice import Advice
from paceline.capture.analyse import analyse
from paceline.capture.analysis import Analysis
from paceline.doctor import doctor
from paceline.errors import InputError, PacelineError, RunError, StaleStoreError, StoreError
from paceline.results import Engine, FlowStats, LinkStats, Result, Results
from paceline.runs.interrupted import Interrupted
from paceline.runs.python_api import run, sweep
from paceline.scenario import Point, Scenario
from paceline.scenario.templates import dumbbell, path, template
from paceline.studio.notebook import widget

__all__ = [
    "Advice",
    "Analysis",
    "Engine",
    "FlowStats",
    "InputError",
    "Interrupted",
    "Interval",
    "LinkStats",
    "PacelineError",
    "Point",
    "Result",
    "Results",
    "RunError",
    "Scenario",
    "StaleStoreError",
    "StoreError",
    "advise",
    "analyse",
    "doctor",
    "dumbbell",
    "path",
    "run",
    "sweep",
    "template",
    "widget",
]

#: Version of the package and its core.
__version__ = _core.version().removesuffix("-debug")

if _core.version().endswith("-debug"):
    warnings.warn("paceline was built without optimisation and is many times slower", RuntimeWarning, stacklevel=2)
