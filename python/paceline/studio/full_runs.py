"""Runs a state in full: both worlds under several seeds into a directory, with progress, then its report."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import paceline.report
from paceline._arguments import whole
from paceline.errors import InputError, PacelineError
from paceline.runs.execute import execute
from paceline.scenario import Scenario
from paceline.store import Store

#: More seeds are asked for on the command line.
MOST_SEEDS = 200
_SHORT = 10


class StoppedError(Exception):
    """The page has asked for no more of it."""


def sweep_of(state: Scenario, seeds: Any, buffers: Any) -> Scenario:
    """The state as a sweep: unpaced and as paced, over these buffers if there are any. Raises `InputError`.

    `buffers` is a path and its values.
    """
    count = whole(seeds, "seeds", "number of seeds", 1, MOST_SEEDS)
    document = state.to_dict()
    paced = document.pop("pacing", {"method": "none"})
    axes: dict[str, Any] = {"pacing": [{"method": "none"}, paced] if paced != {"method": "none"} else [paced]}
    if buffers:
        if not isinstance(buffers, Mapping):
            raise InputError("buffers: give a path and its values", "studio")
        axes |= buffers
    return state.replaced(document).over(axes).seeds(count)


class FullRun:
    """One sweep in the background.

    Attributes:
        command: what does the same in a terminal.
        directory: where results go.
    """

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        """Checks it all. Raises `InputError`, and `StoreError` where the directory cannot be made."""
        self._points = scenario.check()
        self._scenario = scenario
        text = json.dumps(scenario.to_dict(), sort_keys=True)
        self.directory = folder / hashlib.sha256(text.encode()).hexdigest()[:_SHORT]
        self._store = Store(self.directory)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._told: dict[str, Any] = {"share": 0.0, "finished": 0, "runs": len(self._points)}
        self._thread = threading.Thread(target=self._work, name="paceline-studio-full", daemon=True)

    @property
    def report(self) -> Path:
        """Where the report will be."""
        return self.directory / "report.html"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends it soon; what has finished is kept, and not run again."""
        self._stopped.set()

    def progress(self) -> dict[str, Any]:
        """`share` (0 to 1), `finished` and `runs`; `done` or `error` once it has ended."""
        with self._lock:
            return dict(self._told)

    def _tell(self, **facts: Any) -> None:
        with self._lock:
            self._told |= facts

    def _watch(self, share: float, finished: int, _total: int) -> None:
        if self._stopped.is_set():
            raise StoppedError
        self._tell(share=share, finished=finished)

    def _work(self) -> None:
        try:
            done = execute(self._points, store=self._store, watch=self._watch)
            runs = [one for one in done.runs if one is not None]
            if done.failures or not runs:
                raise InputError(done.failures[0][1] if done.failures else "there are no runs")
            with self._store.exclusive():
                self._store.consolidate(self._scenario, self._points, runs)
                paceline.report.write(self.directory, "studio")
            self._tell(share=1.0, finished=len(runs), done=True, directory=str(self.directory))
        except StoppedError:
            self._tell(error="stopped; what has finished is kept")
        except (PacelineError, OSError) as error:
            self._tell(error=str(error))
