"""What competes in a report and what does not; every series told apart; no axis where the quantity cannot be."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import paceline as pl
import pytest
from paceline import plot
from paceline.report import metric_charts, render
from paceline.report.comparison_tables import group_tables, main_tables, unlike_groups
from paceline.report.conclusions import headline, standing
from paceline.report.line_plot import Axis, Line, line_plot
from paceline.report.metrics import BY_KEY
from paceline.report.scenario_facts import facts
from paceline.report.series_marks import SLOTS, mark, marker
from paceline.report.study import Study, study
from paceline.report.study_sources import FromMemory

PACING = ("none", "host", "edge 10 ms")
#: Host pacing wins among few hosts, edge pacing among many; whoever has few hosts has more than anybody of the others.
GOODPUT = {"2": {"none": 40.0, "host": 44.0, "edge 10 ms": 42.0}, "8": {"none": 10.0, "host": 9.0, "edge 10 ms": 11.0}}
HOSTS, BUFFER = "network.access.hosts", "network.core.buffer"


def made(
    swept: Mapping[str, Sequence[str]],
    goodput: Any = lambda row: GOODPUT[row.get(HOSTS, "8")][row.get("pacing", "none")],
    scenario: str = "",
    **more: Any,
) -> Study:
    """A study of a grid, five seeds each."""
    rows = []
    for values in itertools.product(*swept.values()):
        row = dict(zip(swept, values, strict=True))
        for seed in range(1, 6):
            luck = 0.1 * (seed % 3)
            rows.append(
                {f"settings.{path}": text for path, text in row.items()}
                | {"seed": seed, "flows.goodput_mean_bps": 1e6 * (goodput(row) + luck), "engine.kind": "simulation"}
                | {"links.core.throughput_bps": 1e6 + seed, "links.core.utilisation": 0.9}
                | {name: value(seed) if callable(value) else value for name, value in more.items()}
            )
    return study(rows, scenario, {}, FromMemory({}))


def marked(found: Study) -> dict[str, list[str]]:
    """The names that are marked best in the first column, by section."""
    table = main_tables(found)[0][1]
    return {s.title: [row.name for row in s.rows if row.cells[0].mark == "best"] for s in table.sections}


def test_what_depends_on_an_axis_is_said_for_all_of_it() -> None:
    """A drawing is of the first setting."""
    found = made({HOSTS: ("2", "8"), "pacing": PACING}, **{"flows.count": 6})
    assert dict(facts(found))["Traffic"] == "6 flows."
    assert dict(facts(found))["Access hosts"] == "2 or 8; the drawing has 2"
    rows = [{f"settings.{HOSTS}": str(n), "seed": 1, "flows.count": 3 * n} for n in (4, 2)]
    assert dict(facts(study(rows, "", {}, FromMemory({}))))["Traffic"] == "6 or 12 flows."
    assert headline(found)[1].startswith("At 8 access hosts, edge pacing 10 ms gets 11.1")


def test_pacing_is_compared_within_equal_values_of_the_rest() -> None:
    found = made({HOSTS: ("2", "8"), "pacing": PACING, BUFFER: ("5 KB", "20 KB")})
    assert [s.name for s in found.series] == ["unpaced", "host pacing", "edge pacing 10 ms"]
    assert [part.condition for part in found.parts] == [{HOSTS: "2"}, {HOSTS: "8"}]
    winners = [standing(part, BY_KEY["goodput"], "5 KB").leader for part in found.parts]
    assert winners == ["host pacing", "edge pacing 10 ms"]
    assert marked(found) == {
        "Access hosts 2, Core buffer 5 KB": ["host pacing"],
        "Access hosts 2, Core buffer 20 KB": ["host pacing"],
        "Access hosts 8, Core buffer 5 KB": ["edge pacing 10 ms"],
        "Access hosts 8, Core buffer 20 KB": ["edge pacing 10 ms"],
    }
    said = headline(found)
    assert said[0] == (
        "Of 4 combinations of access hosts and core buffer, host pacing leads in goodput per flow in 2 and edge pacing "
        "10 ms in 2."
    )
    assert said[1].startswith("At access hosts 2 and a core buffer of 5 KB, host pacing gets 44.1")
    assert said[2].startswith("At access hosts 8 and a core buffer of 20 KB, edge pacing 10 ms gets 11.1")
    page = render(found)
    assert page.count("<h3>Access hosts ") == 2
    assert [series.slot for series in found.series] == [series.slot for series in found.parts[1].series]


def test_a_pacing_is_compared_under_one_tcp_at_a_time() -> None:
    found = made({"pacing": ("none", "host"), "traffic.0.tcp.variant": ("reno", "cubic")})
    assert [s.name for s in found.series] == ["unpaced", "host pacing"]
    assert [part.condition for part in found.parts] == [
        {"traffic.0.tcp.variant": "reno"},
        {"traffic.0.tcp.variant": "cubic"},
    ]
    assert "TCP variant reno" in render(found)
    tcp = {"variant": "reno", "profile": "ns2"}
    given = replace(found, scenario={"traffic": [{"name": "bulk", "kind": "bulk", "tcp": tcp}]})
    assert dict(facts(given))["TCP"] == "Reno or CUBIC in the ns2 profile."
    alone = made({"traffic.0.tcp.variant": ("reno", "cubic")})
    assert alone.contest
    assert [s.name for s in alone.series] == ["TCP variant reno", "TCP variant cubic"]


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (HOSTS, ("2", "8")),
        ("network.core.rate", ("10 Mbit/s", "1 Gbit/s")),
        ("engine", ("simulation", "kernel")),
        ("traffic.rpc.response", ("1 KB", "100 KB")),
    ],
)
def test_what_is_no_choice_wins_nothing(path: str, values: tuple[str, ...]) -> None:
    for more in ({}, {BUFFER: ("5 KB", "20 KB")}):
        found = made({path: values} | more, lambda row: 40.0 if row[path] == values[0] else 10.0)
        assert not found.contest
        assert found.parts[0].baseline is None
        assert not any(itertools.chain.from_iterable(marked(found).values()))
        assert "Who wins" not in render(found)
        said = " ".join(headline(found))
        assert not re.search(r"\b(tie|leads|than|best|ahead)\b", said), said
    beside = made({path: values, "pacing": ("none", "host")}, lambda row: 40.0 if row[path] == values[0] else 10.0)
    assert [s.name for s in beside.series] == ["unpaced", "host pacing"]


def test_a_pacing_delay_may_be_the_axis() -> None:
    found = made({"pacing.delay": ("1 ms", "10 ms"), HOSTS: ("2", "8")})
    assert found.axis is not None
    assert found.axis.path == "pacing.delay"
    assert [s.name for s in found.series] == ["access hosts 2", "access hosts 8"]
    assert not found.contest


def test_every_series_has_a_colour_and_a_mark_of_its_own() -> None:
    looks = [(slot % SLOTS, marker(slot, 0, 0), mark(slot)) for slot in range(200)]
    assert len(set(looks)) == 200
    for part in (slice(0, 1), slice(1, 3)):  # alone, too, as far as eyes go
        assert len({look[part] for look in looks[:SLOTS]}) == SLOTS
    sheet = (Path(metric_charts.__file__).parent / "style.css").read_text()
    for slot in range(SLOTS):
        assert sheet.count(f"--s{slot}: #") == 3, "light, dark and print"
    values = {name: re.findall(rf"--{name}: (#\w+)", sheet) for name in (f"s{slot}" for slot in range(SLOTS))}
    for scheme in range(3):
        assert len({found[scheme] for found in values.values()}) == SLOTS
    pacings = [f"edge {delay} ms" for delay in range(1, 31)]
    found = made({"pacing": pacings, BUFFER: ("5 KB", "20 KB")}, lambda row: float(row["pacing"].split()[1]))
    assert len({series.slot for series in found.series}) == 30
    drawn = {(*sorted(plot.marks(slot).items()), plot.COLOURS[slot % SLOTS]) for slot in range(SLOTS)}
    assert len(drawn) == len(plot.COLOURS) == SLOTS


def test_no_axis_goes_where_the_quantity_cannot_be() -> None:
    noisy = {
        "links.core.loss_ratio": lambda seed: 0.5 if seed == 3 else 0.001,
        "links.core.utilisation": lambda seed: 0.4 if seed == 3 else 1.0,
        "flows.jain": lambda seed: 0.99 if seed == 3 else 1.0,
        "links.core.throughput_bps": lambda seed: 9e6 if seed == 3 else 1e3,
        "flows.fct_mean_s": lambda seed: 9.0 if seed == 3 else 0.01,
    }
    found = made({"pacing": PACING, BUFFER: ("5 KB", "20 KB")}, **noisy)
    assert found.axis is not None
    for key in ("loss", "utilisation", "jain", "throughput", "fct_mean"):
        drawing = metric_charts.against(found, found.axis, BY_KEY[key])
        below = max(float(y) for y in re.findall(r'y1="([\d.-]+)"', drawing.markup()) if float(y) > 0) + 0.01
        whiskers = re.findall(r'd="M[\d.-]+ ([\d.-]+)V([\d.-]+)', drawing.markup())
        assert whiskers
        assert max(float(y) for pair in whiskers for y in pair) <= below, key
        assert min(float(y) for pair in whiskers for y in pair) >= metric_charts.TOP - 0.01, key
        ticks = [float(text) for text in re.findall(r'class="tick" text-anchor="end">([\d.−]+)<', drawing.markup())]
        assert min(ticks) >= 0, key
        if key in ("loss", "utilisation"):
            assert max(ticks) <= 100
        if key == "jain":
            assert max(ticks) <= 1
    figure = plot.against_buffer(
        pl.Results([pl.Result.from_dict(run) for run in _runs()]), ("loss", "utilisation", "throughput")
    )
    for ax, most in zip(figure.axes, (100.0, 100.0, 1e9), strict=True):
        assert 0 <= ax.get_ylim()[0] < ax.get_ylim()[1] <= most


def _runs() -> list[dict[str, Any]]:
    """Two buffers under three seeds, of which one is another."""
    link = {"throughput_bps": 1e6, "utilisation": 1.0, "loss_ratio": 0.001}
    odd = {"throughput_bps": 9e6, "utilisation": 0.2, "loss_ratio": 0.9}
    run = {"window_s": [0.0, 1.0], "flows": {"count": 1}, "groups": {}, "engine": {"kind": "simulation"}}
    return [
        run | {"settings": {BUFFER: buffer}, "seed": seed, "links": {"core": odd if seed == 3 else link}}
        for buffer in ("5 KB", "20 KB")
        for seed in (1, 2, 3)
    ]


def test_no_band_takes_a_picture_below_zero() -> None:
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.5, 0.9])
    line = Line("x", 0, x, y, y * 0 + 5.0)
    for kind in ("bps", "share", "number"):
        text = line_plot("x", "", [line], Axis("t", "s"), Axis("", kind)).markup()
        assert "\N{MINUS SIGN}" not in text
        assert kind != "share" or ">100<" in text
    assert "\N{MINUS SIGN}" in line_plot("x", "", [line], Axis("t", "s"), Axis("", "bps²")).markup()


GROUPS = {
    f"groups.{name}.goodput_mean_bps": (lambda seed, of=of: of + seed)
    for name, of in (("paced", 9e5), ("unpaced", 1e5))
}
TRAFFIC = '[[traffic]]\nname = "{0}"\nkind = "{0}"\n'


def test_groups_that_are_not_alike_are_no_gain() -> None:
    def columns(scenario: str) -> list[str]:
        found = made({BUFFER: ("5 KB", "20 KB")}, lambda _: 1.0, scenario, **GROUPS)
        tables = dict(group_tables(found))
        assert set(tables) == {"paced", "unpaced"}
        assert bool(unlike_groups(found)) is (len(tables["paced"].columns) == 1)
        assert (unlike_groups(found) or "Paced flows alone") in render(found)
        return [column.title for column in tables["paced"].columns]

    alike = TRAFFIC.format("bulk") + '[pacing]\nmethod = "host"\nshare = 0.5\n'
    assert columns(alike) == ["Goodput per flow", "against unpaced flows of the same run"]
    mixed = TRAFFIC.format("bulk") + TRAFFIC.format("rpc") + '[pacing]\nmethod = "host"\nshare = 0.5\n'
    assert columns(mixed) == ["Goodput per flow"]
    chosen = TRAFFIC.format("bulk") + '[pacing]\nmethod = "host"\nat = ["left.0"]\n'
    assert columns(chosen) == ["Goodput per flow"]
