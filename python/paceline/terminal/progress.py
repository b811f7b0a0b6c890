"""Shows progress: how much is done, and how long it will take. No step is silent for more than two seconds.

On a terminal it is a bar that goes away; where standard error is none, a line every two seconds; in a notebook, for
runs that Python asks for, one line that changes. With --quiet there is nothing. A thread of its own tells it, so that
a step which reports nothing is told of too.
"""

from __future__ import annotations

import contextlib
import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from paceline.terminal.escapes import escape_controls
from paceline.terminal.output import say, takes_styles, verbosity

#: Called with the share that is done, 0 to 1, and the numbers of runs finished and wanted.
Watch = Callable[[float, int, int], None]

#: So long nothing is said before a bar is drawn, or another line is written, seconds.
_BAR_AFTER_S = 0.4
_LINE_AFTER_S = 1.6
_DRAWN_S = 0.1
#: What is left is not reckoned from less than this share.
_LEAST_SHARE = 0.01
#: On a narrower terminal there are words only.
_NARROWEST_BAR = 60
#: What the bar and the spaces take.
_BESIDE_WORDS = 30


class _Step:
    """What goes on, as far as it is known.

    Attributes:
        title: what it is. share: how much of it is done, 0 to 1, where that is known. count: ``3 of 12 runs``.
    """

    def __init__(self, title: str) -> None:
        self.title = escape_controls(" ".join(title.split()))
        self.share: float | None = None
        self.count = ""
        self._began = time.monotonic()

    def words(self) -> str:
        """``34 %, 4 of 12 runs, about 12 s left``."""
        passed = time.monotonic() - self._began
        share = self.share or 0.0
        known = [f"{share:.0%}".replace("%", " %")] if share else []
        known += [self.count] if self.count else []
        if share >= _LEAST_SHARE and passed >= 1:
            known.append(f"about {_duration(passed * (1 - share) / share)} left")
        return ", ".join(known) or f"{_duration(max(1.0, passed))} so far"


@contextlib.contextmanager
def progress(title: str, what: str = "runs") -> Iterator[Watch]:
    """What `execute` tells of its progress, through runs or else."""
    with _told(title) as step:
        yield _counting(step, what)


@contextlib.contextmanager
def reading(title: str) -> Iterator[Callable[[float], None]]:
    """What `analyse` tells of how far it has read."""
    with _told(title) as step:

        def watch(share: float) -> None:
            step.share = share

        yield watch


@contextlib.contextmanager
def phase(title: str) -> Iterator[None]:
    """A step of which no more is known than that it goes on."""
    with _told(title):
        yield


@contextlib.contextmanager
def notebook(title: str, what: str = "runs") -> Iterator[Watch | None]:
    """Progress of what Python asks for, shown in a notebook; ``None`` elsewhere: a library says nothing unasked."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        yield None
        return
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

    step, began, shown_at = _Step(title), time.monotonic(), 0.0
    handle: Any = None
    count = _counting(step, what)

    def show(words: str) -> None:
        nonlocal handle
        text = f"{step.title}: {words}"
        bar = f'<progress max="1" value="{step.share or 0:.3f}"></progress> {html.escape(text)}'
        both = {"text/plain": text, "text/html": bar}
        if handle is None:
            handle = display(both, raw=True, display_id=True)
        else:
            handle.update(both, raw=True)

    def watch(share: float, finished: int, total: int) -> None:
        nonlocal shown_at
        count(share, finished, total)
        if time.monotonic() - max(began, shown_at) >= _BAR_AFTER_S:
            shown_at = time.monotonic()
            show(step.words())

    yield watch
    if handle is not None:
        step.share = 1.0
        show(f"done in {_duration(time.monotonic() - began)}")


def _counting(step: _Step, what: str) -> Watch:
    def watch(share: float, finished: int, total: int) -> None:
        step.share, step.count = share, f"{finished} of {total} {what}" if total > 1 else ""

    return watch


@contextlib.contextmanager
def _told(title: str) -> Iterator[_Step]:
    step = _Step(title)
    if verbosity.is_quiet:
        yield step
        return
    done = threading.Event()
    tell = _draw_bar if takes_styles(sys.stderr) else _write_lines
    thread = threading.Thread(target=tell, args=(step, done), name="paceline-progress", daemon=True)
    thread.start()
    try:
        yield step
    finally:
        done.set()
        thread.join()


def _write_lines(step: _Step, done: threading.Event) -> None:
    while not done.wait(_until(_LINE_AFTER_S)):
        if _until(_LINE_AFTER_S) == 0:
            say(f"{step.title}: {step.words()}")


def _until(silence_s: float) -> float:
    """How long until nothing has been said for so long, seconds."""
    return max(0.0, verbosity.spoke_at + silence_s - time.monotonic())


def _draw_bar(step: _Step, done: threading.Event) -> None:
    if done.wait(min(_BAR_AFTER_S, _until(_LINE_AFTER_S))):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True)
    columns = [SpinnerColumn("line"), TextColumn("{task.description}", markup=False)]
    columns[1:1] = [BarColumn(bar_width=20)] if console.width >= _NARROWEST_BAR else []
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=1.0)
        while True:
            words = step.words()
            if len(words) + len(step.title) < console.width - _BESIDE_WORDS:
                words += f"  {step.title}"
            bar.update(task, completed=step.share or 0.0, description=words)
            bar.refresh()
            verbosity.spoke_at = time.monotonic()
            if done.wait(_DRAWN_S):
                return


def _duration(seconds: float) -> str:
    """``4 s``, ``3 min``, ``2.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
