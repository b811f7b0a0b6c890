"""A study in both worlds leads with their agreement; simulator and kernel do not compete."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from paceline.report import render
from paceline.report.kernel_agreement import agreement, picture, sentences
from paceline.report.study import Study, study
from paceline.report.study_sources import FromMemory


def worlds(
    kernel: Callable[[int], float] = lambda seed: 1.0,
    *,
    over: tuple[str, ...] = ("5 KB", "20 KB"),
    loss: float = 0.02,
    valid: bool = True,
) -> Study:
    """Buffers in both worlds under three seeds; the kernel's numbers are the simulator's times `kernel` of the seed."""
    rows: list[dict[str, Any]] = []
    for engine in ("simulation", "kernel"):
        for buffer in over:
            for seed in (1, 2, 3):
                factor = kernel(seed) if engine == "kernel" else 1.0
                swept = {"settings.engine": engine} | (
                    {"settings.network.core.buffer": buffer} if len(over) > 1 else {}
                )
                numbers = {
                    "flows.goodput_mean_bps": 1e6 * (1 + 0.1 * seed) * factor,
                    "links.core.throughput_bps": 1e7 * (1 + 0.01 * seed) * factor,
                    "links.core.loss_ratio": loss * (0.0 if engine == "kernel" and not loss else factor),
                    "flows.delay_mean_s": 0.05,
                }
                rows.append(swept | {"seed": seed, "engine.kind": engine, "engine.valid": valid} | numbers)
    return study(rows, "", {}, FromMemory({}))


def test_relative_differences_come_first() -> None:
    """The simulator's over the kernel's, less one, seed by seed: 1 / 0.8 - 1 = 25 %, without spread between seeds."""
    found = worlds(lambda seed: 0.8)
    compared = agreement(found)
    assert [one.metric.key for one in compared] == ["goodput", "throughput", "loss", "delay_mean"]
    for one in compared[:3]:
        assert [pair.difference.mean for pair in one.pairs if pair.difference] == pytest.approx([0.25, 0.25])
    page = render(found)
    assert page.index("Do the two worlds agree?") < page.index("What was asked")
    answer = re.search(r'<p class="answer">(.*?)</p>', page)
    assert answer
    said = answer[1].replace("\xa0", " ")
    assert said.startswith("In goodput per flow the simulator has at most 25.0")
    assert "more than the kernel (core buffer 5 KB)" in said
    row = re.search(
        r"<tr><th scope=\"row\">core buffer 20 KB</th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td></tr>", page
    )
    assert row
    difference, kernel, simulator = row.groups()
    assert difference.startswith("+25.0")
    assert kernel.startswith("0.96")
    assert simulator.startswith("1.2")
    assert not found.contest
    assert "Who wins" not in page
    assert 'class="best"' not in page


def test_what_seeds_do_not_tell_apart_is_said_so() -> None:
    found = worlds(lambda seed: (0.9, 1.0, 1.1)[seed - 1], over=("5 KB",))
    said = sentences(agreement(found))
    assert said[0].startswith("In goodput per flow the seeds do not tell simulator and kernel apart: +0.7")
    assert "Quantity" in render(found)


def test_no_difference_from_nothing() -> None:
    """A loss of zero has no relative difference, and runs that are not valid do not count."""
    compared = {one.metric.key: one for one in agreement(worlds(loss=0.0))}
    assert "loss" not in compared
    assert compared["goodput"].pairs[0].difference is not None
    assert agreement(worlds(valid=False)) == []


def test_the_picture_goes_no_lower_than_nothing() -> None:
    """The simulator's value is at most 100 % below the kernel's."""
    found = worlds(lambda seed: (40.0, 2.0, 300.0)[seed - 1])
    levels = re.findall(r'class="tick" text-anchor="middle">([+\d.−]+)<', picture(agreement(found)[0]).markup())
    assert levels[0] == "\N{MINUS SIGN}100"


def test_one_world_is_as_before() -> None:
    rows = [{"settings.network.core.buffer": b, "seed": s, "flows.jain": 1.0} for b in ("1 KB", "2 KB") for s in (1, 2)]
    found = study(rows, "", {}, FromMemory({}))
    assert agreement(found) == []
    assert "two worlds" not in render(found)
