"""What a run is expected to cost: packets, processor time, memory. Good to a factor of two or three.

Processor time is by packets sent: `PACKET_NS`, and `HOP_NS` for each link that a packet or an acknowledgement reaches.
Many flows miss the processor's caches: a thousand cost 1.4 times as much for a packet, ten thousand four times. A pacer
on a link makes it half as much again. Fitted to the scenarios shipped, on the machine of README's table; `make bench`
measures yours.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from paceline.doctor.case import Case
from paceline.scenario.run_estimate import remembered_estimate_of

PACKET_NS = 80.0
HOP_NS = 22.0
LINK_PACER = 1.5
#: Of a process that runs one, and of a flow with its hosts and links.
PROCESS_BYTES = 60e6
FLOW_BYTES = 15e3


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run.

    Attributes:
        packets: data packets that leave the core.
        sent: data packets of all flows.
        hops: packets that reach a link, data and acknowledgements, each link counted: what there is to do.
        cpu_s: processor time.
        memory_bytes: at its largest, the process included.
        most_bytes: what it may take at most, beside the process.
    """

    packets: float
    sent: float
    hops: float
    cpu_s: float
    memory_bytes: float
    most_bytes: float


def expected_cost(case: Case) -> Cost:
    """An estimate from what flows are foreseen to send."""
    foreseen = case.forecast
    crowd = 1 + 0.4 * (len(case.network.flows) / 1000) ** 0.9
    nanos = 0.0
    for flow, sent in zip(case.network.flows, foreseen.sent, strict=True):
        paced = any(case.network.links[link].pacer for link in flow.forward)
        nanos += float(sent) * PACKET_NS * (LINK_PACER if paced else 1.0)
    hops = float(foreseen.arrived.sum())
    nanos += hops * HOP_NS
    memory = PROCESS_BYTES + FLOW_BYTES * len(case.network.flows)
    most = remembered_estimate_of(json.dumps(case.document)).memory_bytes
    return Cost(foreseen.core_packets, float(foreseen.sent.sum()), hops, nanos * crowd * 1e-9, memory, most)
