"""Seeds that repeat one run give no interval: nowhere a certainty out of nothing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from conftest import TINY, Command
from paceline.papers import criteria
from paceline.report import render
from paceline.report.study_sources import load
from paceline.results import repeated_runs

#: Half of what the bottleneck carries, at a constant rate; nothing is drawn.
STEADY: dict[str, Any] = {
    "title": "steady",
    "duration": "4 s",
    "warmup": "1 s",
    "network": {
        "template": "path",
        "counts": "ns2",
        "links": [{"name": "link", "rate": "2 Mbit/s", "delay": "5 ms", "buffer": "10 packets"}],
    },
    "traffic": [{"kind": "cbr", "rate": "1 Mbit/s", "packet": "1000 B"}],
}
#: A range of one value draws nothing.
EMPTY_RANGE = STEADY | {"traffic": [{"kind": "cbr", "rate": "1 Mbit/s", "packet": "1000 B", "start": "0 s .. 0 s"}]}
SWEEP = {"traffic.0.kind": ["cbr", "poisson"]}


def test_an_interval_needs_runs_that_differ() -> None:
    results = pl.sweep(STEADY, SWEEP, seeds=3)
    steady, drawn = (results.where({"traffic.0.kind": kind}) for kind in ("cbr", "poisson"))
    found = steady.interval("links.link.throughput_bps")
    assert found is not None
    assert (found.mean, found.half, found.count) == (pytest.approx(1e6, rel=1e-3), None, 1)
    assert steady.repeats
    assert not drawn.repeats
    assert not steady[:1].repeats
    there = drawn.interval("links.link.throughput_bps")
    assert there is not None
    assert there.half
    # what does not vary between runs that differ is still a number over three of them
    lossless = drawn.interval("links.link.loss_ratio")
    assert lossless is not None
    assert lossless.count == 3
    assert results.repetition == (
        "1 of 2 settings gave the same run under every seed, and have no interval (traffic.0.kind = cbr); "
        'run one seed; or have something drawn, as delay = "4 ms .. 6 ms"'
    )
    assert drawn.repetition is None
    assert "all 3 seeds gave the same run: nothing that is drawn makes a difference" in (steady.repetition or "")
    page = results._repr_html_()
    assert page.count("1 of 2 settings gave the same run".capitalize()) == 1
    assert "±" not in steady._repr_html_()


def test_settings_are_not_pooled() -> None:
    over = {"pacing": ["none", "host"], "network.core.buffer": ["5 KB", "20 KB"]}
    results = pl.sweep(tomllib.loads(TINY), over, seeds=2)
    with pytest.raises(pl.InputError) as caught:
        results.interval("flows.jain")
    assert str(caught.value) == (
        "interval: these runs are of 4 settings, which differ in pacing and network.core.buffer; select one, as "
        'results.where({"pacing": "none", "network.core.buffer": "5 KB"}), or go through results.by_settings()'
    )
    with pytest.raises(pl.InputError, match=r"2 settings, which differ in pacing; .*\{\"pacing\": \"none\"\}"):
        results.where({"network.core.buffer": "5 KB"}).interval("flows.jain")
    chosen = results.where({"pacing": "none", "network.core.buffer": "5 KB"}).interval("flows.jain")
    assert chosen is not None
    assert chosen.count == 2


def test_the_command_says_why(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "steady.toml"
    file.write_text(pl.Scenario(STEADY).to_toml())
    said = "paceline: all 5 seeds gave the same run: nothing that is drawn makes a difference, so there is no interval;"
    done = command("run", file, "--seeds", "5", "--out", "out")
    assert "±" not in done.stdout
    assert done.stderr.startswith(said)
    as_json = command("run", file, "--seeds", "5", "--json")
    assert as_json.stderr.startswith(said)
    assert len(json.loads(as_json.stdout)) == 5
    # five seeds that are one run are known to nothing, and more of them to no more
    until = command("run", file, "--until-ci", "1%", "--json")
    assert len(json.loads(until.stdout)) == 5
    assert until.stderr.startswith(said)
    assert "±" not in command("run", file, "--sweep", "pacing=none,edge delay = 5 ms, at = link", "--seeds", "2").stdout


def test_a_report_marks_no_winner(tmp_path: Path) -> None:
    scenario = pl.Scenario(STEADY).over({"pacing": ["none", {"method": "edge", "delay": "5 ms", "at": "link"}]})
    pl.sweep(scenario, seeds=3, out=tmp_path)
    page = render(load(tmp_path))
    assert "±" not in page.replace("± 95 % interval</dt>", "")
    assert "All 3 seeds gave the same run of each setting" in page
    assert "class=&#34;best" not in page
    assert 'class="best"' not in page
    assert "the seeds do not tell them apart" not in page
    assert "in one run each: every seed repeats it" in page


def test_a_claim_has_no_interval_either() -> None:
    results = pl.sweep(STEADY, {"traffic.0.rate": ["1 Mbit/s", "1.5 Mbit/s"]}, seeds=3)
    low, high = (results.where({"traffic.0.rate": rate}) for rate in ("1 Mbit/s", "1.5 Mbit/s"))
    path = "links.link.throughput_bps"
    assert criteria.mean(low, path).half is None
    assert criteria.difference(high, low, path).half is None
    row = criteria.ahead("order", high, low, path)
    assert (row.ok, row.interval) == (False, None)


def test_instruments_have_no_band() -> None:
    scenario = STEADY | {"probes": {"rate_variation": {"links": ["link"]}}}
    table = pl.sweep(scenario, seeds=3).instrument("rate_variation", mean=True)
    assert set(table.column("half").to_pylist()) == {None}


def test_the_doctor_foresees_it() -> None:
    def findings(scenario: dict[str, Any], **over: Any) -> list[str]:
        swept = pl.Scenario(scenario).over(over).seeds(5) if over else pl.Scenario(scenario).seeds(5)
        return [one.what for one in pl.doctor(swept).findings if one.id == "seeds-without-chance"]

    assert findings(STEADY) == ["5 seeds, and nothing is drawn in the scenario"]
    assert findings(EMPTY_RANGE) == ["5 seeds, and nothing is drawn in the scenario"]
    assert findings(STEADY, **SWEEP) == ["5 seeds, and nothing is drawn in 1 of 2 settings"]
    rpc = {"kind": "rpc", "request": "100 B", "response": "20 KB", "think": "10 ms", "tcp": {"profile": "rfc"}}
    assert findings(STEADY | {"traffic": [rpc]}) == ["5 seeds, and nothing is drawn in the scenario"]
    assert not findings(STEADY | {"traffic": [rpc | {"think": {"exponential": "10 ms"}}]})


@pytest.mark.parametrize("kind", ["rpc", "closed-loop"])
def test_what_the_doctor_foresees_happens(kind: str) -> None:
    sizes = {"request": "100 B", "response": "20 KB"} if kind == "rpc" else {"size": "20 KB"}
    drawn = {("response" if kind == "rpc" else "size"): {"exponential": "20 KB"}}
    traffic = {"kind": kind, "think": "10 ms", "tcp": {"profile": "rfc"}} | sizes
    for change, repeated in (({}, True), (drawn, False)):
        scenario = pl.Scenario(STEADY | {"traffic": [traffic | change]}).seeds(3)
        assert pl.sweep(scenario).repeats is repeated
        assert bool([one for one in pl.doctor(scenario).findings if one.id == "seeds-without-chance"]) is repeated


def test_alike_is_every_number() -> None:
    run = pl.run(STEADY).to_dict()
    other = run | {"seed": 2, "engine": {}}
    assert repeated_runs.same([run, other])
    assert not repeated_runs.same([run])
    assert not repeated_runs.same([])
    changed = json.loads(json.dumps(other))
    changed["links"]["link"]["queue_mean_bytes"] += 1e-9
    assert not repeated_runs.same([run, other, changed])
