"""What hangs on who goes first, an arrival or a departure of one instant, is counted and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from conftest import Command
from paceline.results import ties


def one_flow(rule: str, buffer: str = "1 packets") -> pl.Scenario:
    """One flow over a buffer in which one packet waits: nearly all that it loses, it loses at ties."""
    network: dict[str, Any] = {
        "template": "dumbbell",
        "ties": rule,
        "core": {"rate": "20 Mbit/s", "delay": "20 ms", "buffer": buffer},
        "access": {"hosts": 1, "rate": "100 Mbit/s", "delay": "5 ms"},
    }
    tcp = {"profile": "ns2", "variant": "newreno", "max_window": "1000 packets"}
    return pl.Scenario(
        {"duration": "30 s", "warmup": "5 s", "network": network, "traffic": [{"kind": "bulk", "tcp": tcp}]}
    )


@pytest.mark.parametrize("rule", ["arrival", "random"])
def test_drops_at_ties_are_said(rule: str) -> None:
    results = pl.sweep(one_flow(rule))
    core = results[0].links["core"]
    assert core.tied_drops is not None
    assert core.dropped_packets is not None
    assert core.tied_drops > 0.2 * core.dropped_packets
    share = 100 * core.tied_drops / core.dropped_packets
    assert f"{share:.1f} % of the drops at core fell on a tie" in (results.tied or "")
    assert "network.ties=random,departure,arrival" in (results.tied or "")


def test_where_departures_go_first_it_is_the_admissions_that_hang_on_ties() -> None:
    results = pl.sweep(one_flow("departure"))
    assert results[0].links["core"].tied_drops == 0
    assert "the admission of " in (results.tied or "")


def test_a_buffer_that_is_not_tiny_has_nothing_to_say() -> None:
    assert pl.sweep(one_flow("random", "1 BDP")).tied is None


def test_rows_of_many_links_name_the_first() -> None:
    row = {f"links.{link}.{name}": 100 for link in "ab" for name in ("tied_packets", "tied_drops", "dropped_packets")}
    assert (ties.sentence([row]) or "").startswith("100.0 % of the drops at a and at 1 more link fell on a tie")


def test_the_report_says_it(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "one.toml"
    file.write_text(one_flow("arrival").to_toml())
    command("run", file, "--out", tmp_path / "out")
    assert "fell on a tie" in (tmp_path / "out" / "report.html").read_text()
