"""The network in groups of alike nodes and cables, as far as a drawing needs it.

It comes from the core's description, or, where there is none, from the scenario's own tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paceline.report.formatting import listed
from paceline.report.scenario_facts import swept_or, table, tables
from paceline.report.study import Setting, Study
from paceline.results.quantities import quantity


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that are alike; `name` is for readers."""

    name: str
    is_host: bool
    count: int


@dataclass
class Cable:
    """Links that are alike, between two groups of nodes (positions in `Topology.nodes`)."""

    name: str
    source: int
    target: int
    count: int
    lines: list[str]
    has_buffer: bool = False
    is_core: bool = False
    paced: list[str] = field(default_factory=list)


@dataclass
class Topology:
    """Left to right as the data flows."""

    nodes: list[NodeGroup]
    cables: list[Cable]
    #: Methods that act in the sending hosts.
    in_hosts: list[str] = field(default_factory=list)


def topology(study: Study) -> Topology | None:
    """The network of the study; `None` where too little is known to draw it."""
    found = _described(study) or _from_tables(study)
    if found is None or not found.cables:
        return None
    _place_pacers(study, found)
    return found


def _described(study: Study) -> Topology | None:
    """From the core's description: `nodes` (name, host, count) and `links` (name, from, to, count, rate, …)."""
    nodes, links = tables(study.description.get("nodes")), tables(study.description.get("links"))
    if not nodes or not links:
        return None
    names = [str(n.get("name", i)) for i, n in enumerate(nodes)]
    groups = [
        NodeGroup(_node_words(name), bool(n.get("is_host", n.get("host"))), _count(n))
        for name, n in zip(names, nodes, strict=True)
    ]
    core = str(study.description.get("core", study.core))
    cables: list[Cable] = []
    for link in links:
        name = str(link.get("name", ""))
        ends = [_end(link.get(key), names) for key in ("from", "to")]
        if name.endswith(".reverse") or ends[0] is None or ends[1] is None:
            continue
        lines = _lines(study, name, link, table(study.scenario.get("network")).get("template") == "dumbbell")
        lines += _way_back(study, name)
        cables.append(Cable(name, ends[0], ends[1], _count(link), lines, _holds(link) or name == core, name == core))
    return Topology(groups, cables)


def _from_tables(study: Study) -> Topology | None:
    network = table(study.scenario.get("network"))
    template = str(network.get("template", ""))
    if template == "dumbbell":
        return _dumbbell(study, network)
    links = tables(network.get("links"))
    if not links:
        return None
    nodes = [NodeGroup("sender", True, 1)]
    cables: list[Cable] = []
    for number, link in enumerate(links):
        last = number == len(links) - 1
        nodes.append(NodeGroup("receiver" if last else "", last, 1))
        name = str(link.get("name", number))
        lines = _lines(study, name, link, False, f"network.links.{name}")
        cables.append(Cable(name, number, number + 1, 1, lines, "buffer" in link, name == study.core))
    return Topology(nodes, cables)


def _dumbbell(study: Study, network: Mapping[str, Any]) -> Topology:
    edge, core = table(network.get("edge")), table(network.get("core"))
    access = network.get("access")
    groups = tables(access) if isinstance(access, list) else [table(access)]
    edges = int(edge.get("count", 1)) if edge else 0
    hosts = sum(int(g.get("per_edge", 0)) * edges or int(g.get("hosts", 1)) for g in groups)
    nodes = [NodeGroup("senders", True, hosts)]
    if edge:
        nodes.append(NodeGroup("edge routers", False, edges))
    nodes += [NodeGroup("core router", False, 1), NodeGroup("core router", False, 1)]
    if edge:
        nodes.append(NodeGroup("edge routers", False, edges))
    nodes.append(NodeGroup("receivers", True, int(network.get("receivers", hosts))))
    cables: list[Cable] = []
    near = 1
    lines = _lines(study, "access", groups[0], True, "network.access")
    for group in groups[1:]:
        lines += _lines(study, "access", group, True, "")[1:]
    cables.append(Cable("access.l", 0, 1, hosts, lines, "buffer" in groups[0]))
    if edge:
        cables.append(Cable("edge.l", 1, 2, edges, _lines(study, "edge", edge, True, "network.edge"), "buffer" in edge))
        near = 2
    cables.append(Cable("core", near, near + 1, 1, _lines(study, "core", core, True, "network.core"), True, True))
    if edge:
        cables.append(Cable("edge.r", near + 1, near + 2, edges, ["edge, as left,", "own draws"]))
    cables.append(Cable("access.r", len(nodes) - 2, len(nodes) - 1, hosts, ["access, as left,", "own draws"]))
    return Topology(nodes, cables)


def _place_pacers(study: Study, found: Topology) -> None:
    """Writes each method at the cables where it acts; `at` overrides the template's own place."""
    told = _told(study)
    names = {_base(c.name) for c in found.cables}
    default = "edge.l" if "edge.l" in names else "access.l"
    for method in dict.fromkeys(study.method(s) for s in study.settings):
        if method == "none":
            continue
        if method in ("host", "port"):
            found.in_hosts.append(method)
            continue
        wanted = told.get(method, set())
        for cable, members in zip(found.cables, _members(found.cables), strict=True):
            if _stands(wanted or {default}, members):
                cable.paced.append(method)


def _told(study: Study) -> dict[str, set[str]]:
    """The links that each method is told to act on, by the scenario's own pacing or by the sweep."""
    own, sweep = study.scenario.get("pacing"), table(study.scenario.get("sweep"))
    swept = sweep.get("pacing")
    told: dict[str, set[str]] = {}
    for entry in [own, *tables(own), *(swept if isinstance(swept, list) else [])]:
        method, places = _places(entry)
        told.setdefault(method, set()).update(places)
    if isinstance(everywhere := sweep.get("pacing.at"), list):
        for places in told.values():
            places.update(*(_places({"at": at})[1] for at in everywhere))
    return told


def _places(entry: object) -> tuple[str, set[str]]:
    """A pacer's method and the links it is told to act on, of a table or of words: `edge 10 ms, at = core`."""
    if isinstance(entry, str):
        at = re.search(r"\bat\s*=\s*(\[[^]]*\]|[^,]*)", entry)
        return entry.partition(" ")[0], set(re.findall(r"[^][\s,\"']+", at[1])) if at else set()
    at = table(entry).get("at")
    places = {str(a) for a in at} if isinstance(at, list) else {str(at)} if at else set()
    return str(table(entry).get("method")), places


def _base(name: str) -> str:
    """`access.l` of `access.l (slow)`: access groups share the numbers of one name."""
    return name.partition(" (")[0]


def _members(cables: list[Cable]) -> list[list[str]]:
    """The names that each group goes by: its own, and those of its links, numbered on through groups of one name."""
    begun: dict[str, int] = {}
    found: list[list[str]] = []
    for cable in cables:
        base = _base(cable.name)
        first = begun.get(base, 0)
        begun[base] = first + cable.count
        found.append([base, *(f"{base}.{k}" for k in range(first, begun[base]))])
    return found


def _stands(wanted: set[str], members: list[str]) -> bool:
    """Whether a name or a wildcard stands for any of these; `*` is anything but a dot."""
    patterns = ["[^.]*".join(map(re.escape, w.split("*"))) for w in wanted]
    return any(re.fullmatch(p, m) for p in patterns for m in members)


def link_rate(study: Study, setting: Setting, link: str) -> float | None:
    """The rate of one link in bit/s, as its setting swept it or the scenario gives it; `None` where it is not sure."""
    group, rate = _group_rate(study, link)
    for path, text in setting.swept.items():
        above, *inner, key = path.split(".") if "." in path else (path, "")
        if above not in ("network", "link", "links") or key in ("buffer", "delay"):
            continue
        named = ".".join(part for part in inner if part not in ("link", "links"))
        if key != "rate":
            # a number leaves the rates alone; a table that is swept whole may not
            if quantity(text) is None:
                return None
        elif named in (link, group, group.split(".")[0]) or (not named and group.startswith("hop")):
            rate = text
        elif named not in ("core", "edge", "access", "cross", *study.links):
            return None
    found = quantity(rate) if rate else None
    return found[1] if found and found[0] == "bps" and found[1] > 0 else None


def _group_rate(study: Study, link: str) -> tuple[str, str]:
    """The group that a link belongs to and the rate written there: of the description, else of the scenario."""
    links = tables(study.description.get("links"))
    cables = [Cable(str(entry.get("name", "")), 0, 0, _count(entry), []) for entry in links]
    for entry, members in zip(links, _members(cables), strict=True):
        if link in members:
            return members[0], str(entry.get("rate", ""))
    network = table(study.scenario.get("network"))
    for entry in [*tables(network.get("links")), *tables(study.scenario.get("link"))]:
        if str(entry.get("name", f"{entry.get('from')}-{entry.get('to')}")) == link:
            return link, str(entry.get("rate", ""))
    first = link.split(".")[0]
    own = table(network.get(first)) if network.get("template") == "dumbbell" and not link.endswith(".reverse") else {}
    return first, str(own.get("rate", ""))


def _lines(study: Study, name: str, link: Mapping[str, Any], dumbbell: bool, path: str | None = None) -> list[str]:
    """Name, rate, delay and buffer of a link, with every value that was swept."""
    if path is None:
        path = f"network.{name.split('.')[0]}" if dumbbell else f"network.links.{name}"
    lines = [name]
    rate, delay, buffer = (_range(swept_or(study, f"{path}.{k}", link.get(k))) for k in ("rate", "delay", "buffer"))
    if rate:
        lines.append(rate)
    if delay:
        lines.append(delay)
    if buffer:
        lines.append(f"buffer {buffer}")
    if memory := link.get("memory"):
        lines.append(f"memory of {memory}")
    if queue := _queues(study, path, link):
        lines.append(f"queue {queue}")
    if policer := link.get("policer"):
        lines.append(f"policed at {policer}")
    return lines


def _way_back(study: Study, name: str) -> list[str]:
    """Rate and delay of the other direction, where the scenario has a table for it."""
    network = table(study.scenario.get("network"))
    of_path = zip(tables(network.get("links")), tables(network.get("reverse")), strict=False)
    of_graph = ((link, table(link.get("reverse"))) for link in tables(study.scenario.get("link")))
    for link, back in (*of_path, *of_graph):
        given = [back[key] for key in ("rate", "delay") if back.get(key) not in (None, link.get(key))]
        if given and name == str(link.get("name", f"{link.get('from')}-{link.get('to')}")):
            return ["back: " + ", ".join("a rate that varies" if table(one) else _range(str(one)) for one in given)]
    return []


def _holds(link: Mapping[str, Any]) -> bool:
    """Whether a drawing shows a buffer."""
    return bool(link.get("buffer") or link.get("memory"))


def _queues(study: Study, path: str, link: Mapping[str, Any]) -> str:
    """The disciplines that a link had, unless that was drop-tail alone."""
    given = link.get("queue")
    written = study.swept.get(f"{path}.queue") or [str(table(given).get("discipline") or given or "drop-tail")]
    names = list(dict.fromkeys(text.partition(" ")[0] for text in written))  # its parameters follow the name
    return "" if names == ["drop-tail"] else listed(names, "or")


def _range(text: str) -> str:
    """`8 Mbit/s .. 12 Mbit/s` as `8 – 12 Mbit/s`."""
    low, dots, high = text.partition("..")
    if not dots:
        return text
    low, high = low.strip(), high.strip()
    low_number, _, low_unit = low.partition(" ")
    return f"{low_number if low_unit and high.endswith(low_unit) else low}–{high}"


def _node_words(name: str) -> str:
    words = {"left": "senders", "right": "receivers", "edge.l": "edge routers", "edge.r": "edge routers"}
    return words.get(name, "core router" if name in ("core.l", "core.r") else name)


def _count(entry: Mapping[str, Any]) -> int:
    count = entry.get("count", 1)
    return count if isinstance(count, int) else 1


def _end(value: object, names: list[str]) -> int | None:
    if isinstance(value, int) and 0 <= value < len(names):
        return value
    return names.index(value) if isinstance(value, str) and value in names else None
