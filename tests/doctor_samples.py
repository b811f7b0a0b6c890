"""For each check a scenario that it finds something in, and the repair after which it does not."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import paceline as pl
from paceline.scenario.paths import assign

#: Nothing odd here: ten flows of nine packets each over one bottleneck with half a bandwidth-delay product of buffer.
HEALTHY: dict[str, Any] = {
    "title": "healthy",
    "duration": "60 s",
    "warmup": "20 s",
    "network": {
        "template": "dumbbell",
        "core": {"rate": "20 Mbit/s", "delay": "20 ms", "buffer": "0.5 BDP"},
        "access": {"hosts": 10, "rate": "30 Mbit/s .. 40 Mbit/s", "delay": "1 ms .. 5 ms"},
    },
    "traffic": [{"name": "bulk", "kind": "bulk", "tcp": {"profile": "rfc"}, "start": "0 s .. 1 s"}],
}
#: Two bottlenecks in a row, each with flows of its own.
PARKING: dict[str, Any] = HEALTHY | {
    "network": {
        "template": "parking-lot",
        "hops": 2,
        "link": {"rate": "20 Mbit/s", "delay": "20 ms", "buffer": "40 packets"},
        "access": {"hosts": 3, "rate": "30 Mbit/s .. 40 Mbit/s", "delay": "1 ms .. 5 ms"},
        "cross": {"hosts": 3, "rate": "30 Mbit/s .. 40 Mbit/s", "delay": "1 ms .. 5 ms"},
    },
    "traffic": [
        {"name": "through", "kind": "bulk", "from": "through", "start": "0 s .. 1 s"},
        {"name": "cross", "kind": "bulk", "from": "cross", "start": "0 s .. 1 s"},
    ],
}
CBR = [{"kind": "cbr", "rate": "1 Mbit/s", "packet": "1000 B", "start": "0 s .. 8 ms"}]
FIXED = {
    "network.access.rate": "35 Mbit/s",
    "network.access.delay": "3 ms",
    "network.access.hosts": 1,
    "network.ties": "departure",
}
NINE = [f"left.{number}" for number in range(9)]

Changes = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """`wrong` changes the base so that the check finds something of this severity at `where`; `repair` undoes that."""

    id: str
    severity: str
    where: str
    wrong: Changes
    repair: Changes
    base: dict[str, Any] = field(default_factory=lambda: HEALTHY)

    def broken(self) -> pl.Scenario:
        return changed(self.base, self.wrong)

    def repaired(self) -> pl.Scenario:
        return changed(self.base, self.wrong | self.repair)


def changed(base: dict[str, Any], changes: Changes) -> pl.Scenario:
    """The base with values at paths; ``None`` takes a key away."""
    document = copy.deepcopy(base)
    for path, value in changes.items():
        if value is None:
            above, _, key = path.rpartition(".")
            table = document
            for part in above.split("."):
                table = table[part]
            del table[key]
        elif path == "sweep":
            document["sweep"] = value
        else:
            assign(document, path, copy.deepcopy(value))
    return pl.Scenario(document)


CORE = "network.core.buffer"
ACCESS = "network.access"
TCP = "traffic[0].tcp"

SAMPLES = [
    Sample(
        "window-cap",
        "warning",
        f"{TCP}.max_window",
        {"traffic.0.tcp.max_window": "5 packets"},
        {"traffic.0.tcp.max_window": "100 packets"},
    ),
    Sample(
        "window-cap",
        "note",
        f"{TCP}.max_window",
        {"traffic.0.tcp.max_window": "10 packets"},
        {"traffic.0.tcp.max_window": "100 packets"},
    ),
    Sample(  # the profile's default of 20, and two flows that could have 43 each
        "window-cap",
        "warning",
        f"{TCP}.max_window",
        {f"{ACCESS}.hosts": 2, "traffic.0.tcp.profile": "ns2"},
        {"traffic.0.tcp.max_window": "500 packets"},
    ),
    Sample("window-below-one", "warning", "traffic[0]", {f"{ACCESS}.hosts": 200}, {f"{ACCESS}.hosts": 10}),
    Sample("timeout-regime", "note", "traffic[0]", {f"{ACCESS}.hosts": 40}, {f"{ACCESS}.hosts": 10}),
    Sample(
        "initial-burst",
        "note",
        f"{TCP}.initial_window",
        {f"{ACCESS}.rate": "200 Mbit/s .. 300 Mbit/s", CORE: "5 packets"},
        {"traffic.0.tcp.initial_window": "2 packets"},
    ),
    Sample("tiny-buffer", "warning", CORE, {CORE: "1 packet"}, {CORE: "5 packets"}),
    Sample("tiny-buffer", "warning", CORE, {CORE: "2 packets", "network.counts": "ns2"}, {CORE: "3 packets"}),
    Sample("ns2-mean-packet", "warning", CORE, {CORE: "12500 B", "network.counts": "ns2"}, {CORE: "25 packets"}),
    Sample("unlimited-bottleneck", "warning", CORE, {CORE: None}, {CORE: "1 BDP"}),
    Sample(
        "unlimited-bottleneck",
        "warning",
        f"{ACCESS}.pacer_buffer",
        {"pacing": {"method": "token-bucket", "rate": "1 Mbit/s", "burst": "3 KB"}},
        {f"{ACCESS}.pacer_buffer": "20 packets"},
    ),
    Sample(
        "pacer-hides-buffer",
        "warning",
        CORE,
        {"pacing": {"method": "qlbp", "load": 0.9, "max_delay": "5 ms", "at": "core"}},
        {"pacing.at": "access.l.*"},
    ),
    Sample(
        "pacer-hides-buffer",
        "warning",
        CORE,
        {"pacing": {"method": "edge", "delay": "50 ms", "at": "core"}},
        {"pacing.delay": "5 ms"},
    ),
    Sample(
        "buffer-never-fills",
        "warning",
        CORE,
        {ACCESS: {"hosts": 2, "rate": "8 Mbit/s .. 9 Mbit/s", "delay": "1 ms .. 5 ms", "buffer": "50 packets"}},
        {f"{ACCESS}.rate": "30 Mbit/s .. 40 Mbit/s"},
    ),
    Sample(
        "rates-in-step", "warning", f"{ACCESS}.rate", {f"{ACCESS}.rate": "20 Mbit/s"}, {f"{ACCESS}.rate": "25 Mbit/s"}
    ),
    Sample(
        "rates-in-step",
        "note",
        f"{ACCESS}.rate",
        {f"{ACCESS}.rate": "20 Mbit/s", "traffic.0.tcp.max_window": "50 packets"},
        {f"{ACCESS}.rate": "25 Mbit/s"},
    ),
    Sample(
        "active-queue",
        "note",
        f"{CORE.rpartition('.')[0]}.queue",
        {"network.core.queue": "codel"},
        {"network.core.queue": "drop-tail"},
    ),
    Sample(
        "class-queue",
        "note",
        f"{CORE.rpartition('.')[0]}.queue",
        {"network.core.queue": "priority"},
        {"network.core.queue": "drop-tail"},
    ),
    Sample(
        "class-queue",
        "note",
        "memory",
        {"memory": [{"links": "core", "size": "20 packets"}]},
        {"memory": []},
    ),
    Sample("series-bottlenecks", "note", "traffic[0]", {}, {"traffic": PARKING["traffic"][:1]}, PARKING),
    Sample(
        "pacer-buffer",
        "warning",
        f"{ACCESS}.pacer_buffer",
        {f"{ACCESS}.pacer_buffer": "1 packet", "pacing": "edge 10 ms"},
        {f"{ACCESS}.pacer_buffer": "20 packets"},
    ),
    Sample(
        "loses-all",
        "error",
        "drop[0].probability",
        {"drop": [{"link": "core", "probability": 1.0}]},
        {"drop": [{"link": "core", "probability": 0.01}]},
    ),
    Sample(
        "pacer-without-traffic",
        "warning",
        "pacing.at",
        {"traffic.0.from": NINE, "pacing": {"method": "edge", "delay": "10 ms", "at": "access.l.9"}},
        {"pacing.at": "access.l.8"},
    ),
    Sample(
        "pacer-without-traffic",
        "note",
        "pacing.at",
        {"traffic.0.from": NINE, "pacing": {"method": "edge", "delay": "10 ms", "at": "access.l.*"}},
        {"pacing.at": [f"access.l.{number}" for number in range(9)]},
    ),
    Sample(
        "share-rounds", "warning", "pacing.share", {"pacing": {"method": "host", "share": 0.01}}, {"pacing.share": 0.5}
    ),
    Sample(
        "share-rounds",
        "warning",
        "pacing.share",
        {"pacing": {"method": "edge", "delay": "10 ms", "share": 0.97}},
        {"pacing.share": 0.9},
    ),
    Sample(
        "access-already-paces",
        "note",
        "pacing",
        {f"{ACCESS}.rate": "2.5 Mbit/s .. 3.5 Mbit/s", "pacing": "host"},
        {f"{ACCESS}.rate": "10 Mbit/s .. 40 Mbit/s"},
    ),
    Sample(
        "host-pacing-small-window", "note", "pacing", {f"{ACCESS}.hosts": 40, "pacing": "host"}, {f"{ACCESS}.hosts": 10}
    ),
    Sample(
        "rule-profile", "note", "pacing.rule", {"pacing": {"method": "host", "rule": "wei"}}, {"pacing.rule": "ideal"}
    ),
    Sample(
        "wei-newreno",
        "note",
        "pacing.rule",
        {
            CORE: "0.5 BDP",
            f"{ACCESS}.hosts": 1,
            "traffic.0.tcp": {"profile": "ns2", "variant": "newreno", "max_window": "1000 packets"},
            "pacing": {"method": "host", "rule": "wei"},
        },
        {"traffic.0.tcp": {"profile": "ns2", "variant": "sack", "max_window": "1000 packets"}},
    ),
    Sample(
        "unpaced-prague",
        "note",
        "pacing",
        {"traffic.0.tcp": {"profile": "linux", "variant": "prague"}},
        {"pacing": {"method": "host", "rule": "prague"}},
    ),
    Sample(
        "gso-trains",
        "warning",
        "traffic[0].tcp.gso",
        {
            "network.core.rate": "1 Gbit/s",
            CORE: "20 packets",
            f"{ACCESS}.hosts": 1,
            f"{ACCESS}.rate": "10 Gbit/s",
            "traffic.0.tcp": {"profile": "rfc", "gso": "64 KB"},
        },
        {CORE: "60 packets"},
    ),
    Sample(
        "own-queue",
        "warning",
        "traffic[0].tcp.tsq",
        {
            "network.access.rate": "1 Mbit/s",
            "network.core.rate": "100 Mbit/s",
            "traffic.0.tcp": {"profile": "linux", "variant": "cubic"},
        },
        {"traffic.0.tcp": {"profile": "linux", "variant": "cubic", "tsq": "4 MB"}},
    ),
    Sample(
        "small-queues-idle",
        "note",
        "traffic[0].tcp.tsq",
        {"traffic.0.tcp": {"profile": "linux", "tsq": "4 MB"}},
        {"network.access.rate": "1 Mbit/s"},
    ),
    Sample(
        "linux-bursts",
        "warning",
        "pacing.rule",
        {
            "network.core.rate": "1 Gbit/s",
            CORE: "20 packets",
            f"{ACCESS}.hosts": 1,
            f"{ACCESS}.rate": "10 Gbit/s",
            "pacing": {"method": "host", "rule": "linux"},
        },
        {CORE: "60 packets"},
    ),
    Sample(
        "linux-bursts",
        "warning",
        "pacing.rule",
        {
            "network.core.rate": "1 Gbit/s",
            CORE: "10 packets",
            f"{ACCESS}.hosts": 1,
            f"{ACCESS}.rate": "10 Gbit/s",
            "traffic.0.tcp": {"profile": "linux", "variant": "prague"},
            "pacing": {"method": "host", "rule": "prague"},
        },
        {CORE: "20 packets"},
    ),
    Sample(
        "pacer-after-bottleneck",
        "warning",
        "pacing.at",
        {"pacing": {"method": "edge", "delay": "5 ms", "at": "access.r.*"}},
        {"pacing.at": "access.l.*"},
    ),
    Sample("pacer-delay", "warning", "pacing.delay", {"pacing": "edge 60 ms"}, {"pacing": "edge 5 ms"}),
    Sample("pacer-delay", "note", "pacing.delay", {"pacing": "edge 15 ms"}, {"pacing": "edge 5 ms"}),
    Sample(
        "pacer-delay",
        "warning",
        "pacing.delay",
        {"pacing": "edge 21 ms", "traffic.0.tcp.min_rto": "20 ms"},
        {"traffic.0.tcp.min_rto": "200 ms", "pacing": "edge 5 ms"},
    ),
    Sample(
        "pacer-idle",
        "warning",
        "pacing.rate",
        {"pacing": {"method": "token-bucket", "rate": "25 Mbit/s", "burst": "3 KB"}},
        {"pacing.rate": "3 Mbit/s"},
    ),
    Sample(
        "pacer-idle",
        "warning",
        "pacing.load",
        {"pacing": {"method": "qlbp", "load": 0.9, "max_delay": "5 ms"}},
        {"pacing.load": 0.05},
    ),
    Sample("pacer-idle", "note", "pacing.delay", {"pacing": "edge 1 ms"}, {"pacing": "edge 10 ms"}),
    Sample(
        "burst-over-buffer",
        "warning",
        "pacing.burst",
        {"pacing": {"method": "token-bucket", "rate": "3 Mbit/s", "burst": "300 KB"}},
        {"pacing.burst": "15 KB"},
    ),
    Sample("warmup-short", "warning", "warmup", {"warmup": "1 s"}, {"warmup": "20 s"}),
    Sample("warmup-short", "note", "warmup", {"warmup": "5 s", CORE: "3 BDP"}, {"warmup": "30 s"}),
    Sample("few-cuts", "warning", "duration", {"duration": "22 s"}, {"duration": "60 s"}),
    Sample("few-packets", "warning", "duration", {"duration": "20100 ms"}, {"duration": "60 s"}),
    Sample("few-seeds", "warning", "sweep.seeds", {"sweep": {CORE: ["40 packets", "50 packets"]}}, {"sweep.seeds": 5}),
    Sample(
        "few-seeds",
        "note",
        "sweep.seeds",
        {"sweep": {CORE: ["40 packets", "50 packets"], "seeds": 3}},
        {"sweep.seeds": 5},
    ),
    Sample(
        "seeds-without-chance",
        "note",
        "sweep.seeds",
        FIXED | {"traffic.0.start": "0 s", "sweep": {"seeds": 5}},
        {f"{ACCESS}.delay": "2 ms .. 4 ms"},
    ),
    Sample(
        "overload",
        "warning",
        "traffic[0].rate",
        {"traffic": CBR, "traffic.0.rate": "3 Mbit/s"},
        {"traffic.0.rate": "1 Mbit/s"},
    ),
    Sample(
        "overload",
        "error",
        "traffic[0].rate",
        {"traffic": CBR, "traffic.0.rate": "3 Mbit/s", CORE: None},
        {"traffic.0.rate": "1 Mbit/s"},
    ),
    Sample(
        "fixed-ties",
        "note",
        "network.core.ties",
        {"network.core.buffer": "3 packets", "network.ties": "departure"},
        {"network.ties": "random"},
    ),
    Sample(
        "phase-locked",
        "warning",
        f"{ACCESS}.delay",
        {f"{ACCESS}.rate": "35 Mbit/s", f"{ACCESS}.delay": "3 ms"},
        {f"{ACCESS}.delay": "2 ms .. 4 ms"},
    ),
    Sample(
        "cbr-in-step",
        "warning",
        "traffic[0].start",
        {"traffic": CBR, "traffic.0.start": "0 s"},
        {"traffic.0.start": "0 s .. 8 ms"},
    ),
    Sample("same-start", "note", "traffic[0].start", {"traffic.0.start": "0 s"}, {"traffic.0.start": "0 s .. 2 s"}),
]
