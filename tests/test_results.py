"""Runs and sweeps from Python."""

from __future__ import annotations

import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paceline as pl
import pytest
from conftest import TINY


def tiny() -> pl.Scenario:
    return pl.Scenario(tomllib.loads(TINY))


def test_a_run_has_its_numbers_as_attributes() -> None:
    result = pl.run(tiny(), seed=3)
    assert result.seed == 3
    assert result.window_s == (1.0, 4.0)
    assert result.links["core"].throughput_bps == result.to_dict()["links"]["core"]["throughput_bps"]
    assert result.flows.count == 4
    assert result.flows.fct_mean_s is None
    assert result.per_flow is not None
    assert len(next(iter(result.per_flow.values()))) == 4
    assert result.series is not None
    assert result.engine.kind == "simulation"


def test_a_sweep_is_a_sequence_of_results(tmp_path: Path) -> None:
    over = {"network.core.buffer": ["5 KB", "20 KB"]}
    results = pl.sweep(tiny(), over, seeds=3, jobs=2)
    assert len(results) == 6
    assert [run.seed for run in results.where({"network.core.buffer": "20 KB"})] == [1, 2, 3]
    throughput = results[:3].interval("links.core.throughput_bps")
    assert throughput is not None
    assert throughput.half is not None
    assert 0 < throughput.mean <= 10e6
    with pytest.raises(KeyError):
        results.interval("flows.no_such_number")
    assert results.to_arrow().num_rows == 6

    def comparable(some: pl.Results) -> list[dict[str, object]]:
        return [run | {"engine": None} for run in some.to_dicts()]

    kept = pl.sweep(tiny(), over, seeds=3, out=tmp_path / "out")
    assert comparable(kept) == comparable(results)
    with ThreadPoolExecutor(2) as executor:
        assert comparable(pl.sweep(tiny(), over, seeds=3, executor=executor)) == comparable(results)


def test_a_notebook_shows_tables_with_intervals() -> None:
    results = pl.sweep(tiny(), {"pacing": ["none", "host"]}, seeds=2)
    page = results._repr_html_()
    assert page.count("<tr>") == 3
    assert "±" in page
    assert "<th>pacing</th>" in page
    assert "<table>" in pl.run(tiny())._repr_html_()
    assert "&lt;b&gt;" in tiny().set("title", "<b>")._repr_html_()
    assert repr(results) == "Results(4 runs, 2 settings)"


def test_wrong_input_is_one_kind_of_error() -> None:
    with pytest.raises(pl.InputError, match=r"^network\.core\.bufer: unknown key"):
        pl.run(tiny().set("network.core.bufer", "5 KB"))
    with pytest.raises(pl.PacelineError):
        pl.sweep(tiny(), {"network.core.buffer": [5]})
    with pytest.raises(pl.InputError, match=r"^jobs: 0 is not"):
        pl.sweep(tiny(), jobs=0)


def test_a_run_is_one_run(tmp_path: Path) -> None:
    swept = tiny().over({"pacing": ["none", "host"]}).seeds(3)
    with pytest.raises(pl.InputError, match=r'^sweep\.pacing: .* 2 settings .*scenario\.set\("pacing", \'none\'\)'):
        pl.run(swept)
    assert pl.run(swept.set("pacing", "host")).settings == {}
    assert pl.run(tiny().over({"pacing": ["host"]}), seed=2).settings == {"pacing": "host"}


def test_a_scenario_may_be_given_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    assert pl.run(path).flows == pl.run(str(path)).flows == pl.sweep(str(path))[0].flows == pl.run(tiny()).flows
    with pytest.raises(pl.InputError, match="no such file"):
        pl.sweep("nowhere.toml")


def test_the_table_is_about_the_networks_core() -> None:
    """Which need not be called core."""
    links = [
        {"name": "first", "rate": "1 Mbit/s", "delay": "1 ms"},
        {"name": "last", "rate": "2 Mbit/s", "delay": "1 ms", "buffer": "5 KB"},
    ]
    scenario = pl.path(links, tcp={"variant": "reno"}, duration="2 s", warmup="1 s")
    core = scenario.describe()["core"]
    results = pl.sweep(scenario, {"pacing": ["none", "host"]})
    assert results.bottleneck == results[:1].bottleneck == results[1].core == core
    assert results.where({"pacing": "host"}).bottleneck == core
    assert f"<th>{core} throughput" in results._repr_html_()
