"""The report and the plots over real runs, as `paceline run --out` leaves them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import paceline as pl
import pytest
from paceline import plot
from paceline.cli.main import paceline as command
from paceline.report import write
from paceline.report.study_sources import load
from paceline.report.time_charts import raster_of
from paceline.report.topology import topology

DUMBBELL = """\
title    = "A small dumbbell"
duration = "3 s"
warmup   = "1 s"

[network]
template = "dumbbell"
core   = { rate = "10 Mbit/s", delay = "5 ms", buffer = "5 KB" }
edge   = { count = 2, rate = "100 Mbit/s", delay = "1 ms .. 2 ms" }
access = { per_edge = 2, rate = "8 Mbit/s .. 12 Mbit/s", delay = "1 ms" }

[[traffic]]
name = "bulk"
kind = "bulk"
tcp  = { variant = "reno", profile = "ns2", payload = "1000 B", header = "40 B", ack = "40 B" }

[sweep]
pacing = [{ method = "none" }, { method = "edge", delay = "5 ms" }]
"network.core.buffer" = ["5 KB", "20 KB"]
seeds = 2
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    scenario = folder / "small.toml"
    scenario.write_text(DUMBBELL, encoding="utf-8")
    command.main(["run", str(scenario), "--out", str(folder / "out")], "paceline", standalone_mode=False)
    return folder / "out"


def test_report_has_every_section(results: Path) -> None:
    text = write(results).read_text(encoding="utf-8")
    for heading in ("What was asked", "Who wins", "Against core buffer", "When packets leave", "The queue over time"):
        assert f">{heading}<" in text
    assert "A small dumbbell" in text
    assert "unpaced" in text
    assert "edge pacing 5 ms" in text


def test_network_is_drawn_from_the_description(results: Path) -> None:
    net = topology(load(results))
    assert net is not None
    assert [n.count for n in net.nodes] == [4, 2, 1, 1, 2, 4]
    assert [c.name for c in net.cables if c.is_core] == ["core"]
    assert [c.name for c in net.cables if c.paced] == ["edge.l"]


def test_axis_series_and_seeds(results: Path) -> None:
    study = load(results)
    assert study.axis is not None
    assert study.axis.path == "network.core.buffer"
    assert study.positions == ["5 KB", "20 KB"]
    assert [s.name for s in study.series] == ["unpaced", "edge pacing 5 ms"]
    assert len(study.seeds) == 2


def test_edge_pacing_evens_the_gaps(results: Path) -> None:
    raster = raster_of(load(results))
    assert raster is not None
    unpaced, edge = (strip.spacing for strip in raster.strips)
    assert edge.variation < unpaced.variation


def test_plots_take_results_in_memory() -> None:
    found = pl.sweep(pl.Scenario(tomllib.loads(DUMBBELL)))
    assert len(plot.against_buffer(found).axes) == 3
    assert len(plot.raster(found).axes) == 1
    panels = plot.queue(found).axes
    assert [ax.get_title(loc="left") for ax in panels] == [
        "unpaced, 5 KB",
        "unpaced, 20 KB",
        "edge pacing 5 ms, 5 KB",
        "edge pacing 5 ms, 20 KB",
    ]
