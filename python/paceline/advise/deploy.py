"""How to set what is advised: a router's buffer in each of its units, and the pacer on Linux.

Sources: tc(8), tc-fq(8), tc-pfifo(8), tc-codel(8) and their kin of iproute2; docs/dataplane.md for `paceline pace`.
"""

from __future__ import annotations

from paceline.advise import words
from paceline.advise.question import Candidate, Question

#: Where Linux has the like of a queue discipline: its name in tc, and its limit.
_TC = {"codel": "codel", "fq-codel": "fq_codel", "pie": "pie", "red": "red", "dualpi2": "dualpi2"}


class Command(str):
    """A line to type, or to write into a file; all others are words."""

    __slots__ = ()


def deployment(question: Question, best: Candidate) -> list[tuple[str, list[str]]]:
    """Each part by its title, and its lines."""
    parts = [("The buffer of the core", _buffer(question, best.buffer))]
    parts.append(
        (
            f"The queue on Linux (where the core is a Linux box, behind a shaper of {_bit(question.rate_bps)})",
            _queue(question, best),
        )
    )
    if pacer := _pacer(best):
        parts.append(("The pacer", pacer))
    return parts


def _buffer(question: Question, count: int) -> list[str]:
    held = count * question.packet_bytes
    wait = held * 8 / question.rate_bps
    return [
        f"{words.packets(count)} of {question.packet_bytes} B; {held} bytes; {words.time(wait)} at "
        f"{words.rate(question.rate_bps)}.",
        "A limit in packets counts short packets as long ones: with many acknowledgements in the same queue it "
        "holds fewer bytes.",
        f"A limit in bytes may count 1 KB as 1024 B or as 1000 B ({held / 1000:.4g} or {held / 1024:.4g} here), "
        "and some count "
        "cells (64 to 256 B each, the last one padded) or frames with preamble and gap (20 B more).",
        "A limit in microseconds is of the port's rate, or of the queue's share of it: a shaped or scheduled "
        "queue holds less.",
        "It is what may wait in this queue, beside the packet on the wire and a driver's or a fabric's own "
        "queue: these add to it.",
        "Where ports share a memory, this is the queue's own limit (a static one, or what the dynamic threshold "
        "leaves).",
    ]


def _queue(question: Question, best: Candidate) -> list[str]:
    return [
        Command("tc qdisc replace dev eth1 root handle 1: htb default 1"),
        Command(f"tc class replace dev eth1 parent 1: classid 1:1 htb rate {_bit(question.rate_bps)}"),
        *_discipline(best),
    ]


def _discipline(best: Candidate) -> list[str]:
    if best.queue in ("drop-tail", "drop-front"):
        kind = "pfifo" if best.queue == "drop-tail" else "pfifo_head_drop"
        return [
            Command(f"tc qdisc replace dev eth1 parent 1:1 {kind} limit {best.buffer}"),
            "Its driver's ring and byte queue limits (BQL) hold packets beside this; a shaper (HTB) slower than "
            "the port keeps "
            "them empty.",
        ]
    if best.queue in _TC:
        return [
            Command(f"tc qdisc replace dev eth1 parent 1:1 {_TC[best.queue]} limit {best.buffer}"),
            "CAKE is the like of fq-codel with a shaper of its own, in the place of all three: "
            "tc qdisc replace dev eth1 root cake bandwidth …",
        ][: 2 if best.queue == "fq-codel" else 1]
    return [f"tc has nothing like {best.queue} by that name."]


def _pacer(best: Candidate) -> list[str]:
    method = best.pacing.method
    if method == "none":
        return []
    if method in ("host", "port"):
        return [
            "On every sending host:",
            Command("tc qdisc replace dev eth0 root fq"),
            "fq spreads what TCP sends at the socket's pacing rate (net.ipv4.tcp_pacing_ca_ratio, 120 % of "
            "cwnd/srtt); keep it "
            "across boots with: sysctl -w net.core.default_qdisc=fq",
            "A cap for each flow, where one is wanted: fq maxrate …; BBR paces by itself, with fq or without.",
            "GSO sends trains of up to 64 KB through fq: see what the table of changes says of it.",
        ]
    flags = _flags(best)
    return [
        "On each edge, between its hosts (eth1) and the core (eth2):",
        Command(f"paceline pace --in eth1 --out eth2 {flags}"),
        "As a service: these lines as /etc/paceline/pace.toml, then systemctl enable --now paceline-pace:",
        *map(Command, ('in = "eth1"', 'out = "eth2"', "[forward]")),
        *(Command(f'{name} = "{value}"') for name, value in _parameters(best)),
        "Linux has no qdisc with a delay bound. Near to it: tc … tbf rate … burst …, which shapes to a rate that "
        "must be known.",
    ]


def _parameters(best: Candidate) -> list[tuple[str, str]]:
    """The method and its parameters as `paceline pace` takes them."""
    kept = {key: str(one) for key, one in best.pacing.parameters.items() if key not in ("at", "acks", "share")}
    found = [("method", best.pacing.method), *kept.items()]
    return [(key.replace("_", "-"), text.replace(" ", "")) for key, text in found]


def _flags(best: Candidate) -> str:
    return " ".join(f"--{name} {value}" for name, value in _parameters(best))


def _bit(bps: float) -> str:
    """A rate as tc has it: ``10gbit``."""
    for factor, unit in ((1e9, "gbit"), (1e6, "mbit"), (1e3, "kbit")):
        if bps >= factor:
            return f"{bps / factor:g}{unit}"
    return f"{bps:g}bit"
