"""Runs on a Dask cluster: `--dask ADDRESS`, or a `distributed.Client` as the executor of a sweep.

Runs go out in shards of a few seconds, so that what a task costs Dask does not matter; how long a run takes is learnt
from those of its setting that have finished. A shard whose worker is lost is done again by another.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline.errors import InputError, RunError
from paceline.runs.shards import Answer, Place, Task, run_shard
from paceline.runs.workers import Done, Workers

if TYPE_CHECKING:
    from distributed import Client


#: A scheduler that has not answered by then is not there.
CONNECT_S = 5.0
#: Shards for each thread of a worker, under way or waiting, so that none waits for us.
_AHEAD = 2
_ADDRESS = re.compile(r"((tcp|tls|ucx|wss?)://)?(\[[0-9A-Fa-f:.]+\]|[^\s:/]+):\d{1,5}/?")


class DaskWorkers(Workers):
    """The workers that a client's scheduler has; more may come, and some may go."""

    shard_s = 3.0

    def __init__(self, client: Client, engine: str, place: Place | None) -> None:
        self._client = client
        self._engine = engine
        self._place = place
        self._threads = 0
        self._asked = 0
        self._cancelled = False

    def has_room(self, pending: int) -> bool:
        self._asked += 1
        if self._asked % 10 == 1 or not self._threads:
            self._threads = sum(self._client.nthreads().values())
        return pending < _AHEAD * max(self._threads, 1)

    def submit(self, tasks: Sequence[Task], done: Done) -> Any:
        name = f"paceline-{tasks[0].key[:16]}-{len(tasks)}"
        future = self._client.submit(
            run_shard,
            list(tasks),
            _core.fingerprint(),
            self._engine,
            self._place,
            key=f"{name}-{id(tasks):x}",
            pure=False,
        )
        future.add_done_callback(done)
        return future

    def answers(self, future: Any) -> list[Answer]:
        try:
            return super().answers(future)
        except Exception:
            if self._cancelled:
                return []
            if future.status == "error":  # what the worker raised
                raise
            raise _gone() from None

    def check(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise _gone()

    def cancel(self, futures: Sequence[Any]) -> None:
        self._cancelled = True
        with contextlib.suppress(Exception):  # the scheduler may be what has gone
            self._client.cancel(list(futures), force=True)


def _gone() -> RunError:
    return RunError("the scheduler has gone; finished runs are kept")


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at `address`, as ``tcp://10.0.0.1:8786``. Raises `InputError` where none answers."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("needs dask.distributed; install it by pip install 'paceline[dask]'", "--dask") from None
    if not _ADDRESS.fullmatch(address):
        raise InputError(f'"{address}" is no address; write it as tcp://127.0.0.1:8786', "--dask")
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is said by us, in a line
    try:
        client = Client(address, timeout=CONNECT_S, name="paceline", set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError):
        remedy = "start one by dask scheduler, and workers by dask worker (docs/sweeps.md)"
        raise InputError(f"no scheduler answers at {address}; {remedy}", "--dask") from None
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=2)


def is_client(executor: object) -> bool:
    """Whether this is a `distributed.Client`; nothing is imported to find out."""
    return any(
        f"{kind.__module__}.{kind.__qualname__}" == "distributed.client.Client" for kind in type(executor).__mro__
    )
