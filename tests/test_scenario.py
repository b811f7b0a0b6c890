"""Scenarios: paths, values and sweeps."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
import tomli_w
from conftest import TINY
from hypothesis import given
from hypothesis import strategies as st
from paceline._statistics import interval, student_t
from paceline.scenario.paths import join_path, label, locate, parse_value, split_path, split_values

WORDS = st.text("abcdefgh_-", min_size=1, max_size=6)
KEYS = st.text("abc_-.0 [é", min_size=1, max_size=6)
SCALARS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=6
)


def tiny() -> pl.Scenario:
    return pl.Scenario(tomllib.loads(TINY))


def inline(value: Any) -> str:
    """A value as TOML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")


@given(st.lists(KEYS, min_size=1, max_size=4))
def test_a_path_reads_back(keys: list[str]) -> None:
    assert split_path(join_path(keys)) == tuple(keys)


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_values_between_commas_read_back(values: list[Any]) -> None:
    assert split_values(",".join(inline(value) for value in values)) == values


def test_a_further_parameter_stays_with_its_value() -> None:
    text = 'none,edge 10 ms,qlbp load = 0.9, max_delay = 10 ms,{ method = "host" }'
    assert split_values(text) == ["none", "edge 10 ms", "qlbp load = 0.9, max_delay = 10 ms", {"method": "host"}]
    assert len(tiny().over({"pacing": split_values("none,qlbp load = 0.9, max_delay = 10 ms,host")}).points()) == 3


@given(st.text(max_size=20))
def test_any_text_is_a_value_or_refused_in_one_line(text: str) -> None:
    for read in (parse_value, split_values, split_path):
        refusal = ""
        try:
            read(text)
        except pl.InputError as error:
            refusal = str(error)
        assert "\n" not in refusal


@given(WORDS, VALUES)
def test_what_is_set_is_there_and_nothing_else_changed(key: str, value: Any) -> None:
    before = tiny()
    changed = before.set(f"network.core.{key}", value)
    assert changed.to_dict()["network"]["core"][key] == value
    document = changed.to_dict()
    document["network"]["core"] = before.to_dict()["network"]["core"]
    assert document == before.to_dict() == tomllib.loads(TINY)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("traffic.bulk.tcp.variant", "reno"),
        ("traffic.0.tcp.variant", "reno"),
        ("network.core.queue.discipline", "codel"),
        ("network.core.police.rate", "1 Mbit/s"),
        ("probes.queue.links", "core"),
        ("pacing.method", "host"),
    ],
)
def test_a_table_that_a_file_leaves_out_is_made(path: str, value: str) -> None:
    document = tiny().to_dict()
    del document["traffic"][0]["tcp"]
    bare = pl.Scenario(document)
    here: Any = bare.set(path, value).to_dict()
    for key in split_path(locate(here, path)):
        here = here[int(key) if isinstance(here, list) else key]
    assert here == value
    assert [run.settings for run in bare.over({path: [value]}).points()] == [{path: value}]


def test_a_misspelt_table_is_not_made() -> None:
    with pytest.raises(pl.InputError, match=r'traffic.bulk has no "tpc"; did you mean "tcp"\?'):
        tiny().set("traffic.bulk.tpc.variant", "reno")
    with pytest.raises(pl.InputError, match='the scenario has no "tls"; it has'):
        tiny().set("tls.variant", "reno")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("core.buffer", "network.core.buffer"),
        ("tcp.variant", "traffic.bulk.tcp.variant"),
        ("network.hop.buffer", "network.links.hop.buffer"),
        ('"a.1".buffer', 'network.links."a.1".buffer'),
    ],
)
def test_a_path_that_leaves_a_table_out_is_told_the_whole_one(path: str, meant: str) -> None:
    links = [{"name": name, "rate": "1 Mbit/s", "delay": "1 ms", "buffer": "9 KB"} for name in ("hop", "a.1")]
    document = tiny().to_dict()
    if "links" in meant:
        document["network"] = {"template": "path", "links": links}
    with pytest.raises(pl.InputError, match=f"did you mean {re.escape(meant)}\\?$"):
        pl.Scenario(document).set(path, "5 KB")


@given(
    st.dictionaries(
        WORDS.map("network.{}".format), st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True), max_size=4
    ),
    st.integers(1, 4),
)
def test_every_combination_is_a_run_once(axes: dict[str, list[int]], seeds: int) -> None:
    points = tiny().over(axes).seeds(seeds).points()
    expected = seeds
    for values in axes.values():
        expected *= len(values)
    assert len(points) == expected == len({point.key for point in points})
    assert len({(*point.settings.values(), point.seed) for point in points}) == expected


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"method": "edge", "delay": "10 ms"}, "edge 10 ms"),
        ({"method": "edge", "delay": "10 ms", "acks": True, "share": 0.5}, "edge 10 ms acks share 0.5"),
        ({"method": "port", "per_flow": False}, "port no per_flow"),
        ({"method": "host", "rule": "wei"}, "host wei"),
        ("5 KB", "5 KB"),
        (0.25, "0.25"),
        (["a", "b"], "a+b"),
    ],
)
def test_labels(value: Any, words: str) -> None:
    assert label(value) == words


def test_labels_that_would_be_alike_name_their_parameters() -> None:
    pacings = [
        {"method": "qlbp", "load": 0.5, "mu_min": "1 Mbit/s"},
        {"method": "qlbp", "load": 0.5, "mu_max": "1 Mbit/s"},
    ]
    labels = [point.settings["pacing"] for point in tiny().over({"pacing": pacings}).points()]
    assert labels == ["method=qlbp load=0.5 mu_min=1 Mbit/s", "method=qlbp load=0.5 mu_max=1 Mbit/s"]


def test_the_sweep_of_a_file_in_any_spelling() -> None:
    quoted = TINY + '[sweep]\n"network.core.buffer" = ["5 KB", "9 KB"]\nseeds = [3, 5]\n'
    dotted = TINY + '[sweep]\nnetwork.core.buffer = ["5 KB", "9 KB"]\nseeds = [3, 5]\n'
    runs = [pl.Scenario(tomllib.loads(text)).points() for text in (quoted, dotted)]
    assert runs[0] == runs[1]
    assert [(point.settings["network.core.buffer"], point.seed) for point in runs[0]] == [
        ("5 KB", 3),
        ("5 KB", 5),
        ("9 KB", 3),
        ("9 KB", 5),
    ]


def test_what_is_set_is_not_swept_any_more() -> None:
    scenario = tiny().over({"pacing": ["none", "host"], "network.core.buffer": ["5 KB", "9 KB"]}).seeds(2)
    assert len(scenario.points()) == 8
    assert len(scenario.set("pacing", "host").points()) == 4
    with pytest.raises(pl.InputError, match="the scenario sweeps pacing"):
        scenario.set("pacing.method", "host")


def test_entries_go_by_name_or_number() -> None:
    by_name = tiny().set("traffic.bulk.tcp.variant", "newreno")
    assert by_name == tiny().set("traffic.0.tcp.variant", "newreno") == tiny().set("traffic[0].tcp.variant", "newreno")
    assert by_name.to_dict()["traffic"][0]["tcp"]["variant"] == "newreno"


def test_seeds_count_from_the_scenarios_own() -> None:
    assert [point.seed for point in tiny().set("seed", 7).seeds(3).points()] == [7, 8, 9]
    assert tiny().set("seed", 7).seeds([1]).points()[0].key == tiny().points()[0].key


@pytest.mark.parametrize("path", ["seed", "seeds", "title", "sweep.pacing"])
def test_what_is_no_setting_is_not_swept(path: str) -> None:
    with pytest.raises(pl.InputError, match=rf"^{path}: .*not a setting"):
        tiny().over({path: [3, 4]})


@pytest.mark.parametrize("values", ["host", {"method": "host"}, 5])
def test_values_that_are_no_list_are_refused(values: Any) -> None:
    with pytest.raises(pl.InputError, match=r"^pacing: .*; write a list, as \["):
        tiny().over({"pacing": values})


@pytest.mark.parametrize("seeds", ["3", 2.5, None, 0, [], [1, 1], [-1], ["3"], True])
def test_seeds_that_are_none_are_refused_at_once(seeds: Any) -> None:
    with pytest.raises(pl.InputError, match="seed"):
        tiny().seeds(seeds)


def test_a_file_is_kept_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("# why\r\n" + TINY, newline="")
    assert pl.Scenario.load(path).to_toml() == "# why\r\n" + TINY
    changed = pl.Scenario.load(path).set("network.core.buffer", "5 KB")
    assert tomllib.loads(changed.to_toml()) == changed.to_dict()


def test_builders_say_what_a_file_says() -> None:
    built = pl.dumbbell(
        core={"rate": "10 Mbit/s", "delay": "10 ms", "buffer": "10 KB"},
        access={"hosts": 4, "rate": "20 Mbit/s", "delay": "1 ms .. 5 ms"},
        traffic=[
            {"name": "bulk", "kind": "bulk", "tcp": {"variant": "reno", "profile": "ns2"}, "start": "0 s .. 1 s"},
        ],
        pacing={"method": "none"},
        duration="4 s",
        warmup="1 s",
        title="tiny",
    )
    assert built.points()[0].key == tiny().points()[0].key
    built.check()
    pl.path([{"name": "only", "rate": "1 Mbit/s", "delay": "1 ms"}], tcp={"variant": "reno"}).check()
    with pytest.raises(TypeError, match="tcp or traffic"):
        pl.path([], tcp={}, traffic=[])


@pytest.mark.parametrize(
    ("freedom", "t"),
    [
        (1, 12.7062),
        (2, 4.30265),
        (3, 3.18245),
        (4, 2.77645),
        (5, 2.57058),
        (9, 2.26216),
        (30, 2.04227),
        (1000, 1.96234),
    ],
)
def test_student_t_is_that_of_printed_tables(freedom: int, t: float) -> None:
    assert student_t(freedom) == pytest.approx(t, rel=5e-6)


def test_intervals() -> None:
    assert interval([]) is None
    assert interval([None, None]) is None
    one = interval([None, 3.0])
    assert one is not None
    assert (one.mean, one.half, one.count) == (3.0, None, 1)
    two = interval([1.0, 3.0])
    assert two is not None
    assert two.half == pytest.approx(12.7062, rel=1e-5)


UNNAMED = """
duration = "1 s"
[network]
template = "path"
links = [{ rate = "1 Mbit/s", delay = "1 ms" }]
[[traffic]]
kind = "bulk"
[[traffic]]
kind = "on-off"
rate = "1 Mbit/s"
[[traffic]]
kind = "bulk"
[[traffic]]
name = "web"
kind = "rpc"
"""


def test_a_traffic_without_a_name_goes_by_its_kind() -> None:
    scenario = pl.Scenario(tomllib.loads(UNNAMED))
    for path, number in (("traffic.bulk", 0), ("traffic.on-off", 1), ("traffic.bulk-2", 2), ("traffic.web", 3)):
        assert scenario.set(f"{path}.start", "5 ms").to_dict()["traffic"][number]["start"] == "5 ms"
        documents = [json.loads(point.json) for point in scenario.over({f"{path}.start": ["5 ms", "6 ms"]}).points()]
        assert [document["traffic"][number]["start"] for document in documents] == ["5 ms", "6 ms"]
    with pytest.raises(pl.InputError, match=r"no entry \"rpc\"; what has that kind has a name; write traffic\.web\.x$"):
        scenario.set("traffic.rpc.x", 1)
    with pytest.raises(pl.InputError, match=r"no entry \"bulc\"; did you mean \"bulk\"\?"):
        scenario.set("traffic.bulc.x", 1)
    two = scenario.set("traffic.0.name", "a").set("traffic.2.name", "b")
    with pytest.raises(pl.InputError, match=r"has names; write traffic\.a\.tcp\.variant or traffic\.b\.tcp\.variant$"):
        two.set("traffic.bulk.tcp.variant", "reno")


def test_a_kind_that_is_swept_keeps_its_place() -> None:
    scenario = pl.Scenario(tomllib.loads(UNNAMED)).over(
        {"traffic.bulk.kind": ["bulk", "cbr"], "traffic.bulk.start": ["1 ms"]}
    )
    first = [json.loads(point.json)["traffic"][0] for point in scenario.points()]
    assert [(one["kind"], one["start"]) for one in first] == [("bulk", "1 ms"), ("cbr", "1 ms")]


def test_what_is_set_by_name_is_not_swept_by_number_any_more() -> None:
    scenario = pl.Scenario(tomllib.loads(UNNAMED)).over({"traffic.0.start": ["5 ms", "6 ms"]})
    points = scenario.set("traffic.bulk.start", "7 ms").points()
    assert [json.loads(point.json)["traffic"][0]["start"] for point in points] == ["7 ms"]


SHIPPED = sorted((Path(__file__).parent.parent / "scenarios").rglob("*.toml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_scenario_names_its_profile(path: Path) -> None:
    """What stands for numbers that are written down does not hang on a default (docs/adr/0001-default-tcp.md)."""
    for traffic in tomllib.loads(path.read_text())["traffic"]:
        if traffic["kind"] in ("bulk", "rpc", "closed-loop", "cvec"):
            assert "profile" in traffic["tcp"], traffic
