"""Who runs what, where several processes work on one sweep: each run is leased by the one that does it.

A lease is a lock on one byte of a file, at a place that the run's key says. The system takes it away from a process
that dies, at once, so there is nothing to renew or to expire; over NFS it does so when the other machine comes back,
or its lease there ends. Locks are of the open file (Linux's ``F_OFD_SETLK``), so two stores in one process count as
two.

Leases save work and keep nothing safe: results are (see `atomic`), were the same run done twice. On a file system
without locks every lease is granted.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import threading
import weakref
from pathlib import Path

#: Linux's `struct flock` where files have 64 bits: type, whence, start, length, process.
_FLOCK = "hhqqi4x"
_HELD = (errno.EAGAIN, errno.EACCES)


#: Those of this process. A fork of it, as of a process pool, must not keep them when this process dies.
_open: weakref.WeakSet[Leases] = weakref.WeakSet()


class Leases:
    """Leases that one holder has in a file."""

    def __init__(self, path: Path) -> None:
        """Opens the file, and makes it where there is none. Raises `OSError`."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._lock = threading.Lock()
        _open.add(self)

    def take(self, key: str) -> bool:
        """Whether the run of this key is ours to do; another holder has it otherwise."""
        return self._set(fcntl.F_WRLCK, key)

    def release(self, key: str) -> None:
        """Gives a lease back."""
        self._set(fcntl.F_UNLCK, key)

    def close(self) -> None:
        """Gives all back."""
        with self._lock:
            self._forget()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _forget(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _set(self, kind: int, key: str) -> bool:
        with self._lock:
            if self._file < 0:
                return False
            place = struct.pack(_FLOCK, kind, os.SEEK_SET, int(key[:15], 16), 1, 0)
            try:
                fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, place)
            except OSError as error:
                return error.errno not in _HELD
            return True


def _leave_to_the_parent() -> None:
    for leases in _open:
        leases._forget()


os.register_at_fork(after_in_child=_leave_to_the_parent)
