"""Measurements of the inline pacer on veth, and where they are written down."""

from __future__ import annotations

import array
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import wire as net  # noqa: E402

Run = dict[str, Any]

RATE = 100_000_000
SIZE = 1500
GAP_NS = SIZE * 8 * 1_000_000_000 // RATE
#: Packets before the shaper: so many that a sender that is away for a while does not leave it empty.
QUEUE = 1000
LAST = max(os.sched_getaffinity(0))
FIRST = min(os.sched_getaffinity(0))


class MeasurementError(Exception):
    """A measurement that says nothing, and why."""


def ask(command: list[str]) -> Run:
    """What a program says as JSON."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MeasurementError(f"{' '.join(command[-8:])}: {done.stderr.strip()}")
    answer: Run = json.loads(done.stdout)
    return answer


#: linux/ethtool.h: ETHTOOL_STSO, ETHTOOL_SGRO; linux/sockios.h: SIOCETHTOOL
SEGMENTATION, JOINING = 0x1F, 0x2C
_SIOCETHTOOL = 0x8946


def offload(namespace: str, device: str, which: int, on: bool) -> None:
    """Switches one, as ethtool -K does."""
    value = array.array("B", struct.pack("II", which, on))
    with net.inside(namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCETHTOOL, struct.pack("16sP16x", device.encode(), value.buffer_info()[0]))


def receiving_thread(namespace: str, device: str, priority: int) -> int:
    """Has the kernel receive by a thread, beside what is measured: the thread."""
    on = ["ip", "netns", "exec", namespace, "sh", "-c", f"echo 1 > /sys/class/net/{device}/threaded"]
    subprocess.run(on, check=True, capture_output=True)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may just have ended
            if (process / "comm").read_text().startswith(f"napi/{device}-"):
                found.append(int(process.name))
    if len(found) != 1:
        raise MeasurementError(f"{device} has {len(found)} receiving threads")
    os.sched_setaffinity(found[0], {LAST})
    os.sched_setscheduler(found[0], os.SCHED_FIFO, os.sched_param(priority))
    return found[0]


def processor_s(thread: int) -> float:
    """Processor time that a thread has had, seconds."""
    return int(Path(f"/proc/{thread}/schedstat").read_text().split()[0]) / 1e9


class Bench:
    """The path that all is measured on."""

    def __init__(self, wire: net.Wire, frames: str) -> None:
        self.wire = wire
        self.frames = frames

    def on(self, namespace: str, processor: int, *command: str, priority: int = 10) -> list[str]:
        """Before what is not real-time, or another program's load would be measured."""
        rank = ["taskset", "-c", str(processor), "chrt", "-f", str(priority)]
        return ["ip", "netns", "exec", namespace, *rank, *command]

    @contextmanager
    def pacer(self, arguments: list[str], summary: Run) -> Iterator[None]:
        command = [*net.program(), "--in", "in0", "--out", "out0", *arguments, "--json"]
        process = subprocess.Popen(
            self.on(self.wire.box, LAST, *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        pacer = net.Pacer(process)
        try:
            pacer.wait_until_ready()
            yield
            summary.update(pacer.stop())
        finally:
            pacer.end()

    @contextmanager
    def kernel(self, *qdisc: str) -> Iterator[None]:
        """The same path by the kernel alone: redirected at the way in, shaped at the way out."""
        box = self.wire.box
        redirect = "action mirred egress redirect dev out0"
        commands = [
            ["tc", "-n", box, "qdisc", "add", "dev", "in0", "ingress"],
            ["tc", "-n", box, *f"filter add dev in0 parent ffff: protocol all u32 match u32 0 0 {redirect}".split()],
            *(["tc", "-n", box, *line.split()] for line in qdisc),
        ]
        try:
            for command in commands:
                subprocess.run(command, check=True, capture_output=True)
            yield
        finally:
            for device, parent in (("in0", "ingress"), ("out0", "root")):
                subprocess.run(
                    ["tc", "-n", box, "qdisc", "del", "dev", device, parent], capture_output=True, check=False
                )

    def stream(
        self, size: int, *, seconds: int = 0, count: int = 0, pps: int = 0, ahead: int = 0, gap_ns: int = 0
    ) -> tuple[Run, Run]:
        """Sends, and says what the sender and the receiver have seen."""
        gaps = ["--gap-ns", str(gap_ns)] if gap_ns else []
        receiver = subprocess.Popen(
            self.on(self.wire.right, FIRST, self.frames, "receive", "eth0", *gaps, priority=15),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert receiver.stderr
        receiver.stderr.readline()
        how = ["--size", str(size)]
        for flag, value in (("--seconds", seconds), ("--count", count), ("--pps", pps), ("--ahead", ahead)):
            how += [flag, str(value)] if value else []
        try:
            sent = ask(self.on(self.wire.left, FIRST, self.frames, "send", "eth0", *how))
            out, problem = receiver.communicate(timeout=30)
        finally:
            if receiver.poll() is None:
                receiver.kill()
                receiver.communicate()
        if receiver.returncode:
            raise MeasurementError(f"the receiver: {problem.strip()}")
        return sent, json.loads(out)

    @contextmanager
    def both_ends(self) -> Iterator[None]:
        """The right host's interface is with the left host, as eth1: one program can send and see what comes out.

        The hosts' ends hand frames over one by one, and what receives has a thread of its own, as another machine's
        would be: otherwise a veth does the receiver's work, and part of the pacer's, in the call of whoever sends.
        """
        left, box, right = self.wire.left, self.wire.box, self.wire.right
        self.wire.ip(right, "link", "set", "dev", "eth0", "netns", left, "name", "eth1")
        self.wire.ip(left, "link", "set", "dev", "eth1", "up")
        offload(left, "eth0", SEGMENTATION, False)
        offload(box, "out0", SEGMENTATION, False)
        offload(left, "eth1", JOINING, True)
        receiving_thread(left, "eth1", 5)
        try:
            yield
        finally:
            self.wire.ip(left, "link", "set", "dev", "eth1", "netns", right, "name", "eth0")
            self.wire.ip(right, "link", "set", "dev", "eth0", "up")

    def cost(self, back_end: str, pacing: list[str], size: int) -> Callable[[], Run]:
        """Frames a second through a chain of sender, pacer and receiver, all on one processor; and frames a second of
        the processor time that the pacer took, with the kernel's receiving for it, or the pacing thread alone."""

        def measure() -> Run:
            summary: Run = {}
            with self.pacer(["--back-end", back_end, *pacing], summary):
                offload(self.wire.box, "in0", JOINING, True)  # it has a receiving thread only so; nothing joins here
                receiving = receiving_thread(self.wire.box, "in0", 25)
                before = processor_s(receiving)
                how = ["chain", "eth0", "eth1", "--size", str(size), "--seconds", "2"]
                # before the pacer, so that it hands over whole batches
                chain = ask(self.on(self.wire.left, LAST, self.frames, *how, priority=30))
                received_s = processor_s(receiving) - before
            if chain["lost_batches"]:
                raise MeasurementError(f"batches were lost: {chain}")
            packets, paced_s = summary["forward"]["sent"]["packets"], summary["forward"]["cpu_s"]
            return {
                "chain_pps": chain["pps"],
                "pacer_pps": packets / (received_s + paced_s),
                "thread_pps": packets / paced_s,
            }

        return measure

    def precision(self, arguments: list[str] | None, *qdisc: str) -> Callable[[], Run]:
        pps = int(1.2 * RATE / 8 / SIZE)

        def measure() -> Run:
            summary: Run = {}
            with self.pacer(arguments, summary) if arguments else self.kernel(*qdisc):
                sent, seen = self.stream(SIZE, seconds=3, pps=pps, ahead=QUEUE * 4 // 5, gap_ns=GAP_NS)
            if sent["longest_pause_s"] > QUEUE / 2 * GAP_NS / 1e9:
                raise MeasurementError(
                    f"the sender was away for {sent['longest_pause_s']:.3f} s, and the queue may have been empty"
                )
            return seen | summary.get("forward", {})

        return measure

    def loss(self, back_end: str, count: int) -> Callable[[], Run]:
        pacing = ["--back-end", back_end, "--method", "edge", "--delay", "2ms", "--line-rate", "10Gbit/s"]

        def measure() -> Run:
            summary: Run = {}
            with self.pacer(pacing, summary):
                sent, seen = self.stream(64, count=count, pps=150_000)
            return {"sent": sent, "seen": seen, "forward": summary["forward"]}

        return measure


class Raw:
    """Every measurement, written down at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("w")

    def note(self, case: str, turn: int, result: Run) -> None:
        line = {"case": case, "turn": turn, "load": os.getloadavg()[0], "steal_s": steal_s(), "result": result}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def measure(self, case: str, turn: int, measure: Callable[[], Run]) -> Run:
        """A measurement; one that fails is told and done again, twice at most."""
        for attempt in range(3):
            try:
                result = measure()
            except (MeasurementError, AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
                print(f"\r{case}, repeat {turn + 1}: {error}", file=sys.stderr)
                self.note(case, turn, {"failed": str(error)})
                if attempt == 2:
                    raise MeasurementError(f"{case}: three times in a row: {error}") from error
            else:
                self.note(case, turn, result)
                return result
        raise AssertionError

    def interleaved(self, repeats: int, cases: dict[str, Callable[[], Run]]) -> dict[str, list[Run]]:
        """Every case once, then again: what changes on the machine changes for all."""
        results: dict[str, list[Run]] = {name: [] for name in cases}
        for turn in range(repeats):
            for name, measure in cases.items():
                print(f"\r{turn + 1}/{repeats} {name:40}", end="", file=sys.stderr, flush=True)
                results[name].append(self.measure(name, turn, measure))
        print(f"\r{'':60}\r", end="", file=sys.stderr)
        return results


def steal_s() -> float:
    """Processor time that the hypervisor has taken so far, seconds."""
    return int(Path("/proc/stat").read_text().split(None, 10)[8]) / os.sysconf("SC_CLK_TCK")
