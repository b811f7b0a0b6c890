"""Over random scenarios that the core accepts: the doctor never fails, and what it says points into the file."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import paceline as pl
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from paceline.doctor.checks import CHECKS
from paceline.doctor.text_report import as_text

RATES = st.sampled_from(["64 kbit/s", "1 Mbit/s", "10 Mbit/s", "10 Mbit/s .. 20 Mbit/s", "100 Mbit/s", "10 Gbit/s"])
DELAYS = st.sampled_from(["0 s", "10 us", "1 ms", "1 ms .. 5 ms", "100 ms", "10 s"])
BUFFERS = st.sampled_from(["0 B", "1 packet", "2 packets", "5 KB", "7500 B", "0.1 BDP", "2 BDP", "1 GB"])
COUNTS = st.sampled_from(["waiting", "waiting+service", "ns2"])
DECLARED = {(check.id, severity) for check in CHECKS for severity in check.severities}


@st.composite
def links(draw: st.DrawFn, **more: Any) -> dict[str, Any]:
    link: dict[str, Any] = {"rate": draw(RATES), "delay": draw(DELAYS)}
    for key, values in (("buffer", BUFFERS), ("reverse_buffer", BUFFERS), ("counts", COUNTS)):
        if draw(st.booleans()):
            link[key] = draw(values)
    if draw(st.integers(0, 3)) == 0:
        link["pacer_buffer"] = draw(st.sampled_from(["1 packet", "10 packets", "3 KB"]))
    if draw(st.integers(0, 3)) == 0:
        link["drop"] = "front"
    return link | more


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    template = draw(st.sampled_from(["dumbbell", "path", "tandem", "parking-lot"]))
    hosts = st.integers(1, 12)
    if template == "path":
        return {"template": template, "links": draw(st.lists(links(), min_size=1, max_size=4))}
    if template == "dumbbell":
        network: dict[str, Any] = {"template": template, "core": draw(links())}
        with_edges = draw(st.booleans())
        if with_edges:
            network["edge"] = draw(links(count=2))
        access = links(**{"per_edge" if with_edges else "hosts": draw(hosts)})
        network["access"] = draw(st.one_of(access, st.lists(access, min_size=1, max_size=2)))
        return network
    chain = {"template": template, "hops": draw(st.integers(1, 3)), "link": draw(links())}
    chain["access"] = draw(links(hosts=draw(hosts)))
    return chain if template == "tandem" else chain | {"cross": draw(links(hosts=draw(hosts)))}


@st.composite
def traffic(draw: st.DrawFn, name: str) -> dict[str, Any]:
    start = draw(st.sampled_from(["0 s", "1 s", "0 s .. 3 s"]))
    table: dict[str, Any] = {"name": name, "start": start, "count": draw(st.integers(1, 3))}
    if draw(st.booleans()):
        packet = {"rate": draw(RATES), "packet": draw(st.sampled_from(["40 B", "1000 B", "9000 B"]))}
        return table | packet | {"kind": draw(st.sampled_from(["cbr", "poisson"]))}
    tcp = {"profile": draw(st.sampled_from(["ns2", "rfc"])), "limited_transmit": draw(st.booleans())}
    if draw(st.booleans()):
        tcp["max_window"] = draw(st.sampled_from(["1 packet", "7 packets", "100000 packets"]))
    if draw(st.booleans()):
        table["size"] = draw(st.sampled_from(["1 packet", "100 KB"]))
    return table | {"kind": "bulk", "tcp": tcp}


PACINGS = st.sampled_from(
    [
        "none",
        "host",
        "port",
        {"method": "host", "rule": "linux", "gain": 2.0},
        {"method": "host", "rule": "wei", "share": 0.3, "jitter": 0.1},
        {"method": "port", "per_flow": False},
        {"method": "edge", "delay": "0 s"},
        {"method": "edge", "delay": "10 ms", "acks": True},
        {"method": "edge", "delay": "2 s", "release": "finish", "share": 0.5},
        {"method": "qlbp", "load": 0.5, "max_delay": "5 ms"},
        {"method": "qlbp", "mu_min": "10 kbit/s", "mu_max": "50 kbit/s", "q_max": "5 packets"},
        {"method": "token-bucket", "rate": "500 kbit/s", "burst": "20 KB"},
        {"method": "token-bucket", "rate": "50 Mbit/s", "burst": "0 B"},
    ]
)


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    network = draw(networks())
    pacing = draw(PACINGS)
    if network["template"] != "dumbbell" and isinstance(pacing, dict) and pacing["method"] not in ("host", "port"):
        at = {"path": "link.0", "tandem": "access.l.*", "parking-lot": "hop.*"}[network["template"]]
        pacing = pacing | {"at": at}
    document: dict[str, Any] = {
        "duration": draw(st.sampled_from(["5 s", "100 s"])),
        "warmup": draw(st.sampled_from(["0 s", "2 s"])),
        "network": network,
        "traffic": [draw(traffic(f"t{number}")) for number in range(draw(st.integers(1, 2)))],
        "pacing": pacing,
    }
    if network["template"] == "parking-lot":
        for table in document["traffic"]:
            table["from"] = draw(st.sampled_from(["through", "cross.0"]))
    if draw(st.integers(0, 3)) == 0:
        document["sweep"] = {"warmup": ["1 s", "3 s"], "seeds": draw(st.integers(1, 3))}
    if draw(st.integers(0, 5)) == 0:
        document["drop"] = [{"link": "core" if network["template"] == "dumbbell" else "link.0", "probability": 1.0}]
    return document


@settings(
    max_examples=1000 if os.environ.get("PACELINE_FULL") else 100,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(scenarios(), st.integers(0, 5))
def test_it_never_fails(document: dict[str, Any], seed: int) -> None:
    try:
        diagnosis = pl.doctor(pl.Scenario(document), seed)
    except pl.InputError:  # the core refuses it, perhaps only as this seed draws it
        assume(False)
    told = json.loads(diagnosis.to_json())
    assert len(told["settings"]) == len(diagnosis.settings)
    text = as_text(diagnosis)
    assert all(line == line.rstrip() for line in text.splitlines())
    for finding in diagnosis.findings:
        assert (finding.id, finding.severity) in DECLARED
        assert points_into(document, finding.where), finding.where
        assert finding.id in text
        for words in (finding.what, finding.why, finding.instead):
            assert words == words.strip()
            assert "nan" not in words.split()
            assert "\n" not in words


def points_into(document: dict[str, Any], where: str) -> bool:
    """All but the last key are there: that one may be what is missing."""
    if where.startswith(("sweep.", "pacing")):
        return "sweep" in document or "pacing" in document
    keys = where.replace("[", ".").replace("]", "").split(".")
    here: Any = document
    for key in keys[:-2] if keys[-2:-1] == ["tcp"] else keys[:-1]:
        here = here[int(key)] if isinstance(here, list) else here.get(key)
        if here is None:
            return False
    return True


def test_ten_thousand_flows_take_seconds() -> None:
    """Grouping keeps it fast: the paper's network, ten times as wide."""
    scenario = wide()
    before = time.process_time()
    text = str(pl.doctor(scenario))
    assert time.process_time() - before < 20
    assert "10000 flows" in text
    assert len(text.splitlines()) < 60


def wide() -> pl.Scenario:
    return pl.dumbbell(
        core={"rate": "1 Gbit/s", "delay": "20 ms", "buffer": "50 packets"},
        edge={"count": 10, "rate": "1 Gbit/s .. 2 Gbit/s", "delay": "1 ms .. 5 ms"},
        access={"per_edge": 1000, "rate": "8 Mbit/s .. 12 Mbit/s", "delay": "1 ms .. 5 ms"},
        pacing="edge 2 ms",
    )
