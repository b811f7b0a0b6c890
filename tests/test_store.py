"""A store that many processes share: who is killed loses nothing, and nobody does another's run."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import paceline as pl
import pyarrow.parquet as pq
import pytest
from conftest import Command, without_progress
from paceline.files.atomic_writes import clear_leftovers, replacing
from paceline.runs.shards import Place
from paceline.store import Store
from paceline.store.leases import Leases

#: Keeps putting runs under a few keys, large ones, until it is killed; says when it begins.
WRITER = """
import sys
from paceline.store import Store
store = Store(sys.argv[1])
data = bytes(range(256)) * 20_000
print("begun", flush=True)
while True:
    for number in range(4):
        store.put_packed(f"{number:064x}", data)
"""
WRITTEN = bytes(range(256)) * 20_000


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def started(folder: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "paceline", "run", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stored(folder: Path) -> set[str]:
    return {path.stem for path in (folder / "store").glob("[!.]*.zip")}


def reused(errors: str) -> int:
    found = re.search(r"(\d+) of \d+ runs were in out already", errors)
    return int(found[1]) if found else 0


def test_writers_that_are_killed_leave_whole_files_and_no_others(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    try:
        for writer in writers:
            assert writer.stdout
            assert writer.stdout.readline() == "begun\n"
        wait_for(lambda: len(stored(tmp_path)) == 4)
        for _ in range(50):
            assert {path.read_bytes() == WRITTEN for path in (tmp_path / "store").glob("[!.]*.zip")} == {True}
    finally:
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
    Store(tmp_path)
    assert not list(tmp_path.rglob("*.partial"))
    assert {path.read_bytes() == WRITTEN for path in (tmp_path / "store").glob("*.zip")} == {True}


def test_a_file_that_is_being_written_is_no_leftover(tmp_path: Path) -> None:
    with Store(tmp_path).mark() as mark:
        Store(tmp_path)
        assert mark.exists()
    assert not mark.exists()


def test_a_lease_has_one_holder_and_ends_with_it(tmp_path: Path) -> None:
    first, second = Leases(tmp_path / "leases"), Leases(tmp_path / "leases")
    key, other = "a" * 64, "b" * 64
    assert first.take(key)
    assert first.take(key)
    assert not second.take(key)
    assert second.take(other)
    first.release(key)
    assert second.take(key)
    second.close()
    assert first.take(other)


def test_a_fork_does_not_keep_leases(tmp_path: Path) -> None:
    script = """
import os, sys, time
from paceline.store.leases import Leases
leases = Leases(sys.argv[1])
assert leases.take("a" * 64)
if os.fork() == 0:
    time.sleep(60)
print("forked", flush=True)
time.sleep(60)
"""
    path = tmp_path / "leases"
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        try:
            assert parent.stdout
            assert parent.stdout.readline() == "forked\n"
            assert not taken(path, "a" * 64)
            parent.kill()
            parent.wait()
            time.sleep(0.2)
            assert taken(path, "a" * 64)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


def test_two_drivers_share_a_sweep(tiny: Path) -> None:
    arguments = (tiny, "--set", "duration=60 s", "--seeds", "16", "--jobs", "1", "--out", "out")
    drivers = [started(tiny.parent, *arguments) for _ in range(2)]
    told = [driver.communicate(timeout=400) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], told
    assert sum(reused(errors) for _, errors in told) == 16  # each run was done by one of them, and found by the other
    assert told[0][0] == told[1][0]
    out = tiny.parent / "out"
    assert len(stored(out)) == 16
    assert pq.read_table(out / "runs.parquet").num_rows == 16
    assert not list(out.rglob("*.partial"))


def test_a_driver_takes_over_from_one_that_was_killed(tiny: Path) -> None:
    endless = started(tiny.parent, tiny, "--set", "duration=1000000 s", "--out", "out")
    lock = tiny.parent / "out" / "store" / ".leases"
    key = pl.Scenario.load(tiny).set("duration", "1000000 s").points()[0].key
    wait_for(lambda: lock.exists() and not taken(lock, key), endless)

    waiting = started(tiny.parent, tiny, "--set", "duration=1000000 s", "--out", "out")
    time.sleep(2)
    assert taken(lock, "c" * 64)
    assert not taken(lock, key)
    endless.send_signal(signal.SIGKILL)
    endless.communicate()
    wait_for(lambda: not taken(lock, key), waiting)
    waiting.send_signal(signal.SIGINT)
    _, errors = waiting.communicate(timeout=120)
    assert waiting.returncode == 130
    assert "0 of 1 runs had finished" in errors


def taken(lock: Path, key: str) -> bool:
    leases = Leases(lock)
    try:
        return leases.take(key)
    finally:
        leases.close()


def test_a_full_disk_keeps_what_had_finished(command: Command, tiny: Path) -> None:
    large = "duration=2 s,3 s,400 s"
    tiny.write_text(tiny.read_text() + '[probes]\nqueue = { links = "core" }\n')
    assert command("run", tiny, "--sweep", large, "--out", "sizes").returncode == 0
    sizes = sorted(path.stat().st_size for path in (tiny.parent / "sizes" / "store").glob("*.zip"))
    room = sizes[2] // 1024
    assert sizes[1] < room * 1024 < sizes[2]
    script = f"ulimit -f {room}; exec {sys.executable} -m paceline run {tiny} --sweep '{large}' --jobs 1 --out out"
    done = subprocess.run(["bash", "-c", script], cwd=tiny.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert re.fullmatch(r"paceline: out/store/\S+: File too large\n", without_progress(done.stderr))
    assert len(stored(tiny.parent / "out")) == 2
    again = command("run", tiny, "--sweep", large, "--out", "out")
    assert "2 of 3 runs were in out already" in again.stderr


def test_a_store_of_another_core_is_refused(command: Command, tiny: Path) -> None:
    assert command("run", tiny, "--out", "out").returncode == 0
    (tiny.parent / "out" / "store" / "core-version").write_text("0.0.1\n")
    for arguments in (("run", tiny, "--out", "out"), ("reproduce", "edge-fig3-loss", "--quick", "--out", "out")):
        done = command(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        version = pl.__version__
        assert re.fullmatch(
            rf"paceline: --out: out: holds runs of core 0\.0\.1, and this is {version}\S*; name another directory, "
            r"or delete out/store to run them again\n",
            done.stderr,
        )
    with pytest.raises(pl.StaleStoreError):
        pl.sweep(pl.Scenario.load(tiny), out=tiny.parent / "out")


def test_what_is_stored_can_be_read_column_by_column(tiny: Path) -> None:
    scenario = pl.Scenario.load(tiny)
    result = pl.run(scenario)
    pl.sweep(scenario, out=tiny.parent / "out")
    columns = Store(tiny.parent / "out").columns(scenario.points()[0].key)
    assert result.per_flow is not None
    assert list(columns["flows"]) == list(result.per_flow)
    for name, column in result.per_flow.items():
        assert list(columns["flows"][name]) == pytest.approx(list(column), nan_ok=True), name


@pytest.mark.parametrize("seen", [True, False])
def test_an_executor_that_does_not_see_the_store_sends_runs_back(
    tiny: Path, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here: list[str] = []
    put = Store.put_packed

    def noted(store: Store, key: str, packed: bytes) -> None:
        here.append(threading.current_thread().name)
        put(store, key, packed)

    monkeypatch.setattr(Place, "seen", lambda place: seen)
    monkeypatch.setattr(Store, "put_packed", noted)
    with ThreadPoolExecutor(2, "elsewhere") as executor:
        results = pl.sweep(pl.Scenario.load(tiny), seeds=4, executor=executor, out=tiny.parent / "out")
    assert len(results) == 4
    assert len(stored(tiny.parent / "out")) == 4
    assert {name.startswith("elsewhere") for name in here} == {seen}


def test_processes_are_an_executor(tiny: Path) -> None:
    scenario = pl.Scenario.load(tiny)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        far = pl.sweep(scenario, {"pacing": ["none", "host"]}, seeds=2, executor=executor, out=tiny.parent / "out")
    near = pl.sweep(scenario, {"pacing": ["none", "host"]}, seeds=2)
    assert [run.to_dict() | {"engine": 0} for run in far] == [run.to_dict() | {"engine": 0} for run in near]


def test_what_is_being_begun_is_no_leftover(tmp_path: Path) -> None:
    """A folder is cleared while files are begun in it: each is written all the same.

    Between the making of a file and its lock another may hold the lock, and is about to remove it.
    """
    done = threading.Event()

    def clear() -> None:
        while not done.is_set():
            clear_leftovers(tmp_path)

    clearing = [threading.Thread(target=clear) for _ in range(3)]
    for thread in clearing:
        thread.start()
    try:
        for number in range(300):  # of which some 10 failed
            with replacing(tmp_path / "file") as file:
                file.write(str(number).encode())
            assert (tmp_path / "file").read_text() == str(number)
    finally:
        done.set()
        for thread in clearing:
            thread.join()
