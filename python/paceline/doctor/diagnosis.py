"""Runs the checks over every setting, and merges what they find."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paceline.doctor.checks import CHECKS
from paceline.doctor.finding import SEVERITIES, Finding, Problem, Severity
from paceline.doctor.setting_summary import summary_of
from paceline.doctor.sweep import Sweep


@dataclass(frozen=True)
class Diagnosis:
    """What a scenario does, and what is odd about it.

    Attributes:
        title: of the scenario.
        seed: that ranges are drawn for here.
        seeds: how many each setting runs under.
        settings: the numbers of each setting: see ``paceline doctor --json``.
        findings: the worst first; of one severity, in the order of docs/doctor.md.
        asked_for: how many settings there are; `settings` has fewer where `left_out` says why.
        left_out: what was too much to look at, in a line; ``None`` where nothing was.
    """

    title: str
    seed: int
    seeds: int
    settings: list[dict[str, Any]]
    findings: list[Finding]
    asked_for: int
    left_out: str | None = None

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding; ``None`` where there is none."""
        return self.findings[0].severity if self.findings else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "title": self.title,
            "seed": self.seed,
            "seeds": self.seeds,
            "findings": [finding.to_dict() for finding in self.findings],
            "settings": self.settings,
            "left_out": self.left_out,
        }

    def to_json(self) -> str:
        """One object; a quantity that does not exist is null."""
        return json.dumps(self.to_dict(), allow_nan=False, indent=1) + "\n"

    def __str__(self) -> str:
        from paceline.doctor.text_report import as_text

        return as_text(self)


def diagnose(sweep: Sweep) -> Diagnosis:
    """Every check on every setting."""
    return Diagnosis(
        title=sweep.scenario.title,
        seed=sweep.seed,
        seeds=len(sweep.seeds),
        settings=[summary_of(case) for case in sweep.cases],
        findings=_findings(sweep) if sweep.cases else [],
        asked_for=sweep.asked_for,
        left_out=sweep.left_out,
    )


def _findings(sweep: Sweep) -> list[Finding]:
    found: list[Finding] = []
    for check in CHECKS:
        places: dict[str, list[tuple[Problem, Severity, Mapping[str, str]]]] = {}
        if check.of_case:
            for case in sweep.cases:
                for problem in check.of_case(case):
                    severity = problem.severity or check.severities[0]
                    places.setdefault(problem.where, []).append((problem, severity, case.settings))
        if check.of_sweep:
            for problem in check.of_sweep(sweep):
                places.setdefault(problem.where, []).append((problem, problem.severity or check.severities[0], {}))
        found += [_merged(check.id, cases, len(sweep.cases)) for cases in places.values()]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def _merged(name: str, cases: list[tuple[Problem, Severity, Mapping[str, str]]], settings: int) -> Finding:
    """One finding at one place: told as the first of the settings that have it worst."""
    problem, severity, _ = min(cases, key=lambda case: SEVERITIES.index(case[1]))
    where = list({tuple(sorted(one.items())): one for _, _, one in cases if one}.values())
    return Finding(
        id=name,
        severity=severity,
        where=problem.where,
        what=problem.what,
        why=problem.why,
        instead=problem.instead,
        settings=tuple(where),
        everywhere=not where or len(where) == settings,
    )
