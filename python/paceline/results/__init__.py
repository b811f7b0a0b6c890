"""Results: what a run leaves in a record, the runs of a sweep, and their tables."""

from paceline.results.numbers import Engine, FlowStats, LinkStats
from paceline.results.results import Result, Results, number

__all__ = ["Engine", "FlowStats", "LinkStats", "Result", "Results", "number"]
