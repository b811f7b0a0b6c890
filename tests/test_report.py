"""The report over made-up results: what it says, what it must not say, and that it is one well-formed file."""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import paceline as pl
import pyarrow as pa
import pytest
import report_samples as samples
from paceline.errors import InputError
from paceline.report import network_diagram, render, write
from paceline.report.conclusions import headline, standing
from paceline.report.metrics import BY_KEY
from paceline.report.study import Study, study
from paceline.report.study_sources import FromMemory, load
from paceline.report.svg import Drawing
from paceline.report.time_charts import raster_of
from paceline.report.topology import Cable, NodeGroup, Topology, topology

SCENARIOS = Path(__file__).parent.parent / "scenarios"
VOID = {"meta", "link", "br", "hr", "img", "input", "col"}
HOSTILE = '<script>alert("x")</script> & </title><svg onload=1> {{ 7 * 7 }}'


class Checker(HTMLParser):
    """Fails on tags that do not nest, on ids given twice, and on pictures without a name."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f"<{tag}> has an attribute twice: {attrs}"
        self.tags.append(tag)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag == "svg":
            assert given.get("aria-hidden") == "true" or (given.get("role") == "img" and given.get("aria-label"))
        if tag == "th":
            assert given.get("scope") in ("col", "row", "rowgroup")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def checked(path: Path) -> Checker:
    checker = Checker()
    checker.feed(path.read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    assert checker.tags.count("script") == 1
    assert not re.search(r"\b(nan|inf|None|Undefined)\b", checker.text), checker.text
    return checker


def test_demo_is_one_small_file_quickly(tmp_path: Path) -> None:
    samples.directory(tmp_path)
    start = time.monotonic()
    path = write(tmp_path)
    assert time.monotonic() - start < 10
    assert path == tmp_path / "report.html"
    assert path.stat().st_size < 3_000_000
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "report.html",
        "runs.parquet",
        "scenario.toml",
        "series.parquet",
    ]
    page = checked(path)
    assert "At a core buffer of 5 KB, edge pacing 10 ms gets" in page.text.replace("\xa0", " ")
    assert "% more than unpaced" in page.text
    assert page.tags.count("table") == 3
    source = path.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:|//)|url\((?!#)|@import""", source)


def test_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    samples.directory(tmp_path)
    first = write(tmp_path).read_bytes()
    assert write(tmp_path).read_bytes() == first


def test_one_seed_has_no_intervals_and_no_winner(tmp_path: Path) -> None:
    page = checked(write(samples.directory(tmp_path, seeds=1)))
    assert "±" not in page.text.replace("± 95 % interval", "")
    assert "▲" not in page.text
    assert "one seed cannot say whether by chance" in page.text


@pytest.mark.parametrize(("methods", "buffers", "seeds"), [(1, 1, 1), (1, 1, 3), (1, 3, 3), (4, 1, 3), (2, 3, 2)])
def test_every_shape_of_sweep(tmp_path: Path, methods: int, buffers: int, seeds: int) -> None:
    samples.directory(tmp_path, methods=samples.METHODS[:methods], buffers=samples.BUFFERS[:buffers], seeds=seeds)
    checked(write(tmp_path))


def test_without_series_scenario_or_some_numbers(tmp_path: Path) -> None:
    samples.directory(tmp_path, series=False, without=("flows.goodput_mean_bps", "flows.jain"))
    (tmp_path / "scenario.toml").unlink()
    page = checked(write(tmp_path))
    assert "When packets leave" not in page.text
    assert "Throughput" in page.text
    assert "Goodput per flow" not in page.text


def test_a_number_missing_in_one_setting_is_a_dash(tmp_path: Path) -> None:
    samples.directory(tmp_path)
    sample = load(tmp_path)
    for row in sample.settings[0].runs.values():
        assert isinstance(row, dict)
        row["flows.jain"] = None
    assert "<td>—</td>" in render(sample)


def test_sixty_settings_with_long_names(tmp_path: Path) -> None:
    methods = [f"token-bucket of a rather long name, number {n}, {n} Mbit/s" for n in range(20)]
    page = checked(write(samples.directory(tmp_path, methods=methods, seeds=2)))
    assert page.text.count("number 19") >= 3


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    samples.directory(tmp_path, title=HOSTILE, methods=("none", 'edge "><img src=x onerror=1>'))
    path = write(tmp_path)
    page = checked(path)
    assert HOSTILE in page.text
    assert "img" not in page.tags
    assert "<svg onload" not in path.read_text(encoding="utf-8")


def test_groups_are_compared_within_a_run(tmp_path: Path) -> None:
    page = checked(write(samples.directory(tmp_path, groups=True)))
    assert "Paced flows alone" in page.text
    assert "against unpaced flows of the same run" in page.text
    assert "+11.1" in page.text


def test_no_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no runs\.parquet"):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_headline_says_only_what_the_seeds_support(tmp_path: Path) -> None:
    sample = load(samples.directory(tmp_path, methods=("none", "edge 10 ms")))
    assert standing(sample, BY_KEY["goodput"], "5 KB").leader == "edge pacing 10 ms"
    sentences = headline(sample)
    assert sentences[0].startswith("At a core buffer of 5\N{NO-BREAK SPACE}KB") or "5 KB" in sentences[0]
    assert "13" in sentences[0]


def test_raster_measures_bursts(tmp_path: Path) -> None:
    raster = raster_of(load(samples.directory(tmp_path)))
    assert raster is not None
    assert raster.link == "edge.l.0"
    by_method = {s.series.method: s.spacing for s in raster.strips}
    assert by_method["none"].variation > 1.5 > 0.6 > by_method["edge"].variation
    assert by_method["none"].back_to_back > 0.7
    assert by_method["edge"].back_to_back < 0.1


def bucket(rate: str, swept: dict[str, str] | None = None) -> Study:
    """Packets of 1500 B that a token bucket of 3 Mbit/s lets go, on a link of a graph with this rate."""
    times = np.arange(100) * 4_000_000
    columns = {"link": ["r-s"] * 100, "kind": ["departure"] * 100, "time_ns": times, "bytes": [1500] * 100}
    row = {"seed": 1, "run": 0} | {f"settings.{k}": v for k, v in (swept or {}).items()}
    given = f'[[link]]\nfrom = "r"\nto = "s"\n{rate}\n[pacing]\nmethod = "token-bucket"'
    return study([row], given, {}, FromMemory({0: pa.table(columns)}))


@pytest.mark.parametrize(
    ("rate", "swept", "share", "wire_s"),
    [
        ('rate = "5 Mbit/s"', {}, 0.0, 0.0024),
        ('rate = "3 Mbit/s"', {}, 1.0, 0.004),
        ('rate = "5 Mbit/s"', {"link.r-s.rate": "3 Mbit/s"}, 1.0, 0.004),
        ('rate = "3 Mbit/s"', {"link.0.rate": "5 Mbit/s"}, None, None),
        ('rate = "3 Mbit/s .. 5 Mbit/s"', {}, None, None),
        ("", {}, None, None),
    ],
)
def test_back_to_back_is_what_the_wire_allows(
    rate: str, swept: dict[str, str], share: float | None, wire_s: float | None
) -> None:
    found = bucket(rate, swept)
    raster = raster_of(found)
    assert raster is not None
    assert raster.strips[0].spacing.back_to_back == share
    assert raster.wire_s == (pytest.approx(wire_s) if wire_s else None)
    text = render(found)
    assert ("leaves back to back." in text) == (share is not None)
    assert ("cannot be told" in text) == (share is None)


def cables_of(*names: str, counts: tuple[int, ...] = ()) -> dict[str, Any]:
    """A description with these groups of links, one behind the other."""
    nodes = [{"name": f"n{k}", "is_host": False, "count": 1} for k in range(len(names) + 1)]
    many = counts or (10,) * len(names)
    links = [{"name": n, "from": k, "to": k + 1, "count": c} for k, (n, c) in enumerate(zip(names, many, strict=True))]
    return {"nodes": nodes, "links": links}


def paced(at: str, description: dict[str, Any]) -> list[str]:
    given = f'[pacing]\nmethod = "edge"\nat = {at}'
    net = topology(study([{"seed": 1}], given, description, FromMemory({})))
    assert net is not None
    return [c.name for c in net.cables if c.paced]


def test_wildcards_within_a_name() -> None:
    names = ["access.through.l", "access.cross.0.l", "access.cross.1.l", "access.cross.0.r", "hop.0"]
    net = cables_of(*names)
    assert paced('["access.through.l.*", "access.cross.*.l.*"]', net) == names[:3]
    assert paced('"access.cross.1.*.3"', net) == ["access.cross.1.l"]
    assert paced('"access.*.3"', net) == []
    assert paced('"hop.*"', cables_of("hop.0", "hop.1", counts=(1, 1))) == ["hop.0", "hop.1"]


@pytest.mark.parametrize(
    "given",
    [
        'pacing = "edge 10 ms, at = hop.0"',
        'pacing = "edge at = [hop.0], delay = 10 ms"',
        '[sweep]\npacing = ["none", "edge delay = 10 ms, at = hop.0"]',
        '[pacing]\nmethod = "edge"\ndelay = "10 ms"\n[sweep]\n"pacing.at" = ["hop.0"]',
    ],
)
def test_a_pacer_is_drawn_where_it_is_told_to_be_in_any_way_of_writing(given: str) -> None:
    rows = [{"seed": 1}, {"seed": 1, "settings.pacing": "edge delay = 10 ms, at = hop.0"}]
    net = topology(study(rows, given, cables_of("access.l", "hop.0", "hop.1"), FromMemory({})))
    assert net is not None
    assert [c.name for c in net.cables if c.paced] == ["hop.0"]


def test_the_legend_names_every_group_that_is_paced() -> None:
    names = ["access.through.l", "access.cross.0.l", "access.cross.1.l", "hop.0"]
    given = '[pacing]\nmethod = "edge"\nat = ["access.through.l.*", "access.cross.*.l.*"]'
    net = topology(study([{"seed": 1}], given, cables_of(*names), FromMemory({})))
    assert net is not None
    for drawing in (network_diagram.wide(net), network_diagram.tall(net)):
        texts = " ".join(re.findall(r"<text[^>]*>([^<]*)", drawing.markup()))
        assert "edge pacing on access.through.l and access.cross.*.l" in texts


@pytest.mark.parametrize(
    ("file", "link", "line"),
    [
        ("priority", "core", "queue drop-tail, fq-codel, priority or drr"),
        ("shared-memory", "to-store", "memory of 300 KB, shared by 2 links"),
        ("ack-aggregation", "down", "back: a rate that varies"),
        ("gso-trains", "limiter", "policed at 20 Mbit/s, burst 5 KB"),
    ],
)
def test_a_drawing_names_disciplines_memories_and_policers(file: str, link: str, line: str) -> None:
    scenario = pl.Scenario.load(SCENARIOS / f"{file}.toml")
    swept = {"network.core.queue": ["drop-tail", "fq-codel", "priority limits 190 packets+10 packets", "drr"]}
    rows = [{"seed": 1, f"settings.{path}": value} for path, values in swept.items() for value in values]
    text = scenario.to_toml()
    net = topology(study(rows if file == "priority" else [{"seed": 1}], text, scenario.describe(), FromMemory({})))
    assert net is not None
    (cable,) = (cable for cable in net.cables if cable.name == link)
    assert line in cable.lines
    for drawing in (network_diagram.wide(net), network_diagram.tall(net)):
        assert line in drawing.markup()  # in words beside the picture, where links branch


def test_a_scenario_without_title_and_names() -> None:
    given = '[[traffic]]\nkind = "bulk"\n[[traffic]]\nkind = "cbr"\nrate = "1 Mbit/s"'
    nameless = study([{"seed": 1}], given, {}, FromMemory({}))
    text = render(nameless)
    assert "<h1>Untitled scenario</h1>" in text
    assert "bulk: transfers without end. cbr: a constant stream, rate 1 Mbit/s." in text
    nameless.file_name = "very-small"
    assert "<h1>very-small</h1>" in render(nameless)


def test_the_title_is_the_name_of_the_file(tmp_path: Path) -> None:
    samples.directory(tmp_path, title=" ")
    assert "<h1>small</h1>" in write(tmp_path, "scenarios/small.toml").read_text(encoding="utf-8")
    assert "<h1>Untitled scenario</h1>" in write(tmp_path).read_text(encoding="utf-8")


LOOP = ["a-r", "r-s", "s-t", "t-r", "s-b", "t-b"]


def looped() -> Topology:
    nodes = [{"name": n, "is_host": n in "ab", "count": 1} for n in "arstb"]
    links = [{"name": n, "from": n[0], "to": n[2], "count": 1, "rate": "5 Mbit/s"} for n in LOOP]
    net = topology(study([{"seed": 1}], "", {"nodes": nodes, "links": links}, FromMemory({})))
    assert net is not None
    return net


@pytest.mark.parametrize("draw", [network_diagram.wide, network_diagram.tall])
def test_no_cable_of_a_loop_runs_through_a_node(draw: Callable[[Topology], Drawing]) -> None:
    text = draw(looped()).markup()
    routers = [
        (float(x), float(y)) for x, y in re.findall(r'<circle class="router" cx="([0-9.]+)" cy="([0-9.]+)"', text)
    ]
    ways = re.findall(r'<path d="M([^"]*)" class="c[a-z]+ bent"', text)
    assert len(routers) == 3
    assert len(ways) == len(LOOP)
    for way in ways:
        points = [tuple(map(float, point.split())) for point in way.split("L")]
        for router in routers:
            if router not in (points[0], points[-1]):
                assert min(math.dist(point, router) for point in points) > 14
    labels = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)" class="tick halo"', text)
    assert len(set(labels)) == len(LOOP)
    for x, y in labels:
        assert min(math.dist((float(x), float(y) - 4), router) for router in routers) > 12


@pytest.mark.parametrize("draw", [network_diagram.wide, network_diagram.tall])
def test_no_number_beside_a_cable_is_cut(draw: Callable[[Topology], Drawing]) -> None:
    nodes = [NodeGroup(name, False, 1) for name in ("a", "b", "c", "d", "e", "f")]
    swept = "buffer 5 packets, 10 packets, 20 packets, 50 packets or 1000 packets"
    cables = [Cable(f"link{k}", k, k + 1, 1, [f"link{k}", "100 Mbit/s", "1–5 ms", swept]) for k in range(5)]
    markup = draw(Topology(nodes, cables)).markup()
    lines = re.findall(r"<text[^>]*>([^<]*)", markup)
    assert " ".join(lines).count(swept) == 5
    height = float(re.findall(r'viewBox="0 0 [0-9.]+ ([0-9.]+)"', markup)[0])
    assert max(float(y) for y in re.findall(r'<text[^>]* y="([0-9.]+)"', markup)) < height


@pytest.mark.parametrize("draw", [network_diagram.wide, network_diagram.tall])
def test_words_of_two_access_groups_stand_apart(draw: Callable[[Topology], Drawing]) -> None:
    nodes = [{"name": n, "is_host": n != "core.l", "count": 3} for n in ("left", "core.l", "right")]
    links = [
        {
            "name": f"{n} ({g})",
            "from": k,
            "to": k + 1,
            "count": 3,
            "rate": "1 Mbit/s",
            "delay": "1 ms",
            "buffer": "9 KB",
        }
        for k, n in enumerate(("access.l", "access.r"))
        for g in ("slow", "fast", "other")
    ]
    net = topology(study([{"seed": 1}], "", {"nodes": nodes, "links": links}, FromMemory({})))
    assert net is not None
    places = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)"', draw(net).markup())
    spots = sorted((float(x), float(y)) for x, y in places)
    assert all(a[0] != b[0] or b[1] - a[1] >= 13 for a, b in itertools.pairwise(spots))


def test_groups_of_access_links_share_their_numbers() -> None:
    net = cables_of("access.l (slow)", "access.l (fast)", counts=(3, 4))
    assert paced('"access.l.2"', net) == ["access.l (slow)"]
    assert paced('"access.l.3"', net) == ["access.l (fast)"]
    assert paced("[]", net) == ["access.l (slow)", "access.l (fast)"]


def test_plots_are_figures(tmp_path: Path) -> None:
    plot = pytest.importorskip("paceline.plot")
    samples.directory(tmp_path)
    for draw in (plot.against_buffer, plot.queue, plot.raster):
        draw(tmp_path).savefig(tmp_path / "plot.svg")
    with pytest.raises(ValueError, match='"speed" is no metric; write one of'):
        plot.against_buffer(tmp_path, ("speed",))


def test_one_series_is_compared_over_its_axis(tmp_path: Path) -> None:
    samples.directory(tmp_path, methods=("none",))
    page = checked(write(tmp_path))
    assert "With the core buffer, goodput per flow rises by" in page.text
    raster = raster_of(load(tmp_path))
    assert raster is not None
    assert [s.series.name for s in raster.strips] == [f"Core buffer {b}" for b in samples.BUFFERS]
