"""Claims on buffer sizing for the TCPs of today: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import synthetic
from paceline.papers import Length, Runs, select
from paceline.papers.spang import one_flow
from paceline.papers.spang.network import BUFFER, HOSTS, VARIANT, rule

ONE, MANY, EXCEPTIONS = (select([f"spang-{name}"])[0] for name in ("one-flow", "sqrt-n", "exceptions"))
NEEDS = {"rfc6675": 1.0, "cubic": 0.4, "bbr": 0.25, "bbr3": 0.2}


def single(needs: Mapping[str, float], drained: float = 0.0) -> synthetic.Numbers:
    """A full link from the needed buffer on; a little less below it. BBR drains the pipe every 10 s for so long."""

    def numbers(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        need = needs[settings[VARIANT]]
        times = np.arange(0, 100.05, 0.1)
        away = np.mod(times, 10) >= (drained if settings[VARIANT] == "bbr" else 0.0)
        used = 1.0 - 0.05 * max(0.0, need - float(settings[BUFFER].split()[0]))
        carried = np.cumsum(np.where(away, used, 0.2) * 50e6 / 8 * 0.1) + seed
        columns = synthetic.together(
            synthetic.curve("carried", times, carried, link="core"),
            synthetic.curve("cwnd", times, np.where(away, 100.0, 4.0), flow="bulk.0"),
        )
        return {"instruments": columns, "window_s": (20.0, 100.0)}

    return numbers


def test_needs_of_one_flow_are_those_printed() -> None:
    verdict = ONE.check(synthetic.runs(ONE, single(NEEDS, drained=0.4)))
    assert verdict.verdict == "reproduced"
    assert verdict.ours["CUBIC, BDP"] == pytest.approx(0.38, abs=0.02)  # 99.9 % forgives 0.02
    assert verdict.ours["BBR v1, BDP"] == pytest.approx(0.23, abs=0.02)


@pytest.mark.parametrize("change", [{"cubic": 0.6}, {"bbr": 0.1}, {"rfc6675": 0.7}])
def test_another_need_is_not(change: Mapping[str, float]) -> None:
    assert ONE.check(synthetic.runs(ONE, single({**NEEDS, **change}))).verdict == "partly"


def test_the_smallest_buffer_is_the_first_that_is_enough() -> None:
    assert one_flow.smallest([(0.1, 0.9), (0.2, 1.0), (0.3, 0.9), (0.5, 1.0)]) == pytest.approx(0.1 + 0.1 * 0.099 / 0.1)
    assert one_flow.smallest([(0.1, 1.0), (2.0, 1.0)]) == 0.1
    assert one_flow.smallest([(0.1, 0.5), (2.0, 1.0)]) == pytest.approx(0.1 + 1.9 * 0.499 / 0.5)


def filled(at_rule: Mapping[str, float]) -> synthetic.Numbers:
    """So much of the link with BDP / √n, all but BBR's own gap with a BDP."""

    def numbers(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        variant = settings.get(VARIANT, "rfc6675")
        most = 0.97 if variant == "bbr" else 1.0
        part = 1.0 if settings[BUFFER] == "1 BDP" else at_rule.get(variant, 1.0)
        return {"links.core.utilisation": most * part - 1e-4 * seed}

    return numbers


def test_the_rule_is_for_what_a_bdp_gives() -> None:
    assert MANY.check(synthetic.runs(MANY, filled({}))).verdict == "reproduced"
    assert MANY.check(synthetic.runs(MANY, filled({"cubic": 0.97}))).verdict == "partly"


def excepted(unfair: float, marked: float) -> Runs:
    def used(value: float) -> synthetic.Numbers:
        return lambda settings, seed: {"links.core.utilisation": value + 1e-4 * seed * value}

    kinds = {"fair": 0.99, "unfair": unfair, "marked": marked}
    names = EXCEPTIONS.sweeps(Length())
    return synthetic.runs(EXCEPTIONS, {name: used(kinds[name.split("-")[0]]) for name in names})


def test_exceptions_are_shortfalls_beside_fair_flows_and_drops() -> None:
    assert EXCEPTIONS.check(excepted(0.9, 0.9)).verdict == "reproduced"
    assert EXCEPTIONS.check(excepted(0.9, 1.0)).verdict == "partly"
    assert EXCEPTIONS.check(excepted(1.0, 1.0)).verdict == "not reproduced"


def test_as_many_flows_are_unfair_as_are_fair() -> None:
    for name, scenario in EXCEPTIONS.sweeps(Length()).items():
        if name.startswith("unfair-"):
            document = scenario.to_dict()
            hosts = {"large": 1, "small": HOSTS - 1, "beside": 1}
            flows = sum(hosts[one["name"]] * one["count"] for one in document["traffic"])
            assert flows == int(name.split("-")[1])


def test_pictures_are_drawn() -> None:
    assert ONE.draw(synthetic.runs(ONE, single(NEEDS)))[0].svg.startswith("<svg")
    assert MANY.draw(synthetic.runs(MANY, filled({})))[0].svg.startswith("<svg")
    assert EXCEPTIONS.draw(excepted(0.9, 0.9))[0].svg.startswith("<svg")
    assert rule(100) == 417
