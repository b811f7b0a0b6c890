"""Section V: a share of hosts, or of edges, paces. What Fig. 12 and 13 have in common."""

from __future__ import annotations

from typing import Any

from paceline.papers.edge_vs_host.network import EDGE, HOST, METHODS, NONE, dumbbell, patched
from paceline.scenario import Scenario

SHARES = (0.0, 0.3, 0.5, 1.0)
SIZES = (5, 7, 10, 12, 15, 20)
QUICK = (5, 7, 10, 12, 15)
PLACES = ("host", "edge")


def network(place: str) -> Scenario:
    """Hosts pace in the patched ns-2 2.28, edges in the authors' own 2.33."""
    return patched() if place == "host" else dumbbell()


def method(place: str, share: float, **parameters: Any) -> dict[str, Any]:
    """How a share of hosts or edges paces."""
    whole = METHODS[PLACES.index(place) + 1] | parameters
    return METHODS[0] if share == 0 else whole if share == 1 else whole | {"share": share}


def label(place: str, share: float) -> str:
    """What results call it."""
    whole = HOST if place == "host" else EDGE
    return NONE if share == 0 else whole if share == 1 else f"{whole} share {share}"
