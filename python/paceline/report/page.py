"""Puts the report together: `report.html`, one file, with nothing from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from paceline.report import (
    instrument_charts,
    kernel_agreement,
    metric_charts,
    network_diagram,
    scenario_facts,
    script,
    time_charts,
)
from paceline.report.comparison_tables import group_tables, main_tables, unlike_groups
from paceline.report.conclusions import headline, headline_metric, standing
from paceline.report.diagram_columns import meshed
from paceline.report.formatting import DASH, listed, plain, scale_for, unbroken
from paceline.report.metrics import BY_KEY, Metric
from paceline.report.series_marks import mark, marker
from paceline.report.study import Study, value_words
from paceline.report.study_sources import load
from paceline.report.svg import COLOURS
from paceline.report.topology import topology
from paceline.results import ties
from paceline.results.quantities import path_words

#: What is drawn against the axis, those first that the question is about.
_CHARTS = ("throughput", "goodput", "loss", "marks", "fct_mean")
#: Charts of more conditions would not be looked at; the table has them all.
MOST_PARTS = 6


def write(directory: str | os.PathLike[str], scenario_file: str | os.PathLike[str] = "") -> Path:
    """Writes `report.html` beside the results in a directory, and returns its path.

    The report of a scenario without a title is headed by the name of `scenario_file`, which results do not keep.

    Raises:
        InputError: there is no `runs.parquet`.
    """
    folder = Path(directory)
    path = folder / "report.html"
    partial = folder / f".report.html.{os.getpid()}.partial"
    try:
        partial.write_text(render(load(folder, Path(scenario_file).stem)), encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def render(study: Study) -> str:
    """The report as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["unbroken"] = unbroken
    environment.globals["marker"] = lambda slot: marker(slot, 6, 6)
    environment.globals["mark"] = mark
    environment.globals["colours"] = COLOURS
    # our own style sheet, not input
    style = Markup((Path(__file__).parent / "style.css").read_text(encoding="utf-8"))  # noqa: S704
    return environment.get_template("template.html").render(
        style=style, script=script.text(), policy=script.policy(), **_content(study)
    )


def _content(study: Study) -> dict[str, Any]:
    worlds = kernel_agreement.agreement(study)
    answer = headline(study) if study.settings else ["There are no runs."]
    # where both worlds were run, whether they agree is the question
    answer = kernel_agreement.sentences(worlds) or answer
    net = topology(study)
    return {
        "study": study,
        "title": scenario_facts.title(study),
        "answer": answer[0],
        "more": answer[1:],
        "comparison": _worlds_first(worlds) if worlds else _comparison(study),
        "worlds": _worlds(worlds),
        "net": [network_diagram.wide(net).markup(), network_diagram.tall(net).markup()] if net else [],
        "links": [(c.count, c.lines) for c in net.cables] if net and meshed(net) else [],
        "facts": scenario_facts.facts(study) if study.settings else [],
        "rules": scenario_facts.rules(study),
        "tables": main_tables(study),
        "groups": group_tables(study),
        "unlike": unlike_groups(study),
        "charts": list(_charts(study)) if len(study.settings) > 1 else [],
        "charts_left_out": max(0, len(study.parts) - MOST_PARTS),
        "raster": _raster(study.parts[0]),
        "queue": _queue(study),
        "instruments": instrument_charts.found(study.parts[0]),
        "run": _run_facts(study),
        "warnings": list(_warnings(study)),
    }


def _comparison(study: Study) -> dict[str, Any] | None:
    """The bars under the headline: the first place on the axis, every series."""
    metric, study = headline_metric(study), study.parts[0]
    if metric is None or not study.contest or len(study.series) > 10:
        return None
    position = study.positions[0]
    rows = [
        (s.name, s.slot, study.estimate(setting, metric) if setting else None)
        for s in study.series
        for setting in [study.setting(s, position)]
    ]
    where = _at(study, position)
    return {"picture": metric_charts.bar_rows(metric, rows, metric.title + where).markup(), "where": where}


def _worlds_first(worlds: list[kernel_agreement.Compared]) -> dict[str, Any]:
    """The picture under the headline: the first metric's differences."""
    return {"picture": kernel_agreement.picture(worlds[0]).markup(), "where": ""}


def _worlds(worlds: list[kernel_agreement.Compared]) -> dict[str, Any] | None:
    """The agreement of simulator and kernel: pictures of further metrics, and a table a metric."""
    if not worlds:
        return None
    tables = [(_titled(one), [(pair.name, one.cells(pair)) for pair in one.pairs]) for one in worlds]
    if len(worlds[0].pairs) == 1:
        # of one setting, a row a metric
        tables = [("", [(title, rows[0][1]) for title, rows in tables])]
    return {"pictures": [kernel_agreement.picture(one).markup() for one in worlds[1:4]], "tables": tables}


def _titled(one: kernel_agreement.Compared) -> str:
    unit = one.scale().unit
    return f"{one.metric.title}, {unit}" if unit else one.metric.title


def _at(study: Study, position: str) -> str:
    """` at access hosts 10, core buffer 5 KB`: the conditions and the place on the axis, where there are any."""
    said = [value_words(path, text) for path, text in study.condition.items()]
    said += [f"{study.axis.phrase} {position}"] if study.axis and position else []
    return f" at {', '.join(said)}" if said else ""


def _charts(study: Study) -> Iterator[dict[str, Any]]:
    """The charts of each part, under the conditions that hold there."""
    for part in study.parts[:MOST_PARTS]:
        found = []
        for key in _CHARTS:
            metric = BY_KEY[key]
            if metric not in study.metrics or (key == "fct_mean" and "goodput" in {m.key for m in study.metrics}):
                continue
            if key == "marks" and not study.total(metric.source.format(core=study.core)):
                continue
            axis = part.axis
            drawing = metric_charts.against(part, axis, metric) if axis else metric_charts.bars(part, metric)
            found.append({"picture": drawing.markup(), "caption": _caption(part, metric)})
        given = ", ".join(f"{path_words(path)} {text}" for path, text in part.condition.items())
        yield {"title": given, "figures": found}


def _caption(study: Study, metric: Metric) -> str:
    """What to see in a chart of a metric."""
    of = f" of {study.core}" if "links." in metric.source else ""
    text = f"{metric.title}{of}."
    if study.axis and study.contest:
        ahead: dict[str, list[str]] = {}
        ties: list[str] = []
        for position in study.positions:
            stand = standing(study, metric, position)
            if stand.leader:
                ahead.setdefault(stand.leader, []).append(position)
            elif stand.tied:
                ties.append(position)
        best = "lowest" if metric.better < 0 else "highest"
        parts = [f"{best} with {name} at {listed(where)}" for name, where in ahead.items()]
        if ties:
            parts.append(f"a tie for the {best} at {listed(ties)}")
        if parts:
            said = "; ".join(parts)
            text += f" {said[:1].upper()}{said[1:]}."
    means = [e.mean for s in study.settings if (e := study.estimate(s, metric))]
    if study.axis and not metric_charts.from_zero(means):
        text += " The vertical axis does not begin at zero."
    return text


def _raster(study: Study) -> dict[str, Any] | None:
    raster = time_charts.raster_of(study)
    if raster is None:
        return None
    length, part = time_charts.window_s(raster), time_charts.window_s(raster, 0.3)
    first, smooth = raster.strips[0], min(raster.strips, key=lambda s: s.spacing.variation)
    baseline = next((s for s in raster.strips if study.baseline and s.series.name == study.baseline.name), first)
    begin = "Unpaced" if baseline.series.name == "unpaced" else f"With {baseline.series.name}"
    said = f"{begin}, the gaps vary by {_spaced(baseline.spacing)}"
    if smooth is not baseline:
        said += f"; with {smooth.series.name}, by {_spaced(smooth.spacing)}"
    said += "."
    rows = [
        (
            s.series,
            plain(s.spacing.packets, 0),
            plain(s.spacing.per_second, 0),
            plain(s.spacing.variation, 2),
            DASH if s.spacing.back_to_back is None else f"{plain(100 * s.spacing.back_to_back, 0)}\u00a0%",
            plain(s.spacing.busiest_ms, 0),
        )
        for s in raster.strips
    ]
    wire = raster.wire_s
    gap = scale_for("s", [wire] if wire else [])
    return {
        "link": raster.link,
        "where": f",{at.removeprefix(' at')}" if (at := _at(study, raster.position)) else "",
        "seed": raster.strips[0].record.seed,
        "wide": time_charts.strips(raster, 1040.0, length).markup(),
        "narrow": time_charts.strips(raster, 340.0, part).markup(),
        "gaps": time_charts.gap_distribution(raster).markup(),
        "rows": rows,
        "caption": said,
        "wire": gap.with_unit(gap.number(wire)) if wire else "",
        "rate_known": any(s.spacing.back_to_back is not None for s in raster.strips),
    }


def _spaced(spacing: time_charts.Spacing) -> str:
    """What the eye sees in a strip, as numbers."""
    most = spacing.busiest_ms
    return f"{plain(spacing.variation, 2)} times their mean, with up to {most} packets in a millisecond"


def _queue(study: Study) -> dict[str, Any] | None:
    link, positions, panels = time_charts.queue_panels(study.parts[0])
    if not panels:
        return None
    seed = min(min(s.runs) for s in study.settings if s.runs)
    return {
        "link": link,
        "columns": len(positions) if len(positions) > 1 else 3,
        "panels": [p.drawing.markup() for p in panels],
        "left_out": len(study.settings) - len(panels),
        "where": f",{at.removeprefix(' at')}" if (at := _at(study.parts[0], "")) else "",
        "seed": seed,
    }


def _run_facts(study: Study) -> list[tuple[str, str]]:
    runs = sum(len(s.runs) for s in study.settings)
    found = [
        (
            "Runs",
            _counted(runs, "run")
            + f" ({_counted(len(study.settings), 'setting')}, {_counted(len(study.seeds), 'seed')})",
        )
    ]
    if study.seeds:
        seeds = study.seeds
        consecutive = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
        found.append(("Seeds", f"{seeds[0]} to {seeds[-1]}" if consecutive else listed(str(s) for s in seeds)))
    kinds = {str(row.get("engine.kind")) for s in study.settings for row in s.runs.values() if row.get("engine.kind")}
    methods = {
        str(row.get("engine.method")) for s in study.settings for row in s.runs.values() if row.get("engine.method")
    }
    if kinds:
        found.append(("Engine", listed(sorted(kinds)) + (f", {listed(sorted(methods))}" if methods else "")))
    cpu, packets = study.total("engine.cpu_s"), study.total("engine.core_packets")
    if cpu is not None:
        found.append(("Processor time", f"{plain(cpu, 1)} s"))
    if packets is not None:
        found.append((f"Packets over {study.core}", plain(packets, 0)))
    if cpu and packets:
        found.append(("Cost", f"{plain(cpu / packets * 1e9, 0)} ns of processor time a packet"))
    version = _version()
    if version:
        found.append(("Version", f"Paceline {version}"))
    return found


def _counted(count: int, what: str) -> str:
    return f"{plain(count, 0)} {what}" + ("" if count == 1 else "s")


def _version() -> str:
    try:
        from paceline import _core

        return str(_core.version())
    except (ImportError, AttributeError):
        return ""


def _warnings(study: Study) -> Iterator[str]:
    if not study.settings:
        yield "There are no runs in these results."
        return
    if len(study.seeds) == 1:
        yield (
            "Every setting was run with one seed. There are no intervals, and differences between settings may be "
            "chance. Run again with --seeds 5."
        )
    elif len(study.seeds) == 2 and study.has_intervals:
        yield "With two seeds the intervals are wide (t = 12.7); five seeds narrow them to a fifth or less."
    if study.repetition:
        yield f"{study.repetition[:1].upper()}{study.repetition[1:]}."
    if tied := ties.sentence(row for setting in study.settings for row in setting.runs.values()):
        yield f"{tied[:1].upper()}{tied[1:]}."
    short = [study.setting_name(s) for s in study.settings if len(s.runs) < len(study.seeds)]
    if short:
        some = listed([*short[:3], f"{len(short) - 3} more"] if len(short) > 3 else short)
        yield f"Some settings have fewer seeds than others, and their intervals are wider: {some}."
    if _version().endswith("-debug"):
        yield "The core was built without optimisation: processor times here say nothing about its speed."
    kinds = {str(row.get("engine.kind")) for s in study.settings for row in s.runs.values()}
    if "kernel" in kinds:
        mixed = "Some of these" if kinds != {"kernel"} else "These"
        yield f"{mixed} runs used a real kernel and real time: the same seed does not give the same numbers again."
    doubtful = [
        study.setting_name(s) for s in study.settings for row in s.runs.values() if row.get("engine.valid") is False
    ]
    if doubtful:
        runs = f"{len(doubtful)} run{'s' * (len(doubtful) != 1)}"
        some = listed(list(dict.fromkeys(doubtful))[:4])
        yield f"The machine could not keep up with {runs} on the kernel, whose numbers do not count: {some}."
