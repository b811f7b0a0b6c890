"""A toy claim: a link that is offered half of its rate is half used."""

from __future__ import annotations

from collections.abc import Mapping

from paceline.papers import criteria
from paceline.papers.claim import Claim, Length, Runs, Verdict
from paceline.scenario import Scenario
from paceline.scenario.templates import path


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A constant rate of 5 Mbit/s over 10."""
    links = [{"name": "core", "rate": "10 Mbit/s", "delay": "1 ms"}]
    traffic = [{"kind": "cbr", "rate": "5 Mbit/s", "packet": "1000 B"}]
    duration = length.choose("10 s", "3 s")
    return {"main": path(links, traffic=traffic, duration=duration, warmup="1 s").seeds(length.seed_count())}


def check(runs: Runs) -> Verdict:
    """Utilisation is a half."""
    ours = criteria.mean(runs["main"], "links.core.utilisation")
    evidence = [criteria.within("utilisation", ours, 0.5)]
    return Verdict(criteria.judge(evidence), {"utilisation": ours.mean}, {"utilisation": 0.5}, "", evidence)


CLAIM = Claim(
    id="edge-toy",
    paper="edge-vs-host",
    where="nowhere",
    kind="number",
    says="Half of the rate is half of the link.",
    printed={"utilisation": 0.5},
    assumptions=(),
    sweeps=sweeps,
    check=check,
)
