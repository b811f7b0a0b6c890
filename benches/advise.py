"""How good advice is: drawn questions, each answered, and beside it an exhaustive search.

    python benches/advise.py                      # 200 questions, two hours
    python benches/advise.py --questions 12       # some of them

Questions come from a fixed generator, `drawn`, by their number: three sizes of search space, in turn. Nothing of the
search was tuned on them (its constants were chosen on numbers from 1,000,000 on). Of each question it says

- utility: what the advised setting is worth (`paceline.advise.measures.worth`), by the exhaustive search's runs, over
  the best there: of every setting under 24 seeds. A bound that is missed by more than 0.2 % makes it 0. The best of
  many is so by luck too, so the same is said by the 32 seeds of the long-run values (`anew`), and whether they show
  at 95 % that the best there is ahead by more than 2 % (`certain` counts those that are not shown to be behind);
- coverage: of the stated 95 % intervals of the advised setting, how many hold the long-run value: the mean of 32 other
  seeds (every measure), and of 8 runs that settle twice and count four times as long (means over time: utilisation,
  loss, wait). The long-run value has an error too, which the comparison allows for: both errors' root of squares;
- cost: processor time of the advice over that of the exhaustive search, statement included.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from pathlib import Path
from typing import Any

from paceline.advise.asking import answer
from paceline.advise.evidence import Evidence
from paceline.advise.measures import BUFFER, MEASURES, goal_worth, shortfall
from paceline.advise.network import Length, length_of
from paceline.advise.question import Candidate, Question
from paceline.advise.reading import read_question
from paceline.advise.running import Simulator

#: Seeds of the exhaustive search, of the long-run values, and of those of longer runs; none is the advice's.
EXHAUSTIVE, LONG_RUN, LONGER = 24, 32, 8
_FIRST = {"exhaustive": 500_000, "long_run": 600_000, "longer": 700_000}
#: Buffers and pacings of each size of search space.
SIZES = ((4, 3), (5, 5), (8, 8))
#: A bound that is missed by more makes an answer worth nothing.
MISSED = 0.002
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


def judged(number: int, jobs: int) -> dict[str, Any]:
    """Answers a question, and says how good the answer is."""
    question = read_question(drawn(number))
    began = time.monotonic()
    advice = answer(question, jobs=jobs, with_changes=False)
    wall_s = time.monotonic() - began
    best = advice._verdict.best
    simulator = Simulator(question, jobs=jobs)
    every = Evidence(question)
    seeds = [_FIRST["exhaustive"] + one for one in range(EXHAUSTIVE)]
    every.gather(simulator, [(one, seed) for one in question.candidates for seed in seeds])
    top = max(question.candidates, key=every.worth)
    anew = Evidence(question)
    anew.gather(
        Simulator(question, jobs=jobs),
        [(one, _FIRST["long_run"] + seed) for one in {best.candidate, top} for seed in range(LONG_RUN)],
    )
    ahead = anew.ahead(top, best.candidate) if top != best.candidate else None
    return {
        "number": number,
        "candidates": len(question.candidates),
        "goal": question.goal,
        "status": advice.status,
        "advised": best.candidate.name,
        "best": top.name,
        "utility": utility(question, every, best.candidate, top),
        "anew": utility(question, anew, best.candidate, top),
        "behind": max(0.0, ahead.low) if ahead and question.goal != BUFFER else 0.0,
        "runs": advice.runs,
        "cpu_s": advice.cpu_s,
        "exhaustive_cpu_s": simulator.cpu_s,
        "wall_s": wall_s,
        "held": held(question, best.candidate, best.intervals, jobs),
    }


def utility(question: Question, every: Evidence, advised: Candidate, top: Candidate) -> float:
    """What the advised is worth, over the best; where none keeps the bounds, how near to them both come."""
    ours, best = every.means(advised), every.worth(top)
    missed = max((shortfall(one, ours.get(one.measure)) for one in question.bounds), default=0.0)
    if best <= 0:
        return 1 - max(0.0, missed + best)
    if missed > MISSED:
        return 0.0
    return goal_worth(question, advised, ours) / best


def held(question: Question, advised: Candidate, stated: Any, jobs: int) -> dict[str, bool]:
    """For each stated interval whether it holds the long-run value."""
    usual = length_of(question, advised.buffer)
    found = {}
    for kind, count, length in (
        ("long_run", LONG_RUN, usual),
        ("longer", LONGER, Length(usual.warmup_s * 2, usual.window_s * 4)),
    ):
        truth = Evidence(question)
        simulator = Simulator(question, jobs=jobs, length=length)
        truth.gather(simulator, [(advised, _FIRST[kind] + one) for one in range(count)])
        for name, value in stated.items():
            known = truth.interval(advised, name)
            if known is None or value.half is None or (kind == "longer" and name not in OVER_TIME):
                continue
            found[f"{kind} {name}"] = bool(abs(value.mean - known.mean) <= math.hypot(value.half, known.half or 0.0))
    return found


def summary(rows: list[dict[str, Any]]) -> str:
    """The table that `make bench-advise` prints."""
    head = ("candidates", "questions", "within 2 %", "worst", "anew", "certain", "settled", "runs", "cpu share")
    widths = (12, 10, 11, 7, 7, 8, 8, 6, 10)
    lines = [" ".join(f"{title:>{width}}" for title, width in zip(head, widths, strict=True))]
    groups = {f"<= {limit}": [row for row in rows if low < row["candidates"] <= limit] for low, limit in _limits()}
    for name, group in (groups | {"all": rows}).items():
        if not group:
            continue
        good = sum(row["utility"] >= 0.98 for row in group) / len(group)
        anew = sum(row["anew"] >= 0.98 for row in group) / len(group)
        certain = sum(row["anew"] >= 0.98 or (row["anew"] > 0 and row["behind"] < 0.02) for row in group) / len(group)
        share = sum(row["cpu_s"] for row in group) / sum(row["exhaustive_cpu_s"] for row in group)
        settled = sum(row["status"] in ("settled", "tie") for row in group) / len(group)
        runs = sum(row["runs"] for row in group) / len(group)
        worst = min(row["utility"] for row in group)
        spent = f"{settled:>8.0%} {runs:>6.0f} {share:>10.1%}"
        lines.append(f"{name:>12} {len(group):>10} {good:>11.1%} {worst:>7.3f} {anew:>7.0%} {certain:>8.1%} {spent}")
    lines.append("")
    for kind in ("long_run", "longer"):
        for name in (*MEASURES, ""):
            results = [
                ok
                for row in rows
                for key, ok in row["held"].items()
                if key.startswith(kind) and key.endswith(f" {name}" if name else "")
            ]
            if results:
                what = f"{kind.replace('_', '-')} value of {name or 'all of these'}"
                lines.append(f"{what:>40}: {sum(results) / len(results):6.1%} of {len(results)} intervals hold it")
    return "\n".join(lines)


def _limits() -> list[tuple[int, int]]:
    tops = [buffers * pacings for buffers, pacings in SIZES]
    return list(zip([0, *tops[:-1]], tops, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", help="a file with a line a question; what it has is not done again")
    options = parser.parse_args()
    rows = []
    kept = Path(options.json) if options.json else None
    done = (
        {row["number"]: row for row in map(json.loads, kept.read_text().splitlines())} if kept and kept.exists() else {}
    )
    for number in range(options.first, options.first + options.questions):
        if number not in done:
            row = judged(number, options.jobs)
            if kept:
                with kept.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            done[number] = row
            print(
                f"{number}: {row['goal']}, {row['candidates']} settings: {row['advised']} ({row['status']}), utility "
                f"{row['utility']:.3f}, best {row['best']}; {row['cpu_s']:.1f} of {row['exhaustive_cpu_s']:.1f} s",
                file=sys.stderr,
                flush=True,
            )
        rows.append(done[number])
    print(summary(rows))


if __name__ == "__main__":
    main()
