"""Plots of results for notebooks and papers: the report's pictures as Matplotlib figures.

    import paceline as pl
    from paceline import plot

    results = pl.sweep(scenario, seeds=5)
    plot.against_buffer(results)
    plot.save(plot.raster(results), "raster.pdf")

Every function but `save` takes what `paceline.run` and `paceline.sweep` return, or the directory of `paceline run
--out`, and returns a figure of its own, which a notebook shows; nothing else is shown or saved. Colours and markers are
those of the report. For print:

    with plot.paper():
        plot.save(plot.against_buffer(results, ("loss",), size=(plot.COLUMN, 2.4)), "loss.pdf")
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from paceline._arguments import quoted
from paceline._optional import needed
from paceline._palette import COLOURS, MARKERS
from paceline._statistics import Interval
from paceline.errors import InputError
from paceline.report import metric_charts, time_charts
from paceline.report.formatting import Scale, scale_for
from paceline.report.metrics import BY_KEY, Metric
from paceline.report.study import Series, Study, study, value_words
from paceline.report.study_sources import FromMemory, load
from paceline.results import Result, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What to plot: results in memory, or the directory they were written to, or its `runs.parquet`.
Source = Result | Results | str | os.PathLike[str]

#: Widths of a column and of both, inches, as conferences of IEEE and ACM have them.
COLUMN, TEXT = 3.5, 7.16
#: What `save` writes, by the suffix of the file.
FORMATS = ("pdf", "svg", "pgf", "png")

#: Width and height, inches.
Size = tuple[float, float | None]

_QUIET = "#515c68"
_RULE = "#e6eaee"
#: Narrower panels of a queue say little, inches.
_LEAST = 2.2
#: Letters in a line of a setting's name.
_LABEL = 24
#: Sizes that stay legible in a column of print.
_PRINT = {
    "font.size": 8.0,
    "lines.linewidth": 1.1,
    "lines.markersize": 4.2,
    "axes.linewidth": 0.6,
    "axes.titlesize": "medium",
    "savefig.dpi": 300,
}


def against_buffer(
    source: Source,
    metrics: tuple[str, ...] = ("throughput", "goodput", "loss"),
    *,
    size: Size | None = None,
    stacked: bool = False,
) -> Figure:
    """Means with 95 % intervals over the swept buffer, or whatever quantity was swept, a line a pacing method.

    Where more was swept, there is a row of axes for each combination of it; where no quantity was, a point a setting.

    Args:
        source: results or their directory.
        metrics: names as in the report's data: ``throughput``, ``goodput``, ``loss``, ``utilisation``, ``timeouts``,
            ``jain``, ``queue_mean``, ``queue_p99``, ``delay_mean``, ``delay_p99``, …
        size: of the figure, inches; a height of ``None`` is what it takes.
        stacked: all axes one below the other, as in a column of print.

    Raises:
        InputError: a metric has another name.

    Returns:
        A row of axes for each combination of what else was swept, a column a metric.

    Examples:
        >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").set("duration", "10 s")
        >>> results = pl.sweep(scenario, over={"network.links.bottleneck.buffer": ["5 KB", "20 KB"]})
        >>> len(plot.against_buffer(results, ("throughput", "loss")).axes)
        2
    """
    data = _study(source)
    unknown = [name for name in metrics if name not in BY_KEY]
    if unknown:
        raise InputError(f"{quoted(unknown[0])} is no metric; write one of {', '.join(BY_KEY)}", "metrics")
    count = len(data.parts) * len(metrics)
    columns = 1 if stacked else len(metrics)
    tall = 3.6 if size is None else 2.0
    if data.axis is None:
        tall = 0.5 + max(sum(0.2 + 0.13 * name.count("\n") for name in _rows(part)) for part in data.parts)
    figure, axes = _figure(count, _inches(size, 4.2 * columns, tall * count / columns), columns=columns)
    for ax, (part, name) in zip(axes, itertools.product(data.parts, metrics), strict=True):
        (_lines if part.axis else _points)(part, ax, BY_KEY[name])
        if part.condition and name == metrics[0]:
            given = ", ".join(value_words(path, text) for path, text in part.condition.items())
            ax.set_title(f"{given}\n{ax.get_title(loc='left')}", fontsize="medium", loc="left")
    if len(data.series) > 1 and data.axis:
        axes[-1].legend(frameon=False, fontsize="small")
    return figure


def queue(source: Source, *, size: Size | None = None) -> Figure:
    """Bytes that wait at the core over time, one panel a setting, of each setting's first seed.

    Of more than 16 settings some are drawn: of a quantity the smallest, a middle and the largest value.

    Raises:
        ValueError: no queue was recorded.

    Args:
        source: results or their directory.
        size: of the figure, inches; a height of ``None`` is what it takes.

    Returns:
        A panel a setting; bytes, in the unit that their size asks for, against seconds.

    Examples:
        >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").set("probes", {"queue": {"links": ["bottleneck"]}})
        >>> len(plot.queue(pl.sweep(scenario)).axes)
        2
    """
    data = _study(source)
    links = data.recordings.links("queue")
    link = data.core if data.core in links else next(iter(links), None)
    found, settings = [], data.settings
    if len(settings) > time_charts.MOST_PANELS:
        data = data.parts[0]
        positions, shown = time_charts.panels_of(data)
        settings = [s for one in shown for place in positions if (s := data.setting(one, place))]
    for setting in settings if link else []:
        record = data.recordings.of(setting, "queue", link) if link else None
        if record is not None:
            found.append((setting, record))
    if not found:
        raise ValueError("no queue was recorded; see [probes] in the scenario")
    series = {s.name: s for s in data.series}
    columns = min(len(found), 3 if size is None else max(1, int(size[0] / _LEAST)))
    figure, axes = _figure(len(found), _inches(size, 4.2 * columns, 1.9 * -(-len(found) // columns)), columns=columns)
    for ax, (setting, record) in zip(axes, found, strict=True):
        scale = scale_for("bytes", [float(record.bytes.max())])
        own = series[data.series_name(setting)]
        ax.plot(record.time_ns / 1e9, record.bytes / scale.divisor, color=_colour(own), linewidth=0.6)
        ax.set_title(data.setting_name(setting), fontsize="small", loc="left")
        ax.set_ylabel(f"queue, {scale.unit}")
        ax.set_xlabel("time, s")
        ax.set_ylim(bottom=0)
    return figure


def raster(source: Source, *, window_s: float | None = None, size: Size | None = None) -> Figure:
    """A tick for every packet that leaves the first edge link (or the core), a strip a pacing method, eight at most.

    Args:
        source: results or their directory.
        window_s: how much of the record to show, seconds; by default about 260 packets a strip, fewer in a narrow one.
        size: of the figure, inches; a height of ``None`` is what it takes.

    Raises:
        ValueError: no departures were recorded.

    Returns:
        A strip a pacing method, over seconds.

    Examples:
        >>> recorded = {"departures": {"links": ["bottleneck"]}}
        >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").set("probes", recorded)
        >>> len(plot.raster(pl.sweep(scenario)).axes)
        1
    """
    picture = time_charts.raster_of(_study(source))
    if picture is None:
        raise ValueError("no departures were recorded; see [probes] in the scenario")
    inches = _inches(size, 9.0, 0.62 * len(picture.strips) + 0.7)
    length = window_s or time_charts.window_s(picture) * min(1.0, inches[0] / 9.0)
    figure, (ax,) = _figure(1, inches)
    draw_raster(ax, picture, length)
    return figure


@contextlib.contextmanager
def paper() -> Iterator[None]:
    """Within it figures have text of 8 points and lines to match, for a column of print.

    Examples:
        >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").set("duration", "10 s")
        >>> results = pl.sweep(scenario, over={"network.links.bottleneck.buffer": ["5 KB", "20 KB"]})
        >>> with plot.paper():
        ...     figure = plot.against_buffer(results, ("loss",), size=(plot.COLUMN, 2.4))
        >>> figure.axes[0].xaxis.label.get_size()
        8.0
    """
    with _matplotlib().rc_context(_PRINT):
        yield


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes a figure: the same bytes for the same figure, text as text.

    Args:
        figure: of this module, or any other of Matplotlib.
        path: its suffix says the form: ``.pdf``, ``.svg``, ``.png``, or ``.pgf`` for LaTeX, which needs LaTeX here too.

    Raises:
        ValueError: the suffix is another, or there is no LaTeX to measure the text of a ``.pgf``.
        OSError: the file cannot be written.

    Examples:
        >>> results = pl.sweep(pl.Scenario.load("scenarios/one-flow.toml"))
        >>> plot.save(plot.raster(results), "raster.svg")
    """
    form = Path(path).suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise ValueError(f"{os.fspath(path)} has no suffix that says a form; there are .{', .'.join(FORMATS)}")
    without_date = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    said: dict[str, Any] = {"metadata": without_date[form]} if form in without_date else {}  # pgf takes none
    settings: dict[str, Any] = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "paceline"}
    if form == "pgf":
        settings |= {"pgf.texsystem": _tex(), "pgf.rcfonts": False}
    with _matplotlib().rc_context(settings):
        figure.savefig(path, format=form, **said)


def _tex() -> str:
    """The LaTeX that measures text for PGF."""
    found = next((name for name in ("pdflatex", "xelatex", "lualatex") if shutil.which(name)), None)
    if found is None:
        raise ValueError("PGF is measured by LaTeX, and there is no pdflatex, xelatex or lualatex; write .pdf or .svg")
    return found


def _matplotlib() -> Any:
    """Matplotlib, which not every installation has."""
    mpl = needed("matplotlib", "a figure")
    import matplotlib.figure  # noqa: F401

    return mpl


def draw_raster(ax: Axes, picture: time_charts.Raster, length_s: float) -> None:
    """Draws the strips of a raster on axes that are there."""
    tick = 0.8 * min(1.0, _matplotlib().rcParams["lines.linewidth"] / 1.5)
    for row, strip in enumerate(picture.strips):
        shown = strip.times_s[strip.times_s < length_s] * 1e3
        ax.vlines(shown, row + 0.12, row + 0.88, color=_colour(strip.series), linewidth=tick)
    ax.set_yticks([row + 0.5 for row in range(len(picture.strips))], [strip.series.name for strip in picture.strips])
    for label, strip in zip(ax.get_yticklabels(), picture.strips, strict=True):
        label.set_color(_colour(strip.series))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(picture.strips), 0)
    ax.set_xlim(0, length_s * 1e3)
    ax.set_xlabel(f"packets leaving {picture.link}: time, ms")
    ax.spines["left"].set_visible(False)
    ax.grid(visible=False)


def _lines(data: Study, ax: Axes, metric: Metric) -> None:
    axis = data.axis
    assert axis is not None
    everything = [e for s in data.settings if (e := data.estimate(s, metric))]
    scale = scale_for(metric.kind, [e.mean for e in everything])
    unit = scale_for(axis.dimension, axis.values.values())
    for series in data.series:
        points = [
            (axis.values[text] / unit.divisor, e)
            for text in axis.texts
            if (setting := data.setting(series, text)) and (e := data.estimate(setting, metric))
        ]
        means = [e.mean / scale.divisor for _, e in points]
        reach = _reach(metric, scale, [e for _, e in points])
        _bars(ax, series, [x for x, _ in points], means, yerr=reach, label=series.name)
    ax.set_title(_with_unit(metric.title, scale), fontsize="medium", loc="left")
    ax.set_xlabel(_with_unit(axis.title, unit))
    ax.set_ylim(_limits(metric, scale, everything))


def _points(data: Study, ax: Axes, metric: Metric) -> None:
    """A row a setting: nothing that was swept is a place on an axis."""
    everything = [(row, s, e) for row, s in enumerate(data.settings) if (e := data.estimate(s, metric))]
    scale = scale_for(metric.kind, [e.mean for _, _, e in everything])
    series = {one.name: one for one in data.series}
    for row, setting, estimate in everything:
        own = series[data.series_name(setting)]
        _bars(ax, own, [estimate.mean / scale.divisor], [row], xerr=_reach(metric, scale, [estimate]))
    ax.set_title(_with_unit(metric.title, scale), fontsize="medium", loc="left")
    ax.set_yticks(range(len(data.settings)), _rows(data))
    ax.set_ylim(len(data.settings) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", color=_RULE, linewidth=0.8)
    ax.set_xlim(_limits(metric, scale, [e for _, _, e in everything]))


def _bars(ax: Axes, series: Series, x: Sequence[float], y: Sequence[float], **reach: Any) -> None:
    """Means with how far their intervals reach, in the look of a series."""
    look: dict[str, Any] = {"color": _colour(series), "clip_on": False, **marks(series.slot)}
    sizes = _matplotlib().rcParams
    size, line = sizes["lines.markersize"], sizes["lines.linewidth"]
    look |= {"markersize": size / 1.2, "capsize": size / 2.4, "linewidth": line * 1.07, "elinewidth": line / 1.5}
    ax.errorbar(x, y, **look, **reach)


def _rows(data: Study) -> list[str]:
    """Names of settings, in lines that leave a column room for the numbers."""
    return ["\n".join(textwrap.wrap(data.setting_name(setting), _LABEL)) for setting in data.settings]


def _limits(metric: Metric, scale: Scale, shown: Sequence[Interval]) -> tuple[float, float]:
    """The ends of an axis: room for all, and from zero on where all are one number."""
    low, high = metric_charts.extent(metric, shown)
    if high == low:
        low = 0.0
    high = min(high + (0.04 * (high - low) or 1.0), metric.bounds[1])
    return low / scale.divisor, high / scale.divisor


def _reach(metric: Metric, scale: Scale, shown: Sequence[Interval]) -> list[list[float]]:
    """How far error bars go down and up from the means, within what the quantity can be."""
    down = [max(e.mean - metric.within(e.low), 0.0) / scale.divisor for e in shown]
    return [down, [max(metric.within(e.high) - e.mean, 0.0) / scale.divisor for e in shown]]


def marks(slot: int) -> dict[str, Any]:
    """The marker of a slot, as Matplotlib has it: those of the report, or what comes nearest."""
    shape = (slot + slot // len(COLOURS)) % len(COLOURS)
    hollow = {"markerfacecolor": "none"} if shape >= len(MARKERS) else {}
    return {"marker": MARKERS[shape % len(MARKERS)]} | hollow


def _png(figure: Figure) -> bytes:
    """How a notebook shows a figure that pyplot does not know."""
    sink = io.BytesIO()
    figure.savefig(sink, format="png", dpi=144)
    return sink.getvalue()


def _inches(size: Size | None, width: float, height: float) -> tuple[float, float]:
    return (width, height) if size is None else (size[0], size[1] or height)


def _figure(count: int, size: tuple[float, float], *, columns: int | None = None) -> tuple[Figure, list[Any]]:
    """A figure that belongs to nobody's global state, with `count` axes in our style."""
    figure: Figure = _matplotlib().figure.Figure(figsize=size, layout="constrained")
    figure.__dict__["_repr_png_"] = functools.partial(_png, figure)
    across = columns or count
    grid = figure.subplots(-(-count // across), across, squeeze=False)
    axes = list(np.ravel(grid))
    for spare in axes[count:]:
        spare.remove()
    for ax in axes[:count]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(_QUIET)
        ax.tick_params(colors=_QUIET, labelsize="small")
        ax.grid(axis="y", color=_RULE, linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, axes[:count]


def _study(source: Source) -> Study:
    if isinstance(source, str | os.PathLike):
        return load(Path(source))
    results = Results([source]) if isinstance(source, Result) else source
    columns = {
        number: pa.table({name: pa.array(values) for name, values in run.series.items()})
        for number, run in enumerate(results)
        if run.series is not None
    }
    return study(results.to_arrow().to_pylist(), "", {}, FromMemory(columns))


def _colour(series: Series) -> str:
    return COLOURS[series.slot % len(COLOURS)]


def _with_unit(title: str, scale: Scale) -> str:
    return f"{title}, {scale.unit}" if scale.unit else title
