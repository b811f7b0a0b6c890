"""The test-bed of Fig. 1: four servers, four clients, one bottleneck; calls of 1 MB over kept connections."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from paceline.papers.claim import Assumption, Length, Runs
from paceline.results import Results
from paceline.scenario import Scenario

TESTBED = """\
title    = "Calls of 1 MB over one bottleneck of a data centre"
duration = "60 s"
warmup   = "10 s"
seed     = 1

[network]
template = "dumbbell"
core   = { rate = "1 Gbit/s", delay = "14.9 ms", buffer = "64 KB" }
access = { hosts = 4, rate = "900 Mbit/s .. 1 Gbit/s", delay = "50 us" }   # no two in step, see the assumptions

[[traffic]]
name     = "rpc"
kind     = "rpc"
from     = "right"                 # clients ask; the servers' answers cross the core forward
count    = 25                      # connections of each pair of hosts
request  = "20 B"
response = "1 MB"
start    = "0 s .. 1 s"

[traffic.tcp]
variant       = "cubic"
profile       = "linux"
rack          = false              # Linux of 2010: what came later is off
count_packets = false
max_window    = "694 packets"      # a call's 691 and three: to which it lets a window grow

[pacing]
method = "none"

[probes]
"""

#: The paper's two cases, and their labels in results.
METHODS = [{"method": "none"}, {"method": "host", "rule": "ideal"}]
NONE, PACED = "none", "host ideal"
#: Linux's own rule, for experiments.
LINUX = {"method": "host", "rule": "linux"}
LINUX_PACED = "host linux"

PACING, COUNT = "pacing", "traffic.rpc.count"
UTILISATION, LOSS = "links.core.utilisation", "links.core.loss_ratio"
FCT, FCT_P99 = "flows.fct_mean_s", "flows.fct_p99_s"
MS = 1e-3
PERCENT = 0.01
HOSTS = 4

PACER = Assumption(
    "The rule by which its Linux kernel paces.",
    "A packet each smoothed round trip over the window, in slow start too.",
    "The paper's own words (a window spread over an entire round trip), and its 63 ms: 2.1 round trips for a call. "
    "Linux's later rule, 1.2 to 2 times as fast, gives less; see why-linux under Fig. 2.",
)
WINDOW = Assumption(
    "How far a window grows that one call cannot fill.",
    "To 694 packets: the 691 of a call and three.",
    "Linux before 3.16 grows a window only while no more than three packets of it are unused (net/ipv4/tcp_cong.c, "
    "tcp_is_cwnd_limited, without segmentation offload, which a pacer of single packets rules out).",
)
IN_STEP = Assumption(
    "What keeps real hosts out of step.",
    "Access links between 900 Mbit/s and 1 Gbit/s, drawn for each host and seed.",
    "With 1 Gbit/s to the bit everywhere, packets of a host arrive exactly as the core's departures free a place: some "
    "unpaced flows never lose, others never recover (phase effects; Floyd and Jacobson 1992). Real hosts do not keep "
    "such time; see why-in-step under Fig. 4 to 6.",
)
KERNEL = Assumption(
    "The Linux of the day.",
    "CUBIC's constants since 2.6.25 (beta 0.7), HyStart, SACK, delayed acknowledgements, a least timeout of 200 ms "
    "beyond the round trip; growth by acknowledgements, not by packets, no probe before a timeout, no losses by time.",
    "Defaults of Linux about 2010: probes came with 3.10, growth by packets with 3.13, losses by time (RACK) with 4.4. "
    "Today's Linux: see why-today under Fig. 4 to 6.",
)
DURATION = Assumption(
    "Nothing: the paper runs 300 s.",
    "60 s of which 10 s are left out, with five seeds.",
    "Over 500 round trips; intervals over seeds are narrower than the differences that decide.",
)
ASSUMPTIONS = (PACER, WINDOW, IN_STEP, KERNEL, DURATION)


def network(length: Length, buffer_kb: int = 64, flows: int | None = None) -> Scenario:
    """`flows` connections in all, dealt evenly to the four pairs of hosts; 300 s of the paper cut to a minute."""
    scenario = Scenario(tomllib.loads(TESTBED)).set("network.core.buffer", f"{buffer_kb} KB")
    if length.quick:
        scenario = scenario.set("duration", "12 s").set("warmup", "4 s")
    return scenario if flows is None else with_flows(scenario, flows)


def with_flows(scenario: Scenario, flows: int) -> Scenario:
    """Any number of connections: the first pairs of hosts have one more than the others."""
    each, more = divmod(flows, HOSTS)
    scenario = scenario.set(COUNT, each)
    if not more:
        return scenario
    document = scenario.to_dict()
    first = document["traffic"][0]
    rest = first | {"name": "rpc-more", "count": 1, "from": [f"right.{host}" for host in range(more)]}
    return Scenario(document | {"traffic": [first, rest]})


def counts(flows: Sequence[int]) -> list[int]:
    """Connections of each pair of hosts, for a sweep of `flows` that four divides."""
    if any(number % HOSTS for number in flows):
        raise ValueError(f"{flows}: four pairs of hosts share them evenly")
    return [number // HOSTS for number in flows]


def flows_of(results: Results) -> list[int]:
    """Numbers of flows that a sweep ran, ascending."""
    return sorted({HOSTS * int(run.settings[COUNT]) for run in results})


def at(results: Results, pacing: str, flows: int) -> Results:
    """The runs of one case and number of flows."""
    return results.where({PACING: pacing, COUNT: str(flows // HOSTS)})


def there(runs: Runs, name: str) -> Results | None:
    """An experiment's runs; a quick look leaves experiments out."""
    return runs.get(name)
