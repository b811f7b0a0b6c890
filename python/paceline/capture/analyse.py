"""`paceline.analyse`: the burstiness of a capture, and what pacers would make of it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from paceline import _arguments, _core
from paceline._arguments import CAPTURE_NAMES, file_name, one_of, quoted, whole
from paceline.capture.analysis import Analysis
from paceline.errors import InputError, RunError
from paceline.terminal.progress import notebook

#: Called with the share of the file that is read, 0 to 1; 0 throughout where its length is not known.
Watch = Callable[[float], None]
#: What a path may be: a file, or `-` for standard input.
Source = str | os.PathLike[str]

_POLL_S = 0.1
_MOST_FLOWS = 1000


def analyse(
    path: Source,
    *,
    by: str = "interface",
    pacers: Iterable[str] = (),
    write: str | os.PathLike[str] | None = None,
    burst_gap: str = "100 us",
    top: int = 10,
    watch: Watch | None = None,
) -> Analysis:
    """Reads a capture once, and says how bursty it is and what each pacer would make of it.

    Args:
        path: a pcap or pcapng, gzip'd, in zstd or plain; ``-`` is standard input.
        by: ``interface``, or ``flow`` for the largest flows too.
        pacers: each as in a scenario, with its link: ``"edge 10 ms"``, ``"none link = 100 Mbit/s, buffer = 20 KB"``.
        write: a ``.pcap`` or ``.pcapng`` (``.gz`` or ``.zst`` after that compresses it) for what the one pacer lets go:
            times changed, frames as they were.
        burst_gap: a longer gap ends a burst.
        top: how many flows to show.
        watch: hears of progress, ten times a second.

    Raises:
        InputError: the capture cannot be read at all, a pacer is wrong, or flows are asked for of a link type in which
            they cannot be told apart. A capture that breaks off later gives what was readable, see `Analysis.broken`.
        RunError: `write` could not be written.

    Returns:
        Interfaces, flows where they were asked for, each as captured and behind each pacer.

    Examples:
        >>> paced = pl.analyse("flow.pcap", pacers=["edge 10 ms"]).interfaces[0].paced[0]
        >>> paced.pacer, paced.dropped_packets
        ('edge 10 ms', 0)
    """
    source = os.fsdecode(file_name(path, None, "traffic.pcap, or - for standard input"))
    one_of(by, "by", "way to group packets", ("interface", "flow"))
    top = whole(top, "top", "number of flows to show", 1, _MOST_FLOWS)
    understood = _understood(pacers)
    gap_ns = _span_ns(burst_gap)
    target = None if write is None else _target(write, source, len(understood))
    partial = None if target is None else target.with_name(f".{target.name}.{os.getpid()}.partial")

    def work(control: _core.Control) -> str:
        return _core.analyse(
            None if source == "-" else source,
            by == "flow",
            top,
            gap_ns,
            list(understood),
            partial,
            target,
            control,
        )

    try:
        with notebook(source, "captures") as shown:
            told = watch or (shown and (lambda share: shown(share, int(share), 1)))
            text = _watched(work, told)
        if partial and target:
            partial.replace(target)
    except _core.InputError as error:
        hint = "; group by interface" if "flows cannot be told apart" in str(error) else ""
        raise InputError(f"{error}{hint}", "standard input" if source == "-" else source) from None
    except (_core.RunError, OSError) as error:
        why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise RunError(f"{target or source}: {why}") from None
    finally:
        if partial:
            partial.unlink(missing_ok=True)
    return Analysis.from_dict({"source": source, "pacers": understood} | json.loads(text))


def _watched(work: Callable[[_core.Control], str], watch: Watch | None) -> str:
    """Works on another thread, so that Ctrl-C is heard; one that waits for input is left behind."""
    control = _core.Control()
    outcome: list[str | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work(control))
        except BaseException as error:  # handed to the thread that waits
            outcome.append(error)

    thread = threading.Thread(target=run, name="paceline-analyse", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL_S)
            if watch:
                watch(control.fraction)
    except BaseException:
        control.cancel()
        thread.join(1.0)
        raise
    result = outcome[0]
    if isinstance(result, BaseException):
        raise result
    return result


def _understood(pacers: Iterable[str]) -> dict[str, dict[str, Any]]:
    understood: dict[str, dict[str, Any]] = {}
    if not isinstance(pacers, Iterable):
        raise InputError(f'{quoted(pacers)} is no list of pacers; write as ["edge 10 ms"]', "pacers")
    for text in [pacers] if isinstance(pacers, str) else pacers:
        try:
            pacer = json.loads(_core.shaper(_arguments.text(text, "pacer", "pacer", "edge 10 ms")))
        except _core.InputError as error:
            raise InputError(str(error), f'pacer "{text}"') from None
        if pacer["name"] in understood:
            raise InputError("is given twice; leave one out", f'pacer "{text}"')
        understood[pacer.pop("name")] = pacer
    return understood


def _span_ns(text: str) -> int:
    try:
        return int(_core.quantity("time", _arguments.text(text, "burst_gap", "time", "100 us")))
    except _core.InputError as error:
        raise InputError(str(error), "burst_gap") from None


def _target(write: Any, source: str, pacers: int) -> Path:
    """Where the paced capture goes; that it cannot is said before anything is read."""
    path = file_name(write, "write", "paced.pcap")
    if pacers != 1:
        raise InputError(f"writes what one pacer lets go; give one pacer, not {pacers}", "write")
    if not _core.is_capture_name(path):
        raise InputError(f"{path}: the name must end in {CAPTURE_NAMES}, and so say the format", "write")
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory; name a file", "write")
        if source != "-" and path.exists() and path.samefile(source):
            raise InputError(f"{path} is the capture itself; name another file", "write")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise InputError(f"{path}: name a file in a directory that can be written", "write")
    except OSError as error:
        if error.filename == source:  # said when it is opened
            return path
        raise InputError(f"{path}: {error.strerror or error}", "write") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: {error}", "write") from None
    return path
