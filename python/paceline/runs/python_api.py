"""`paceline.run` and `paceline.sweep`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from paceline import _arguments
from paceline.errors import InputError, RunError
from paceline.results import Result, Results
from paceline.runs.execute import describe_point, execute
from paceline.runs.precision import MOST_SEEDS, Precision, Short, execute_until, shortfall
from paceline.scenario import Source, loaded
from paceline.store.directory_owner import refuse_other_scenario
from paceline.terminal.progress import notebook

if TYPE_CHECKING:
    from distributed import Client


def run(
    scenario: Source,
    seed: int | None = None,
    *,
    trace: str | os.PathLike[str] | None = None,
    engine: str = "auto",
    threads: int = 1,
) -> Result:
    """Runs a scenario once, under one seed of those that it may list.

    Args:
        scenario: what to run, or its file, or its tables.
        seed: the scenario's own by default.
        trace: a ``.csv``, ``.parquet``, ``.pcap`` or ``.pcapng`` file for every packet event (docs/howto/results.md).
        engine: ``"auto"``, ``"windowed"`` or ``"reference"``; the results are the same.
        threads: that the run may use; the results are the same.

    Raises:
        InputError: the scenario is wrong, or sweeps more than one setting; nothing has run.
        RunError: the run failed.
        Interrupted: Ctrl-C.

    Returns:
        The run: links, flows, and a row a flow in ``per_flow``.

    Examples:
        >>> scenario = pl.Scenario.load("scenarios/one-flow.toml")
        >>> result = pl.run(scenario.set("pacing", "host"), seed=1)
        >>> round(result.links["bottleneck"].throughput_bps / 1e6, 1)  # Mbit/s
        8.9
    """
    _arguments.engine(engine)
    _arguments.threads(threads)
    scenario = loaded(scenario)
    axes = scenario.sweep
    document = scenario.to_dict()
    document["sweep"] = axes
    if seed is not None:
        document["seed"] = seed
    scenario = scenario.replaced(document)
    points = scenario.points()
    if len(points) > 1:
        path = next(path for path, values in axes.items() if len(values) > 1)
        remedy = f'use paceline.sweep, or choose one, as scenario.set("{path}", {axes[path][0]!r})'
        raise InputError(f"sweep.{path}: the scenario has {len(points)} settings to run; {remedy}", scenario.source)
    points = scenario.check()
    with notebook(scenario.title) as watch:
        if trace is None:
            done = execute(points, jobs=1, keep_columns=True, engine=engine, threads=threads, watch=watch)
        else:
            from paceline.runs.trace import tracing

            with tracing(trace) as writer:
                done = execute(points, jobs=1, keep_columns=True, trace=writer, engine=engine, watch=watch)
                if done.failures:
                    raise RunError(done.failures[0][1])
    if done.failures:
        raise RunError(done.failures[0][1])
    result: Result = done.results[0]
    return result


def sweep(
    scenario: Source,
    over: Mapping[str, Sequence[Any]] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    executor: Executor | Client | None = None,
    engine: str = "auto",
    threads: int = 1,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    until_ci: float | None = None,
    ci_metric: str | None = None,
    max_seeds: int = MOST_SEEDS,
) -> Results:
    """Runs every combination of what is swept, under every seed; seeds are paired between settings.

    On a cluster: ``with distributed.Client("tcp://10.0.0.1:8786") as client: pl.sweep(scenario, executor=client)``.

    Args:
        scenario: what to run, or its file; what its own ``[sweep]`` says holds too.
        over: values by path, as ``{"network.core.buffer": ["5 KB", "20 KB"], "pacing": ["none", "host"]}``.
        seeds: so many, counted from the scenario's seed, or exactly these; the scenario's own by default.
        jobs: runs at a time; as many as keep the processors busy by default.
        executor: what to run on instead of threads here: any `concurrent.futures.Executor`, or a `distributed.Client`,
            which gets runs in shards of a few seconds.
        engine: ``"auto"``, ``"windowed"`` or ``"reference"``; the results are the same.
        threads: that each run here may use; worth it where runs are few and large. The results are the same.
        out: a directory for results; what it has already is not run again, and processes may share it.
        force: takes `out` even where it holds the results of another scenario.
        until_ci: adds seeds to each setting, which has five at least, until the 95 % interval of the metric's mean is
            no wider, to either side, than this share of it: 0.01 for 1 %.
        ci_metric: the path of that metric, as ``flows.jain``; by default ``flows.goodput_mean_bps``, or what the core
            carries where nothing has goodput.
        max_seeds: no setting gets more; a `RuntimeWarning` says which fell short.

    Raises:
        InputError: the scenario or the sweep is wrong; nothing has run.
        RunError: a run failed; the others were finished, and kept where `out` says.
        StoreError: `out` cannot be written.
        Interrupted: Ctrl-C; has the runs that finished.

    Returns:
        Runs in the order of the sweep: settings as the scenario and `over` have them, seeds innermost.

    Examples:
        >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").set("duration", "10 s")
        >>> results = pl.sweep(scenario, over={"network.links.bottleneck.buffer": ["5 KB", "20 KB"]}, seeds=2)
        >>> len(results)  # two pacing methods, two buffers, two seeds
        8
    """
    if jobs is not None:
        _arguments.jobs(jobs)
    _arguments.engine(engine)
    _arguments.threads(threads)
    scenario = loaded(scenario)
    if over is not None:
        scenario = scenario.over(over)
    if seeds is not None:
        scenario = scenario.seeds(seeds)
    for name, is_given in (("ci_metric", ci_metric is not None), ("max_seeds", max_seeds != MOST_SEEDS)):
        if is_given and until_ci is None:
            raise InputError("goes with until_ci, as until_ci=0.01", name)
    precision = None if until_ci is None else Precision(until_ci, ci_metric, max_seeds)
    points = scenario.check(here=executor is None)
    store = None
    if out is not None:
        from paceline.store import Store

        store = Store(_arguments.directory(out, "out", "results/mine"))
        store.check_room()
        try:
            if not force:
                refuse_other_scenario(store, scenario, points)
        except InputError as error:
            raise InputError(f"{error.message}; name another directory, or add force=True", "out") from None
    how: dict[str, Any] = {"jobs": jobs, "executor": executor, "store": store}
    how |= {"keep_columns": store is None, "engine": engine, "threads": threads}
    short: list[Short] = []
    with notebook(scenario.title) as watch:
        if precision is None:
            done = execute(points, watch=watch, **how)
        else:
            done, short = execute_until(scenario, precision, watch=watch, **how)
    if done.failures:
        point, why = done.failures[0]
        count = f"{len(done.failures)} of {len(done.points)} runs failed"
        raise RunError(f"{count}; the first, {describe_point(point)}: {why}")
    if store:
        with store.exclusive():
            store.consolidate(scenario, done.points, [one for one in done.runs if one is not None])
    if precision and short:
        warnings.warn(shortfall(precision, short, len(done.results.by_settings())), RuntimeWarning, stacklevel=2)
    return done.results
