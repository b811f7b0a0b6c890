"""Scenarios at random of every kind of traffic, and what the doctor foresees of one beside what its run does.

As in crates/sim/tests/random, every template and kind; but drawn over decades of rates, delays and sizes, so that the
regimes are all met: tiny transfers that think, full links, buffers of a packet, round trips above the first timeout.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paceline as pl
from paceline.doctor.forecast import Forecast, forecast
from paceline.scenario.resolved_network import Network

#: What a run may cost at the most, packets over its fastest traffic; and what is simulated at the most, seconds.
PACKETS = 30_000
LONGEST_S = 4000.0
CVEC = Path(__file__).parent.parent / "crates/sim/tests/small.cvec"


def scenario(seed: int) -> pl.Scenario:
    """The scenario of a seed."""
    draw = Draw(seed)
    network, slowest, fastest = draw.network()
    traffic = [draw.traffic(number, slowest) for number in range(draw.pick([1, 1, 2, 3]))]
    longest = min(LONGEST_S, PACKETS * 1500 * 8 / fastest)
    idle = [table.pop("idles") for table in traffic]
    if all(idle):
        longest = min(LONGEST_S, 20 * longest)
    duration = draw.log(min(1.0, longest / 3), longest)
    document: dict[str, Any] = {
        "seed": seed,
        "duration": f"{max(1, round(duration * 1e3))} ms",
        "warmup": f"{round(duration * 1e3 * draw.pick([0, 0, 0.2, 0.5]))} ms",
        "network": network,
        "traffic": traffic,
    }
    if draw.chance(0.3):
        document["pacing"] = draw.pacing(network, traffic, slowest)
    if draw.chance(0.15):
        document["drop"] = [{"link": draw.link_of(network), "probability": draw.pick([0.001, 0.01, 0.05, 0.2])}]
    return pl.Scenario(document)


class Draw:
    """Draws of one seed."""

    def __init__(self, seed: int) -> None:
        self.chance_of = random.Random(seed)
        self.pick = self.chance_of.choice

    def chance(self, share: float) -> bool:
        return self.chance_of.random() < share

    def log(self, low: float, high: float) -> float:
        """As likely in each decade."""
        return low * (high / low) ** self.chance_of.random()

    # Networks.

    def link(self, rate: float, delay: float, limited: bool = True) -> dict[str, Any]:
        table: dict[str, Any] = {"rate": f"{rate:.0f} bit/s", "delay": f"{round(delay * 1e6)} us"}
        if self.chance(0.3):
            table["rate"] = f"{rate:.0f} bit/s .. {rate * 1.5:.0f} bit/s"
        if limited and self.chance(0.85):
            sizes = ["2 packets", "5 packets", "20 packets", "100 packets", "8 KB", "50 KB"]
            table["buffer"] = self.pick(sizes)
            if self.chance(0.2):
                table["counts"] = self.pick(["ns2", "waiting+service"])
            if self.chance(0.1):
                table["drop"] = "front"
        return table

    def network(self) -> tuple[dict[str, Any], float, float]:
        """A network, its slowest rate and the rate that traffic can have in all."""
        core = self.log(50e3, 200e6)
        delay = self.log(100e-6, 0.3)
        template = self.pick(["dumbbell", "dumbbell", "path", "tandem", "parking-lot"])
        hosts = self.pick([1, 2, 4, 10])
        near = core * self.pick([0.2, 0.5, 1.3, 3, 10])
        access = self.link(near, self.log(10e-6, 10e-3), self.chance(0.2)) | {"hosts": hosts}
        slowest = min(near, core)
        if template == "path":
            links = [self.link(core * self.pick([1, 2, 10]), delay / 3) for _ in range(self.pick([1, 2, 3]))]
            return {"template": template, "links": links}, core, 3 * core
        if template == "dumbbell":
            network: dict[str, Any] = {"template": template, "core": self.link(core, delay)}
            if self.chance(0.3):
                network["edge"] = self.link(2 * core, delay / 10, self.chance(0.3)) | {"count": 2}
                access["per_edge"] = access.pop("hosts")
            return network | {"access": access}, slowest, core
        network = {"template": template, "hops": self.pick([1, 2, 3]), "link": self.link(core, delay / 2)}
        network["access"] = access
        if template == "parking-lot":
            network["cross"] = self.link(near, 1e-3, False) | {"hosts": self.pick([1, 3])}
        return network, slowest, 2 * core

    def link_of(self, network: dict[str, Any]) -> str:
        return {"dumbbell": "core", "path": "link.0"}.get(network["template"], "hop.0")

    # Traffic.

    def traffic(self, number: int, rate: float) -> dict[str, Any]:
        """A table, with `idles` where it leaves the network idle most of the time."""
        kinds = ["bulk", "closed-loop", "closed-loop", "rpc", "rpc", "cbr", "poisson", "on-off", "self-similar", "cvec"]
        kind = self.pick(kinds)
        table: dict[str, Any] = {"name": f"t{number}", "kind": kind, "idles": False}
        if self.chance(0.3):
            table["start"] = self.pick(["0 s .. 200 ms", "100 ms"])
        if kind != "cvec":
            table["count"] = self.pick([1, 1, 2, 5])
        if kind in ("bulk", "closed-loop", "rpc", "cvec"):
            if self.chance(0.8):
                table["tcp"] = self.tcp()
            return table | self.conversation(kind, rate)
        return table | self.open_loop(kind, rate)

    def tcp(self) -> dict[str, Any]:
        variants = ["reno", "newreno", "tahoe", "sack1", "rfc6675", "fack", "bic", "cubic"]
        tcp: dict[str, Any] = {"profile": self.pick(["rfc", "ns2", "linux"]), "variant": self.pick(variants)}
        extras: list[dict[str, Any]] = [
            {"delayed_ack": "100 ms"}, {"syn": False}, {"initial_window": "10 packets"}, {"hystart": True},
            {"hystart": "rfc9406"},
            {"max_window": "6 packets"}, {"min_rto": "50 ms"}, {"idle_restart": "one"},
            {"initial_ssthresh": "8 packets"},
        ]  # fmt: skip
        for extra in self.chance_of.sample(extras, self.pick([0, 0, 1, 2])):
            tcp |= extra
        return tcp

    def size(self) -> Any:
        size = self.log(50, 300e3)
        return self.pick(
            [
                f"{size:.0f} B",
                f"{size:.0f} B",
                {"exponential": f"{size:.0f} B"},
                {"pareto": {"mean": f"{size:.0f} B", "shape": self.pick([1.2, 1.5, 2.5])}},
                {"uniform": f"{size / 2:.0f} B .. {size * 2:.0f} B"},
            ]
        )

    def pause(self) -> tuple[Any, bool]:
        if self.chance(0.3):
            return "0 s", False
        time = f"{self.log(1e3, 30e6):.0f} us"
        drawn = [time, {"exponential": time}, {"pareto": {"mean": time, "shape": 1.5}}]
        return self.pick(drawn), True

    def conversation(self, kind: str, rate: float) -> dict[str, Any]:
        if kind == "bulk":
            return {"size": f"{self.log(1e3, rate):.0f} B"} if self.chance(0.4) else {}
        if kind == "cvec":
            return {"file": str(CVEC), "idles": True}
        think, idles = self.pause()
        table: dict[str, Any] = {"think": think, "idles": idles}
        if kind == "rpc":
            limit = {"calls": round(self.log(1, 1000))} if self.chance(0.2) else {}
            return table | {"request": self.size(), "response": self.size()} | limit
        limit = {"files": round(self.log(1, 1000))} if self.chance(0.2) else {}
        return table | {"size": self.size(), "connection": self.pick(["new", "new", "kept"])} | limit

    def open_loop(self, kind: str, rate: float) -> dict[str, Any]:
        own = f"{self.log(0.02, 1.5) * rate:.0f} bit/s"
        packet = self.pick(["200 B", "1000 B", "1500 B"])
        if kind == "self-similar":
            return {"mean": own, "packet": packet, "hurst": self.pick([0.6, 0.8])}
        if kind == "on-off":
            on, off = (self.log(1e3, 3e6) for _ in range(2))
            shape = self.pick(["fixed", "exponential", "pareto"])
            times = [f"{time:.0f} us" for time in (on, off)]
            drawn: list[Any] = times
            if shape == "exponential":
                drawn = [{"exponential": time} for time in times]
            if shape == "pareto":
                drawn = [{"pareto": {"mean": time, "shape": 1.5}} for time in times]
            return {"rate": own, "packet": packet, "on": drawn[0], "off": drawn[1]}
        table: dict[str, Any] = {"rate": own, "packet": packet}
        return table | ({"stop": "700 ms"} if self.chance(0.1) else {})

    def pacing(self, network: dict[str, Any], traffic: list[dict[str, Any]], rate: float) -> Any:
        if self.chance(0.5) and any(table["kind"] in ("bulk", "closed-loop", "rpc", "cvec") for table in traffic):
            return self.pick(["host", "port"])
        method = self.pick(
            [
                {"method": "edge", "delay": f"{self.log(0.1e3, 50e3):.0f} us"},
                {"method": "qlbp", "load": 0.5, "max_delay": f"{self.log(0.1e3, 50e3):.0f} us"},
                {"method": "token-bucket", "rate": f"{rate * self.pick([0.3, 0.8]):.0f} bit/s", "burst": "10 KB"},
            ]
        )
        if network["template"] != "dumbbell":
            method["at"] = {"path": "link.0", "tandem": "hop.*", "parking-lot": "hop.*"}[network["template"]]
        return method


# What is compared.

#: Less than this is chance: packets, and losses as packets and as a share of what reaches a link.
LEAST_PACKETS = 20.0
LEAST_LOST = 20.0
LEAST_LOSS = 0.01


@dataclass(frozen=True)
class Compared:
    """One quantity of one scenario: what was foreseen and what was run."""

    what: str
    where: str
    foreseen: float
    run: float
    floor: float

    @property
    def counts(self) -> bool:
        """It is enough for a factor to mean something."""
        return max(self.foreseen, self.run) >= self.floor

    @property
    def factor(self) -> float:
        """How far off, as a factor of 1 or more; what is below the floor counts as that."""
        foreseen, run = max(self.foreseen, self.floor), max(self.run, self.floor)
        return math.inf if math.isnan(foreseen) else max(foreseen / run, run / foreseen)


def compare(scenario: pl.Scenario, seed: int) -> tuple[Forecast, list[Compared]]:
    """What the doctor foresees of a run, beside the run: where it knows, and where there is enough to compare."""
    point = scenario.points()[0].json
    network = Network.resolve(point, seed)
    seen = forecast(network, [table["kind"] for table in json.loads(point)["traffic"]])
    result = pl.run(scenario, seed)
    window = network.duration_s - network.warmup_s
    share = window / network.duration_s
    core = network.links[network.core].name
    compared = []
    if seen.knows(network.core) and seen.knows_all:
        compared.append(Compared("packets", core, seen.core_packets, result.engine.core_packets or 0, LEAST_PACKETS))
    hops = {name: float(link.arrived_packets or 0) for name, link in result.links.items()}
    foreseen = {link.name: number for number, link in enumerate(network.links)}
    if network.warmup_s == 0 and seen.knows_all:
        total = sum(float(seen.arrived[foreseen[name]]) for name in hops)
        compared.append(Compared("time", "packet-hops", total, sum(hops.values()), 4 * LEAST_PACKETS))
    for name, link in result.links.items():
        number = foreseen[name]
        if not seen.knows(number):
            continue
        packet = 8 * max((flow.packet_bytes for flow in network.flows if number in flow.forward), default=40)
        floor = LEAST_PACKETS * packet / window
        compared.append(Compared("load", name, float(seen.load_bps[number]), link.throughput_bps or 0.0, floor))
        arrived, here = max(hops[name], 1.0), max(float(seen.arrived[number]), 1e-9)
        least = max(LEAST_LOSS, LEAST_LOST / arrived, LEAST_LOST / (here * share))
        lost = (link.dropped_packets or 0) / arrived
        compared.append(Compared("losses", name, float(seen.lost[number]) / here, lost, least))
    return seen, [one for one in compared if one.counts]
