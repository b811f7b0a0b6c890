"""Sweeps in forks of a process under a shim, a fault in each: a line of JSON for each that broke a promise.

``python sweeps.py SCENARIO ROOT EVERY calls|memory``: under `shim.c` at every EVERY-th system call that touches ROOT,
under `memory.c` from every EVERY-th request of the core for memory on.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import paceline as pl
import pyarrow.parquet as pq
from paceline.store import Store

SCENARIO, ROOT, EVERY, KIND = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
#: 0 kills; of memory there is just one kind of failure.
ERRORS = (0, errno.ENOSPC, errno.EIO, errno.EACCES, errno.EMFILE, errno.ENOLCK, errno.EINTR, errno.EROFS, errno.ENOENT)
FAULTS = ERRORS if KIND == "calls" else (0,)
OVER = {"network.core.buffer": ["5 KB", "10 KB"]}
#: A hang.
MOST_S = 120.0
DONE, REFUSED, BROKEN = 0, 2, 3
#: How a process with fault 0 may end. Without memory the core ends it: nothing that it could do is sure to need none.
ENDS = (-signal.SIGKILL,) if KIND == "calls" else (DONE, REFUSED, -signal.SIGABRT)
shim = ctypes.CDLL(None)


def forked(work: Any) -> int:
    """What a fork leaves with that does this: its exit code, or minus the signal; a hang is -SIGALRM."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            code = DONE
        except (pl.PacelineError, OSError) as error:  # both are a line and an exit code in the command
            shim.fault_disarm()
            code = REFUSED if len(str(error).splitlines()) == 1 else BROKEN
        except BaseException:
            shim.fault_disarm()
            traceback.print_exc()
            code = BROKEN
        os._exit(code)
    deadline = time.monotonic() + MOST_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -signal.SIGALRM


def sweep(out: Path, nth: int, fault: int) -> None:
    shim.fault_arm(nth, fault)
    pl.sweep(SCENARIO, OVER, out=out, jobs=1)
    shim.fault_disarm()


def numbers(out: Path) -> list[dict[str, Any]]:
    """Its runs, and that the tables are of one sweep. Done again, it finds them all."""
    results = pl.sweep(SCENARIO, OVER, out=out, jobs=1)
    title = "older" if "older" in (out / "scenario.toml").read_text() else "tiny"
    assert pq.read_table(out / "runs.parquet").num_rows == len(results) == 2, title
    assert pq.read_table(out / "flows.parquet")["run"].unique().to_pylist() == [0, 1]
    return [run.to_dict() | {"engine": 0} for run in results]


def consistent(out: Path) -> None:
    """After the next command has opened the store, before it has run anything."""
    Store(out)
    rows = pq.read_table(out / "runs.parquet").num_rows
    runs = pq.read_table(out / "flows.parquet")["run"].unique().to_pylist()
    older = "older" in (out / "scenario.toml").read_text()
    assert (rows, runs) == ((1, [0]) if older else (2, [0, 1]))
    leftovers = [path for path in out.rglob("*") if path.name.endswith(".partial") or path.name == "tables"]
    assert not leftovers, leftovers


def attempt(before: Path, wanted: Any, nth: int, fault: int) -> str | None:
    """What is wrong with what a sweep leaves behind in which the n-th call fails so."""
    out = ROOT / "out"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(before, out)
    code = forked(lambda: sweep(out, nth, fault))
    if code not in (ENDS if fault == 0 else (DONE, REFUSED)):
        return f"ended with {code}"
    if code := forked(lambda: consistent(out)):
        return f"what it left is not of one sweep ({code})"

    def compared() -> None:
        assert numbers(out) == wanted

    return f"the next sweep ended with {code}" if (code := forked(compared)) else None


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before = ROOT / "before"
    result = ROOT / "result.json"

    def prepare() -> None:
        pl.sweep(pl.Scenario.load(SCENARIO).set("title", "older").set("network.core.buffer", "20 KB"), out=before)
        shutil.copytree(before, ROOT / "counted")
        sweep(ROOT / "counted", 0, 0)
        result.write_text(json.dumps([shim.fault_count(), numbers(ROOT / "counted")]))

    if code := forked(prepare):
        raise SystemExit(f"cannot begin: {code}")
    count, wanted = json.loads(result.read_text())
    tried = 0
    for nth in range(1, count + 1):
        kinds = FAULTS if EVERY == 1 else (FAULTS[nth // EVERY % len(FAULTS)],)
        for fault in kinds if nth % EVERY == 0 else ():
            tried += 1
            if wrong := attempt(before, wanted, nth, fault):
                print(
                    json.dumps({"call": nth, "fault": errno.errorcode.get(fault, "kill"), "wrong": wrong}), flush=True
                )
    print(json.dumps({"calls": count, "tried": tried}), flush=True)


if __name__ == "__main__":
    main()
