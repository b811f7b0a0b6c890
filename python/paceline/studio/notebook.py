"""`paceline.widget`: the studio in a cell, where its packages are installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paceline._arguments import directory, whole
from paceline._optional import needed
from paceline.scenario import Source, loaded

if TYPE_CHECKING:
    from paceline.studio.widget import Widget


def widget(scenario: Source, *, out: str | os.PathLike[str] = "results/studio", height: int = 720) -> Widget:
    """The studio of a scenario as a notebook's cell: unpaced and paced side by side, while sliders move.

    It is the page of `paceline studio`, answered by this process; nothing listens. What it shows is at hand:
    `scenario` is the state of its sliders, and may be set.

    Args:
        scenario: or the path of its file.
        out: where the sweeps that it runs in full go.
        height: px, 200 to 4000.

    Returns:
        A widget, which JupyterLab, Jupyter Notebook, VS Code and Colab show. With `observe` it tells of each change:
        `shown.observe(print, "document")`.

    Raises:
        InputError: a broken scenario, or one that has no two worlds.
        ModuleNotFoundError: the packages of `paceline[notebook]` are not installed.

    Examples:
        >>> shown = pl.widget(pl.template("one-flow"))
        >>> shown.scenario.title
        'One flow, its window and its queue'
        >>> shown.close()
    """
    for package in ("anywidget", "starlette"):
        needed(package, "paceline.widget")
    from paceline.studio.widget import Widget

    folder = directory(out, "out", "results/studio")
    return Widget(loaded(scenario), folder, whole(height, "height", "a whole number of pixels", 200, 4000))
