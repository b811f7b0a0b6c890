"""What is raised for Ctrl-C during a sweep: it has the runs that finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline.results import Results


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep. Like every ``KeyboardInterrupt`` it passes through ``except Exception``.

    Attributes:
        results: the runs that had finished.
        total: how many runs there would have been.

    Examples:
        >>> def finished(scenario: pl.Scenario) -> pl.Results:
        ...     try:
        ...         return pl.sweep(scenario, seeds=100)
        ...     except pl.Interrupted as stopped:
        ...         return stopped.results
        >>> str(pl.Interrupted(pl.Results([]), 100))
        'interrupted after 0 of 100 runs'
    """

    def __init__(self, results: Results, total: int) -> None:
        super().__init__(f"interrupted after {len(results)} of {total} runs")
        self.results = results
        self.total = total
