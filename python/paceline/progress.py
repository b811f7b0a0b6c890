"""Progress on a terminal: how much is done, and how long it will take."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from paceline.harmless import harmless

if TYPE_CHECKING:
    from paceline.execute import Watch


@contextlib.contextmanager
def progress(title: str, what: str = "runs") -> Iterator[Watch | None]:
    """What `execute` tells of its progress, through runs or else; ``None`` where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[finished]} " + what),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(harmless(title), total=1.0, finished="")
        yield lambda share, finished, total: bar.update(task, completed=share, finished=f"{finished} of {total}")


@contextlib.contextmanager
def reading(title: str) -> Iterator[Callable[[float], None] | None]:
    """What `analyse` tells of how far it has read; ``None`` where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(harmless(title), total=None)
        yield lambda share: bar.update(task, completed=share, total=1.0 if share else None)
