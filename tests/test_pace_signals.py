"""Signals reach a pacer whatever else is in its process: other threads, handlers, children, pacers.

The kernel gives a signal to any thread that does not hold it back, and NumPy's never do.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import wire as net

REASON = net.why_not()
needs_wire = pytest.mark.skipif(REASON is not None, reason=str(REASON))

#: A pcap of Ethernet as far as it has come: enough packets for a replay to have begun.
PCAP = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
PCAP += 20 * (struct.pack("<4I", 1, 0, 60, 60) + bytes(60))

#: What a process may have before it paces, and what it then is.
COMMAND = "import sys; from paceline.cli.main import main; main(['pace', *sys.argv[1:]])"
THREADS = {
    "python": "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); ",
    "numpy": "import numpy; ",
}

#: The core's pacer in a thread of Python's, while the first waits, forks a child, and may pace a capture beside it.
BESIDE = """
import os, signal, sys, threading, time
from paceline import _core

def pace():
    code.append(_core.pace("paceline", sys.argv[1:], True)[0])

code = []
signal.signal(signal.SIGTERM, lambda *_: print("Python's own", flush=True))
thread = threading.Thread(target=pace)
thread.start()
while "Threads:\\t4" not in open("/proc/self/status").read():
    time.sleep(0.01)
time.sleep(0.3)
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(1)
os.kill(child, signal.SIGHUP)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
thread.join()
os.kill(os.getpid(), signal.SIGTERM)
sys.exit(code[0])
"""

#: Masks and handlers before and after, but for the C library's own signals; then each signal comes to what is there.
AROUND = """
import json, os, signal, sys
from paceline import _core

def state():
    lines = dict(line.split(":", 1) for line in open("/proc/thread-self/status"))
    return [int(lines[name], 16) & 0x7FFFFFFF for name in ("SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd")]

heard = []
signal.signal(signal.SIGTERM, lambda *_: heard.append("TERM"))
signal.signal(signal.SIGHUP, signal.SIG_IGN)
before = state()
code, _ = _core.pace("paceline", sys.argv[1:-1], True)
after = state()
os.kill(os.getpid(), signal.SIGHUP)
os.kill(os.getpid(), signal.SIGTERM)
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    heard.append("INT")
print(json.dumps([code, before, after, heard]))
"""


@pytest.fixture
def wire() -> Iterator[net.Wire]:
    with net.wire() as made:
        yield made


def wait_for(folder: Path, pattern: str, count: int) -> None:
    """So many files of these names are there."""
    until = time.monotonic() + 20
    while len(list(folder.glob(pattern))) < count:
        assert time.monotonic() < until, sorted(folder.iterdir())
        time.sleep(0.02)


def threads(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/task"))  # noqa: PTH208 (it may go while it is read)


@needs_wire
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", THREADS)
def test_a_pacer_beside_other_threads_reloads_and_ends_in_order(
    wire: net.Wire, tmp_path: Path, kind: str, ending: signal.Signals
) -> None:
    file = tmp_path / "pace.toml"
    file.write_text('[forward]\nmethod = "none"\n')
    command = [sys.executable, "-c", THREADS[kind] + COMMAND]
    pacer = wire.start("--config", str(file), command=command)
    if kind == "numpy" and threads(pacer.process.pid) < 4:
        pytest.skip("NumPy has no threads here")
    with net.Stream(wire) as stream:
        time.sleep(0.2)
        pacer.send(signal.SIGHUP)
        until = time.monotonic() + 5
        while not any("settings read again" in line for line in pacer.said):
            assert time.monotonic() < until, (pacer.process.poll(), pacer.said)
            time.sleep(0.02)
        time.sleep(0.2)
    pacer.send(ending)
    pacer.send(ending)  # whoever says it twice means the same
    out, _ = pacer.process.communicate(timeout=20)
    assert pacer.process.returncode == 0, pacer.said
    assert json.loads(out)["forward"]["sent"]["packets"] == len(stream.sent_ns)
    assert stream.received.numbers == list(range(len(stream.sent_ns)))
    for interface in ("in0", "out0"):
        assert "PROMISC" not in wire.ip(wire.box, "link", "show", "dev", interface)


@needs_wire
def test_a_pacer_in_a_thread_of_python_is_ended_and_a_forked_child_is_not_it(wire: net.Wire) -> None:
    pacer = wire.start(command=[sys.executable, "-c", BESIDE])
    out: list[str] = []
    until = time.monotonic() + 10
    assert pacer.process.stdout
    out.append(pacer.process.stdout.readline())
    assert out == [f"child {-signal.SIGHUP}\n"], "what was there before decides in the child"
    assert time.monotonic() < until
    assert pacer.process.poll() is None
    pacer.send(signal.SIGTERM)
    rest, _ = pacer.process.communicate(timeout=20)
    assert pacer.process.returncode == 0, (pacer.said, rest)
    assert rest.splitlines()[-1] == "Python's own", "its handler is there again"
    assert rest.count("Python's own") == 1, "and heard nothing while the pacer was"


@needs_wire
def test_handlers_and_masks_are_as_they_were_before(wire: net.Wire) -> None:
    pacer = wire.start(command=[sys.executable, "-c", AROUND])
    time.sleep(0.2)
    pacer.send(signal.SIGINT)
    out, _ = pacer.process.communicate(timeout=20)
    assert pacer.process.returncode == 0, pacer.said
    code, before, after, heard = json.loads(out.splitlines()[-1])
    assert (code, before, heard) == (0, after, ["TERM", "INT"])


@pytest.mark.skipif(sys.platform != "linux", reason="signals are held there")
@pytest.mark.parametrize("kind", THREADS)
def test_a_replay_beside_other_threads_leaves_no_part_of_a_file(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "fifo.pcap")
    command = [sys.executable, "-c", THREADS[kind] + COMMAND, "--replay", "fifo.pcap"]
    command += ["--method", "none", "--write", "x.pcap"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    with (tmp_path / "fifo.pcap").open("wb", buffering=0) as fifo:
        fifo.write(PCAP)
        wait_for(tmp_path, ".x.pcap.*", 1)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "paceline: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["fifo.pcap"]


@pytest.mark.skipif(sys.platform != "linux", reason="signals are held there")
def test_a_signal_is_for_all_pacers_of_a_process(tmp_path: Path) -> None:
    """Two replays wait for what never comes; each takes its own part of a file away."""
    for name in "ab":
        os.mkfifo(tmp_path / f"{name}.pcap")
    script = "import sys, threading; from paceline import _core\n" + "".join(
        f"arguments = ['--replay', '{name}.pcap', '--method', 'none', '--write', 'x{name}.pcap']\n"
        "threading.Thread(target=_core.pace, args=('paceline', arguments, True)).start()\n"
        for name in "ab"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    opened = [(tmp_path / f"{name}.pcap").open("wb", buffering=0) for name in "ab"]
    for one in opened:
        one.write(PCAP)
    wait_for(tmp_path, ".x?.pcap.*", 2)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    for one in opened:
        one.close()
    assert process.returncode == 130, err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pcap", "b.pcap"]
