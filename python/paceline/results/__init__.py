"""Results: what a run leaves in a record, the runs of a sweep, and their tables."""

from paceline.results.numbers import Engine, FlowStats, LinkStats
from paceline.results.one_run import Result, number
from paceline.results.results import Results

__all__ = ["Engine", "FlowStats", "LinkStats", "Result", "Results", "number"]
