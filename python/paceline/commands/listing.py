"""What `paceline check` lists: every run of a few, else a line a setting, else the first and the last settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline.execute import describe_run

#: More lines than this are not read one by one.
MOST_LINES = 60
#: Of more settings than fit, so many are shown at either end.
SHOWN = 10


def listing(title: str, settings: Sequence[Mapping[str, str]], seeds: Sequence[int]) -> str:
    """The number of runs, and which: its cost grows with what is printed and not with the number of seeds."""
    runs = len(settings) * len(seeds)
    head = f"{title}: {runs} run{'s' * (runs != 1)}"
    if runs <= MOST_LINES:
        lines = [describe_run(one, f"seed {seed}") for one in settings for seed in seeds]
        return "\n".join([head, *(f"  {line}" for line in lines)]) + "\n"
    if len(settings) > 1:
        head += f": {len(settings)} settings, {_count(seeds)} each"
    which = _which(seeds)
    lines = [describe_run(one, which) for one in settings[: MOST_LINES if len(settings) <= MOST_LINES else SHOWN]]
    if len(settings) > MOST_LINES:
        lines += [f"… {len(settings) - 2 * SHOWN} more"]
        lines += [describe_run(one, which) for one in settings[-SHOWN:]]
    return "\n".join([head, *(f"  {line}" for line in lines)]) + "\n"


def _count(seeds: Sequence[int]) -> str:
    return f"{len(seeds)} seed{'s' * (len(seeds) != 1)}"


def _which(seeds: Sequence[int]) -> str:
    """``seeds 1 to 5`` of consecutive ones, else the few there are, or the first of many."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if isinstance(seeds, range):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    if len(seeds) <= SHOWN:
        return f"seeds {', '.join(map(str, seeds))}"
    return f"seeds {', '.join(map(str, seeds[:3]))} and {len(seeds) - 3} more"
