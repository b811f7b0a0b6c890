"""`paceline check`: whether a scenario is sound, and its runs: each of a few, else a line a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import click

from paceline.cli.options import FILE, MOST_S, QUIET, SEEDS, SET, SWEEP, checked_scenario, say_what_is_unchecked
from paceline.terminal.output import DONE, print_text

#: More lines than this are not read one by one.
MOST_LINES = 60
#: Of more settings than fit, so many are shown at either end.
SHOWN = 10


@click.command(short_help="Check a scenario and list its runs.")
@FILE
@SET
@SWEEP
@SEEDS
@QUIET
def check(file: str, sets: tuple[str, ...], sweeps: tuple[str, ...], seeds: str | None) -> int:
    """Check the scenario in FILE and print what it would run, without running it.

    \b
    paceline check scenarios/edge-vs-host.toml
    """
    scenario, checked = checked_scenario(file, sets, sweeps, seeds, within_s=MOST_S)
    text = listing(scenario.title, scenario.counts()[0], scenario.labels(), scenario.seed_numbers())
    for line in text.removesuffix("\n").split("\n"):  # a title may hold other line ends
        print_text(line, "    ")
    say_what_is_unchecked(scenario, checked)
    return DONE


def listing(title: str, count: int, labels: Callable[[int], Mapping[str, str]], seeds: Sequence[int]) -> str:
    """The number of runs, and which: its cost grows with what is printed, not with the number of settings or seeds."""
    from paceline.runs.execute import describe_run

    runs = count * len(seeds)
    head = f"{title}: {runs} run{'s' * (runs != 1)}"
    if runs <= MOST_LINES:
        lines = [describe_run(labels(number), f"seed {seed}") for number in range(count) for seed in seeds]
        return "\n".join([head, *(f"  {line}" for line in lines)]) + "\n"
    if count > 1:
        head += f": {count} settings, {_count(seeds)} each"
    which = _which(seeds)
    first = range(count if count <= MOST_LINES else SHOWN)
    last = range(max(count - SHOWN, len(first)), count)
    lines = [describe_run(labels(number), which) for number in first]
    if last:
        lines += [f"… {count - 2 * SHOWN} more"]
        lines += [describe_run(labels(number), which) for number in last]
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
