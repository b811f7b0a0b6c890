"""The store: damaged archives, sweeps that are killed at any moment, system calls that fail."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
from attack import TESTS, Attack, Turn, pytests, said
from paceline.store import run_archive

sys.path.insert(0, str(TESTS))
from conftest import TINY


def sweep(folder: Path, *more: str) -> list[str]:
    scenario = folder / "tiny.toml"
    scenario.write_text(TINY)
    return [sys.executable, "-m", "paceline", "run", str(scenario), "--sweep", "duration=2 s,3 s,4 s", *more]


def archives(folder: Path) -> dict[str, dict[str, object]]:
    """Each archive's parts, byte for byte, but for how long its run took."""
    found: dict[str, dict[str, object]] = {}
    for path in sorted((folder / "out" / "store").glob("[!.]*.zip")):
        with zipfile.ZipFile(path) as opened:
            parts: dict[str, object] = {name: opened.read(name) for name in opened.namelist()}
            run = json.loads(opened.read("run.json"))
        found[path.name] = parts | {"run.json": run | {"engine": None}}
    return found


def tables(folder: Path) -> dict[str, object]:
    """What a sweep leaves but for times: rows of its tables."""
    rows = {path.name: pq.read_table(path) for path in sorted((folder / "out").glob("*.parquet"))}
    return {
        name: table.drop([key for key in table.column_names if key.startswith("engine.") and key != "engine.kind"])
        for name, table in rows.items()
    }


def whole(turn: Turn) -> Path:
    """A sweep that nothing befell."""
    folder = turn.folder / "whole"
    folder.mkdir()
    done = subprocess.run([*sweep(folder), "--out", "out"], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return folder


def damaged(turn: Turn) -> None:
    """Bytes changed, left out, put in, doubled: an archive is found damaged, or holds what it held."""
    chance = random.Random(turn.seed)
    path = next((whole(turn) / "out" / "store").glob("[!.]*.zip"))
    content, key = path.read_bytes(), path.stem
    seed = json.loads(re.search(rb'\{"key".*?\}', content)[0])["seed"]  # type: ignore[index]
    right = run_archive.unpack_run(content, key, seed)
    held = {name: run_archive.unpack_table(content, name) for name in run_archive.TABLES}
    if right is None:
        raise AssertionError("the archive itself is not read")
    while turn.goes_on():
        broken = bytearray(content)
        for _ in range(chance.choice([1, 1, 1, 2, 8])):
            at, size = chance.randrange(len(broken) or 1), chance.choice([1, 1, 4, 100])
            part = bytes(chance.randrange(256) for _ in range(size))
            change = chance.randrange(5)
            if change == 0 and broken:
                broken[at] ^= 1 << chance.randrange(8)
            elif change == 1:
                broken[at : at + size] = part
            elif change == 2:
                del broken[at : at + size]
            elif change == 3:
                broken[at:at] = broken[:size]
            else:
                del broken[at + 1 :]
        turn.count += 1
        try:
            run = run_archive.unpack_run(bytes(broken), key, seed)
            if run is not None and run != right:
                turn.problems.append(f"seed {turn.seed}, archive {turn.count}: another run is taken for it")
            for name, table in held.items():
                try:
                    if not run_archive.unpack_table(bytes(broken), name).equals(table):
                        turn.problems.append(f"seed {turn.seed}, archive {turn.count}: another table {name}")
                except ValueError:
                    pass  # found damaged
        except Exception as error:
            turn.problems.append(f"seed {turn.seed}, archive {turn.count}: {error!r}")


def killed(turn: Turn) -> None:
    """A sweep killed again and again, at random moments, until it has come to its end: the same bytes as one that
    nothing befell."""
    chance = random.Random(turn.seed)
    began = time.monotonic()
    right = whole(turn)
    took_s = time.monotonic() - began
    wanted, rows = archives(right), tables(right)
    while turn.goes_on():
        folder = turn.folder / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for attempt in range(6):
            jobs = chance.choice(["1", "2"])
            process = subprocess.Popen(
                [*sweep(folder), "--out", "out", "--jobs", jobs],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            if attempt < 5:
                # it begins with a second of imports
                time.sleep(took_s * chance.uniform(0.3, 1.2))
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                turn.count += 1
                continue
            _, errors = process.communicate()
            if process.returncode:
                turn.problems.append(f"seed {turn.seed}, kill {turn.count}: {errors[-300:]}")
        if not turn.problems and archives(folder) != wanted:
            turn.problems.append(f"seed {turn.seed}, kill {turn.count}: other runs are there, or other bytes")
        different = [name for name, table in tables(folder).items() if not table.equals(rows[name])]  # type: ignore[attr-defined]
        if different and not turn.problems:
            turn.problems.append(f"seed {turn.seed}, kill {turn.count}: {', '.join(different)} differ")
        leftovers = [path.name for path in folder.rglob("*.partial")]
        if leftovers and not turn.problems:
            turn.problems.append(f"seed {turn.seed}, kill {turn.count}: {', '.join(leftovers)} left")


def calls(turn: Turn) -> None:
    """Every so many system calls of a sweep fail, each with another error; all of them where there is time."""
    shim, root = turn.folder / "shim.so", turn.folder / "root"
    root.mkdir()
    scenario = turn.folder / "tiny.toml"
    scenario.write_text(TINY)
    build = ["cc", "-O1", "-shared", "-fPIC", "-o", str(shim), str(TESTS / "faults" / "shim.c"), "-ldl"]
    subprocess.run(build, check=True, capture_output=True)
    # a fault takes half a second or so, and a sweep makes 150 calls or so
    every = max(1, int(100 / max(turn.seconds, 1)))
    command = [sys.executable, TESTS / "faults" / "sweeps.py", scenario, root, str(every), "calls"]
    code, text = said(command, LD_PRELOAD=str(shim), FAULT_ROOT=str(root))
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    turn.count += sum(one.get("tried", 0) for one in found)
    turn.problems += [f"every {every}: {one}" for one in found if "wrong" in one]
    if code and not turn.problems:
        turn.problems.append(text[-500:])


def why_no_shim() -> str | None:
    if not sys.platform.startswith("linux"):
        return "is Linux's"
    return "needs a C compiler" if shutil.which("cc") is None else None


ATTACKS = [
    Attack("damaged archives of the store", 0.03, "archives", damaged),
    pytests("crafted archives of the store", 0.01, "tests/test_store_hostile.py"),
    Attack("sweeps killed at random moments, and resumed", 0.06, "kills", killed),
    Attack("system calls of a sweep that fail", 0.05, "faults", calls, why_no_shim),
]
