"""Locks on files that are open: the system takes them away from a process that dies.

POSIX locks a whole file (``flock``), and one byte of it (Linux's ``F_OFD_SETLK``, elsewhere ``lockf``). Windows locks
bytes alone, which no other process can then read: there a byte that is behind the end of every file here stands for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import IO

#: Windows neither renames nor removes a file that is open.
OPEN_FILES_STAY = sys.platform == "win32"

if sys.platform == "win32":
    import msvcrt

    #: The C library there may count in 31 bits.
    _WHOLE, _BYTES = (1 << 31) - 2, 1 << 30
    _POLL_S = 0.05

    def lock(file: IO[bytes], *, shared: bool = False, wait: bool = False) -> None:  # noqa: ARG001 (no such lock)
        """Locks a file until it is closed. Raises `BlockingIOError` where it is held, `OSError` where none is had."""
        while True:
            try:
                _set(file.fileno(), _WHOLE, msvcrt.LK_NBLCK)
            except PermissionError as error:
                if not wait:
                    raise BlockingIOError(*error.args) from None
                time.sleep(_POLL_S)
            else:
                return

    def lock_byte(descriptor: int, place: int) -> bool:
        """Whether a byte is ours now: another has it otherwise. Without locks it is ours."""
        try:
            _set(descriptor, place % _BYTES, msvcrt.LK_NBLCK)
        except OSError as error:
            return not isinstance(error, PermissionError)
        return True

    def unlock_byte(descriptor: int, place: int) -> None:
        """Gives a byte back."""
        with contextlib.suppress(OSError):  # it was not locked
            _set(descriptor, place % _BYTES, msvcrt.LK_UNLCK)

    def _set(descriptor: int, place: int, how: int) -> None:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, place, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, how, 1)
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)

else:
    import errno
    import fcntl
    import struct

    #: Linux's `struct flock` where files have 64 bits: type, whence, start, length, process.
    _FLOCK = "hhqqi4x"
    _HELD = (errno.EAGAIN, errno.EACCES)

    def lock(file: IO[bytes], *, shared: bool = False, wait: bool = False) -> None:
        """Locks a file until it is closed. Raises `BlockingIOError` where it is held, `OSError` where none is had."""
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))

    def lock_byte(descriptor: int, place: int) -> bool:
        """Whether a byte is ours now: another has it otherwise. Without locks it is ours."""
        return _set(descriptor, place, fcntl.F_WRLCK)

    def unlock_byte(descriptor: int, place: int) -> None:
        """Gives a byte back."""
        _set(descriptor, place, fcntl.F_UNLCK)

    def _set(descriptor: int, place: int, kind: int) -> bool:
        try:
            if sys.platform == "linux":  # of the open file
                fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, place, 1, 0))
            else:  # of the process
                how = fcntl.LOCK_UN if kind == fcntl.F_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB
                fcntl.lockf(descriptor, how, 1, place, os.SEEK_SET)
        except OSError as error:
            return error.errno not in _HELD
        return True
