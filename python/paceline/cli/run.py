"""`paceline run`: a scenario, all that it sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline import _arguments
from paceline.cli import completion
from paceline.cli.options import (
    DASK,
    FILE,
    FORCE,
    JOBS,
    QUIET,
    SEEDS,
    SET,
    SWEEP,
    checked_scenario,
    cluster_at,
    jobs_of,
    opened_store,
    precision_of,
    refuse_other_scenario,
    threads_of,
)
from paceline.errors import InputError, RunError
from paceline.runs.interrupted import Interrupted
from paceline.terminal.output import DONE, FAILED, INTERRUPTED, print_data, print_table, say

if TYPE_CHECKING:
    from paceline.runs.execute import Execution
    from paceline.runs.precision import Precision
    from paceline.scenario import Point, Scenario
    from paceline.store import Store


@click.command(short_help="Run a scenario, all that it sweeps.")
@FILE
@SET
@SWEEP
@SEEDS
@click.option("--until-ci", metavar="1%", help="Add seeds until 95 % intervals of means are no wider, to either side.")
@click.option("--ci-metric", metavar="PATH", help="Of which number.  [default: flows.goodput_mean_bps]")
@click.option("--max-seeds", metavar="N", help="Seeds that --until-ci may give a setting.  [default: 200]")
@JOBS
@DASK
@click.option(
    "--out",
    metavar="DIR",
    shell_complete=completion.directories,
    help="Where results go.  [default: results/<name of FILE>]",
)
@FORCE
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON only; write files only with --out.")
@QUIET
@click.option(
    "--trace",
    metavar="FILE",
    shell_complete=completion.files,
    help="Write every packet event of the one run: .csv, .parquet, .pcap or .pcapng.",
)
@click.option(
    "--engine",
    metavar="NAME",
    shell_complete=completion.words(_arguments.ENGINES),
    default="auto",
    help="auto, windowed or reference; the results are the same.",
)
@click.option("--threads", metavar="N", help="Threads that each run may use; the results are the same.  [default: 1]")
def run(
    file: str,
    sets: tuple[str, ...],
    sweeps: tuple[str, ...],
    seeds: str | None,
    until_ci: str | None,
    ci_metric: str | None,
    max_seeds: str | None,
    jobs: str | None,
    address: str | None,
    out: str | None,
    force: bool,
    as_json: bool,
    trace: str | None,
    engine: str,
    threads: str | None,
) -> int:
    """Run the scenario in FILE, all that it sweeps.

    Prints a table of means with 95 % intervals over seeds and writes a report, runs.parquet, flows.parquet,
    series.parquet, instruments.parquet and the scenario as run. What --out has already is not run again.

    \b
    paceline run scenarios/one-flow.toml
    paceline run scenarios/one-flow.toml --set "network.links.bottleneck.buffer=20 KB"
    paceline run scenarios/one-flow.toml --sweep "network.links.bottleneck.buffer=5 KB,20 KB" --seeds 5
    paceline run scenarios/one-flow.toml --sweep "pacing=none,host,edge delay = 10 ms, at = bottleneck"
    paceline run scenarios/one-flow.toml --json | jq '.[].links.bottleneck.loss_ratio'
    paceline run scenarios/one-flow.toml --set pacing=host --trace one-flow.pcap
    paceline run scenarios/edge-vs-host.toml --until-ci 1% --ci-metric links.core.loss_ratio
    paceline run scenarios/scale/many-flows.toml --threads 2
    paceline run scenarios/edge-vs-host.toml --dask tcp://127.0.0.1:8786
    """
    how: dict[str, Any] = {"jobs": jobs_of(jobs), "engine": engine, "threads": threads_of(threads)}
    precision = precision_of(until_ci, ci_metric, max_seeds)
    _arguments.engine(engine, "--engine")
    scenario, points = checked_scenario(file, sets, sweeps, seeds, here=address is None)
    if trace is not None:
        for option, given in (("--dask", address), ("--until-ci", until_ci)):
            if given is not None:
                raise InputError(f"a trace is of one run, made here; leave out {option}", "--trace")
        from paceline.runs.trace import check_name

        _check_folder(check_name(trace, "--trace"))
        if len(points) > 1:
            raise InputError(f"the scenario has {len(points)} runs; narrow it to one, by --set and --seeds", "--trace")
    if precision and (few := _fewer_than_needed(scenario)):
        say(few)
    store = None
    if out is not None or not as_json:
        store = opened_store(out, Path("results") / Path(file).stem)
        if not force:
            refuse_other_scenario(store, scenario, points, out)
    short = None
    try:
        with cluster_at(address) as client:
            how |= {"store": store, "executor": client, "tell": say}
            done, short = _execute(scenario, points, trace, precision, how)
    except Interrupted as interrupt:
        if as_json:
            print_runs([result.to_dict() for result in interrupt.results])
        where = f" kept in {store.directory}; the same command goes on from there" if store else ""
        what = f"interrupted: {len(interrupt.results)} of {interrupt.total} runs had finished,{where}".rstrip(",")
        return say(what, INTERRUPTED)
    runs = [one for one in done.runs if one is not None]
    for path in done.damaged:
        say(f"{path}: damaged; ran that one again")
    if done.reused:
        say(f"{done.reused} of {len(done.points)} runs were in {store.directory if store else ''} already")
    if as_json:
        print_runs(runs)
    elif runs:
        print_summary(done)
    if repetition := done.results.repetition:
        say(repetition)
    if store and runs:
        finished = [point for point, one in zip(done.points, done.runs, strict=True) if one is not None]
        keep_and_report(store, scenario, finished, runs, file)
    if short:
        say(short)
    alone = sum(one["engine"].get("threads") == 1 for one in runs)
    if how["threads"] > 1 and alone:
        say(
            f"--threads: {alone} of {len(runs)} runs used one thread; docs/performance.md says when several can be used"
        )
    for point, why in done.failures:
        from paceline.runs.execute import describe_point

        say(f"{file}: {describe_point(point)}: {why}", FAILED)
    return FAILED if done.failures else DONE


def _fewer_than_needed(scenario: Scenario) -> str | None:
    """A line where fewer seeds are asked for than an interval that is judged by has; not where none are."""
    from paceline.runs.precision import LEAST_SEEDS

    seeds = len(scenario.seed_numbers())
    if seeds >= LEAST_SEEDS or "seeds" not in scenario.to_dict().get("sweep", {}):
        return None
    asked_for = "1 seed is" if seeds == 1 else f"{seeds} seeds are"
    return f"--until-ci: {asked_for} asked for, and every setting begins with {LEAST_SEEDS}: {LEAST_SEEDS - seeds} more"


def _check_folder(trace: Path) -> None:
    import tempfile

    try:
        if trace.is_dir():
            raise InputError(f"{trace} is a directory; name a file", "--trace")
        with tempfile.TemporaryFile(dir=trace.parent):
            pass
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{trace}: {why}; name a file in a directory that can be written", "--trace") from None


def _execute(
    scenario: Scenario, points: list[Point], trace: str | None, precision: Precision | None, how: dict[str, Any]
) -> tuple[Execution, str | None]:
    """What came of it, and a line on settings that are not known as closely as asked."""
    from paceline.runs.execute import execute
    from paceline.terminal.progress import progress

    with progress(scenario.title) as watch:
        if precision is not None:
            from paceline.runs.precision import execute_until, shortfall

            try:
                done, short = execute_until(scenario, precision, watch=watch, **how)
            except InputError as error:
                raise InputError(error.message, "--ci-metric") if error.source == "ci_metric" else error from None
            settings = len({point.json for point in done.points})
            return done, shortfall(precision, short, settings).replace("max_seeds", "--max-seeds") if short else None
        if trace is None:
            return execute(points, watch=watch, **how), None
        from paceline.runs.trace import tracing

        with tracing(trace) as writer:
            done = execute(points, watch=watch, trace=writer, **how)
            if done.failures:
                raise RunError(done.failures[0][1])
            return done, None


def keep_and_report(
    store: Store, scenario: Scenario, points: Sequence[Point], runs: Sequence[dict[str, Any]], file: str
) -> None:
    """Puts the runs together in the directory, and writes its report. Raises `RunError` and `StoreError`."""
    import paceline.report
    from paceline.terminal.progress import phase

    with store.exclusive():
        with phase("writing the tables"):
            store.consolidate(scenario, points, runs)
        try:
            with phase("writing the report"):
                report = paceline.report.write(store.directory, file)
        except OSError as error:
            raise RunError(f"the report: {error.filename or store.directory}: {error.strerror or error}") from None
    say(f"report: {report}")


def print_runs(runs: Sequence[Any]) -> None:
    """The array of the contract."""
    from paceline.results.tables import to_json

    print_data(to_json(runs))


def print_summary(done: Execution) -> None:
    """A row a setting."""
    from paceline.results.tables import summary_rows

    head, rows = summary_rows(done.results)
    print_table(head, rows, len(done.points[0].settings))
