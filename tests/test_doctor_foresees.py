"""What the doctor foresees against what runs do, over random scenarios of all kinds (tests/doctor_random.py).

`make foresee` runs several hundred; here are forty.
"""

from __future__ import annotations

import os
from collections import Counter

import doctor_random
import paceline as pl
import pytest
from paceline.scenario.resolved_network import Network

#: Scenarios, from seed 0 on.
SCENARIOS = int(os.environ.get("PACELINE_SCENARIOS", "40"))
#: What docs/doctor.md states: the least share within a factor of three.
WITHIN = {"packets": 0.95, "time": 0.95, "load": 0.9, "losses": 0.75}


def test_within_a_factor_of_three() -> None:
    of: Counter[str] = Counter()
    good: Counter[str] = Counter()
    worst: dict[str, str] = {}
    known = asked = 0
    for seed in range(SCENARIOS):
        asked += 1
        seen, compared = doctor_random.compare(doctor_random.scenario(seed), seed)
        known += seen.knows_all
        for one in compared:
            of[one.what] += 1
            good[one.what] += one.factor <= 3
            if one.factor > 3:
                worst[one.what] = f"seed {seed}: {one}"
    shares = {what: good[what] / of[what] for what in WITHIN}
    print({what: f"{good[what]} of {of[what]}" for what in WITHIN}, f"{known} of {asked} scenarios foreseeable")
    assert all(shares[what] >= least for what, least in WITHIN.items()), (shares, worst)
    assert known >= 0.6 * asked


def closed_loop(**more: object) -> pl.Scenario:
    """A user of 3 KB files over 10 kbit/s and 600 ms, who thinks for ten minutes: one file in 610 s for a year."""
    link = {"name": "l", "rate": "10 kbit/s", "delay": "600 ms", "buffer": "5 packets"}
    table = {"name": "f", "kind": "closed-loop", "size": "3 KB", "think": {"exponential": "10 min"}} | more
    return pl.Scenario({"duration": "525600 min", "network": {"template": "path", "links": [link]}, "traffic": [table]})


def test_a_user_who_thinks_is_not_a_full_link() -> None:
    """Three packets each 605 s, and a SYN: 4 of the 9e-5 of the rate that a bulk transfer would have."""
    setting = pl.doctor(closed_loop()).settings[0]
    result = pl.run(closed_loop())
    assert result.engine.core_packets is not None
    assert 1 / 3 < setting["cost"]["packets"] / result.engine.core_packets < 3
    assert 1 / 3 < setting["core"]["expected_load"] / (result.links["l"].utilisation or 0) < 3


def test_where_few_draws_decide_it_says_so() -> None:
    """Two files a run, exponential in size: no number, and a sentence."""
    scenario = closed_loop(size={"exponential": "3 KB"}).set("duration", "15 min")
    diagnosis = pl.doctor(scenario)
    setting = diagnosis.settings[0]
    assert setting["core"]["expected_load"] is None
    assert setting["cost"]["packets"] is None
    assert setting["cost"]["cpu_s"] is None
    assert "not foreseeable" in str(diagnosis)


def test_a_forecast_is_of_every_link() -> None:
    network = Network.resolve(closed_loop().points()[0].json, 1)
    seen = doctor_random.forecast(network, ["closed-loop"])
    assert len(seen.load_bps) == len(seen.lost) == len(seen.doubt) == len(network.links)
    assert (seen.load_bps > 0).all()


@pytest.mark.parametrize(("quick_acks", "each_s"), [(16, 0.0327), (0, 0.1327)])
def test_who_acknowledges_at_once_does_not_wait(quick_acks: int, each_s: float) -> None:
    """Files of one packet, 20 ms of path and 12 of thought; the acknowledgement of each at once, or 100 ms later."""
    tcp = {"profile": "linux", "delayed_ack": "100 ms", "quick_acks": quick_acks}
    link = {"name": "l", "rate": "10 Mbit/s", "delay": "10 ms", "buffer": "50 packets"}
    table = {"kind": "closed-loop", "size": "500 B", "think": "12 ms", "connection": "kept", "tcp": tcp}
    network = {"template": "path", "links": [link]}
    scenario = pl.Scenario({"duration": "60 s", "network": network, "traffic": [table]})
    load = pl.doctor(scenario).settings[0]["core"]["expected_load"]
    utilisation = pl.run(scenario).links["l"].utilisation
    assert load == pytest.approx(utilisation, rel=0.1)
    assert utilisation == pytest.approx((500 + 52) * 8 / each_s / 10e6, rel=0.1)


def test_a_queue_without_limit_goes_on_after_its_sources_stop() -> None:
    """4 Mbit/s for a second over 1 Mbit/s without a limit: the next link, of half of that, has 4 s of 1 Mbit/s."""
    links = [
        {"name": "a", "rate": "1 Mbit/s", "delay": "1 ms"},
        {"name": "b", "rate": "500 kbit/s", "delay": "1 ms", "buffer": "20 packets"},
    ]
    table = {"kind": "cbr", "rate": "4 Mbit/s", "packet": "500 B", "stop": "1 s"}
    scenario = pl.Scenario({"duration": "10 s", "network": {"template": "path", "links": links}, "traffic": [table]})
    setting = pl.doctor(scenario).settings[0]
    link = pl.run(scenario).links["b"]
    assert setting["cost"]["packets"] == pytest.approx(500, rel=0.1)
    assert setting["core"]["expected_load"] == pytest.approx(link.utilisation, rel=0.1)
