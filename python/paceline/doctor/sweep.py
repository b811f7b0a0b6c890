"""A scenario with all that it sweeps: a case for each setting, under its first seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from paceline import _core
from paceline.doctor.case import Case
from paceline.errors import InputError
from paceline.scenario import Scenario
from paceline.scenario.resolved_network import Network
from paceline.scenario.run_estimate import Estimate, remembered_estimate_of

#: Kinds of traffic that draw nothing while they send, sizes and pauses of dialogues aside; a file has no seed.
_WITHOUT_CHANCE = ("bulk", "cbr", "pcap", "cvec", "closed-loop", "rpc")
#: Flows that are looked at, over all settings, and what a setting costs beside them: some four seconds.
MOST_FLOWS = 15_000
_SETTING = 100


@dataclass
class Sweep:
    """What a scenario asks for.

    Attributes:
        scenario: with its sweep.
        cases: one for each combination of what is swept, in the order of the runs.
        seeds: the seeds of each.
        seed: that the cases are drawn for.
        asked_for: how many settings there are; `cases` has fewer where `left_out` says why.
        left_out: what was too much to look at, in a line.
    """

    scenario: Scenario
    cases: list[Case]
    seeds: Sequence[int]
    seed: int
    asked_for: int
    left_out: str | None = None

    @classmethod
    def of(cls, scenario: Scenario, seed: int | None = None) -> Sweep:
        """Resolves every setting once, as far as `MOST_FLOWS` goes. Raises `InputError` where one is wrong."""
        settings, _ = scenario.counts()
        seeds = scenario.seed_numbers()
        drawn = seeds[0] if seed is None else seed
        cases: dict[str, Case] = {}
        left = MOST_FLOWS
        left_out = None
        for number, point in enumerate(scenario.each_setting()):
            if point.json in cases:
                continue
            try:
                estimate = remembered_estimate_of(point.json)
                left -= estimate.flows + _SETTING
                if left < 0:
                    left_out = _left_out(number, settings, estimate)
                    break
                network = Network.resolve(point.json, drawn)
            except _core.InputError as error:
                scenario.check_settings()  # tells it with the lines of the file
                wrong = [InputError(line, scenario.source) for line in str(error).splitlines()]
                raise InputError.together(wrong) from None
            cases[point.json] = Case(point.settings, json.loads(point.json), network)
        return cls(scenario, list(cases.values()), seeds, drawn, settings, left_out)

    @property
    def draws(self) -> bool:
        """Whether anything differs from seed to seed, under any setting."""
        return len(self.without_chance) < len(self.cases)

    @cached_property
    def without_chance(self) -> list[Case]:
        """The settings that run the same under every seed."""
        return [case for case in self.cases if not _draws(case, self.seed)]


def _left_out(number: int, settings: int, estimate: Estimate) -> str:
    """Why only `number` settings are looked at."""
    looks = f"the doctor looks at {MOST_FLOWS:,}"
    if number:
        return f"{settings - number} of {settings} settings, all but the first: {looks} flows over all settings"
    return f"what {estimate.flows:,} flows do: {looks}, so name fewer hosts; a run takes {estimate.in_words()}"


def _draws(case: Case, seed: int) -> bool:
    document: dict[str, Any] = dict(case.document)
    network = case.network
    if any(table.get("kind") not in _WITHOUT_CHANCE for table in document["traffic"]):
        return True
    if any(one.size.random or one.pause.random for flow in network.flows if (one := flow.dialogue)):
        return True
    forced = [document.get(key, []) for key in ("drop", "mark")]
    rules = [rule for rules in forced for rule in ([rules] if isinstance(rules, dict) else rules)]
    if any({"probability", "bursts"} & rule.keys() for rule in rules):
        return True
    if any(flow.tcp and (flow.tcp.draws_phase or (flow.tcp.rule and flow.tcp.jitter)) for flow in network.flows):
        return True
    if any(link.jitter or link.varying == "markov" for link in network.links):
        return True
    if any(link.buffer.limited and link.buffer.ties == "random" for link in network.links):
        return True
    try:
        other = Network.resolve(json.dumps(document), seed + 1)
    except _core.InputError:  # as a buffer in BDP that is too small as that seed draws
        return True
    return other.links != network.links or other.flows != network.flows or other.pacings != network.pacings
