"""Which column of the network diagram each group of nodes stands in."""

from __future__ import annotations

from paceline.report.topology import Cable, Topology


def columns(net: Topology) -> list[int]:
    """How many cables lie before each group of nodes; loops are cut where they close."""
    found = [0] * len(net.nodes)
    onward = _onward(net)
    for _ in range(len(net.nodes)):
        for cable in onward:
            found[cable.target] = max(found[cable.target], found[cable.source] + 1)
    for position in range(len(net.nodes)):
        ahead = [found[c.target] for c in net.cables if c.source == position]
        if ahead and not any(c.target == position for c in net.cables):
            found[position] = max(min(ahead) - 1, 0)
    used = sorted(set(found))
    return [used.index(c) for c in found]


def meshed(net: Topology) -> bool:
    """Whether groups of nodes lie beside one another, or cables pass over some: what its links are then stands in a
    list, not in the picture.
    """
    placed = columns(net)
    steps = {placed[c.target] - placed[c.source] for c in net.cables}
    return len(set(placed)) < len(placed) or steps != {1}


def _onward(net: Topology) -> list[Cable]:
    """The cables without those that close a loop, seen from the nodes where nothing comes in."""
    state = [0] * len(net.nodes)
    found: list[Cable] = []
    entered = {c.target for c in net.cables}
    for start in sorted(range(len(net.nodes)), key=lambda k: (k in entered, not net.nodes[k].is_host)):
        if state[start]:
            continue
        state[start] = 1
        way = [(start, iter([c for c in net.cables if c.source == start]))]
        while way:
            position, cables = way[-1]
            cable = next(cables, None)
            if cable is None:
                state[position] = 2
                way.pop()
            elif state[cable.target] != 1:
                found.append(cable)
                if not state[cable.target]:
                    state[cable.target] = 1
                    way.append((cable.target, iter([c for c in net.cables if c.source == cable.target])))
    return found
