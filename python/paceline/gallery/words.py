"""Numbers and sentences of the gallery."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from paceline.gallery.entries import NOT_RUN, Entry
from paceline.papers.claim import OUTCOMES, Evidence
from paceline.report.formatting import DASH, listed, plain

#: As many pairs of numbers as a row of the overview has room for.
MOST_PAIRS = 4


def number(value: Any, half: float | None = None) -> str:
    """A value as read: digits that its interval deserves, or four."""
    if value is None:
        return DASH
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not math.isfinite(value):
        return DASH
    if isinstance(value, int) or (float(value).is_integer() and not half):
        return plain(value, 0)
    largest = math.floor(math.log10(abs(value))) if value else 0
    decimals = 3 - largest
    if half:
        decimals = min(max(decimals, 0), math.ceil(-math.log10(half) + 0.3))
    return plain(value, min(max(decimals, 0), 7))


def interval(row: Evidence) -> str:
    """``80.3 to 82.9``."""
    if row.interval is None:
        return DASH
    low, high = row.interval
    half = (high - low) / 2
    return f"{number(float(low), half)} to {number(float(high), half)}"


def value(row: Evidence) -> str:
    """The value of a row, with as many digits as its interval."""
    half = (row.interval[1] - row.interval[0]) / 2 if row.interval else None
    return number(row.value, half)


def values(found: Any) -> str:
    """A number, or several, of the paper's or ours."""
    if isinstance(found, Mapping):
        return "; ".join(f"{named(name)} {values(one)}" for name, one in found.items())
    if isinstance(found, Sequence) and not isinstance(found, str):
        return ", ".join(values(one) for one in found)
    return number(found)


def named(key: str) -> str:
    """``unpaced_kbps`` as words."""
    return key.replace("_", " ")


def beside(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, ours, the paper's: those of both first."""
    names = [*(name for name in ours if name in theirs), *(name for name in ours if name not in theirs)]
    names += [name for name in theirs if name not in ours]
    return [(named(name), _of(ours, name), _of(theirs, name)) for name in names]


def _of(side: Mapping[str, Any], name: str) -> str:
    return values(side[name]) if name in side else DASH


def pairs(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Single numbers that both have, where they are few enough for a row."""
    both = [name for name in ours if isinstance(ours[name], int | float) and isinstance(theirs.get(name), int | float)]
    return [(named(name), number(ours[name]), number(theirs[name])) for name in both] if len(both) <= MOST_PAIRS else []


def first_sentence(text: str) -> str:
    """Of a note; ``Fig. 2`` and ``eq. (3)`` end none."""
    return re.split(r"(?<!\bFig)(?<!\beq)(?<!e\.g)\.\s+(?=[A-Z])", text.strip(), maxsplit=1)[0].rstrip(".") + "."


def duration(seconds: float) -> str:
    """``12.0 s``, ``3.4 min``."""
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{plain(seconds / length, 1)}\u00a0{unit}"
    return f"{plain(seconds, 2 if seconds < 1 else 1)}\u00a0s"


def counts(shown: Sequence[Entry]) -> list[tuple[str, int]]:
    """How many of each standing there are, those that there are."""
    found = Counter(entry.standing for entry in shown)
    return [(name, found[name]) for name in (*OUTCOMES, NOT_RUN) if found[name]]


def headline(shown: Sequence[Entry]) -> str:
    """``31 of 37 claims of five papers are reproduced``."""
    papers = len({entry.claim.paper for entry in shown})
    count = ("no", "one", "two", "three", "four", "five", "six")[papers] if papers < 7 else str(papers)
    done = sum(entry.standing == "reproduced" for entry in shown)
    return f"{done} of {len(shown)} claims of {count} papers {'is' if done == 1 else 'are'} reproduced."


def rest(shown: Sequence[Entry]) -> str:
    """What became of the others."""
    told = {"partly": "{} in part", "not reproduced": "{} not", NOT_RUN: "{} not run yet"}
    others = [told[name].format(count) for name, count in counts(shown) if name in told]
    return f"The others: {listed(others)}." if others else ""


def cautions(shown: Sequence[Entry]) -> list[str]:
    """What a reader must know before believing it all."""
    quick, old = sum(e.quick for e in shown), sum(bool(e.doubts) for e in shown)
    seeds, absent = sum("seed" in "".join(e.tags) for e in shown), sum(e.record is None for e in shown)
    found = []
    if quick:
        found.append(
            f"{_claims(quick)} from a quick look: shorter runs and fewer seeds than the papers'. "
            "Verdicts in full length may differ."
        )
    if seeds:
        found.append(f"{_claims(seeds)} from a number of seeds of the user's choice.")
    if old:
        found.append(f"{_claims(old, 'is', 'are')} out of date, and say{'s' * (old == 1)} why.")
    if absent:
        found.append(f"{_claims(absent, 'has', 'have')} no verdict: not run yet.")
    return found


def _claims(count: int, one: str = "comes", several: str = "come") -> str:
    return f"{count} {'claim' if count == 1 else 'claims'} {one if count == 1 else several}"
