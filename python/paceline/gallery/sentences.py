"""Numbers and sentences of the gallery."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from paceline.gallery.entries import NOT_RUN, Entry
from paceline.papers import claims, papers
from paceline.papers.claim import OUTCOMES, Claim, Evidence
from paceline.papers.drawing import pacing_words
from paceline.report.formatting import DASH, listed, plain

#: An interval that is narrower in proportion says nothing.
_NOTHING = 1e-9
#: Units at the end of a number's name, as read.
UNITS = {
    "kbps": "kbit/s",
    "mbps": "Mbit/s",
    "kb": "KB",
    "ms": "ms",
    "s": "s",
    "percent": "%",
    "pkts": "packets",
    "gbit": "Gbit",
    "packets": "packets",
}
#: What names of numbers abbreviate.
LONG = {
    "fct": "time of a call",
    "p99": "99th percentile",
    "poi": "point of inflection",
    "cv": "coefficient of variation",
    "rtt": "round trip",
    "min": "least",
    "max": "greatest",
    "cubic": "CUBIC",
    "reno": "Reno",
}
#: What the names of sweeps and pacings stand for, by which claims call their numbers.
_NAMES = (
    (re.compile(r"\bqlbp-(\d+)\b"), r"QLBP, Q_max \1"),
    (re.compile(r"\bqlbp paced (\S+ \S+) (\S+ \S+) (\S+ packets)"), r"QLBP, mu_min \1, mu_max \2, Q_max \3"),
    (re.compile(r"\bport no per_flow\b"), "port pacing alone"),
    (re.compile(r"\bhost ideal\b(?= share)"), "host pacing, ideal,"),
    (re.compile(r"\bhost ideal gain ([\d.]+\d)"), r"host pacing at \1 times the ideal rate"),
    (re.compile(r"\bhost jitter ([\d.]+\d)"), r"host pacing with jitter \1"),
    (re.compile(r"\bhost ideal\b(?= −)|(?<=− )host ideal\b"), "host pacing (ideal)"),
    (re.compile(r"\bhost linux\b(?= −)|(?<=− )host linux\b"), "host pacing (Linux)"),
    (re.compile(r"\b(edge \d+ ms) acks\b"), r"\1 for acknowledgements too"),
    (re.compile(r"(?<=packets), packets\b"), ", sent one by one"),
    (re.compile(r"(?<=packets), trains\b"), ", sent in trains"),
    (re.compile(r"\bwhy-[\w.-]*\w"), "an experiment"),
)
#: Unpaced, where a name or a note compares pacings: ``edge over none``, ``(none, host, edge 10 ms)``.
_NONE = re.compile(
    r"(?<=− )none\b|(?<=\()none\b(?=[,)])|(?<=, )none(?=: )|\bnone(?= −)"
    r"|(?<=\bover )none\b(?! paced)|(?<=% of )none\b"
)
#: One of them is not several.
_ONE_FLOW = re.compile(r"(?<![\w.−-])1 flows\b")
#: In a note: the sweeps that show what it says, which the page has among its files.
_SWEEPS = re.compile(r" ?\((?:why-[\w.-]+(?:, )?)+\)")
#: In a note: a page of the documentation.
_PAGE = re.compile(r"\(docs/([\w-]+)\.md\)")
#: In a note: what may be the name of a claim.
_CLAIM = re.compile(r"\b[a-z][a-z0-9]*(?:-[a-z0-9]+)+\b")
#: A heading is no longer, characters, if its first sentence is not.
LONGEST_HEADING = 150
#: Two sentences of a note under a thumbnail are no longer, characters.
LONGEST_NOTE = 600
#: As many pairs of numbers as a row of the overview has room for.
MOST_PAIRS = 4


def number(value: Any, half: float | None = None) -> str:
    """A value as read: four digits, or more where its interval is narrower."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return DASH
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if half is not None:
        return plain(value, _decimals(value, half))
    text = plain(value, _decimals(value, 0.0))
    return text.rstrip("0").rstrip(".") if "." in text else text


def value(row: Evidence) -> str:
    """The value of a row, with as many digits as its interval."""
    return number(row.value, _half(row) if row.interval and isinstance(row.value, int | float) else None)


def interval(row: Evidence) -> str:
    """``80.3 to 82.9``, with the decimals of the value."""
    if row.interval is None:
        return DASH
    middle = float(row.value) if isinstance(row.value, int | float) else sum(row.interval) / 2
    decimals = _decimals(middle, _half(row))
    low, high = (plain(end, decimals) for end in row.interval)
    return (
        f"{low} to {high}"
        if low != high or _half(row) <= _NOTHING * abs(middle)
        else f"±\u00a0<{plain(10.0**-decimals, decimals)}"
    )


def _half(row: Evidence) -> float:
    return (row.interval[1] - row.interval[0]) / 2 if row.interval else 0.0


def _decimals(value: float, half: float) -> int:
    """Those that the interval deserves, but for three digits of the value at least, five at most; four without one."""
    if half <= _NOTHING * abs(value):  # what is left of equal numbers after arithmetic
        half = 0.0
    if float(value).is_integer() and not half:
        return 0
    largest = math.floor(math.log10(abs(value))) if value else 0
    deserved = math.ceil(-math.log10(half) + 0.3) if half else 3 - largest
    return min(max(min(deserved, 4 - largest), 2 - largest, 0), 7)


def values(found: Any) -> str:
    """A number, or several, of the paper's or ours."""
    if isinstance(found, Mapping):
        return "; ".join(f"{named(name)} {values(one)}" for name, one in found.items())
    if isinstance(found, Sequence) and not isinstance(found, str):
        return ", ".join(values(one) for one in found)
    return number(found)


def plain_words(text: str) -> str:
    """A name or a criterion without the labels of pacings and sweeps: ``none`` is unpaced."""
    text = _SWEEPS.sub("", text)
    for name, words in _NAMES:
        text = name.sub(words, text)
    text = _ONE_FLOW.sub("1 flow", text)
    return ", ".join(pacing_words(part) for part in _NONE.sub("unpaced", text).split(", "))


def criterion(row: Evidence) -> str:
    """What a row must fulfil, its numbers with four digits."""
    return re.sub(r"(?<![\w.])\d+\.\d+", lambda found: number(float(found[0])), plain_words(row.criterion))


def note(entry: Entry) -> str:
    """The note of a verdict without such labels, other claims by their place in a paper."""
    if entry.record is None:
        return ""
    places = {claim.id: claim for claim in claims()}

    def place(found: re.Match[str]) -> str:
        claim = places.get(found[0])
        if claim is None:
            return found[0]
        return _place(claim) if claim.paper == entry.claim.paper else f"{claim.paper}, {_place(claim)}"

    text = _PAGE.sub(lambda found: f"(documentation, {found[1].replace('-', ' ')})", entry.record.verdict.note)
    return _CLAIM.sub(place, _NONE.sub("unpaced", _SWEEPS.sub("", text)))


def named(key: str) -> str:
    """``unpaced_kbps`` as words: ``unpaced, kbit/s``; ``load_at_5_kb, Q_max 10`` is ``load at 5 KB, Q_max 10``."""
    return _named(plain_words(key))


def _named(key: str) -> str:
    if re.fullmatch(r"[A-Z]_\w+", key):  # a symbol with its index: B_new
        return key
    first, comma, others = key.partition(", ")
    if comma and " " not in first:
        return f"{_named(first)}, {others}"
    if " " in key:  # words already, in which an underscore is a symbol's: Q_max
        return key
    *stem, last = [part for word in key.split("_") for part in re.sub(r"^(\d+)([a-z]+)$", r"\1_\2", word).split("_")]
    words = " ".join(LONG.get(word, word) for word in stem)
    if not stem or last not in UNITS:
        return f"{words} {LONG.get(last, last)}".strip()
    return f"{words}{'' if words[-1].isdigit() else ','} {UNITS[last]}"


def beside(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, ours, the paper's: those of both first. What the paper says in words alone, the claim's sentence says."""
    theirs = {name: said for name, said in theirs.items() if ours.get(name) is not None or _has_number(said)}
    names = [*(name for name in ours if name in theirs), *(name for name in ours if name not in theirs)]
    names += [name for name in theirs if name not in ours]
    rows = [(named(name), _number_of(ours, name), _number_of(theirs, name)) for name in names]
    return [row for row in rows if row[1:] != (DASH, DASH)]  # what no run reached, and the paper does not say


def is_compared(rows: Sequence[tuple[str, str, str]]) -> bool:
    """Whether the paper has a number beside any of ours."""
    return any(theirs != DASH for _, _, theirs in rows)


def _has_number(said: Any) -> bool:
    some = said if isinstance(said, Sequence) and not isinstance(said, str) else [said]
    return any(isinstance(one, int | float) for one in some)


def _number_of(side: Mapping[str, Any], name: str) -> str:
    return values(side[name]) if name in side else DASH


def pairs(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Single numbers that both have, where they are few enough for a row."""
    both = [name for name in ours if isinstance(ours[name], int | float) and isinstance(theirs.get(name), int | float)]
    return [(named(name), number(ours[name]), number(theirs[name])) for name in both] if len(both) <= MOST_PAIRS else []


def short_note(entry: Entry) -> str:
    """The first sentence of a note, or two, if short, of what did not come out; ``Fig. 2`` and ``eq. (3)`` end none."""
    first, *others = _sentences(note(entry).strip())
    two = " ".join([first, *others[:1]])
    return first if entry.standing == "reproduced" or len(two) > LONGEST_NOTE else two


def heading(entry: Entry) -> str:
    """A claim by its sentence, the first where there are several and they are long; a finding by its question."""
    claim = entry.claim
    if claim.question or len(claim.says) <= LONGEST_HEADING:
        return claim.question or claim.says
    return _sentences(claim.says)[0]


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<!\bFig\.)(?<!\beq\.)(?<!\be\.g\.)(?<=\.)\s+(?=[A-Z])", text)


def met(entry: Entry) -> str:
    """``3 of 4 criteria met``."""
    evidence = entry.record.verdict.evidence if entry.record else []
    judged = [bool(row.ok) for row in evidence if row.ok is not None or row.undecided]
    return f"{sum(judged)} of {len(judged)} criteria met" if judged else ""


def where(entry: Entry) -> str:
    """Figure, table, or the section, which papers call by its number alone."""
    return _place(entry.claim)


def _place(claim: Claim) -> str:
    text = claim.where
    return f"Section {text}" if re.match(r"[IVX]+\b", text) else text


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


def count_of_papers(shown: Sequence[Entry]) -> str:
    """In words; those on pacing and small buffers."""
    number = len({entry.claim.paper for entry in _of(shown, beside=False)})
    return ("no", "one", "two", "three", "four", "five", "six")[number] if number < 7 else str(number)


def headline(shown: Sequence[Entry]) -> str:
    """``31 of 37 claims of five papers are reproduced.``"""
    counted = _of(shown, beside=False)
    done = sum(entry.standing == "reproduced" for entry in counted)
    which = f"{done} of {len(counted)} claims of {count_of_papers(shown)} papers"
    return f"{which} {'is' if done == 1 else 'are'} reproduced."


def rest(shown: Sequence[Entry]) -> str:
    """What became of the others, and of claims beside, which are counted by themselves."""
    others = _told(_of(shown, beside=False), (*OUTCOMES[1:], NOT_RUN))
    today = _of(shown, beside=True)
    found = [f"The others: {others}."] if others else []
    if today:
        found.append(f"Of {len(today)} claims of other papers and of our own: {_told(today, (*OUTCOMES, NOT_RUN))}.")
    return " ".join(found)


def _told(shown: Sequence[Entry], standings: Sequence[str]) -> str:
    told = {
        "reproduced": "{} reproduced",
        "partly": "{} in part",
        "not reproduced": "{} not",
        "undecided": "{} undecided",
        NOT_RUN: "{} not run yet",
    }
    return listed([told[name].format(count) for name, count in counts(shown) if name in standings])


def _of(shown: Sequence[Entry], *, beside: bool) -> list[Entry]:
    """Entries of the five papers, or of those beside."""
    names = {paper.name for paper in papers() if paper.beside}
    return [entry for entry in shown if (entry.claim.paper in names) == beside]


def cautions(shown: Sequence[Entry]) -> str:
    """What a reader must know before believing it all; empty where there is nothing."""
    run = [entry for entry in shown if entry.record]
    quick, old = sum(entry.quick for entry in run), sum(bool(entry.doubts) for entry in run)
    chosen = sum(entry.record is not None and entry.record.seeds is not None for entry in run)
    found = []
    if quick:
        which = "The verdicts come" if quick == len(run) else _verdicts(quick, "comes", "come")
        found.append(
            f"{which} from a quick look: shorter runs and fewer seeds than the papers’. In full length they may differ."
        )
    if chosen:
        found.append(f"{_verdicts(chosen, 'comes', 'come')} from as many seeds as somebody asked for.")
    if old:
        found.append(f"{_verdicts(old, 'is', 'are')} out of date, as said beside {'it' if old == 1 else 'them'}.")
    absent = len(shown) - len(run)
    if absent:
        found.append(f"{absent} {'claim was' if absent == 1 else 'claims were'} not run yet.")
    return " ".join(found)


def _verdicts(count: int, one: str, several: str) -> str:
    return f"{count} {'verdict' if count == 1 else 'verdicts'} {one if count == 1 else several}"
