"""Options that several commands have, and the checked scenario that they make of a file."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline import _arguments
from paceline.cli import completion
from paceline.cli.usage import Argument
from paceline.errors import InputError, StaleStoreError, StoreError
from paceline.scenario.paths import join_path, split_path
from paceline.terminal.output import say, verbosity

if TYPE_CHECKING:
    from distributed import Client

    from paceline.runs.precision import Precision
    from paceline.scenario import Point, Scenario
    from paceline.store import Store

SET = click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change a value. PATH: keys joined by dots."
)
SWEEP = click.option(
    "--sweep", "sweeps", multiple=True, metavar="PATH=V1,V2,…", help="Run under each value; several make a grid."
)
SEEDS = click.option("--seeds", metavar="N", help="Seeds for each setting, or exactly which: 3,5,8.")
FILE = click.argument("file", cls=Argument, what="a scenario", shell_complete=completion.files)
RESULTS = click.argument("results", cls=Argument, what="a directory of results", shell_complete=completion.directories)
JOBS = click.option("--jobs", metavar="N", help="Runs at a time.  [default: one a processor]")
QUIET = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=lambda _context, _option, is_quiet: setattr(verbosity, "is_quiet", is_quiet),
    help="Say nothing but what went wrong; results are printed as ever.",
)
FORCE = click.option("--force", is_flag=True, help="Take --out even where it has another scenario's results.")
DASK = click.option(
    "--dask", "address", metavar="ADDRESS", help="Run on the workers of this Dask scheduler (docs/sweeps.md)."
)


#: What `check` and `doctor` spend on settings; they answer in five.
MOST_S = 2.5


def checked_scenario(
    file: str,
    sets: Sequence[str],
    sweeps: Sequence[str],
    seeds: str | None,
    *,
    here: bool = True,
    within_s: float | None = None,
) -> tuple[Scenario, list[Point]]:
    """The scenario with what the options change, and its runs, all of it checked; `here` they fit in the memory too.

    `within_s` asks for the first run of each setting, as many as can be checked in so many seconds.
    """
    from paceline.terminal.progress import phase

    with phase(f"reading {file}"):
        return _checked_scenario(file, sets, sweeps, seeds, here, within_s)


def _checked_scenario(
    file: str, sets: Sequence[str], sweeps: Sequence[str], seeds: str | None, here: bool, within_s: float | None
) -> tuple[Scenario, list[Point]]:
    from paceline.scenario import Scenario
    from paceline.scenario.paths import locate, parse_value, split_values

    scenario = Scenario.load(file)
    options: dict[str, str] = {}
    wrong: list[InputError] = []
    for text in sets:
        with _noted(wrong):
            path, value = _assignment(text, "--set", "network.core.buffer=5 KB")
            with _from_option(f"--set {path}"):
                scenario = scenario.set(path, parse_value(value))
                for name in (path, locate(scenario.to_dict(), path)):
                    options[join_path(split_path(name)).removeprefix("sweep.")] = "--set"
    for text in sweeps:
        with _noted(wrong):
            path, value = _assignment(text, "--sweep", "network.core.buffer=5 KB,20 KB")
            with _from_option(f"--sweep {path}"):
                if join_path(split_path(path)) in options:
                    raise InputError("is there twice; leave one out")
                scenario = scenario.over({path: split_values(value)})
                options[join_path(split_path(path))] = "--sweep"
                with contextlib.suppress(InputError):  # said below, in the words of the sweep
                    options[locate(scenario.to_dict(), path)] = "--sweep"
    points: list[Point] = []
    if seeds is not None:
        with _noted(wrong):
            try:
                scenario = scenario.seeds(_seed_numbers(seeds))
            except InputError as error:
                raise _by_option(error, {}, seeds) from None
    try:
        if wrong:  # one run a setting is enough to find the rest
            scenario.check_settings(MOST_S if within_s is None else within_s)
        else:
            points = scenario.check(here=here) if within_s is None else scenario.check_settings(within_s)
    except InputError as error:
        wrong += [_by_option(one, options, seeds) for one in (error, *error.others)]
    if wrong:
        raise InputError.together(wrong)
    return scenario, points


@contextlib.contextmanager
def _noted(wrong: list[InputError]) -> Iterator[None]:
    """What is wrong is told with the rest."""
    try:
        yield
    except InputError as error:
        wrong.append(error)


def _by_option(error: InputError, options: Mapping[str, str], seeds: str | None) -> InputError:
    """The error in the name of the option that has put there what is wrong, if one has."""
    if seeds is not None and error.message.startswith("sweep.seeds: "):
        return InputError(error.message.removeprefix("sweep.seeds: "), "--seeds")
    path = error.message.partition(":")[0].removeprefix("sweep.")
    with contextlib.suppress(InputError):
        path = join_path(split_path(path))
    for changed, option in options.items():
        if path == changed or path.startswith(changed + ".") or changed.startswith(path + "."):
            return InputError(f"{option} {error.message.removeprefix('sweep.')}")
    return error


def say_what_is_unchecked(scenario: Scenario, checked: Sequence[Point]) -> None:
    """Where not every setting was checked, or a run may take long."""
    from paceline.scenario.run_estimate import remembered_estimate_of

    settings, _ = scenario.counts()
    if len(checked) < settings:
        say(f"{len(checked)} of {settings} settings were checked in {MOST_S:g} s; `paceline run` checks them all")
    estimate = remembered_estimate_of(checked[0].json)
    if estimate.is_large():
        say(f"a run takes {estimate.in_words()}")


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


def jobs_of(text: str | None) -> int | None:
    """The runs at a time, from --jobs."""
    return None if text is None else _arguments.jobs(_arguments.typed(text), "--jobs")


def threads_of(text: str | None) -> int:
    """The threads that a run may use, from --threads."""
    return 1 if text is None else _arguments.threads(_arguments.typed(text), "--threads")


def precision_of(until: str | None, metric: str | None, most: str | None) -> Precision | None:
    """How closely means are to be known, from --until-ci, --ci-metric and --max-seeds."""
    from paceline.runs.precision import MOST_SEEDS, Precision

    if until is None:
        for option, text in (("--ci-metric", metric), ("--max-seeds", most)):
            if text is not None:
                raise InputError("goes with --until-ci, as --until-ci 1%", option)
        return None
    number, sign, rest = until.partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = 0.0
    if not sign or rest.strip() or not 0 < share < 1:
        raise InputError(f'"{until}" is no share of a mean; write as 1% or 0.5%', "--until-ci")
    try:
        return Precision(share, metric, MOST_SEEDS if most is None else _arguments.typed(most))  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(error.message, "--" + str(error.source).replace("_", "-")) from None


def opened_store(out: str | None, otherwise: Path) -> Store:
    """Where results go; that it cannot be written, or is another core's, is said before anything runs."""
    from paceline.store import Store

    folder = otherwise if out is None else _arguments.directory(out, "--out", "--out results/mine")
    try:
        store = Store(folder)
        store.check_room()
    except StaleStoreError as error:
        raise InputError(str(error), "--out" if out else None) from None
    except (StoreError, ValueError) as error:
        raise not_written(error, out) from None
    return store


def not_written(error: StoreError | ValueError, out: str | None, name: str = "--out") -> Exception:
    """The error itself where the disk is full or broken, else that `name` names no directory to write to."""
    cause = error.__context__
    if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        return error
    remedy = "name another directory, one that can be written" + ("" if out else ", by --out")
    return InputError(f"{error}; {remedy}", name if out else None)


def refuse_other_scenario(store: Store, scenario: Scenario, points: Sequence[Point], out: str | None) -> None:
    """Another scenario's results are not put aside unasked."""
    from paceline.store import directory_owner

    try:
        directory_owner.refuse_other_scenario(store, scenario, points)
    except InputError as error:
        remedy = "add --force to put these in their place, or name another directory" + ("" if out else " by --out")
        raise InputError(f"{error.message}; {remedy}", "--out" if out else None) from None


def refuse_results_of_others(folder: Path, mark: str, out: str | None) -> None:
    """A report that this command has not written is not put aside at all; `mark` is a file that it leaves."""
    from paceline.store import directory_owner

    try:
        directory_owner.refuse_results_of_others(folder, mark)
    except InputError as error:
        remedy = "name another directory" + ("" if out else " by --out")
        raise InputError(f"{error.message}; {remedy}", "--out" if out else None) from None


@contextlib.contextmanager
def cluster_at(address: str | None) -> Iterator[Client | None]:
    """A client of the scheduler there; ``None`` where no address is given."""
    if address is None:
        yield None
        return
    from paceline.runs.dask_cluster import connected

    with connected(address) as client:
        if not client.nthreads():
            say(f"{address} has no workers yet; waiting for some")
        yield client
