"""Millions of frames through the inline pacer, on veth, while it is killed, stopped and told to read its settings.

Others are started beside it, and its outgoing interface flaps and changes. Each frame arrives once and in order, or is
counted as lost.

    .venv/bin/python benches/dataplane/faults.py [--packets N] [--faults N] [--only FAULT] [--json FILE]

A pacer that is killed says nothing: the next one says what it has lost. What it had sent since it last told
of that counts as lost, 64 frames at most. An outage is the longest time between the sending of two frames
that arrived with missing ones between them. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import FIRST, Bench, net
from run import build, verdict

PPS = 100_000
#: How long after a failure traffic passes.
OUTAGE_S = 0.05
FAULTS = ("kill", "stop", "reload", "flap", "mtu", "second")


class Attacked:
    """A wire, the pacers on it one after the other, and what they have counted as lost."""

    def __init__(self, wire: net.Wire, back_end: str, settings: Path, chance: random.Random) -> None:
        self.wire, self.chance, self.settings = wire, chance, settings
        self.arguments = ["--back-end", back_end, "--config", str(settings)]
        self.counted: dict[str, int] = {}
        self.down_s = 0.0
        self.write("2 ms")
        self.pacer = wire.start(*self.arguments)

    def write(self, delay: str) -> None:
        text = f'[forward]\nmethod = "edge"\ndelay = "{delay}"\nline_rate = "10 Gbit/s"\n'
        part = self.settings.with_suffix(".part")
        part.write_text(text)
        part.rename(self.settings)

    def count(self, cause: str, frames: int) -> None:
        self.counted[cause] = self.counted.get(cause, 0) + frames

    def end(self) -> None:
        """The pacer's own account."""
        for cause, frames in self.pacer.stop()["forward"]["dropped"].items():
            self.count(cause, frames)

    def start(self) -> None:
        self.pacer = self.wire.start(*self.arguments)
        for line in self.pacer.said:
            found = re.search(r"in0: an earlier pacer.* (\d+) packets were lost in its queue, (\d+) before that", line)
            if found:
                self.count("in a killed one's queue", int(found[1]))
                self.count("by a killed one", int(found[2]))

    def do(self, fault: str) -> None:
        wire, chance = self.wire, self.chance
        if fault == "kill":
            self.pacer.kill()
            time.sleep(chance.uniform(0.0, 0.1))
            self.start()
        elif fault == "stop":
            self.pacer.send(signal.SIGSTOP)
            time.sleep(chance.uniform(0.001, 0.2))
            self.pacer.send(signal.SIGCONT)
        elif fault == "reload":
            self.write(f"{chance.randrange(1, 10)} ms")
            self.pacer.send(signal.SIGHUP)
        elif fault == "flap":
            began = time.monotonic()
            wire.ip(wire.box, "link", "set", "dev", "out0", "down")
            wire.ip(wire.box, "link", "set", "dev", "out0", "up")
            self.down_s = max(self.down_s, time.monotonic() - began)
        elif fault == "mtu":
            wire.ip(wire.box, "link", "set", "dev", "out0", "mtu", str(chance.choice([1000, 1400, 1500])))
        elif fault == "second":
            second = wire.start(*self.arguments, ready=False)
            second.process.wait(10)
            second.end()


def attack(
    back_end: str, packets: int, faults: int, seed: int, kinds: Sequence[str], frames: str, settings: Path
) -> tuple[dict[str, Any], bool]:
    chance = random.Random(f"{back_end} {seed}")
    done: dict[str, int] = dict.fromkeys(FAULTS, 0)
    with net.wire() as wire:
        on = Bench(wire, frames).on
        attacked = Attacked(wire, back_end, settings, chance)
        receive = on(wire.right, FIRST, frames, "receive", "eth0", priority=15)
        receiver = subprocess.Popen(receive, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert receiver.stderr
        receiver.stderr.readline()
        how = ["--size", "64", "--count", str(packets), "--pps", str(PPS)]
        # one that went before all else would keep the pacer and this program from their work
        send = ["ip", "netns", "exec", wire.left, frames, "send", "eth0", *how]
        sender = subprocess.Popen(send, stdout=subprocess.PIPE, text=True)
        every = packets / PPS / (faults + 1)
        due = time.monotonic()
        while sender.poll() is None:
            due += every
            time.sleep(max(0.0, due - time.monotonic()))
            if sum(done.values()) < faults and sender.poll() is None:
                fault = chance.choice(kinds)
                attacked.do(fault)
                done[fault] += 1
        sent = json.loads(sender.communicate()[0])
        seen = json.loads(receiver.communicate(timeout=60)[0])
        attacked.end()
    lost = sent["sent"] - seen["received"]
    counted = sum(attacked.counted.values()) + seen["overflowed"]
    outage_s = seen["longest_outage_s"]
    name = f"{back_end}, {sent['sent'] / 1e6:g} M frames, {sum(done.values())} faults"
    good = verdict(f"{name}: wrong, twice or out of order", str(seen["reordered"]), "0", seen["reordered"] == 0)
    said = f"{lost} lost, {counted} counted ({attacked.counted}, receiver {seen['overflowed']})"
    is_explained = lost <= counted <= lost + 64 * done["kill"]
    good &= verdict(f"{name}: unexplained losses", said, "none", is_explained)
    most_s = max(OUTAGE_S, attacked.down_s)
    wanted = f"at most {1e3 * OUTAGE_S:.0f} ms; the interface was down for {1e3 * attacked.down_s:.1f} ms at most"
    good &= verdict(f"{name}: longest outage", f"{1e3 * outage_s:.1f} ms", wanted, outage_s <= most_s)
    return {"sent": sent, "seen": seen, "counted": attacked.counted, "faults": done, "outage_s": outage_s}, good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=10_000_000)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=FAULTS, action="append", help="faults of that kind")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    reason = net.why_not()
    if reason is not None:
        print(f"nothing attacked: {reason}", file=sys.stderr)
        return 0
    frames = (
        build()[1] if "PACELINE_PROGRAMS" not in os.environ else os.environ["PACELINE_PROGRAMS"] + "/paceline-frames"
    )
    results, good = {}, True
    with tempfile.TemporaryDirectory() as folder:
        for back_end in ("af_packet", "af_xdp"):
            settings = Path(folder) / "pace.toml"
            results[back_end], passed = attack(
                back_end,
                arguments.packets,
                arguments.faults,
                arguments.seed,
                arguments.only or FAULTS,
                frames,
                settings,
            )
            good &= passed
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
