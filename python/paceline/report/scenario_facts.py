"""The facts of a scenario in words, as the report shows them before the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paceline.report.formatting import listed, plain
from paceline.report.study import Study
from paceline.results.quantities import method_words, path_words

_KINDS = {
    "bulk": "transfers without end",
    "closed-loop": "transfers with pauses between",
    "rpc": "requests and answers",
    "cbr": "a constant stream",
    "poisson": "packets at random (Poisson)",
    "on-off": "streams that switch on and off",
    "self-similar": "self-similar streams",
    "cvec": "connections as a file tells",
    "pcap": "a capture replayed",
}

_SIZES = (
    "rate",
    "packet",
    "size",
    "packets",
    "request",
    "response",
    "think",
    "mean",
    "hurst",
    "on",
    "off",
    "file",
    "count",
)

_VARIANTS = {
    "tahoe": "Tahoe",
    "reno": "Reno",
    "newreno": "NewReno",
    "sack": "SACK",
    "sack1": "SACK (Sack1)",
    "rfc6675": "SACK (RFC 6675)",
    "fack": "FACK",
    "bic": "BIC",
    "cubic": "CUBIC",
    "dctcp": "DCTCP",
    "prague": "Prague",
}

_RULES = {
    "none": "Packets leave as the congestion window allows: in bursts, clocked by acknowledgements.",
    "host": "Each TCP sender spreads its window over the round-trip time: one packet every srtt / cwnd.",
    "edge": "The outgoing edge link delays each packet by at most its bound, and sends at the smoothest rate that "
    "keeps every deadline.",
    "qlbp": "Queue-length based pacing: the outgoing edge link sends the faster the longer its pacing queue is.",
    "port": "All flows of a host share one gap between packets at its egress.",
    "token-bucket": "A shaper with a rate and a burst: the usual tool, as a comparison.",
}


def table(value: object) -> Mapping[str, Any]:
    """The value where it is a table, else an empty one: a scenario may be anything that parsed."""
    return value if isinstance(value, Mapping) else {}


def tables(value: object) -> list[Mapping[str, Any]]:
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []


def swept_or(study: Study, path: str, given: object) -> str:
    """The values that a path took, or the one that the scenario gives."""
    if path in study.swept:
        return listed(study.swept[path], "or")
    return "" if given is None else str(given)


def title(study: Study) -> str:
    """The scenario's title; else the name of its file, where that is known."""
    given = study.scenario.get("title")
    return given if isinstance(given, str) and given.strip() else study.file_name or "Untitled scenario"


def facts(study: Study) -> list[tuple[str, str]]:
    """Terms and their descriptions."""
    found: list[tuple[str, str]] = []
    traffic = [_traffic(study, t, n) for n, t in enumerate(tables(study.scenario.get("traffic")))]
    if flows := flow_counts(study):
        traffic.append("One flow." if flows == [1] else f"{listed([plain(count, 0) for count in flows], 'or')} flows.")
    if traffic:
        found.append(("Traffic", " ".join(traffic)))
    entries = enumerate(tables(study.scenario.get("traffic")))
    tcp = list(dict.fromkeys(t for number, entry in entries if (t := _tcp(study, entry, number))))
    if tcp:
        found.append(("TCP", " ".join(tcp)))
    found.append(("Pacing", pacing(study)))
    for path, values in study.swept.items():
        if path.startswith("network.") and all(value.isdecimal() for value in values):
            found.append((path_words(path), f"{listed(values, 'or')}; the drawing has {values[0]}"))
        elif path not in ("pacing", "pacing.method") and not path.startswith("network."):
            found.append((path_words(path), listed(values, "or")))
    found.append(("Time", _time(study)))
    return found


def pacing(study: Study) -> str:
    """The methods compared, and where each acts."""
    labels = list(dict.fromkeys(s.swept.get("pacing", study.own_pacing) for s in study.settings))
    names = [method_words(label) for label in labels]
    written = tables(table(study.scenario.get("sweep")).get("pacing"))
    if len(written) == len(names):
        names = [_method(entry) for entry in written]
    at = table(study.scenario.get("pacing")).get("at")
    text = (
        f"{len(names)} ways compared: {_some(names)}." if len(names) > 1 else f"{names[0][:1].upper()}{names[0][1:]}."
    )
    return text + (f" It acts at {listed(at) if isinstance(at, list) else at}." if at else "")


def _some(names: list[str]) -> str:
    """All of a few names, the first of many."""
    return listed(names if len(names) <= 8 else [*names[:6], f"{len(names) - 6} more"])


def _method(entry: Mapping[str, Any]) -> str:
    """A method's table in words: `QLBP (load 0.9, max delay 10 ms)`."""
    given = [(str(k).replace("_", " "), v) for k, v in entry.items() if k != "method"]
    name = method_words(str(entry.get("method", "none")))
    said = [f"{key} {listed(map(str, value)) if isinstance(value, list) else value}" for key, value in given]
    return f"{name} ({', '.join(said)})" if said else name


def rules(study: Study) -> list[tuple[str, str]]:
    """Each method in the results with the rule that it follows."""
    methods = list(dict.fromkeys(study.method(s) for s in study.settings))
    return [(method_words(m), _RULES[m]) for m in methods if m in _RULES]


def flow_counts(study: Study) -> list[int]:
    """How many flows there are, under one setting or another."""
    counts = {row.get("flows.count") for s in study.settings for row in s.runs.values()}
    return sorted(count for count in counts if isinstance(count, int))


def _traffic(study: Study, entry: Mapping[str, Any], number: int) -> str:
    kind = str(entry.get("kind", ""))
    name = str(entry.get("name") or kind or number)
    what = "a transfer each" if kind == "bulk" and "size" in entry else _KINDS.get(kind, kind)
    text = f"{name}: {what}"
    for key in _SIZES:
        given = _drawn(entry[key]) if key in entry else None
        value = swept_or(study, f"traffic.{name}.{key}", given) or swept_or(study, f"traffic.{number}.{key}", None)
        if value:
            text += f", {key} {value}"
    start = entry.get("start")
    if isinstance(start, str):
        text += f", starting at {start.replace('..', 'to')}"
    return text + "."


def _drawn(value: object) -> str:
    """A value, or a distribution's table: `pareto, mean 50 KB, shape 1.2`."""
    if not isinstance(value, Mapping):
        return str(value)
    parts = [f"{key}, {_drawn(of)}" if isinstance(of, Mapping) else f"{key} {of}" for key, of in value.items()]
    return ", ".join(parts)


def _tcp(study: Study, entry: Mapping[str, Any], number: int) -> str:
    """Of several values that were swept, all are said."""
    name = str(entry.get("name") or entry.get("kind") or number)
    paths = [f"traffic.{at}.tcp." for at in (name, number)]
    swept = {key.removeprefix(path): v for key, v in study.swept.items() for path in paths if key.startswith(path)}
    tcp = {key: [str(value)] for key, value in table(entry.get("tcp")).items()} | swept
    if not tcp:
        return ""
    text = listed([_VARIANTS.get(one, one) for one in tcp.get("variant", ["TCP"])], "or")
    if "profile" in tcp:
        text += f" in the {listed(tcp['profile'], 'or')} profile"
    words = (("payload", "payload"), ("header", "header"))
    sizes = [f"{listed(tcp[key], 'or')} of {word}" for key, word in words if key in tcp]
    if sizes:
        text += f", packets of {listed(sizes)}"
    if "max_window" in tcp:
        text += f", windows of up to {listed(tcp['max_window'], 'or')}"
    return text + "."


def _time(study: Study) -> str:
    duration, warmup = study.scenario.get("duration"), study.scenario.get("warmup")
    seeds = study.seeds
    text = f"{duration} simulated" if duration else "Simulated"
    if warmup:
        text += f", of which the first {warmup} are not counted"
    runs = sum(len(s.runs) for s in study.settings)
    if len(seeds) == 1:
        return f"{text}; one run a setting (seed {seeds[0]}), so there are no intervals."
    return f"{text}; {len(seeds)} seeds a setting, the same in each: {plain(runs, 0)} runs."
