"""The command `paceline`.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 a run failed or its results could
not be written, 2 the input is wrong, 130 interrupted. What is not needed for a command is not imported for it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from paceline.commands.analyse import analyse
from paceline.commands.explain import explain
from paceline.commands.pace import pace
from paceline.console import DONE, FAILED, INTERRUPTED, WRONG_INPUT
from paceline.console import forget_output as _forget_output
from paceline.console import print_data as _print
from paceline.console import print_table as _print_rows
from paceline.console import say as _say
from paceline.errors import InputError, Interrupted, PacelineError, RunError, StoreError

if TYPE_CHECKING:
    from paceline.execute import Execution
    from paceline.scenario import Point, Scenario
    from paceline.store import Store

ENGINES = ("auto", "windowed", "reference")
_EXIT_CODES = "Exit codes: 0 done, 1 a run failed, 2 the input is wrong, 130 interrupted (finished runs are kept)."


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and leaves with its exit code."""
    # A shell starts what it runs in the background with this signal ignored; finished runs are to be kept there too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        code = paceline.main(arguments, "paceline", standalone_mode=False) or DONE
        _print("")
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        code = WRONG_INPUT
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "paceline"
        code = _say(f"{error.format_message().rstrip('.')}; see {command} --help", WRONG_INPUT)
    except click.ClickException as error:
        code = _say(error.format_message(), WRONG_INPUT)
    except InputError as error:
        code = _say(str(error), WRONG_INPUT)
    except PacelineError as error:
        code = _say(str(error), FAILED)
    except OSError as error:
        code = _say(f"{error.filename or 'standard output'}: {error.strerror or error}", FAILED)
        _forget_output()
    except (KeyboardInterrupt, click.Abort) as error:
        with contextlib.suppress(KeyboardInterrupt):
            code = _say(str(error) if isinstance(error, Interrupted) else "interrupted", INTERRUPTED)
        code = INTERRUPTED
    sys.exit(code)


@click.group(
    no_args_is_help=True,
    epilog=_EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
def paceline() -> None:
    """Simulate pacing in networks with small buffers.

    \b
    paceline run scenarios/edge-vs-host.toml
    paceline check scenarios/edge-vs-host.toml
    paceline doctor scenarios/edge-vs-host.toml
    paceline analyse traffic.pcap --pacer "edge 10 ms"
    paceline explain tcp --profile linux
    paceline pace --in eth0 --out eth1 --method edge --delay 10ms
    """


_set = click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change a value. PATH: keys joined by dots."
)
_sweep = click.option(
    "--sweep", "sweeps", multiple=True, metavar="PATH=V1,V2,…", help="Run under each value; several make a grid."
)
_seeds = click.option("--seeds", metavar="N", help="Seeds for each setting, or exactly which: 3,5,8.")
_file = click.argument("file", type=str)


@paceline.command(short_help="Run a scenario, all that it sweeps.")
@_file
@_set
@_sweep
@_seeds
@click.option("--jobs", metavar="N", help="Runs at a time.  [default: one a processor]")
@click.option("--out", metavar="DIR", help="Where results go.  [default: results/<name of FILE>]")
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON only; write files only with --out.")
@click.option("--trace", metavar="FILE", help="Write every packet event of the one run: .csv, .parquet or .pcap.")
@click.option("--engine", metavar="NAME", default="auto", help="auto, windowed or reference; the results are the same.")
def run(
    file: str,
    sets: tuple[str, ...],
    sweeps: tuple[str, ...],
    seeds: str | None,
    jobs: str | None,
    out: str | None,
    as_json: bool,
    trace: str | None,
    engine: str,
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
    """
    workers = _jobs(jobs)
    if engine not in ENGINES:
        raise InputError(f'"{engine}" is no engine; write {", ".join(ENGINES[:-1])} or {ENGINES[-1]}', "--engine")
    scenario, points = _asked(file, sets, sweeps, seeds)
    if trace is not None:
        from paceline.trace import check_name

        check_name(Path(trace))
        _check_folder(Path(trace))
        if len(points) > 1:
            raise InputError(f"the scenario has {len(points)} runs; narrow it to one, by --set and --seeds", "--trace")
    store = None
    if out is not None or not as_json:
        store = _store(out, file, scenario)
    try:
        done = _execute(scenario, points, workers, store, trace, engine)
    except Interrupted as interrupt:
        if as_json:
            _print_json([result.to_dict() for result in interrupt.results])
        where = f" kept in {store.directory}; the same command goes on from there" if store else ""
        what = f"interrupted: {len(interrupt.results)} of {interrupt.total} runs had finished,{where}".rstrip(",")
        return _say(what, INTERRUPTED)
    runs = [one for one in done.runs if one is not None]
    for path in done.damaged:
        _say(f"{path}: damaged; ran that one again")
    if done.reused:
        _say(f"{done.reused} of {len(points)} runs were in {store.directory if store else ''} already")
    if as_json:
        _print_json(runs)
    elif runs:
        _print_table(done)
    if store and runs:
        finished = [point for point, one in zip(points, done.runs, strict=True) if one is not None]
        store.consolidate(finished, runs)
        _report(store, file)
    for point, why in done.failures:
        from paceline.execute import describe_point

        _say(f"{file}: {describe_point(point)}: {why}")
    return FAILED if done.failures else DONE


@paceline.command(short_help="Check a scenario and list its runs.")
@_file
@_set
@_sweep
@_seeds
def check(file: str, sets: tuple[str, ...], sweeps: tuple[str, ...], seeds: str | None) -> int:
    """Check the scenario in FILE and print what it would run, without running it.

    \b
    paceline check scenarios/edge-vs-host.toml
    """
    from paceline.execute import describe_point

    scenario, points = _asked(file, sets, sweeps, seeds)
    lines = [f"{scenario.title}: {len(points)} run{'s' * (len(points) != 1)}"]
    lines += [f"  {describe_point(point)}" for point in points]
    _print("\n".join(lines) + "\n")
    return DONE


@paceline.command(short_help="Say what a scenario really does, and what is odd.")
@_file
@_set
@click.option("--seed", metavar="N", help="Whose draws to look at.  [default: the scenario's first]")
@click.option("--json", "as_json", is_flag=True, help="Print it all as one JSON object.")
@click.option("--strict", is_flag=True, help="Exit 1 where there is a warning or an error.")
def doctor(file: str, sets: tuple[str, ...], seed: str | None, as_json: bool, strict: bool) -> int:
    """Say what the scenario in FILE really does, and what is odd about it, without running it.

    Every kind of way hop by hop, with what each queue holds and who paces; round trips, bandwidth-delay products, fair
    windows, expected cost; and the classic mistakes. docs/doctor.md lists the checks.

    \b
    paceline doctor scenarios/edge-vs-host.toml
    paceline doctor scenarios/one-flow.toml --set "network.links.bottleneck.buffer=2 packets"
    paceline doctor scenarios/one-flow.toml --json | jq -r '.findings[].id'
    """
    from paceline.doctor import doctor as look_at
    from paceline.doctor.text import PLAIN_WIDTH, as_text

    scenario, _ = _asked(file, sets, (), None)
    diagnosis = look_at(scenario, None if seed is None else _one_seed(seed))
    if as_json:
        _print(diagnosis.to_json())
    else:
        terminal = sys.stdout.isatty()
        width = min(shutil.get_terminal_size().columns, 140) if terminal else PLAIN_WIDTH
        _print(as_text(diagnosis, width, colour=terminal and not os.environ.get("NO_COLOR")))
    return FAILED if strict and diagnosis.worst in ("error", "warning") else DONE


@paceline.command()
def version() -> int:
    """Print the version."""
    from paceline import _core

    _print(f"paceline {_core.version()}\n")
    return DONE


paceline.add_command(analyse)
paceline.add_command(explain)
paceline.add_command(pace)


def _asked(file: str, sets: Sequence[str], sweeps: Sequence[str], seeds: str | None) -> tuple[Scenario, list[Point]]:
    """The scenario with what the options change, and its runs; all of it checked."""
    from paceline.paths import join_path, locate, parse_value, split_path, split_values
    from paceline.scenario import Scenario

    scenario = Scenario.load(file)
    options: dict[str, str] = {}
    for text in sets:
        path, value = _assignment(text, "--set", "network.core.buffer=5 KB")
        with _from_option(f"--set {path}"):
            scenario = scenario.set(path, parse_value(value))
            for name in (path, locate(scenario.to_dict(), path)):
                options[join_path(split_path(name)).removeprefix("sweep.")] = "--set"
    for text in sweeps:
        path, value = _assignment(text, "--sweep", "network.core.buffer=5 KB,20 KB")
        with _from_option(f"--sweep {path}"):
            scenario = scenario.over({path: split_values(value)})
            options[join_path(split_path(path))] = "--sweep"
            with contextlib.suppress(InputError):  # said below, in the words of the sweep
                options[locate(scenario.to_dict(), path)] = "--sweep"
    try:
        if seeds is not None:
            scenario = scenario.seeds(_seed_numbers(seeds))
        return scenario, scenario.check()
    except InputError as error:
        if seeds is not None and error.message.startswith("sweep.seeds: "):
            raise InputError(error.message.removeprefix("sweep.seeds: "), "--seeds") from None
        path = error.message.partition(":")[0].removeprefix("sweep.")
        with contextlib.suppress(InputError):
            path = join_path(split_path(path))
        for changed, option in options.items():
            if path == changed or path.startswith(changed + ".") or changed.startswith(path + "."):
                raise InputError(f"{option} {error.message.removeprefix('sweep.')}") from None
        raise


@contextlib.contextmanager
def _from_option(option: str) -> Any:
    """Errors name the option in place of the file."""
    try:
        yield
    except InputError as error:
        path, colon, rest = error.message.partition(": ")
        same = colon and option.endswith(" " + path)
        raise InputError(rest if same else error.message, option) from None


def _assignment(text: str, option: str, example: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise InputError(f'{text or "nothing"} has no PATH and VALUE; write as "{example}"', option)
    return path.strip(), value


def _seed_numbers(text: str) -> int | list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f'"{text}" is not a number of seeds; write as 5, or seeds as 3,5,8', "--seeds") from None
    return numbers if "," in text else numbers[0]


def _one_seed(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) >= 2**63:
        raise InputError(f'"{text}" is not a seed; write a whole number from 0 to 2^63 - 1', "--seed")
    return int(text)


def _jobs(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 4096:
        raise InputError(f'"{text}" is not a number of runs at a time; write 1 or more', "--jobs")
    return int(text)


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


def _store(out: str | None, file: str, scenario: Scenario) -> Store:
    """Where results go; that it cannot be written is said before anything runs."""
    from paceline.store import Store

    if out is not None and not out.strip():
        raise InputError("names no directory; write one that can be written, as --out results/mine", "--out")
    try:
        store = Store(out or Path("results") / Path(file).stem)
        store.write_scenario(scenario)
    except (StoreError, ValueError) as error:
        cause = error.__context__
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        remedy = "name another directory, one that can be written" + ("" if out else ", by --out")
        raise InputError(f"{error}; {remedy}", "--out" if out else None) from None
    return store


def _execute(
    scenario: Scenario, points: list[Point], jobs: int | None, store: Store | None, trace: str | None, engine: str
) -> Execution:
    from paceline.execute import execute
    from paceline.progress import progress

    with progress(scenario.title) as watch:
        if trace is None:
            return execute(points, jobs=jobs, store=store, engine=engine, watch=watch)
        from paceline.trace import tracing

        with tracing(trace) as writer:
            done = execute(points, jobs=jobs, store=store, engine=engine, watch=watch, trace=writer)
            if done.failures:
                raise RunError(done.failures[0][1])
            return done


def _report(store: Store, file: str) -> None:
    import paceline.report

    try:
        _say(f"report: {paceline.report.write(store.directory, file)}")
    except OSError as error:
        raise RunError(f"the report: {error.filename or store.directory}: {error.strerror or error}") from None


def _print_json(runs: Sequence[Any]) -> None:
    from paceline.tables import to_json

    _print(to_json(runs))


def _print_table(done: Execution) -> None:
    from paceline.tables import summary_rows

    head, rows = summary_rows(done.results)
    _print_rows(head, rows, len(done.points[0].settings))
