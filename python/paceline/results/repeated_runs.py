"""Detects seeds that give the same run again: that is one run, and has no interval.

A seed is a draw only where something is drawn and matters. Runs of one setting that agree in every number are the same
run; Student's t over them would say ± 0, a certainty that one run cannot give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: What a run's numbers are; `engine` is about the run, and `settings` and `seed` say which it is.
_NUMBERS = ("window_s", "links", "flows", "groups")
_COLUMNS = tuple(f"{key}." for key in _NUMBERS)
#: Settings that are named where some repeat and others do not.
_MOST_NAMED = 3
REMEDY = 'run one seed; or have something drawn, as delay = "4 ms .. 6 ms"'


def same(runs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these are two runs or more, and all alike in every number of the contract."""
    first, *others = runs or [{}]
    return bool(others) and all(all(one.get(key) == first.get(key) for key in _NUMBERS) for one in others)


def same_rows(rows: Sequence[Mapping[str, object]]) -> bool:
    """The same of rows of ``runs.parquet``."""
    kept = [{key: value for key, value in row.items() if key.startswith(_COLUMNS)} for row in rows]
    return len(kept) > 1 and bool(kept[0]) and all(row == kept[0] for row in kept)


def sentence(repeated: Sequence[Mapping[str, str]], settings: int, seeds: int) -> str | None:
    """Why there are no intervals, of all settings or some; ``None`` where none repeats."""
    if not repeated:
        return None
    every = "both seeds" if seeds == 2 else f"all {seeds} seeds"
    if len(repeated) == settings:
        which = f"{every} gave the same run" + (" of each setting" if settings > 1 else "")
        return f"{which}: nothing that is drawn makes a difference, so there is no interval; {REMEDY}"
    named = [", ".join(f"{path} = {value}" for path, value in one.items()) for one in repeated[:_MOST_NAMED]]
    more = f"; and {len(repeated) - _MOST_NAMED} more" if len(repeated) > _MOST_NAMED else ""
    return (
        f"{len(repeated)} of {settings} settings gave the same run under every seed, and have no interval "
        f"({'; '.join(named)}{more}); {REMEDY}"
    )
