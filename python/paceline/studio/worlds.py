"""The two worlds of a state: the scenario unpaced and as it is paced, and what the page draws of their network."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paceline import _core
from paceline.errors import InputError
from paceline.report.diagram_columns import columns
from paceline.report.topology import Cable, NodeGroup, Topology
from paceline.scenario import Scenario
from paceline.scenario.paths import split_path

WORLDS = ("unpaced", "paced")
#: Flows whose windows are drawn.
MOST_FLOWS = 4
#: Points of a curve over time.
POINTS = 500


@dataclass(frozen=True, slots=True)
class World:
    """One of the two.

    Attributes:
        name: ``unpaced`` or ``paced``.
        scenario: what `paceline run` would be given: no probes but the file's own.
        network: as the core describes it for the scenario's first seed; the same in both worlds.
        seen: the same, resolved: every link and flow, as they are paced.
    """

    name: str
    scenario: Scenario
    network: dict[str, Any]
    seen: dict[str, Any]

    @property
    def seed(self) -> int:
        """The first."""
        return self.scenario.seed_numbers()[0]

    @property
    def core(self) -> str:
        """Name of the link that the network is about."""
        return str(self.network["core"])

    def json(self, length: float = 1.0) -> str:
        """As the core reads it, with what the page's curves need watched; for `length` times its duration."""
        document = self.scenario.to_dict()
        duration_s = self.seen["duration_s"] * length
        if length != 1.0:
            document["duration"] = f"{round(duration_s * 1e9)} ns"
            document["warmup"] = f"{round(self.seen['warmup_s'] * length * 1e9)} ns"
        document["probes"] = self._probes(duration_s) | document.get("probes", {})
        return self.scenario.replaced(document).settings()[0].json

    def _probes(self, duration_s: float) -> dict[str, Any]:
        every = f"{max(1_000_000, round(duration_s * 1e9 / POINTS))} ns"
        flows = [number for number, flow in enumerate(self.seen["flows"]) if flow["tcp"] is not None]
        probes: dict[str, Any] = {
            "queue": {"links": self.core, "every": every},
            "throughput": {"links": self.core, "every": every},
            "transfers": {},
        }
        if flows:
            probes["window"] = {"flows": flows[:MOST_FLOWS], "every": every}
        return probes


def state_of(scenario: Scenario) -> Scenario:
    """One setting of a scenario, with which the studio begins: the first of what is swept; of pacings, one that paces.

    Raises `InputError` where the sweep is wrong, and of whatever else is wrong where hosts are to pace instead of none.
    """
    for path, values in scenario.sweep.items():
        first = values[0]
        if split_path(path) == ("pacing",):
            first = next((value for value in values if not _is_none(value)), first)
        scenario = scenario.set(path, first)
    document = scenario.to_dict()
    if "sweep" in document:
        document.pop("sweep")
        scenario = scenario.replaced(document)
    if not _is_none(document.get("pacing", "none")):
        return scenario
    scenario.check_settings()  # before the pacing goes, and with it what is wrong with it
    paced = scenario.replaced(document | {"pacing": {"method": "host"}})
    try:
        paced.check_settings()
    except InputError:  # no traffic is TCP
        document.pop("pacing", None)
        return scenario.replaced(document)
    return paced


def _is_none(pacing: Any) -> bool:
    method = pacing.get("method") if isinstance(pacing, dict) else pacing
    return isinstance(method, str) and method.split(" ")[0] == "none"


def worlds_of(state: Scenario) -> list[World]:
    """Both. Raises `InputError` of all that is wrong."""
    point = state.check_settings()[0]
    network = json.loads(_core.describe(point.json, point.seed))
    seen = json.loads(_core.inspect(point.json, point.seed))
    unpaced = state.replaced(state.to_dict() | {"pacing": {"method": "none"}})
    return [World(name, scenario, network, seen) for name, scenario in zip(WORLDS, (unpaced, state), strict=True)]


def drawing_of(world: World) -> dict[str, Any]:
    """The network in groups of alike nodes and links, left to right, and where each link stands in the scenario."""
    network, seen = world.network, world.seen
    plans = {plan["name"]: plan for plan in seen["plans"]}
    nodes = [dict(node) for node in network["nodes"]]
    topology = Topology(
        [NodeGroup(node["name"], node["is_host"], node["count"]) for node in nodes],
        [Cable(link["name"], link["from"], link["to"], link["count"], []) for link in network["links"]],
    )
    for node, column in zip(nodes, columns(topology), strict=True):
        node["column"] = column
    links = []
    for link in network["links"]:
        plan = plans.get(link["name"])
        place: dict[str, Any] = {}
        if plan is not None:
            place = {"path": keys_of(plan["path"]), "buffer_key": plan["buffer_key"]}
        kept = ("name", "from", "to", "count", "rate", "delay", "buffer", "queue", "paced")
        links.append({key: link[key] for key in kept} | place)
    return {
        "template": network["template"],
        "core": network["core"],
        "duration_s": network["duration_s"],
        "warmup_s": network["warmup_s"],
        "flows": network["flows"],
        "rtt_s": [network["rtt_min_s"], network["rtt_max_s"]],
        "bdp_bytes": network["bdp_bytes"],
        "nodes": nodes,
        "links": links,
    }


def keys_of(path: str) -> list[str | int]:
    """A place in the file, ``network.links[1]``, as keys and numbers.

    >>> keys_of("network.links[1]")
    ['network', 'links', 1]
    """
    found: list[str | int] = []
    for name, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        found.append(int(number) if number else name)
    return found


def scenario_of(body: Mapping[str, Any]) -> Scenario:
    """The state that a request holds: its tables. Raises `InputError`."""
    document = body.get("document")
    if not isinstance(document, dict):
        raise InputError('the request has no "document"; give the scenario\'s tables', "studio")
    return Scenario(document)
