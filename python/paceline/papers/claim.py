"""What a claim of a paper is: what it says, how it is run, how it is judged, how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from paceline.results import Results
from paceline.scenario import Scenario

#: Processor time of ns-2 2.35 for a packet delivered over the core, s: 1000 Reno flows, five hops each way, a quiet
#: core of the machine of README's table. ``python benches/peers/run.py --only demo-5KB --peer ns2`` measures another.
NS2_PACKET_S = 4.2e-6

#: How a claim is judged; `criteria` has each rule.
Kind = Literal["number", "order", "shape"]
#: What became of a claim; undecided where two seeds cannot judge what no criterion refutes.
Outcome = Literal["reproduced", "partly", "not reproduced", "undecided"]
OUTCOMES: tuple[Outcome, ...] = ("reproduced", "partly", "not reproduced", "undecided")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Paper:
    """Where claims come from.

    Attributes:
        name: as in claims and on the command line: ``edge-vs-host``.
        title: of the paper.
        authors: as printed.
        published: where and when.
        about: one paragraph in our words: what was asked, and what was found.
        beside: not one of the five papers on pacing and small buffers, and not counted with them.
        heads: what stands over what a claim of it says; another than ``The paper says`` for questions of ours.
        theirs: what stands over the numbers beside ours.
    """

    name: str
    title: str
    authors: str
    published: str
    about: str
    beside: bool = False
    heads: str = "The paper says"
    theirs: str = "the paper’s"

    @property
    def ours(self) -> bool:
        """Whether it is no paper, but asks what we ask."""
        return self.heads != Paper.heads


@dataclass(frozen=True)
class Assumption:
    """Something that the paper leaves open.

    Attributes:
        open: what it does not say.
        chosen: what we took.
        why: by which experiment or source.
    """

    open: str
    chosen: str
    why: str


@dataclass(frozen=True)
class Length:
    """How much to run.

    Attributes:
        quick: a look in minutes instead of the paper's own durations; its verdict may differ.
        seeds: so many for each setting, where the user asked for a number.
        first_seed: they count from here; another than 1 for fresh seeds.
    """

    quick: bool = False
    seeds: int | None = None
    first_seed: int = 1

    def choose(self, full: _T, quick: _T) -> _T:
        """One of two by length."""
        return quick if self.quick else full

    def seed_count(self, full: int = 5, quick: int = 2) -> int:
        """Seeds for each setting; the user's number before ours."""
        return self.seeds or self.choose(full, quick)

    @property
    def name(self) -> str:
        """``full`` or ``quick``; ``full-from-1001`` under seeds from there on, which is kept beside."""
        name = "quick" if self.quick else "full"
        return name if self.first_seed == 1 else f"{name}-from-{self.first_seed}"


class Runs(Mapping[str, Results]):
    """Finished runs of a claim by the name of their sweep: ``runs["main"]``.

    Attributes:
        length: that they were run at.
    """

    def __init__(self, sweeps: Mapping[str, Results], length: Length | None = None) -> None:
        self._sweeps = dict(sweeps)
        self.length = length or Length()

    def __getitem__(self, name: str) -> Results:
        return self._sweeps[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sweeps)

    def __len__(self) -> int:
        return len(self._sweeps)


@dataclass(frozen=True)
class Evidence:
    """One statistic on the way to a verdict: a row of a table.

    Attributes:
        statistic: what, where: ``goodput, edge, 5 KB, kbit/s``.
        value: ours.
        interval: its 95 % interval, where seeds give one.
        criterion: what it must fulfil, in words: ``93 within 5 %``.
        ok: whether it does; ``None`` where it informs only, as in an experiment that explains, or is undecided.
        undecided: it counts, and two seeds leave it open: their mean is on the right side, their interval is not.
    """

    statistic: str
    value: float | str | None
    interval: tuple[float, float] | None
    criterion: str
    ok: bool | None
    undecided: bool = False


@dataclass(frozen=True)
class Verdict:
    """What became of a claim.

    Attributes:
        verdict: see `OUTCOMES`.
        ours: our numbers by name; JSON.
        theirs: the paper's, by the same names.
        note: one paragraph; explains any difference by an experiment.
        evidence: each statistic with its criterion.
    """

    verdict: Outcome
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]
    note: str
    evidence: Sequence[Evidence] = ()

    def __post_init__(self) -> None:
        if self.verdict not in OUTCOMES:
            raise ValueError(f"{self.verdict!r} is no verdict; there are {', '.join(OUTCOMES)}")
        if self.verdict != "reproduced" and not self.note.strip():
            raise ValueError(f"a claim that is {self.verdict} needs a note that explains it")


@dataclass(frozen=True)
class Picture:
    """A drawing of the claim.

    Attributes:
        name: of its file, without the suffix; the first of a claim is its thumbnail.
        svg: the picture; colours that must follow the page are ``currentColor`` (see `drawing.picture`).
        caption: what is seen, and what the paper says beside it.
    """

    name: str
    svg: str
    caption: str


def _nothing(_: Runs) -> Sequence[Picture]:
    return ()


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Attributes:
        id: for ever: ``edge-fig3-goodput``.
        paper: its `Paper.name`.
        where: figure, table or section.
        kind: how it is judged.
        says: what the paper says, in our own words.
        printed: the numbers that the paper prints, by name; empty where none.
        assumptions: what the paper leaves open, and what was chosen.
        sweeps: by name, what to run: ordinary scenarios with ``[sweep]`` and seeds. Those called ``why-…`` vary the
            choice that decides, to explain a difference. Empty for a claim about a closed form.
        check: the verdict from finished runs; runs nothing itself.
        draw: pictures of the same runs.
        question: what a claim of ours asks; ``says`` is then what is tried, a hypothesis of a finding.
        panel: which panel of its first picture stands for it where there is room for one.
    """

    id: str
    paper: str
    where: str
    kind: Kind
    says: str
    printed: Mapping[str, Any]
    assumptions: Sequence[Assumption]
    sweeps: Callable[[Length], Mapping[str, Scenario]]
    check: Callable[[Runs], Verdict]
    draw: Callable[[Runs], Sequence[Picture]] = field(default=_nothing)
    question: str = ""
    panel: int = 0
