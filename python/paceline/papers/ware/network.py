"""One BBR flow beside N that heed losses, over a deep buffer; and the paper's model of its share.

What counts as printed is what is public word for word: the abstract (one BBR flow holds 40 % of the link against as
many as 16 CUBIC or Reno flows; BBR is limited by its cap on what is in flight; the model's median error is 5 % against
CUBIC and 8 % against Reno), and the first author's own account of 2024 (its figure of 10 Mbit/s and 32 BDP). The
model's equations are second-hand, from public code that restates them; the first of them follows from the account.
When the criteria were written runs of one or two seeds of the same set-up had been seen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

from paceline._statistics import Interval, interval
from paceline.papers.claim import Assumption, Length
from paceline.results import Result, Results
from paceline.scenario import Scenario

DUMBBELL = """\
title    = "One BBR flow beside flows that heed losses, over a deep buffer"
duration = "440 s"
warmup   = "40 s"
seed     = 1

[network]
template = "dumbbell"
core   = { rate = "10 Mbit/s", delay = "10 ms", buffer = "32 BDP" }
access = { hosts = 2, rate = "1 Gbit/s", delay = "5 ms" }

[[traffic]]
name  = "bbr"
kind  = "bulk"
from  = "left.0"
start = "0 s .. 100 ms"
tcp   = { profile = "linux", variant = "bbr" }

[[traffic]]
name  = "other"
kind  = "bulk"
from  = "left.1"
start = "0 s .. 100 ms"
count = 1
tcp   = { profile = "linux", variant = "cubic" }

[probes]
"""

#: The others, by what they are called; Linux's Reno has SACK.
OTHERS = {"CUBIC": "cubic", "Reno": "rfc6675"}
COUNT, BUFFER, VARIANT = "traffic.other.count", "network.core.buffer", "traffic.other.tcp.variant"
RATE_BPS, ROUND_TRIP_S, PACKET_B = 10e6, 0.040, 1500

ASSUMPTIONS = (
    Assumption(
        "Rate, round trip and buffer; the abstract names none, the author's account 10 Mbit/s and 32 BDP.",
        "10 Mbit/s and 40 ms; 8, 16 and 32 BDP are deep buffers.",
        "Public code that restates the model has 10 Mbit/s × 40 ms and 1 to 64 BDP. Which buffer the 40 % are of is "
        "not public, so every deep one is judged.",
    ),
    Assumption(
        "The hosts' kernel, of 2018 or 2019.",
        "Profile linux, packets one by one: Linux 6.18's BBR v1, CUBIC with HyStart, and Reno with SACK and RACK.",
        "docs/fidelity.md has it beside the kernel. Since 2019 BBR v1 has learnt to add what aggregated "
        "acknowledgements deliver to its cap.",
    ),
    Assumption(
        "How long flows run and when they start.",
        "Together, within 100 ms; 400 s are counted after 40 s.",
        "The model assumes flows that begin at once and are alike after they converge.",
    ),
)


def network(length: Length) -> Scenario:
    """One BBR flow and one CUBIC flow."""
    found = Scenario(tomllib.loads(DUMBBELL))
    return found.set("duration", "50 s").set("warmup", "20 s") if length.quick else found


def label(bdp: int) -> str:
    """A buffer as scenarios write it."""
    return f"{bdp} BDP"


def at(results: Results, variant: str, flows: int | None, bdp: int | None) -> Results:
    """Runs of one setting, by what the sweep has."""
    where = {VARIANT: variant}
    where |= {} if flows is None else {COUNT: str(flows)}
    where |= {} if bdp is None else {BUFFER: label(bdp)}
    return results.where(where)


def share(run: Result) -> float:
    """What the BBR flow has of all goodput."""
    flows = run.per_flow
    assert flows is not None
    rates = {str(name): float(value) for name, value in zip(flows["name"], flows["goodput_bps"], strict=True)}
    return sum(value for name, value in rates.items() if name.startswith("bbr")) / sum(rates.values())


def shares(results: Results) -> Mapping[int, float]:
    """By seed."""
    return {run.seed: share(run) for run in results}


def mean_share(results: Results) -> Interval:
    """Over seeds."""
    found = interval(shares(results).values())
    assert found is not None
    return found


def model(bdp: float, flows: int = 1) -> float:
    """The share of `flows` BBR flows over a buffer of `bdp` bandwidth-delay products, 0 to 1.

    Once it is limited by its cap, BBR has in flight 2 × its rate × the least round trip that it sees as it drains: that
    of the others' part p of the queue q, and of its own 4 packets a flow. So p = 1/2 − 1/(2 X) − 4 N / q, and nothing
    below 0. Every 10 s it drains, for the time of a full queue, 200 ms and a round trip.
    """
    queue = bdp * RATE_BPS * ROUND_TRIP_S / (8 * PACKET_B)
    others = max(0.0, 0.5 - 1 / (2 * bdp) - 4 * flows / queue)
    draining = (bdp * ROUND_TRIP_S + 0.2 + ROUND_TRIP_S) / 10
    return (1 - others) * (1 - draining)
