"""Writes files that are there whole or not at all, however many processes write, and wherever one of them is killed.

A file is written under a name of its own, flushed to the disk and renamed. As long as its writer lives it holds a
lock on it; the system takes the lock away from the dead. So what nobody holds is left over, and is cleared away, be
its writer on this machine or on another that shares the directory.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from paceline.files.locks import OPEN_FILES_STAY, lock
from paceline.files.regular_files import open_regular, reading

#: Where locks do not work, what has not been touched for so long is left over.
_ABANDONED_S = 24 * 3600.0
#: On Windows a file is closed before it takes its name, and has no lock for a moment.
_RENAMED_S = 60.0


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when all went well, whole and on the disk; else it is gone."""
    partial, file = create_locked(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if OPEN_FILES_STAY:
                file.close()
            partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):  # a file system that cannot flush a directory
        flush(path.parent)


@contextlib.contextmanager
def marker(folder: Path) -> Iterator[Path]:
    """An empty file that nobody clears away for a while: who sees it sees this folder."""
    path, file = create_locked(folder / "mark")
    try:
        with file:
            yield path
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def exclusive(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """One process, and one thread of it, at a time; where locks do not work, all at once.

    Yields whether it is so: always, unless somebody else is there and `wait` is false.
    """
    with os.fdopen(open_regular(path, os.O_RDWR | os.O_CREAT), "r+b") as file:
        try:
            lock(file, wait=wait)
        except BlockingIOError:
            yield False
            return
        except OSError:  # no locks here
            pass
        yield True


def clear_leftovers(folder: Path) -> None:
    """Removes what processes that have died left half-written in a folder."""
    for partial in folder.glob(".*.partial"):
        with contextlib.suppress(OSError), reading(partial) as file:
            age_s = time.time() - os.fstat(file.fileno()).st_mtime
            try:
                lock(file)
            except BlockingIOError:
                continue
            except OSError:  # no locks here
                if age_s < _ABANDONED_S:
                    continue
            if OPEN_FILES_STAY:
                if age_s < _RENAMED_S:
                    continue
                file.close()
            partial.unlink(missing_ok=True)


class AtomicFiles:
    """Several files that take their places at once: all of them or none, wherever the process is killed.

    They are written into a folder, which is renamed when all are whole: from then on they hold, and whoever comes next
    carries them to their places, if the writer did not. One process at a time (see `exclusive`).
    """

    def __init__(self, ready: Path, places: Mapping[str, Path]) -> None:
        """`ready` is the folder's name once it is whole, `places` says where each of its files belongs."""
        self._ready = ready
        self._begun = ready.with_name(f"{ready.name}.new")
        self._places = places

    @contextlib.contextmanager
    def replacing(self) -> Iterator[Callable[[str], IO[bytes]]]:
        """Yields what opens the file of each name; all are in their places when all went well. Raises `OSError`."""
        self.finish()
        shutil.rmtree(self._begun, ignore_errors=True)
        self._begun.mkdir()
        try:
            yield lambda name: (self._begun / name).open("xb")
            for name in self._places:
                flush(self._begun / name)
            with contextlib.suppress(OSError):  # a file system that cannot flush a directory
                flush(self._begun)
            self._begun.rename(self._ready)
        finally:
            shutil.rmtree(self._begun, ignore_errors=True)
        self.finish()

    def finish(self) -> None:
        """Carries what is ready to its places. Raises `OSError`."""
        if not self._ready.is_dir():
            return
        waiting = {path.name for path in self._ready.iterdir()}
        for name, place in self._places.items():
            if name in waiting:  # else it is there already
                (self._ready / name).replace(place)
        for folder in {place.parent for place in self._places.values()}:
            with contextlib.suppress(OSError):
                flush(folder)
        shutil.rmtree(self._ready, ignore_errors=True)


def flush(path: Path) -> None:
    """Puts a file, or the names in a folder, on the disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDWR if OPEN_FILES_STAY else os.O_RDONLY)  # Windows flushes what it may write
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_locked(path: Path) -> tuple[Path, IO[bytes]]:
    """A file beside `path` of no other process and thread, locked. Raises `OSError`."""
    while True:
        partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
        try:
            file = partial.open("xb")
        except OSError as error:
            error.filename = str(path)  # the name that a user knows
            raise
        taken = False
        try:
            lock(file)
        except BlockingIOError:  # `clear_leftovers` holds it, and is about to remove it
            taken = True
        except OSError:  # no locks here
            pass
        if not taken and os.fstat(file.fileno()).st_nlink:
            return partial, file
        file.close()  # taken for a leftover before it was locked
        partial.unlink(missing_ok=True)
