"""`make bench`: its cases are sound scenarios, the peers get the same network, and its tables say what was measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benches"), str(ROOT / "benches" / "peers")]

import cases  # noqa: E402
import cost  # noqa: E402
import engine  # noqa: E402
import instructions  # noqa: E402
import ns3_controls  # noqa: E402
import runs  # noqa: E402
import speed  # noqa: E402
import tables  # noqa: E402


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_a_case_is_a_sound_scenario(case: cases.Case) -> None:
    for quick in (False, True):
        settings = case.all_settings(quick)
        if settings.get("network.access.per_edge", 0) > 1000:
            settings["network.access.per_edge"] = 1000  # the same but for time
        said = runs.scenario(case.file, {**settings, **runs.INSTANT})
        assert runs.run(said).result["engine"]["core_packets"] == 0


@pytest.mark.parametrize("row", ns3_controls.ROWS, ids=lambda row: row.name)
def test_what_ns3_is_compared_with_is_a_sound_scenario(row: ns3_controls.Row) -> None:
    assert ns3_controls.PAGE.read_text().count("<!-- ns3-controls -->") == 1
    assert runs.run({**runs.scenario(cases.DEMO, row.settings), **runs.INSTANT}).result["engine"]["core_packets"] == 0


def test_a_run_is_measured_in_processes_of_its_own() -> None:
    cost_of = runs.measure(cases.DEMO, {"probes": {}, "duration": "30 s", "warmup": "10 s"})
    assert cost_of.packets > 250_000
    assert min(cost_of.setup_s, cost_of.engine_s) > 0
    assert cost_of.memory > cost_of.setup_memory / 2 > 1e6


def test_what_a_run_costs_is_without_its_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With times made up: those of a short run are less than what else the machine does may add to one of the two."""
    asked = []

    def run(what: dict[str, Any], _seed: int, engine: str) -> runs.Process:
        asked.append((what["duration"], engine))
        engine_said = {"cpu_s": 0.5, "core_packets": 6_000_000, "method": "windowed"}
        is_whole = what["duration"] == "30 s"
        return runs.Process(1.0 if is_whole else 0.4, 3 if is_whole else 2, {"engine": engine_said})

    monkeypatch.setattr(runs, "run", run)
    cost_of = runs.measure(cases.DEMO, {"duration": "30 s", "warmup": "10 s"}, engine="windowed")
    assert asked == [("1 us", "auto"), ("30 s", "windowed")]
    assert (cost_of.setup_s, cost_of.engine_s) == (0.4, 0.5)
    assert cost_of.ns_a_packet == pytest.approx(100)
    assert (cost_of.memory, cost_of.setup_memory) == (3, 2)


def test_the_peers_have_the_scenarios_network() -> None:
    network = speed.Network.of(runs.scenario(cases.DEMO, {"network.core.buffer": "5 KB"}))
    assert network == speed.Network(1000, 10, 100, 100, 5, 100, (5, 15), (8, 12), (1, 5), 10)
    assert network.packets_that_wait == 4  # ns-2's rule: five of 1040 B would reach the limit
    short = speed.Network.of(runs.scenario(cases.SHORT, {}))
    assert (short.core_rate, short.core_delay, short.access_delay) == (10_000, 0.4, (0.01, 0.03))


def made_up(ns: float, **more: Any) -> dict[str, Any]:
    return {"ns": ns, "cpu_s": 1.0, "setup_s": 0.1, "memory": 50_000_000, **more}


def test_a_row_that_costs_more_instructions_than_recorded_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instructions, "HISTORY", tmp_path / "history.csv")
    instructions.record({"a": 900.0, "b": 100.0}, "old")
    instructions.record({"a": 1000.0}, "new")
    history = instructions.read()
    assert history == {"a": {"old": 900.0, "new": 1000.0}, "b": {"old": 100.0}}
    assert instructions.compare({"a": 1029.0, "b": 99.0, "c": 5.0}, history)
    assert not instructions.compare({"a": 1031.0}, history)


def test_every_row_with_a_count_is_in_the_history() -> None:
    assert list(instructions.read()) == [case.name for case in cases.CASES if case.counted]


def test_a_row_has_the_median_and_the_ratios_to_the_peers() -> None:
    case = cases.CASES[0]
    found = {
        "paceline": {case.name: [made_up(50), made_up(90), made_up(60)]},
        "ns-2": {case.network: [made_up(6000)]},
        "ns-3": {},
    }
    assert engine.row(case, found) == [case.name, "60", "50 to 90", "1.00", "60", "50", "100", "–"]
    lost = {**found, "paceline": {case.name: [made_up(-3, setup_s=9.0)]}}
    assert engine.row(case, lost)[1] == "–"


def test_tables_are_written_between_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n")
    for _ in range(2):
        tables.put_between(page, "bench", tables.markdown(["a", "b"], [["1", "2"]]) + "\n")
        assert page.read_text() == (
            "before\n<!-- bench -->\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n\n<!-- /bench -->\nafter\n"
        )
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="no lines <!-- bench -->"):
        tables.put_between(page, "bench", "text")
    assert (ROOT / "docs/performance.md").read_text().count("<!-- bench -->") == 1


def test_every_point_of_the_pictures_is_a_sound_scenario() -> None:
    points = [*cost.with_flows(quick=False), *cost.with_round_trips(quick=False), *cost.with_hops(quick=False)]
    assert {point.picture for point in points} == set(cost.PICTURES)
    for point in points:
        if point.x <= 1000:
            assert runs.run({**point.scenario, **cost.INSTANT}).result["engine"]["core_packets"] == 0


def test_pictures_are_drawn_from_the_table(tmp_path: Path) -> None:
    rows = [{"picture": name, "line": "1 Gbit/s, windowed", "x": x, "ns": "70"} for name in cost.PICTURES for x in "15"]
    cost.draw(rows, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"cost-{name}.svg" for name in sorted(cost.PICTURES)]
