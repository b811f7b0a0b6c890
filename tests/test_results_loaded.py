"""Results from a directory, and as tables of other packages."""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.util
import json
import shutil
import sys
import tomllib
import typing
from pathlib import Path
from types import ModuleType

import numpy as np
import paceline as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TINY
from paceline import _core
from paceline.results.quantities import unit_of

OVER = {"network.core.buffer": ["20 KB", "5 KB", "7.5 KB"], "pacing": ["none", "host"]}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.Results, Path]:
    """Runs in memory, and the directory that has them too."""
    scenario = pl.Scenario(tomllib.loads(TINY)).set("probes", {"window": {"flows": [0]}})
    folder = tmp_path_factory.mktemp("kept") / "out"
    pl.sweep(scenario, OVER, seeds=2, out=folder)
    return pl.sweep(scenario, OVER, seeds=2), folder


def without_engine(runs: pl.Results) -> list[dict[str, object]]:
    return [run | {"engine": None} for run in runs.to_dicts()]


def test_a_directory_gives_the_runs_back(kept: tuple[pl.Results, Path]) -> None:
    made, folder = kept
    loaded = pl.Results.load(folder)
    assert without_engine(loaded) == without_engine(made)
    assert without_engine(pl.Results.load(folder / "runs.parquet")) == without_engine(made)
    assert loaded.bottleneck == made.bottleneck == "core"
    assert loaded[3].links == made[3].links
    for kept_run, run in zip(loaded, made, strict=True):
        assert kept_run.per_flow is not None
        assert run.per_flow is not None
        assert list(kept_run.per_flow) == list(run.per_flow)
        assert list(kept_run.per_flow["goodput_bps"]) == list(run.per_flow["goodput_bps"])
        assert kept_run.instrument("cwnd").equals(run.instrument("cwnd"))


def test_files_say_what_wrote_them_and_in_which_units(kept: tuple[pl.Results, Path]) -> None:
    """The digest is that of the scenario beside them, as ``sha256sum`` prints it."""
    _, folder = kept
    digest = hashlib.sha256((folder / "scenario.toml").read_bytes()).hexdigest()
    for name in ("runs", "flows", "series", "instruments"):
        schema = pq.read_schema(folder / f"{name}.parquet")
        assert schema.metadata[b"paceline.version"].decode() == _core.version()
        assert schema.metadata[b"paceline.scenario_sha256"].decode() == digest
        assert schema.metadata[b"paceline.title"] == b"tiny"
    runs = pq.read_schema(folder / "runs.parquet")
    units = {field.name: (field.metadata or {}).get(b"unit", b"").decode() for field in runs}
    assert units["links.core.throughput_bps"] == "bit/s"
    assert units["links.core.queue_mean_bytes"] == units["values.network.core.buffer_bytes"] == "B"
    assert units["flows.delay_mean_s"] == units["window_s.start"] == "s"
    assert units["flows.jain"] == units["links.core.loss_ratio"] == "1"
    assert units["seed"] == units["settings.pacing"] == ""
    assert pl.Results.load(folder).about["scenario_sha256"] == digest


def test_settings_are_numbers_where_all_are_of_one_unit(kept: tuple[pl.Results, Path]) -> None:
    table = kept[0].to_arrow()
    assert table["values.network.core.buffer_bytes"].to_pylist() == [
        b for b in (20000.0, 5000.0, 7500.0) for _ in "1234"
    ]
    assert not [name for name in table.column_names if name.startswith("values.pacing")]
    mixed = [
        run | {"settings": {"b": label}} for run, label in zip(kept[0].to_dicts(), ("5 KB", "10 ms"), strict=False)
    ]
    columns = pl.Results([pl.Result.from_dict(run) for run in mixed]).to_arrow().column_names
    assert not [name for name in columns if name.startswith("values.")]
    assert [unit_of(name) for name in ("values.delay_s", "values.hosts", "settings.x_s")] == ["s", "1", None]
    assert [unit_of(name) for name in ("links.core.tied_drops", "bytes", "flow")] == ["packets", "B", None]


def test_links_stand_in_a_long_table(kept: tuple[pl.Results, Path]) -> None:
    made, _ = kept
    table = made.to_arrow("links")
    assert table.num_rows == sum(len(run.links) for run in made)
    assert table.column_names[:6] == [
        *("run", "settings.network.core.buffer", "settings.pacing"),
        *("values.network.core.buffer_bytes", "seed", "link"),
    ]
    for row in table.to_pylist()[:9]:
        assert row["throughput_bps"] == made[row["run"]].links[row["link"]].throughput_bps
    with pytest.raises(pl.InputError, match=r'^table: "link" is no table of results; write runs or links'):
        made.to_arrow("link")  # type: ignore[arg-type]


def test_a_wrong_key_or_path_names_what_there_is(kept: tuple[pl.Results, Path]) -> None:
    made, _ = kept
    for wrong, said in (
        (lambda: made[0].number("flows.jian"), "did you mean flows.jain"),
        (lambda: made[0].number("jain"), "did you mean flows.jain?"),
        (lambda: made[0].number("bandwidth"), "no such number of a run; there is seed, "),
        (lambda: made[0].number("links.cor.loss_ratios"), "did you mean links.core.loss_ratio"),
        (lambda: made[0].number("settings"), "no such number"),
        (lambda: made.interval("flows.goodput"), "no such number"),
        (lambda: made[0].links["cor"], "did you mean core"),
        (lambda: made[0].groups["paced"], "there is none"),
        (lambda: made[0].settings["pace"], "there is network.core.buffer, pacing"),
        (lambda: made.where({"pacin": "host"}), "no such swept path; did you mean pacing"),
    ):
        with pytest.raises(KeyError) as error:
            wrong()
        assert said in str(error.value), error.value
    with pytest.raises(IndexError, match="there are 12 runs, from 0 to 11"):
        made[12]
    with pytest.raises(TypeError, match="is no number of a run"):
        made["pacing"]  # type: ignore[call-overload]
    assert len(made.where({"pacing": "edge"})) == 0
    assert made[0].number("links.other.loss_ratio") is None  # of other networks of a sweep


def test_what_is_no_directory_of_results_is_said(tmp_path: Path) -> None:
    with pytest.raises(pl.InputError, match="no such file or directory; name a directory that results"):
        pl.Results.load(tmp_path / "nowhere")
    with pytest.raises(pl.InputError, match=r"has no runs\.parquet"):
        pl.Results.load(tmp_path)
    (tmp_path / "runs.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(pl.InputError, match=r"runs\.parquet: .*; name a directory"):
        pl.Results.load(tmp_path)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "runs.parquet")
    with pytest.raises(pl.InputError, match="has no column seed"):
        pl.Results.load(tmp_path)


def test_a_directory_without_results_says_what_it_has(kept: tuple[pl.Results, Path], tmp_path: Path) -> None:
    """One whose sweep was interrupted, which has runs that the same command keeps; and one above results."""
    _, folder = kept
    with pytest.raises(pl.InputError, match=r"has no runs\.parquet; there are results in .*/out$"):
        pl.Results.load(folder.parent)
    shutil.copytree(folder / "store", tmp_path / "store")
    with pytest.raises(pl.InputError, match=r"has runs in store, but no runs\.parquet: .* the same command again goes"):
        pl.Results.load(tmp_path)
    for number in range(5):
        (tmp_path / f"sweep-{number}").mkdir()
        shutil.copy(folder / "runs.parquet", tmp_path / f"sweep-{number}")
    with pytest.raises(pl.InputError, match=r"results in \S+/sweep-0, \S+/sweep-1, \S+/sweep-2 and 2 more$"):
        pl.Results.load(tmp_path)


@pytest.mark.parametrize("package", ["pandas", "polars", "xarray"])
def test_a_missing_package_is_said_with_its_remedy(
    kept: tuple[pl.Results, Path], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.import_module

    def without(name: str, *rest: str) -> ModuleType:
        if name == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ModuleNotFoundError, match=rf'{package}.*pip install "paceline\[frames\]"'):
        getattr(kept[0], f"to_{package}")()


def has(*packages: str) -> pytest.MarkDecorator:
    missing = [one for one in packages if importlib.util.find_spec(one) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {' and '.join(missing)}")


@has("pandas")
def test_pandas(kept: tuple[pl.Results, Path]) -> None:
    frame = kept[0].to_pandas()
    assert frame.groupby("values.network.core.buffer_bytes").size().to_dict() == {5000.0: 4, 7500.0: 4, 20000.0: 4}
    assert len(kept[0].to_pandas("links")) == kept[0].to_arrow("links").num_rows


@has("polars")
def test_polars(kept: tuple[pl.Results, Path]) -> None:
    frame = kept[0].to_polars("links")
    assert frame.filter(frame["link"] == "core").height == 12


class _Dataset:
    """What `to_xarray` hands over, where xarray is not installed: the same three arguments."""

    def __init__(self, variables: dict[str, tuple], coordinates: dict[str, tuple], attributes: dict[str, str]) -> None:
        self.variables, self.coordinates, self.attributes = variables, coordinates, attributes


def test_xarray_gets_a_grid_with_units(kept: tuple[pl.Results, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = kept
    fake = ModuleType("xarray")
    fake.Dataset = _Dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "xarray", fake)
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    some = pl.Results([run for run in made if (run.settings["pacing"], run.seed) != ("host", 2)])
    data = some.to_xarray()
    axes = {name: list(values) for name, (_, values, _) in data.coordinates.items()}
    assert axes == {"network.core.buffer": [5000.0, 7500.0, 20000.0], "pacing": ["none", "host"], "seed": [1, 2]}
    assert data.coordinates["network.core.buffer"][2]["units"] == "B"
    dims, grid, attributes = data.variables["links.core.throughput_bps"]
    assert (dims, grid.shape, attributes["units"]) == (list(axes), (3, 2, 2), "bit/s")
    for run in some:
        at = (axes["network.core.buffer"].index(float(run.settings["network.core.buffer"][:-3]) * 1000),)
        at += (axes["pacing"].index(run.settings["pacing"]), axes["seed"].index(run.seed))
        assert grid[at] == run.links["core"].throughput_bps
    assert np.isnan(grid[:, 1, 1]).all()
    assert np.isnan(grid).sum() == 3
    with pytest.raises(pl.InputError, match="has a seed twice"):
        pl.Results([made[0], made[0]]).to_xarray()


@has("xarray", "pandas")
def test_xarray(kept: tuple[pl.Results, Path]) -> None:
    data = kept[0].to_xarray()
    picked = data["links.core.loss_ratio"].sel({"network.core.buffer": 5000.0, "pacing": "none", "seed": 1})
    first = kept[0].where({"network.core.buffer": "5 KB", "pacing": "none"})[0]
    assert float(picked) == first.links["core"].loss_ratio
    assert json.dumps(data.attrs)
    assert builtins.dict(data.sizes) == {"network.core.buffer": 3, "pacing": 2, "seed": 2}


def test_a_type_checker_sees_one_run_by_a_number_and_runs_by_a_slice() -> None:
    one, some = typing.get_overloads(pl.Results.__getitem__)
    assert [one.__annotations__["return"], some.__annotations__["return"]] == ["Result", "Results"]
