"""Runs on this machine's own TCP. Skipped, with the reason, where namespaces cannot be made or a program is missing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from paceline import report
from paceline.emulate import Choices, capabilities, emulate, kernel_results, kernel_run, kernel_sweep, programs

ROOT = Path(__file__).parent.parent


def _why_not() -> str:
    try:
        capabilities.require()
        for name in ("paceline-wires", "paceline-traffic"):
            programs.find(name)
    except pl.InputError as error:
        return str(error)
    return ""


needs_kernel = pytest.mark.skipif(bool(_why_not()), reason=_why_not() or "can")


def _has_inline_pacer() -> bool:
    try:
        return bool(programs.find("paceline-pace"))
    except pl.InputError:
        return False


def one_flow(**traffic: Any) -> pl.Scenario:
    links = [
        {"name": "access", "rate": "100 Mbit/s", "delay": "2 ms"},
        {"name": "slow", "rate": "10 Mbit/s", "delay": "8 ms", "buffer": "12 packets"},
    ]
    bulk = {"kind": "bulk", "tcp": {"profile": "linux", "variant": "sack"}} | traffic
    network = {"template": "path", "links": links}
    return pl.Scenario({"duration": "4 s", "warmup": "1 s", "network": network, "traffic": [bulk]})


def programs_of(parent: int) -> dict[str, str]:
    """The programs that a process runs: their names by their numbers. Others on this machine are not looked at."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (process / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name.startswith("paceline-") and int(rest.split()[1]) == parent:
            found[process.name] = name
    return found


def nothing_is_left(of: Iterable[str]) -> bool:
    """These processes are gone, and no device of an emulation is in the machine's own namespace."""
    devices = {path.name for path in Path("/sys/class/net").iterdir()}
    ours = [name for name in devices if name == "hosts" or name.startswith(("before", "after"))]
    return not ours and not any(Path("/proc", number).exists() for number in of)


@needs_kernel
def test_the_kernel_and_the_simulator_agree_on_one_flow(tmp_path: Path) -> None:
    results = emulate(one_flow(), and_simulate=True, out=tmp_path)
    simulated, real = (results.where({"engine": name})[0] for name in ("simulation", "kernel"))
    assert real.to_dict().keys() == simulated.to_dict().keys()
    assert real.to_dict()["flows"].keys() == simulated.to_dict()["flows"].keys()
    assert real.links.keys() == simulated.links.keys()
    # Drops are decided in virtual time, so even a machine that is late comes near.
    assert real.links["slow"].utilisation == pytest.approx(simulated.links["slow"].utilisation, abs=0.05)
    engine = real.to_dict()["engine"]
    assert engine["kind"] == "kernel"
    assert (engine["header_bytes"], engine["ack_bytes"], engine["lost_outside"]) == (52, 52, 0)
    assert engine["valid"] is (engine["doubts"] == [])
    assert {"lateness_p99_us", "steal"} <= engine.keys()
    assert (tmp_path / "runs.parquet").is_file()
    page = report.write(tmp_path, "one-flow.toml").read_text()
    assert "Some of these runs used a real kernel" in page
    assert ("whose numbers do not count" in page) is not engine["valid"]
    assert nothing_is_left(programs_of(os.getpid()))
    if engine["valid"]:  # then it is not run again, and all that it found is there
        again = emulate(one_flow(), and_simulate=True, out=tmp_path)
        for once_more, first in ((again.where({"engine": "simulation"})[0], simulated), (again[1], real)):
            assert once_more.to_dict() == first.to_dict()
            assert first.per_flow is not None
            assert once_more.per_flow is not None
            assert list(once_more.per_flow["sent_packets"]) == list(first.per_flow["sent_packets"])


@needs_kernel
def test_paced_by_the_kernel_packets_come_apart() -> None:
    probes = {"departures": {"links": "access"}}

    def back_to_back(pacing: dict[str, Any]) -> float:
        asked = one_flow().to_dict() | {"probes": probes, "pacing": pacing}
        series = emulate(pl.Scenario(asked))[0].series
        assert series is not None
        times = series["time_ns"][len(series["time_ns"]) // 4 :]
        gaps = times[1:] - times[:-1]
        wire_ns = 1500 * 8 * 10  # at 100 Mbit/s
        return float((gaps < 1.05 * wire_ns).mean())

    paced = back_to_back({"method": "host", "rule": "ideal", "gain": 1.2})
    unpaced = back_to_back({"method": "none"})
    assert paced < 0.1
    assert unpaced > paced + 0.2  # two leave for each delayed acknowledgement


@needs_kernel
def test_calls_and_files_are_counted_with_their_times() -> None:
    calls = {"kind": "rpc", "request": "100 B", "response": "20 KB", "think": "10 ms"}
    files = {"kind": "closed-loop", "size": "14480 B", "think": "20 ms", "connection": "new"}
    both = one_flow().to_dict()
    tcp = both["traffic"][0]["tcp"]
    both["traffic"] = [calls | {"tcp": tcp}, files | {"tcp": tcp}]
    run = emulate(pl.Scenario(both))[0]
    assert run.flows.count == 3
    assert run.flows.transfers is not None
    assert run.flows.transfers > 20
    assert run.flows.fct_mean_s is not None
    # A round trip is 20 ms; 20 KB take 17 ms of the slow link.
    assert 0.02 < run.flows.fct_mean_s < 0.2
    assert run.to_dict()["engine"]["doubts"] == [] or not run.to_dict()["engine"]["valid"]
    assert not any("connections failed" in doubt for doubt in run.to_dict()["engine"]["doubts"])


@needs_kernel
@pytest.mark.skipif(not _has_inline_pacer(), reason="paceline-pace is not installed")
def test_the_inline_pacer_paces_as_the_built_in_one() -> None:
    asked = one_flow().to_dict() | {"pacing": {"method": "edge", "delay": "5 ms", "at": ["access"]}}
    asked["probes"] = {"departures": {"links": "access"}}
    shares = []
    for pacers in ("inline", "built-in"):
        run = emulate(pl.Scenario(asked), Choices(pacers=pacers))[0]
        assert run.series is not None
        gaps = run.series["time_ns"][1:] - run.series["time_ns"][:-1]
        shares.append(float((gaps < 126_000).mean()))
        assert run.links["slow"].utilisation is not None
        assert run.links["slow"].utilisation > 0.8
    assert shares[0] < 0.5
    assert abs(shares[0] - shares[1]) < 0.25


@needs_kernel
def test_bbr_runs_on_the_kernel_alone() -> None:
    if "bbr" not in Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split():
        pytest.skip("this kernel has no bbr")
    choices = Choices(congestion_control="bbr")
    run = emulate(one_flow().set("duration", "3 s"), choices)[0]
    assert run.links["slow"].utilisation is not None
    assert run.links["slow"].utilisation > 0.7
    with pytest.raises(pl.InputError, match=r"^--congestion-control: bbr is of the kernel alone"):
        emulate(one_flow(), choices, and_simulate=True)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "paceline", "emulate", *arguments]


def started(tmp_path: Path, how: str) -> tuple[subprocess.Popen[bytes], dict[str, str]]:
    """A run of a minute under way, and its programs."""
    file = tmp_path / f"{how}.toml"
    asked = one_flow().set("duration", "60 s")
    inline = _has_inline_pacer()
    if inline:
        asked = asked.set("pacing", {"method": "edge", "delay": "5 ms", "at": ["access"]})
    file.write_text(asked.to_toml())
    process = subprocess.Popen(command(str(file), "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        until(lambda: len(programs_of(process.pid)) >= 2 + inline)
    except AssertionError:
        process.kill()
        process.communicate()
        raise
    time.sleep(0.5)
    return process, programs_of(process.pid)


def until(reached: Callable[[], bool], patience_s: float = 60.0) -> None:
    end = time.monotonic() + patience_s
    while not reached():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.05)


@needs_kernel
@pytest.mark.parametrize("how", ["kill", "interrupt", "terminate"])
def test_nothing_is_left_however_it_ends(tmp_path: Path, how: str) -> None:
    process, running = started(tmp_path, how)
    number = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT, "terminate": signal.SIGTERM}[how]
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    until(lambda: nothing_is_left(running))
    if how == "interrupt":
        assert process.returncode == 130
        assert b"interrupted" in said


@needs_kernel
def test_a_program_that_dies_fails_the_run_in_a_line(tmp_path: Path) -> None:
    process, running = started(tmp_path, "victim")
    victim = next(number for number, name in running.items() if name == "paceline-wires")
    os.kill(int(victim), signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"paceline-wires: ended" in said
    assert b"Traceback" not in said
    until(lambda: nothing_is_left(running))


@needs_kernel
def test_a_machine_that_cannot_keep_up_makes_no_valid_run() -> None:
    asked = one_flow().set("duration", "1.5 s")
    layout = kernel_sweep._laid_out(asked.check()[0], Choices(), None)
    found = kernel_run.run(layout, Choices(), 1)
    clean = found.wires | {"lateness": {"p50_us": 5.0, "p99_us": 9.0, "max_us": 50.0}, "unwatched": {"p99_us": 5.0}}
    good = kernel_run.Found(clean, found.traffic, {}, 0, 0.0, 1.0)
    assert kernel_results.doubts(layout, good) == []
    assert kernel_results.lateness_limit_us(layout) == pytest.approx(200.0)  # a hundredth of 20 ms
    late = kernel_run.Found(
        clean | {"lateness": {"p50_us": 5.0, "p99_us": 900.0, "max_us": 950.0}}, found.traffic, {}, 0, 0.0, 1.0
    )
    assert kernel_results.doubts(layout, late) == ["packets were late by 900 us (p99, of 200 us at most)"]
    stolen = kernel_run.Found(clean, found.traffic, {}, 3, 0.25, 1.0)
    assert len(kernel_results.doubts(layout, stolen)) == 2
    assert kernel_results.run_object(layout, late, 1)["engine"]["valid"] is False


def test_without_privilege_a_line_says_what_is_missing(tmp_path: Path) -> None:
    if not sys.platform.startswith("linux") or shutil.which("setpriv") is None or os.geteuid() != 0:
        pytest.skip("needs setpriv, and something to give up")
    file = tmp_path / "one.toml"
    file.write_text(one_flow().to_toml())
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    done = subprocess.run([*drop, *command(str(file))], capture_output=True, cwd=tmp_path)
    said = done.stderr.decode()
    assert done.returncode == 2
    assert said.startswith(
        "paceline: emulate: needs CAP_NET_ADMIN and CAP_SYS_ADMIN to make network namespaces; run it as root"
    )
    assert said.count("\n") == 1


@needs_kernel
def test_a_user_namespace_is_privilege_enough(tmp_path: Path) -> None:
    unshare = ["unshare", "--user", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    file = tmp_path / "one.toml"
    file.write_text(one_flow().set("duration", "2 s").to_toml())
    done = subprocess.run([*unshare, *command(str(file), "--json")], capture_output=True, timeout=60)
    (run,) = json.loads(done.stdout)
    assert run["engine"]["kind"] == "kernel"
    assert run["links"]["slow"]["utilisation"] > 0  # how much depends on who else is at work: no priority here
