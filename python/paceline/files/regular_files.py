"""Opens regular files and nothing else, in directories that others may write to.

A FIFO keeps who opens it waiting, a device may do anything, ``/dev/zero`` never ends. So a path is looked at before it
is opened, and again when it is open, for it may have been exchanged meanwhile.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
if sys.platform == "win32":
    _SAFELY = os.O_BINARY  # bytes as they are
else:
    _SAFELY = os.O_NONBLOCK | os.O_NOCTTY  # does not wait, and takes no terminal


def check_regular(path: str | os.PathLike[str]) -> os.stat_result:
    """That a path leads to a regular file, by links or not. Raises `OSError`, which says what is there instead."""
    try:
        found = Path(path).stat()
    except ValueError:  # a NUL in it
        raise OSError(errno.EINVAL, "a path with a NUL in it", os.fspath(path)) from None
    return _regular(found, path)


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file. Raises `OSError`; never waits for another process."""
    try:
        check_regular(path)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    descriptor = os.open(path, flags | _SAFELY, 0o666)
    try:
        _regular(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def reading(path: Path) -> io.BufferedReader:
    """A regular file to read from. Raises `OSError`."""
    return os.fdopen(open_regular(path), "rb")


def read_bounded(path: Path, most: int) -> bytes:
    """All of a regular file that has at most so many bytes. Raises `OSError`."""
    with reading(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(path))
    return content


def _regular(found: os.stat_result, path: str | os.PathLike[str]) -> os.stat_result:
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"{_KINDS.get(kind, 'something')}, not a regular file", os.fspath(path))
    return found
