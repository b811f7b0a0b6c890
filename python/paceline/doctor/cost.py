"""What a run is expected to cost: packets, processor time, memory. Good to a factor of two or three.

Processor time is by packets sent: `PACKET_NS`, and `HOP_NS` for each link on its way and its acknowledgement's. Many
flows miss the processor's caches: a thousand cost 1.4 times as much for a packet, ten thousand four times. A pacer on
a link makes it half as much again. Fitted to the scenarios shipped, on the machine of README's table; `make bench`
measures yours.
"""

from __future__ import annotations

from dataclasses import dataclass

from paceline.doctor.case import Case

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
        packets: data packets delivered.
        cpu_s: processor time.
        memory_bytes: at its largest, the process included.
    """

    packets: float
    cpu_s: float
    memory_bytes: float


def expected_cost(case: Case) -> Cost:
    """An estimate from the shares that flows are expected to have."""
    end = case.network.duration_s
    packets = nanos = 0.0
    crowd = 1 + 0.4 * (len(case.network.flows) / 1000) ** 0.9
    for flow, rate in zip(case.network.flows, case.expected.rate_bps, strict=True):
        sent = rate * max(0.0, min(end, flow.stop_s) - flow.start_s) / 8 / flow.packet_bytes
        if flow.packets is not None:
            sent = min(sent, flow.packets)
        paced = any(case.network.links[link].pacer for link in flow.forward)
        packets += sent
        hops = len(flow.forward) + len(flow.reverse)
        nanos += sent * (PACKET_NS + HOP_NS * hops) * (LINK_PACER if paced else 1.0)
    return Cost(packets, nanos * crowd * 1e-9, PROCESS_BYTES + FLOW_BYTES * len(case.network.flows))
