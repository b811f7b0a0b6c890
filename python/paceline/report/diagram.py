"""The network as a picture: groups of nodes in columns, cables between, what each is, and where the pacer sits."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from .data import METHODS, method_words
from .formatting import listed, plain, short
from .svg import Drawing, number, text_width
from .topology import Cable, NodeGroup, Topology

#: Nodes drawn of a group, however many there are.
_MOST_HOSTS, _MOST_ROUTERS = 6, 3


@dataclass(frozen=True)
class _Spot:
    """A node drawn: how far along the flow of data, and how far across it."""

    along: float
    across: float


def wide(net: Topology) -> Drawing:
    """Left to right, for a screen or a page."""
    return _Picture(net, upright=False).draw()


def tall(net: Topology) -> Drawing:
    """Top to bottom, for a phone."""
    return _Picture(net, upright=True).draw()


class _Picture:
    def __init__(self, net: Topology, *, upright: bool) -> None:
        self.net, self.upright = net, upright
        self.columns = _columns(net)
        self.last = max(self.columns)
        legend = _legend(net)
        self.legend = legend
        self.meshed = meshed(net)
        self.breadth = 150.0
        if self.meshed:
            rows = max(self.columns.count(c) for c in self.columns)
            self.breadth = (min(110.0, 310.0 / rows) if upright else 64.0) * rows
        if upright:
            self.length = 84.0 * self.last + 40
            width, height = 340.0, self.length + 58 + self._legend_height()
        else:
            width = 1040.0
            self.length = width - 96
            most = 0 if self.meshed else max(len(c.lines) for c in net.cables)
            height = 40 + self.breadth + 16 * most + 26 + self._legend_height()
        said = "; ".join(", ".join(c.lines) for c in net.cables)
        self.out = Drawing(width, height, "The network", said, "network")

    def draw(self) -> Drawing:
        spots = self._spots()
        for cable in self.net.cables:
            self._cable(cable, spots)
        for position, (group, places) in enumerate(zip(self.net.nodes, spots, strict=True)):
            self._nodes(group, places, sends=not any(c.target == position for c in self.net.cables))
        for cable in self.net.cables:
            self._words(cable, spots)
        self._legend_rows()
        return self.out

    def _spots(self) -> list[list[_Spot]]:
        """Where the nodes of each group are drawn; groups of one column share its breadth."""
        spots: list[list[_Spot]] = []
        step = self.length / max(self.last, 1)
        for position, group in enumerate(self.net.nodes):
            along = self.columns[position] * step
            if self.meshed:
                mates = [i for i, c in enumerate(self.columns) if c == self.columns[position]]
                mates.sort(key=lambda i: self.net.nodes[i].is_host)
                rows = max(self.columns.count(c) for c in self.columns)
                spots.append([_Spot(along, self.breadth / rows * (mates.index(position) + 0.5))])
                continue
            drawn = min(group.count, _MOST_HOSTS if group.is_host else _MOST_ROUTERS)
            gap = self.breadth / drawn
            spots.append([_Spot(along, gap * (k + 0.5)) for k in range(drawn)])
        return spots

    def _xy(self, spot: _Spot) -> tuple[float, float]:
        if self.upright:
            return 8 + spot.across, 28 + spot.along
        return 48 + spot.along, 30 + spot.across

    def _cable(self, cable: Cable, spots: list[list[_Spot]]) -> None:
        left, right = spots[cable.source], spots[cable.target]
        kind = "core" if cable.is_core else "cable"
        most = max(len(left), len(right))
        for k in range(most):
            (x1, y1), (x2, y2) = (self._xy(side[k * len(side) // most]) for side in (left, right))
            self.out.line(x1, y1, x2, y2, kind)
            if cable.paced:
                slot = METHODS.index(cable.paced[0]) if cable.paced[0] in METHODS else 0
                self._pacer(x1 + 0.3 * (x2 - x1), y1 + 0.3 * (y2 - y1), slot)
        if cable.is_core or cable.has_buffer:
            (x1, y1), (x2, y2) = (self._xy(_middle(side)) for side in (left, right))
            away = 30 / max(abs(x2 - x1) + abs(y2 - y1), 1)
            self._buffer(x1 + away * (x2 - x1), y1 + away * (y2 - y1))

    def _pacer(self, x: float, y: float, slot: int) -> None:
        """Evenly spaced packets on the wire."""
        self.out.open(style=f"--c:var(--s{slot})")
        self.out.add("rect", class_="pacer", x=x - 13, y=y - 7, width=26, height=14, rx=7)
        ticks = "".join(f"M{number(x + dx)} {number(y - 3.5)}v7" for dx in (-7.5, -2.5, 2.5, 7.5))
        self.out.path(ticks, "pacer-ticks")
        self.out.close()

    def _buffer(self, x: float, y: float) -> None:
        """A short queue, some of it taken."""
        for k in range(4):
            cls = "slot full" if k >= 2 else "slot"
            if self.upright:
                self.out.add("rect", class_=cls, x=x - 8, y=y - 6 + 7 * k, width=16, height=7)
            else:
                self.out.add("rect", class_=cls, x=x - 6 + 7 * k, y=y - 8, width=7, height=16)

    def _nodes(self, group: NodeGroup, places: list[_Spot], *, sends: bool) -> None:
        for place in places:
            x, y = self._xy(place)
            if group.is_host:
                self.out.add("rect", class_="host", x=x - 6, y=y - 6, width=12, height=12, rx=3)
            else:
                self.out.add("circle", class_="router", cx=x, cy=y, r=10)
        text = f"{plain(group.count, 0)} {group.name}" if group.count > 1 else group.name
        if self.meshed:
            x, y = self._xy(places[0])
            said = short(text, 15 if self.upright else 22)
            if self.upright:
                self.out.text(x + 15, y + 4, said, "name strong halo")
            else:
                self.out.text(min(x, self.out.width - text_width(said) / 2), y + 25, said, "name strong halo", "middle")
        elif self.upright:
            x, y = self._xy(places[-1])
            self.out.text(172, y + 4, short(text, 26), "name strong")
        else:
            x, y = self._xy(places[0])
            anchor = "start" if x < 60 else "end" if x > self.out.width - 60 else "middle"
            edge = {"start": 4.0, "end": self.out.width - 4}.get(anchor, x)
            self.out.text(edge, 14, short(text, 24), "name strong", anchor)
        if group.is_host and self.net.in_hosts and sends:
            for place in places:
                self._in_host(*self._xy(place))

    def _in_host(self, x: float, y: float) -> None:
        method = self.net.in_hosts[0]
        self.out.open(style=f"--c:var(--s{METHODS.index(method)})")
        self.out.add("rect", class_="host paced", x=x - 6, y=y - 6, width=12, height=12, rx=3)
        self.out.path("".join(f"M{number(x + dx)} {number(y - 3)}v6" for dx in (-2.5, 0, 2.5)), "pacer-ticks")
        self.out.close()

    def _words(self, cable: Cable, spots: list[list[_Spot]]) -> None:
        a, b = _middle(spots[cable.source]), _middle(spots[cable.target])
        x, y = self._xy(_Spot((a.along + b.along) / 2, (a.across + b.across) / 2))
        if self.meshed:
            said = short(cable.lines[0], 14 if self.upright else 24)
            if self.upright:
                self.out.text(x + 12, y + 4, said, "tick halo")
            else:
                self.out.text(x, y - 6, said, "tick halo", "middle")
            return
        count = f"{plain(cable.count, 0)} × " if cable.count > 1 else ""
        name, rest = count + cable.lines[0], cable.lines[1:]
        if self.upright:
            room = 26
            for k, line in enumerate([name, *_joined(rest, room)]):
                self.out.text(172, y - 12 + 15 * k, short(line, room + 2), "name" if k == 0 else "tick")
            return
        room = int(self.length / max(self.last, 1) / 6.6)
        for k, line in enumerate([name, *rest]):
            top = 30 + self.breadth + 20
            self.out.text(x, top + 16 * k, short(line, max(room, 12)), "name" if k == 0 else "tick", "middle")

    def _legend_lines(self, text: str) -> list[str]:
        lines = textwrap.wrap(text, 46 if self.upright else 150)
        return [*lines[:3], short(" ".join(lines[3:]), 40)] if len(lines) > 4 else lines

    def _legend_height(self) -> float:
        return 6.0 * len(self.legend) + 16.0 * sum(len(self._legend_lines(text)) for _, _, text in self.legend)

    def _legend_rows(self) -> None:
        y = self.out.height - self._legend_height() + 12
        for slot, in_host, text in self.legend:
            if in_host:
                self._in_host(17, y - 4)
            else:
                self._pacer(17, y - 4, slot)
            for line in self._legend_lines(text):
                self.out.text(38, y, line, "tick")
                y += 16
            y += 6


def _legend(net: Topology) -> list[tuple[int, bool, str]]:
    """Colour slot, whether it is in hosts, and what stands there."""
    rows: list[tuple[int, bool, str]] = []
    if net.in_hosts:
        rows.append((METHODS.index(net.in_hosts[0]), True, f"{_methods(net.in_hosts)} in each sender"))
    for methods in dict.fromkeys(tuple(c.paced) for c in net.cables if c.paced):
        where = listed(_gathered([c.name for c in net.cables if tuple(c.paced) == methods]))
        slot = METHODS.index(methods[0]) if methods[0] in METHODS else 0
        rows.append((slot, False, f"{_methods(list(methods))} on {where}"))
    return rows


def _gathered(names: list[str]) -> list[str]:
    """Names that differ in a number alone as one: `access.cross.*.l`."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(re.sub(r"(?<=\.)[0-9]+(?=\.|$)", "*", name), []).append(name)
    return [pattern if len(same) > 1 else same[0] for pattern, same in alike.items()]


def _methods(methods: list[str]) -> str:
    return listed((method_words(m) for m in methods), "or")


def _columns(net: Topology) -> list[int]:
    """How many cables lie before each group of nodes; loops are cut where they close."""
    columns = [0] * len(net.nodes)
    for _ in range(len(net.nodes)):
        for cable in net.cables:
            below = columns[cable.source] + 1
            # a loop would push its nodes on for ever
            if columns[cable.target] < below < len(net.nodes):
                columns[cable.target] = below
    for position in range(len(net.nodes)):
        ahead = [columns[c.target] for c in net.cables if c.source == position]
        if ahead and not any(c.target == position for c in net.cables):
            columns[position] = max(min(ahead) - 1, 0)
    used = sorted(set(columns))
    return [used.index(c) for c in columns]


def meshed(net: Topology) -> bool:
    """Whether groups of nodes lie beside one another; what its links are then stands in a table, not in the picture."""
    columns = _columns(net)
    return len(set(columns)) < len(columns)


def _middle(places: list[_Spot]) -> _Spot:
    return _Spot(places[0].along, sum(p.across for p in places) / len(places))


def _joined(lines: list[str], room: int) -> list[str]:
    """Lines packed together where they fit."""
    packed: list[str] = []
    for line in lines:
        if packed and len(packed[-1]) + len(line) + 2 <= room:
            packed[-1] += ", " + line
        else:
            packed.append(line)
    return packed
