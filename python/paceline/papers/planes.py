"""Says in a Matplotlib figure's SVG what its axes show, for the gallery's script to read values and zoom.

Groups of the picture get the classes and attributes that pictures of the report have (`paceline.report.svg`): ``plane``
with its box and axes, ``series`` by name, ``key`` for a name in the legend, ``moves`` for what else lies in a plane.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from paceline._extent import Extent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Planes:
    """Names the parts of a figure before it is written, and describes them in what was written."""

    def __init__(self, figure: Figure) -> None:
        self._figure = figure
        self._said: dict[str, str] = {}
        self._notes: list[tuple[str, Any, Axes]] = []
        for index, ax in enumerate(figure.axes):
            ax.set_gid(f"axes_{index + 1}")
            named = list(_named(ax))
            for n, (name, role, artist) in enumerate(named):
                self._name(artist, f"series-{index}-{n}", f'class="series {role}" data-name="{html.escape(name)}"')
            own = {id(artist) for _, _, artist in named}
            rest = [one for one in (*ax.lines, *ax.collections, *ax.patches) if id(one) not in own]
            for n, artist in enumerate(rest):
                self._name(artist, f"beside-{index}-{n}", 'class="moves"')
            self._notes += [(f"note-{index}-{n}", text, ax) for n, text in enumerate(ax.texts)]
            legend = ax.get_legend()
            for n, text in enumerate(legend.get_texts() if legend else ()):
                self._name(text, f"key-{index}-{n}", f'class="key" data-name="{html.escape(text.get_text())}"')
        for n, legend in enumerate(figure.legends):
            for k, text in enumerate(legend.get_texts()):
                self._name(text, f"key-{n}-of-all-{k}", f'class="key" data-name="{html.escape(text.get_text())}"')
        for name, text, _ in self._notes:
            text.set_gid(name)

    def _name(self, artist: Any, name: str, said: str) -> None:
        artist.set_gid(name)
        self._said[name] = said

    def describe(self, svg: str) -> str:
        """The written figure with the attributes of its parts."""
        planes = {f"axes_{n + 1}": plane for n, ax in enumerate(self._figure.axes) if (plane := self._plane(ax))}
        said = self._said | planes
        svg = re.sub(r'<g id="([^"]+)">', lambda found: f'<g id="{found[1]}"{_spaced(said.get(found[1]))}>', svg)
        for name, text, ax in self._notes:
            if (at := self._place(text, ax)) is not None:
                of_it = re.compile(rf'<g id="{name}">(\s*(?:<!--.*?-->\s*)?)<text ')
                svg = of_it.sub(rf'<g id="{name}" class="moves">\1<text data-at="{at[0]:.2f} {at[1]:.2f}" ', svg)
        ticks = r'<g id="([xy])tick_(\d+)">'
        return re.sub(ticks, r'<g id="\1tick_\2" class="tick-\1">', svg)

    def _points(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of the canvas as the picture's coordinates, pt from its upper left corner."""
        scale = 72 / self._figure.dpi
        return x * scale, self._figure.get_size_inches()[1] * 72 - y * scale

    def _place(self, text: Any, ax: Axes) -> tuple[float, float] | None:
        """Where a note's point of the plane is; ``None`` for a note that belongs to no point."""
        if getattr(text, "xycoords", None) == "data":
            x, y = text.xy
        elif not hasattr(text, "xycoords") and text.get_transform() == ax.transData:
            x, y = text.get_position()
        else:
            return None
        return self._points(*ax.transData.transform((x, y)))

    def _plane(self, ax: Axes) -> str | None:
        """Attributes of a group of axes; ``None`` where a scale is neither linear nor logarithmic."""
        if {ax.get_xscale(), ax.get_yscale()} - {"linear", "log"} or not ax.axison:
            return None
        frame = ax.get_window_extent()
        (left, bottom), (right, top) = self._points(frame.x0, frame.y0), self._points(frame.x1, frame.y1)
        box = " ".join(f"{edge:.2f}" for edge in (left, top, right, bottom))
        across, up = self._extent(ax, "x"), self._extent(ax, "y")
        return f'class="plane" data-box="{box}" data-x="{html.escape(across)}" data-y="{html.escape(up)}"'

    def _extent(self, ax: Axes, which: str) -> str:
        axis = ax.xaxis if which == "x" else ax.yaxis
        low, high = (float(end) for end in (ax.get_xlim() if which == "x" else ax.get_ylim()))
        labels = [getattr(other, f"get_{which}label")() for other in (ax, *self._figure.axes)]
        label = next((one for one in labels if one), "")
        logarithmic = axis.get_scale() == "log"
        title, _, unit = label.rpartition(", ")
        if not title or " " in unit:  # words that go on, not a unit
            title, unit = label, ""
        places = [] if logarithmic else self._places(ax, axis, which)
        return Extent(" ".join(title.split()), low, high, unit, logarithmic, places=places).text()

    def _places(self, ax: Axes, axis: Any, which: str) -> list[tuple[float, str]]:
        """Coordinates and names of ticks, where these are words."""
        ticks = [(tick.get_loc(), tick.label1.get_text()) for tick in axis.get_major_ticks()]
        named = [(at, text) for at, text in ticks if text]
        if not named or all(_is_number(text) for _, text in named):
            return []
        transform = ax.transData.transform
        placed = [self._points(*transform((at, 0) if which == "x" else (0, at))) for at, _ in named]
        return [(round(at[which == "y"], 2), text) for at, (_, text) in zip(placed, named, strict=True)]


def _named(ax: Axes) -> Iterator[tuple[str, str, Any]]:
    """Name, role and artist of everything that a legend names."""
    from matplotlib.container import ErrorbarContainer

    seen: set[int] = set()
    for container in ax.containers:
        name = str(container.get_label())
        parts: Sequence[tuple[str, Any]] = [("", one) for one in container]
        if isinstance(container, ErrorbarContainer):
            line, caps, bars = container.lines
            parts = [("curve", one) for one in (line,) if one] + [("spread", one) for one in (*caps, *bars)]
        for role, artist in parts:
            seen.add(id(artist))
            if not name.startswith("_"):
                yield name, role, artist
    for artist in (*ax.lines, *ax.collections, *ax.patches):
        name = str(artist.get_label())
        if id(artist) not in seen and name and not name.startswith("_"):
            yield name, "curve" if artist in ax.lines or hasattr(artist, "get_sizes") else "spread", artist


def _spaced(said: str | None) -> str:
    return f" {said}" if said else ""


def _is_number(text: str) -> bool:
    try:
        float(text.replace("\N{MINUS SIGN}", "-").replace(" ", ""))
    except ValueError:
        return False
    return True
