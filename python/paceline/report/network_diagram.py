"""The network as a picture: groups of nodes in columns, cables between, what each is, and where the pacer sits."""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import dataclass

from paceline.report.diagram_columns import columns, meshed
from paceline.report.formatting import listed, plain, short
from paceline.report.study import METHODS
from paceline.report.svg import Drawing, number, polyline, text_width
from paceline.report.topology import Cable, NodeGroup, Topology
from paceline.results.quantities import method_words
from paceline.terminal.text_tables import kept, wrap

#: Of the picture for a screen.
_WIDTH = 1040.0
#: Nodes drawn of a group, however many there are.
_MOST_HOSTS, _MOST_ROUTERS = 6, 3
#: How far off the straight line a cable's middle may lie, in the order tried, and how far it keeps from other nodes.
_BENDS = (0, 30, -30, 45, -45, 60, -60, 80, -80, 100, -100)
_CLEAR = 20.0

#: Left, top, right, bottom.
_Box = tuple[float, float, float, float]


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
        self.columns = columns(net)
        self.last = max(self.columns)
        legend = _legend(net)
        self.legend = legend
        self.meshed = meshed(net)
        self.breadth = 150.0
        if self.meshed:
            rows = max(self.columns.count(c) for c in self.columns)
            self.breadth = (min(110.0, 310.0 / rows) if upright else 64.0) * rows
            if rows == 1 and upright:
                # room for cables that bend, on either side
                self.breadth = 220.0
        self.between: dict[tuple[int, int], list[Cable]] = {}
        for cable in net.cables:
            self.between.setdefault((cable.source, cable.target), []).append(cable)
        self.head = 0.0
        most = 0 if self.meshed else max(len(self._said(cables)) for cables in self.between.values())
        if upright:
            self.length = max(84.0, 38.0 + 15 * most) * self.last + 40
            width, height = 340.0, self.length + 58 + self._legend_height()
        else:
            width = _WIDTH
            self.length = width - 96
            height = 40 + self.breadth + 16 * most + 26 + self._legend_height()
        said = "; ".join(", ".join(c.lines) for c in net.cables)
        self.spots = self._spots()
        self.curves = self._curves() if self.meshed else {}
        points = [point for curve in self.curves.values() for point in curve]
        if points and not upright:
            self.head = max(0.0, 18.0 - min(y for _, y in points))
            low = max(0.0, max(y for _, y in points) - (30 + self.breadth))
            height += self.head + low
            self.curves = {k: [(x, y + self.head) for x, y in curve] for k, curve in self.curves.items()}
        self.out = Drawing(width, height, "The network", said, "network")

    def draw(self) -> Drawing:
        spots = self.spots
        for cable in self.net.cables:
            self._cable(cable, spots)
        for position, (group, places) in enumerate(zip(self.net.nodes, spots, strict=True)):
            self._nodes(group, places, sends=not any(c.target == position for c in self.net.cables))
        if self.meshed:
            self._labels()
        else:
            for cables in self.between.values():
                self._words(cables, spots)
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
        return 48 + spot.along, 30 + self.head + spot.across

    def _cable(self, cable: Cable, spots: list[list[_Spot]]) -> None:
        if self.meshed:
            self._curve(cable)
            return
        left, right = spots[cable.source], spots[cable.target]
        kind = "core" if cable.is_core else "cable"
        most = max(len(left), len(right))
        for k in range(most):
            (x1, y1), (x2, y2) = (self._xy(side[k * len(side) // most]) for side in (left, right))
            self.out.line(x1, y1, x2, y2, kind)
            if cable.paced:
                slot = METHODS.index(cable.paced[0]) if cable.paced[0] in METHODS else 0
                share = self._pacer_at(cable) / 40
                self._pacer(x1 + share * (x2 - x1), y1 + share * (y2 - y1), slot)
        if cable.is_core or cable.has_buffer:
            (x1, y1), (x2, y2) = (self._xy(_middle(side)) for side in (left, right))
            away = 30 / max(abs(x2 - x1) + abs(y2 - y1), 1)
            self._buffer(x1 + away * (x2 - x1), y1 + away * (y2 - y1))

    def _curves(self) -> dict[int, list[tuple[float, float]]]:
        """The way of each cable, as points: straight where no other node is near, else bent as little as helps."""
        found: dict[int, list[tuple[float, float]]] = {}
        places = [self._xy(places[0]) for places in self.spots]
        seen: set[frozenset[int]] = set()
        for cable in self.net.cables:
            ends = frozenset((cable.source, cable.target))
            others = [place for k, place in enumerate(places) if k not in ends]
            best: tuple[float, list[tuple[float, float]]] = (-1.0, [])
            for bend in _BENDS[1:] if ends in seen else _BENDS:
                curve = _bent(places[cable.source], places[cable.target], bend)
                clear = min((math.dist(a, b) for a in curve for b in others), default=99.0)
                # a name stands below its node, or to the right of it
                named = (18, 0) if self.upright else (0, 20)
                clear = min(
                    [clear, *(math.dist(a, (x + named[0], y + named[1])) + 6 for a in curve for x, y in others)]
                )
                if self.upright and not all(4 <= x <= 336 for x, _ in curve):
                    continue
                # what is far enough is far enough
                if min(clear, _CLEAR) > best[0]:
                    best = (min(clear, _CLEAR), curve)
            seen.add(ends)
            found[id(cable)] = best[1] or _bent(places[cable.source], places[cable.target], 0)
        return found

    def _curve(self, cable: Cable) -> None:
        curve = self.curves[id(cable)]
        self.out.path(polyline(curve), ("core" if cable.is_core else "cable") + " bent")
        if cable.paced:
            self._pacer(
                *curve[self._pacer_at(cable)], METHODS.index(cable.paced[0]) if cable.paced[0] in METHODS else 0
            )
        if cable.is_core or cable.has_buffer:
            self._buffer(*_beyond(curve, 30))

    def _pacer_at(self, cable: Cable) -> int:
        """The point of a cable's way where its pacer is drawn; upright there is no room behind the buffer's start."""
        return 28 if self.upright and (cable.is_core or cable.has_buffer) else 12

    def _labels(self) -> None:
        """A name beside each cable, where it is on no node, no node's name and no other label."""
        taken: list[_Box] = []
        for group, places in zip(self.net.nodes, self.spots, strict=True):
            x, y = self._xy(places[0])
            wide = text_width(self._node_text(group)) + 4
            taken.append((x - 13, y - 13, x + 13, y + 13))
            taken.append(
                (x + 13, y - 9, x + 15 + wide, y + 8) if self.upright else (x - wide / 2, y + 12, x + wide / 2, y + 29)
            )
        for cable in self.net.cables:
            curve = self.curves[id(cable)]
            if cable.paced:
                x, y = curve[self._pacer_at(cable)]
                taken.append((x - 14, y - 8, x + 14, y + 8))
            if cable.is_core or cable.has_buffer:
                x, y = _beyond(curve, 30)
                taken.append((x - 9, y - 8, x + 9, y + 23) if self.upright else (x - 8, y - 9, x + 24, y + 9))
        for cable in self.net.cables:
            curve = self.curves[id(cable)]
            said = short(cable.lines[0], 14 if self.upright else 24)
            wide = text_width(said, 11.5)
            best: tuple[float, float, float, _Box] | None = None
            for share in (0.5, 0.44, 0.56, 0.38, 0.62, 0.7, 0.3, 0.78, 0.22):
                x, y = curve[round(share * (len(curve) - 1))]
                for dx, dy in ((wide / 2 + 8, 4), (-wide / 2 - 8, 4)) if self.upright else ((0, -6), (0, 15)):
                    box = (x + dx - wide / 2, y + dy - 11, x + dx + wide / 2, y + dy + 4)
                    if box[0] < 0 or box[2] > self.out.width:
                        continue
                    over = sum(_overlap(box, other) for other in taken)
                    if best is None or over < best[0]:
                        best = (over, x + dx, y + dy, box)
            if best is not None:
                self.out.text(best[1], best[2], said, "tick halo", "middle")
                taken.append(best[3])

    def _pacer(self, x: float, y: float, slot: int) -> None:
        """Evenly spaced packets on the wire."""
        self.out.open_slot(slot)
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
            said = self._node_text(group)
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

    def _node_text(self, group: NodeGroup) -> str:
        text = f"{plain(group.count, 0)} {group.name}" if group.count > 1 else group.name
        return short(text, 15 if self.upright else 22)

    def _in_host(self, x: float, y: float) -> None:
        method = self.net.in_hosts[0]
        self.out.open_slot(METHODS.index(method))
        self.out.add("rect", class_="host paced", x=x - 6, y=y - 6, width=12, height=12, rx=3)
        self.out.path("".join(f"M{number(x + dx)} {number(y - 3)}v6" for dx in (-2.5, 0, 2.5)), "pacer-ticks")
        self.out.close()

    def _said(self, cables: list[Cable]) -> list[tuple[str, str]]:
        """Class and text of the lines beside the cables between two groups, one cable's under another's, uncut."""
        room = 28 if self.upright else max(int((_WIDTH - 96) / max(self.last, 1) / 6.6), 12)
        found: list[tuple[str, str]] = []
        for cable in cables:
            count = f"{plain(cable.count, 0)} × " if cable.count > 1 else ""
            found.append(("name", short(count + cable.lines[0], room)))
            rest = _joined(cable.lines[1:], 26) if self.upright else cable.lines[1:]
            found += [("tick", part) for line in rest for part in wrap(kept(line), room)]
        return found

    def _words(self, cables: list[Cable], spots: list[list[_Spot]]) -> None:
        a, b = _middle(spots[cables[0].source]), _middle(spots[cables[0].target])
        x, y = self._xy(_Spot((a.along + b.along) / 2, (a.across + b.across) / 2))
        said = self._said(cables)
        for k, (kind, line) in enumerate(said):
            if self.upright:
                self.out.text(172, y + 4 + 15 * (k - (len(said) - 1) / 2), line, kind)
            else:
                self.out.text(x, 50 + self.breadth + 16 * k, line, kind, "middle")

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


def _bent(a: tuple[float, float], b: tuple[float, float], bend: float) -> list[tuple[float, float]]:
    """Points from a to b on an arc whose middle lies `bend` off the straight line."""
    long = math.dist(a, b) or 1.0
    across = ((b[1] - a[1]) / long, (a[0] - b[0]) / long)
    if across[1] > 0:
        across = (-across[0], -across[1])
    found = []
    for k in range(41):
        t = k / 40
        off = bend * 4 * t * (1 - t)
        found.append((a[0] + t * (b[0] - a[0]) + off * across[0], a[1] + t * (b[1] - a[1]) + off * across[1]))
    return found


def _beyond(curve: list[tuple[float, float]], far: float) -> tuple[float, float]:
    """The first point this far from the start, else the last."""
    return next((point for point in curve if math.dist(curve[0], point) >= far), curve[-1])


def _overlap(a: _Box, b: _Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


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
