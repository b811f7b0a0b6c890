"""`paceline` in a process that lacks what Windows or macOS lack: ``python elsewhere.py win32 run tiny.toml``.

What the interpreter and other packages are made of is imported first, as Linux's. Then `sys.platform` is the other
system's; names of `os` and `signal`, and modules, that it does not have are gone for the modules of Paceline. As on
Windows, a file that is open here is neither renamed nor removed, and `msvcrt` locks bytes: by locks of Linux, of the
open file, as those are. ``import-all`` in the place of a command imports every module.
"""

from __future__ import annotations

import asyncio  # noqa: F401 (decides by the system that it is loaded on, as the others here)
import builtins
import contextlib
import errno
import fcntl
import importlib
import os
import pkgutil
import platform
import signal  # noqa: F401
import struct
import subprocess  # noqa: F401
import sys
import sysconfig
import tempfile  # noqa: F401
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click  # noqa: F401
import numpy as np  # noqa: F401
import pyarrow.parquet  # noqa: F401
import uvicorn  # noqa: F401

#: What is not there, of typeshed's and CPython's documentation.
MODULES = {
    "win32": {"fcntl", "grp", "posix", "pty", "pwd", "pyroute2", "readline", "resource", "syslog", "termios", "tty"},
    "darwin": {"msvcrt", "pyroute2", "winreg"},
}
NAMES = {
    "win32": {
        "os": "O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK fchmod fchown fork forkpty geteuid getgid "
        "getloadavg getpgid getpriority getsid getuid killpg lockf major mkfifo mknod nice openpty pread pwrite "
        "register_at_fork sched_getaffinity sched_setaffinity sched_yield sendfile setpgid setsid statvfs sysconf "
        "uname wait3 wait4",
        "signal": "SIGALRM SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGUSR1 SIGUSR2 alarm pause pthread_kill "
        "pthread_sigmask setitimer sigwait",
    },
    "darwin": {
        "os": "O_DIRECT O_TMPFILE copy_file_range eventfd memfd_create sched_getaffinity sched_setaffinity splice",
        "signal": "SIGPOLL SIGPWR SIGRTMIN sigtimedwait sigwaitinfo",
        "fcntl": "F_OFD_GETLK F_OFD_SETLK F_OFD_SETLKW F_SETPIPE_SZ",
    },
}


def move_to(system: str) -> None:
    """From now on this process takes itself for one on another system."""
    for module, names in NAMES[system].items():
        for name in names.split():
            with contextlib.suppress(AttributeError):
                delattr(sys.modules[module], name)
    if system == "win32":
        os.O_BINARY = 0  # type: ignore[attr-defined]
        sys.modules["msvcrt"] = _msvcrt()
        for owner, name in ((os, "rename"), (os, "replace"), (os, "unlink"), (os, "remove")):
            setattr(owner, name, _refusing_open_files(getattr(owner, name)))
    _hide(MODULES[system])
    sys.platform = system
    platform.system = lambda: {"win32": "Windows", "darwin": "Darwin"}[system]


def _hide(modules: set[str]) -> None:
    """From Paceline alone: what else is here is Linux's."""
    known = builtins.__import__

    def find(name: str, scope: Any = None, *more: Any, **options: Any) -> Any:
        if name.partition(".")[0] in modules and (scope or {}).get("__name__", "").startswith("paceline"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return known(name, scope, *more, **options)

    builtins.__import__ = find


def _msvcrt() -> types.ModuleType:
    module = types.ModuleType("msvcrt")
    flock, set_lock, held = "hhqqi4x", fcntl.F_OFD_SETLK, {errno.EAGAIN: errno.EACCES}

    def locking(descriptor: int, how: int, count: int) -> None:
        kind = fcntl.F_WRLCK if fcntl.fcntl(descriptor, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR) else fcntl.F_RDLCK
        kind = fcntl.F_UNLCK if how == 0 else kind
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            fcntl.fcntl(descriptor, set_lock, struct.pack(flock, kind, os.SEEK_SET, place, count, 0))
        except OSError as error:
            number = held.get(error.errno or 0, error.errno or 0)
            raise OSError(number, os.strerror(number)) from None

    vars(module).update(LK_UNLCK=0, LK_LOCK=1, LK_NBLCK=2, locking=locking)
    return module


def _refusing_open_files(work: Callable[..., None]) -> Callable[..., None]:
    def refuse(path: Any, *more: Any, **options: Any) -> None:
        if _is_open(path, options.get("dir_fd")):
            raise PermissionError(errno.EACCES, "used by a process", os.fspath(path))
        work(path, *more, **options)

    return refuse


def _is_open(path: Any, folder: int | None) -> bool:
    with contextlib.suppress(OSError):
        found = os.stat(path, dir_fd=folder, follow_symlinks=False)
        for entry in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.path.samestat(found, entry.stat()):
                    return True
    return False


def import_all() -> None:
    """Every module of the package, but for those that are programs."""
    import paceline

    for found in pkgutil.walk_packages(paceline.__path__, "paceline."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)


def main() -> None:
    """A command elsewhere."""
    system, *arguments = sys.argv[1:]
    sysconfig.get_config_vars()  # from a file that the system's name is part of
    move_to(system)
    if arguments == ["import-all"]:
        import_all()
        return
    from paceline.cli.main import main

    main(arguments)


if __name__ == "__main__":
    main()
