"""Estimates the most memory and events of a run, and how much memory this machine has.

The bound is the core's (``crates/sim/src/network/estimate.rs``), before anything runs; `run`, `check` and `doctor` say
the same. ``PACELINE_MEMORY``, as ``64 GB``, says what may be taken where that is not what is free.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from paceline import _core
from paceline._units import STEPS, step_for
from paceline.errors import InputError

#: Of what is free, so much may be taken.
SHARE = 0.9
_VARIABLE = "PACELINE_MEMORY"
#: Processor time of an event, ns: a few hundred flows, no pacer.
EVENT_NS = 25.0
_MOST_KNOWN = 256
#: A wrong sweep of many settings is not told in full.
_MOST_ERRORS = 20
_known: dict[str, Estimate] = {}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run may take at most.

    Attributes:
        memory_bytes: beside the process itself.
        events: packets that reach a link or a host.
        mostly: what takes the most memory.
        flows: how many there are.
    """

    memory_bytes: int
    events: int
    mostly: str
    flows: int

    def is_large(self) -> bool:
        """Whether a run may take hours, or a quarter of the memory."""
        return EVENT_NS * self.events > 3600e9 or self.memory_bytes > allowed_bytes() / 4

    def in_words(self) -> str:
        """``at most 3.2 GB of memory, and 1e+11 events``."""
        return f"at most {amount(self.memory_bytes)} of memory, and {self.events:.2g} events"

    def refusal(self) -> str | None:
        """Why it cannot run here, in a line; ``None`` where it can."""
        free = allowed_bytes()
        if self.memory_bytes <= free:
            return None
        remedy = f"write smaller windows, buffers or rates, or a shorter duration; or set {_VARIABLE}, as 64 GB"
        return (
            f"memory: a run may take {amount(self.memory_bytes)}, and {amount(free)} are free: {self.mostly}; {remedy}"
        )


def estimate_of(scenario_json: str) -> Estimate:
    """Of one setting. Raises `_core.InputError` where the core refuses it."""
    estimate = Estimate(*_core.check(scenario_json))
    _known[scenario_json] = estimate
    while len(_known) > _MOST_KNOWN:
        with contextlib.suppress(StopIteration, RuntimeError):  # another thread does so too
            _known.pop(next(iter(_known)), None)
    return estimate


def remembered_estimate_of(scenario_json: str) -> Estimate:
    """The same, of one that was looked at lately: under other seeds it asks for about as much."""
    return _known.get(scenario_json) or estimate_of(scenario_json)


def allowed_bytes() -> int:
    """What runs of this process may take together. Raises `InputError` where ``PACELINE_MEMORY`` is no size."""
    if text := os.environ.get(_VARIABLE):
        try:
            return int(_core.quantity("size", text))
        except _core.InputError as error:
            raise InputError(str(error), _VARIABLE) from None
    return int(SHARE * min(_free()))


def _free() -> Iterator[int]:
    """Every limit that is known, bytes."""
    yield 1 << 62
    with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        yield 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    for most, now in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError):
            limit, used = (int(Path("/sys/fs/cgroup", name).read_text(encoding="ascii")) for name in (most, now))
            yield max(limit - used, 0)
    if sys.platform != "win32":  # no limit is known there; see `_VARIABLE`
        import resource

        if sys.platform != "linux":  # which alone says what is free
            with contextlib.suppress(OSError, ValueError):
                yield os.sysconf("SC_PHYS_PAGES") * resource.getpagesize()
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            with contextlib.suppress(OSError, ValueError, IndexError):
                pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
                yield max(limit - pages * resource.getpagesize(), 0)


def amount(count: float) -> str:
    """Bytes as people read them: ``4.5 GB``."""
    factor, unit = step_for(count, STEPS["B"])
    return f"{count / factor:.0f} B" if factor == 1 else f"{count / factor:.3g} {unit}"


def validate(
    texts: Iterable[str], source: str | None, line_of: Callable[[str], int | None], *, here: bool = True
) -> None:
    """Has the core read every setting; raises one `InputError` of all that is wrong.

    `line_of` returns the line of a path in the file. `here` they must fit in this machine's memory too.
    """
    wrong: dict[str, InputError] = {}
    seen: set[int] = set()
    for text in texts:
        if hash(text) in seen:
            continue
        seen.add(hash(text))
        try:
            estimate = estimate_of(text)
        except _core.InputError as error:
            for line in str(error).splitlines():
                wrong.setdefault(line, InputError(line, source, line=line_of(line.partition(": ")[0])))
        else:
            if here and (refusal := estimate.refusal()):
                wrong.setdefault(refusal, InputError(refusal, source))
        if len(wrong) >= _MOST_ERRORS:
            break
    if wrong:
        raise InputError.together(list(wrong.values()))
