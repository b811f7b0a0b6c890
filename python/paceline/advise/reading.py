"""Reads a question from tables (TOML, JSON, options), and completes it; what is wrong is one line."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paceline import _core
from paceline._arguments import quoted
from paceline.advise.candidates import buffer_steps, default_buffers, default_pacings
from paceline.advise.measures import BUFFER, GOALS, MEASURES
from paceline.advise.question import Bound, Pacing, Question
from paceline.errors import InputError

_KEYS = ("from", "rate", "rtt", "flows", "access", "edges", "tcp", "size", "think", "buffer", "pacing", "queue", "goal")
KEYS = (*_KEYS, "bounds", "sure", "precision", "within", "runs", "seed")
_BOUND = re.compile(r"^\s*(\w+)\s*(>=|<=|≥|≤|>|<|\s)\s*(.+?)\s*$")
_MOST_FLOWS = 100_000
_MOST_CANDIDATES = 5_000
#: The core carries no more in a run, packets: a minute of a processor.
_MOST_PACKETS = 500_000_000
#: What to write, where the usual amount of its kind would mislead.
_EXAMPLES = {"rtt": "20 ms", "bounds: wait": "5 ms", "bounds: delay": "50 ms", "bounds: fct": "500 ms"}
#: Of a host's link, unless told; or what fills the core so many times over with all hosts.
_USUAL_ACCESS, _OVER = 1e9, 2.0


def read_question(tables: Mapping[str, Any], source: str | None = None) -> Question:
    """The question that tables ask. Raises `InputError`."""
    folder = Path(source).parent if source else Path()
    try:
        return _read(tables, folder)
    except InputError as error:
        raise InputError(error.message, source) from None
    except _core.InputError as error:
        raise InputError(str(error), source) from None


def load_question(path: str | os.PathLike[str], more: Mapping[str, Any] | None = None) -> Question:
    """The question in a TOML file, with `more` in the place of what it says. Raises `InputError`."""
    from paceline.scenario.toml_tables import read

    document, _ = read(path, "paceline advise --help says what to ask without one")
    if "network" in document and "traffic" in document:
        raise InputError("a scenario and no question; paceline advise --help says what to ask", os.fsdecode(path))
    return read_question(dict(document) | dict(more or {}), os.fsdecode(path))


def check_key(key: str, text: str) -> None:
    """That a text is a rate, round trips or a number of flows. Raises `InputError`."""
    try:
        if key == "rate":
            _amount(key, text, "rate")
        elif key == "rtt":
            _round_trips(text)
        else:
            _whole(key, text, 1, _MOST_FLOWS)
    except _core.InputError as error:
        raise InputError(str(error)) from None


def _read(tables: Mapping[str, Any], folder: Path) -> Question:
    if not isinstance(tables, Mapping):
        raise InputError(f"{quoted(tables)} is no question; give its tables, as {{'rate': '10 Gbit/s', …}}")
    given = dict(tables)
    for key in given:
        if key not in KEYS:
            raise InputError(f"{key}: unknown key; write one of {', '.join(KEYS)}")
    inferred: tuple[str, ...] = ()
    if "from" in given:
        given, inferred = _with_capture(given, folder)
    for key, example in (("rate", '"10 Gbit/s"'), ("rtt", '"5 ms .. 80 ms"'), ("flows", "2000")):
        if key not in given:
            why = "the capture does not show it" if inferred else "must be given"
            raise InputError(f"{key}: {why}; write as {key} = {example}")
    rate = _amount("rate", given["rate"], "rate")
    trips = _round_trips(given["rtt"])
    flows = _whole("flows", given["flows"], 1, _MOST_FLOWS)
    mean = sum(low + high for low, high in trips) / 2 / len(trips)
    access = _amount("access", given["access"], "rate") if "access" in given else default_access(rate, flows)
    tcp = _tcp(given.get("tcp", "cubic"))
    packet = _packet_bytes(tcp)
    size, think = given.get("size"), given.get("think", "0 s")
    if size is None and "think" in given:
        raise InputError('think: goes with size, of the files between which users think; write as size = "50 KB"')
    if size is not None:
        _drawn("size", size, "50 KB")
        _drawn("think", think, "100 ms")
    goal = given.get("goal", BUFFER if size is None else "fct")
    if goal not in GOALS:
        raise InputError(f"goal: {quoted(goal)} is none; write {', '.join(GOALS[:-1])} or {GOALS[-1]}")
    if goal == "fct" and size is None:
        raise InputError('goal: flows that last have no completion time; write a size too, as size = "50 KB"')
    default = ["utilisation >= 98 %"] if goal == BUFFER and size is None else []
    bounds = _bounds(given.get("bounds", default), size is not None)
    if goal == BUFFER and not bounds:
        raise InputError('bounds: the least buffer is none at all; write what it must keep, as "utilisation >= 98 %"')
    bdp = rate * mean / 8 / packet
    buffers = _buffers(given["buffer"], packet, bdp) if "buffer" in given else default_buffers(bdp)
    edges = _whole("edges", given["edges"], 0, 1000) if "edges" in given else _edges(flows, len(trips))
    usual = [one for one in default_pacings(mean) if edges or not one.startswith("edge")]
    pacings = tuple(_pacing(one) for one in _listed(given.get("pacing", usual), "pacing"))
    queues = tuple(_queue(one) for one in _listed(given.get("queue", "drop-tail"), "queue"))
    for one in pacings:
        if one.method in ("edge", "qlbp", "token-bucket") and not edges:
            raise InputError(f'pacing: "{one.name}" paces at edges, and there are none; write edges = 10')
    count = len(buffers) * len(pacings) * len(queues)
    if count < 2:
        raise InputError("buffer: nothing may change, so there is nothing to advise; write a range, or several pacing")
    if count > _MOST_CANDIDATES:
        raise InputError(f"buffer: {count} settings are too many; write fewer, {_MOST_CANDIDATES} at most")
    sure = _share("sure", given.get("sure", "95 %"), 0.5, 0.999)
    precision = _share("precision", given.get("precision", "0.5 %"), 1e-5, 0.5)
    within = _amount("within", given.get("within", "60 s"), "time") * 1e-9
    seed = _whole("seed", given.get("seed", 1), 0, 2**31)
    whole = {name: value for name, value in given.items() if name not in ("rtt", "tcp", "from")}
    whole |= {
        "rtt": [[low, high] for low, high in trips],
        "tcp": [[share, dict(one)] for share, one in tcp],
        "access": access,
        "edges": edges,
        "buffers": list(buffers),
        "pacing": [one.name for one in pacings],
        "queue": list(queues),
        "goal": goal,
        "bounds": [[one.measure, one.at_least, one.value] for one in bounds],
        "sure": sure,
        "precision": precision,
        "seed": seed,
    }
    asked: dict[str, Any] = {"rate_bps": rate, "round_trips_s": trips, "flows": flows, "access_bps": access}
    asked |= {"edges": edges, "tcp": tcp, "size": size, "think": think, "packet_bytes": packet, "buffers": buffers}
    asked |= {"pacings": pacings, "queues": queues, "goal": goal, "bounds": bounds, "sure": sure}
    runs = _whole("runs", given["runs"], 1, 10_000_000) if "runs" in given else None
    asked |= {"precision": precision, "within_s": within, "seed": seed, "runs": runs, "inferred": inferred}
    question = Question(**asked, tables=whole)
    _check_bounds(question)
    _check_scenario(question)
    return question


def _with_capture(given: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What is asked, completed by what a capture shows of the traffic; and what that is, in sentences."""
    from paceline.advise.traffic import traffic_of

    name = given["from"]
    if not isinstance(name, str) or not name:
        raise InputError(f'from: {quoted(name)} is no name of a file; write as from = "traffic.pcap"')
    found = traffic_of(folder / name)
    shown = dict(found.tables)
    tcp = given.get("tcp", "cubic")
    if payload := shown.pop("payload", None):
        tables = tcp if isinstance(tcp, Mapping) and "variant" in tcp else {"variant": tcp}
        if isinstance(tables["variant"], str) and "payload" not in tables:
            shown["tcp"] = dict(tables) | {"payload": f"{payload} B"}
    if "size" in given:
        shown.pop("think", None)
    return shown | {key: value for key, value in given.items() if key != "tcp" or "tcp" not in shown}, found.said


def default_access(rate: float, flows: int) -> float:
    """Of each host's link, bit/s: where it were the bottleneck, no queue would wait at the core."""
    return max(_USUAL_ACCESS, _OVER * rate / flows)


def _check_bounds(question: Question) -> None:
    """That no bound contradicts what is given: such a goal needs no search."""
    bounds = {one.measure: one.value for one in question.bounds}
    most = question.flows * question.access_bps / question.rate_bps
    if question.size is None and bounds.get("utilisation", 0.0) > most:
        raise InputError(
            f"bounds: utilisation cannot be {bounds['utilisation'] * 100:.4g} %, since {question.flows} flows behind "
            f"access of {question.access_bps / 1e6:.4g} Mbit/s fill {most * 100:.3g} %; write less, or a faster access"
        )
    shortest = min(low for low, _ in question.round_trips_s) / 2
    for name in ("delay", "fct"):
        if bounds.get(name, math.inf) < shortest:
            raise InputError(
                f"bounds: {name} cannot be {bounds[name] * 1e3:.4g} ms, since one way alone takes {shortest * 1e3:.4g} "
                "ms; write more, or shorter round trips"
            )


def _check_scenario(question: Question) -> None:
    """That the core takes each pacing and queue. What is wrong there is said in the question's words."""
    from paceline.advise.network import length_of, scenario_of
    from paceline.advise.question import Candidate

    packets = length_of(question).duration_s * question.rate_bps / 8 / question.packet_bytes
    if not packets <= _MOST_PACKETS:
        raise InputError(
            f"rate: a run has {packets:.2g} packets, of {_MOST_PACKETS:.2g} at most; write a lower rate, shorter round "
            "trips or smaller buffers"
        )

    for pacing in question.pacings:
        for queue in question.queues:
            try:
                scenario_of(question, Candidate(question.buffers[-1], pacing, queue)).check(here=False)
            except InputError as error:
                path, _, rest = error.message.partition(": ")
                if path.startswith("network.core.queue"):
                    raise InputError(f"queue: {rest}") from None
                if path.startswith("traffic["):  # what is said of flows is a key of the question itself
                    key = path.partition(".")[2]
                    raise InputError(f"{'tcp' if key == 'tcp.variant' else key}: {rest}") from None
                if path.startswith("pacing"):
                    raise InputError(f'pacing: "{pacing.name}": {path.partition(".")[2] or path} {rest}') from None
                raise


def _amount(key: str, value: Any, kind: str) -> float:
    example = _EXAMPLES.get(key) or {"rate": "10 Gbit/s", "time": "60 s", "size": "50 KB"}[kind]
    if not isinstance(value, str):
        raise InputError(f'{key}: {quoted(value)} has no unit; write for example "{example}"')
    try:
        found = _core.quantity(kind, value)
    except _core.InputError as error:
        raise InputError(f"{key}: {error}") from None
    if not found > 0:
        raise InputError(f'{key}: {quoted(value)} is not above zero; write for example "{example}"')
    return found


def _drawn(key: str, value: Any, example: str) -> None:
    """That a size or a time is one, or is drawn; the core looks at it closely later."""
    from paceline.advise.network import mean_size, mean_time

    try:
        mean = mean_size(value) if key == "size" else mean_time(value)
    except (StopIteration, TypeError, ValueError):
        mean = math.nan
    if not 0 <= mean < math.inf:
        raise InputError(
            f'{key}: {quoted(value)} is none; write for example "{example}", or {{ exponential = "{example}" }}'
        )


def _round_trips(value: Any) -> tuple[tuple[float, float], ...]:
    found = []
    for one in _listed(value, "rtt"):
        if not isinstance(one, str):
            raise InputError(
                f'rtt: {quoted(one)} has no unit; write as "5 ms .. 80 ms", or a list, as ["5 ms", "9 ms"]'
            )
        low, dots, high = one.partition("..")
        ends = [_amount("rtt", part.strip(), "time") * 1e-9 for part in ((low, high) if dots else (low, low))]
        if ends[0] > ends[1]:
            raise InputError(f'rtt: "{one}" begins above its end; write "{high.strip()} .. {low.strip()}"')
        found.append((ends[0], ends[1]))
    return tuple(found)


def _tcp(value: Any) -> tuple[tuple[float, Mapping[str, Any]], ...]:
    if isinstance(value, Mapping) and value and all(isinstance(one, (int, float)) for one in value.values()):
        shares = {str(name): float(share) for name, share in value.items()}
        if any(not share >= 0 for share in shares.values()) or not abs(sum(shares.values()) - 1) <= 1e-6:
            raise InputError(
                f"tcp: the shares come to {sum(shares.values()):g}, not 1; write as cubic = 0.7, bbr = 0.3"
            )
        return tuple((share, {"variant": name}) for name, share in shares.items() if share)
    if isinstance(value, Mapping):
        return ((1.0, dict(value)),)
    if isinstance(value, str):
        return ((1.0, {"variant": value}),)
    raise InputError(f'tcp: {quoted(value)} is no TCP; write as "cubic", or {{ cubic = 0.7, bbr = 0.3 }}')


def _packet_bytes(tcp: Sequence[tuple[float, Mapping[str, Any]]]) -> int:
    """Of the first TCP's packets, on the wire."""
    profiles = {
        one["profile"]: {option["option"]: option["value"] for option in one["options"]}
        for one in json.loads(_core.tcp_options())
    }
    table = tcp[0][1]
    profile = table.get("profile", "linux")
    if profile not in profiles:
        raise InputError(f"tcp.profile: {quoted(profile)} is none; write {', '.join(profiles)}")
    total = 0
    for key in ("payload", "header"):
        total += int(_core.quantity("size", table[key]) if isinstance(table.get(key), str) else profiles[profile][key])
    return total


def _bounds(value: Any, has_sizes: bool) -> tuple[Bound, ...]:
    found: list[Bound] = []
    for one in _listed(value, "bounds"):
        match = _BOUND.match(one) if isinstance(one, str) else None
        if match is None:
            raise InputError(f'bounds: {quoted(one)} is no bound; write as "utilisation >= 98 %" or "loss <= 0.1 %"')
        name, sign, text = match.groups()
        measure = MEASURES.get(name)
        if measure is None:
            raise InputError(f"bounds: {quoted(name)} is no measure; write one of {', '.join(MEASURES)}")
        if name == "fct" and not has_sizes:
            raise InputError('bounds: flows that last have no completion time; write a size too, as size = "50 KB"')
        at_least = sign in (">=", "≥", ">") if sign.strip() else measure.better > 0
        if at_least != (measure.better > 0):
            right = ">=" if measure.better > 0 else "<="
            raise InputError(f"bounds: {quoted(one)} asks for a bad {name}; write {name} {right} {text}")
        if measure.kind == "s":
            number = _amount(f"bounds: {name}", text, "time") * 1e-9
        else:
            number = _share(f"bounds: {name}", text, 0.0, 1.0)
        found.append(Bound(name, at_least, number))
    for name in {one.measure for one in found}:
        if sum(one.measure == name for one in found) > 1:
            raise InputError(f"bounds: {name} is bounded twice; leave one out")
    return tuple(found)


def _share(key: str, value: Any, least: float, most: float) -> float:
    text = str(value).strip()
    number, percent, rest = text.partition("%")
    try:
        found = float(number) / (100 if percent else 1)
    except ValueError:
        found = math.nan
    if rest.strip() or not least <= found <= most:
        raise InputError(f"{key}: {quoted(value)} is not from {least * 100:g} % to {most * 100:g} %; write as 98 %")
    return found


def _buffers(value: Any, packet: int, bdp: float) -> tuple[int, ...]:
    found: set[int] = set()
    for one in _listed(value, "buffer"):
        text = str(one)
        low, dots, high = text.partition("..")
        ends = [_packets(part.strip(), packet, bdp) for part in ((low, high) if dots else (text, text))]
        if ends[0] > ends[1]:
            raise InputError(f'buffer: "{text}" begins above its end; write "{high.strip()} .. {low.strip()}"')
        found |= set(buffer_steps(*ends)) if dots else {ends[0]}
    return tuple(sorted(found))


def _packets(text: str, packet: int, bdp: float) -> int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(packets?|BDP)", text)
    if match is None:
        return max(1, round(_amount("buffer", text, "size") / packet))
    number = float(match[1]) * (bdp if match[2] == "BDP" else 1)
    if not number > 0:
        raise InputError(f'buffer: "{text}" is not above zero; write as "5 packets .. 1 BDP"')
    return max(1, round(number))


def _pacing(value: Any) -> Pacing:
    if isinstance(value, Mapping) and isinstance(value.get("method"), str):
        rest = ", ".join(f"{key} {one}" for key, one in value.items() if key != "method")
        return Pacing(f"{value['method']} {rest}".strip(), dict(value), str(value["method"]))
    if not isinstance(value, str) or not value.strip():
        raise InputError(f'pacing: {quoted(value)} is no pacing; write as "edge 2 ms"')
    return Pacing(" ".join(value.split()), value, value.split()[0])


def _queue(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f'queue: {quoted(value)} is no discipline; write as "drop-tail" or "codel"')
    return value


def _edges(flows: int, groups: int) -> int:
    """About ten, so that flows can be dealt out evenly, and each has hosts of every round trip."""
    most = max(2, min(16, flows // max(groups, 1)))
    if flows < 2:
        return 0  # an edge of the core's rate would take the queue off it
    if flows < 4:
        return flows
    each = {edges: max(1, round(flows / edges)) for edges in range(2, most + 1)}
    return min(each, key=lambda one: (abs(one * each[one] - flows), each[one] % groups, abs(one - 10)))


def _whole(key: str, value: Any, least: int, most: int) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"-?\d{1,12}", text) or not least <= int(text) <= most:
        raise InputError(f"{key}: {quoted(value)} is none; write a whole number from {least} to {most}")
    return int(text)


def _listed(value: Any, key: str) -> list[Any]:
    found = list(value) if isinstance(value, (list, tuple)) else [value]
    if not found and key != "bounds":
        raise InputError(f"{key}: the list is empty; write one value at least")
    return found
