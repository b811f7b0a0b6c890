"""Files that are there whole or not at all, however many processes write, and wherever one of them is killed.

A file is written under a name of its own, flushed to the disk and renamed. As long as its writer lives it holds a
lock on it; the system takes the lock away from the dead. So what nobody holds is left over, and is cleared away, be
its writer on this machine or on another that shares the directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

#: Where locks do not work, what has not been touched for so long is left over.
_ABANDONED_S = 24 * 3600.0


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when all went well, whole and on the disk; else it is gone."""
    partial, file = _begin(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):  # a file system that cannot flush a directory
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def marker(folder: Path) -> Iterator[Path]:
    """An empty file that nobody clears away for a while: who sees it sees this folder."""
    path, file = _begin(folder / "mark")
    try:
        with file:
            yield path
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """One process, and one thread of it, at a time; where locks do not work, all at once."""
    with path.open("ab") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def clear_leftovers(folder: Path) -> None:
    """Removes what processes that have died left half-written in a folder."""
    for partial in folder.glob(".*.partial"):
        with contextlib.suppress(FileNotFoundError, PermissionError), partial.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            except OSError:  # no locks here
                if time.time() - os.fstat(file.fileno()).st_mtime < _ABANDONED_S:
                    continue
            partial.unlink(missing_ok=True)


def _begin(path: Path) -> tuple[Path, IO[bytes]]:
    """A file of no other process and thread, locked."""
    while True:
        partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
        file = partial.open("xb")
        with contextlib.suppress(OSError):  # no locks here
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file.fileno()).st_nlink:
            return partial, file
        file.close()  # taken for a leftover before it was locked
