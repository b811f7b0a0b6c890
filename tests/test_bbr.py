"""BBR in whole scenarios, against closed forms and what others have measured."""

from __future__ import annotations

from typing import Any

import paceline as pl
import pytest
from paceline.theory import buffer_rules

BBR = {"variant": "bbr"}
BBR3 = {"variant": "bbr3"}


def shared(flows: list[tuple[dict[str, Any], float]], buffer: float, duration_s: int = 60) -> pl.Scenario:
    """A flow each of these settings and access delays, ms, over 20 Mbit/s; the buffer in BDPs of 40 ms, 67 packets."""
    return pl.Scenario(
        {
            "duration": f"{duration_s} s",
            "warmup": "15 s",
            "network": {
                "template": "dumbbell",
                "core": {"rate": "20 Mbit/s", "delay": "10 ms", "buffer": f"{max(1, round(buffer * 67))} packets"},
                "access": [{"hosts": 1, "rate": "1 Gbit/s", "delay": f"{delay * 1000:.0f} us"} for _, delay in flows],
            },
            "traffic": [
                {"name": f"f{one}", "kind": "bulk", "start": "0 s .. 1 s", "from": f"left.{one}", "tcp": tcp}
                for one, (tcp, _) in enumerate(flows)
            ],
        }
    )


def shares(scenario: pl.Scenario, seed: int = 1) -> list[float]:
    """What each flow has of all."""
    run = pl.run(scenario, seed)
    assert run.per_flow is not None
    rates = [float(rate) for rate in run.per_flow["goodput_bps"]]
    return [rate / sum(rates) for rate in rates]


@pytest.mark.parametrize("tcp", [BBR, BBR3], ids=["bbr", "bbr3"])
@pytest.mark.parametrize("buffer", [0.25, 1, 4])
def test_one_flow_has_at_least_what_its_drain_phase_leaves(tcp: dict[str, Any], buffer: float) -> None:
    """And nearly all of the link: PROBE_RTT takes 2 % (200 ms of 10 s), or 2 % as well by half the rate of 5 s."""
    core = pl.run(shared([(tcp, 5)], buffer)).links["core"]
    assert core.utilisation is not None
    assert core.utilisation >= buffer_rules.bbr_utilisation(buffer) * 0.98 * 0.97
    assert core.utilisation > 0.93


def test_the_longer_round_trip_gets_more() -> None:
    """Each keeps two of its own BDPs in flight: the reverse of Reno (M. Hock, R. Bless, M. Zitterbart, ICNP 2017)."""
    for seed in (1, 2, 3):
        long, short = shares(shared([(BBR, 20), (BBR, 1)], 4), seed)
        assert long > short + 0.1
        reno = {"variant": "sack"}
        long, short = shares(shared([(reno, 20), (reno, 1)], 4), seed)
        assert long < short


def test_shallow_buffers_favour_bbr_and_deep_ones_cubic() -> None:
    """N. Cardwell et al. 2016; M. Hock, R. Bless, M. Zitterbart 2017: BBR does not heed the losses that it makes."""
    bbr, cubic = shares(shared([(BBR, 5), ({"variant": "cubic"}, 5)], 0.3))
    assert bbr > 2 * cubic
    bbr, cubic = shares(shared([(BBR, 5), ({"variant": "cubic"}, 5)], 10, 120))
    assert cubic > bbr


def test_version_3_leaves_more_to_cubic_in_a_shallow_buffer() -> None:
    first, third = (shares(shared([(tcp, 5), ({"variant": "cubic"}, 5)], 0.3))[0] for tcp in (BBR, BBR3))
    assert third < first


def test_host_pacing_changes_nothing() -> None:
    """Linux has one pacing rate for a socket, and BBR sets it."""
    scenario = shared([(BBR, 5), (BBR3, 5)], 1, 20)
    plain, paced = (pl.run(scenario.set("pacing", how)) for how in ("none", "host"))
    assert plain.per_flow is not None
    assert paced.per_flow is not None
    for key in ("goodput_bps", "sent_packets", "retransmits"):
        assert list(plain.per_flow[key]) == list(paced.per_flow[key])


def test_the_doctor_applies_no_formula_of_losses() -> None:
    diagnosis = pl.doctor(shared([(BBR, 5), (BBR3, 5)], 4, 20))
    assert not {"timeout-regime", "few-cuts", "window-below-one"} & {finding.id for finding in diagnosis.findings}
    told = diagnosis.to_dict()["settings"][0]
    assert told["core"]["expected_loss"] is None
    for group in told["groups"]:
        assert group["tcp"]["regime"].startswith("not foreseen")
    loss_based = pl.doctor(shared([({"variant": "sack"}, 5)] * 2, 4, 20))
    assert "few-cuts" in {finding.id for finding in loss_based.findings}


def test_its_losses_are_found_by_rack() -> None:
    problem = r"traffic.*tcp\.rack: BBR finds its losses by RACK; leave rack out"
    with pytest.raises(pl.InputError, match=problem):
        pl.run(shared([({"variant": "bbr", "rack": False}, 5)], 1))
