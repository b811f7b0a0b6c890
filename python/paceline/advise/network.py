"""The network that a question is simulated on: a dumbbell, and how long a run must be.

Hosts hang on `edges` links, which meet the core. Round trips are laid out in groups, so that every seed has the whole
range of them; within a group they are drawn. A group's access links take what core and edges leave of its round trip.

Long flows begin near where they will be: slow start ends at four fifths of a fair share. Else thousands of flows that
overshoot together would take as long to settle as all that is measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from paceline.advise import words
from paceline.advise.question import Candidate, Question
from paceline.scenario import Scenario

#: Parts of the shortest one-way delay: of the core, and of an edge on either side.
_CORE, _EDGE, _CORE_ALONE = 0.3, 0.2, 0.5
_MOST_GROUPS = 8
#: Where slow start ends, of a flow's share.
_BEGIN = 0.8
#: Of so many flows none counts by itself.
_MANY = 100
#: With windows of fewer packets losses end in timeouts, which double from 0.2 s on: who gets what takes long to settle.
#: Few flows then fall into a pattern that lasts (some hold what fits, the others wait), many timeouts later.
_STARVED, _BACK_OFF_S, _PATTERN_S = 5.0, 1.5, 6.0
#: Flows of the smaller network that says where to look.
_SCOUT_FLOWS = 200
#: A run measures this many packets of the core at least, transfers of every user, and of all users: the 99th percentile
#: of their times is asked for, which five of 500 exceed. Few flows count for so many times as long as they settle.
_LEAST_PACKETS = 20_000
_LEAST_TRANSFERS, _ALL_TRANSFERS = 6, 500
_COUNTED = 2


@dataclass(frozen=True, slots=True)
class Length:
    """How long a run is, seconds: what passes before anything counts, and what is measured."""

    warmup_s: float
    window_s: float

    @property
    def duration_s(self) -> float:
        return self.warmup_s + self.window_s


def length_of(question: Question, buffer: int | None = None) -> Length:
    """Of a run with a buffer of so many packets; the largest that may be, unless given.

    A full buffer is counted into every round trip, and what it holds into windows. Three of the longest round trips
    and a sawtooth pass, two with few flows, of which each counts; then two sawteeth or sixteen mean round trips count,
    four sawteeth with few flows, and twice as long as what passed. Flows begin near their share, so that this is
    enough: benches/advise.py has runs that settle twice and count four times as long beside what such runs state.
    """
    held = min(question.buffers[-1] if buffer is None else buffer, question.bdp_packets * 4)
    wait = held * question.packet_bytes * 8 / question.rate_bps
    trip, longest = question.round_trip_s + wait, question.longest_s + wait
    period = _sawtooth_s(question, question.share_packets + held / question.flows, trip)
    times = 1 if question.flows >= _MANY else 2
    warmup = 3 * longest + times * period
    if question.size is None and question.share_packets + held / question.flows < _STARVED:
        settling = 2 * _BACK_OFF_S if question.flows >= _MANY else _PATTERN_S
        warmup, period = warmup + settling, max(period, _BACK_OFF_S)
    packets_s = question.rate_bps / 8 / question.packet_bytes
    window = max(2 * times * period, 16 * trip, _LEAST_PACKETS / packets_s)
    if question.size is not None:
        fair = min(question.rate_bps / question.flows, question.access_bps)
        each = mean_size(question.size) * 8 / fair + mean_time(question.think) + 4 * trip
        times_each = max(_LEAST_TRANSFERS, _ALL_TRANSFERS / question.flows)
        warmup, window = max(warmup, 2 * each), max(window, times_each * each)
    if question.flows < _MANY:
        window = max(window, _COUNTED * warmup)
    if any("bbr" in str(tcp.get("variant")) for _, tcp in question.tcp):
        warmup, window = warmup + 10.0, max(window, 10.0)  # it looks for the least round trip every ten seconds
    return Length(_rounded(warmup), _rounded(window))


def _sawtooth_s(question: Question, window: float, trip: float) -> float:
    """How long a window takes from one loss to the next, about: Reno's W/2 round trips, or CUBIC's K."""
    window = max(window, 2.0)
    reno = window / 2 * trip
    cubic = (window * 0.3 / 0.4) ** (1 / 3)  # RFC 9438, section 4.2: K, with beta 0.7 and C 0.4
    is_cubic = all(tcp.get("variant", "cubic") in ("cubic", "bic") for _, tcp in question.tcp)
    return min(reno, cubic) if is_cubic else reno


def hosts_by_group(question: Question) -> list[int]:
    """Hosts of each group of round trips, on each edge."""
    each = max(1, round(question.flows / max(question.edges, 1)))
    groups = _groups(question)
    base, more = divmod(each, len(groups))
    return [base + (number < more) for number in range(len(groups))]


def simulated_flows(question: Question) -> int:
    """Flows that there are, once they are dealt out to edges."""
    return sum(hosts_by_group(question)) * max(question.edges, 1)


def scenario_of(question: Question, candidate: Candidate, length: Length | None = None) -> Scenario:
    """The scenario of one setting."""
    length = length or length_of(question, candidate.buffer)
    shortest = min(low for low, _ in question.round_trips_s) / 2
    core = shortest * (_CORE if question.edges else _CORE_ALONE)
    edge = shortest * _EDGE if question.edges else 0.0
    access = []
    for count, (low, high) in zip(hosts_by_group(question), _groups(question), strict=True):
        ends = [max((trip / 2 - core - 2 * edge) / 2, 0.0) for trip in (low, high)]
        delay = _ns(ends[0]) if _ns(ends[0]) == _ns(ends[1]) else f"{_ns(ends[0])} .. {_ns(ends[1])}"
        group = {"per_edge" if question.edges else "hosts": count, "rate": _rate(question.access_bps), "delay": delay}
        if count:
            access.append(group)
    network: dict[str, Any] = {
        "template": "dumbbell",
        "core": {"rate": _rate(question.rate_bps), "delay": _ns(core), "buffer": f"{candidate.buffer} packets"},
        "access": access,
    }
    if candidate.queue != "drop-tail":
        network["core"]["queue"] = candidate.queue
    if question.edges:
        network["edge"] = {"count": question.edges, "rate": _rate(question.rate_bps), "delay": _ns(edge)}
    document = {
        "title": f"{words.setting(candidate, question.queues)}: {_rate(question.rate_bps)}, {question.flows} flows",
        "duration": _ns(length.duration_s),
        "warmup": _ns(length.warmup_s),
        "seed": question.seed,
        "network": network,
        "traffic": _traffic(question),
        "pacing": candidate.pacing.value,
        "probes": {},
    }
    return Scenario(document)


def _traffic(question: Question) -> list[dict[str, Any]]:
    start = f"0 s .. {_ns(max(question.round_trip_s * 2, 1e-6))}"
    tables = []
    names: list[list[str]] = [[] for _ in question.tcp]
    if len(question.tcp) > 1:
        owed = [0.0] * len(question.tcp)
        for host in range(simulated_flows(question)):
            owed = [sum_ + share for sum_, (share, _) in zip(owed, question.tcp, strict=True)]
            most = max(range(len(owed)), key=owed.__getitem__)
            owed[most] -= 1
            names[most].append(f"left.{host}")
    for hosts, (_, tcp) in zip(names, question.tcp, strict=True):
        if len(question.tcp) > 1 and not hosts:
            continue
        table: dict[str, Any] = {"start": start, "tcp": dict(tcp)}
        if question.size is None:
            table["kind"] = "bulk"
            if "bbr" not in str(tcp.get("variant")):
                begin = max(2, round(_BEGIN * question.share_packets))
                table["tcp"] = {"initial_ssthresh": f"{begin} packets"} | table["tcp"]
        else:
            table |= {"kind": "closed-loop", "size": question.size, "think": question.think}
        tables.append(table | ({"from": hosts, "name": str(tcp.get("variant", "tcp"))} if hosts else {}))
    return tables


def smaller(question: Question) -> Question | None:
    """A network of some hundred flows, each with the same share of the core; ``None`` where that is no smaller by half.

    What a buffer of some packets does to many flows hangs on their share, and hardly on how many they are (Raina,
    Towsley and Wischik 2005, theory.small_buffer_tcp). It says where to look in the large network, and nothing else.
    """
    if question.flows < 2 * _SCOUT_FLOWS:
        return None
    scale = _SCOUT_FLOWS / question.flows
    edges = min(question.edges, _SCOUT_FLOWS // 10)
    return replace(question, flows=_SCOUT_FLOWS, rate_bps=question.rate_bps * scale, edges=edges)


def mean_size(size: Any) -> float:
    """Bytes, of a size that is drawn; of a Pareto, its mean or a multiple of its least."""
    return _mean(size, "size")


def mean_time(time: Any) -> float:
    """Seconds."""
    return _mean(time, "time") * 1e-9


def _mean(value: Any, kind: str) -> float:
    from paceline import _core

    if isinstance(value, Mapping):
        inner = next(iter(value.values()))
        if isinstance(inner, Mapping):
            shape = float(inner.get("shape", 2.0))
            times = 1.0 if "mean" in inner else shape / max(shape - 1, 0.1)
            return times * _mean(inner.get("mean", inner.get("min", "1 B")), kind)
        return _mean(inner, kind)
    ends = [_core.quantity(kind, part.strip()) for part in str(value).split("..")]
    return sum(ends) / len(ends)


def _groups(question: Question) -> list[tuple[float, float]]:
    """Round trips as so many groups as an edge has hosts, eight at most: of more, those at equal quantiles."""
    each = max(1, round(question.flows / max(question.edges, 1)))
    ranges = list(question.round_trips_s)
    wanted = min(_MOST_GROUPS, each)
    if len(ranges) == 1:
        (low, high) = ranges[0]
        if low == high:
            return ranges
        step = (high - low) / wanted
        return [(low + step * number, low + step * (number + 1)) for number in range(wanted)]
    if len(ranges) <= each:
        return ranges
    ranges.sort()
    if wanted == 1:
        return [(ranges[0][0], ranges[-1][1])]  # the one host of an edge has any of them
    return [ranges[int((number + 0.5) * len(ranges) / wanted)] for number in range(wanted)]


def _rounded(seconds: float) -> float:
    """Up to two digits: a scenario is to be read."""
    step = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return math.ceil(seconds / step - 1e-9) * step


def _ns(seconds: float) -> str:
    nanoseconds = round(seconds * 1e9)
    for factor, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if nanoseconds >= factor and nanoseconds * 10**4 % factor == 0:
            return f"{nanoseconds / factor:.10g} {unit}"
    return f"{nanoseconds} ns"


def _rate(bps: float) -> str:
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= factor:
            return f"{bps / factor:.10g} {unit}"
    return f"{bps:.10g} bit/s"
