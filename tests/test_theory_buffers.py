"""Buffer rules, the point of inflection, the burst model, measures of variation: against printed numbers and draws."""

from __future__ import annotations

import math

import numpy as np
import paceline as pl
import pytest
from paceline.theory import buffer_rules, burst_model, inflection, variation


def test_printed_buffers() -> None:
    """Zhao et al.: 250 ms at 40 Gbit/s are 10 Gbit. Appenzeller et al.: 10 Gbit/s, 50,000 flows: 10 Mbit."""
    assert buffer_rules.bandwidth_delay("40 Gbit/s", "250 ms") * 8 == 10e9
    assert buffer_rules.many_flows("10 Gbit/s", "250 ms", 50_000) * 8 == pytest.approx(11.18e6, rel=1e-3)
    assert buffer_rules.many_flows(1e9, 0.1, 1) == buffer_rules.bandwidth_delay(1e9, 0.1)


def test_synchronised_flows_take_the_harmonic_mean() -> None:
    assert buffer_rules.synchronised(8e6, ["100 ms", "300 ms"]) == pytest.approx(150_000)
    assert buffer_rules.synchronised(8e6, 0.1) == pytest.approx(100_000)


def test_uniform_windows_exceed_the_buffer_once_in_a_thousand() -> None:
    """0.63 BDP / √n, and a draw of 100 windows, each uniform between 2/3 and 4/3 of its mean."""
    rule = buffer_rules.uniform_windows(8.0, 1.0, 100)  # one BDP is 1
    assert rule == pytest.approx(0.0635, abs=1e-4)
    windows = np.random.default_rng(1).uniform(2 / 3, 4 / 3, (40_000, 100)).mean(axis=1)
    assert np.mean(windows > 1 + rule) == pytest.approx(0.0005, abs=0.0004)  # one side of 99.9 %


def test_tiny_buffers_are_under_twenty_packets() -> None:
    """W = 64 at load 0.75 for 90 % of what the windows allow; and the loss that it allows costs no more than that."""
    packets = buffer_rules.tiny_packets(64, 0.6, 0.9)
    assert 18 < packets < 20
    loss = 0.6**packets
    # Each loss costs a flow its growth from nothing to W: W²/2 packets short of what W a round would be.
    short = sum(64 - window for window in range(64))
    assert loss * short == pytest.approx(0.1, rel=1 / 60)  # W (W + 1) / 2
    assert buffer_rules.tiny_packets(1e4, 0.6) - buffer_rules.tiny_packets(1e3, 0.6) == pytest.approx(
        2 * math.log(10) / math.log(1 / 0.6)
    )


def sawtooth(b: float, bdp: float = 20_000.0) -> tuple[float, float]:
    """Lowest and mean rate of one Reno flow, round trip by round trip: a packet more each."""
    window, sent, lasted, lowest = (1 + b) * bdp / 2, 0.0, 0.0, math.inf
    while window < (1 + b) * bdp:
        trip = max(window / bdp, 1.0)
        sent, lasted, lowest = sent + window, lasted + trip, min(lowest, window / trip / bdp)
        window += 1
    return lowest, sent / lasted / bdp


@pytest.mark.parametrize("b", [0.0, 0.1, 0.3, 0.7, 1.0, 1.5])
def test_one_flow_against_its_sawtooth(b: float) -> None:
    lowest, mean = sawtooth(b)
    assert buffer_rules.one_flow_utilisation(b) == pytest.approx(min(lowest, 1), rel=1e-3)
    assert buffer_rules.one_flow_mean_utilisation(b) == pytest.approx(min(mean, 1), rel=1e-3)


def test_cubic_and_bbr_are_full_sooner() -> None:
    assert buffer_rules.one_flow_utilisation([0.43, 0.42], buffer_rules.CUBIC)[0] == 1
    assert buffer_rules.one_flow_utilisation(0.42, buffer_rules.CUBIC) < 1
    assert buffer_rules.bbr_utilisation([0, 0.25, 1]).tolist() == [0.75, 1, 1]


@pytest.mark.parametrize("b", [0.1, 0.5])
def test_one_simulated_reno_flow(b: float) -> None:
    """20 Mbit/s, 100 ms, 250 packets of BDP: the mean over many teeth, within 3 %."""
    links = [{"name": "link", "rate": "20 Mbit/s", "delay": "50 ms", "buffer": f"{round(250 * b)} packets"}]
    scenario = pl.Scenario(
        {
            "duration": "1200 s",
            "warmup": "200 s",
            "network": {"template": "path", "links": [{"name": "in", "rate": "1 Gbit/s", "delay": "0 ms"}, *links]},
            "traffic": [
                {
                    "kind": "bulk",
                    "tcp": {"variant": "newreno", "profile": "ns2", "payload": "960 B", "max_window": "5000 packets"},
                }
            ],
        }
    )
    found = pl.run(scenario).links["link"].utilisation
    assert found == pytest.approx(buffer_rules.one_flow_mean_utilisation(b), rel=0.03)


def test_the_point_of_inflection_as_printed() -> None:
    """64, 128, 256 KB: N* of 58, 29, 14; the measured 80, 48, 19 lie below 2 N*. BDP 1250, buffer 312: 2 N* is 8."""
    buffers = ["64 KB", "128 KB", "256 KB"]
    assert np.floor(inflection.flows("1 Gbit/s", "30 ms", buffers)).tolist() == [58, 29, 14]
    least, most = inflection.bounds("1 Gbit/s", "30 ms", buffers)
    assert ((least <= [80, 48, 19]) & (most >= [80, 48, 19])).all()
    assert round(inflection.bounds(1250 * 8, 1, 312).most) == 8


def test_paced_flows_fall_into_an_interval_as_drawn() -> None:
    """30 flows of 6 packets a round trip, a thirtieth of it: each flow's first packet is anywhere in its gap."""
    chance = burst_model.probability(6, "1 ms", "30 ms")
    assert chance == pytest.approx(0.2)
    phases = np.random.default_rng(2).random((200_000, 30))
    counts = (phases < 0.2).sum(axis=1)
    probabilities = burst_model.packets(30, chance)
    assert probabilities.sum() == pytest.approx(1)
    drawn = np.bincount(counts, minlength=31) / counts.size
    assert drawn == pytest.approx(probabilities, abs=4e-3)
    assert burst_model.exceeds(9, 30, 0.2) == pytest.approx(np.mean(counts > 9), abs=3e-3)
    exactly = sum(math.comb(30, k) * 0.2**k * 0.8 ** (30 - k) for k in range(10, 31))
    assert burst_model.exceeds(9, 30, 0.2) == pytest.approx(exactly)
    assert burst_model.relative_spread(30, 0.2) == pytest.approx(counts.std() / counts.mean(), rel=0.01)
    assert burst_model.packets(3, 0).tolist() == [1, 0, 0, 0]


def test_more_flows_of_the_same_load_burst_more() -> None:
    """The paper's argument: N p stays, as windows shrink; bursts grow towards Poisson's."""
    tails = [burst_model.exceeds(3, flows, 2 / flows) for flows in (4, 8, 32, 256)]
    assert tails == sorted(tails)
    assert burst_model.largest_burst([10, 100], 50, paced=True).tolist() == [10, 100]
    assert burst_model.largest_burst([10, 100], 50, paced=False).tolist() == [50, 50]


def test_variation_of_poisson_counts() -> None:
    counts = np.random.default_rng(3).poisson(25, 200_000)
    assert variation.poisson(500, "50 ms") == pytest.approx(0.2)
    assert variation.coefficient(counts) == pytest.approx(0.2, rel=0.01)
    assert variation.dispersion(counts) == pytest.approx(1, rel=0.02)
    assert variation.peak_to_mean([1, 3, 2]) == 1.5
    # without memory, H = 1/2: as Poisson's own law of scales
    assert variation.self_similar("200 ms", "50 ms", 0.2, 0.5) == pytest.approx(variation.poisson(500, "200 ms"))


def test_a_simulated_self_similar_source_varies_by_its_h() -> None:
    """Fractional Gaussian noise of H = 0.8 in slots of 10 ms, packets small beside it: slope over dyadic scales."""
    scenario = pl.Scenario(
        {
            "duration": "300 s",
            "network": {"template": "path", "links": [{"name": "link", "rate": "1 Gbit/s", "delay": "1 ms"}]},
            "traffic": [
                {"kind": "self-similar", "mean": "40 Mbit/s", "hurst": 0.8, "deviation": "8 Mbit/s", "packet": "1000 B"}
            ],
            "probes": {"rate_variation": {"finest": "10 ms", "coarsest": "1 s"}},
        }
    )
    table = pl.sweep(scenario, seeds=4).instrument("rate_variation", mean=True).to_pydict()
    found = dict(zip(table["x"], table["y"], strict=True))
    finest = min(found)
    for scale, value in found.items():
        assert value == pytest.approx(variation.self_similar(scale, finest, found[finest], 0.8), rel=0.12)


def test_hurst_of_heavy_tails() -> None:
    assert variation.hurst_of_on_off([1.2, 1.5]).tolist() == pytest.approx([0.9, 0.75])
