"""How good advice is: drawn questions, each answered, and beside it an exhaustive search.

    python benches/advise.py                             # 200 questions, two hours
    python benches/advise.py --questions 12              # some of them
    python benches/advise.py --minutes 30                # as many more as that, and all that there are
    python benches/advise.py --minutes 0 --write-docs    # those that there are, into docs/advise.md

Runs and answers are kept in `--results`, a file a question, so that it goes on where it was stopped. Runs of another
core or of other scenarios are not used, and a question is asked again where `paceline.advise` has changed since.

Questions come from a fixed generator, `drawn`, by their number: three sizes of search space, in turn. Those from 0 to
199 are for judging alone. What the search does was decided on those from 1,000,000 and from 2,000,000 on. Of each:

- utility: what the advised setting is worth (`paceline.advise.measures.worth`) over the best of an exhaustive search,
  which is every setting under 24 seeds. A bound that is missed by more than 0.2 % makes it 0. It is said twice:
  `anew`, both settings by 32 seeds that neither search has seen, which is what "within 2 % of the best" is taken to
  ask: what one gets by following either. `own`, both by the exhaustive search's own seeds: the best of many is so by
  luck too, and there only the advice pays for that. How much that is `control` says: an exhaustive search with half of
  the seeds, judged as `own` by the one with the other half. `certain` are those not shown, at 95 %, to be behind by
  2 %, anew.
- coverage: of the stated 95 % intervals of the advised setting, how many hold the long-run value: the mean of 32 other
  seeds (every measure), and of 8 runs that settle twice and count four times as long (means over time: utilisation,
  loss, wait). The long-run value has an error too, which the comparison allows for: both errors' root of squares;
- cost: processor time of the advice over that of the exhaustive search, statement included.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from paceline.advise import asking
from paceline.advise.evidence import Evidence, Run
from paceline.advise.measures import BUFFER, MEASURES, goal_worth, shortfall
from paceline.advise.network import Length, length_of, scenario_of
from paceline.advise.question import Candidate, Question
from paceline.advise.reading import read_question
from paceline.advise.running import Simulator

sys.path.insert(0, str(Path(__file__).parent))
import tables

ROOT = Path(__file__).parent.parent
#: Seeds of the exhaustive search, of the long-run values, and of those of longer runs; none is the advice's.
EXHAUSTIVE, LONG_RUN, LONGER = 24, 32, 8
_FIRST = {"exhaustive": 500_000, "long_run": 600_000, "longer": 700_000}
#: Buffers and pacings of each size of search space.
SIZES = ((4, 3), (5, 5), (8, 8))
#: A bound that is missed by more makes an answer worth nothing.
MISSED = 0.002
#: Of the best, what an answer has to be worth.
GOOD = 0.98
#: Modules of `paceline.advise` by which an answer may change.
DECIDE = (
    "question",
    "candidates",
    "network",
    "measures",
    "evidence",
    "surrogate",
    "search",
    "answer",
    "running",
    "asking",
)
#: Means over time, which longer runs have too; a fairness or a percentile is of a window's length.
OVER_TIME = ("utilisation", "loss", "wait")


def drawn(number: int) -> dict[str, Any]:
    """The question of a number, as tables."""
    chance = random.Random(f"paceline advise {number}")
    buffers, pacings = SIZES[number % len(SIZES)]
    rate = 10 ** chance.uniform(0.7, 1.7)
    shortest = 10 ** chance.uniform(0.3, 1.3)
    longest = shortest * chance.uniform(1, 5)
    flows = round(10 ** chance.uniform(0.5, 1.6))
    bdp = rate * 1e6 * (shortest + longest) / 2e3 / 12_000
    low, high = chance.uniform(1, 5), max(12.0, bdp * 10 ** chance.uniform(-0.5, 0.3))
    ladder = sorted({round(low * (high / low) ** (place / (buffers - 1))) for place in range(buffers)})
    delays = [chance.choice((0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)) * shortest for _ in range(pacings)]
    edges = list(dict.fromkeys(f"edge {delay * 1000:.0f} us" for delay in delays))
    asked: dict[str, Any] = {
        "rate": f"{rate:.3g} Mbit/s",
        "rtt": f"{shortest:.3g} ms .. {longest:.3g} ms",
        "flows": flows,
        "access": f"{rate * 10 ** chance.uniform(-0.5, 1):.3g} Mbit/s",
        "tcp": chance.choice(("cubic", "cubic", "newreno")),
        "buffer": [f"{one} packets" for one in ladder],
        "pacing": ["none", "host", *edges][:pacings],
        "seed": 1,
        "within": "600 min",
    }
    goal = chance.choice(("buffer", "buffer", "utilisation", "delay", "loss", "fct"))
    asked["goal"] = goal
    if goal == "fct":
        asked |= {"size": f"{chance.choice((20, 50, 200))} KB", "think": {"exponential": f"{shortest * 5:.3g} ms"}}
    if goal == "buffer":
        asked["bounds"] = [f"utilisation >= {chance.choice((80, 90, 95, 98))} %"]
    elif goal == "utilisation":
        asked["bounds"] = [f"wait <= {chance.uniform(0.1, 1) * shortest:.3g} ms"]
    elif goal in ("delay", "loss"):
        asked["bounds"] = [f"utilisation >= {chance.choice((70, 80, 90))} %"]
    return asked


class Kept:
    """A question's runs and the answer to it, in a file: what it has is not run again."""

    def __init__(self, number: int, folder: Path, jobs: int) -> None:
        self.question = read_question(drawn(number))
        self.number = number
        self._jobs = jobs
        self._path = folder / f"{number}.json"
        self._named = {one.name: one for one in self.question.candidates}
        core = scenario_of(self.question, self.question.candidates[0]).seeds([1]).points()[0].key
        read = self._path.read_text() if self._path.exists() else "{}"
        found = json.loads(read)
        is_same = found.get("core") == core
        self._all: dict[str, Any] = found if is_same else {"core": core, "runs": {}, "answers": {}}

    def save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_suffix(".part")
        beside.write_text(json.dumps(self._all, separators=(",", ":")))
        beside.replace(self._path)

    @property
    def is_answered(self) -> bool:
        return advice_key() in self._all["answers"]

    def answered(self) -> dict[str, Any]:
        """What is advised, with the stated intervals and what it took."""
        answers = self._all["answers"]
        if not self.is_answered:
            began = time.monotonic()
            advice = asking.answer(self.question, jobs=self._jobs, with_changes=False)
            best = advice._verdict.best
            answers.clear()
            answers[advice_key()] = {
                "status": advice.status,
                "advised": best.candidate.name,
                "stated": {name: [one.mean, one.half] for name, one in best.intervals.items()},
                "runs": advice.runs,
                "cpu_s": advice.cpu_s,
                "wall_s": time.monotonic() - began,
            }
            self.save()
        return dict(answers[advice_key()])

    def evidence(
        self, kind: str, candidates: Iterable[Candidate], seeds: int, length: Length | None = None
    ) -> Evidence:
        """Of some settings under so many seeds of a kind."""
        pairs = [(one, _FIRST[kind] + seed) for one in dict.fromkeys(candidates) for seed in range(seeds)]
        known = self._all["runs"]
        missing = [(one, seed) for one, seed in pairs if str(seed) not in known.get(one.name, {})]
        for (one, seed), run in Simulator(self.question, jobs=self._jobs, length=length)(missing).items():
            values = [run.values.get(name) for name in MEASURES]
            known.setdefault(one.name, {})[str(seed)] = [*values, run.cpu_s, run.packets]
        if missing:
            self.save()
        found = Evidence(self.question)
        for one, seed in pairs:
            found.runs.setdefault(one, {})[seed] = _run(known[one.name][str(seed)])
        return found

    def candidate(self, name: str) -> Candidate:
        return self._named[name]


def _run(values: Sequence[float | None]) -> Run:
    *measured, cpu_s, packets = values
    known = {name: value for name, value in zip(MEASURES, measured, strict=True) if value is not None}
    return Run(known, cpu_s or 0.0, packets or 0.0)


@cache
def advice_key() -> str:
    """What an answer is known by: all of `paceline.advise` that decides."""
    folder = Path(asking.__file__).parent
    return hashlib.sha256(b"".join((folder / f"{name}.py").read_bytes() for name in DECIDE)).hexdigest()[:16]


def judged(kept: Kept) -> dict[str, Any]:
    """How good the answer to a question is."""
    question = kept.question
    found = kept.answered()
    advised = kept.candidate(found["advised"])
    every = kept.evidence("exhaustive", question.candidates, EXHAUSTIVE)
    top = best_of(every)
    anew = kept.evidence("long_run", [advised, top], LONG_RUN)
    ahead = anew.ahead(top, advised) if top != advised else None
    return {
        "number": kept.number,
        "candidates": len(question.candidates),
        "goal": question.goal,
        "best": top.name,
        "own": utility(question, every, advised, top),
        "anew": utility(question, anew, advised, top),
        "control": control(every),
        "behind": max(0.0, ahead.low) if ahead and question.goal != BUFFER else 0.0,
        "exhaustive_cpu_s": every.cpu_s,
        "held": held(kept, advised, found["stated"]),
        **found,
    }


def best_of(every: Evidence) -> Candidate:
    """Of all settings that were run."""
    return max(every.question.candidates, key=every.worth)


def control(every: Evidence) -> float:
    """The utility of the best by half of the seeds, by the other half."""
    halves = []
    for half in (0, 1):
        runs = {one: {seed: run for seed, run in runs.items() if seed % 2 == half} for one, runs in every.runs.items()}
        halves.append(Evidence(every.question, runs))
    return utility(every.question, halves[1], best_of(halves[0]), best_of(halves[1]))


def utility(question: Question, every: Evidence, advised: Candidate, top: Candidate) -> float:
    """What the advised is worth, over the best; where none keeps the bounds, how near to them both come."""
    ours, best = every.means(advised), every.worth(top)
    missed = max((shortfall(one, ours.get(one.measure)) for one in question.bounds), default=0.0)
    if best <= 0:
        return 1 - max(0.0, missed + best)
    if missed > MISSED:
        return 0.0
    return goal_worth(question, advised, ours) / best


def held(kept: Kept, advised: Candidate, stated: Mapping[str, Sequence[float | None]]) -> dict[str, bool]:
    """For each stated interval whether it holds the long-run value."""
    usual = length_of(kept.question, advised.buffer)
    found = {}
    for kind, count, length in (
        ("long_run", LONG_RUN, usual),
        ("longer", LONGER, Length(usual.warmup_s * 2, usual.window_s * 4)),
    ):
        truth = kept.evidence(kind, [advised], count, length)
        for name, (mean, half) in stated.items():
            known = truth.interval(advised, name)
            if known is None or mean is None or half is None or (kind == "longer" and name not in OVER_TIME):
                continue
            found[f"{kind} {name}"] = bool(abs(mean - known.mean) <= math.hypot(half, known.half or 0.0))
    return found


HEAD = ("settings", "questions", "anew", "own", "control", "certain", "settled", "runs", "cpu share", "mean of shares")


def summary(rows: Sequence[dict[str, Any]]) -> tuple[list[list[str]], list[list[str]]]:
    """What `make bench-advise` prints: by size of search space, and how many intervals hold."""
    lines = []
    groups = {
        f"{low + 1} to {limit}": [row for row in rows if low < row["candidates"] <= limit] for low, limit in _limits()
    }
    for name, group in (groups | {"all": list(rows)}).items():
        if not group:
            continue
        count = len(group)
        shares = [sum(row[kind] >= GOOD for row in group) / count for kind in ("anew", "own", "control")]
        shares.append(
            sum(row["anew"] >= GOOD or (row["anew"] > 0 and row["behind"] < 1 - GOOD) for row in group) / count
        )
        settled = sum(row["status"] in ("settled", "tie") for row in group) / count
        runs = sum(row["runs"] for row in group) / count
        share = sum(row["cpu_s"] for row in group) / sum(row["exhaustive_cpu_s"] for row in group)
        each = sum(row["cpu_s"] / row["exhaustive_cpu_s"] for row in group) / count
        lines.append(
            [
                name,
                str(count),
                *(f"{one:.1%}" for one in shares),
                f"{settled:.0%}",
                f"{runs:.0f}",
                f"{share:.1%}",
                f"{each:.1%}",
            ]
        )
    held_lines = []
    for kind, words in (("long_run", "32 other seeds"), ("longer", "8 longer runs")):
        for name in (*MEASURES, ""):
            results = [
                ok
                for row in rows
                for key, ok in row["held"].items()
                if key.startswith(kind) and key.endswith(f" {name}" if name else "")
            ]
            if results:
                held_lines.append(
                    [f"{name or 'all'}, by {words}", str(len(results)), f"{sum(results) / len(results):.1%}"]
                )
    return lines, held_lines


HELD_HEAD = ("stated intervals of", "intervals", "hold it")


def _limits() -> list[tuple[int, int]]:
    tops = [buffers * pacings for buffers, pacings in SIZES]
    return list(zip([0, *tops[:-1]], tops, strict=True))


def write_docs(rows: Sequence[dict[str, Any]]) -> None:
    """Into docs/advise.md: both tables, and each question that was answered worse than it should be."""
    lines, held_lines = summary(rows)
    page = ROOT / "docs" / "advise.md"
    numbers = sorted(row["number"] for row in rows)
    said = [f"{len(rows)} questions, by number {_ranges(numbers)}.", ""]
    said += [tables.markdown(HEAD, lines), "", tables.markdown(HELD_HEAD, held_lines), ""]
    tables.put_between(page, "bench", "\n".join(said))
    short = [
        [
            str(row["number"]),
            row["goal"],
            row["advised"],
            row["best"],
            f"{row['anew']:.3f}",
            f"{row['own']:.3f}",
            row["status"],
        ]
        for row in rows
        if min(row["anew"], row["own"]) < GOOD
    ]
    head = ("question", "goal", "advised", "best of the exhaustive search", "anew", "own", "status")
    tables.put_between(page, "short", tables.markdown(head, short) + "\n")


def _ranges(numbers: Sequence[int]) -> str:
    """``0 to 12, 15``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join(" to ".join(map(str, span)) for span in spans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no other question after so long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "bench-advise", help="where runs are kept")
    parser.add_argument("--write-docs", action="store_true", help="rewrite the tables in docs/advise.md")
    options = parser.parse_args()
    rows = []
    advice_key()  # of what is loaded, whatever is installed meanwhile
    until = time.monotonic() + 60 * options.minutes
    for number in range(options.first, options.first + options.questions):
        kept = Kept(number, options.results, options.jobs)
        is_new = not kept.is_answered
        if is_new and time.monotonic() > until:
            continue
        row = judged(kept)
        rows.append(row)
        if is_new:
            print(
                f"{number}: {row['goal']}, {row['candidates']} settings: {row['advised']} ({row['status']}), utility "
                f"{row['anew']:.3f} anew, {row['own']:.3f} own, best {row['best']}; "
                f"{row['cpu_s']:.1f} of {row['exhaustive_cpu_s']:.1f} s",
                file=sys.stderr,
                flush=True,
            )
    if not rows:
        sys.exit("no question has been answered; allow more by --minutes")
    lines, held_lines = summary(rows)
    print(f"{tables.text_table(HEAD, lines)}\n\n{tables.text_table(HELD_HEAD, held_lines)}")
    if options.write_docs:
        write_docs(rows)


if __name__ == "__main__":
    main()
