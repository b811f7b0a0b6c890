"""Orders and shapes of the edge paper: verdicts follow the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import edge_runs
import pytest
import synthetic
from paceline.papers import Claim, Length, Runs, select

FLOWS, VARIANTS, SLOW, DELAY, DELAYS, SHARES, ADOPTERS = (
    select([f"edge-{name}"])[0]
    for name in (
        "fig4-100-flows",
        "fig7-variants",
        "fig8-non-bottleneck",
        "fig10-delay",
        "fig11-delays",
        "fig12-partial",
        "fig13-early-adopters",
    )
)


def run(claim: Claim, curve: edge_runs.Curve, length: Length | None = None) -> Runs:
    return synthetic.runs(claim, edge_runs.numbers(curve), length)


def hosts_lead(method: str, size: int) -> float:
    return 80 + (5 if method.startswith("host") else 0)


def test_hosts_must_lead_at_every_buffer_with_100_flows() -> None:
    assert FLOWS.check(run(FLOWS, hosts_lead)).verdict == "reproduced"
    crossed = run(FLOWS, lambda method, size: hosts_lead(method, size) - (10 if size > 20 and method == "host" else 0))
    assert FLOWS.check(crossed).verdict == "partly"
    assert FLOWS.check(run(FLOWS, hosts_lead)).ours["hosts lead without a limit up to, KB"] == 40
    assert FLOWS.check(crossed).ours["hosts lead without a limit up to, KB"] == 20


def test_500_flows_must_follow_1000() -> None:
    some = {name: edge_runs.numbers(hosts_lead) for name in FLOWS.sweeps(Length())}
    some["500 flows"] = edge_runs.numbers(lambda method, size: hosts_lead(method, size) - 6)
    assert FLOWS.check(synthetic.runs(FLOWS, some)).verdict == "partly"


@pytest.mark.parametrize(("gain", "outcome"), [(12, "reproduced"), (9, "partly"), (-1, "not reproduced")])
def test_variants_need_the_order_and_the_typical_gain(gain: float, outcome: str) -> None:
    runs = run(VARIANTS, lambda method, size: 80 * (1 + gain / 100 if method.startswith("edge") else 1))
    assert VARIANTS.check(runs).verdict == outcome


def losing(method: str, size: int) -> Mapping[str, Any]:
    loss = 0.0 if size >= 10 else 10 ** (-1 - 0.4 * size)
    return {
        "links.core.loss_ratio": loss,
        "links.core.dropped_packets": round(loss * 1e6),
        "links.core.arrived_packets": 10**6,
    }


def slow(more: Callable[[str, int], Mapping[str, Any]], edge: float = 0.0) -> Runs:
    def curve(method: str, size: int) -> float:
        return 130 + (edge if method.startswith("edge") else 0)

    return synthetic.runs(SLOW, edge_runs.numbers(curve, more=more))


def test_loss_must_end_and_fall_straight_on_its_log_scale() -> None:
    assert SLOW.check(slow(losing)).verdict == "reproduced"
    late = slow(lambda method, size: losing(method, size) | {"links.core.dropped_packets": 1})
    assert SLOW.check(late).verdict == "partly"
    flat = slow(lambda method, size: losing(method, size) | {"links.core.loss_ratio": 0.01 if size > 4 else 0.0101})
    verdict = SLOW.check(flat)
    assert any(row.statistic.startswith("correlation") and row.ok is False for row in verdict.evidence)
    assert SLOW.check(slow(losing, edge=10.0)).verdict == "partly"


def by_delay(method: str, size: int, *, fall: float = 0.02, knee: float = 10) -> float:
    delay = 0.0 if method == "none" else float(method.split()[1])
    return 100 - fall * delay if size == 50 else 88 + min(delay, knee)


def test_throughput_must_rise_to_10_ms_and_fall_at_50_kb() -> None:
    assert DELAY.check(run(DELAY, by_delay)).verdict == "reproduced"
    assert DELAY.check(run(DELAY, lambda method, size: by_delay(method, size, knee=5))).verdict == "partly"
    assert DELAY.check(run(DELAY, lambda method, size: by_delay(method, size, knee=100))).verdict == "partly"
    assert DELAY.check(run(DELAY, lambda method, size: by_delay(method, size, fall=-0.02))).verdict == "partly"


def bounds(method: str, size: int, *, short: float = 1, large: float = 3) -> float:
    delay = 0 if method == "none" else int(method.split()[1])
    if size >= 20:
        return 93 - (large if delay >= 100 else 0)
    return 80 + {0: 0, 1: short, 10: 8, 100: 8, 200: 7.9}[delay]


def test_four_bounds_behave_as_the_paper_says() -> None:
    assert DELAYS.check(run(DELAYS, bounds)).verdict == "reproduced"
    assert DELAYS.check(run(DELAYS, lambda method, size: bounds(method, size, short=7))).verdict == "partly"
    assert DELAYS.check(run(DELAYS, lambda method, size: bounds(method, size, large=0))).verdict == "partly"
    behind = DELAYS.check(run(DELAYS, lambda method, size: bounds(method, size) - 4 * (method == "edge 10 ms")))
    assert any("behind the best" in row.statistic and row.ok is False for row in behind.evidence)


def share(method: str) -> float:
    return 0.0 if method == "none" else float(method.split("share ")[1]) if "share" in method else 1.0


def test_throughput_must_rise_with_the_share() -> None:
    assert SHARES.check(run(SHARES, lambda method, size: 90 + share(method))).verdict == "reproduced"
    hosts = run(SHARES, lambda method, size: 90 + share(method) * ("edge" in method))
    assert SHARES.check(hosts).verdict == "partly"
    assert SHARES.check(run(SHARES, lambda method, size: 90 - share(method))).verdict == "not reproduced"
    assert (
        SHARES.check(run(SHARES, lambda method, size: 90 + share(method), Length(seeds=1))).verdict == "not reproduced"
    )


def adopters(host: float, edge: float) -> Runs:
    def of(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        gap = edge if settings["pacing"].startswith("edge") else host
        unpaced = 80e3 + 100 * seed
        return {
            "groups.paced.goodput_mean_bps": unpaced * (1 + gap + 0.001 * seed),
            "groups.unpaced.goodput_mean_bps": unpaced,
        }

    return synthetic.runs(ADOPTERS, of)


@pytest.mark.parametrize(
    ("host", "edge", "outcome"),
    [(-0.08, 0.08, "reproduced"), (-0.12, 0.08, "partly"), (0.05, 0.08, "partly"), (0.05, -0.05, "not reproduced")],
)
def test_early_adopters_lose_at_hosts_and_gain_at_edges(host: float, edge: float, outcome: str) -> None:
    assert ADOPTERS.check(adopters(host, edge)).verdict == outcome


@pytest.mark.parametrize("claim", [FLOWS, VARIANTS, DELAY, DELAYS, SHARES], ids=lambda claim: claim.id)
def test_pictures_are_the_same_bytes_each_time(claim: Claim) -> None:
    curves = {FLOWS.id: hosts_lead, DELAY.id: by_delay, DELAYS.id: bounds}
    runs = run(claim, curves.get(claim.id, lambda method, size: 80.0 + size), Length(quick=True))
    first, second = claim.draw(runs), claim.draw(runs)
    assert first == second
    assert all(one.svg.startswith("<svg") and one.caption for one in first)


@pytest.mark.parametrize("length", [Length(), Length(quick=True)], ids=["full", "quick"])
@pytest.mark.parametrize("claim", [FLOWS, VARIANTS, SLOW, DELAY, DELAYS, SHARES, ADOPTERS], ids=lambda claim: claim.id)
def test_every_sweep_is_a_scenario_that_runs(claim: Claim, length: Length) -> None:
    for scenario in claim.sweeps(length).values():
        assert scenario.check()
