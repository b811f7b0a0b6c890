"""Marks of series: each slot has a colour and a shape of its own, so that lines differ in grey, too.

There are twelve shapes, each filled and hollow, and as many colours in the style sheet (``--s0`` to ``--s23``): eight
hues that most eyes tell apart, in two depths, and eight between them. Beyond twenty-four, colours begin anew with other
shapes.
"""

from __future__ import annotations

import math
from itertools import pairwise

from paceline.report.svg import COLOURS as SLOTS
from paceline.report.svg import number

_RADIUS = 4.4

Point = tuple[float, float]


def dash(slot: int) -> int:
    """Which of the style sheet's dashes: solid for the first eight, then one for each further eight."""
    return slot // 8 % 4


def marker(slot: int, x: float, y: float) -> str:
    """The path of a slot's shape around a place, from which its corners are relative."""
    points = _SHAPES[_shape(slot) % len(_SHAPES)]
    if not points:
        return f"M{number(x)} {number(y)}m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z"
    corners = [(0.0, 0.0), *((_RADIUS * a, _RADIUS * b) for a, b in points)]
    steps = [f"{number(c - a)} {number(d - b)}" for (a, b), (c, d) in pairwise(corners)]
    return f"M{number(x)} {number(y)}m{'l'.join(steps)}z"


def mark(slot: int) -> str:
    """The class of a slot's shape in the style sheet."""
    return "mark hollow" if _shape(slot) >= len(_SHAPES) else "mark"


def _shape(slot: int) -> int:
    return (slot + slot // SLOTS) % SLOTS


def _regular(corners: int, turned: float = 0.0, radius: float = 1.0) -> list[Point]:
    """Corners of a regular polygon, one at the top unless turned (in whole turns)."""
    angles = [2 * math.pi * (turned + k / corners) for k in range(corners)]
    return [(radius * math.sin(a), -radius * math.cos(a)) for a in angles]


def _star(corners: int, inner: float) -> list[Point]:
    tips, notches = _regular(corners), _regular(corners, 0.5 / corners, inner)
    return [point for pair in zip(tips, notches, strict=True) for point in pair]


def _cross(turned: float) -> list[Point]:
    """Four arms, a third of the width each."""
    arm, long = 0.34, 1.0
    quarter = [(-arm, -long), (arm, -long), (arm, -arm)]
    found: list[Point] = []
    for k in range(4):
        sine, cosine = math.sin(2 * math.pi * (turned + k / 4)), math.cos(2 * math.pi * (turned + k / 4))
        found += [(x * cosine - y * sine, x * sine + y * cosine) for x, y in quarter]
    return found


#: The first is a circle, which has no corners.
_SHAPES: tuple[list[Point], ...] = (
    [],
    _regular(4, 0.125, 1.05),
    _regular(4, 0.0, 1.08),
    _regular(3, 0.0, 1.1),
    _regular(3, 0.5, 1.1),
    _cross(0.0),
    _cross(0.125),
    _star(5, 0.42),
    _regular(5),
    _regular(6),
    _regular(3, 0.75, 1.1),
    _regular(3, 0.25, 1.1),
)
