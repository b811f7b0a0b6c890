"""Nothing that is accepted takes what the machine has not: one estimate that `run`, `check` and `doctor` share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paceline as pl
import pytest
from conftest import TINY, Command
from paceline import _core
from paceline.runs.memory_limit import Room
from paceline.scenario.run_estimate import estimate_of

#: `check` and `doctor` answer within five seconds. Of processor time, which other work on the same caches can double,
#: they have twice that.
ANSWERS_S = 10.0

PATH = """\
duration = "DURATION"
[network]
template = "path"
links = [{ name = "a", rate = "10 Gbit/s", delay = "1 ms" }, { name = "b", rate = "10 Mbit/s", delay = "1 ms"BUFFER }]
[[traffic]]
"""


def path(traffic: str, duration: str = "10 s", buffer: str = "", more: str = "") -> str:
    return PATH.replace("DURATION", duration).replace("BUFFER", buffer) + traffic + "\n" + more


WINDOW = 'kind = "bulk"\ntcp = { initial_window = "{0} packets", max_window = "{0} packets" }'
CBR = 'kind = "cbr"\nrate = "{0}"\npacket = "1000 B"'
NOISE = 'kind = "self-similar"\ncount = {0}\nmean = "10 Mbit/s"\nhurst = 0.8\nslot = "3 us"\npacket = "1000 B"'

#: What takes more than 100 GB, if it is let.
TOO_LARGE = {
    "a first window of a thousand million packets": path(WINDOW.replace("{0}", "1000000000")),
    "an overload before a buffer without a limit": path(CBR.replace("{0}", "9 Gbit/s"), "2000 s"),
    "the same before one of 10^10 packets": path(
        CBR.replace("{0}", "9 Gbit/s"), "2000 s", ', buffer = "10000000000 packets"'
    ),
    "slow start without an end": path(
        'kind = "bulk"\ncount = 2\ntcp = { variant = "reno", max_window = "1000000000 packets" }', "4000000 s"
    ),
    "every packet of a year": path(
        CBR.replace("{0}", "10 Mbit/s"), "30000000 s", more='[probes]\ndepartures = { links = "b" }'
    ),
    "noise for a hundred thousand sources": path(NOISE.replace("{0}", "100000")),
}


def processor_s() -> float:
    """Of all commands that have ended, seconds."""
    used = os.times()
    return used.children_user + used.children_system


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_does_not_fit_is_refused_in_a_line(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "large.toml").write_text(TOO_LARGE[name])
    told = set()
    for verb in (("run",), ("check",), ("doctor",)):
        begun = processor_s()
        done = command(*verb, "large.toml", PACELINE_MEMORY="100 GB")
        assert processor_s() - begun < ANSWERS_S
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        told.add(done.stderr)
    (line,) = told
    assert re.fullmatch(r"paceline: large.toml: memory: a run may take \S+ [TGP]B, and 100 GB are free: .*\n", line)


def test_a_wrong_limit_is_said(command: Command, tiny: Path) -> None:
    done = command("check", tiny, PACELINE_MEMORY="much")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "PACELINE_MEMORY" in done.stderr


#: What fits, of each kind, and so that memory is more than noise.
FITS = {
    "a first window": path(WINDOW.replace("{0}", "1000000")),
    "an overload": path(CBR.replace("{0}", "3 Gbit/s"), "4 s"),
    "an overload before a limit": path(CBR.replace("{0}", "3 Gbit/s"), "4 s", ', buffer = "500000 packets"'),
    "slow start": path('kind = "bulk"\ntcp = { variant = "reno", max_window = "100000000 packets" }', "1000 s"),
    "departures": path(CBR.replace("{0}", "10 Mbit/s"), "1000 s", more='[probes]\ndepartures = { links = "b" }'),
    "noise": path(NOISE.replace("{0}", "2"), "5 s"),
    "hosts": TINY.replace("hosts = 4", "hosts = 20000").replace('"4 s"', '"0.5 s"').replace('"1 s"\n\n', '"0.1 s"\n\n'),
    "answers": path('kind = "rpc"\nrequest = "100 B"\nresponse = "100 B"\ncount = 50', "60 s"),
}

MEASURE = """
import sys, numpy
from paceline import _core
# Of this program's own memory: getrusage's is the parent's too, as it was at the fork.
peak = lambda: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
text = open(sys.argv[1]).read()
before = peak()
run = _core.run(text, 1, engine=sys.argv[2])
run.summary(), run.flows(), run.series(), run.instruments()
print(1024 * (peak() - before))
"""


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("name", FITS)
def test_the_estimate_is_a_bound_and_not_far_from_what_is_taken(tmp_path: Path, name: str, engine: str) -> None:
    (tmp_path / "fits.toml").write_text(FITS[name])
    point = pl.Scenario.load(tmp_path / "fits.toml").points()[0]
    (tmp_path / "fits.json").write_text(point.json)
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "fits.json"), engine]
    taken = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    estimate = estimate_of(point.json)
    slack = 20e6  # what any run takes
    assert taken < estimate.memory_bytes + slack, estimate
    assert estimate.memory_bytes < 12 * (taken + slack), (estimate, taken)


def test_a_million_hosts_are_answered_for(command: Command, tmp_path: Path) -> None:
    text = TINY.replace("hosts = 4", "hosts = 1000000").replace("10 Mbit/s", "100 Gbit/s")
    (tmp_path / "large.toml").write_text(text)
    for verb in ("check", "doctor"):
        begun = processor_s()
        done = command(verb, "large.toml", PACELINE_MEMORY="1000 GB")
        assert processor_s() - begun < ANSWERS_S
        assert done.returncode == 0, done.stderr
        if verb == "doctor":
            assert re.search(
                r"Left out: what 1,000,000 flows do: .* a run takes at most \S+ GB", done.stdout.replace("\n", " ")
            )


def test_a_large_sweep_is_answered_for(command: Command, tiny: Path) -> None:
    def axis(path: str, unit: str) -> str:
        return f'"{path}" = {[f"{number} {unit}" for number in range(2, 1002)]}\n'

    tiny.write_text(f"{tiny.read_text()}[sweep]\n{axis('network.core.buffer', 'KB')}{axis('network.core.delay', 'ms')}")
    for verb in ("check", "doctor"):
        begun = processor_s()
        done = command(verb, tiny)
        assert processor_s() - begun < ANSWERS_S
        assert done.returncode == 0, done.stderr
        left_out = done.stderr if verb == "check" else done.stdout
        assert re.search(r"\d+ of 1000000 settings", " ".join(left_out.split())), left_out
    done = command("run", tiny, "--seeds", "2")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert (
        "asks for 2,000,000 runs (1000 of network.core.buffer times 1000 of network.core.delay times 2" in done.stderr
    )
    tiny.write_text(tiny.read_text() + '"network.access.delay" = ["1 ms", "2 ms"]\n')
    for verb in ("run", "check", "doctor"):
        done = command(verb, tiny)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "sweep: asks for 2,000,000 runs" in done.stderr


def test_an_interrupt_is_heard_while_noise_is_made() -> None:
    control = _core.Control()
    scenario = pl.Scenario(tomllib.loads(path(NOISE.replace("{0}", "40")))).points()[0].json
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(_core.run, scenario, 1, control)
        time.sleep(1)
        control.cancel()
        begun = time.process_time()
        with pytest.raises(_core.RunError):
            future.result()
        assert time.process_time() - begun < 2 * ANSWERS_S


def test_one_point_that_does_not_fit_fails_alone_where_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has less memory than the driver: it refuses the point, and does the others."""
    (tmp_path / "x.toml").write_text(path(WINDOW.replace("{0}", "10"), "1 s"))
    monkeypatch.setenv("PACELINE_MEMORY", "1 GB")
    over = {
        "traffic.0.tcp": [{"initial_window": f"{n} packets", "max_window": f"{n} packets"} for n in (10, 10**9, 20)]
    }
    from paceline.runs.execute import execute
    from paceline.store import Store

    points = pl.Scenario.load(tmp_path / "x.toml").over(over).check(here=False)
    with ThreadPoolExecutor(2) as elsewhere:
        done = execute(points, executor=elsewhere, store=Store(tmp_path / "out"))
    assert [run is not None for run in done.runs] == [True, False, True]
    assert len(done.failures) == 1
    assert "memory: a run may take" in done.failures[0][1]
    with pytest.raises(pl.InputError, match="memory: a run may take"):
        pl.sweep(tmp_path / "x.toml", over)


def test_runs_wait_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_MEMORY", "10 MB")
    room = Room()
    most, now = 0, 0
    lock = threading.Lock()

    def run(_: int) -> None:
        nonlocal most, now
        with room.taking(4_000_000, lambda: False):
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.02)
            with lock:
                now -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(16)))
    assert most == 2
    with room.taking(10**12, lambda: False):  # alone, it may try
        pass
