"""Two set-ups of the pacing experiments: that of Aggarwal, Savage and Anderson in ns-2, and its rerun with Linux."""

from __future__ import annotations

import tomllib

from paceline.papers.claim import Assumption, Length
from paceline.scenario import Scenario

DUMBBELL = """\
title    = "Flows over a bottleneck of 1250 packets a round trip, with room for 312"
duration = "60 s"
seed     = 1

[network]
template = "dumbbell"
core   = { rate = "100 Mbit/s", delay = "40 ms", buffer = "312 packets" }   # 1250 packets of 1000 B in 100 ms
access = { hosts = 1, rate = "400 Mbit/s", delay = "5 ms" }

[[traffic]]
name = "bulk"
kind = "bulk"

[traffic.tcp]
variant    = "newreno"
profile    = "ns2"
max_window = "10000 packets"       # never reached

[pacing]
method = "none"

[probes]
throughput = { every = "100 ms" }
"""

#: Unpaced and paced, and their labels in results.
METHODS = [{"method": "none"}, {"method": "host", "rule": "ideal"}]
NONE, PACED = "none", "host ideal"
LINUX = {"method": "host", "rule": "linux"}
LINUX_PACED = "host linux"
PACING, VARIANT = "pacing", "traffic.bulk.tcp.variant"

#: What came after Linux 3.5 is off.
LINUX_35 = {"rack": False, "count_packets": False}

PATH = Assumption(
    "Rates and delays; the page prints a bandwidth-delay product of 1250 packets and a buffer of 312.",
    "100 Mbit/s, 100 ms, packets of 1000 B, access links four times as fast.",
    "Aggarwal, Savage and Anderson (2000) keep access links at four times the bottleneck and size the buffer at a "
    "quarter of the product; all results scale with the two printed numbers.",
)
PACER = Assumption(
    "The pacer's rule.",
    "A packet each smoothed round trip over the window.",
    "The page: the window is spread as evenly as possible over the estimated round trip. How coarse the timer of its "
    "patch is it does not say; Linux's present rule, which is faster, see why-rule.",
)
TCP = Assumption(
    "The TCP of the rerun: its page says NewReno, and runs Linux 3.5.",
    "Reno's growth with SACK (RFC 6675), and Linux's other defaults: initial window 10, delayed acknowledgements, a "
    "least "
    "timeout of 200 ms beyond the round trip, growth by acknowledgements.",
    "The page says that both flows enter fast recovery and do not time out: Linux's reno has SACK by default, and "
    "NewReno without it times out here (why-newreno). Growth by packets came with 3.13.",
)


def dumbbell(length: Length) -> Scenario:
    """One flow of the original: ns-2's NewReno."""
    scenario = Scenario(tomllib.loads(DUMBBELL))
    return scenario.set("duration", "15 s") if length.quick else scenario


def with_linux(scenario: Scenario, variant: str = "rfc6675") -> Scenario:
    """The same with the rerun's kernel; packets keep the original's payload, so that the path holds as many."""
    document = scenario.to_dict()
    (traffic,) = document["traffic"]
    tcp = {"profile": "linux", "variant": variant, "payload": "1000 B"} | LINUX_35
    return Scenario(document | {"traffic": [traffic | {"tcp": tcp}]})
