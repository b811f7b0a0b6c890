"""Scenarios that between them have every key of every table, for test_schema.py."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import paceline as pl
from conftest import TINY
from paceline import _core
from paceline.scenario import shipped_files

ROOT = Path(__file__).parent.parent
Document = dict[str, Any]
Place = tuple[str | int, ...]

#: What the scenarios and the page leave out, so that every key of every table stands somewhere.
REST = """\
duration = "9 s"
[network]
template = "path"
counts = "waiting"
ties = "random"
core = "b"
reverse = [{ rate = "1 Mbit/s", delay = "1 ms" }, { rate = { trace = "TRACE" }, delay = "1 ms" }]
[[network.links]]
name = "a"
rate = { states = ["10 Mbit/s", "1 Mbit/s"], hold = ["2 s", "500 ms"] }
delay = "1 ms"
drop = "front"
[[network.links]]
name = "b"
rate = { steps = [["0 s", "10 Mbit/s"], ["5 s", "0 bit/s"]], every = "8 s" }
delay = "1 ms .. 2 ms"
buffer = "9 packets"
pacer_buffer = "20 KB"
queue = "codel"
ties = "departure"
counts = "waiting"
jitter = { mean = "2 ms", spread = "1 ms", shape = "normal", reorder = true }
police = { rate = "9 Mbit/s", burst = "15 KB" }
[[traffic]]
kind = "cvec"
file = "CVEC"
speed = 2
windows = false
[[traffic]]
kind = "pcap"
file = "PCAP"
speed = 0.5
interface = 0
header = "40 B"
stop = "8 s"
ecn = "ect0"
[[traffic]]
kind = "self-similar"
mean = "1 Mbit/s"
min = "100 kbit/s"
max = "2 Mbit/s"
deviation = "100 kbit/s"
hurst = 0.8
slot = "10 ms"
packet = "1000 B"
class = 3
[[traffic]]
kind = "on-off"
rate = "1 Mbit/s .. 2 Mbit/s"
on = { pareto = { mean = "50 ms", shape = 1.5 } }
off = { uniform = "10 ms .. 20 ms" }
packet = "1000 B"
[[traffic]]
kind = "rpc"
request = { fixed = "200 B" }
response = { pareto = { min = "2 KB", shape = 2 } }
think = { exponential = { mean = "1 s" } }
calls = 3
count = 2
from = "left"
to = ["right.0"]
[[traffic]]
kind = "closed-loop"
size = { exponential = "9 KB" }
think = "10 ms"
connection = "kept"
files = 4
start = "1 s"
[[pacing]]
method = "edge"
at = "a"
delay = "1 ms"
release = "finish"
acks = false
share = 1
[[pacing]]
method = "none"
gain = 3
[[pacing]]
method = "host"
rule = "linux"
gain = 1
jitter = 0.1
quantum = "2 packets"
share = 0
[[pacing]]
method = "port"
gain = 0.5
cap = "1 Mbit/s"
per_flow = false
share = 0
[[pacing]]
method = "edge 10 ms"
at = "b.reverse"
[[drop]]
link = "a"
bursts = { loss = 0.01, length = 4 }
[[drop]]
link = "a"
bursts = { p = 0.002, r = 0.25, good = 0, bad = 1 }
[[drop]]
link = "b"
flow = 0
arrivals = [14]
[[mark]]
link = "b"
probability = 0.1
[[memory]]
links = ["b"]
size = "90 KB"
alpha = 2
[probes]
departures = {}
bursts = [{ gap = "1 ms", of = "flow" }, {}]
fairness = { window = "1 s", every = "500 ms" }
"""
CODEL = {"target": "5 ms", "interval": "90 ms", "mtu": "1500 B", "ecn": "drop", "ce_threshold": "1 ms"}
PIE = {"discipline": "pie", "target": "9 ms", "update": "9 ms", "burst": "90 ms", "mtu": "1500 B"}
PIE |= {"ecn": "mark", "derandomise": "on"}
RED = {"discipline": "red", "thresh": "3 packets", "maxthresh": "9 packets", "q_weight": 0.002, "max_p": 0.1}
RED |= {"mean_packet": "500 B", "unit": "packets", "bytes": "no", "gentle": "yes", "wait": "yes", "adaptive": "yes"}
RED |= {"alpha": 0.01, "beta": 0.9, "top": 0.5, "bottom": 0.01, "ecn": "always", "mark_p": 0.1, "use_mark_p": "yes"}
RED |= {"ns2_draws": 4}
#: A graph, whose keys stand at the top.
GRAPH = """\
duration = "9 s"
[network]
template = "graph"
[[node]]
name = "a"
kind = "host"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
kind = "host"
[[link]]
from = "a"
to = "r"
rate = "9 Mbit/s"
delay = "1 ms"
reverse = true
[[link]]
name = "out"
from = "r"
to = "b"
rate = "9 Mbit/s"
delay = "1 ms"
reverse = { rate = "1 Mbit/s", delay = "1 ms" }
[[route]]
from = "a"
to = "b"
via = ["r"]
[[traffic]]
kind = "bulk"
from = "a"
to = "b"
size = "90 packets"
"""
#: Tables of disciplines, methods and templates that no scenario has, as they replace a part of a small one.
PARTS: list[tuple[Place, Any]] = [
    (("network", "receivers"), 2),
    (("network", "core", "reverse_buffer"), "9 packets"),
    (("network", "core", "queue"), {"discipline": "drop-tail"}),
    (("network", "core", "queue"), CODEL | {"discipline": "codel"}),
    (("network", "core", "queue"), CODEL | {"discipline": "fq-codel", "quantum": "2 KB"}),
    (("network", "core", "queue"), PIE),
    (("network", "core", "queue"), RED),
    (("network", "core", "queue"), {"discipline": "dualpi2", "target": "9 ms", "max_rtt": "90 ms", "step": "1 ms"}),
    (
        ("probes",),
        {"rate_variation": {"at": "arrival", "finest": "1 ms", "coarsest": "90 ms", "from": "1 s", "to": "3 s"}},
    ),
    (("network", "core", "queue"), {"discipline": "drop-front"}),
    (("network", "core", "queue"), {"discipline": "drr", "quanta": ["2 KB", "9 KB"], "limits": "9 packets"}),
    (("pacing",), {"method": "token-bucket", "rate": "9 Mbit/s", "burst": "9 KB", "at": "core"}),
    (("pacing",), {"method": "qlbp", "mu_min": "1 Mbit/s", "mu_max": "9 Mbit/s", "q_max": "9 KB"}),
    (("pacing",), {"method": "qlbp", "load": 0.9, "max_delay": "9 ms"}),
]


def samples(folder: Path) -> list[Document]:
    """All of them; files that they name are put into `folder`."""
    found = [tomllib.loads(text) for text in shipped_files.texts().values()]
    page = (ROOT / "docs" / "scenarios.md").read_text()
    found += [tomllib.loads(one) for one in re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]
    for place, value in PARTS:
        document = tomllib.loads(TINY) | {"probes": {}}
        put(document, place, value)
        found.append(document)
    return [*found, _every_option(), tomllib.loads(GRAPH), tomllib.loads(_with_files(folder))]


def put(document: Any, place: Place, value: Any) -> None:
    """Sets the value at a place."""
    for key in place[:-1]:
        document = document[key]
    document[place[-1]] = value


def _every_option() -> Document:
    document = tomllib.loads(TINY)
    tcp: Document = {"profile": "ns2", "initial_ssthresh": "20 packets", "tick_phase": "1 ms"}
    for option in json.loads(_core.tcp_options())[0]["options"]:
        if option["value"] is not None:
            tcp[option["option"]] = tomllib.loads(f"x = {option['written']}")["x"]
    put(document, ("traffic", 0, "tcp"), tcp)
    return document


def _with_files(folder: Path) -> str:
    (folder / "trace").write_text("1\n2\n3\n")
    pl.run(pl.Scenario(tomllib.loads(TINY)).set("duration", "2 s"), trace=folder / "flow.pcap")
    cvec = ROOT / "crates" / "sim" / "tests" / "small.cvec"
    text = REST
    for name, path in {"TRACE": folder / "trace", "PCAP": folder / "flow.pcap", "CVEC": cvec}.items():
        text = text.replace(f'"{name}"', json.dumps(str(path)))
    return text
