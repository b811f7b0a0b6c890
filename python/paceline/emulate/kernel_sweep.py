"""All runs of a scenario on the kernel, one after the other, and beside them the simulator's."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paceline import _arguments
from paceline.emulate import capabilities, kernel_results, kernel_run, programs
from paceline.emulate.choices import Choices
from paceline.emulate.layout import Layout, lay_out
from paceline.errors import InputError, PacelineError, RunError
from paceline.results import Results
from paceline.runs.execute import Execution, execute
from paceline.runs.interrupted import Interrupted
from paceline.scenario import Point, Scenario, Source, loaded
from paceline.scenario.resolved_network import Network

if TYPE_CHECKING:
    from paceline.store import Store
    from paceline.terminal.progress import Watch

#: The path of the setting that tells the two worlds apart where a study has both.
ENGINE = "engine"


def emulate(
    scenario: Source,
    choices: Choices | None = None,
    *,
    and_simulate: bool = False,
    out: str | os.PathLike[str] | None = None,
) -> Results:
    """Runs a scenario on the kernel, all that it sweeps, in real time.

    Args:
        scenario: what to run, or its file, or its tables.
        choices: what is not the scenario's to say.
        and_simulate: simulates the same too; ``settings["engine"]`` is then ``"simulation"`` or ``"kernel"``.
        out: a directory for results.

    Raises:
        InputError: the scenario is wrong, asks for what no kernel has, or a capability is missing; nothing has run.
        RunError: a run failed.
        Interrupted: Ctrl-C; has the runs that finished.
    """
    scenario = loaded(scenario)
    store = None
    if out is not None:
        from paceline.store import Store

        store = Store(_arguments.directory(out, "out", "results/mine"))
        store.check_room()
    done = carry_out(scenario, scenario.check(), choices or Choices(), and_simulate=and_simulate, store=store)
    if done.failures:
        raise RunError(done.failures[0][1])
    if store:
        with store.exclusive():
            store.consolidate(scenario, done.points, [one for one in done.runs if one is not None])
    return done.results


def carry_out(
    scenario: Scenario,
    points: Sequence[Point],
    choices: Choices,
    *,
    and_simulate: bool = False,
    store: Store | None = None,
    watch: Watch | None = None,
    warn: Callable[[str], object] = lambda _: None,
) -> Execution:
    """The kernel's runs, and with `and_simulate` the simulator's before them; a failed run does not stop the others.

    A valid run that the store has is not run again. Raises as `emulate` does, `RunError` aside.
    """
    capabilities.require()
    layouts = [_laid_out(point, choices, scenario.source) for point in points]
    for name in (
        "paceline-wires",
        "paceline-traffic",
        *(["paceline-pace"] if any(one.paced_links for one in layouts) else []),
    ):
        programs.find(name)
    for warning in dict.fromkeys(warning for layout in layouts for warning in layout.warnings):
        warn(warning)
    if not and_simulate:
        return _run(points, layouts, choices, store, watch)
    if choices.congestion_control == "bbr":
        problem = 'is of the kernel alone; write variant = "bbr" into the file, or leave --and-simulate out'
        raise InputError(f"bbr {problem}", "--congestion-control")
    simulated = execute([_named(point, "simulation") for point in points], store=store, keep_columns=True, watch=watch)
    real = _run([_named(point, "kernel") for point in points], layouts, choices, store, watch, simulated.results)
    return Execution(
        points=[*simulated.points, *real.points],
        runs=[*simulated.runs, *real.runs],
        columns=[*simulated.columns, *real.columns],
        failures=[*simulated.failures, *real.failures],
        reused=simulated.reused + real.reused,
        damaged=[*simulated.damaged, *real.damaged],
    )


def _laid_out(point: Point, choices: Choices, source: str | None) -> Layout:
    try:
        return lay_out(json.loads(point.json), Network.resolve(point.json, point.seed), choices, point.seed)
    except InputError as error:
        raise InputError(error.message, error.source or source) from None


def _named(point: Point, engine: str) -> Point:
    return replace(point, settings={ENGINE: engine} | dict(point.settings))


def _run(
    points: Sequence[Point],
    layouts: Sequence[Layout],
    choices: Choices,
    store: Store | None,
    watch: Watch | None,
    before: Results | None = None,
) -> Execution:
    """On the kernel, one at a time: it is the machine's own time that passes."""
    points = [replace(point, key=_key(point, choices)) for point in points]
    done = Execution(points, [None] * len(points), [None] * len(points))
    whole = sum(layout.network.duration_s for layout in layouts)
    passed = 0.0
    for number, (point, layout) in enumerate(zip(points, layouts, strict=True)):
        duration = layout.network.duration_s

        def tell(share: float, number: int = number, passed: float = passed, duration: float = duration) -> None:
            if watch:
                watch((passed + max(0.0, share) * duration) / whole, number, len(points))  # below 0 before it starts

        try:
            found = store.get(point.key, point.seed, done.damaged.append) if store else None
            if found is not None and found["engine"].get("valid"):
                done.reused += 1
                done.runs[number] = {"settings": dict(point.settings)} | found
                done.columns[number] = store.columns(point.key) if store else None
            else:
                _run_one(number, point, layout, choices, store, done, tell)
        except KeyboardInterrupt:
            raise Interrupted(Results([*(before or []), *done.results]), len(points)) from None
        except PacelineError as error:
            done.failures.append((point, str(error)))
        passed += duration
        tell(0.0, passed=passed, number=number + 1)
    return done


def _run_one(
    number: int,
    point: Point,
    layout: Layout,
    choices: Choices,
    store: Store | None,
    done: Execution,
    tell: Callable[[float], None],
) -> None:
    found = kernel_run.run(layout, choices, point.seed, tell)
    run, tables = kernel_results.run_object(layout, found, point.seed), kernel_results.tables(layout, found)
    if store:
        store.put(point.key, run, tables)
    settings: dict[str, Any] = {"settings": dict(point.settings)}
    done.runs[number], done.columns[number] = settings | run, tables


def _key(point: Point, choices: Choices) -> str:
    """What a kernel's run is stored under: another kernel or another choice makes another result."""
    said = [point.key, "kernel", platform.release(), str(choices.congestion_control), choices.pacers]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def invalid(done: Execution) -> list[tuple[Point, list[str]]]:
    """The runs that do not count, and why."""
    return [
        (point, list(run["engine"]["doubts"]))
        for point, run in zip(done.points, done.runs, strict=True)
        if run is not None and run["engine"].get("valid") is False
    ]
