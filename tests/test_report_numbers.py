"""The numbers of a report: intervals, winners, and how many digits are shown."""

from __future__ import annotations

import pytest
from paceline._statistics import interval, leaders, paired
from paceline.report.formatting import scale_for, short, unbroken
from paceline.results.quantities import quantity
from paceline.results.tables import format_interval


def test_winner_by_paired_differences() -> None:
    luck = {1: 10.0, 2: -10.0, 3: 3.0}
    ahead = {seed: 101 + value + 0.01 * seed for seed, value in luck.items()}
    behind = {seed: 100 + value for seed, value in luck.items()}
    wide, narrow = interval(list(ahead.values())), paired(ahead, behind)
    assert wide is not None
    assert narrow is not None
    assert wide.half is not None
    assert wide.half > 10
    assert narrow.excludes_zero
    assert leaders({"a": ahead, "b": behind}, 1) == ("a", frozenset())
    assert leaders({"a": ahead, "b": behind}, -1) == ("b", frozenset())


def test_a_tie_is_said_as_a_tie() -> None:
    a, b = {1: 1.0, 2: 3.0, 3: 2.0}, {1: 2.0, 2: 2.5, 3: 1.8}
    assert leaders({"a": a, "b": b}, 1) == (None, frozenset({"a", "b"}))
    assert leaders({"a": a, "b": a}, 1) == (None, frozenset({"a", "b"}))
    assert leaders({"a": {1: 1.0}, "b": {1: 2.0}}, 1) == (None, frozenset())


def test_values_that_are_equal_but_for_rounding_have_no_spread() -> None:
    """Goodputs of three seeds whose flows all got the same, in another order: the mean's last digit is not chance."""
    found = interval([2414105.5999999996, 2414105.6, 2414105.5999999996])
    assert found is not None
    assert found.half == 0
    assert format_interval(found, 1e6) == "2.414"
    assert interval([0.0, 0.0, 1e-300]) != interval([0.0, 0.0, 0.0])


def test_interval_against_a_textbook_value() -> None:
    # 1..5: s = 1.5811, t(4) = 2.7764
    found = interval([1, 2, 3, 4, 5])
    assert found is not None
    assert found.mean == 3
    assert found.half == pytest.approx(2.776445 * 1.5811388 / 5**0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "found"),
    [("5 KB", ("bytes", 5000.0)), ("10 ms", ("s", 0.01)), ("0.3", ("number", 0.3)), ("4 packets", ("packets", 4.0))],
)
def test_axis_quantities(text: str, found: tuple[str, float]) -> None:
    parsed = quantity(text)
    assert parsed is not None
    assert parsed[0] == found[0]
    assert parsed[1] == pytest.approx(found[1])


@pytest.mark.parametrize("text", ["", "edge 10 ms", "5 parsecs", "-", "5 KB 3"])
def test_what_is_no_quantity(text: str) -> None:
    assert quantity(text) is None


def test_numbers_are_shown_as_the_interval_deserves() -> None:
    scale = scale_for("bps", [92_412.0], [312.0])
    assert (scale.unit, scale.number(92_412.0)) == ("kbit/s", "92.4")
    assert scale_for("share", [0.0946], [0.0004]).number(0.0946) == "9.46"
    assert scale_for("bps", [0.0]).number(-0.0) == "0"
    assert scale_for("number", [1.0]).number(None) == "—"
    assert len(short("a" * 50, 20)) == 20


def test_a_width_too_small_to_show_is_not_shown_as_none() -> None:
    narrow, wide = interval([80.0, 80.0001, 80.0]), interval([80.0, 90.0, 100.0])
    assert narrow is not None
    assert wide is not None
    scale = scale_for("number", [80.0, 90.0], [wide.half, wide.half])
    assert "± <" in scale.estimate(narrow)


def test_seeds_that_agree_give_no_interval() -> None:
    assert scale_for("number", [1.0]).estimate(interval([1.0, 1.0])) == "1.000"
    assert format_interval(interval([0.0, 0.0, 0.0])) == "0"


def test_a_number_and_its_unit_stay_on_a_line() -> None:
    said = unbroken("Give the core 5 packets (7.5 KB, 3 ms): 98.8 ± 0.2 % at 10 Gbit/s for 20 flows, 3 more ≥ 98 %")
    kept = {
        "5\xa0packets",
        "(7.5\xa0KB,",
        "3\xa0ms):",
        "98.8\xa0±\xa00.2\xa0%",
        "≥\xa098\xa0%",
        "10\xa0Gbit/s",
        "20",
        "flows,",
        "3",
        "more",
    }
    assert kept <= set(said.split(" "))
