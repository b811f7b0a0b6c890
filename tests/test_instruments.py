"""What instruments find, from Python: tables, means over seeds, files, and pictures in the report."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path

import numpy as np
import paceline as pl
import pyarrow.parquet as pq
import pytest
from conftest import TINY, Command
from paceline._statistics import student_t
from paceline.report import write
from paceline.report.line_plot import Axis, Line, line_plot, thin
from paceline.report.study import Series
from paceline.report.study_sources import load
from paceline.report.succession_heatmap import grids, heat_map
from paceline.results.instruments import FORMS, Curve, Mean, Place, curves_of, mean_of
from test_report import checked

ROOT = Path(__file__).parent.parent
PROBES = """
[probes]
window = { flows = "bulk.0", every = "10 ms" }
rate_variation = { links = ["core", "access.l.0"], at = "arrival", finest = "2 ms" }
auto_covariance = { interval = "5 ms", lags = 20 }
succession = { by = "flow" }
bursts = {}
drop_events = {}
drops = { every = "100 ms" }
delay = [{ by = "flow" }, { until = "arrival" }]
sojourn = { by = "traffic" }
transfers = { flows = "short" }
fairness = { window = "500 ms" }
throughput = { links = "core", by = "traffic", every = "50 ms" }

[[traffic]]
name = "short"
kind = "bulk"
size = "20 KB"
start = "1 s .. 2 s"
"""


def scenario(probes: str = PROBES) -> pl.Scenario:
    return pl.Scenario(tomllib.loads(TINY + probes))


def curve(x: list[float], y: list[float]) -> Curve:
    return Curve(Place("core"), np.array(x), np.array(y), np.ones(len(x), np.int64), "s", "1")


def rows(mean: Mean) -> list[tuple[float, float, int]]:
    return list(zip(mean.x.tolist(), mean.y.tolist(), mean.seeds.tolist(), strict=True))


def test_means_on_a_grid_are_over_the_seeds_that_have_a_value_there() -> None:
    mean = mean_of([curve([1, 2, 3], [1, 2, 3]), curve([1, 3], [3, 3]), curve([1], [8])], "grid")
    assert rows(mean) == [(1, 4, 3), (2, 2, 1), (3, 3, 2)]
    # by hand: deviations -3, -1, 4 of three seeds
    assert mean.half[0] == pytest.approx(student_t(2) * math.sqrt(26 / 2 / 3))
    assert math.isnan(mean.half[1])
    assert mean.half[2] == 0


def test_means_of_distributions_are_shares_at_the_places_of_all() -> None:
    mean = mean_of([curve([1, 3], [0.5, 1]), curve([2], [1])], "share")
    assert rows(mean) == [(1, 0.25, 2), (2, 0.75, 2), (3, 1, 2)]


def test_a_value_stands_until_the_next_and_before_the_first_there_is_none() -> None:
    mean = mean_of([curve([0, 4], [10, 20]), curve([2], [30])], "steps")
    assert rows(mean) == [(0, 10, 1), (2, 20, 2), (4, 25, 2)]


def test_every_instrument_of_a_run_is_a_table() -> None:
    result = pl.run(scenario())
    assert result.instruments is not None
    assert set(FORMS) == {str(kind) for kind in result.instruments["instrument"]}
    cwnd = result.instrument("cwnd")
    assert cwnd.column_names == ["link", "flow", "next", "x", "y", "count", "x_unit", "y_unit"]
    assert set(cwnd.column("flow").to_pylist()) == {"bulk.0"}
    assert set(cwnd.column("y_unit").to_pylist()) == {"packets"}
    carried = result.instrument("carried")
    (only,) = curves_of(carried)
    assert (only.place, only.x[-1]) == (Place("core"), 4.0)
    for one in curves_of(result.instrument("delay")):
        assert one.y[-1] == 1
        assert (np.diff(one.x) > 0).all()
    by_row: dict[str, float] = {}
    for one in curves_of(result.instrument("succession")):
        by_row[one.place.flow] = by_row.get(one.place.flow, 0) + float(one.y[0])
    assert list(by_row.values()) == pytest.approx([1.0] * 8)


def test_an_instrument_that_is_not_there_is_named_with_those_that_are() -> None:
    result = pl.run(scenario("[probes]\ndelay = {}\nbursts = {}"))
    with pytest.raises(KeyError, match=r"jain: no such instrument in this run; there is burst_size, delay"):
        result.instrument("jain")
    with pytest.raises(KeyError, match=r"none: see \[probes\]"):
        pl.run(scenario("")).instrument("jain")


def test_a_sweep_gives_rows_by_setting_or_means_over_seeds(tmp_path: Path) -> None:
    over = {"pacing": ["none", "host"]}
    results = pl.sweep(scenario(), over, seeds=3)
    table = results.instrument("rate_variation")
    assert table.column_names[:3] == ["run", "settings.pacing", "seed"]
    means = results.instrument("rate_variation", mean=True)
    assert set(means.column("seeds").to_pylist()) == {3}
    row = means.to_pylist()[0]
    same = [
        r["y"]
        for r in table.to_pylist()
        if (r["settings.pacing"], r["link"], r["x"]) == (row["settings.pacing"], row["link"], row["x"])
    ]
    assert len(same) == 3
    assert row["y"] == pytest.approx(np.mean(same))
    assert row["half"] == pytest.approx(student_t(2) * np.std(same, ddof=1) / math.sqrt(3))
    with pytest.raises(KeyError, match="no such instrument"):
        results.instrument("nothing", mean=True)
    kept = pl.sweep(scenario(), over, seeds=3, out=tmp_path)
    written = pq.read_table(tmp_path / "instruments.parquet")
    own = written.filter(np.asarray(written.column("instrument").to_pylist()) == "rate_variation")
    assert own.column("y").to_pylist() == table.column("y").to_pylist()
    with pytest.raises(KeyError, match=r"see instruments\.parquet"):
        kept.instrument("rate_variation")


def test_watching_changes_no_number() -> None:
    plain, watched = (pl.run(scenario(PROBES[PROBES.index("[[") :])), pl.run(scenario()))
    assert plain.to_dict() | {"engine": None} == watched.to_dict() | {"engine": None}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    pl.sweep(scenario(), {"pacing": ["none", "host"], "network.core.buffer": ["5 KB", "20 KB"]}, seeds=2, out=folder)
    return folder


def test_the_report_draws_every_instrument(shown: Path) -> None:
    page = checked(write(shown))
    text = (shown / "report.html").read_text(encoding="utf-8")
    for heading in (
        "What the instruments saw",
        "Windows over time",
        "Variation of the rate against time scale",
        "Auto-covariance of the rate",
        "Who follows whom",
        "Bursts",
        "Drop events",
        "Packet delay",
        "Sojourn times",
        "Completion of transfers",
        "Fairness over time",
        "Cumulative throughput",
    ):
        assert f">{heading}<" in text, heading
    assert "Shown at core buffer 5 KB. Lines are means over 2 seeds" in page.text
    assert text.count('class="heat"') == 2 * 8 * 8
    assert 'class="band"' in text
    assert "99th percentile" in page.text
    assert len(text) < 3_000_000


def test_one_seed_and_one_setting_have_no_bands(tmp_path: Path) -> None:
    pl.sweep(scenario(), out=tmp_path)
    text = write(tmp_path).read_text(encoding="utf-8")
    checked(tmp_path / "report.html")
    section = text[text.index("What the instruments saw") : text.index("How it was run")]
    assert "One seed (1), so there are no intervals." in section
    assert 'class="band"' not in section
    assert "(unpaced)" not in section


def test_buffers_are_compared_where_nothing_else_differs(tmp_path: Path) -> None:
    probes = "[probes]\ndelay = {}"
    pl.sweep(scenario(probes), {"network.core.buffer": ["5 KB", "20 KB"]}, seeds=2, out=tmp_path)
    page = checked(write(tmp_path))
    assert "(Core buffer 5 KB)" in page.text
    assert "(Core buffer 20 KB)" in page.text


def test_without_instruments_there_is_no_section(tmp_path: Path) -> None:
    pl.sweep(scenario(""), out=tmp_path)
    assert "What the instruments saw" not in write(tmp_path).read_text(encoding="utf-8")
    assert load(tmp_path).findings is not None
    (tmp_path / "instruments.parquet").unlink()
    checked(write(tmp_path))


@pytest.mark.parametrize("probe", PROBES.strip().splitlines()[1:11])
def test_each_instrument_alone(tmp_path: Path, probe: str) -> None:
    traffic = PROBES[PROBES.index("[[") :]
    pl.sweep(scenario(f"[probes]\n{probe}\n{traffic}"), {"pacing": ["none", "host"]}, out=tmp_path)
    page = checked(write(tmp_path))
    assert "What the instruments saw" in page.text


def test_many_flows_make_a_matrix_without_names() -> None:
    series = Series("unpaced", 0, "none")
    means = {Place("core", f"bulk.{i}", f"bulk.{j}"): [(series, 1 / 40)] for i in range(40) for j in range(40)}
    ((_, grid),) = grids(means)["core"]
    markup = heat_map("core", 0, grid).markup()
    assert markup.count('class="heat"') == 1600
    assert "bulk.39" not in markup
    assert "2.5 to 2.5" in grid.said()


def test_thinning_keeps_the_extremes() -> None:
    x = np.arange(100_000.0)
    y = np.sin(x / 50.0)
    y[77_777] = 9.0
    few_x, few_y = thin(x, y)
    assert len(few_x) <= 4000
    assert (few_x[0], few_x[-1], few_y.max()) == (0, 99_999, 9)
    assert (np.diff(few_x) > 0).all()


@pytest.mark.parametrize("y", [[1.0, 1.0], [0.0, 0.0], [math.nan, 2.0], [-3.0, -1.0], [1e-12, 1e12]])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_any_numbers_can_be_drawn(y: list[float], logarithmic: bool) -> None:
    line = Line("a", 0, np.array([1e-6, 1e3]), np.array(y), np.array([0.1, math.nan]))
    across, up = (Axis("x", "s", logarithmic=logarithmic), Axis("y", "number", logarithmic=logarithmic))
    markup = line_plot("Title", "Said.", [line, Line("b", 1, np.array([2.0]), np.array([1.0]))], across, up).markup()
    assert not re.search(r"\bnan\b|\binf\b", markup)


@pytest.mark.parametrize("ends", [(5.0, 7.0), (20.0, 25.0), (3.0, 40.0)])
def test_a_logarithmic_axis_has_two_ticks_at_least(ends: tuple[float, float]) -> None:
    line = Line("a", 0, np.array(ends), np.array([1.0, 2.0]))
    across = Axis("x", "packets", logarithmic=True)
    markup = line_plot("Title", "Said.", [line], across, Axis("y", "number")).markup()
    ticks = re.findall(r'class="tick-x">.*?<text[^>]*>([^<]+)<', markup, re.S)
    assert len(ticks) >= 2
    assert len(set(ticks)) == len(ticks)


def test_the_command_writes_them(command: Command, tmp_path: Path) -> None:
    short = ("duration=3 s", "warmup=1 s", "traffic.short.start=1 s")
    sets = [option for one in short for option in ("--set", one)]
    done = command("run", ROOT / "scenarios" / "instruments.toml", "--out", "out", "--seeds", "1", *sets)
    assert done.returncode == 0, done.stderr
    kinds = set(pq.read_table(tmp_path / "out" / "instruments.parquet").column("instrument").to_pylist())
    assert kinds == set(FORMS)
