"""Scenarios: read from TOML or built in Python, changed by path, expanded into runs, resolved into a network."""

from paceline.scenario.scenario import DEFAULT_SEED, MOST_SEEDS, Point, Scenario, Source, loaded

__all__ = ["DEFAULT_SEED", "MOST_SEEDS", "Point", "Scenario", "Source", "loaded"]
