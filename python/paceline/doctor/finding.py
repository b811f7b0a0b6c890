"""What a check is, and what it finds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from paceline.doctor.case import Case
    from paceline.doctor.sweep import Sweep

#: *error*: the results cannot mean what they seem to. *warning*: probably not what was meant, and it moves the results.
#: *note*: as it may well be meant, and worth knowing.
Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Problem:
    """One place where a check found something.

    Attributes:
        where: the key's path in the file.
        what: what is the case, in one sentence without its full stop.
        why: why that matters, with numbers.
        instead: what to write.
        severity: the check's own unless given.
    """

    where: str
    what: str
    why: str
    instead: str
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look for.

    Attributes:
        id: stable, for programs.
        severities: the first unless a problem says otherwise; all that it may have.
        title: what is wrong, in a few words.
        doc: the rule, its thresholds and its source: the docstring of the function.
        of_case: looks at one setting; or
        of_sweep: at the scenario as a whole.
    """

    id: str
    severities: tuple[Severity, ...]
    title: str
    doc: str
    of_case: Callable[[Case], Iterator[Problem]] | None = None
    of_sweep: Callable[[Sweep], Iterator[Problem]] | None = None


#: Every check, in the order of the page; filled by the decorators below as `paceline.doctor.checks` is imported.
CHECKS: list[Check] = []

OfCase = Callable[["Case"], Iterator[Problem]]
OfSweep = Callable[["Sweep"], Iterator[Problem]]


def check(name: str, *severities: Severity) -> Callable[[OfCase], OfCase]:
    """Enters a function into the list: it looks at one setting. Its docstring is its entry in the documentation."""

    def enter(function: OfCase) -> OfCase:
        title, doc = _documented(function)
        CHECKS.append(Check(name, severities, title, doc, of_case=function))
        return function

    return enter


def check_sweep(name: str, *severities: Severity) -> Callable[[OfSweep], OfSweep]:
    """The same for one that looks at the scenario with all that it sweeps."""

    def enter(function: OfSweep) -> OfSweep:
        title, doc = _documented(function)
        CHECKS.append(Check(name, severities, title, doc, of_sweep=function))
        return function

    return enter


def _documented(function: Callable[..., Any]) -> tuple[str, str]:
    title, _, doc = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
    return " ".join(title.split()).rstrip("."), " ".join(doc.split())


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found at one place, in one or several settings of a sweep.

    Attributes:
        id: of the check.
        severity: ``error``, ``warning`` or ``note``: the worst of all settings.
        where: the key's path in the file.
        what: what is the case, in the first of the settings that have it worst.
        why: why that matters, there.
        instead: what to write.
        settings: the settings where it holds; empty where there is nothing swept, or where it is about the sweep.
        everywhere: whether these are all.
    """

    id: str
    severity: Severity
    where: str
    what: str
    why: str
    instead: str
    settings: tuple[Mapping[str, str], ...] = field(default=())
    everywhere: bool = True

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "id": self.id,
            "severity": self.severity,
            "where": self.where,
            "what": self.what,
            "why": self.why,
            "instead": self.instead,
            "everywhere": self.everywhere,
            "settings": [dict(one) for one in self.settings],
        }
