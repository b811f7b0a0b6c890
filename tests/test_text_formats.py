"""Tables as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from pathlib import Path

import click.testing
import paceline as pl
import pytest
from conftest import TINY
from paceline.cli.table import table as command
from paceline.errors import InputError
from paceline.results.quantities import path_phrase, path_words
from paceline.results.tables import summary_rows
from paceline.results.text_formats import to_latex, to_markdown


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.Results, Path]:
    folder = tmp_path_factory.mktemp("kept")
    scenario = pl.Scenario(tomllib.loads(TINY))
    return pl.sweep(scenario, {"pacing": ["none", "edge delay = 10 ms"]}, seeds=2, out=folder), folder


def test_csv_has_every_number_of_every_run(kept: tuple[pl.Results, Path]) -> None:
    results, _ = kept
    rows = list(csv.DictReader(io.StringIO(results.to_text("csv"))))
    assert [row["settings.pacing"] for row in rows] == [run.settings["pacing"] for run in results]
    for row, run in zip(rows, results, strict=True):
        assert float(row["links.core.throughput_bps"]) == run.links["core"].throughput_bps
        assert row["flows.fct_mean_s"] == ""  # null, never 0


def test_markdown_and_latex_have_the_summary(kept: tuple[pl.Results, Path]) -> None:
    results, _ = kept
    head, rows = summary_rows(results)
    lines = results.to_text("markdown").splitlines()
    assert len({len(line) for line in lines}) == 1
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert cells[0] == head
    assert [re.sub(r"\\(.)", r"\1", "|".join(row)) for row in cells[2:]] == ["|".join(row) for row in rows]
    assert [cell.endswith(":") for cell in cells[1]] == [False] + [True] * (len(head) - 1)
    latex = results.to_text("latex")
    assert latex.startswith("% needs \\usepackage{booktabs}\n\\begin{tabular}{l" + "r" * (len(head) - 1) + "}\n")
    body = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert [line.count(" & ") for line in body] == [len(head) - 1] * 5
    heads = [[cell.strip() for cell in line.rstrip("\\").split(" & ")] for line in body[:3]]
    assert list(zip(*heads, strict=True))[2:4] == [("core", "throughput", "Mbit/s"), ("", "utilisation", r"\%")]
    assert r" $\pm$ " in body[3]
    assert latex.isascii()


def test_a_swept_link_goes_by_its_name() -> None:
    scenario = pl.template("one-flow").set("duration", "6 s")
    swept = pl.sweep(scenario, {"network.links.bottleneck.buffer": ["5 KB"]})
    heads = swept.to_text("latex").splitlines()[3:6]
    assert [line.split(" & ")[1].strip() for line in heads] == ["", "bottleneck", "buffer"]
    assert "network.links.bottleneck.buffer" in swept.to_text("markdown")


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("network.core.buffer", "Core buffer"),
        ("network.links.bottleneck.buffer", "Bottleneck buffer"),
        ("network.links.ISP-up_2.buffer", "ISP-up_2 buffer"),
        ('network.links."up.2".buffer', "up.2 buffer"),
        ("network.links.1.buffer", "Link 1 buffer"),
        ("link.r-2.rate", "r-2 rate"),
        ("traffic.web_x.tcp.max_window", "web_x TCP max window"),
        ("traffic.0.tcp.variant", "TCP variant"),
        ("not a path", "Not a path"),
    ],
)
def test_a_name_stays_as_it_was_written(path: str, title: str) -> None:
    assert path_words(path) == title
    assert path_phrase(path) in (title, title[:1].lower() + title[1:])


def test_a_head_does_not_cut_a_name() -> None:
    lines = to_latex(["a_very_long-link.name throughput, Mbit/s"], [["1"]], 0).splitlines()
    assert lines[3:6] == [r"  a\_very\_long-link.name \\", r"  throughput \\", r"  Mbit/s \\"]


def test_signs_that_mean_something_are_escaped() -> None:
    cells = to_latex(["a_b & c"], [["50 % of $1 #2 {x} ~ ^ \\ <|>"]], 1).splitlines()
    assert cells[3] == r"  a\_b \& c \\"
    assert cells[5] == (
        r"  50 \% of \$1 \#2 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{}"
        r" \textless{}\textbar{}\textgreater{} \\"
    )
    assert to_markdown(["a|b"], [["x\n_y_ <z>"]], 1).splitlines()[2] == r"| x \_y\_ \<z\> |"


def test_the_command_prints_them(kept: tuple[pl.Results, Path]) -> None:
    results, folder = kept
    runner = click.testing.CliRunner()
    loaded = pl.Results.load(folder)
    for form in ("csv", "markdown", "latex"):
        done = runner.invoke(command, [str(folder), "--format", form], standalone_mode=False)
        assert done.stdout == loaded.to_text(form)  # type: ignore[arg-type]
    assert loaded.to_text("markdown") == results.to_text("markdown")
    wrong = runner.invoke(command, [str(folder), "--format", "html"], standalone_mode=False).exception
    assert isinstance(wrong, InputError)
    assert str(wrong) == '--format: "html" is no form of a table; write csv, markdown or latex'
    with pytest.raises(InputError, match="write csv, markdown or latex"):
        results.to_text("html")  # type: ignore[arg-type]
