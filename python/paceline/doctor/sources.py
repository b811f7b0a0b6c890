"""What each flow wants to send, whatever the network does: messages, pauses, rates, as arrays over the flows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.doctor.transfer_times import Array, Senders
from paceline.scenario.distributions import Distribution
from paceline.scenario.resolved_network import Flow, Network, Tcp

#: Variants that repair several losses of a window at once.
_REPAIRS = ("newreno", "sack1", "rfc6675", "fack", "bic", "cubic", "dctcp", "prague")
#: Messages that one flow is taken to draw sizes for, at most, where nothing limits them: only tails hang on it.
_MANY = 1e6


@dataclass(slots=True)
class Sources:
    """Flows as arrays.

    Attributes:
        tcp: whether it has feedback.
        senders: what the connections bring along; of flows without feedback, anything.
        start: seconds.
        end: when it stops at the latest; the end of the run as a rule.
        rate: packets a second of a flow without feedback, while it sends.
        packets: data packets of a message; infinite for a transfer without end.
        payload: a full packet's on the wire, bytes.
        bytes: on the wire, of a message's packet on average.
        messages: so many at most.
        pause: before a message, seconds.
        pauses_first: the first message waits too.
        fresh: a connection for each message.
        rests: the window falls back where it pauses longer than a timeout.
        one_way: a message is over when it is there; else when that is known.
        other: the flow whose messages take turns with this one's, or itself.
        held: what the last acknowledgement of a message waits on average.
        ack_bytes: of acknowledgements, for each data packet.
        acks: packets of them, for each data packet.
    """

    tcp: npt.NDArray[np.bool_]
    senders: Senders
    start: Array
    end: Array
    rate: Array
    packets: Array
    bytes: Array
    messages: Array
    pause: Array
    pauses_first: npt.NDArray[np.bool_]
    fresh: npt.NDArray[np.bool_]
    rests: npt.NDArray[np.bool_]
    one_way: npt.NDArray[np.bool_]
    other: npt.NDArray[np.int64]
    held: Array
    ack_bytes: Array
    acks: Array

    @classmethod
    def of(cls, network: Network, draws: Array | None = None) -> Sources:
        """Those of a network; `draws` is how many messages each flow is expected to say, for what it draws."""
        flows = network.flows
        rows = [
            _row(network, number, math.inf if draws is None else float(draws[number])) for number in range(len(flows))
        ]
        columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}
        names = Senders.__slots__
        senders = Senders(*(columns.pop(name) for name in names))
        return cls(senders=senders, **columns)


def _row(network: Network, number: int, draws: float) -> dict[str, float | bool | int]:
    flow = network.flows[number]
    tcp, dialogue = flow.tcp, flow.dialogue
    row: dict[str, float | bool | int] = {
        "tcp": tcp is not None,
        "start": flow.start_s,
        "end": min(network.duration_s, flow.stop_s),
        "rate": 0.0,
        "packets": math.inf,
        "bytes": float(flow.packet_bytes),
        "messages": 1.0,
        "pause": 0.0,
        "pauses_first": False,
        "fresh": True,
        "rests": False,
        "one_way": False,
        "other": number,
        "held": 0.0,
        "ack_bytes": 0.0,
        "acks": 0.0,
        **_sender(flow),
    }
    if tcp is None:
        row |= _open_loop(flow)
        return row
    header = tcp.data_bytes - tcp.payload_bytes
    row |= _acks(tcp, math.inf)
    if flow.packets is not None and dialogue is None:
        row["packets"] = float(flow.packets)
        row |= _acks(tcp, float(flow.packets))
    if dialogue is None:
        return row
    size = _mean(dialogue.size, draws)
    packets = _packets(dialogue.size, size, tcp.payload_bytes)
    odd = packets % 2 if not dialogue.size.random else 0.5
    row |= {
        "packets": packets,
        "bytes": header + min(size / packets, tcp.payload_bytes),
        "messages": float(dialogue.most if dialogue.most is not None else math.inf),
        "pause": _mean(dialogue.pause, draws),
        "pauses_first": dialogue.kind == "cvec",
        "fresh": dialogue.new_connections,
        "rests": tcp.idle_restart != "keep",
        "one_way": dialogue.kind != "closed-loop",
        **_acks(tcp, packets),
        "held": tcp.delayed_ack_s * odd if dialogue.kind == "closed-loop" and not tcp.quick_acks else 0.0,
    }
    if not dialogue.is_concurrent and dialogue.kind != "closed-loop":
        row["other"] = number + 1 if dialogue.opens else number - 1
    return row


def _acks(tcp: Tcp, packets: float) -> dict[str, float]:
    """For each data packet of a message: one in `ack_every` is acknowledged, or each, and the last at any rate."""
    acks = tcp.acks_a_packet
    if tcp.delayed_ack_s and not math.isinf(packets):
        acks = math.ceil(packets / tcp.ack_every) / packets
    return {"acks": acks, "ack_bytes": acks * tcp.ack_bytes}


def _sender(flow: Flow) -> dict[str, float | bool]:
    tcp = flow.tcp
    if tcp is None:
        return dict(zip(Senders.__slots__, (1.0, 1.0, 1.0, 2.0, False, False, 0.0, 1.0, 1.0, 60.0), strict=True))
    return {
        "initial": float(min(tcp.initial_window, tcp.max_window)),
        "most": float(tcp.max_window),
        "threshold": float(tcp.initial_ssthresh),
        "growth": 1.6 if tcp.delayed_ack_s else 2.0,
        "cubic": tcp.variant in ("cubic", "bic"),
        "repairs": tcp.variant in _REPAIRS,
        "opens": 0.0 if tcp.syn_bytes is None else 1.0,
        "first_timeout": tcp.initial_rto_s,
        "least_timeout": tcp.min_rto_s,
        "most_timeout": tcp.max_rto_s,
    }


def _open_loop(flow: Flow) -> dict[str, float]:
    if flow.replay is not None:
        lasts = max(flow.replay.lasts_s, 1e-9)
        mean = flow.replay.bytes / flow.replay.packets
        end = min(flow.stop_s, flow.start_s + flow.replay.lasts_s)
        return {"rate": flow.replay.packets / lasts, "bytes": mean, "end": end}
    return {"rate": (flow.rate_bps or 0.0) / 8 / flow.packet_bytes}


def _mean(drawn: Distribution, draws: float) -> float:
    return drawn.mean(min(draws, _MANY))


def _packets(drawn: Distribution, mean: float, payload: int) -> float:
    """Mean number of packets: sizes are rounded up."""
    if not drawn.random:
        return float(max(1, math.ceil(mean / payload)))
    if drawn.shape == "exponential":
        return 1 / -math.expm1(-payload / mean)
    return max(1.0, mean / payload + 0.5)
