"""A scheduler and two worker processes on loopback: what they yield is what one process yields, whoever dies."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Command, without_progress

Client = pytest.importorskip("distributed", reason="needs dask.distributed").Client

SWEEP = ("--sweep", "pacing=none,host", "--sweep", "network.core.buffer=5 KB,10 KB,20 KB", "--seeds", "4")
RUNS = 24
#: The last of these takes hours.
ENDLESS = ("--sweep", "duration=2 s,3 s,1000000 s")
LOCAL = ("--host", "127.0.0.1", "--no-dashboard")


@dataclass
class Cluster:
    """Processes of a Dask cluster.

    Attributes:
        address: of the scheduler.
        scheduler: its process.
        workers: theirs, a thread each.
    """

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextlib.contextmanager
def cluster(folder: Path, size: int = 2) -> Iterator[Cluster]:
    """A cluster that listens on loopback alone, once its ``size`` workers have told the scheduler of themselves."""
    told = folder / "scheduler.json"
    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(dask(folder, "scheduler", *LOCAL, "--port", "0", "--scheduler-file", told))
        deadline = time.monotonic() + 240
        while not told.exists() or not told.read_text().endswith("}"):
            assert scheduler.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address = json.loads(told.read_text())["address"]
        workers = [stack.enter_context(worker(folder, address, number)) for number in range(size)]
        # A driver that comes before the workers says so, and what it says is what the tests read.
        with Client(address) as client:
            if workers:
                client.wait_for_workers(len(workers), timeout=240)
        yield Cluster(address, scheduler, workers)


def worker(folder: Path, address: str, number: int) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    once = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0")
    return dask(folder, "worker", address, *LOCAL, *once, "--name", str(number))


@contextlib.contextmanager
def dask(folder: Path, kind: str, *arguments: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *map(str, arguments)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def without_engine(path: Path) -> bytes:
    """``runs.parquet`` without what is about the run and not of it, as bytes; other tables as they are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.name != "runs.parquet":
        return path.read_bytes()
    table = pq.read_table(path)
    table = table.drop_columns([name for name in table.column_names if name.startswith("engine.")])
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


TABLES = [f"{name}.parquet" for name in ("runs", "flows", "series", "instruments")]


def test_a_worker_killed_in_the_middle_changes_no_byte(command: Command, tiny: Path, tmp_path: Path) -> None:
    tiny.write_text(tiny.read_text().replace('"4 s"', '"60 s"'))
    with cluster(tmp_path) as processes:
        run = [sys.executable, "-m", "paceline", "run", str(tiny), *SWEEP, "--dask", processes.address, "--out", "far"]
        with subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
            deadline = time.monotonic() + 240
            while len(list((tmp_path / "far" / "store").glob("[!.]*.zip"))) < 4:
                assert driver.poll() is None, driver.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.01)
            processes.workers[0].send_signal(signal.SIGKILL)
            assert len(list((tmp_path / "far" / "store").glob("[!.]*.zip"))) < RUNS
            far, errors = driver.communicate(timeout=400)
        assert driver.returncode == 0, errors
    near = command("run", tiny, *SWEEP, "--jobs", "1", "--out", "near")
    assert near.returncode == 0, near.stderr
    assert far == near.stdout
    assert len(list((tmp_path / "far" / "store").glob("*.zip"))) == RUNS
    for name in TABLES:
        assert without_engine(tmp_path / "far" / name) == without_engine(tmp_path / "near" / name), name
    assert not list((tmp_path / "far").rglob("*.partial"))


def test_a_client_is_an_executor_and_gives_tables_too(tiny: Path, tmp_path: Path) -> None:
    script = """
import sys, numpy, paceline as pl
from distributed import Client
from paceline.results.tables import to_json
far = {"executor": Client(sys.argv[2])} if sys.argv[2] else {}
results = pl.sweep(sys.argv[1], {"pacing": ["none", "host"]}, seeds=3, **far)
print(to_json(run.to_dict() | {"engine": None} for run in results))
for run in results:
    print({name: numpy.asarray(column).tolist() for name, column in run.per_flow.items()})
"""
    with cluster(tmp_path) as processes:
        told = [
            subprocess.run(
                [sys.executable, "-c", script, str(tiny), address], capture_output=True, text=True, check=True
            ).stdout
            for address in (processes.address, "")
        ]
    assert told[0] == told[1]
    assert told[0].count("\n") > 6


def test_claims_go_to_a_cluster_too(command: Command, tmp_path: Path) -> None:
    claims = ("reproduce", "qlbp-table2", "--quick", "--json")
    with cluster(tmp_path) as processes:
        far = command(*claims, "--dask", processes.address, "--out", "far")
    near = command(*claims, "--out", "near")
    assert far.returncode == 0, far.stderr
    assert [entry | {"cpu_s": 0} for entry in json.loads(far.stdout)] == [
        entry | {"cpu_s": 0} for entry in json.loads(near.stdout)
    ]


def test_the_scheduler_goes_in_the_middle(tiny: Path, tmp_path: Path) -> None:
    with cluster(tmp_path) as processes:
        run = [
            sys.executable,
            "-m",
            "paceline",
            "run",
            str(tiny),
            *ENDLESS,
            "--dask",
            processes.address,
            "--out",
            "out",
        ]
        with subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
            deadline = time.monotonic() + 240
            while len(list((tmp_path / "out" / "store").glob("[!.]*.zip"))) < 2:
                assert driver.poll() is None, driver.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            processes.scheduler.send_signal(signal.SIGKILL)
            output, errors = driver.communicate(timeout=300)
    assert (driver.returncode, output) == (1, "")
    assert without_progress(errors) == "paceline: the scheduler has gone; finished runs are kept\n"
    assert len(list((tmp_path / "out" / "store").glob("*.zip"))) == 2


def test_an_interrupt_ends_at_once_and_keeps_what_has_finished(tiny: Path, tmp_path: Path) -> None:
    with cluster(tmp_path) as processes:
        run = [
            sys.executable,
            "-m",
            "paceline",
            "run",
            str(tiny),
            *ENDLESS,
            "--dask",
            processes.address,
            "--out",
            "out",
        ]
        with subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
            deadline = time.monotonic() + 240
            while len(list((tmp_path / "out" / "store").glob("[!.]*.zip"))) < 2:
                assert driver.poll() is None, driver.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            time.sleep(0.5)
            driver.send_signal(signal.SIGINT)
            _, errors = driver.communicate(timeout=120)
    assert driver.returncode == 130, errors
    assert without_progress(errors).startswith("paceline: interrupted: 2 of 3 runs had finished, kept in out")


def test_a_driver_that_comes_before_the_workers_waits_for_them(tiny: Path, tmp_path: Path) -> None:
    with cluster(tmp_path, size=0) as processes:
        run = [sys.executable, "-m", "paceline", "run", str(tiny), "--dask", processes.address, "--out", "out"]
        with subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
            assert driver.stderr is not None
            said = driver.stderr.readline()
            assert said == f"paceline: {processes.address} has no workers yet; waiting for some\n"
            with worker(tmp_path, processes.address, 0):
                _, errors = driver.communicate(timeout=240)
    assert (driver.returncode, without_progress(errors)) == (0, "paceline: report: out/report.html\n")


@pytest.mark.parametrize("verb", [("run", "tiny.toml"), ("reproduce", "edge-fig3-loss", "--quick")])
def test_an_unreachable_scheduler_is_one_line(command: Command, tiny: Path, verb: tuple[str, ...]) -> None:
    begin = time.monotonic()
    done = command(*verb, "--dask", "tcp://127.0.0.1:9", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        r"paceline: --dask: no scheduler answers at tcp://127\.0\.0\.1:9; start one by .*\n", done.stderr
    )
    assert time.monotonic() - begin < 90


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1", "127.0.0.1:x", ""])
def test_an_address_that_is_none(command: Command, tiny: Path, address: str) -> None:
    done = command("run", tiny, "--dask", address)
    assert done.returncode == 2
    assert done.stderr == f'paceline: --dask: "{address}" is no address; write it as tcp://127.0.0.1:8786\n'


def test_without_distributed_it_says_what_to_install(command: Command, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "distributed.py").write_text("raise ImportError\n")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = command("run", tiny, "--dask", "127.0.0.1:8786", PYTHONPATH=paths)
    assert done.returncode == 2
    assert done.stderr == "paceline: --dask: needs dask.distributed; install it by pip install 'paceline[dask]'\n"
