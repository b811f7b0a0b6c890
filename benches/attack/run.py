"""Every attack on what this repository promises (SECURITY.md), in one table: what was done, how often, what came of it.

    .venv/bin/python benches/attack/run.py [--seconds N | --quick] [--only WORD]... [--seed N] [--json FILE]
        [--open-of FILE] [--write-docs]

An hour in full, a few minutes with --quick; each attack has a share of it. A row is `closed`, or `OPEN` with what
reproduces it, and then the exit code is 1. Without root, namespaces or a compiler it says which rows are left out.
Ctrl-C ends it with the table so far. When what a run found is mended, `--open-of` runs those attacks again that were
not closed in it, each for as long as in that run; the rest of its table stays.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import engines
import inputs
import pacers
import stores
from attack import ROOT, Attack, LeftOutError, Turn

sys.path.insert(0, str(ROOT / "benches"))
from tables import markdown, put_between

FULL_S, QUICK_S = 3600.0, 150.0
ALL = [*engines.ATTACKS, *inputs.ATTACKS, *stores.ATTACKS, *pacers.ATTACKS]


def build() -> None:
    """What the attacks need, before their time begins."""
    for words in (
        ["build", "-p", "paceline-dataplane", "--bins"],
        ["build", "--profile", "attack", "-p", "paceline-dataplane", "--bins"],
        ["test", "--profile", "attack", "-p", "paceline-dataplane", "--lib", "--no-run"],
        ["test", "--profile", "attack", "-p", "paceline-sim", "--test", "equality", "--no-run"],
    ):
        subprocess.run(["cargo", *words, "--locked", "--quiet"], cwd=ROOT, check=True)


def row(attack: Attack, count: str, outcome: str) -> str:
    return f"{attack.name:50} {count:>22}  {outcome}"


def attacked(attack: Attack, seconds: float, seed: int) -> tuple[dict[str, object], bool]:
    """A row of the table, printed; and whether it was interrupted."""
    left_out = attack.why_not()
    interrupted = False
    with tempfile.TemporaryDirectory() as folder:
        turn = Turn(seed, seconds * attack.share, Path(folder))
        if left_out is None:
            try:
                attack.run(turn)
            except KeyboardInterrupt:
                interrupted = True
            except LeftOutError as reason:
                left_out = str(reason)
            except Exception:
                turn.problems.append(traceback.format_exc())
    problems = [" ".join(problem.split()) for problem in turn.problems]
    if problems:
        outcome = "OPEN: " + problems[0][:2000]
    elif left_out is not None:
        outcome = f"left out: {left_out}"
    else:
        outcome = "interrupted" if interrupted else "closed"
    print(row(attack, f"{turn.count:,} {attack.unit}", outcome), flush=True)
    took_s = time.monotonic() - turn.began
    known = {"attack": attack.name, "count": turn.count, "unit": attack.unit, "outcome": outcome.partition(":")[0]}
    return {**known, "problems": problems, "seed": seed, "seconds": took_s, "left_out": left_out}, interrupted


def table(results: list[dict[str, object]]) -> str:
    """The rows for a page."""
    rows = [[str(one["attack"]), f"{one['count']:,} {one['unit']}", str(one["outcome"])] for one in results]
    return markdown(["attack", "count", "outcome"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, default=FULL_S, help=f"for all of them ({FULL_S:.0f})")
    length.add_argument("--quick", action="store_true", help=f"{QUICK_S:.0f} s, each attack at least once")
    parser.add_argument("--only", action="append", help="attacks whose name has this in it", metavar="WORD")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--open-of", type=Path, help="what was not closed in this --json of a run", metavar="FILE")
    parser.add_argument("--write-docs", action="store_true", help="the table goes into SECURITY.md")
    arguments = parser.parse_args()
    seconds = QUICK_S if arguments.quick else arguments.seconds
    chosen = [one for one in ALL if not arguments.only or any(word in one.name for word in arguments.only)]
    if not chosen:
        parser.error(f"--only: no attack is called so; there are {', '.join(one.name for one in ALL)}")
    before = json.loads(arguments.open_of.read_text()) if arguments.open_of else []
    closed = {one["attack"]: one for one in before if one["outcome"] == "closed"}
    # all of the time where some are chosen by name
    seconds /= sum(one.share for one in chosen)
    asked_for, chosen = chosen, [one for one in chosen if one.name not in closed]
    if any(one in (*engines.ATTACKS, *pacers.ATTACKS) for one in chosen):
        build()
    if any(one.run is inputs.fuzzed and one.why_not() is None for one in chosen):
        subprocess.run(["make", "--silent", "fuzz", "FUZZ_TARGETS="], cwd=ROOT, check=True)
    os.environ.setdefault("RUST_BACKTRACE", "1")
    results: list[dict[str, object]] = []
    interrupted = False
    for attack in chosen:
        result, interrupted = attacked(attack, seconds, arguments.seed)
        results.append(result)
        if interrupted:
            break
    of_all = {**closed, **{str(one["attack"]): one for one in results}}
    results = [of_all[one.name] for one in asked_for if one.name in of_all]
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if arguments.write_docs and not interrupted:
        put_between(ROOT / "SECURITY.md", "attacks", table(results))
    still_open = [result for result in results if result["outcome"] == "OPEN"]
    left_out = [result for result in results if result["outcome"] == "left out"]
    done = len(results) - len(still_open) - len(left_out) - interrupted
    print(f"{done} closed, {len(still_open)} open, {len(left_out)} left out, {len(asked_for) - len(results)} not begun")
    return 1 if still_open else 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
