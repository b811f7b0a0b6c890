"""What each fast path buys: every row of `make bench` without it and with all (crates/sim/src/ablation.rs), in pairs.

    python benches/ablation.py                       time and instructions, every fast path on every row
    python benches/ablation.py --path isolated-packets --row 100,000 --turns 9
    python benches/ablation.py --only time

It prints how much more a run takes without the path. Time is user CPU time without set-up, the median of the ratios of
`--turns` short pairs of runs, so that other work on the machine affects both sides alike. Instructions are counted by
valgrind, without set-up; they are no measure where memory bounds the time, so rows of very many flows have none. It
fails if results are not the same bytes.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cases import CASES, Case, Times
from runs import ROOT, SCENARIOS, Settings, scenario
from tables import text_table

TARGET = ROOT / "target" / "ablation"
ENGINE = TARGET / "release" / "examples" / "engine"
#: CPU seconds of a run, about.
LONG_ENOUGH = 0.25
#: What a fast path must buy somewhere.
ENOUGH = 0.03


def guard(name: str, file: Path, settings: Settings, seconds: float) -> Case:
    """The case that a fast path is for, where no row of the bench shows it: of fixed length."""
    times = Times(seconds, seconds / 2)
    return Case(name, name, file, settings, None, times, times, counted=(seconds / 2, seconds))


GUARDS = (
    guard("backlog", ROOT / "crates/sim/tests/equality/a-backlog-before-the-core.toml", {}, 2),
    guard("few packets", SCENARIOS / "mdk1.toml", {}, 400),
)


def paths() -> list[str]:
    """The fast paths by name, as the source lists them."""
    source = (ROOT / "crates" / "sim" / "src" / "ablation.rs").read_text()
    return re.findall(r'\("([a-z-]+)", FastPath::', source)


@dataclass(frozen=True)
class Row:
    """Files of a run that is timed, of a shorter one whose instructions are counted, if any, and of set-up alone."""

    name: str
    file: Path
    counted: Path | None
    instant: Path


def user_time(engine: Path, file: Path, without: list[str]) -> tuple[float, str]:
    """User CPU seconds of a whole process, and its results without those that measure time."""
    with subprocess.Popen([engine, file, "1", "1", "auto", *without], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{file.stem} without {without} failed")
    return usage.ru_utime, re.sub(r'"(cpu_s|wall_s|method)": [^,\n]*', "", output)


def instructions(engine: Path, file: Path, without: list[str]) -> int:
    """Instructions of a whole process."""
    valgrind: list[str | Path] = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command = [*valgrind, engine, file, "1", "1", "auto", *without]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    assert found is not None
    return int(found[1].replace(",", ""))


def lay_out(engine: Path, case: Case, folder: Path) -> Row:
    """Writes the files of a row."""
    import paceline as pl

    def write(duration: float) -> Path:
        settings = {"probes": {}, **case.settings, "duration": f"{duration:g} s", "warmup": f"{duration / 2:g} s"}
        file = folder / f"{re.sub(r'[^a-z0-9]+', '-', case.name.lower())}-{duration:g}.toml"
        file.write_text(pl.Scenario(scenario(case.file, settings)).to_toml())
        return file

    instant, quick = write(1e-6), write(case.quick.duration)
    takes = user_time(engine, quick, [])[0] - user_time(engine, instant, [])[0]
    times = 1.0 if case in GUARDS else min(max(1.0, LONG_ENOUGH / max(takes, 1e-3)), 20.0)
    counted = write(case.counted[1]) if case.counted else None
    return Row(case.name, write(round(case.quick.duration * times, 1)), counted, instant)


def slower(engine: Path, row: Row, path: str, turns: int) -> float:
    """How much more time a run takes without this path."""
    setup = statistics.median(user_time(engine, row.instant, [])[0] for _ in range(3))
    ratios = []
    for _ in range(turns):
        have, expected = user_time(engine, row.file, [])
        lack, found = user_time(engine, row.file, [path])
        if found != expected:
            sys.exit(f"{row.name}: other results without {path}")
        ratios.append((lack - setup) / (have - setup))
    return statistics.median(ratios) - 1


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", action="append", choices=paths(), help="a fast path (repeatable)")
    parser.add_argument("--row", action="append", metavar="TEXT", help="rows with this in their name (repeatable)")
    parser.add_argument("--turns", type=int, default=5, help="pairs of runs for each time")
    parser.add_argument("--only", choices=["time", "instructions"])
    parser.add_argument("--engine", type=Path, help="measure that program in place of a new build")
    wanted = parser.parse_args()
    build = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "paceline-sim", "--example", "engine"]
    if wanted.engine is None:
        subprocess.run([*build, "--features", "ablation", "--target-dir", TARGET], cwd=ROOT, check=True)
    engine = wanted.engine or ENGINE
    rows = [*(case for case in CASES if case.repeated), *GUARDS]
    cases = [case for case in rows if not wanted.row or any(text in case.name for text in wanted.row)]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            row = lay_out(engine, case, Path(folder))
            counted = row.counted if wanted.only != "time" else None
            base = instructions(engine, counted, []) if counted else 0
            setup = instructions(engine, row.instant, []) if counted else 0
            for path in wanted.path or paths():
                time = slower(engine, row, path, wanted.turns) if wanted.only != "instructions" else None
                count = (instructions(engine, counted, [path]) - base) / (base - setup) if counted else None
                said = [f"{value:+.1%}" if value is not None else "–" for value in (time, count)]
                pays = any(value is not None and value >= ENOUGH for value in (time, count))
                lines.append([path, row.name, *said, "" if pays else "less than 3 %"])
                print(*lines[-1], sep="\t", file=sys.stderr, flush=True)
    print(text_table(["fast path", "network", "time without it", "instructions", ""], sorted(lines)))


if __name__ == "__main__":
    main()
