"""Every check finds what it is for, and nothing once that is repaired."""

from __future__ import annotations

from pathlib import Path

import paceline as pl
import pytest
from doctor_samples import HEALTHY, SAMPLES, Sample
from paceline.doctor.checks import CHECKS
from paceline.doctor.diagnosis import Diagnosis
from paceline.doctor.finding import Finding
from paceline.doctor.text_report import as_text

SCENARIOS = sorted((Path(__file__).parent.parent / "scenarios").glob("*.toml"))


def of(diagnosis: Diagnosis, name: str) -> list[Finding]:
    return [finding for finding in diagnosis.findings if finding.id == name]


def test_a_healthy_scenario_has_no_findings() -> None:
    assert pl.doctor(pl.Scenario(HEALTHY)).findings == []


def test_every_check_has_a_sample() -> None:
    assert {check.id for check in CHECKS} == {sample.id for sample in SAMPLES}
    declared = {(check.id, severity) for check in CHECKS for severity in check.severities}
    assert declared == {(sample.id, sample.severity) for sample in SAMPLES}


def test_ids_are_unique_and_documented() -> None:
    names = [check.id for check in CHECKS]
    assert len(set(names)) == len(names)
    for check in CHECKS:
        assert check.title
        assert len(check.doc) > 60, check.id


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.id}-{sample.severity}")
def test_it_is_found_and_gone_once_repaired(sample: Sample) -> None:
    found = of(pl.doctor(sample.broken()), sample.id)
    assert [(one.severity, one.where) for one in found] == [(sample.severity, sample.where)]
    assert of(pl.doctor(sample.repaired()), sample.id) == []


#: Warnings of shipped scenarios that are meant, and why.
MEANT = {
    "one-flow": {"few-seeds"},  # one run each, to look at; nothing is compared
    "ack-aggregation": {"phase-locked"},  # what is looked at is one clock for all acknowledgements
    "gso-trains": {"few-seeds"},  # hardly anything is drawn
    "priority": {"few-seeds", "few-cuts"},  # what a call waits is looked at, not what downloads get
    "shared-memory": {"few-seeds", "few-cuts", "phase-locked", "warmup-short"},  # one incast, under no chance
    "policer-trains": {"few-seeds"},  # nothing is drawn
    "qlbp-table2": {"pacer-after-bottleneck"},  # the table is about the pacer alone
}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_shipped_scenarios_are_sound_and_what_is_said_keeps_to_the_width(path: Path) -> None:
    diagnosis = pl.doctor(path)
    for width in (80, 140):
        assert max(len(line) for line in as_text(diagnosis, width).splitlines()) <= width
    assert [finding for finding in diagnosis.findings if finding.severity == "error"] == []
    warnings = {finding.id for finding in diagnosis.findings if finding.severity == "warning"}
    assert warnings == MEANT.get(path.stem, set())


def test_a_finding_of_some_settings_says_which() -> None:
    scenario = pl.Scenario(HEALTHY).over(
        {"network.core.buffer": ["1 packet", "40 packets"], "pacing": ["none", "host"]}
    )
    (found,) = of(pl.doctor(scenario), "tiny-buffer")
    assert not found.everywhere
    assert [dict(one) for one in found.settings] == [
        {"network.core.buffer": "1 packet", "pacing": "none"},
        {"network.core.buffer": "1 packet", "pacing": "host"},
    ]
    assert "in network.core.buffer = 1 packet\n" in str(pl.doctor(scenario))


def test_the_worst_setting_tells_the_finding() -> None:
    """A cap that clips is a note, one that holds all back a warning: of both, the warning is told."""
    scenario = pl.Scenario(HEALTHY).over({"traffic.bulk.tcp.max_window": ["10 packets", "5 packets"]}).seeds(5)
    (found,) = of(pl.doctor(scenario), "window-cap")
    assert found.severity == "warning"
    assert found.what.startswith("5 packets")
    assert found.everywhere
