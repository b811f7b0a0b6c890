"""Its network, as others tell it, for the situations of its sections and for its rereading by the data-centre paper."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

from paceline.papers.claim import Assumption, Length
from paceline.results import Results
from paceline.scenario import Scenario

NETWORK = """\
title    = "Flows over a bottleneck of 1250 packets a round trip, with room for 312"
duration = "60 s"
seed     = 1

[network]
template = "dumbbell"
core   = { rate = "100 Mbit/s", delay = "40 ms", buffer = "312 packets" }   # 1250 packets of 1000 B in 100 ms
access = { hosts = 50, rate = "400 Mbit/s", delay = "5 ms" }

[[traffic]]
name  = "bulk"
kind  = "bulk"
start = "0 s .. 100 ms"

[traffic.tcp]
variant    = "reno"
profile    = "ns2"
max_window = "10000 packets"       # never reached

[pacing]
method = "none"

[probes]
"""

METHODS = [{"method": "none"}, {"method": "host", "rule": "ideal"}]
NONE, PACED = "none", "host ideal"
PACING, HOSTS = "pacing", "network.access.hosts"
UTILISATION, LOSS, JAIN = "links.core.utilisation", "links.core.loss_ratio", "flows.jain"

PATH = Assumption(
    "The network: the abstract names none.",
    "1250 packets a round trip and a buffer of 312, at 100 Mbit/s, 100 ms and packets of 1000 B; access links four "
    "times as fast; 50 flows; ns-2's Reno.",
    "Second-hand: Bas and Pontoriero (2013) and Ghobadi and Ganjali (2013) print these two numbers and the 50 flows of "
    "it, and the paper on edge pacing that it evaluates Reno.",
)
PACER = Assumption(
    "The pacer's rule.",
    "A packet each smoothed round trip over the window.",
    "The abstract: data are evenly spaced over an entire round trip.",
)
START = Assumption(
    "When flows start.",
    "Within 100 ms.",
    "Second-hand: Bas and Pontoriero say that its flows start together.",
)


def network(length: Length) -> Scenario:
    """Fifty long flows that start together."""
    scenario = Scenario(tomllib.loads(NETWORK))
    return scenario.set("duration", "20 s") if length.quick else scenario


def flows_of(results: Results) -> list[int]:
    """Numbers of flows that were run, ascending."""
    return sorted({int(run.settings[HOSTS]) for run in results})


def at(results: Results, pacing: str, flows: int) -> Results:
    """The runs of one case and number of flows."""
    return results.where({PACING: pacing, HOSTS: str(flows)})


def each(changes: Mapping[str, float], digits: int = 0) -> str:
    """Shares of change by what they are of, in words: ``+3% (10 KB), -1% (1 MB)``."""
    return ", ".join(f"{value:+.{digits}%} ({name})" for name, value in changes.items())
