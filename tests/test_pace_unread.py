"""A pacer whose standard error is not read: what it says is left out, and it reloads, ends and fails as ever."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import wire as net

REASON = net.why_not()
needs_wire = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture
def wire() -> Iterator[net.Wire]:
    with net.wire() as made:
        yield made


@contextmanager
def full_pipe() -> Iterator[int]:
    """The end to write to of a pipe that takes nothing more."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    try:
        while True:
            os.write(writes, bytes(fcntl.fcntl(writes, fcntl.F_GETPIPE_SZ)))
    except BlockingIOError:
        os.set_blocking(writes, True)
    try:
        yield writes
    finally:
        os.close(reads)
        os.close(writes)


def is_at_work(process: int) -> bool:
    """Whether it has the threads that pace."""
    names = [name.read_text().strip() for name in Path(f"/proc/{process}/task").glob("*/comm")]
    return {"pace-forward", "pace-reverse"} <= set(names)


@contextmanager
def pacer(wire: net.Wire, command: list[str], stderr: int, **more: str) -> Iterator[subprocess.Popen[str]]:
    """One at work, which cannot say that it is ready."""
    arguments = ["ip", "netns", "exec", wire.box, *command, "--in", "in0", "--out", "out0", "--json"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=stderr, text=True, env=os.environ | more)
    try:
        until = time.monotonic() + 60
        while not is_at_work(process.pid):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.02)
        with net.Stream(wire):
            time.sleep(0.3)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@needs_wire
def test_an_error_longer_than_a_pipe_does_not_keep_it_from_ending(wire: net.Wire, tmp_path: Path) -> None:
    file = tmp_path / "pace.toml"
    file.write_text('[forward]\nmethod = "none"\n')
    reads, writes = os.pipe()
    with pacer(wire, [*net.program(), "--config", str(file)], writes) as process:
        file.write_text(f'[forward]\nmethod = "{"é" * 200_000}"\n')
        process.send_signal(signal.SIGHUP)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        said = pipe.read().decode()
    assert process.returncode == 0
    assert json.loads(out)["forward"]["sent"]["packets"] > 0
    assert 'there is no pacer "éé' in said
    assert said.splitlines()[-1].endswith("é…"), "in a line that says that there was more"


@needs_wire
@pytest.mark.skipif(net.debug_program() is None, reason="needs cargo's build for tests: cargo build")
@pytest.mark.parametrize("place", ["forward", "main"])
def test_an_unread_panic_ends_it(wire: net.Wire, place: str) -> None:
    with full_pipe() as full, pacer(wire, [str(net.debug_program())], full, PACELINE_PANICS=place) as process:
        with net.Stream(wire) as stream:
            time.sleep(0.2)
            process.send_signal(signal.SIGUSR1)
            code = process.wait(30)
            time.sleep(0.2)
        assert code not in (0, None)
        assert code > 0, "by itself"
        assert stream.outage_s() <= 0.05
        assert stream.received.numbers[-1] == len(stream.sent_ns) - 1


@needs_wire
def test_a_pacer_with_unread_errors_is_ended(wire: net.Wire) -> None:
    with full_pipe() as full, pacer(wire, net.program(), full) as process:
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 0
        assert json.loads(out)["forward"]["sent"]["packets"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="signals are held there")
def test_a_replay_with_unread_errors_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.pcap")
    arguments = ["--replay", "fifo.pcap", "--method", "none", "--write", "x.pcap"]
    with full_pipe() as full:
        process = subprocess.Popen([*net.program(), *arguments], cwd=tmp_path, stderr=full)
        try:
            with (tmp_path / "fifo.pcap").open("wb", buffering=0):
                time.sleep(0.5)
                process.send_signal(signal.SIGTERM)
                assert process.wait(30) == 130
        finally:
            process.kill()
    assert [path.name for path in tmp_path.iterdir()] == ["fifo.pcap"]
