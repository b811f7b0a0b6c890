"""Findings: hypothesis and statistic stand in the files, verdicts follow the runs, the page says what the files say."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import synthetic
from paceline.cli import findings_page
from paceline.papers import Claim, Length, Runs, select
from paceline.papers.edge_vs_host.curves import BUFFER
from paceline.papers.findings import adopters, closed_loop, edges, near_100, port_cap, rule_of_thumb
from paceline.theory import periodic_streams

NAMES = ("edges", "early-adopters", "buffer-near-100", "closed-loop", "port-cap", "rule-of-thumb")
EDGES, ADOPTERS, NEAR, CLOSED, CAP, RULE = (select([f"finding-{name}"])[0] for name in NAMES)
PAGE = Path(__file__).parents[2] / "docs/findings.md"


def spread(power: float, gain: Mapping[int, float]) -> Mapping[str, synthetic.Numbers]:
    """Edge pacing that reaches the load at 6 KB · (edges / 10)^power, and gains so much at 5 KB."""

    def numbers(name: str) -> synthetic.Numbers:
        count = int(name.rpartition("-")[2])

        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            size = int(settings[BUFFER].split()[0])
            paced = settings["pacing"] != "none"
            need = 6 * (count / 10) ** power * (1 + 1e-3 * (seed % 3))
            used = edges.TARGET + 0.05 * math.log(size / need)
            ahead = gain.get(count, 0.0) * paced if size == edges.SMALL else 0.0
            return {
                "links.core.utilisation": used,
                "links.core.loss_ratio": 0.08,
                "links.core.throughput_bps": (88 + ahead + 0.01 * seed + 0.001 * (seed % 2) * paced) * 1e6,
                "flows.goodput_mean_bps": 85e3,
            }

        return one

    return {name: numbers(name) for name in EDGES.sweeps(Length())}


FALLING = {5: 12.0, 10: 10.0, 20: 7.0, 50: 4.0, 100: 2.0}


@pytest.mark.parametrize(
    ("power", "gain", "failed"),
    [
        (0.5, FALLING, []),
        (0.65, FALLING, ["exponent"]),
        (0.35, FALLING, ["exponent"]),
        (0.5, FALLING | {50: 8.0}, ["gain at 5 KB, Mbit/s: 20 − 50 edges"]),
    ],
)
def test_the_gain_must_fall_at_each_step_and_the_buffer_grow_as_a_root(
    power: float, gain: Mapping[int, float], failed: list[str]
) -> None:
    verdict = EDGES.check(synthetic.runs(EDGES, spread(power, gain)))
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert len(missed) == len(failed)
    assert all(statistic.startswith(name) for statistic, name in zip(missed, failed, strict=True))
    assert verdict.ours["exponent"] == pytest.approx(power, abs=0.01)
    assert "How far" in verdict.note


def test_a_load_that_is_never_reached_has_no_exponent() -> None:
    verdict = EDGES.check(synthetic.runs(EDGES, spread(2.0, FALLING)))
    assert verdict.ours["exponent"] is None
    assert verdict.verdict == "partly"


def test_the_needed_buffer_lies_between_two_that_were_run() -> None:
    runs = synthetic.runs(EDGES, spread(0.5, FALLING))
    assert edges.needs(runs["edges-10"])[3] == pytest.approx(6.0, rel=0.02)


def test_the_law_of_evenly_spaced_streams_stands_beside_what_was_needed() -> None:
    """A core that is used as those streams would use it is told to be so, and their exponent is its own."""

    even = cache(periodic_streams.utilisation)  # alike under each pacing and seed

    def numbers(name: str) -> synthetic.Numbers:
        count = int(name.rpartition("-")[2])

        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            size = int(settings[BUFFER].split()[0])
            used = even(count, 1.05, (1000 * size - 1) // edges.PACKET)
            lost = 1 - used / 1.05
            return {
                "links.core.utilisation": used,
                "links.core.loss_ratio": lost,
                "links.core.throughput_bps": used * 1e8 + seed,
                "flows.goodput_mean_bps": 85e3,
            }

        return one

    verdict = EDGES.check(synthetic.runs(EDGES, {name: numbers(name) for name in EDGES.sweeps(Length())}))
    assert "within 0 % of it at each number" in verdict.note
    powers = {
        row.criterion: row.value for row in verdict.evidence if row.statistic == "exponent of evenly spaced streams"
    }
    assert powers["ΣD/D/1, as much offered"] == pytest.approx(verdict.ours["exponent"], abs=1e-3)
    # offered what it carries, the link needs more where streams are many: nearer to a square root
    assert 0.5 > powers["ΣD/D/1, offered the link's rate"] > powers["ΣD/D/1, as much offered"]


def groups(sign: Mapping[tuple[str, str], float]) -> Mapping[str, synthetic.Numbers]:
    def numbers(name: str) -> synthetic.Numbers:
        tcp, _, access = name.rpartition("-")
        gap = sign.get((tcp, access), 0.0)
        return lambda settings, seed: {
            "groups.unpaced.goodput_mean_bps": 80e3 + 10 * seed,
            "groups.paced.goodput_mean_bps": (80e3 + 10 * seed) * (1 + gap + 1e-4 * seed),
        }

    return {name: numbers(name) for name in ADOPTERS.sweeps(Length())}


EXPECTED = {(tcp, access): 0.05 * sign for tcp, one in adopters.TCPS.items() for access, sign in one.expected.items()}


def test_early_adopters_need_the_expected_sign_of_each_tcp_and_access() -> None:
    assert ADOPTERS.check(synthetic.runs(ADOPTERS, groups(EXPECTED))).verdict == "reproduced"
    other = ADOPTERS.check(synthetic.runs(ADOPTERS, groups(EXPECTED | {("cubic", "fast"): 0.05})))
    assert other.verdict == "partly"
    assert sum(row.ok is False for row in other.evidence) == len(adopters.SIZES)
    assert "Not as expected: CUBIC, fast access" in other.note
    assert "slow access, 5% paced: " in other.note


def filled(factors: Mapping[str, float]) -> synthetic.Numbers:
    """98 % at a buffer of 1500 / √n packets unpaced, and so many times that by pacer."""

    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        flows = near_100.HOSTS * int(settings[near_100.COUNT])
        size = int(settings[near_100.BUFFER].split()[0])
        need = (600 / math.sqrt(flows) + 0.1 * seed) * factors.get(settings["pacing"], 1.0)
        return {"links.core.utilisation": 0.98 + 0.02 * math.log(size / need)}

    return one


@pytest.mark.parametrize(
    ("factors", "outcome"),
    [
        ({near_100.EXACT: 1.8, near_100.LINUX: 0.98}, "reproduced"),
        ({near_100.EXACT: 1.8, near_100.LINUX: 1.4}, "partly"),
        ({near_100.EXACT: 0.8, near_100.LINUX: 1.4}, "not reproduced"),
    ],
)
def test_the_pacer_decides_where_one_needs_more_and_the_other_does_not(
    factors: Mapping[str, float], outcome: str
) -> None:
    assert NEAR.check(synthetic.runs(NEAR, filled(factors))).verdict == outcome


def modelled(factor: float) -> Mapping[str, synthetic.Numbers]:
    """Links that are used to 60 % unpaced, and paced so many times as much as the closed-loop model says."""

    def numbers(name: str) -> synthetic.Numbers:
        network = closed_loop.drawn(int(name.partition("-")[2]))
        told = closed_loop.model.predicted(network.link(), 0.6, network.delay / 1e3, network.edges).utilisation
        return lambda settings, seed: {"links.core.utilisation": 0.6 if settings["pacing"] == "none" else factor * told}

    return {name: numbers(name) for name in CLOSED.sweeps(SHORT)}


SHORT = Length(quick=True)


def test_both_models_are_judged_by_the_same_runs() -> None:
    right = CLOSED.check(synthetic.runs(CLOSED, modelled(1.0), SHORT))
    assert right.verdict == "reproduced"
    assert right.ours["median, closed loop"] == pytest.approx(0, abs=1e-3)
    assert right.ours["median, open loop, eq. (4)"] > 0.05
    wrong = CLOSED.check(synthetic.runs(CLOSED, modelled(0.8), SHORT))
    assert wrong.ours["median, closed loop"] == pytest.approx(0.25, abs=0.01)
    assert wrong.verdict != "reproduced"


def test_other_seeds_are_other_networks() -> None:
    fresh = set(CLOSED.sweeps(Length(quick=True, first_seed=1001)))
    assert len(fresh) == closed_loop.QUICK
    assert fresh & set(CLOSED.sweeps(Length())) == set()


def ports(loss: float) -> synthetic.Numbers:
    """Loss, utilisation and the time of a call by pacing; capped ports lose so much."""
    by_pacing = {port_cap.NONE: (0.004, 0.6, 0.3), port_cap.PACED: (0.001, 0.8, 0.2), port_cap.PORT: (0.001, 0.8, 0.2)}

    def numbers(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        lost, used, call = by_pacing.get(settings["pacing"], (loss, 0.97, 0.1))
        noise = 1e-4 * (seed % 3)
        return {port_cap.LOSS: lost, port_cap.UTILISATION: used + noise, port_cap.FCT: call + noise}

    return numbers


def test_a_capped_port_must_lose_nothing_and_be_ahead_of_both() -> None:
    assert CAP.check(synthetic.runs(CAP, ports(0.0))).verdict == "reproduced"
    lossy = CAP.check(synthetic.runs(CAP, ports(0.001)))
    failed = [row.statistic for row in lossy.evidence if row.ok is False]
    assert failed == [f"loss, capped port, {flows} flows" for flows in port_cap.FULL]


def methods(used: Mapping[str, float], delays: Mapping[str, float]) -> Mapping[str, synthetic.Numbers]:
    """Utilisation and delay, s, by method; others use 0.5 and add 20 ms to the 60 of none."""

    def numbers(name: str) -> synthetic.Numbers:
        delay = 0.06 if name == rule_of_thumb.NONE else delays.get(name, 0.08)
        return lambda settings, seed: {
            rule_of_thumb.UTILISATION: used.get(name, 0.5) + 1e-4 * seed,
            rule_of_thumb.DELAY: delay + 1e-6 * seed,
        }

    return {name: numbers(name) for name in RULE.sweeps(Length())}


@pytest.mark.parametrize(
    ("used", "delay", "failed"),
    [(0.9, 0.065, ""), (0.9, 0.075, "delay added"), (0.88, 0.065, "utilisation")],
)
def test_the_rule_must_use_as_much_and_add_half(used: float, delay: float, failed: str) -> None:
    ours, best = rule_of_thumb.OURS, "edge 20 ms"
    verdict = RULE.check(synthetic.runs(RULE, methods({ours: used, best: 0.9}, {ours: delay})))
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert all(statistic.startswith(failed) for statistic in missed)
    assert len(missed) == (9 if failed else 0)
    assert best in verdict.note


def test_a_rule_that_adds_delay_where_the_best_takes_some_away_does_not_add_half() -> None:
    ours, best = rule_of_thumb.OURS, "hosts"
    verdict = RULE.check(synthetic.runs(RULE, methods({ours: 0.9, best: 0.9}, {ours: 0.0608, best: 0.0599})))
    missed = [row for row in verdict.evidence if row.ok is False]
    assert [row.statistic.partition(",")[0] for row in missed] == ["delay added"] * 9
    assert missed[0].value == pytest.approx(0.85)  # 0.8 ms less half of -0.1


def made_up(claim: Claim) -> Runs:
    if claim is CAP:
        return synthetic.runs(claim, ports(0.0))
    if claim is RULE:
        return synthetic.runs(claim, methods({rule_of_thumb.OURS: 0.9}, {}))
    if claim is CLOSED:
        return synthetic.runs(claim, modelled(1.05), SHORT)
    numbers = {EDGES.id: spread(0.5, FALLING), ADOPTERS.id: groups(EXPECTED), NEAR.id: filled({near_100.EXACT: 1.8})}
    return synthetic.runs(claim, numbers[claim.id])


@pytest.mark.parametrize("claim", [EDGES, ADOPTERS, NEAR, CLOSED, CAP, RULE], ids=lambda claim: claim.id)
def test_pictures_are_the_same_bytes_each_time(claim: Claim) -> None:
    first, second = claim.draw(made_up(claim)), claim.draw(made_up(claim))
    assert first == second
    assert first[0].svg.startswith("<svg")


@pytest.mark.parametrize("claim", findings_page.findings(), ids=lambda claim: claim.id)
def test_every_finding_asks_supposes_and_says_what_it_measures(claim: Claim) -> None:
    assert claim.question.endswith("?")
    assert claim.assumptions[0].open.startswith("What had been seen")
    assert sum(one.open == "The statistic." for one in claim.assumptions) == 1
    for length in (Length(), Length(quick=True)):
        for scenario in claim.sweeps(length).values():
            assert scenario.check()


def test_the_page_has_every_question_hypothesis_and_statistic_as_the_files_have_them() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for claim in findings_page.findings():
        statistic = next(one for one in claim.assumptions if one.open == "The statistic.")
        assert f"## {claim.question}\n\n*Hypothesis*: {claim.says}\n\n*Statistic*: {statistic.chosen}" in text


def test_a_finding_that_was_not_run_says_so() -> None:
    told = findings_page.part(EDGES, None, {}, None)
    assert told.endswith(f"Not run yet: `paceline reproduce {EDGES.id}`.")


def test_every_set_of_fresh_seeds_is_told() -> None:
    good, bad = (
        types.SimpleNamespace(verdict=EDGES.check(synthetic.runs(EDGES, spread(power, FALLING))), pictures=[])
        for power in (0.5, 2.0)
    )
    told = findings_page.part(EDGES, good, {7001: bad, 1001: good}, None)
    assert "**came out** (6 of 6 criteria). Under seeds from 1001 on it came out (6 of 6 criteria), from" in told
    assert "from 7001 on it came out in part (" in told
    assert f"`paceline reproduce {EDGES.id} --first-seed 1001`" in told
    assert "Under seeds from 1001 on it is not run yet: " in findings_page.part(EDGES, good, {}, None)


def test_a_page_keeps_what_no_directory_has(tmp_path: Path) -> None:
    page = tmp_path / "findings.md"
    page.write_text(PAGE.read_text(encoding="utf-8").replace("Reno at 5 KB with slow", "Reno at 5 KB with another"))
    before = page.read_text()
    findings_page.write(tmp_path / "none", page)
    assert page.read_text() == before
    assert "Reno at 5 KB with another" in before
    page.write_text(before.replace(f"## {ADOPTERS.question}", "## Another question?"))
    findings_page.write(tmp_path / "none", page)
    assert f"Not run yet: `paceline reproduce {ADOPTERS.id}`." in page.read_text()


def test_answers_say_yes_or_no_by_their_own_criteria() -> None:
    ours, best = rule_of_thumb.OURS, "edge 20 ms"
    good = RULE.check(synthetic.runs(RULE, methods({ours: 0.9, best: 0.9}, {ours: 0.065})))
    assert good.note.startswith("Yes: of 9 settings the rule uses as much of the link as the best other method")
    dear = RULE.check(synthetic.runs(RULE, methods({ours: 0.9, best: 0.9}, {ours: 0.075})))
    assert dear.note.startswith("No: of 9 settings")
    assert "in 9, adds less than half of its delay, interval included, in 0, and does both in none" in dear.note
    more = NEAR.check(synthetic.runs(NEAR, filled({near_100.EXACT: 1.8, near_100.LINUX: 0.98})))
    assert more.note.startswith("Yes: with 50, 100, 200, 400 flows they need more if they pace by exactly")
    assert "and with no number of flows by Linux's rule" in more.note
    less = NEAR.check(synthetic.runs(NEAR, filled({near_100.EXACT: 0.8, near_100.LINUX: 0.98})))
    assert less.note.startswith("No: with no number of flows they need more")
