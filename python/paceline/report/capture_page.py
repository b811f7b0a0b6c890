"""The report of a capture: `report.html`, one file like that of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from paceline.capture.tables import SHOWN_S, headline, quantity, summary_rows
from paceline.report import capture_charts as pictures
from paceline.report import script
from paceline.report.formatting import unbroken
from paceline.report.metric_charts import WIDTH
from paceline.report.series_marks import mark, marker

if TYPE_CHECKING:
    from paceline.capture.analysis import Analysis, Group

#: Groups that are drawn; the table has them all.
MOST_DRAWN = 8
#: As wide as the page, so that its text has the size of the others'.
_WIDE = 1180.0


def write(analysis: Analysis, directory: str | os.PathLike[str]) -> Path:
    """Writes `report.html` into a directory, and returns its path."""
    path = Path(directory) / "report.html"
    partial = path.with_name(f".report.html.{os.getpid()}.partial")
    try:
        partial.write_text(render(analysis), encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def render(analysis: Analysis) -> str:
    """The report as HTML."""
    here = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(here),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["unbroken"] = unbroken
    environment.globals["marker"] = lambda slot: marker(slot, 6, 6)
    environment.globals["mark"] = mark
    # our own style sheet, not input
    style = Markup((here / "style.css").read_text(encoding="utf-8"))  # noqa: S704
    return environment.get_template("capture.html").render(
        style=style, script=script.text(), policy=script.policy(), **_content(analysis)
    )


def _content(analysis: Analysis) -> dict[str, Any]:
    head, rows, names = summary_rows(analysis) if analysis.packets else ([], [], 0)
    drawn = [group for group in analysis.groups if group.captured.packets > 1][:MOST_DRAWN]
    return {
        "title": Path(analysis.source).name if analysis.source != "-" else "Standard input",
        "answer": _answer(analysis),
        "headline": headline(analysis),
        "warnings": analysis.notes(),
        "head": head,
        "rows": rows,
        "names": names,
        "groups": [_drawn(group) for group in drawn],
        "left_out": max(0, len(analysis.groups) - len(drawn)),
        "lines": [(slot, name) for name, slot, _ in pictures.lines_of(drawn[0])] if drawn else [],
        "pacers": list(_pacers(analysis)),
        "burst_gap": quantity(analysis.burst_gap_s, "s"),
    }


def _drawn(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "wide": pictures.rate_over_time(group, _WIDE).markup(),
        "narrow": pictures.rate_over_time(group, WIDTH).markup(),
        "pictures": [picture(group).markup() for picture in (pictures.burstiness, pictures.gaps, pictures.bursts)],
    }


def _answer(analysis: Analysis) -> str:
    """What the busiest interface is like, and what smooths it most."""
    busiest = max(analysis.interfaces, key=lambda group: group.captured.bytes, default=None)
    if busiest is None:
        return "There are no packets."
    for seconds in SHOWN_S:
        scale = busiest.captured.at_scale(seconds)
        if scale is None or scale.cv is None:
            continue
        text = f"Over {quantity(scale.scale_s, 's')}, the rate varies by {scale.cv:.2g} of its mean."
        smoothed = [
            (at.cv, paced)
            for paced in busiest.paced
            if (at := paced.stream.at_scale(seconds)) and at.cv is not None and paced.delay_mean_s is not None
        ]
        if smoothed:
            cv, best = min(smoothed, key=lambda pair: pair[0])
            if cv < scale.cv:
                delay = quantity(best.delay_mean_s, "s")
                text += f" With {_called(analysis, best.pacer)} it varies by {cv:.2g}, at a mean delay of {delay}"
                text += f" and {best.dropped_packets} packets dropped." if best.dropped_packets else "."
        return text
    return f"{analysis.packets} packets, too few or too close together to tell how the rate varies."


def _called(analysis: Analysis, name: str) -> str:
    """A pacer's method where only one has it, else all that was given."""
    method = str(analysis.pacers[name]["method"])
    alike = [pacer for pacer in analysis.pacers.values() if pacer["method"] == method]
    return method if len(alike) == 1 else name


def _pacers(analysis: Analysis) -> Iterator[tuple[str, str]]:
    for name, pacer in analysis.pacers.items():
        link = "no link behind it" if pacer["link_bps"] is None else f"a link of {quantity(pacer['link_bps'], 'bit/s')}"
        limits = [
            f"{what} {pacer[key]}" for key, what in (("pacer_buffer", "it holds"), ("buffer", "buffer")) if pacer[key]
        ]
        yield name, ", ".join([pacer["parameters"], link, *limits])
