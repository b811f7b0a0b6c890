"""README's picture and its table, from the same stored runs.

    python -m paceline.cli.readme_picture [--results DIR] [--readme FILE] [--picture FILE]

Runs `scenarios/edge-vs-host.toml` of the working directory as `make demo` does, into the same directory; runs that are
there already are not run again. The picture is of the smallest buffer; the table, of every buffer and method, is
written between the lines `<!-- demo -->` and `<!-- /demo -->`. With `--results`, both are of what that directory holds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from paceline import plot
from paceline._palette import COLOURS
from paceline.report import time_charts
from paceline.report.conclusions import headline_metric
from paceline.report.formatting import DASH, scale_for
from paceline.report.metrics import Metric
from paceline.report.study import Study
from paceline.report.study_sources import load

SCENARIO = Path("scenarios/edge-vs-host.toml")
RESULTS = Path("results/edge-vs-host")
PICTURE = Path("docs/images/pacing.svg")
README = Path("README.md")
BEGIN, END = "<!-- demo -->\n", "<!-- /demo -->"
#: Methods that the picture shows: those of the paper.
METHODS = ("none", "host", "edge")


def draw(study: Study, path: Path) -> None:
    """The departure raster beside the bars of goodput, at the smallest buffer.

    Raises:
        ValueError: the results hold no departures, or no goodput.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    picture = time_charts.raster_of(study)
    if picture is None:
        raise ValueError("the results hold no departures")
    metric = _metric(study)
    strips = [s for s in picture.strips if s.series.method in METHODS]
    picture = time_charts.Raster(picture.link, picture.position, strips, picture.wire_s)
    settings = [study.setting(s.series, picture.position) for s in strips]
    values = [study.estimate(setting, metric) if setting else None for setting in settings]
    scale = scale_for(metric.kind, [v.mean for v in values if v], [v.half for v in values if v])
    with mpl.rc_context({"svg.hashsalt": "paceline", "font.size": 10.5}):
        figure = Figure(figsize=(9.6, 0.68 * len(strips) + 1.0), layout="constrained")
        # a white card reads on light pages and on dark ones
        figure.patch.set_facecolor("white")
        left, right = figure.subplots(1, 2, width_ratios=(2.6, 1))
        plot.draw_raster(left, picture, time_charts.window_s(picture, 0.75))
        left.set_title("Packets leaving one edge of the network", loc="left", fontsize="medium")
        left.set_xlabel("time, ms")
        for row, (strip, value) in enumerate(zip(strips, values, strict=True)):
            if value is None:
                continue
            colour = COLOURS[strip.series.slot % len(COLOURS)]
            error = (value.half or 0.0) / scale.divisor
            right.barh(row + 0.5, value.mean / scale.divisor, xerr=error, height=0.55, color=colour, ecolor="#14191f")
            right.text(0, row + 0.5, f"  {scale.estimate(value)}", va="center", color="white", weight="bold")
        right.set_ylim(len(strips), 0)
        right.set_yticks([])
        right.set_title(f"{metric.title}, {scale.unit}", loc="left", fontsize="medium")
        for ax in (left, right):
            ax.spines[["top", "right", "left"]].set_visible(False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)


def table(study: Study) -> str:
    """Goodput of every buffer and method in Markdown, beside what the paper prints. Raises `ValueError`."""
    metric = _metric(study)
    cells = {
        (series.name, position): study.estimate(setting, metric)
        for series in study.series
        for position in study.positions
        if (setting := study.setting(series, position))
    }
    there = [e for e in cells.values() if e]
    scale = scale_for(metric.kind, [e.mean for e in there], [e.half for e in there])
    first = study.axis.phrase if study.axis else ""
    paper = _printed()
    rows = [[first, *(series.name for series in study.series), "the paper"]]
    for position in study.positions:
        shown = [cells.get((series.name, position)) for series in study.series]
        rows.append([position, *(scale.estimate(e) if e else DASH for e in shown), paper.get(position, "")])
    head, *body = ["| " + " | ".join(row).replace("\u00a0", " ").rstrip() + " |" for row in rows]
    how = f"means ± 95 % intervals over {len(study.seeds)} seeds" if study.has_intervals else "one run each"
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body, "", f"{metric.title}, {scale.unit}: {how}."])


def put(readme: Path, text: str) -> None:
    """Writes between the marks. Raises `ValueError` where a page does not have them once."""
    page = readme.read_text(encoding="utf-8")
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{readme}: no lines {BEGIN.strip()} and {END}; write them where the table belongs")
    readme.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{after}", encoding="utf-8")


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="a directory of `paceline run --out` in place of the demo's own")
    parser.add_argument("--readme", type=Path, default=README)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    arguments = parser.parse_args(words)
    if arguments.results is None:
        from paceline.cli.main import paceline

        paceline.main(["run", str(SCENARIO), "--out", str(RESULTS)], "paceline", standalone_mode=False)
    study = load(arguments.results or RESULTS)
    draw(study, arguments.picture)
    put(arguments.readme, table(study))
    print(f"{arguments.picture}, {arguments.readme}")


def _metric(study: Study) -> Metric:
    metric = headline_metric(study)
    if metric is None:
        raise ValueError("the results hold nothing to compare")
    return metric


def _printed() -> dict[str, str]:
    """What the paper's Fig. 3(b) has, by buffer: unpaced, host pacing, edge pacing, in kbit/s."""
    from paceline.papers import select

    (claim,) = select(["edge-fig3-goodput"])
    printed = claim.printed
    values = (printed[f"{name}_kbps"] for name in ("unpaced", "host", "edge"))
    return {f"{printed['buffer_kb']} KB": " / ".join(f"{value:g}" for value in values)}


if __name__ == "__main__":
    main()
