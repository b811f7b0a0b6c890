"""What the package needs of Linux, it needs for `pace` and `emulate` alone.

Two ways to notice a new need. The types: typeshed knows what a module has on which system, and mypy checks the package
as for Windows and macOS. The behaviour: commands in a process without what is not there (`elsewhere.py`).

What neither shows, as there is neither Windows nor macOS here: the real `msvcrt`, drive letters and backslashes, code
pages and consoles, another process that has a file open, /proc and /sys not being there, and what other packages do
there. The core in these processes is Linux's; ``make wheels`` tries Windows' own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SYSTEMS = ("win32", "darwin")
#: Modules that only Linux runs: what is typed there is Linux's.
LINUX = "python/paceline/emulate/"


def elsewhere(system: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tests" / "elsewhere.py"), system, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_name_is_used_that_the_system_does_not_have(system: str) -> None:
    cache = ROOT / ".mypy_cache" / system
    command = [sys.executable, "-m", "mypy", "--platform", system, "--cache-dir", str(cache)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert re.search(r"\(checked \d+ source files\)|no issues found in \d+ source files", done.stdout), done.stderr
    found = [line for line in done.stdout.splitlines() if ": error: " in line and not line.startswith(LINUX)]
    assert found == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_module_is_imported(system: str, tmp_path: Path) -> None:
    done = elsewhere(system, tmp_path, "import-all")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_study_from_its_file_to_its_report(system: str, tiny: Path) -> None:
    """The numbers are those of this system; results are kept, found again, and leave nothing half-written."""
    folder = tiny.parent
    for arguments in (("--help",), ("check", "tiny.toml"), ("doctor", "tiny.toml"), ("init", "rpc")):
        done = elsewhere(system, folder, *arguments)
        assert done.returncode == 0, done.stderr
    run = ("run", "tiny.toml", "--sweep", "pacing=none,host", "--json")
    there = elsewhere(system, folder, *run, "--out", "there")
    assert there.returncode == 0, there.stderr
    here = subprocess.run([sys.executable, "-m", "paceline", *run], cwd=folder, capture_output=True, text=True)
    assert without_times(there.stdout) == without_times(here.stdout)
    assert elsewhere(system, folder, *run, "--out", "there").stdout == there.stdout, "kept, and found again"
    names = {path.name for path in (folder / "there").rglob("*")}
    assert {"report.html", "runs.parquet", "flows.parquet", "scenario.toml"} <= names
    assert [name for name in names if name.endswith((".partial", ".new"))] == []
    assert elsewhere(system, folder, "compare", "there", "there").returncode == 0


def without_times(text: str) -> object:
    return json.loads(re.sub(r'"(wall_s|cpu_s)": [^,}]+', r'"\1": 0', text))


@pytest.mark.parametrize("system", SYSTEMS)
def test_emulate_says_that_it_needs_linux(system: str, tiny: Path) -> None:
    done = elsewhere(system, tiny.parent, "emulate", "tiny.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "paceline: emulate: needs Linux, whose TCP it runs; `paceline run` simulates the same anywhere\n"
    )
    assert [path.name for path in tiny.parent.iterdir()] == ["tiny.toml"], "nothing is made for it"


LOCKS = """
import os, sys, time
sys.path.insert(0, sys.argv[2])
from elsewhere import move_to
move_to(sys.argv[1])
from pathlib import Path
from paceline.files import atomic_writes
from paceline.files.locks import lock
from paceline.store.leases import Leases

folder = Path.cwd()
partial, file = atomic_writes.create_locked(folder / "one")
try:
    with partial.open("rb") as other:
        lock(other)
    sys.exit("a lock that another holds is given")
except BlockingIOError:
    pass
atomic_writes.clear_leftovers(folder)
assert partial.exists(), "whose writer lives"
file.close()
os.utime(partial, (time.time() - 1e6,) * 2)
atomic_writes.clear_leftovers(folder)
assert not partial.exists(), "whose writer is gone"
with atomic_writes.exclusive(folder / "two") as first:
    with atomic_writes.exclusive(folder / "two", wait=False) as second:
        assert (first, second) == (True, False)
first, second = Leases(folder / "leases"), Leases(folder / "leases")
assert first.take("a" * 64)
assert second.take("b" * 64)
if sys.platform == "win32":
    assert not second.take("a" * 64)
first.release("a" * 64)
assert second.take("a" * 64)
assert len(first.holders()) == 1
second.close()
assert first.holders() == []
"""


@pytest.mark.parametrize("system", SYSTEMS)
def test_locks(system: str, tmp_path: Path) -> None:
    """On macOS two holders of one process count as one: only Linux's locks, and Windows', are of the open file."""
    command = [sys.executable, "-c", LOCKS, system, str(ROOT / "tests")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
