"""What a paper leaves open, and what each other choice would make of every number that it prints.

A choice is one change to all scenarios of a paper. Where a number comes out under ours and not under another one, the
number identifies that choice; where it comes out under another alone, it could be fitted by it; where it comes out
under none, no choice here reaches it. ``python -m paceline.cli.free_choices`` runs them and writes the table.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paceline.errors import InputError
from paceline.papers.claim import Claim, Evidence, Length, Runs, Verdict
from paceline.scenario import Scenario

_Document = dict[str, Any]
#: ``93 within 5 %``, ``above 0.13``; not ``above 0``.
_NUMBER = re.compile(r"within|(above|below) (?!0(?![.\d]))")


@dataclass(frozen=True)
class Choice:
    """Something that a paper leaves open, chosen otherwise.

    Attributes:
        name: in the table.
        change: what it makes of a scenario's document, in place.
        check: judges in the place of the claim's, where the choice is how a number is taken from the runs.
    """

    name: str
    change: Callable[[_Document], None]
    check: Callable[[Runs], Verdict] | None = None

    def of(self, claim: Claim) -> Claim:
        """The claim with this choice in all that it runs."""

        def sweeps(length: Length) -> Mapping[str, Scenario]:
            return {name: self.scenario(one) for name, one in claim.sweeps(length).items()}

        return replace(claim, sweeps=sweeps, check=self.check or claim.check)

    def scenario(self, scenario: Scenario) -> Scenario:
        """The scenario with this choice."""
        document: _Document = scenario.to_dict()
        self.change(document)
        return Scenario(document)


def paths(name: str, values: Mapping[str, Any]) -> Choice:
    """Another value at each of these paths, in scenarios that have the path."""

    def change(document: _Document) -> None:
        scenario = Scenario(document)
        for path, value in values.items():
            with contextlib.suppress(InputError):
                scenario = scenario.set(path, value)
        changed = scenario.to_dict()
        document.clear()
        document.update(changed)

    return Choice(name, change)


def judged(name: str, check: Callable[[Runs], Verdict]) -> Choice:
    """The same runs, of which a number is taken otherwise."""
    return Choice(name, lambda _: None, check)


def tcp(name: str, **keys: Any) -> Choice:
    """Another value of options of every TCP."""

    def change(document: _Document) -> None:
        for traffic in document["traffic"]:
            if "tcp" in traffic:
                traffic["tcp"] |= keys

    return Choice(name, change)


def network(name: str, **keys: Any) -> Choice:
    """Another value of keys of the network, or of its links that have a buffer where these are listed."""

    def change(document: _Document) -> None:
        if "network" in document:
            document["network"] |= keys
        for link in document.get("link", []):
            if "buffer" in link:
                link |= keys

    return Choice(name, change)


def links(name: str, prefix: str, **keys: Any) -> Choice:
    """Another value of keys of the links whose names begin so."""

    def change(document: _Document) -> None:
        for link in document.get("link", []):
            if str(link.get("name", "")).startswith(prefix):
                link |= keys

    return Choice(name, change)


def access(name: str, **keys: Any) -> Choice:
    """Another value of keys of a dumbbell's access links."""

    def change(document: _Document) -> None:
        groups = document.get("network", {}).get("access", [])
        for group in groups if isinstance(groups, list) else [groups]:
            group |= keys

    return Choice(name, change)


_NS2 = (
    tcp("no header of 40 B", header="0 B"),
    network("one packet more waits", counts="waiting"),
    tcp("least timeout 1 s", min_rto="1 s"),
    tcp("first window 4", initial_window="4 packets"),
)
#: By paper: what could be chosen otherwise for all of its figures.
CHOICES: Mapping[str, Sequence[Choice]] = {
    "edge-vs-host": (
        *_NS2,
        tcp("windows to 20", max_window="20 packets"),
        tcp("windows to 40", max_window="40 packets"),
        tcp("patched ns-2 2.28", profile="ns2-2.28", halving="in-flight"),
    ),
    "small-buffers": (
        *_NS2,
        access("1 to 25 ms on each side", delay="1 ms .. 25 ms"),
        tcp("least timeout 0.5 s", min_rto="0.5 s"),
    ),
    "qlbp": (*_NS2, links("receivers at 1 to 3 ms", "receiver-", delay="1 ms .. 3 ms"), tcp("SACK", variant="sack1")),
    "datacentre": (
        access("hosts in step", rate="1 Gbit/s"),
        tcp("windows to 10,000", max_window="10000 packets"),
        tcp("Linux of today", rack=True, count_packets=True),
        tcp("Reno's growth", variant="rfc6675"),
        tcp("first window 3", initial_window="3 packets"),
    ),
    "cs244": (
        tcp("NewReno", variant="newreno"),
        tcp("Linux of today", rack=True, count_packets=True),
        tcp("least timeout 1 s", min_rto="1 s"),
        tcp("first window 2", initial_window="2 packets"),
    ),
}


@dataclass(frozen=True)
class Number:
    """A printed number under one choice.

    Attributes:
        value: ours.
        criterion: of its claim, with the number that the paper prints.
        met: whether that holds.
    """

    value: float
    criterion: str
    met: bool


def printed(evidence: Sequence[Evidence]) -> Iterator[tuple[str, Number]]:
    """Statistic and our number, of each criterion that has a printed number: orders have none but 0."""
    for row in evidence:
        if _NUMBER.search(row.criterion) and row.ok is not None and isinstance(row.value, int | float):
            yield row.statistic, Number(row.value, row.criterion, row.ok)


def standing(ours: Number | None, others: Mapping[str, Number | None]) -> str:
    """What a number says of the choices: ``any``, ``ours``, the names that would fit it, or ``none``."""
    fits = [name for name, one in others.items() if one is not None and one.met]
    if ours is None or not ours.met:
        return f"{', '.join(fits)} would fit" if fits else "none"
    against = [name for name, one in others.items() if one is not None and not one.met]
    untold = [name for name, one in others.items() if one is None]
    found = f"ours, not {', '.join(against)}" if against else "any"
    return f"{found}; no number under {', '.join(untold)}" if untold else found
