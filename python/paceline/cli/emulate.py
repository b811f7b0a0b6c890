"""`paceline emulate`: the scenario on the real TCP of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from paceline.cli import completion
from paceline.cli.options import (
    FILE,
    FORCE,
    QUIET,
    SEEDS,
    SET,
    SWEEP,
    checked_scenario,
    opened_store,
    refuse_other_scenario,
)
from paceline.cli.run import keep_and_report, print_runs, print_summary
from paceline.errors import InputError
from paceline.runs.interrupted import Interrupted
from paceline.terminal.output import DONE, FAILED, INTERRUPTED, say

if TYPE_CHECKING:
    from paceline.emulate.choices import Choices


@click.command(short_help="Run a scenario on this machine's own TCP.")
@FILE
@SET
@SWEEP
@SEEDS
@click.option("--and-simulate", is_flag=True, help="Simulate the same too, and lay both side by side.")
@click.option("--congestion-control", metavar="NAME", help="Of every flow, by the kernel's name; also bbr.")
@click.option(
    "--pacers",
    default="inline",
    metavar="inline|built-in",
    shell_complete=completion.words(("inline", "built-in")),
    help="Link pacers: programs of their own, or not.",
)
@click.option("--spin", default="0", metavar="US", help="Wait the last so many us awake.  [default: 0]")
@click.option(
    "--out",
    metavar="DIR",
    shell_complete=completion.directories,
    help="Where results go.  [default: results/<name of FILE>-kernel]",
)
@FORCE
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON only; write files only with --out.")
@QUIET
def emulate(
    file: str,
    sets: tuple[str, ...],
    sweeps: tuple[str, ...],
    seeds: str | None,
    and_simulate: bool,
    congestion_control: str | None,
    pacers: str,
    spin: str,
    out: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Run the scenario in FILE on this machine's own TCP, in real time, all that it sweeps.

    Hosts are real sockets in network namespaces, links are emulated, link pacers are `paceline pace`. Needs root, or
    CAP_NET_ADMIN and CAP_SYS_ADMIN. A run that the machine could not keep up with is not valid: it is said, and the
    exit code is 1. docs/emulate.md has the details.

    \b
    paceline emulate scenarios/kernel/one-flow.toml
    paceline emulate scenarios/kernel/one-flow.toml --and-simulate
    paceline emulate scenarios/kernel/one-flow.toml --congestion-control bbr
    paceline emulate scenarios/kernel/one-flow.toml --json | jq '.[].engine.valid'
    """
    from paceline.emulate import capabilities, kernel_sweep
    from paceline.runs.execute import describe_point
    from paceline.terminal.progress import progress

    capabilities.require_linux()
    choices = _choices(congestion_control, pacers, spin)
    scenario, points = checked_scenario(file, sets, sweeps, seeds)
    store = None
    if out is not None or not as_json:
        store = opened_store(out, Path("results") / f"{Path(file).stem}-kernel")
        if not force:
            refuse_other_scenario(store, scenario, points, out)
    try:
        with progress(scenario.title) as watch:
            done = kernel_sweep.carry_out(
                scenario, points, choices, and_simulate=and_simulate, store=store, watch=watch, warn=say
            )
    except Interrupted as interrupt:
        if as_json:
            print_runs([result.to_dict() for result in interrupt.results])
        where = f" kept in {store.directory}; the same command goes on from there" if store else ""
        return say(f"interrupted: {len(interrupt.results)} runs had finished,{where}".rstrip(","), INTERRUPTED)
    runs = [one for one in done.runs if one is not None]
    if as_json:
        print_runs(runs)
    elif runs:
        print_summary(done)
    if repetition := done.results.repetition:
        say(repetition)
    if store and runs:
        finished = [point for point, one in zip(done.points, done.runs, strict=True) if one is not None]
        keep_and_report(store, scenario, finished, runs, file)
    for point, why in done.failures:
        say(f"{file}: {describe_point(point)}: {why}", FAILED)
    doubtful = kernel_sweep.invalid(done)
    for point, doubts in doubtful:
        what = f"not valid, the machine could not keep up: {'; '.join(doubts)}"
        say(f"{file}: {describe_point(point)}: {what}", FAILED)
    return FAILED if done.failures or doubtful else DONE


def _choices(congestion_control: str | None, pacers: str, spin: str) -> Choices:
    from paceline.emulate.choices import PACERS, Choices

    if pacers not in PACERS:
        raise InputError(f'"{pacers}" is no place for pacers; write {" or ".join(PACERS)}', "--pacers")
    if not spin.isascii() or not spin.isdecimal() or int(spin) > 1000:
        raise InputError(f'"{spin}" is not a time to stay awake; write a number of us from 0 to 1000', "--spin")
    return Choices(congestion_control, pacers, int(spin))
