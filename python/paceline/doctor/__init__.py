"""What a scenario really does, without running it: ways, queues, windows, and the classic mistakes.

    print(pl.doctor("scenarios/one-flow.toml"))

The checks are listed in docs/doctor.md. A new one is a function in `paceline.doctor.checks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.scenario import Source, loaded
from paceline.scenario.sweep_axes import check_seed

if TYPE_CHECKING:
    from paceline.doctor.diagnosis import Diagnosis


def doctor(scenario: Source, seed: int | None = None) -> Diagnosis:
    """Looks at a scenario, every setting that it sweeps, without running it.

    Args:
        scenario: what to look at, or its file, or its tables.
        seed: whose draws to look at; the scenario's first by default.

    Returns:
        What was found: ``findings`` and ``settings``; as text the report that the command prints.

    Raises:
        InputError: the scenario is wrong.

    Examples:
        >>> diagnosis = pl.doctor("scenarios/one-flow.toml")
        >>> diagnosis.worst, [finding.id for finding in diagnosis.findings]
        ('warning', ['few-seeds'])
    """
    from paceline.doctor.diagnosis import diagnose
    from paceline.doctor.sweep import Sweep

    return diagnose(Sweep.of(loaded(scenario), None if seed is None else check_seed(seed, "seed")))
