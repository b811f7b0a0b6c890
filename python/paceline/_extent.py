"""What an axis of a picture shows, told to the script of the page that the picture stands in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Extent:
    """What an axis shows between the two ends of a plane: by it the page's script reads a place and names a tick.

    `low` and `high` are in `unit`, or on a logarithmic axis in the base unit of `steps`, factors and names of units,
    largest first. An axis of `places` has names instead, at these coordinates.
    """

    title: str
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    logarithmic: bool = False
    steps: Sequence[tuple[float, str]] = ()
    places: Sequence[tuple[float, str]] = ()
    #: Something beside the plane has the same axis: it is not zoomed.
    fixed: bool = False

    def text(self) -> str:
        said = {"title": self.title, "low": self.low, "high": self.high, "unit": self.unit}
        more = {"log": self.logarithmic, "steps": self.steps, "places": self.places, "fixed": self.fixed}
        return json.dumps(said | {name: value for name, value in more.items() if value}, ensure_ascii=False)
