"""QLBP's rule of thumb as eq. (7) has it, and pacers in a row in TCP's path: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import synthetic
from paceline.papers import Length, select
from paceline.papers.qlbp import in_a_row, rule

RULE, ROW = (select([f"qlbp-{name}"])[0] for name in ("rule", "in-a-row"))


def chosen(longest: float, best: float = 1.0) -> synthetic.Numbers:
    """Longest delays over D_max under the rule; variation of one other setting over the rule's."""

    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        label = settings["pacing"]
        tolerance = next((ms for ms in rule.TOLERANCES if f"{ms} ms" in label), None)
        held = 0.0 if label == "none" else longest * (tolerance or rule.MIDDLE) * 1e-3
        other = label.endswith("Mbit/s 10 Mbit/s 50000 B")  # mu_max C
        spread = 2.0 if label == "none" else 1.0 * (best if other else 1.0)
        columns = synthetic.together(
            synthetic.curve("rate_variation", [rule.SCALE_S], [spread * (1 + 1e-3 * seed)], link="paced"),
            synthetic.curve("delay", [0.002, 0.002 + held], [0.5, 1.0]),
        )
        return {"instruments": columns, rule.WAIT: 0.002}

    return one


@pytest.mark.parametrize(
    ("longest", "best", "failed"),
    [(0.95, 1.0, ""), (1.2, 1.0, "longest pacing delay"), (0.95, 0.8, "burstiness")],
)
def test_no_packet_may_wait_longer_and_no_setting_be_smoother(longest: float, best: float, failed: str) -> None:
    verdict = RULE.check(synthetic.runs(RULE, chosen(longest, best)))
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert verdict.verdict == ("partly" if failed else "reproduced")
    assert all(statistic.startswith(failed) for statistic in missed)
    assert bool(missed) == bool(failed)
    if failed == "burstiness":
        assert "20 % less with" in verdict.note


def test_a_full_queue_that_drains_alone_takes_longer_than_the_bound() -> None:
    # C = 2: mu from 1.5 to 0.5 as q goes from 1 to 0; dq/dt = -(0.5 + q), so t = ln 3, and D_max is 1 / 1.5
    assert rule.drained(0.5) == pytest.approx(1.6479, abs=1e-4)
    assert rule.drained(0.5) == pytest.approx(1.0986 * 1.5, abs=1e-4)


def test_settings_by_hand_share_the_bound_of_theorem_1() -> None:
    for setting in rule.OTHERS.values():
        made = rule.by_hand(0.5, *setting)
        bound = float(made["q_max"].split()[0]) * 8 / (float(made["mu_max"].split()[0]) * 1e6)
        assert bound == pytest.approx(rule.MIDDLE * 1e-3, rel=1e-3)


def rows(spread: float, lost: float) -> Mapping[str, synthetic.Numbers]:
    """Variation and loss that each pacer more multiplies by so much."""

    def numbers(name: str) -> synthetic.Numbers:
        head = name.rpartition("-")[2] if name.startswith("why") else name.partition("-")[0]
        count = 0 if name == "none" else int(head)

        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            noise = 1 + 1e-3 * (seed % 3)
            return {
                "instruments": synthetic.curve(
                    "rate_variation", [in_a_row.SCALE_S], [spread**count * noise], link="core"
                ),
                "links.core.loss_ratio": 0.01 * lost**count * noise,
                "links.core.utilisation": 0.5 + 0.1 * count,
                "flows.network_delay_mean_s": 0.06,
            }

        return one

    return {name: numbers(name) for name in ROW.sweeps(Length())}


@pytest.mark.parametrize(
    ("spread", "lost", "failed"),
    [(0.8, 0.8, ""), (1.1, 0.8, "fall of the coefficient of variation"), (0.8, 1.1, "fall of loss")],
)
def test_each_pacer_more_must_lower_variation_and_loss(spread: float, lost: float, failed: str) -> None:
    verdict = ROW.check(synthetic.runs(ROW, rows(spread, lost)))
    missed = [row.statistic for row in verdict.evidence if row.ok is False]
    assert verdict.verdict == ("partly" if failed else "reproduced")
    assert len(missed) == (12 if failed else 0)
    assert all(statistic.startswith(failed) for statistic in missed)


def test_a_row_takes_as_long_as_the_one_link_of_the_paper() -> None:
    links = {link["name"]: link for link in in_a_row.rows().to_dict()["link"]}
    row = [links[in_a_row.name(2, place)] for place in range(3)]
    assert [(link["from"], link["to"]) for link in row] == [("A2", "A2-2"), ("A2-2", "A2-3"), ("A2-3", "C0")]
    assert sum(int(link["delay"].split()[0]) for link in row) == 20
    pacing = in_a_row.over(Length(), 2, 10).to_dict()["pacing"]
    assert len(pacing["at"]) == 2 * in_a_row.ROUTERS


@pytest.mark.parametrize(("claim", "numbers"), [(RULE, chosen(0.9)), (ROW, rows(0.8, 0.8))], ids=["rule", "row"])
def test_pictures_are_the_same_bytes_each_time(claim: Any, numbers: Any) -> None:
    runs = synthetic.runs(claim, numbers)
    assert claim.draw(runs) == claim.draw(runs)
    assert all(one.svg.startswith("<svg") and one.caption for one in claim.draw(runs))
