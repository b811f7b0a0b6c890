"""What may be tried where a question does not say, and what theory proposes.

Theory says where to look first, and stands beside the answer; runs decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from paceline.advise.measures import shortfall
from paceline.advise.question import Question

#: Steps of a decade of buffers, as E6's.
_STEPS = (1, 1.5, 2, 3, 5, 7)
#: Delay bounds of edge pacing, of the mean round trip.
_DELAYS = (0.01, 0.05, 0.2)
#: An unpaced window comes in bursts of about so many packets, which a small buffer counts as one.
_UNPACED_BURST = 2.0


@dataclass(frozen=True, slots=True)
class Rule:
    """What one rule of the literature says.

    Attributes:
        name: of the rule. packets: of buffer. about: when it holds. source: where it is from.
    """

    name: str
    packets: float
    about: str
    source: str


def buffer_steps(low: float, high: float) -> tuple[int, ...]:
    """Packets from `low` to `high`, six a decade, both ends among them."""
    first, last = max(1, round(low)), max(1, round(high))
    found = {first, last}
    for decade in range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1):
        found |= {round(step * 10**decade) for step in _STEPS if first < step * 10**decade < last}
    return tuple(sorted(found))


def default_buffers(bdp_packets: float) -> tuple[int, ...]:
    """From five packets to one bandwidth-delay product, or twenty packets if that is less."""
    return buffer_steps(5, max(20.0, bdp_packets))


def default_pacings(round_trip_s: float) -> list[str]:
    """None, at the hosts, and at the edges with three delay bounds."""
    return ["none", "host", *(f"edge {_round_time(share * round_trip_s)}" for share in _DELAYS)]


def _round_time(seconds: float) -> str:
    """To one digit of 1, 2, 5."""
    decade = 10.0 ** math.floor(math.log10(seconds))
    step = min((1, 2, 5, 10), key=lambda one: abs(math.log(one * decade / seconds)))
    nanoseconds = round(step * decade * 1e9)
    for factor, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:g} {unit}"
    return f"{max(nanoseconds, 1)} ns"


def rules(question: Question) -> list[Rule]:
    """The rules of thumb for a buffer, and the fluid model of many flows over a small one, packets."""
    from paceline import theory

    size = question.packet_bytes
    rate, trip, flows = question.rate_bps, question.round_trip_s, question.flows
    many = "many flows that do not keep step"
    found = [
        Rule("BDP", question.bdp_packets, "one flow, or flows that lose together", "Villamizar and Song 1994"),
        Rule(
            "BDP/√n",
            float(theory.buffer_rules.many_flows(rate, trip, flows)) / size,
            many,
            "Appenzeller, Keslassy, McKeown 2004",
        ),
        Rule(
            "0.63 BDP/√n",
            float(theory.buffer_rules.uniform_windows(rate, trip, flows)) / size,
            many,
            "Wischik, McKeown 2005",
        ),
    ]
    demand = flows * question.access_bps / rate
    if demand < 1:
        window = max(question.share_packets, 2.0)
        tiny = float(theory.buffer_rules.tiny_packets(window, demand, 0.9))
        found.append(Rule("O(log W)", tiny, "paced flows that cannot fill the link", "Enachescu et al. 2006"))
    elif question.size is None and (fluid := least_fluid(question, 1.0)) is not None:
        source = "Raina, Towsley, Wischik 2005"
        found.append(Rule("fluid model", fluid, "many paced Reno flows over a small buffer", source))
    return found


def least_fluid(question: Question, burst: float) -> float | None:
    """Packets that the fluid model asks for to keep the bounds of utilisation and loss; ``None`` where none do."""
    from paceline.theory import small_buffer_tcp

    bounds = [one for one in question.bounds if one.measure in ("utilisation", "loss")]
    if not bounds:
        return None

    def keeps(packets: float) -> bool:
        rest = small_buffer_tcp.rest(max(question.share_packets, 0.1), packets / burst)
        values = {"utilisation": rest.utilisation, "loss": rest.loss}
        return all(shortfall(one, values[one.measure]) <= 0 for one in bounds)

    most = max(question.bdp_packets, 20.0)
    if not keeps(most):
        return None
    low, high = 1.0, most
    while high / low > 1.05:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def first_buffers(question: Question) -> list[int]:
    """Places in `question.buffers` that theory names, and the ends of what may be."""
    proposed = [rule.packets for rule in rules(question) if rule.packets > 0]
    return sorted({0, len(question.buffers) - 1, *(_nearest(question, packets) for packets in proposed)})


def likely_buffer(question: Question, method: str) -> int:
    """The place in `question.buffers` where theory expects the least that does under a pacing method."""
    fluid = least_fluid(question, _UNPACED_BURST if method == "none" else 1.0)
    demand = question.flows * question.access_bps / question.rate_bps
    packets = fluid if fluid is not None and demand >= 1 else rules(question)[2].packets
    return _nearest(question, packets)


def _nearest(question: Question, packets: float) -> int:
    buffers = question.buffers
    return min(range(len(buffers)), key=lambda place: abs(math.log(buffers[place] / max(packets, 0.5))))
