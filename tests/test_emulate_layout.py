"""A scenario laid out for the kernel: what it becomes, what is warned of, what is refused. Needs no privilege."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from paceline.emulate import kernel_tcp
from paceline.emulate.choices import Choices
from paceline.emulate.inline_pacers import arguments
from paceline.emulate.layout import FIRST_PORT, Layout, lay_out, traffic_plan, wires_plan
from paceline.scenario.resolved_network import Network

LINUX = {"profile": "linux", "variant": "sack"}
KERNEL_SCENARIOS = sorted((Path(__file__).parent.parent / "scenarios" / "kernel").glob("*.toml"))


@pytest.fixture(autouse=True)
def _any_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this kernel has, the layout is that of one with these."""
    monkeypatch.setattr(kernel_tcp, "available", lambda: ["reno", "cubic", "bbr"])
    monkeypatch.setattr(kernel_tcp, "_has", lambda _: True)


def scenario(traffic: dict[str, Any] | None = None, **more: Any) -> pl.Scenario:
    links = [
        {"name": "access", "rate": "100 Mbit/s", "delay": "5 ms"},
        {"name": "slow", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "5 packets"},
    ]
    document: dict[str, Any] = {"duration": "4 s", "network": {"template": "path", "links": links}}
    document["traffic"] = [{"kind": "bulk", "tcp": LINUX} | (traffic or {})]
    return pl.Scenario(document | more)


def odd(**more: Any) -> pl.Scenario:
    """Over a link that has this."""
    link = {"rate": "1 Mbit/s", "delay": "1 ms", "buffer": "9 KB"} | more
    return scenario(network={"template": "path", "links": [link]})


def laid_out(asked: pl.Scenario, choices: Choices | None = None) -> Layout:
    point = asked.check()[0]
    return lay_out(json.loads(point.json), Network.resolve(point.json, point.seed), choices or Choices(), point.seed)


def test_a_flow_of_the_linux_profile_needs_no_warning() -> None:
    layout = laid_out(scenario())
    assert layout.warnings == []
    (one,) = layout.conversations
    assert (one.tcp.congestion_control, one.tcp.paced, one.tcp.payload_bytes, one.tcp.header_bytes) == (
        "reno",
        False,
        1448,
        52,
    )
    stack = layout.stacks[one.stack]
    assert stack.mtu == 1500
    assert dict(stack.parameters)["tcp_sack"] == "1"
    assert dict(stack.metrics) == {"initcwnd": 10, "rto_min": 200}
    assert layout.shortest_round_trip_s() == pytest.approx(0.05)


def test_reno_of_the_linux_profile_is_the_kernel_s_without_sack() -> None:
    layout = laid_out(scenario({"tcp": LINUX | {"variant": "reno"}}))
    assert layout.warnings == []
    assert layout.conversations[0].tcp.congestion_control == "reno"
    assert dict(layout.stacks[0].parameters)["tcp_sack"] == "0"


def test_what_the_kernel_does_not_do_is_warned_of() -> None:
    tcp = {"profile": "ns2", "variant": "newreno", "tick": "10 ms"}
    warnings = laid_out(scenario({"tcp": tcp})).warnings
    assert any(line.startswith("traffic[0].tcp.tick: ") for line in warnings)
    assert any(line.startswith("traffic[0].tcp.initial_rto: ") for line in warnings)
    assert any(line.startswith('traffic[0].tcp.idle_restart: the kernel knows "keep"') for line in warnings)


def test_an_acknowledgement_a_packet_and_no_sack_are_honoured() -> None:
    layout = laid_out(scenario({"tcp": {"profile": "ns2", "variant": "newreno", "initial_ssthresh": "8 packets"}}))
    stack = layout.stacks[0]
    assert dict(stack.metrics)["quickack"] == 1
    assert dict(stack.metrics)["ssthresh"] == 8
    assert dict(stack.parameters)["tcp_sack"] == "0"
    assert dict(stack.parameters)["tcp_timestamps"] == "0"
    assert stack.mtu == 1040


@pytest.mark.parametrize(
    ("pacing", "ratios", "segments"),
    [
        ("host", ("200", "120"), None),
        ({"method": "host", "rule": "ideal", "gain": 2.0}, ("200", "200"), 1),
        ({"method": "host", "rule": "prague"}, ("200", "100"), 1),
        ("none", ("200", "120"), 1),
    ],
)
def test_host_pacing_is_the_kernel_s(pacing: Any, ratios: tuple[str, str], segments: int | None) -> None:
    layout = laid_out(scenario(pacing=pacing if isinstance(pacing, dict) else {"method": pacing}))
    parameters = dict(layout.stacks[0].parameters)
    assert (parameters["tcp_pacing_ss_ratio"], parameters["tcp_pacing_ca_ratio"]) == ratios
    assert layout.stacks[0].segments == segments
    assert layout.conversations[0].tcp.paced is (pacing != "none")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (scenario({"tcp": {"variant": "tahoe"}}), 'traffic[0].tcp.variant: the kernel has no "tahoe"'),
        (
            scenario({"tcp": {"profile": "linux", "variant": "bic"}}),
            'traffic[0].tcp.variant: the kernel has no "bic"; load',
        ),
        (scenario({"kind": "cbr", "rate": "1 Mbit/s", "packet": "100 B"}), 'traffic[0].kind: "cbr" does not run'),
        (scenario(pacing={"method": "port"}), 'pacing.method: the kernel has no "port" pacing'),
        (scenario(pacing={"method": "host", "gain": 9.0}), "pacing.gain: 9 is beyond the kernel's"),
        (scenario(drop=[{"link": "slow", "arrivals": [3]}]), "drop: losses cannot be forced"),
        (
            scenario(
                network={
                    "template": "path",
                    "links": [{"rate": "1 Mbit/s", "delay": "1 ms", "buffer": "9 KB", "drop": "front"}],
                }
            ),
            'network: link.0 has "drop-front"',
        ),
        (odd(police={"rate": "1 Mbit/s", "burst": "9 KB"}), "network: link.0 has a policer"),
        (odd(jitter={"mean": "1 ms", "spread": "1 ms"}), "network: link.0 has jitter"),
        (odd(rate={"steps": [["0 s", "1 Mbit/s"]]}), "network: the rate of link.0 varies"),
    ],
)
def test_what_no_kernel_does_is_refused_in_a_line(asked: pl.Scenario, said: str) -> None:
    document = asked.to_dict()
    if document["traffic"][0]["kind"] == "cbr":
        del document["traffic"][0]["tcp"]
    with pytest.raises(pl.InputError) as refused:
        laid_out(pl.Scenario(document))
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_calls_are_one_conversation_of_two_flows() -> None:
    calls = {
        "kind": "rpc",
        "request": "200 B",
        "response": {"uniform": "1 KB .. 3 KB"},
        "think": {"exponential": "10 ms"},
    }
    layout = laid_out(scenario(calls))
    (one,) = layout.conversations
    assert (one.flow, one.back) == (0, 1)
    assert one.application == {
        "kind": "calls",
        "request": {"fixed": 200.0},
        "response": {"uniform": [1000.0, 3000.0]},
        "think": {"exponential": 1e7},
        "calls": None,
    }


def test_a_pareto_mean_becomes_its_least_value() -> None:
    files = {"kind": "closed-loop", "size": {"pareto": {"mean": "100 KB", "shape": 1.25}}}
    application = laid_out(scenario(files)).conversations[0].application
    assert application["size"] == {"pareto": [pytest.approx(20_000.0), 1.25]}
    assert application["new_connections"] is True


def test_the_plans_name_every_link_flow_and_device() -> None:
    layout = laid_out(scenario({"count": 3}))
    wires = wires_plan(layout, [(7, 8)], {}, 5, seed=1)
    assert [link["rate_bps"] for link in wires["links"]] == [100_000_000, 10_000_000, 100_000_000, 10_000_000]
    assert wires["flows"] == [{"forward": (0, 1), "reverse": (3, 2), "caller": 0, "listener": 1}] * 3
    assert (wires["first_port"], wires["spin_ns"]) == (FIRST_PORT, 5000)
    traffic = traffic_plan(layout, [(3, 4)], seed=1)
    assert [flow["from"] for flow in traffic["flows"]] == [[10, 0, 0, 1]] * 3
    assert [flow["to"] for flow in traffic["flows"]] == [[10, 128, 0, 2]] * 3


@pytest.mark.parametrize(("asked", "drawn"), [("departure", "departure"), ("random", "random"), ("ns2", "random")])
def test_links_decide_ties_as_the_scenario_says(asked: str, drawn: str) -> None:
    layout = laid_out(scenario().set("network.ties", asked))
    buffers, others = (
        [link["buffer"] for link in wires_plan(layout, [(7, 8)], {}, 0, seed)["links"]] for seed in (1, 2)
    )
    assert {buffer["ties"] for buffer in buffers} == {drawn}
    assert len({buffer["seed"] for buffer in buffers + others}) == 2 * len(buffers)
    assert any(warning.startswith("network: ties") for warning in layout.warnings) == (asked == "ns2")


def test_inline_pacers_stand_beside_the_links_program() -> None:
    asked = scenario(pacing={"method": "edge", "delay": "10 ms", "at": ["access"]})
    layout = laid_out(asked)
    assert layout.paced_links == [0]
    wires = wires_plan(layout, [(7, 8)], {0: (9, 10)}, 0, seed=1)
    assert wires["links"][0]["detour"] == {"to": 2, "from": 3}
    assert wires["links"][0]["pacer"] is None
    words = " ".join(arguments(layout.network.links[0], 0))
    assert words.startswith(
        "--method edge --line-rate 100000000 bit/s --delay 10 ms --release start --buffer 100000 packets"
    )
    built_in = wires_plan(laid_out(asked, Choices(pacers="built-in")), [(7, 8)], {}, 0, seed=1)
    assert built_in["links"][0]["pacer"]["method"] == "edge"


def test_bbr_is_chosen_beside_the_scenario() -> None:
    assert laid_out(scenario(), Choices(congestion_control="bbr")).conversations[0].tcp.congestion_control == "bbr"
    with pytest.raises(pl.InputError, match=r'^--congestion-control: the kernel has no "vegas"'):
        laid_out(scenario(), Choices(congestion_control="vegas"))


@pytest.mark.parametrize("file", KERNEL_SCENARIOS, ids=lambda file: file.stem)
def test_the_kernel_s_scenarios_are_ones_that_the_kernel_honours(file: Path) -> None:
    asked = pl.Scenario.load(file)
    for point in asked.check():
        layout = lay_out(json.loads(point.json), Network.resolve(point.json, point.seed), Choices(), point.seed)
        odd = [line for line in layout.warnings if not line.startswith(("seed:", "probes.transfers:", "pacing"))]
        assert odd == []
