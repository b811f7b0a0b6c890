"""Draws `docs/images/pacing.svg`, the picture of the README, from real runs.

    python -m paceline.report.readme_picture [OUTPUT] [--results DIR]

Without `--results` it runs `scenarios/edge-vs-host.toml` of the working directory at a core buffer of 5 KB, without
pacing, with host pacing and with edge pacing, for 100 s over three seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from paceline import plot
from paceline.report import recordings
from paceline.report.data import Study
from paceline.report.findings import headline_metric
from paceline.report.formatting import scale_for
from paceline.report.sources import load

SCENARIO = Path("scenarios/edge-vs-host.toml")
METHODS = ("none", "host", "edge")


def draw(study: Study, path: Path) -> None:
    """The departure raster beside the bars of goodput, at the smallest buffer.

    Raises:
        ValueError: the results hold no departures, or no goodput.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    picture = recordings.raster_of(study)
    metric = headline_metric(study)
    if picture is None or metric is None:
        raise ValueError("the results hold no departures, or nothing to compare")
    strips = [s for s in picture.strips if s.series.method in METHODS]
    picture = recordings.Raster(picture.link, picture.position, strips, picture.wire_s)
    settings = [study.setting(s.series, picture.position) for s in strips]
    values = [study.estimate(setting, metric) if setting else None for setting in settings]
    scale = scale_for(metric.kind, [v.mean for v in values if v], [v.half for v in values if v])
    with mpl.rc_context({"svg.hashsalt": "paceline", "font.size": 10.5}):
        figure = Figure(figsize=(9.6, 0.68 * len(strips) + 1.0), layout="constrained")
        # a white card reads on light pages and on dark ones
        figure.patch.set_facecolor("white")
        left, right = figure.subplots(1, 2, width_ratios=(2.6, 1))
        plot.draw_raster(left, picture, recordings.window_s(picture, 0.75))
        left.set_title("Packets leaving one edge of the network", loc="left", fontsize="medium")
        left.set_xlabel("time, ms")
        for row, (strip, value) in enumerate(zip(strips, values, strict=True)):
            if value is None:
                continue
            colour = plot.COLOURS[strip.series.slot]
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", nargs="?", type=Path, default=Path("docs/images/pacing.svg"))
    parser.add_argument("--results", type=Path, help="a directory of `paceline run --out` instead of new runs")
    arguments = parser.parse_args()
    if arguments.results:
        draw(load(arguments.results), arguments.output)
    else:
        with tempfile.TemporaryDirectory() as directory:
            _run(Path(directory))
            draw(load(Path(directory)), arguments.output)
    print(arguments.output)


def _run(directory: Path) -> None:
    from paceline.cli import paceline

    sweep = 'pacing={ method = "none" },{ method = "host" },{ method = "edge", delay = "10 ms" }'
    words = ["run", str(SCENARIO), "--set", "network.core.buffer=5 KB", "--sweep", sweep, "--seeds", "3"]
    words += ["--set", "duration=100 s", "--set", "warmup=40 s", "--out", str(directory)]
    paceline.main(words, "paceline", standalone_mode=False)


if __name__ == "__main__":
    main()
