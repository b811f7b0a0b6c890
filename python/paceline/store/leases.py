"""Who runs what, where several processes work on one sweep: each run is leased by the one that does it.

A lease is a lock on one byte of a file, at a place that the run's key says. The system takes it away from a process
that dies, at once, so there is nothing to renew or to expire; over NFS it does so when the other machine comes back,
or its lease there ends. On Linux locks are of the open file, so two stores in one process count as two; elsewhere of
the process (see `locks`).

Who holds leases says so in a file beside, ``.holder.…``, which it keeps locked as long as it lives: so that one who
waits can be told for whom.

Leases only save work. Were the same run done twice, results would still be whole (see `atomic_writes`). On a file
system without locks every lease is granted.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import IO

from paceline.files.atomic_writes import create_locked
from paceline.files.locks import lock, lock_byte, unlock_byte
from paceline.files.regular_files import open_regular, reading

#: Those of this process. A fork of it, as of a process pool, must not keep them when this process dies.
_open: weakref.WeakSet[Leases] = weakref.WeakSet()


class Leases:
    """Leases that one holder has in a file."""

    def __init__(self, path: Path) -> None:
        """Opens the file, and makes it where there is none. Raises `OSError`."""
        self._file = open_regular(path, os.O_RDWR | os.O_CREAT)
        self._folder = Path(path).parent
        self._lock = threading.Lock()
        self._name: tuple[Path, IO[bytes]] | None = None
        _open.add(self)

    def take(self, key: str) -> bool:
        """Whether the run of this key is ours to do; another holder has it otherwise."""
        with self._lock:
            taken = self._file >= 0 and lock_byte(self._file, _place_of(key))
        if taken and self._name is None:
            with contextlib.suppress(OSError):  # only what others are told
                self._give_name()
        return taken

    def release(self, key: str) -> None:
        """Gives a lease back."""
        with self._lock:
            if self._file >= 0:
                unlock_byte(self._file, _place_of(key))

    def holders(self) -> list[str]:
        """Who else holds leases, or has held some: ``process 4711 on hal since 09:12:33``."""
        own = None if self._name is None else self._name[0]
        found = []
        for path in sorted(self._folder.glob(".holder.*.partial")):
            with contextlib.suppress(OSError):
                if path != own and (text := _said_by_the_living(path)):
                    found.append(text)
        return found

    def retire(self) -> None:
        """Holds none any more, and says so."""
        with self._lock:
            self._forget_name()

    def close(self) -> None:
        """Gives all back."""
        with self._lock:
            self._forget_name()
            self._forget()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _give_name(self) -> None:
        path, file = create_locked(self._folder / "holder")
        self._name = (path, file)
        since = time.strftime("%H:%M:%S")
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {since}".encode())
        file.flush()

    def _forget_name(self) -> None:
        if self._name is not None:
            path, file = self._name
            self._name = None
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):  # on Windows, where another process reads it
                path.unlink(missing_ok=True)

    def _forget(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def leave_to_the_parent(self) -> None:
        """In a fork: what is held is the parent's."""
        self._forget()
        if self._name is not None:
            self._name[1].close()
            self._name = None


def _place_of(key: str) -> int:
    return int(key[:15], 16)


def _said_by_the_living(path: Path) -> str | None:
    """What a holder says of itself; ``None`` where it has died."""
    with reading(path) as file:
        try:
            lock(file, shared=True)
        except OSError:  # held, or no locks here
            return file.read(200).decode(errors="replace") or None
    return None


def _leave_to_the_parent() -> None:
    for leases in _open:
        leases.leave_to_the_parent()


if sys.platform != "win32":  # it has no forks
    os.register_at_fork(after_in_child=_leave_to_the_parent)
