"""The papers' conclusions as statements about runs: each a row of criteria at several buffers.

They were written before the sweep was run. Seen until then were single runs of 25 s under one seed, over drop-tail of
10 and 50 packets and over the queues beside, to choose the network: they showed that BBR v1's shares are unequal behind
edge pacers, so that criterion was not written blind; it is the rule for probabilities of `criteria`, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from paceline._statistics import Interval
from paceline.papers import criteria
from paceline.papers.claim import Evidence, Runs
from paceline.papers.today.network import (
    COMPLETION,
    GOODPUT,
    LARGE,
    OFFLOADS,
    SELF_PACED,
    at,
    fairness_difference,
    small,
)
from paceline.results import Results


@dataclass(frozen=True)
class Question:
    """A conclusion of a paper.

    Attributes:
        says: the conclusion.
        source: which paper, and where.
        rows: its criteria for the runs of one sweep, whose name they carry.
        of_host: needs hosts that may be paced or not.
    """

    says: str
    source: str
    rows: Callable[[str, Results], Sequence[Evidence]]
    of_host: bool = False


def relative(results: Results, method: str, other: str, packets: int, path: str = GOODPUT) -> Interval:
    """One method over another, less one, in percent, seed by seed."""
    found = criteria.difference(at(results, method, packets), at(results, other, packets), path, relative=True)
    return Interval(100 * found.mean, None if found.half is None else 100 * found.half, found.count)


def _more(method: str, other: str) -> Callable[[str, Results], Sequence[Evidence]]:
    def rows(sweep: str, results: Results) -> Sequence[Evidence]:
        return [
            _sure(criteria.above(f"goodput, {method} over {other}, {size} packets, {sweep}, %", gain, 0, "%"), gain)
            for size in small(results)
            for gain in [relative(results, method, other, size)]
        ]

    return rows


def _gone(sweep: str, results: Results) -> Sequence[Evidence]:
    found = []
    for method in ("edge", "qlbp"):
        gain = relative(results, method, "none", LARGE)
        words = f"goodput, {method} over none, {LARGE} packets, {sweep}, %"
        within = abs(gain.mean) + (gain.half or 0.0) < 100 * criteria.RELATIVE
        ends = None if gain.half is None else (gain.low, gain.high)
        found.append(Evidence(words, gain.mean, ends, "within 5 % of none, interval included", within))
    return found


def _fair(sweep: str, results: Results) -> Sequence[Evidence]:
    found = []
    for size in small(results):
        lost = fairness_difference(at(results, "none", size), at(results, "edge", size))
        words = f"Jain's index of the long flows, none − edge, {size} packets, {sweep}"
        found.append(criteria.below(words, lost, criteria.PROBABILITY))
    return found


def _sooner(sweep: str, results: Results) -> Sequence[Evidence]:
    return [
        _sure(criteria.below(f"completion of 100 KB, edge over none, {size} packets, {sweep}, %", gain, 0, "%"), gain)
        for size in small(results)
        for gain in [relative(results, "edge", "none", size, COMPLETION)]
    ]


def _sure(row: Evidence, found: Interval) -> Evidence:
    """An order needs an interval: one pair of seeds is not enough."""
    return row if found.half is not None else Evidence(row.statistic, row.value, None, row.criterion, False)


#: By name, in the order of the page.
QUESTIONS: Mapping[str, Question] = {
    "edge gains": Question(
        "Edge pacing gains goodput in small buffers.",
        "Edge versus Host Pacing, Fig. 3 and 5",
        _more("edge", "none"),
    ),
    "host gains": Question(
        "Pacing at hosts gains goodput in small buffers, where access is fast.",
        "Very Small Buffers, Fig. 3",
        _more("host", "none"),
        of_host=True,
    ),
    "edge over host": Question(
        "Edge pacing gains more than pacing at hosts.",
        "Edge versus Host Pacing, Fig. 3 and 5",
        _more("edge", "host"),
        of_host=True,
    ),
    "QLBP gains": Question(
        "QLBP gains goodput in small buffers.",
        "QLBP, Fig. 18",
        _more("qlbp", "none"),
    ),
    "gone when large": Question(
        "In a large buffer the gain is gone.",
        "Edge versus Host Pacing, Fig. 3; QLBP, Fig. 18",
        _gone,
    ),
    "fair": Question(
        "Edge pacing costs no fairness.",
        "CS244, many flows: paced flows are fairer",
        _fair,
    ),
    "short flows": Question(
        "Short flows finish sooner behind edge pacers.",
        "Edge versus Host Pacing, Fig. 6",
        _sooner,
    ),
}


def asked(variant: str) -> Mapping[str, Question]:
    """Questions that this TCP can be asked."""
    return {name: one for name, one in QUESTIONS.items() if not (one.of_host and variant in SELF_PACED)}


def answers(variant: str, runs: Runs) -> Mapping[str, Sequence[Evidence]]:
    """The criteria of each question, without offloads and with."""
    return {
        name: [row for sweep in OFFLOADS if sweep in runs for row in one.rows(sweep, runs[sweep])]
        for name, one in asked(variant).items()
    }


#: What became of a conclusion, in words, by what a claim of its criteria would be.
ANSWERS = {"reproduced": "holds", "partly": "in part", "undecided": "undecided", "not reproduced": "does not hold"}


def word(rows: Sequence[Evidence]) -> str:
    """One of `ANSWERS`."""
    return ANSWERS[criteria.judge(rows)]
