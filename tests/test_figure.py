"""`paceline figure` and `paceline.plot.save`: figures for print, at their size, the same bytes each time."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
import time
import tomllib
import zlib
from pathlib import Path

import paceline as pl
import pyarrow.parquet as pq
import pytest
from conftest import TINY, Command
from paceline import plot
from paceline.cli.figure import figure
from paceline.errors import InputError

PAPER = r"""
\documentclass[10pt,twocolumn]{article}
\usepackage[textwidth=7.16in,columnsep=0.16in]{geometry}
\usepackage{booktabs,pgf}
\begin{document}
\begin{figure}\noindent\input{metrics.pgf}\end{figure}
\begin{figure}\noindent\input{queue.pgf}\end{figure}
\begin{figure}\noindent\input{raster.pgf}\end{figure}
\begin{table*}\centering\small\input{table.tex}\end{table*}
\begin{table*}\centering\footnotesize\setlength{\tabcolsep}{3pt}\input{wide.tex}\end{table*}
\end{document}
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    scenario = pl.Scenario(tomllib.loads(TINY))
    pl.sweep(scenario, {"network.core.buffer": ["5 KB", "10 KB"], "pacing": ["none", "host"]}, seeds=2, out=folder)
    return folder


def draw(*arguments: str | Path) -> None:
    figure.main([str(one) for one in arguments], standalone_mode=False)


@pytest.mark.parametrize(
    ("width", "points"), [("column", 252.0), ("text", 515.52), ("84mm", 84 / 25.4 * 72), ("252.9pt", 251.96)]
)
def test_a_pdf_is_as_wide_as_was_asked(kept: Path, tmp_path: Path, width: str, points: float) -> None:
    target = tmp_path / "m.pdf"
    draw(kept, "--width", width, "--height", "50mm", "--out", target)
    box = re.search(rb"/MediaBox \[ ?([\d. ]+) ?\]", target.read_bytes())
    assert box
    assert [float(one) for one in box[1].split()] == pytest.approx([0, 0, points, 50 / 25.4 * 72], abs=0.1)


@pytest.mark.parametrize("what", ["metrics", "queue", "raster"])
def test_the_same_results_give_the_same_bytes(kept: Path, tmp_path: Path, what: str) -> None:
    files = [tmp_path / f"{name}.{form}" for name in "ab" for form in ("svg", "pdf", "png")]
    for name in ("a", "b"):
        draw(
            kept,
            "--of",
            what,
            *(part for form in ("svg", "pdf", "png") for part in ("--out", tmp_path / f"{name}.{form}")),
        )
    for first, second in zip(files[:3], files[3:], strict=True):
        assert first.read_bytes() == second.read_bytes(), first


def test_words_stay_words(kept: Path, tmp_path: Path) -> None:
    draw(kept, "--metric", "loss", "--out", tmp_path / "m.svg", "--out", tmp_path / "m.pdf")
    svg = (tmp_path / "m.svg").read_text()
    assert ">Loss, %</text>" in svg
    assert ">Core buffer, KB</text>" in svg
    assert b"/CIDFontType2" in (tmp_path / "m.pdf").read_bytes()  # a font, not outlines


def test_a_png_has_300_dots_an_inch(kept: Path, tmp_path: Path) -> None:
    draw(kept, "--metric", "loss", "--height", "2in", "--out", tmp_path / "m.png")
    data = (tmp_path / "m.png").read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1050, 600)
    assert zlib.crc32(data[12:29]) == struct.unpack(">I", data[29:33])[0]


def test_metrics_stand_below_each_other_in_a_column(kept: Path) -> None:
    with plot.paper():
        column = plot.against_buffer(kept, size=(plot.COLUMN, None), stacked=True)
        row = plot.against_buffer(kept, size=(plot.TEXT, None))
    assert tuple(column.get_size_inches()) == (3.5, 6.0)
    assert tuple(row.get_size_inches()) == (7.16, 2.0)
    assert {ax.get_subplotspec().colspan.start for ax in column.axes} == {0}
    assert {ax.xaxis.label.get_size() for ax in column.axes} == {8.0}
    assert {ax.xaxis.label.get_size() for ax in plot.against_buffer(kept).axes} == {10.0}


def test_where_no_quantity_was_swept_a_setting_is_a_point(kept: Path, tmp_path: Path) -> None:
    """As of the first results that anybody has, those of one-flow.toml: pacing alone is swept."""
    only = pl.Results.load(kept).where({"network.core.buffer": "5 KB"})
    for run in only:
        del run.settings["network.core.buffer"]  # type: ignore[attr-defined]
    figure = plot.against_buffer(only, ("throughput", "loss"))
    first, second = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["unpaced", "host pacing"]
    assert first.yaxis_inverted()
    shown = [line.get_xdata()[0] for line in first.lines if line.get_marker() in plot.MARKERS]
    means = [found.interval("links.core.throughput_bps") for _, found in only.by_settings()]
    assert shown == pytest.approx([mean.mean / 1e6 for mean in means if mean])
    assert second.get_title(loc="left") == "Loss, %"


def test_an_axis_has_room_where_all_are_one_number(tmp_path: Path) -> None:
    """Matplotlib warns of an axis without extent, which fails a test."""
    scenario = pl.Scenario(tomllib.loads(TINY))
    same = pl.sweep(scenario, {"network.core.buffer": ["200 KB", "210 KB"]}, seeds=2)
    figure = plot.against_buffer(same, ("utilisation", "timeouts"))
    for ax in figure.axes:
        low, high = ax.get_ylim()
        assert low < high
    one = plot.against_buffer(pl.run(scenario), ("throughput", "loss"))
    assert [ax.get_xlim()[0] for ax in one.axes] == [0.0, 0.0]


def test_of_many_settings_some_queues_are_drawn_and_it_is_said(tmp_path: Path, command: Command) -> None:
    scenario = pl.Scenario(tomllib.loads(TINY)).set("duration", "2 s")
    buffers = [f"{number} KB" for number in range(5, 25)]
    pl.sweep(scenario, {"network.core.buffer": buffers}, out=tmp_path / "many")
    done = command("figure", "many", "--of", "queue", "--out", "queue.svg")
    assert (done.returncode, done.stdout) == (0, "queue.svg\n")
    assert "drawn are the queues of 3 of 20 settings\n" in done.stderr
    assert [ax.get_title(loc="left") for ax in plot.queue(tmp_path / "many").axes] == [
        "unpaced, 5 KB",
        "unpaced, 15 KB",
        "unpaced, 24 KB",
    ]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_figures_and_tables_are_for_latex(kept: Path, tmp_path: Path) -> None:
    """All of them in a paper of two columns: it compiles, and nothing is wider than its column."""
    for what in ("metrics", "queue", "raster"):
        draw(kept, "--of", what, "--out", tmp_path / f"{what}.pgf")
    (tmp_path / "table.tex").write_text(pl.Results.load(kept).to_text("latex"))
    half = {"method": "host", "share": 0.5}
    wide = pl.sweep(pl.Scenario(tomllib.loads(TINY)), {"pacing": ["none", half]}, seeds=3).to_text("latex")
    assert wide.splitlines()[1] == r"\begin{tabular}{lrrrrrrrrrr}"
    (tmp_path / "wide.tex").write_text(wide)
    (tmp_path / "paper.tex").write_text(PAPER)
    call = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout, done.stdout
    assert (tmp_path / "paper.pdf").exists()


def test_without_latex_pgf_says_so(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="PGF is measured by LaTeX"):
        draw(kept, "--out", tmp_path / "m.pgf")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--of", "pie"], '--of: "pie" is no kind of figure; write metrics, queue or raster'),
        (["--out", "m.doc"], r'--out: "m\.doc" has no suffix that says a form; write one of \.pdf'),
        (["--width", "3km"], '--width: "3km" is no length from 0.5 to 50 in'),
        (["--width", "inf"], '--width: "inf" is no length'),
        (["--metric", "speed"], '--metric: "speed" is no metric; write one of goodput'),
    ],
)
def test_what_is_wrong_is_a_line(kept: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        draw(kept, *arguments)


def test_what_is_no_results_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no runs\.parquet; name a directory that results were written to"):
        draw(tmp_path)


def test_the_file_is_named_after_what_it_shows(kept: Path, tmp_path: Path, command: Command) -> None:
    done = command("figure", kept, "--of", "raster")
    assert (done.returncode, done.stdout) == (0, "raster.pdf\n")
    assert (tmp_path / "raster.pdf").read_bytes().startswith(b"%PDF")


def test_a_figure_that_takes_long_is_told_of(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plot, "save", lambda *_: time.sleep(2))
    draw(kept, "--out", tmp_path / "m.pdf")
    said = capsys.readouterr()
    assert said.err.startswith("paceline: drawing the figure: ")
    assert said.out == f"{tmp_path / 'm.pdf'}\n"


def test_without_matplotlib_the_extra_is_named(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from paceline.cli.main import main

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit) as left:
        main(["figure", str(kept), "--out", str(tmp_path / "m.pdf")])
    assert left.value.code == 2
    assert 'needs matplotlib, which is not installed; pip install "paceline[plot]"' in capsys.readouterr().err


def test_a_plot_of_a_wrong_path_says_what_to_write(kept: Path, tmp_path: Path) -> None:
    assert plot.against_buffer(kept / "runs.parquet", ("loss",)).axes
    for draw_it in (plot.against_buffer, plot.queue, plot.raster):
        with pytest.raises(InputError, match=r"nowhere: no such file or directory; name a directory that results"):
            draw_it(tmp_path / "nowhere")
        with pytest.raises(InputError, match=r"has no runs\.parquet"):
            draw_it(tmp_path)


def test_the_runs_that_are_drawn_are_those_of_the_file(kept: Path, tmp_path: Path) -> None:
    """A part of the runs beside the whole, under a name of its own."""
    whole = pq.read_table(kept / "runs.parquet")
    pq.write_table(whole, tmp_path / "runs.parquet")
    pq.write_table(whole.slice(0, 4), tmp_path / "part.parquet")
    draw(tmp_path, "--metric", "loss", "--out", tmp_path / "whole.svg")
    draw(tmp_path / "part.parquet", "--metric", "loss", "--out", tmp_path / "part.svg")
    assert (tmp_path / "whole.svg").read_bytes() != (tmp_path / "part.svg").read_bytes()
