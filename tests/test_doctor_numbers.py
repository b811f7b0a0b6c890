"""The doctor's numbers against calculations by hand, and what it predicts against what runs do."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from doctor_samples import HEALTHY, changed
from hypothesis import given
from hypothesis import strategies as st
from paceline.doctor import tcp_windows
from paceline.doctor.case import Case
from paceline.doctor.checks.buffers import never_fills
from paceline.doctor.fair_shares import max_min
from paceline.doctor.sweep import Sweep
from paceline.scenario.resolved_network import Buffer, Network

SCENARIOS = Path(__file__).parent.parent / "scenarios"


def case_of(scenario: pl.Scenario) -> Case:
    return Sweep.of(scenario).cases[0]


def test_one_flow_by_hand() -> None:
    """10 Mbit/s behind 100 Mbit/s, 21 ms each way, packets of 1040 B, a quarter of a BDP."""
    (setting, _) = pl.doctor(SCENARIOS / "one-flow.toml").settings
    group = setting["groups"][0]
    assert setting["rtt_s"]["mean"] == pytest.approx(0.042)
    assert setting["core"]["bdp_bytes"] == 52_500  # 10e6 · 0.042 / 8
    assert group["path"][1]["queue"]["limit_bytes"] == [13_125, 13_125]
    assert group["path"][1]["queue"]["packets_wait"] == [12, 12]  # ns-2: k · 1040 < 13125
    trip = 0.042 + 1040 * 8 * (1e-8 + 1e-7) + 40 * 8 * (1e-8 + 1e-7)
    assert group["tcp"]["fair_window"][0] == pytest.approx(10e6 * trip / 8320)
    assert group["tcp"]["window_at_overflow"] == pytest.approx(10e6 * trip / 8320 + 12)


def test_the_papers_dumbbell_by_hand() -> None:
    """1000 flows share 100 Mbit/s; each delay is drawn, and the harmonic mean is theirs."""
    scenario = pl.Scenario.load(SCENARIOS / "edge-vs-host.toml").set("network.core.buffer", "5 KB")
    setting, paced = pl.doctor(scenario.set("sweep.pacing", ["none", "edge 10 ms"])).settings
    network = Network.resolve(scenario.points()[0].json, 1)
    trips = [2 * math.fsum(network.links[link].delay_s for link in flow.forward) for flow in network.flows]
    assert setting["rtt_s"]["min"] == pytest.approx(min(trips))
    harmonic = len(trips) / math.fsum(1 / trip for trip in trips)
    assert setting["core"]["bdp_bytes"] == pytest.approx(12.5e6 * harmonic, abs=1)
    assert setting["core"]["buffer_of_bdp"] == pytest.approx(5000 / (12.5e6 * harmonic))
    assert setting["core"]["buffer_of_bdp_over_sqrt_n"] == pytest.approx(5000 / (12.5e6 * harmonic) * math.sqrt(1000))
    assert setting["groups"][0]["fair_rate_bps"] == pytest.approx([100e3, 100e3])
    assert setting["groups"][0]["tcp"]["regime"] == tcp_windows.TIMEOUTS
    edge = paced["pacing"][0]
    assert edge["delay_packets_at_load"] == pytest.approx(10e6 * 0.01 / 8320)
    assert edge["delay_packets_at_link_rate"] == pytest.approx(100e6 * 0.01 / 8320)


def test_qlbp_from_its_load() -> None:
    """mu_min = rho C / 2, mu_max = (1 + rho) C / 2, q_max = max_delay mu_max (the paper's section III)."""
    pacing = {"method": "qlbp", "load": 0.1, "max_delay": "10 ms"}
    scenario = pl.Scenario.load(SCENARIOS / "edge-vs-host.toml").set("pacing", pacing)
    setting = pl.doctor(scenario.set("network.core.buffer", "5 KB")).settings[0]
    paced = setting["groups"][0]["path"][1]["pacer"]
    assert paced["parameters"] == {"mu_min": "5 Mbit/s", "mu_max": "55 Mbit/s", "q_max": "68.75 KB"}
    assert setting["pacing"][0]["delay_s"] == pytest.approx(0.010)


def test_what_qlbp_holds_and_access_links_space() -> None:
    """The table's pacer holds ten packets of 1000 B at 10 Mbit/s, 8 ms; 10 Mbit/s before 200 is 20 packet times."""
    table = pl.doctor(SCENARIOS / "qlbp-table2.toml").settings[0]["pacing"][0]
    assert table["delay_s"] == pytest.approx(0.008)
    one = pl.Scenario.load(SCENARIOS / "very-small-buffers.toml")
    slow = pl.doctor(one.set("sweep", {})).settings[0]["groups"][0]
    assert slow["spacing"] == pytest.approx([20, 20])


@pytest.mark.parametrize(("profile", "data", "ack", "packets"), [("ns2", 1000, 40, 1), ("linux", 1500, 52, 2)])
def test_a_slow_way_back_limits_by_its_acknowledgements(profile: str, data: int, ack: int, packets: int) -> None:
    """100 kbit/s of them, one for each packet or, delayed, for every second one."""
    tcp = {"profile": profile} | ({"payload": "960 B"} if profile == "ns2" else {})
    network = {
        "template": "path",
        "links": [{"name": "down", "rate": "50 Mbit/s", "delay": "5 ms", "buffer": "20 packets"}],
        "reverse": [{"rate": "100 kbit/s", "delay": "5 ms"}],
    }
    found = pl.doctor(pl.Scenario({"duration": "20 s", "network": network, "traffic": [{"kind": "bulk", "tcp": tcp}]}))
    (group,) = found.settings[0]["groups"]
    assert group["fair_rate_bps"] == pytest.approx([100e3 * packets * data / ack] * 2)


def test_flows_that_a_share_leaves_unpaced() -> None:
    scenario = changed(HEALTHY, {"pacing": {"method": "host", "share": 0.3}})
    groups = pl.doctor(scenario).settings[0]["groups"]
    assert {group["host_pacing"]: group["flows"] for group in groups} == {"host, rule ideal": 3, None: 7}
    deployed = pl.doctor(scenario).settings[0]["pacing"][0]
    assert (deployed["deployed"], deployed["of"], deployed["flows_paced"]) == (3, 10, 3)


# How many packets wait.

BURST = 40


@pytest.mark.parametrize("counts", ["waiting", "waiting+service", "ns2"])
@pytest.mark.parametrize("limit", ["2 packets", "5 packets", "2080 B", "2081 B", "2500 B", "5 KB", "5200 B", "8 KB"])
def test_places_are_what_a_burst_finds(tmp_path: Path, counts: str, limit: str) -> None:
    """Forty packets at once, and none leaves meanwhile: one is served, the places fill, the next is lost."""
    trace = tmp_path / "trace.csv"
    tcp = {"profile": "ns2", "syn": False, "initial_window": f"{BURST} packets", "max_window": f"{BURST} packets"}
    scenario = pl.path(
        [
            {"name": "fast", "rate": "100 Gbit/s", "delay": "0 s"},
            {"name": "slow", "rate": "10 kbit/s", "delay": "0 s", "buffer": limit, "counts": counts},
        ],
        traffic=[{"kind": "bulk", "size": f"{BURST} packets", "tcp": tcp}],
        duration="100 ms",
        warmup="0 s",
    )
    pl.run(scenario, trace=trace)
    with trace.open() as rows:
        events = [row["event"] for row in csv.DictReader(rows) if row["place"] == "slow"]
    taken = [event for event in events if event != "dequeue"].index("drop")
    assert pl.doctor(scenario).settings[0]["groups"][0]["path"][1]["queue"]["packets_wait"] == [taken - 1] * 2


@given(
    st.integers(1, 20_000),
    st.integers(40, 1500),
    st.sampled_from(["waiting", "waiting+service", "ns2"]),
)
def test_places_by_adding_packets(limit: int, packet: int, counts: str) -> None:
    """The rules as the documentation states them, a packet at a time, on a busy link."""
    waiting = 0
    while {
        "waiting": (waiting + 1) * packet <= limit,
        "waiting+service": (waiting + 2) * packet <= limit,
        "ns2": (waiting + 1) * packet < limit,
    }[counts]:
        waiting += 1
    assert Buffer(limit, None, counts, False).places(packet) == waiting


# Shares.


def test_shares_by_hand() -> None:
    """A and B over a link of 10, B and C over one of 100: A and B have 5, C has the rest."""
    shares = max_min([10, 100], [[(0, 1.0)], [(0, 1.0), (1, 1.0)], [(1, 1.0)]], [math.inf] * 3)
    assert shares.rate_bps == pytest.approx([5, 5, 95])
    assert shares.limit == [0, 0, 1]
    shares = max_min([10, 100], [[(0, 1.0)], [(0, 1.0), (1, 1.0)], [(1, 1.0)]], [2, math.inf, math.inf])
    assert shares.rate_bps == pytest.approx([2, 8, 92])
    assert shares.limit == [None, 0, 1]


def test_transfers_count_by_their_mean_rate() -> None:
    """80 transfers of 35 packets of 1500 B over 20 s are 1.68 Mbit/s of 20: ten lasting flows share the rest."""
    short = {"name": "short", "kind": "bulk", "size": "35 packets", "count": 8, "start": "0 s .. 20 s"}
    scenario = changed(HEALTHY, {"traffic": [HEALTHY["traffic"][0], short]})
    lasting, transfers = pl.doctor(scenario).settings[0]["groups"]
    assert lasting["fair_rate_bps"] == pytest.approx([1.832e6] * 2)
    assert transfers["fair_rate_bps"] == pytest.approx([1.832e6] * 2)  # while one is under way
    alone = changed(HEALTHY, {"traffic": [short | {"count": 1, "size": "10 MB", "start": "0 s"}]})
    assert pl.doctor(alone).settings[0]["groups"][0]["fair_rate_bps"] == pytest.approx([2e6] * 2)


def test_acknowledgements_can_be_the_bottleneck() -> None:
    """A way back of 100 kbit/s and 40 B for each 1000 B: 2.5 Mbit/s there."""
    shares = max_min([10e6, 100e3], [[(0, 1.0), (1, 0.04)]], [math.inf])
    assert shares.rate_bps == pytest.approx([2.5e6])
    assert shares.limit == [1]


@given(st.data())
def test_shares_are_max_min_fair(data: st.DataObject) -> None:
    """By definition: every flow has what it demands, or crosses a full link on which no flow has more."""
    links = data.draw(st.integers(1, 5))
    capacity = data.draw(st.lists(st.integers(1, 1000), min_size=links, max_size=links))
    ways = data.draw(st.lists(st.sets(st.integers(0, links - 1), min_size=1), min_size=1, max_size=12))
    demand = [data.draw(st.one_of(st.just(math.inf), st.integers(1, 500))) for _ in ways]
    shares = max_min(capacity, [[(link, 1.0) for link in way] for way in ways], demand)
    on = [[flow for flow, way in enumerate(ways) if link in way] for link in range(links)]
    for link, flows in enumerate(on):
        assert sum(shares.rate_bps[flow] for flow in flows) <= capacity[link] * (1 + 1e-6)
    for flow, limit in enumerate(shares.limit):
        rate = shares.rate_bps[flow]
        if limit is None:
            assert rate == demand[flow]
        else:
            assert limit in ways[flow]
            assert sum(shares.rate_bps[other] for other in on[limit]) == pytest.approx(capacity[limit])
            assert all(shares.rate_bps[other] <= rate * (1 + 1e-6) for other in on[limit])


# What runs do.


def crowd(window: float, buffer: str = "8 packets", flows: int = 100, rates: str = "slow", **tcp: Any) -> pl.Scenario:
    """Flows of ns-2's NewReno that have so many packets each in 0.1 s."""
    core = flows * window * 1040 * 8 / 0.1
    low = 0.1 * core if rates == "slow" else core
    access = f"{low:.0f} bit/s .. {low * 1.5:.0f} bit/s" if rates != "equal" else f"{core:.0f} bit/s"
    return pl.dumbbell(
        core={"rate": f"{core:.0f} bit/s", "delay": "45 ms", "buffer": buffer},
        access={"hosts": flows, "rate": access, "delay": "1 ms .. 4 ms"},
        tcp={"profile": "ns2", "variant": "newreno", "max_window": "10000 packets"} | tcp,
        duration="60 s",
        warmup="15 s",
        counts="ns2",
    )


def timeouts_a_cut(scenario: pl.Scenario) -> float:
    flows = pl.run(scenario).flows
    assert flows.timeouts is not None
    assert flows.window_cuts
    return flows.timeouts / flows.window_cuts


def regime(scenario: pl.Scenario) -> str:
    return str(pl.doctor(scenario).settings[0]["groups"][0]["tcp"]["regime"])


def test_regimes_are_what_runs_show() -> None:
    """Timeouts a cut fall with the window until six packets, and not much beyond."""
    shares = {window: timeouts_a_cut(crowd(window)) for window in (2, 3, 5, 8, 12)}
    assert [regime(crowd(window)) for window in shares] == [
        tcp_windows.TIMEOUTS,
        tcp_windows.TIMEOUTS,
        tcp_windows.MIXED,
        tcp_windows.RECOVERY,
        tcp_windows.RECOVERY,
    ]
    assert shares[2] > shares[3] > shares[5] > shares[8]
    assert shares[3] > 0.35
    assert shares[8] < 0.2
    assert shares[12] < 0.2


def test_a_buffer_counts_for_the_window_at_overflow() -> None:
    """Two packets in flight and two in the buffer are as good as four: the regime is that of both together."""
    deep = crowd(2, "1 BDP")
    assert regime(deep) == tcp_windows.MIXED
    assert timeouts_a_cut(deep) < 0.75 * timeouts_a_cut(crowd(2))


@pytest.mark.parametrize("window", [8, 12, 20])
def test_cuts_come_about_as_often_as_predicted(window: float) -> None:
    scenario = crowd(window, flows=50)
    case = case_of(scenario)
    expected = case.window_s / tcp_windows.epoch_s(case, 0)
    cuts = pl.run(scenario).flows.window_cuts
    assert cuts is not None
    assert expected / 2.5 < cuts / 50 < expected * 2.5


def test_links_in_step_lock_flows_out() -> None:
    """Access links of exactly the core's rate: one flow has it all. Any other rate, and they share it."""
    in_step, out_of_step = crowd(8, flows=10, rates="equal"), crowd(8, flows=10, rates="above")
    assert "rates-in-step" in {finding.id for finding in pl.doctor(in_step).findings}
    assert "rates-in-step" not in {finding.id for finding in pl.doctor(out_of_step).findings}
    unfair, fair = pl.run(in_step).flows.jain, pl.run(out_of_step).flows.jain
    assert unfair is not None
    assert fair is not None
    assert unfair < 0.3
    assert fair > 0.7


def test_phase_locked_flows_are_alike_under_every_seed() -> None:
    fixed = changed(HEALTHY, {"network.access.rate": "35 Mbit/s", "network.access.delay": "3 ms", "duration": "200 s"})
    ranged = fixed.set("network.access.delay", "2 ms .. 4 ms")
    jain = {
        name: [pl.run(scenario, seed).flows.jain or 0.0 for seed in (1, 2, 3)]
        for name, scenario in (("fixed", fixed), ("ranged", ranged))
    }
    assert min(jain["fixed"]) > 0.99
    assert max(jain["fixed"]) - min(jain["fixed"]) < 0.002
    assert max(jain["ranged"]) < 0.95
    assert max(jain["ranged"]) - min(jain["ranged"]) > 0.05


def test_a_pacer_before_a_full_link_keeps_its_buffer_from_filling() -> None:
    """QLBP at the core itself: nothing is lost there, though the buffer has five places. Before it, losses are back."""
    core = {"method": "qlbp", "load": 0.9, "max_delay": "5 ms", "at": "core"}
    scenario = changed(HEALTHY, {"network.core.buffer": "5 packets", "pacing": core})
    assert "pacer-hides-buffer" in {finding.id for finding in pl.doctor(scenario).findings}
    assert pl.run(scenario).links["core"].dropped_packets == 0
    before = scenario.set("pacing", core | {"at": "access.l.*"})
    assert "pacer-hides-buffer" not in {finding.id for finding in pl.doctor(before).findings}
    assert pl.run(before).links["core"].dropped_packets > 0


def test_a_buffer_that_never_fills_never_loses() -> None:
    scenario = changed(HEALTHY, {"network.access.hosts": 2, "network.access.rate": "8 Mbit/s .. 9 Mbit/s"})
    assert never_fills(case_of(scenario), case_of(scenario).network.core)
    core = pl.run(scenario).links["core"]
    assert core.dropped_packets == 0
    assert core.queue_p99_bytes is not None
    assert core.queue_p99_bytes <= 2 * 1500


def test_the_loss_of_an_overload() -> None:
    """Poisson sources of 1.5 times the rate lose a third, to the accuracy of a small buffer's idle times."""
    traffic = [{"kind": "poisson", "rate": "3 Mbit/s", "packet": "1000 B"}]
    scenario = changed(HEALTHY, {"traffic": traffic})
    (found,) = [finding for finding in pl.doctor(scenario).findings if finding.id == "overload"]
    assert "33 %" in found.why
    assert pl.run(scenario).links["core"].loss_ratio == pytest.approx(1 / 3, rel=0.02)


@pytest.mark.parametrize(("places", "loses"), [(7, True), (9, False)])
def test_the_first_window_as_a_burst(places: int, loses: bool) -> None:
    """Ten packets at ten times the rate: the last finds (10 - 1) (1 - 1/10) = 8.1 waiting, rounded up."""
    scenario = pl.path(
        [
            {"name": "access", "rate": "100 Mbit/s", "delay": "1 ms"},
            {"name": "slow", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": f"{places} packets"},
        ],
        traffic=[{"kind": "bulk", "size": "10 packets", "tcp": {"profile": "rfc"}}],
        duration="1 s",
        warmup="0 s",
    )
    assert ("initial-burst" in {finding.id for finding in pl.doctor(scenario).findings}) is loses
    assert (pl.run(scenario).links["slow"].dropped_packets > 0) is loses


def test_what_a_cap_leaves_unused() -> None:
    """Five packets of 1500 B and ten flows over some 52 ms: of 20 Mbit/s they fill just over half."""
    scenario = changed(HEALTHY, {"traffic.0.tcp.max_window": "5 packets"})
    load = pl.doctor(scenario).settings[0]["core"]["expected_load"]
    assert 0.5 < load < 0.65
    assert pl.run(scenario).links["core"].utilisation == pytest.approx(load, rel=0.02)


def test_expected_packets() -> None:
    scenario = changed(HEALTHY, {})
    expected = pl.doctor(scenario).settings[0]["cost"]["packets"]
    assert pl.run(scenario).engine.core_packets == pytest.approx(expected, rel=0.15)
