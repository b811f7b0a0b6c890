"""Runs that go to another process or machine together, and what comes back.

A shard's runs are packed there (see `run_archive`). Where that process sees the driver's store it puts each there as
soon as it has finished: neither its own death nor the driver's then costs a finished run, and whoever does the shard
again skips what is there. Else they come back as bytes, and the driver keeps them.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline.errors import RunError
from paceline.runs.memory_limit import ROOM
from paceline.scenario.run_estimate import remembered_estimate_of
from paceline.scenario.run_keys import key_of
from paceline.store.run_archive import pack

if TYPE_CHECKING:
    from paceline.store import Store

#: How often a worker looks whether its runs are still wanted, s.
_WATCH_S = 0.5


@dataclass(frozen=True, slots=True)
class Task:
    """One run to do: as in `paceline.Point`."""

    key: str
    json: str
    seed: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one run.

    Attributes:
        key: of the task.
        run: the object of the JSON contract without its settings, from this process.
        columns: its tables, from this process, where they are wanted.
        packed: both of them, from another process. A run that neither is here nor failed lies in the store.
        failure: why it failed.
        wrong: whether the core refused the input.
    """

    key: str
    run: dict[str, Any] | None = None
    columns: dict[str, _core.Columns] | None = None
    packed: bytes | None = None
    failure: str | None = None
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A store as another process may see it: its directory, and a mark in it that no other store has."""

    directory: str
    mark: str

    def seen(self) -> bool:
        """Whether this process sees it, and may write there."""
        return Path(self.mark).exists() and os.access(self.directory, os.W_OK)


def run_shard(tasks: Sequence[Task], core: str, engine: str = "auto", place: Place | None = None) -> list[Answer]:
    """Does the runs one after another; one that fails does not stop the others.

    Raises `RunError` where this process has another core than `core`, or other files than the driver.
    """
    from paceline.store import Store

    if _core.fingerprint() != core:
        here = f"{socket.gethostname()} (process {os.getpid()})"
        raise RunError(
            f"the worker on {here} has core {_core.fingerprint()}, and this is {core}; install the same Paceline"
        )
    if place is None or not place.seen():
        return [_answer(task, engine, None, _core.Control()) for task in tasks]
    with _wanted(place) as control:
        return [_answer(task, engine, Store(place.directory), control) for task in tasks]


def tables_of(run: _core.Run) -> dict[str, _core.Columns]:
    """What a run of the core yields, by the names of `run_archive.TABLES`."""
    return {"flows": run.flows(), "series": run.series(), "instruments": run.instruments()}


@contextlib.contextmanager
def _wanted(place: Place) -> Iterator[_core.Control]:
    """Ends runs when the driver takes its mark away: nobody waits for them any more."""
    control = _core.Control()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_WATCH_S):
            if not Path(place.mark).exists():
                control.cancel()

    threading.Thread(target=watch, name="paceline-watch", daemon=True).start()
    try:
        yield control
    finally:
        over.set()


def _answer(task: Task, engine: str, store: Store | None, control: _core.Control) -> Answer:
    if store and store.get(task.key, task.seed) is not None:
        return Answer(task.key)
    try:
        if key_of(task.json, task.seed) != task.key:
            raise RunError(f"on {socket.gethostname()}, a file that the scenario names holds something else than here")
        estimate = remembered_estimate_of(task.json)
        if refusal := estimate.refusal():
            raise RunError(f"on {socket.gethostname()}, {refusal}")
        with ROOM.taking(estimate.memory_bytes, lambda: control.cancelled):
            run = _core.run(task.json, task.seed, control, engine=engine)
    except _core.InputError as error:
        return Answer(task.key, failure=str(error), wrong=True)
    except (_core.RunError, RunError) as error:
        return Answer(task.key, failure=str(error))
    packed = pack(task.key, json.loads(run.summary()), tables_of(run))
    if store is None:
        return Answer(task.key, packed=packed)
    store.put_packed(task.key, packed)
    return Answer(task.key)
