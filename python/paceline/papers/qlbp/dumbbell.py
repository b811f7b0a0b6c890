"""The dumbbell of Fig. 17: four access routers with ten senders each, one core link, ten receivers."""

from __future__ import annotations

from typing import Any

from paceline.papers.claim import Assumption, Length
from paceline.results import Results
from paceline.scenario import Scenario

ROUTERS, SENDERS, RECEIVERS = 4, 10, 10
RATE = "100 Mbit/s"
DRAWN = "1 ms .. 10 ms"
#: As `DRAWN`, but for receivers: what the paper's own Table III implies for the sum of both draws; see `table3`.
SHORTER = "1 ms .. 3 ms"
BUFFER = "link.core.buffer"
UTILISATION = "links.core.utilisation"

ASSUMPTIONS = (
    Assumption(
        "Nothing: access routers have room for 2000 packets.",
        "No limit.",
        "Ten senders have at most 320 packets under way.",
    ),
    Assumption(
        "How large a data packet is on the wire: the paper says 1000 bytes.",
        "1000 bytes of payload and ns-2's header of 40.",
        "By Little's law Table III's last row allows only this: 40 windows of 32 packets of 1000 bytes at 98.48 Mbit/s "
        "are a round trip of 104 ms, less the 60.8 ms of the way forth leave 43.2 for the way back, which has no "
        "pacer. The way forth would spend 17.6 ms in the pacer; QLBP's own equilibrium at 25 Mbit/s is 12.9 ms.",
    ),
    Assumption(
        "How a buffer of n packets counts.",
        "ns-2's drop-tail queue: n - 1 wait, beside the one on the wire.",
        "The paper ran ns-2; see docs/fidelity.md.",
    ),
    Assumption(
        "Which TCP, with which timers, and which rule its 'TCP pacing' follows.",
        "Reno with the defaults of ns-2 2.35; pacing by D. X. Wei's rule for ns-2.",
        "It is ns-2's default TCP and the one public pacing patch for it. In the paper's network ns-2's minimum "
        "timeout, its clock, NewReno and SACK, or the rules srtt / cwnd and Linux's, move no point of the paced curve "
        "from 20 packets of buffer on by more than 0.02.",
    ),
    Assumption(
        "What QLBP's q counts, and when the gap is set.",
        "Packets held, that at the head included; the gap is set anew at each arrival.",
        "It is the rule that gives Table II row by row.",
    ),
)


def network(receivers: str = DRAWN) -> Scenario:
    """Section IV-D: 40 long flows over 100 Mbit/s, unpaced. `receivers`: delay of their links."""
    nodes: list[dict[str, Any]] = [{"name": name, "kind": "router"} for name in ("C0", "C1")]
    links: list[dict[str, Any]] = [cable("core", "C0", "C1", "20 ms") | {"buffer": "20 packets"}]
    senders = []
    for router in range(1, ROUTERS + 1):
        nodes.append({"name": f"A{router}", "kind": "router"})
        links.append(cable(f"edge-{router}", f"A{router}", "C0", "20 ms"))
        for sender in range(1, SENDERS + 1):
            name = f"S{router}-{sender}"
            senders.append(name)
            nodes.append({"name": name, "kind": "host"})
            links.append(cable(f"access-{router}-{sender}", name, f"A{router}", DRAWN))
    for receiver in range(1, RECEIVERS + 1):
        nodes.append({"name": f"R{receiver}", "kind": "host"})
        links.append(cable(f"receiver-{receiver}", "C1", f"R{receiver}", receivers))
    traffic = {
        "name": "bulk",
        "kind": "bulk",
        "start": "0 s .. 100 s",
        "from": senders,
        "to": [f"R{receiver}" for receiver in range(1, RECEIVERS + 1)],
        "tcp": {
            "variant": "reno",
            "profile": "ns2",
            "payload": "1000 B",
            "header": "40 B",
            "ack": "40 B",
            "max_window": "32 packets",
        },
    }
    return Scenario(
        {
            "title": "QLBP in a network with small buffers",
            "duration": "1000 s",
            "warmup": "200 s",
            "seed": 1,
            "network": {"template": "graph", "counts": "ns2", "core": "core"},
            "node": nodes,
            "link": links,
            "traffic": [traffic],
            "pacing": {"method": "none"},
            "probes": {"delay": {}},
        }
    )


def cable(name: str, start: str, end: str, delay: str) -> dict[str, Any]:
    """A link of 100 Mbit/s both ways."""
    return {"name": name, "from": start, "to": end, "rate": RATE, "delay": delay}


def qlbp(scenario: Scenario, q_max: int) -> Scenario:
    """With a pacer on each access router's link to the core."""
    pacing = {"method": "qlbp", "mu_min": "1 Mbit/s", "mu_max": RATE, "q_max": f"{q_max} packets", "at": "edge-*"}
    return scenario.set("pacing", pacing)


def method(name: str, receivers: str = DRAWN) -> Scenario:
    """By its name: ``none``, ``host``, or ``qlbp-40`` for a Q_max of 40 packets."""
    scenario = network(receivers)
    if name.startswith("qlbp-"):
        return qlbp(scenario, int(name.removeprefix("qlbp-")))
    return scenario.set("pacing", {"method": name})


def over_buffers(scenario: Scenario, packets: tuple[int, ...], length: Length, full: int = 5) -> Scenario:
    """The scenario over these buffers of the core, at this length."""
    if length.quick:
        scenario = scenario.set("traffic.bulk.start", "0 s .. 10 s").set("duration", "50 s").set("warmup", "20 s")
    return scenario.over({BUFFER: [f"{size} packets" for size in packets]}).seeds(length.seed_count(full, 3))


def at(results: Results, packets: int) -> Results:
    """The runs of one buffer."""
    return results.where({BUFFER: f"{packets} packets"})


def sizes(results: Results) -> list[int]:
    """The buffers that were run, packets."""
    return sorted({int(run.settings[BUFFER].split()[0]) for run in results})
