"""A small SVG writer: escaped text, axes with sensible ticks, colours by CSS variable so that pictures follow the page.

Colours are never written here: a mark carries a class, a series `--c: var(--s<slot>)`, and the page's style sheet
decides what they look like in light, in dark and in print.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from paceline._extent import Extent

#: Left, top, right and bottom.
Box = tuple[float, float, float, float]
#: Colours of series that the style sheet has; more series begin anew, with other marks (see `marks`).
COLOURS = 24
#: Average width of a character of the page's font, in ems.
CHARACTER = 0.56


def number(value: float) -> str:
    """A coordinate: two decimals are a fiftieth of a pixel."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def text_width(text: str, size: float = 12.0) -> float:
    return len(text) * size * CHARACTER


@dataclass
class Drawing:
    """An SVG picture of fixed logical size that scales to the width it is given."""

    width: float
    height: float
    title: str
    description: str = ""
    kind: str = ""
    parts: list[str] = field(default_factory=list)

    def add(self, tag: str, text: str | None = None, **attributes: object) -> None:
        self.parts.append(element(tag, text, **attributes))

    def open(self, **attributes: object) -> None:
        self.parts.append(f"<g{_attributes(attributes)}>")

    def open_slot(self, slot: int) -> None:
        """A group in the colour of a series."""
        self.open(style=f"--c:var(--s{slot % COLOURS})")

    def open_plane(self, box: Box, across: Extent, up: Extent | None) -> None:
        """A plane of values in a box (left, top, right, bottom), with ticks and series in it.

        The page's script reads and zooms what is there. It moves absolute coordinates of paths, which are places of
        the plane, and leaves relative ones, which are signs drawn at a place.
        """
        own = {"data_box": " ".join(number(edge) for edge in box), "data_x": across.text()}
        self.open(class_="plane", **own, data_y=up.text() if up else None)

    def open_series(self, slot: int, name: str) -> None:
        """What a series has in a plane, in its colour."""
        self.open(class_="series", data_name=name, style=f"--c:var(--s{slot % COLOURS})")

    def open_key(self, slot: int, name: str) -> None:
        """A series' name in a picture, which hides the series and shows it."""
        self.open(class_="key", data_name=name, style=f"--c:var(--s{slot % COLOURS})")

    def close(self) -> None:
        self.parts.append("</g>")

    def line(self, x1: float, y1: float, x2: float, y2: float, cls: str) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=cls)

    def text(self, x: float, y: float, text: str, cls: str = "", anchor: str = "start", **more: object) -> None:
        self.add("text", text, x=x, y=y, class_=cls or None, text_anchor=None if anchor == "start" else anchor, **more)

    def heading(self, y: float, title: str, unit: str) -> None:
        """A chart's title with its unit behind it."""
        tail = f'<tspan class="axis-title">{escape(", " + unit)}</tspan>' if unit else ""
        self.parts.append(f'<text x="0" y="{number(y)}" class="chart-title">{escape(title)}{tail}</text>')

    def path(self, d: str, cls: str, tip: str | None = None) -> None:
        body = f"<title>{escape(tip)}</title>" if tip else ""
        self.parts.append(f"<path{_attributes({'d': d, 'class_': cls})}>{body}</path>")

    def markup(self) -> Markup:
        """The `<svg>` element, for the page: named for screen readers, sized by its container."""
        head = {
            "class_": f"picture {self.kind}".strip(),
            "viewBox": f"0 0 {number(self.width)} {number(self.height)}",
            "role": "img",
            "aria_label": f"{self.title}. {self.description}".strip(),
        }
        # every part was escaped when it was added
        return Markup(f"<svg{_attributes(head)}>{''.join(self.parts)}</svg>")  # noqa: S704


def element(tag: str, text: str | None = None, **attributes: object) -> str:
    return f"<{tag}{_attributes(attributes)}>{escape(text) if text is not None else ''}</{tag}>"


def _attributes(attributes: Mapping[str, object]) -> str:
    out: list[str] = []
    for name, value in attributes.items():
        if value is None:
            continue
        shown = number(value) if isinstance(value, int | float) else str(value)
        key = name.rstrip("_") if name == "viewBox" else name.rstrip("_").replace("_", "-")
        out.append(f' {key}="{escape(shown)}"')
    return "".join(out)


def polyline(points: Sequence[tuple[float, float]]) -> str:
    """The `d` of a path through points."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) if points else ""


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`."""
    if not high > low:
        high = low + (abs(low) or 1.0)
    raw = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [k * step for k in range(first, last + 1)]


def decimals_of(values: Sequence[float]) -> int:
    """The decimals that tell neighbouring ticks apart."""
    for decimals in range(6):
        if all(abs(round(v, decimals) - v) < 1e-9 * max(1.0, abs(v)) for v in values):
            return decimals
    return 6


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near the ones wanted, at least `gap` apart where there is room, between `low` and `high`."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [wanted[i] for i in order]
    gap = min(gap, (high - low) / max(len(placed) - 1, 1))
    for _ in range(60):
        moved = False
        for k in range(1, len(placed)):
            overlap = gap - (placed[k] - placed[k - 1])
            if overlap > 1e-6:
                placed[k - 1] -= overlap / 2
                placed[k] += overlap / 2
                moved = True
        placed = [min(max(p, low), high) for p in placed]
        if not moved:
            break
    for k in range(1, len(placed)):
        placed[k] = max(placed[k], placed[k - 1] + gap)
    excess = max(0.0, (placed[-1] - high) if placed else 0.0)
    out = [0.0] * len(placed)
    for k, i in enumerate(order):
        out[i] = placed[k] - excess
    return out
