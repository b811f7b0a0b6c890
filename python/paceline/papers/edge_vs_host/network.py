"""The network of Fig. 2: ten edges, a hundred access links each, one core link."""

from __future__ import annotations

import tomllib
from typing import Any

from paceline.papers.claim import Assumption
from paceline.scenario import Scenario

DUMBBELL = """\
title    = "Edge versus host pacing, 1000 flows"
duration = "400 s"
warmup   = "100 s"
seed     = 1

[network]
template = "dumbbell"
counts   = "ns2"
core   = { rate = "100 Mbit/s", delay = "100 ms", buffer = "5 KB" }
edge   = { count = 10, rate = "100 Mbit/s", delay = "5 ms .. 15 ms" }
access = { per_edge = 100, rate = "8 Mbit/s .. 12 Mbit/s", delay = "1 ms .. 5 ms" }

[[traffic]]
name  = "bulk"
kind  = "bulk"
start = "0 s .. 10 s"

[traffic.tcp]
variant    = "reno"
profile    = "ns2"
payload    = "1000 B"
header     = "40 B"                # ns-2 adds them to a data packet; an acknowledgement has no more
ack        = "40 B"
max_window = "1000 packets"        # never reached by a thousand flows

[pacing]
method = "none"

[probes]                           # the statistics are enough
"""

#: Pacing methods that the paper compares, and their labels in results.
METHODS: list[dict[str, Any]] = [{"method": "none"}, {"method": "host"}, {"method": "edge", "delay": "10 ms"}]
NONE, HOST, EDGE = "none", "host", "edge 10 ms"

ASSUMPTIONS = (
    Assumption(
        "How large a data packet is on the wire: the paper says 1000 bytes.",
        "1000 bytes of payload and ns-2's header of 40, so that four packets wait in 5 KB.",
        "ns-2's TCP adds 40 bytes to packetSize_, and this reproduces Fig. 3 at 5 KB; see docs/fidelity.md.",
    ),
    Assumption(
        "How the buffer counts: the paper gives it in KB.",
        "ns-2's rule in bytes: refuse when what waits and this packet reach the limit, that on the wire not counted.",
        "The paper ran ns-2, whose queue in bytes does so; see docs/fidelity.md.",
    ),
    Assumption(
        "Which rule paces at hosts: the paper cites the patch of D. X. Wei.",
        "Its second rule: the round trip over twice the window in slow start, over the window plus one beyond.",
        "It is the rule that the patch's own example sets.",
    ),
)


PATCHED = Assumption(
    "Whose TCP the flows have that do not pace, where others pace at hosts.",
    "ns-2 2.28's with D. X. Wei's patch: after a loss every flow halves what is in flight, not its window.",
    "Both kinds of flow ran in one simulator, and the patch changes that for all. It decides who gets more, see the "
    "sweep of unpatched flows.",
)


def patched() -> Scenario:
    """The same in the ns-2 that paces at hosts: 2.28 with the patch of D. X. Wei, whether a flow is paced or not."""
    scenario = dumbbell().set("traffic.bulk.tcp.profile", "ns2-2.28")
    return scenario.set("traffic.bulk.tcp.halving", "in-flight")


def dumbbell() -> Scenario:
    """Section III-A: 1000 long Reno flows, buffers in ns-2's way."""
    return Scenario(tomllib.loads(DUMBBELL))
