"""The set-ups for one flow and for n. Printed is what the abstract says; it names no network.

When the criteria were written runs of one or two seeds of these set-ups had been seen. One thing was changed after the
first full run: the least buffer of one flow is the first that is enough, and no longer the one from which on all are,
which BBR's scatter of 0.03 % between seeds decided.
"""

from __future__ import annotations

import math
import tomllib

from paceline.papers.claim import Assumption, Length
from paceline.scenario import Scenario

ONE = """\
title    = "How much buffer one flow needs"
duration = "160 s"
warmup   = "40 s"
seed     = 1

[network]
template = "dumbbell"
core   = { rate = "50 Mbit/s", delay = "20 ms", buffer = "1 BDP" }
access = { hosts = 1, rate = "1 Gbit/s", delay = "2 ms .. 3 ms" }

[[traffic]]
name  = "bulk"
kind  = "bulk"
start = "0 s .. 100 ms"
tcp   = { profile = "linux", variant = "cubic" }

[probes]
window     = { flows = "bulk.0", every = "100 ms" }
throughput = { links = "core", every = "100 ms" }
"""

MANY = """\
title    = "How much buffer n flows need"
duration = "30 s"
warmup   = "12 s"
seed     = 1

[network]
template = "dumbbell"
core   = { rate = "500 Mbit/s", delay = "40 ms", buffer = "1 BDP" }   # 4167 packets of 1500 B in 100 ms
access = { hosts = 25, rate = "1 Gbit/s", delay = "4 ms .. 6 ms" }

[[traffic]]
name  = "bulk"
kind  = "bulk"
count = 1                          # of each host
start = "0 s .. 5 s"
tcp   = { profile = "linux", variant = "cubic" }

[probes]
"""

#: Linux's Reno has SACK.
TCPS = {"Reno": "rfc6675", "CUBIC": "cubic", "BBR v1": "bbr", "BBR v3": "bbr3"}
VARIANT, COUNT, BUFFER = "traffic.bulk.tcp.variant", "traffic.bulk.count", "network.core.buffer"
UTILISATION = "links.core.utilisation"
HOSTS, BDP = 25, 4167

HOSTS_OF_TODAY = Assumption(
    "Which hosts: the abstract names CUBIC, BBR and proportional rate reduction.",
    "Profile linux: Linux 6.18's CUBIC, Reno with SACK, and BBR v1, which recover by RACK and PRR; BBR v3 beside.",
    "docs/tcp.md and docs/fidelity.md; the paper's hosts were Linux of its time.",
)
ONE_PATH = Assumption(
    "Rate and round trip of one flow's path.",
    "50 Mbit/s and 44 to 52 ms: a BDP of 200 packets.",
    "Results scale with the product; packets are fine enough for 5 % of it.",
)
MANY_PATH = Assumption(
    "Rate, round trip and number of many flows.",
    "500 Mbit/s, 96 to 104 ms, a BDP of 4167 packets; 25, 100 and 400 flows.",
    "A fair window is ten packets with the most flows, so that timeouts do not decide.",
)


def one(length: Length) -> Scenario:
    """One flow, unpaced."""
    found = Scenario(tomllib.loads(ONE))
    return found.set("duration", "30 s").set("warmup", "10 s") if length.quick else found


def many(length: Length) -> Scenario:
    """Flows on 25 hosts, unpaced."""
    found = Scenario(tomllib.loads(MANY))
    return found.set("duration", "4 s").set("warmup", "2 s") if length.quick else found


def rule(flows: int) -> int:
    """BDP / √n, packets."""
    return round(BDP / math.sqrt(flows))
