"""Millions of frames through the inline pacer, on veth, past random faults of the pacer and of its interfaces.

It is killed, stopped, told to panic and to read its settings; others are started beside it; its interfaces flap, lose
their carrier, change their MTU and are deleted. What has ended by itself is started again, as a service is, and deleted
interfaces are made anew. Each frame arrives once, in order and with its own VLAN tag, or is counted as lost.

    .venv/bin/python benches/dataplane/faults.py [--packets N] [--faults N] [--only FAULT]... [--json FILE]

*Accounts.* A pacer that is killed says nothing: the next one says what it has lost. What it had sent since it last told
of that, 64 frames at most, counts as lost although it arrived. What an incoming interface had when it went down or was
deleted, and what comes to a new one before a pacer does, is lost where no pacer sees it: such losses are allowed for
frames sent in these times alone.

*Outages.* An outage is the time from a fault, or from the sending of the last frame before it that arrived, to the
sending of the next one that did, but for the time in which an interface was down or was not there.

Needs root. The pacer is a release build with debug assertions, which can be told to panic.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import FIRST, Bench, Run, net
from run import build, verdict

PPS = 100_000
#: How long after a failure traffic passes.
OUTAGE_S = 0.05
FAULTS = (
    "kill",
    "stop",
    "reload",
    "panic",
    "second",
    "mtu",
    "flap in0",
    "flap out0",
    "carrier",
    "delete in0",
    "delete out0",
)
#: What a kernel may still have of a frame when a call is over, seconds: a processor's backlog.
IN_FLIGHT_S = 0.005
TO_RECEIVER = "match u32 0 0 action mirred egress redirect dev inner"
Span = tuple[float, float]


class Attacked:
    """A wire, the pacers on it one after the other, and what they have counted as lost. Times are monotonic seconds."""

    def __init__(self, wire: net.Wire, back_end: str, settings: Path, chance: random.Random, panics: bool) -> None:
        self.wire, self.chance, self.settings, self.panics = wire, chance, settings, panics
        self.arguments = ["--back-end", back_end, "--config", str(settings)]
        self.counted: dict[str, int] = {}
        #: When an interface was down or not there, and when frames could be lost before a pacer had them.
        self.away: list[Span] = []
        self.unseen: list[Span] = []
        self.write("2 ms")
        self.pacer = self.launch()
        self.pacer.wait_until_ready()

    def write(self, delay: str) -> None:
        text = f'[forward]\nmethod = "edge"\ndelay = "{delay}"\nline_rate = "10 Gbit/s"\n'
        part = self.settings.with_suffix(".part")
        part.write_text(text)
        part.rename(self.settings)

    def count(self, cause: str, frames: int) -> None:
        self.counted[cause] = self.counted.get(cause, 0) + frames

    def account(self, summary: Run) -> None:
        for cause, frames in summary["forward"]["dropped"].items():
            self.count(cause, frames)

    def end(self) -> None:
        self.account(self.pacer.stop())

    def launch(self) -> net.Pacer:
        self.place = place = self.chance.choice(["forward", "reverse", "main"])
        told = ["env", f"PACELINE_PANICS={place}"] if self.panics else []
        return self.wire.start(*self.arguments, ready=False, before=told)

    def start(self, counted: bool) -> None:
        """The next pacer, as a service is started again until it begins; `counted`: what the last one lost is known."""
        until = time.monotonic() + 20
        while True:
            self.pacer = self.launch()
            self.pacer.ready.wait(20)
            if self.pacer.process.poll() is None:
                break
            if time.monotonic() > until:
                raise AssertionError(f"the pacer does not begin: {self.pacer.said}")
            self.pacer.end()
        for line in self.pacer.said if not counted else ():
            found = re.search(r"in0: an earlier pacer.* (\d+) packets were lost in its queue, (\d+) before that", line)
            if found:
                self.count("in a killed one's queue", int(found[1]))
                self.count("by a killed one", int(found[2]))

    def await_end(self) -> bool:
        """Until it has ended by itself, and not well; whether it says what it has lost."""
        out, _ = self.pacer.process.communicate(timeout=20)
        if self.pacer.process.returncode not in (1, 101):
            raise AssertionError(f"it ended with {self.pacer.process.returncode}: {self.pacer.said}")
        if out.strip():
            self.account(json.loads(out))
        return bool(out.strip())

    @contextmanager
    def without(self, interface: str) -> Iterator[None]:
        """It is down, or not there."""
        began = time.monotonic()
        yield
        self.away.append((began, time.monotonic() + IN_FLIGHT_S))
        if interface == "in0":
            self.unseen.append(self.away[-1])

    def do(self, fault: str) -> None:
        wire, chance = self.wire, self.chance
        verb, _, interface = fault.partition(" ")
        if verb == "kill":
            self.pacer.kill()
            time.sleep(chance.uniform(0.0, 0.1))
            self.start(counted=False)
        elif verb == "panic":
            self.pacer.send(signal.SIGUSR1)
            self.start(counted=self.await_end())
        elif verb == "stop":
            self.pacer.send(signal.SIGSTOP)
            time.sleep(chance.uniform(0.001, 0.2))
            self.pacer.send(signal.SIGCONT)
        elif verb == "reload":
            self.write(f"{chance.randrange(1, 10)} ms")
            self.pacer.send(signal.SIGHUP)
        elif verb == "flap":
            with self.without(interface):
                wire.ip(wire.box, "link", "set", "dev", interface, "down")
                time.sleep(chance.choice([0.0, 0.02]))
                wire.ip(wire.box, "link", "set", "dev", interface, "up")
        elif verb == "carrier":
            with self.without("out0"):
                wire.ip(wire.right, "link", "set", "dev", "port", "down")
                time.sleep(chance.uniform(0.0, 0.1))
                wire.ip(wire.right, "link", "set", "dev", "port", "up")
        elif verb == "mtu":
            wire.ip(wire.box, "link", "set", "dev", "out0", "mtu", str(chance.choice([1000, 1400, 1500])))
        elif verb == "second":
            second = self.launch()
            second.process.wait(10)
            second.end()
        else:
            began = time.monotonic()
            with self.without(interface):
                wire.ip(wire.box, "link", "del", "dev", interface)
                counted = self.await_end()
                time.sleep(chance.choice([0.0, chance.uniform(0.0, 0.1)]))
                lay(wire, interface)
            self.start(counted)
            # what comes before a pacer's gate stands there passes nowhere
            self.unseen.append((began, time.monotonic()))


def lay(wire: net.Wire, interface: str) -> None:
    """Makes a pair of interfaces that has been deleted."""
    host, other = (wire.left, "eth0") if interface == "in0" else (wire.right, "port")
    pair = ["type", "veth", "peer", "name", interface, "netns", wire.box]
    wire.ip(host, "link", "add", other, *pair)
    if interface == "out0":
        filters = f"filter add dev port ingress protocol all u32 {TO_RECEIVER}"
        for words in ("qdisc add dev port clsact", filters):
            subprocess.run(["tc", "-n", host, *words.split()], check=True, capture_output=True)
    wire.ip(host, "link", "set", "dev", other, "up")
    wire.ip(wire.box, "link", "set", "dev", interface, "up")


def keep_receiver(wire: net.Wire) -> None:
    """The receiver's interface stays when the one that the pacer sends by is deleted: a pair of its own, fed by the
    other. (A bridge would not do: it learns of a carrier up to a second late.)"""
    wire.ip(wire.right, "link", "del", "dev", "eth0")
    wire.ip(wire.right, "link", "add", "eth0", "type", "veth", "peer", "name", "inner")
    for interface in ("eth0", "inner"):
        wire.ip(wire.right, "link", "set", "dev", interface, "up")
    lay(wire, "out0")


def overlap(run: Span, spans: Sequence[Span]) -> float:
    """How much of a run lies within spans, seconds; those of one kind do not overlap."""
    return sum(max(0.0, min(run[1], to) - max(run[0], since)) for since, to in spans)


def attack(
    back_end: str, packets: int, faults: int, seed: int, kinds: Sequence[str], frames: str, settings: Path
) -> tuple[dict[str, Any], bool]:
    chance = random.Random(f"{back_end} {seed}")
    done: dict[str, int] = dict.fromkeys(kinds, 0)
    outages: dict[str, float] = {}
    began: list[tuple[float, str]] = []
    with net.wire() as wire:
        keep_receiver(wire)
        on = Bench(wire, frames).on
        attacked = Attacked(wire, back_end, settings, chance, "panic" in kinds)
        receive = on(wire.right, FIRST, frames, "receive", "eth0", "--vlans", "--idle", "10", priority=15)
        receiver = subprocess.Popen(receive, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert receiver.stderr
        receiver.stderr.readline()
        how = ["--size", "64", "--count", str(packets), "--pps", str(PPS), "--vlans"]
        # one that went before all else would keep the pacer and this program from their work
        send = ["ip", "netns", "exec", wire.left, frames, "send", "eth0", *how]
        sender = subprocess.Popen(send, stdout=subprocess.PIPE, text=True)
        every = packets / PPS / (faults + 1)
        due = time.monotonic()
        while sender.poll() is None:
            due = max(due, time.monotonic() - every) + every
            time.sleep(max(0.0, due - time.monotonic()))
            if sum(done.values()) < faults and sender.poll() is None:
                fault = chance.choice(kinds)
                began.append((time.monotonic(), fault + (" " + attacked.place if fault == "panic" else "")))
                attacked.do(fault)
                done[fault] += 1
        sent = json.loads(sender.communicate()[0])
        seen = json.loads(receiver.communicate(timeout=60)[0])
        attacked.end()
    lost = sent["sent"] - seen["received"]
    counted = sum(attacked.counted.values()) + seen["overflowed"]
    unseen = 0
    for since, to, missing in seen["missing_runs"]:
        run = (since / 1e9, to / 1e9)
        unseen += missing if overlap(run, attacked.unseen) > 0 else 0
        since_s, fault = max((one for one in began if one[0] <= run[1]), default=(0.0, "none"))
        run = (max(run[0], since_s), run[1])
        outages[fault] = max(outages.get(fault, 0.0), run[1] - run[0] - overlap(run, attacked.away))
    longest_s = max(outages.values(), default=0.0)
    broken = seen["reordered"] + seen["wrong"]
    name = f"{back_end}, {sent['sent'] / 1e6:g} M frames, {sum(done.values())} faults"
    good = verdict(f"{name}: wrong, twice or out of order", str(broken), "0", broken == 0)
    said = f"{lost} lost, {counted} counted ({attacked.counted}, receiver {seen['overflowed']})"
    wanted = f"none, but {unseen} at most by interfaces, and {64 * done.get('kill', 0)} at most counted and not lost"
    is_explained = -64 * done.get("kill", 0) <= lost - counted <= unseen
    good &= verdict(f"{name}: unexplained losses", said, wanted, is_explained)
    worst = ", ".join(f"{fault} {1e3 * outage_s:.1f}" for fault, outage_s in sorted(outages.items()))
    good &= verdict(f"{name}: longest outage", f"{worst} ms", f"{1e3 * OUTAGE_S:.0f} ms", longest_s <= OUTAGE_S)
    kept = {key: value for key, value in seen.items() if key != "missing_runs"}
    said_of = {"faults": done, "counted": attacked.counted, "lost": lost, "unseen": unseen, "outages_s": outages}
    return {"sent": sent, "seen": kept, **said_of}, good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=10_000_000)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=FAULTS, action="append", help="faults of that kind")
    parser.add_argument("--back-end", choices=("af_packet", "af_xdp"), action="append")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    reason = net.why_not()
    if reason is not None:
        print(f"nothing attacked: {reason}", file=sys.stderr)
        return 0
    _, frames = build("attack")
    results, good = {}, True
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "pace.toml"
        for back_end in arguments.back_end or ("af_packet", "af_xdp"):
            kinds = arguments.only or FAULTS
            results[back_end], passed = attack(
                back_end, arguments.packets, arguments.faults, arguments.seed, kinds, frames, settings
            )
            good &= passed
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
