"""Scenarios: read from TOML or built in Python, changed by path, expanded into runs, resolved into a network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from paceline._arguments import quoted
from paceline.errors import InputError
from paceline.scenario.points import Point
from paceline.scenario.scenario import Scenario
from paceline.scenario.sweep_axes import DEFAULT_SEED, MOST_SEEDS

__all__ = ["DEFAULT_SEED", "MOST_SEEDS", "Point", "Scenario", "Source", "loaded"]


#: What is taken for a scenario: its file, or its tables.
Source = Scenario | str | os.PathLike[str] | Mapping[str, Any]


def loaded(source: Source) -> Scenario:
    """The scenario that is given. Raises `InputError`."""
    if isinstance(source, Scenario):
        return source
    given: Any = source
    if not isinstance(given, (str, os.PathLike, Mapping)):
        known = "a Scenario, its tables as a dict, or its file, as scenarios/one-flow.toml"
        raise InputError(f"{quoted(given)} is no scenario; give {known}")
    return Scenario(source) if isinstance(source, Mapping) else Scenario.load(source)
