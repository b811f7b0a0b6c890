"""QLBP Fig. 18, 19 and Table III: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import synthetic
from paceline.papers import Length, Runs, select
from paceline.papers.qlbp import dumbbell, fig18, table3

FIG18, FIG19, TABLE3 = (select([f"qlbp-{name}"])[0] for name in ("fig18", "fig19", "table3"))
#: Utilisation as the paper has it: Q_max 10 doubles the unpaced at 5 packets, 80 leads beyond 30, 160 everywhere.
UTILISATION = {"none": 0.25, "host": 0.9, "qlbp-10": 0.48, "qlbp-40": 0.7, "qlbp-80": 0.95, "qlbp-160": 0.98}


def fig18_runs(length: Length | None = None, **change: float) -> Runs:
    utilisation = UTILISATION | {name.replace("_", "-"): value for name, value in change.items()}

    def numbers(name: str) -> synthetic.Numbers:
        method = name.removeprefix(fig18.WHY_PREFIX)
        return lambda _, seed: {dumbbell_path: utilisation[method] + 1e-4 * seed}

    dumbbell_path = dumbbell.UTILISATION
    return synthetic.runs(FIG18, {name: numbers(name) for name in FIG18.sweeps(Length())}, length)


def table_numbers(name: str, scale: float = 1.0) -> synthetic.Numbers:
    """A row of the table, its delays multiplied by `scale`; the flow's least and greatest around the mean."""
    row = table3.METHODS.index(name.removeprefix(table3.WHY).removeprefix(table3.WHY_BUFFER))
    mean, least, greatest = (
        scale * table3.PRINTED[key][row] / 1e3 for key in ("mean_delay_ms", "min_delay_ms", "max_delay_ms")
    )

    def numbers(_: Mapping[str, str], seed: int) -> dict[str, Any]:
        return {
            dumbbell.UTILISATION: table3.PRINTED["utilisation"][row] + 1e-4 * seed,
            table3.DELAY: mean,
            table3.NETWORK_DELAY: mean - 0.003,
            "per_flow": {"delay_mean_s": np.array([least, mean, greatest, np.nan])},
            "instruments": synthetic.together(
                *(
                    synthetic.curve("arrival_delay", [delay], [1.0], flow=f"bulk.{number}")
                    for number, delay in enumerate((least, 3 * mean - least - greatest, greatest))
                )
            ),
        }

    return numbers


def fig19_runs(tails: Mapping[str, float]) -> Runs:
    """`tails`: the share of packets that take 0.5 s, by method; the others take 50 ms."""

    def numbers(name: str) -> synthetic.Numbers:
        return lambda _, seed: {
            "flows.delay_p99_s": tails[name] + 1e-5 * seed,
            "instruments": synthetic.curve("delay", [0.05, 0.5], [1 - tails[name] - 1e-5 * seed, 1.0]),
        }

    return synthetic.runs(FIG19, {name: numbers(name) for name in FIG19.sweeps(Length())})


def test_the_orders_printed_are_reproduced() -> None:
    assert FIG18.check(fig18_runs()).verdict == "reproduced"


@pytest.mark.parametrize(
    "change", [{"qlbp_10": 0.44}, {"qlbp_80": 0.89}, {"qlbp_160": 0.9}, {"host": 0.97}], ids=lambda change: str(change)
)
def test_each_order_is_needed(change: Mapping[str, float]) -> None:
    verdict = FIG18.check(fig18_runs(**change))
    assert verdict.verdict == "partly"
    assert "round trip" in verdict.note


def test_none_of_the_orders_leaves_the_number_of_the_formula_alone() -> None:
    evidence = FIG18.check(fig18_runs(qlbp_10=0.3, host=0.99)).evidence
    assert [row.statistic for row in evidence if row.ok] == ["a window each round trip, Mbit/s"]


def test_orders_have_five_points_each_beside_the_experiment() -> None:
    evidence = FIG18.check(fig18_runs()).evidence
    counted = [row.statistic for row in evidence if row.ok is not None]
    for name in ("Q_max 80 −", "Q_max 160 −"):
        assert sum(name in words for words in counted) >= 5
        assert any(name in row.statistic and "nearer" in row.statistic for row in evidence if row.ok is None)


def test_the_network_is_that_of_the_paper() -> None:
    assert len(dumbbell.over_buffers(dumbbell.method("qlbp-160"), (20,), Length()).check()) == 5
    senders = dumbbell.network().to_dict()["traffic"][0]
    assert (len(senders["from"]), len(senders["to"])) == (40, 10)


def test_the_table_printed_is_reproduced() -> None:
    runs = synthetic.runs(TABLE3, {name: table_numbers(name) for name in TABLE3.sweeps(Length())})
    verdict = TABLE3.check(runs)
    assert verdict.verdict == "reproduced"
    assert verdict.ours["mean_delay_ms"] == pytest.approx([56.9, 51.9, 60.8])


def test_delays_off_by_more_than_5_percent_are_not() -> None:
    runs = synthetic.runs(TABLE3, {name: table_numbers(name, 1.2) for name in TABLE3.sweeps(Length())})
    verdict = TABLE3.check(runs)
    assert verdict.verdict == "partly"
    assert sum(row.ok is False for row in verdict.evidence) == 9
    assert "Little" in verdict.note


def test_a_tail_that_shrinks_is_reproduced() -> None:
    assert FIG19.check(fig19_runs({"none": 0.05, "qlbp-40": 0.02, "qlbp-160": 0.001})).verdict == "reproduced"
    assert FIG19.check(fig19_runs({"none": 0.05, "qlbp-40": 0.06, "qlbp-160": 0.001})).verdict == "partly"
    assert FIG19.check(fig19_runs({"none": 0.01, "qlbp-40": 0.02, "qlbp-160": 0.03})).verdict == "not reproduced"


def test_pictures_are_drawn() -> None:
    table = synthetic.runs(TABLE3, {name: table_numbers(name) for name in TABLE3.sweeps(Length())})
    tails = fig19_runs({"none": 0.05, "qlbp-40": 0.02, "qlbp-160": 0.001})
    for claim, runs in ((FIG18, fig18_runs()), (TABLE3, table), (FIG19, tails)):
        assert claim.draw(runs)[0].svg.startswith("<svg")
