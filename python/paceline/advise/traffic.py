"""What a capture says of a network's traffic: flows or users, sizes, pauses, round trips, packets and the rate.

Connections are read by the core (``crates/analysis/src/connections.rs``); this makes keys of a question of them:

- a flow lasts whose data span half the capture; where such carry half of all data, as many flows last as did at a time;
- else every pair of addresses is a user, who fetches files (transfers) and thinks in between; of sizes and pauses the
  mean is kept, and by how much they spread, whether they are alike, drawn from a range, exponential or Pareto;
- a round trip is the least of a connection, by timestamps or the handshake;
- the rate is the most that a second carried: a capture does not say what the link could have.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paceline import _core
from paceline.advise import words
from paceline.errors import InputError

#: A flow that lasts has data over this share of the capture, and such flows carry this share of the data.
_LASTS, _MOSTLY = 0.5, 0.5
#: Round trips of a question: those at so many equal quantiles.
_TRIPS = 8
#: Deviations over the mean up to which values are alike, of a range, and exponential; beyond, they are Pareto.
_ALIKE, _RANGE, _EXPONENTIAL = 0.05, 0.58, 1.3
#: The most data of a packet that no offload has merged, bytes: of a jumbo frame.
_WHOLE = 8960
#: Data that begin or end so near to the capture's own ends may have been under way there, s.
_CUT_S = 0.2
#: What timestamps take of a segment, bytes.
_TIMESTAMPS = 12


@dataclass(frozen=True, slots=True)
class Traffic:
    """What was found.

    Attributes:
        tables: keys of a question. said: sentences of what they rest on.
    """

    tables: dict[str, Any]
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Transfer:
    pair: tuple[str, str]
    start_s: float
    end_s: float
    size: int
    trip_s: float | None
    #: From the first packet of its connection, where it is the first transfer of one.
    asked_s: float
    is_whole: bool


def traffic_of(path: str | os.PathLike[str]) -> Traffic:
    """Reads a capture. Raises `InputError` where it cannot be read, or has no TCP."""
    name = os.fsdecode(path)
    try:
        found = json.loads(_core.connections(name))
    except _core.InputError as error:
        raise InputError(f"from: {name}: {error}") from None
    if not found["segments"]:
        raise InputError(f"from: {name} has no TCP in its {found['packets']} packets; give a capture of TCP traffic")
    connections = _of_one_interface([one for one in found["connections"] if one["payload"]])
    if not connections:
        raise InputError(f"from: {name} has no data on TCP, only {found['segments']} segments without any")
    duration = max(found["duration_s"], 1e-6)
    tables, said = _kind(connections, duration)
    trips = [trip for one in connections if (trip := _round_trip(one)) is not None]
    if trips:
        tables["rtt"] = _quantiles(trips)
        how = "timestamps" if any(one["echo_s"] is not None for one in connections) else "handshakes"
        span = f"{words.time(min(trips))} to {words.time(max(trips))}" if len(trips) > 1 else words.time(trips[0])
        said.append(
            f"Round trips: {span}, by {how} of {len(trips)} of {len(connections)} connections, the least of each."
        )
    if payload := _payload(connections):
        tables["payload"] = payload
    tables["rate"] = peak = _rate(name, found, connections)
    said.append(
        f"Rate: {peak} is the most that the capture carried in a second; what the link could carry it does not say "
        "(--rate does)."
    )
    if found["broken"]:
        said.append(f"The capture breaks off: {found['broken']['problem']}.")
    if found["beyond"]:
        said.append(f"{found['beyond']} segments of further connections were left out.")
    return Traffic(tables, tuple(said))


def _of_one_interface(connections: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of the interface with the most data: what passes two is captured twice."""
    carried: dict[int, int] = defaultdict(int)
    for one in connections:
        carried[one["interface"]] += one["payload"]
    most = max(carried, key=lambda number: carried[number], default=0)
    return [one for one in connections if one["interface"] == most]


def _round_trip(one: Mapping[str, Any]) -> float | None:
    return min((value for value in (one["echo_s"], one["handshake_s"]) if value), default=None)


def _kind(connections: Sequence[Mapping[str, Any]], duration: float) -> tuple[dict[str, Any], list[str]]:
    """Flows that last, or users."""
    lasting = [one for one in connections if _span(one) >= _LASTS * duration]
    carried, by_lasting = (sum(one["payload"] for one in some) for some in (connections, lasting))
    if by_lasting >= _MOSTLY * carried:
        flows = _at_a_time([(one["transfers"][0][0], one["transfers"][-1][1]) for one in lasting])
        said = f"Traffic of the capture: {flows} flows at a time last"
        rest = len(connections) - len(lasting)
        if rest:
            said += f"; {rest} that do not, with {(1 - by_lasting / carried) * 100:.2g} % of the data, are left out"
        return {"flows": flows}, [f"{said}."]
    transfers = [transfer for one in connections for transfer in _transfers(one, duration)]
    transfers = [one for one in transfers if one.is_whole] or transfers
    users, pauses = _users(transfers)
    sizes = [one.size for one in transfers]
    size, think = _drawn([float(one) for one in sizes], "B"), _drawn(pauses, "us")
    tables: dict[str, Any] = {"flows": users, "size": size}
    mean = words.size(statistics.fmean(sizes))
    said = f"Traffic of the capture: {users} users, {len(sizes)} transfers of {mean} in the mean"
    if pauses and statistics.fmean(pauses) > 0:
        tables["think"] = think
        said += f", {words.time(statistics.fmean(pauses) * 1e-6)} between two"
    return tables, [f"{said}."]


def _span(one: Mapping[str, Any]) -> float:
    """Of its longest transfer."""
    return max(float(end - start) for start, end, _ in one["transfers"])


def _at_a_time(spans: Sequence[tuple[float, float]]) -> int:
    """How many there are for half of the time that any is there."""
    moves = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    lasted: dict[int, float] = defaultdict(float)
    count, before = 0, moves[0][0]
    for at, change in moves:
        lasted[count] += at - before
        count, before = count + change, at
    half, passed = sum(lasted.values()) / 2, 0.0
    for many in sorted(lasted):
        passed += lasted[many]
        if passed >= half:
            return max(many, 1)
    return len(spans)


def _transfers(one: Mapping[str, Any], duration: float) -> list[_Transfer]:
    """A connection's; whole are those of which the capture has both ends."""
    pair = (_host(one["source"]), _host(one["destination"]))
    trip = _round_trip(one)
    found = []
    for number, (start, end, size) in enumerate(one["transfers"]):
        if size:
            asked = one["start_s"] if number == 0 and one["opened"] else start
            is_first, is_last = number == 0, number == len(one["transfers"]) - 1
            begun = is_first and not one["opened"] and start < _CUT_S
            going_on = is_last and not one["closed"] and end > duration - _CUT_S
            found.append(_Transfer(pair, start, end, size, trip, asked, not begun and not going_on))
    return found


def _host(endpoint: str) -> str:
    return endpoint.rpartition(":")[0]


def _users(transfers: Sequence[_Transfer]) -> tuple[int, list[float]]:
    """How many there are, and their pauses, us: of a pair of addresses, as many as have transfers at a time."""
    by_pair: dict[tuple[str, str], list[_Transfer]] = defaultdict(list)
    for one in transfers:
        by_pair[one.pair].append(one)
    users, pauses = 0, []
    for own in by_pair.values():
        own.sort(key=lambda one: one.asked_s)
        free: list[float] = []
        for one in own:
            end = one.end_s + (one.trip_s or 0.0)
            ready = [at for at in free if at <= one.asked_s]
            if ready:
                last = max(ready)
                pauses.append((one.asked_s - last) * 1e6)
                free.remove(last)
            free.append(end)
        users += len(free)
    return users, pauses


def _drawn(values: Sequence[float], unit: str) -> Any:
    """A size or a time as a scenario draws it, by mean and deviation."""
    if not values:
        return f"0 {unit}"
    mean = statistics.fmean(values)
    spread = statistics.pstdev(values) / mean if mean else 0.0
    text = f"{max(round(mean), 1)} {unit}"
    if spread <= _ALIKE:
        return text
    if spread <= _RANGE:
        off = math.sqrt(3) * spread * mean
        return {"uniform": f"{max(round(mean - off), 1)} {unit} .. {round(mean + off)} {unit}"}
    if spread <= _EXPONENTIAL:
        return {"exponential": text}
    # of shape a, deviation over mean is 1 / sqrt(a (a - 2))
    return {"pareto": {"mean": text, "shape": round(1 + math.sqrt(1 + 1 / spread**2), 2)}}


def _quantiles(trips: Sequence[float]) -> list[str]:
    ordered = sorted(trips)
    count = min(_TRIPS, len(ordered))
    chosen = [ordered[int((number + 0.5) * len(ordered) / count)] for number in range(count)]
    return [f"{max(round(one * 1e6), 1)} us" for one in chosen]


def _payload(connections: Sequence[Mapping[str, Any]]) -> int | None:
    """Data of a full packet: what SYNs allow, else the largest seen; ``None`` where packets were merged."""
    allowed = [one["mss"] - _TIMESTAMPS * one["timestamps"] for one in connections if one["mss"]]
    if allowed:
        return int(statistics.median_low(allowed))
    largest = max(int(one["largest"]) for one in connections)
    return largest if largest <= _WHOLE else None


def _rate(path: str, found: Mapping[str, Any], connections: Sequence[Mapping[str, Any]]) -> str:
    """The most that data took in a second, of all that the interface carried then."""
    from paceline.capture.analyse import analyse

    interface = next(one for one in analyse(path).interfaces if one.interface == connections[0]["interface"]).captured
    scale = interface.at_scale(min(1.0, max(found["duration_s"] / 4, 1e-6)))
    carried = sum(one["data_bytes"] for one in connections)
    peak = scale.peak_bps if scale else (interface.rate_mean_bps or 8 * carried / max(found["duration_s"], 1e-6))
    return words.rate(max(peak * min(1.0, carried / max(interface.bytes, 1)), 1.0))
