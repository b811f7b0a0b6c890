"""Answers a state at once and refines it while it rests: short runs, then whole ones, then more seeds.

Simulated time is cut first, so that something is there within a tenth of a second; each longer run replaces what was
shown, and those of full length are the runs of `paceline run`, byte for byte. Then seeds follow, the same in both
worlds. A state that changes cancels what runs: the core looks at its control many times a second.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from paceline import _core
from paceline.errors import InputError, RunError
from paceline.runs.driver import with_settings
from paceline.runs.memory_limit import ROOM
from paceline.runs.precision import LEAST_SEEDS
from paceline.runs.workers import processors
from paceline.scenario import Point, Scenario
from paceline.scenario.run_estimate import EVENT_NS, remembered_estimate_of
from paceline.studio.findings import compared, curves, figures, repeated
from paceline.studio.worlds import World, drawing_of, worlds_of

#: Time that the first runs may take, s: the rest of a tenth of a second is the browser's.
FIRST_S = 0.03
#: So long nothing runs after the first answer, s: the browser takes it in and draws it on the same processors.
DRAWN_S = 0.1
#: Each length costs so many times what the one before did.
STEP = 10.0
#: A shorter cut of a run says nothing.
LEAST_LENGTH = 1e-3
#: A resting state gets so many seeds, unless they cost more than so much processor time, s.
MOST_SEEDS = 20
MOST_S = 60.0


class WorkCancelledError(Exception):
    """The state has changed, or the page has gone."""


class Costs:
    """What an event that the core foresees takes, s, as learnt from the runs of this process.

    By the clock, since that is what somebody waits for: a busy machine gets shorter first runs.
    """

    def __init__(self) -> None:
        self._event_s = EVENT_NS * 1e-9

    def learn(self, wall_s: float, events: int) -> None:
        """A run of so many events at most has taken so long. What is slower than expected counts more."""
        if events > 0 and wall_s > 1e-3:
            each = wall_s / events
            self._event_s = max(each, (self._event_s + each) / 2)

    def of(self, events: int) -> float:
        """Expected time, s."""
        return self._event_s * events


class Work:
    """The runs of one state, which end together."""

    def __init__(self, pool: ThreadPoolExecutor, costs: Costs) -> None:
        self._pool = pool
        self._costs = costs
        self._lock = threading.RLock()  # a signal may cancel in the midst of a cancel
        self._controls: set[_core.Control] = set()
        self._cancelled = False
        self.spent_s = 0.0

    def cancel(self) -> None:
        """Ends what runs within milliseconds, and all that waits."""
        with self._lock:
            self._cancelled = True
            for control in self._controls:
                control.cancel()

    def fraction(self) -> float:
        """How far the slowest of what runs is, 0 to 1."""
        with self._lock:
            return min((control.fraction for control in self._controls), default=0.0)

    def check(self) -> None:
        """Raises `WorkCancelledError` where the request was cancelled."""
        if self._cancelled:
            raise WorkCancelledError

    async def call(self, what: Callable[[], Any]) -> Any:
        """Does something on a thread of the pool."""
        self.check()
        return await asyncio.wrap_future(self._pool.submit(what))

    def simulate(self, scenario_json: str, seed: int, trace: Callable[[Any], None] | None = None) -> _core.Run:
        """One run, on the thread that calls. Raises `WorkCancelledError`, and `RunError` where it failed."""
        control = _core.Control()
        with self._lock:
            self.check()
            self._controls.add(control)
        try:
            estimate = remembered_estimate_of(scenario_json)
            with ROOM.taking(estimate.memory_bytes, lambda: control.cancelled):
                began = time.monotonic()
                run = _core.run(scenario_json, seed, control, trace)
                wall_s = time.monotonic() - began
        except _core.InputError as error:
            raise InputError(str(error)) from None
        except _core.RunError as error:
            if self._cancelled:
                raise WorkCancelledError from None
            raise RunError(str(error)) from None
        finally:
            with self._lock:
                self._controls.discard(control)
        cpu_s = float(json.loads(run.summary())["engine"].get("cpu_s") or 0.0)
        self.spent_s += cpu_s
        if trace is None:
            self._costs.learn(wall_s, estimate.events)
        return run

    def expected_s(self, scenario_json: str) -> float:
        """What a run will take."""
        return self._costs.of(remembered_estimate_of(scenario_json).events)


async def refine(state: Scenario, work: Work) -> AsyncGenerator[dict[str, Any], None]:
    """What the page is told of a state, one thing after another: its network, runs, comparisons; then that it rests.

    Raises `InputError` where the state is wrong, `RunError` where a run failed, `WorkCancelledError`.
    """
    worlds: list[World] = await work.call(lambda: worlds_of(state))
    yield {"kind": "network", "network": drawing_of(worlds[1]), "toml": state.to_toml()}
    whole = [await work.call(world.json) for world in worlds]
    first = worlds[1].seed
    runs: list[dict[int, dict[str, Any]]] = [{}, {}]
    answered = False
    for length in _lengths(max(work.expected_s(text) for text in whole)):
        texts = whole if length == 1.0 else [world.json(length) for world in worlds]
        try:
            async for number, answer in _side_by_side(work, worlds, texts, first, length):
                if length == 1.0:
                    runs[number][first] = answer["run"]
                yield answer
            if not answered:
                answered = True
                await asyncio.sleep(DRAWN_S)
        except InputError:  # something in it begins later than so short a run ends
            if length == 1.0:
                raise
    yield {"kind": "compared", "seeds": 1, "rows": compared(runs[0], runs[1], worlds[0].core)}
    for seed in range(first + 1, first + MOST_SEEDS):
        if work.spent_s > MOST_S:
            break
        async for number, answer in _side_by_side(work, worlds, whole, seed, 1.0):
            runs[number][seed] = answer["run"]
        yield {"kind": "compared", "seeds": len(runs[0]), "rows": compared(runs[0], runs[1], worlds[0].core)}
        if len(runs[0]) == LEAST_SEEDS and repeated(runs[0], runs[1]):
            break
    yield {"kind": "rest", "seeds": len(runs[0]), "repeated": repeated(runs[0], runs[1])}


def _lengths(expected_s: float) -> list[float]:
    """Shares of the duration to run, the last of them 1."""
    found = [1.0]
    while expected_s * found[0] > 2 * FIRST_S and found[0] > LEAST_LENGTH:
        found.insert(0, max(LEAST_LENGTH, found[0] / STEP, FIRST_S / expected_s))
    return found


async def _side_by_side(
    work: Work, worlds: list[World], texts: list[str], seed: int, length: float
) -> AsyncGenerator[tuple[int, dict[str, Any]], None]:
    """Both worlds under one seed, in the order in which they finish."""
    both = zip(worlds, texts, strict=True)
    tasks = [asyncio.create_task(_answer(work, *pair, number, seed, length)) for number, pair in enumerate(both)]
    try:
        for task in asyncio.as_completed(tasks):
            yield await task
    finally:
        for one in tasks:
            one.cancel()


async def _answer(
    work: Work, world: World, text: str, number: int, seed: int, length: float
) -> tuple[int, dict[str, Any]]:
    def simulate() -> dict[str, Any]:
        run = work.simulate(text, seed)
        object_of_contract = with_settings(Point({}, seed, text, ""), json.loads(run.summary()))
        shown = {"figures": figures(object_of_contract, world.core)}
        if seed == world.seed:
            shown["curves"] = curves(run, world.core)
        return {
            "kind": "run",
            "world": world.name,
            "seed": seed,
            "length": length,
            "duration_s": world.seen["duration_s"] * length,
            "run": object_of_contract,
            **shown,
        }

    return number, await work.call(simulate)


def new_pool() -> ThreadPoolExecutor:
    """Threads for runs, as many as there are processors."""
    return ThreadPoolExecutor(processors(), "paceline-studio")
