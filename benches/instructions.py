"""Instructions a packet, row by row of `make bench`, counted by valgrind: what else a machine does changes nothing.

    python benches/instructions.py             count, and compare with the newest of benches/history.csv
    python benches/instructions.py --record    and put the numbers there, under the commit that is checked out
    python benches/instructions.py --draw      count nothing: the table of docs/performance.md, and its picture

A row is run over two lengths; what the longer one takes more, through the packets that it delivers more over the core,
is what a packet costs once all flows are at work. The engine alone is counted (crates/sim/examples/engine.rs), in its
release build. Exit code 1 where a row is more than 3 % worse than its newest record; the compiler is that of
rust-toolchain.toml, since another one counts otherwise.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from cases import CASES, Case
from runs import ROOT, scenario
from tables import markdown, put_between, text_table

HISTORY = ROOT / "benches" / "history.csv"
PICTURE = ROOT / "docs" / "images" / "instructions.svg"
#: How much worse a row may be than its newest record.
WORSE = 0.03
ENGINE = ROOT / "target" / "release" / "examples" / "engine"
#: Rows by name, each with its commits in order and their instructions a packet.
History = dict[str, dict[str, float]]


def counted(engine: Path, case: Case, seconds: float, folder: Path) -> tuple[int, int]:
    """Instructions of a whole process that simulates so long, and the packets that it delivers over the core."""
    import paceline as pl

    settings = {"probes": {}, **case.settings, "duration": f"{seconds:g} s", "warmup": f"{case.quick.warmup / 2:g} s"}
    file = folder / f"{re.sub(r'[^a-z0-9]+', '-', case.name.lower())}-{seconds:g}.toml"
    file.write_text(pl.Scenario(scenario(case.file, settings)).to_toml())
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run([*valgrind, engine, file], capture_output=True, text=True, check=False)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"{case.name}: {done.stderr[-500:]}")
    return int(found[1].replace(",", "")), int(done.stdout.rsplit("core packets: ", 1)[1])


def a_packet(engine: Path, case: Case) -> float:
    """Instructions for each packet between the two lengths."""
    assert case.counted is not None
    with tempfile.TemporaryDirectory() as folder:
        short, long = (counted(engine, case, seconds, Path(folder)) for seconds in case.counted)
    return (long[0] - short[0]) / (long[1] - short[1])


def read() -> History:
    """What has been recorded."""
    history: History = {}
    if HISTORY.exists():
        with HISTORY.open(newline="") as file:
            for entry in csv.DictReader(file):
                history.setdefault(entry["row"], {})[entry["commit"]] = float(entry["instructions"])
    return history


def record(now: dict[str, float], commit: str) -> None:
    """Puts numbers into the history; those of the same commit go."""
    history = read()
    for row, instructions in now.items():
        commits = history.setdefault(row, {})
        commits.pop(commit, None)
        commits[commit] = instructions
    place = {case.name: number for number, case in enumerate(CASES)}
    history = dict(sorted(history.items(), key=lambda row: place.get(row[0], len(place))))
    with HISTORY.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["row", "commit", "instructions"])
        table.writerows([row, at, f"{value:.1f}"] for row, commits in history.items() for at, value in commits.items())


def compare(now: dict[str, float], history: History) -> bool:
    """Prints the rows; whether none is worse than it may be."""
    lines, good = [], True
    for row, instructions in now.items():
        commit, before = next(reversed(history.get(row, {}).items()), ("", None))
        if before is None:
            lines.append([row, f"{instructions:.0f}", "–", "–", ""])
            continue
        is_worse = instructions > (1 + WORSE) * before
        good &= not is_worse
        change = f"{instructions / before - 1:+.1%}"
        lines.append([row, f"{instructions:.0f}", f"{before:.0f} ({commit})", change, "WORSE" if is_worse else ""])
    print(text_table(["network", "instructions a packet", "before", "change", ""], lines))
    return good


def draw(history: History) -> None:
    """The newest numbers as a table, and all as a picture."""
    newest = {row: next(reversed(commits.values())) for row, commits in history.items()}
    first = newest[CASES[0].name]
    lines = [[row, f"{value:.0f}", f"{value / first:.2f}"] for row, value in newest.items()]
    head = ["network", "instructions a packet", "of the first"]
    put_between(ROOT / "docs" / "performance.md", "instructions", markdown(head, lines) + "\n")
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "paceline"
    from matplotlib import pyplot

    commits = list(dict.fromkeys(commit for row in history.values() for commit in row))
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    axes.set_prop_cycle(color=pyplot.colormaps["tab20"].colors)
    marks = "osD^v<>pP*XhH8d"
    for number, (row, values) in enumerate(history.items()):
        axes.plot(
            [commits.index(commit) for commit in values],
            list(values.values()),
            marks[number % len(marks)] + "-",
            label=row,
        )
    axes.set(xlabel="commit", ylabel="instructions a packet", ylim=(0, None), xlim=(-0.5, len(commits) - 0.5))
    axes.set_xticks(range(len(commits)), commits, rotation=30, ha="right", family="monospace", fontsize=8)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="TEXT", help="rows with this in their name (repeatable)")
    parser.add_argument("--record", action="store_true", help="put the numbers into benches/history.csv")
    parser.add_argument(
        "--as", dest="commit", metavar="COMMIT", help="record them under that, not under what is checked out"
    )
    parser.add_argument("--engine", type=Path, default=ENGINE, help="count that program in place of a new build")
    parser.add_argument("--draw", action="store_true", help="count nothing: write docs/performance.md and its picture")
    wanted = parser.parse_args()
    if wanted.draw:
        draw(read())
        return 0
    if shutil.which("valgrind") is None:
        print("valgrind is not installed, so nothing is counted: on Debian or Ubuntu, apt-get install valgrind")
        return 0
    if wanted.engine == ENGINE:
        build = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "paceline-sim", "--example", "engine"]
        subprocess.run(build, cwd=ROOT, check=True)
    cases = [
        case for case in CASES if case.counted and (not wanted.only or any(text in case.name for text in wanted.only))
    ]
    with ThreadPoolExecutor(2) as pool:
        now = dict(zip([case.name for case in cases], pool.map(partial(a_packet, wanted.engine), cases), strict=True))
    good = compare(now, read())
    if wanted.record:
        head = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        record(now, wanted.commit or head.stdout.strip())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
