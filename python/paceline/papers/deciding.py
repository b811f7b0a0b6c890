"""What decides a claim beside the five papers that is not reproduced: its criteria under every other choice.

Such a claim prints few numbers, so what is held against one another is its criteria. Where one does not hold under ours
and holds under another choice, that choice decides it; where it holds under none, no choice here moves it, and the
range of its number over all of them says how far. ``python -m paceline.cli.deciding_choices`` runs them and writes the
tables; `paceline.papers.open_choices` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from paceline.papers.claim import Claim, Evidence, Length, Verdict
from paceline.papers.free_choices import Choice
from paceline.scenario import Scenario

#: Two seeds cannot judge an order, and these are all that a short run has.
SEEDS = 3


def _all(_: str) -> bool:
    return True


@dataclass(frozen=True)
class Experiment:
    """A claim, and each choice made otherwise in all that it runs.

    Attributes:
        claim: its id.
        choices: one changed at a time.
        quick: short runs are cut from the claim's quick look, else from its full length.
        short: what else is cut for a short run, of ours as of every choice.
        keeps: which of the claim's sweeps are run, by name.
    """

    claim: str
    choices: Sequence[Choice]
    quick: bool = True
    short: Choice | None = None
    keeps: Callable[[str], bool] = _all

    def length(self, full: bool) -> Length:
        """Of the runs."""
        return Length(quick=self.quick and not full, seeds=None if full else SEEDS)

    def base(self, claim: Claim, full: bool) -> Claim:
        """The claim as this experiment runs it under our choices."""

        def sweeps(length: Length) -> Mapping[str, Scenario]:
            return {name: one for name, one in claim.sweeps(length).items() if self.keeps(name)}

        kept = replace(claim, sweeps=sweeps)
        return kept if full or self.short is None else self.short.of(kept)


@dataclass(frozen=True)
class Cell:
    """A criterion's number under one choice.

    Attributes:
        value: ours; text where it is none.
        half: of its 95 % interval.
        met: whether the criterion holds; not where seeds leave it undecided.
    """

    value: float | str | None
    half: float | None
    met: bool


@dataclass(frozen=True)
class Row:
    """A criterion under every choice.

    Attributes:
        statistic: as the claim names it under ours.
        criterion: what it must fulfil there.
        ours: under our choices.
        others: under each other one, by its name.
    """

    statistic: str
    criterion: str
    ours: Cell
    others: Mapping[str, Cell]

    @property
    def tells(self) -> bool:
        """Whether it does not hold under some choice."""
        return not all(one.met for one in (self.ours, *self.others.values()))

    @property
    def fits(self) -> list[str]:
        """Choices under which it holds."""
        return [name for name, one in self.others.items() if one.met]


def counted(verdict: Verdict) -> list[Evidence]:
    """The criteria: rows that count, or would if seeds did not leave them undecided."""
    return [row for row in verdict.evidence if row.ok is not None or row.undecided]


def rows(ours: Verdict, others: Mapping[str, Verdict]) -> list[Row]:
    """Criteria by their place in the evidence, for a statistic may name what a run has made of it.

    Raises `ValueError` where a choice has other criteria, as many or not.
    """
    columns = {name: counted(one) for name, one in others.items()}
    found = []
    for place, row in enumerate(counted(ours)):
        cells = {}
        for name, column in columns.items():
            if len(column) != len(counted(ours)) or _kind(column[place]) != _kind(row):
                raise ValueError(f"{row.statistic}: {name} has no such criterion")
            cells[name] = _cell(column[place])
        found.append(Row(row.statistic, row.criterion, _cell(row), cells))
    return found


def _kind(row: Evidence) -> str:
    return row.statistic.split(":")[0].split("(")[0].split(" over ")[0]


def _cell(row: Evidence) -> Cell:
    ends = row.interval
    return Cell(row.value, (ends[1] - ends[0]) / 2 if ends else None, bool(row.ok))


def range_of(row: Row) -> tuple[float, float] | None:
    """The least and the largest of its numbers, ours included; `None` where there is none."""
    values = [one.value for one in (row.ours, *row.others.values()) if isinstance(one.value, int | float)]
    return (min(values), max(values)) if values else None
