"""Questions to `paceline advise`: nonsense, and the networks that they ask for."""

from __future__ import annotations

import json
import math
from typing import Any

import paceline as pl
import pytest
from paceline.advise.network import length_of, scenario_of, simulated_flows
from paceline.advise.reading import read_question
from paceline.cli.main import main

ASKED: dict[str, Any] = {"rate": "1 Gbit/s", "rtt": "10 ms .. 50 ms", "flows": 20, "within": "600 min"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rate": "-1 Gbit/s"}, 'rate: "-1 Gbit/s" is negative'),
        ({"rate": "0 bit/s"}, "is no rate at all"),
        ({"rtt": "80 ms .. 5 ms"}, 'write "5 ms .. 80 ms"'),
        ({"rtt": []}, "the list is empty"),
        ({"flows": 0}, "write a whole number from 1"),
        ({"flows": "many"}, "write a whole number from 1"),
        ({"buffer": "20 packets", "pacing": "none"}, "nothing may change"),
        ({"bounds": ["utilisation >= 120 %"]}, "is not from 0 % to 100 %"),
        ({"bounds": ["utilisation <= 50 %"]}, "asks for a bad utilisation"),
        ({"bounds": ["utilisation >= 98 %", "utilisation >= 50 %"]}, "bounded twice"),
        ({"bounds": []}, "the least buffer is none at all"),
        ({"bounds": ["speed >= 1"]}, "is no measure"),
        ({"bounds": ["loss"]}, "is no bound"),
        ({"bounds": ["loss much"]}, "is not from 0 %"),
        ({"goal": "happiness"}, "goal:"),
        ({"goal": "fct"}, "no completion time"),
        ({"think": "1 s"}, "goes with size"),
        ({"tcp": {"cubic": 0.7, "bbr": 0.7}}, "come to 1.4"),
        ({"tcp": "carrier-pigeon"}, "tcp: "),
        ({"pacing": "edge"}, 'pacing: "edge": delay missing'),
        ({"pacing": "edge 2 ms", "edges": 0}, "paces at edges"),
        ({"queue": "codle"}, 'queue: "codle" is no queue discipline; did you mean "codel"'),
        ({"sure": "120 %"}, "sure:"),
        ({"within": "soon"}, "within:"),
        ({"colour": "red"}, "unknown key"),
        ({"buffer": "1 BDP .. 5 packets"}, "begins above its end"),
    ],
)
def test_nonsense_is_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(pl.InputError) as error:
        read_question(ASKED | changes)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_command_refuses_in_one_line_with_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["advise", "--rate", "-1 Gbit/s", "--rtt", "5 ms", "--flows", "10"])
    assert left.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith('paceline: --rate: "-1 Gbit/s" is negative')
    assert output.err.count("\n") == 1


def test_round_trips_are_those_asked_for() -> None:
    """Every seed has the whole range of them, and as many flows as asked, dealt out to edges."""
    for asked in (
        ASKED,
        ASKED | {"flows": 7},
        ASKED | {"rtt": ["5 ms", "20 ms", "90 ms"], "flows": 30},
        ASKED | {"edges": 0},
        ASKED | {"rtt": [f"{trip} ms" for trip in range(10, 90, 10)], "flows": 8},
    ):
        question = read_question(asked)
        scenario = scenario_of(question, question.candidates[0])
        network = json.loads(pl._core.inspect(scenario.points()[0].json, 1))
        delay = [link["delay_ns"] * 1e-9 for link in network["links"]]
        flows = network["flows"]
        assert len(flows) == simulated_flows(question)
        assert abs(len(flows) - question.flows) <= 1
        trips = sorted(math.fsum(delay[link] for link in (*flow["forward"], *flow["reverse"])) for flow in flows)
        assert trips[0] >= question.round_trips_s[0][0] - 1e-6
        assert trips[-1] <= question.round_trips_s[-1][1] + 1e-6
        assert math.fsum(trips) / len(trips) == pytest.approx(question.round_trip_s, rel=0.12)


def test_a_bound_needs_no_sign() -> None:
    asked = [read_question(ASKED | {"bounds": bounds}).bounds for bounds in (["wait 5 ms"], ["wait <= 5 ms"])]
    assert asked[0] == asked[1]


def test_shares_of_tcps_are_dealt_out() -> None:
    question = read_question(ASKED | {"tcp": {"cubic": 0.75, "newreno": 0.25}})
    tables = scenario_of(question, question.candidates[0]).to_dict()["traffic"]
    assert [len(table["from"]) for table in tables] == [15, 5]
    scenario_of(question, question.candidates[0]).check()


def test_a_run_lasts_for_several_sawteeth() -> None:
    question = read_question(ASKED | {"flows": 2, "buffer": "5 packets .. 1 BDP"})
    assert length_of(question).window_s > length_of(question, 5).window_s  # a full buffer is part of a round trip
    assert length_of(read_question(ASKED)).window_s < length_of(question).window_s
