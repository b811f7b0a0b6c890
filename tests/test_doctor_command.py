"""`paceline doctor`: what it prints, its JSON, its exit codes, its page."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import paceline as pl
import pytest
from conftest import Command
from paceline.doctor.checks_page import page
from paceline.doctor.text_report import as_text

ROOT = Path(__file__).parent.parent
SOUND = """\
title = "sound"
duration = "60 s"
warmup = "20 s"

[network]
template = "dumbbell"
core = { rate = "20 Mbit/s", delay = "20 ms", buffer = "0.5 BDP" }
access = { hosts = 10, rate = "30 Mbit/s .. 40 Mbit/s", delay = "1 ms .. 5 ms" }

[[traffic]]
name = "bulk"
kind = "bulk"
start = "0 s .. 1 s"
"""


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.toml"
    path.write_text(SOUND)
    return path


def test_the_page_is_current() -> None:
    """`python -m paceline.doctor.checks_page` writes it again."""
    assert (ROOT / "docs" / "doctor.md").read_text() == page()


def test_ways_are_drawn_a_line_a_hop(command: Command, tmp_path: Path) -> None:
    one = ("--set", "pacing=edge 10 ms", "--set", "network.core.buffer=5 KB")
    done = command("doctor", ROOT / "scenarios/edge-vs-host.toml", *one)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert [line for line in lines if line.startswith("→ ")][:5] == [
        "→ access.l.* ×1000 8 .. 12 Mbit/s 1 .. 4.99 ms no limit",
        "→ edge.l.* ×10 100 Mbit/s 5.05 .. 13.1 ms [edge 10 ms] then no limit",
        "→ core 100 Mbit/s 100 ms 5 KB by ns2: 4 packets wait ← bottleneck",
        "→ edge.r.* ×10 100 Mbit/s 6.97 .. 13.3 ms no limit",
        "→ access.r.* ×1000 8 .. 12 Mbit/s 1 .. 5 ms no limit",
    ]


def test_the_ways_back_are_told_where_something_is_there() -> None:
    scenario = pl.Scenario.load(ROOT / "scenarios/one-flow.toml")
    paced = scenario.set("pacing", "edge at = bottleneck, delay = 1 ms, acks = true")
    assert "acknowledgements come back over access.reverse [edge 1 ms] no limit" in str(pl.doctor(paced))
    limited = scenario.set("network.links.bottleneck.reverse_buffer", "3 packets")
    assert "bottleneck.reverse 3 packets by ns2: 2 packets wait" in str(pl.doctor(limited))


def test_links_that_are_not_ideal_say_so() -> None:
    scenario = pl.Scenario.load(ROOT / "scenarios/one-flow.toml")
    link = "network.links.bottleneck"

    def line(key: str, value: object) -> str:
        lines = str(pl.doctor(scenario.set(f"{link}.{key}", value))).splitlines()
        return next(" ".join(line.split()) for line in lines if line.strip().startswith("→ bottleneck"))

    assert "[policer 5 Mbit/s, 20 KB] then" in line("police", {"rate": "5 Mbit/s", "burst": "20 KB"})
    assert "+ 2 ms ± 1 ms, reorders" in line("jitter", {"mean": "2 ms", "spread": "1 ms", "reorder": True})
    assert "4 Mbit/s by steps" in line("rate", {"steps": [["0 s", "6 Mbit/s"], ["1 s", "2 Mbit/s"]], "every": "2 s"})


def test_a_policer_is_what_a_link_can_carry() -> None:
    """No queue grows behind it, whatever the windows; and what it cannot carry is lost, not kept."""
    tables = {"name": "link", "rate": "100 Mbit/s", "delay": "5 ms", "police": {"rate": "10 Mbit/s", "burst": "30 KB"}}
    network = {"template": "path", "links": [tables]}
    bulk = {"kind": "bulk", "tcp": {"profile": "linux"}}
    found = pl.doctor(pl.Scenario({"duration": "20 s", "network": network, "traffic": [bulk]}))
    assert not [one for one in found.findings if one.id == "unlimited-bottleneck"]
    cbr = {"kind": "cbr", "rate": "20 Mbit/s", "packet": "1000 B"}
    found = pl.doctor(pl.Scenario({"duration": "20 s", "network": network, "traffic": [cbr]}))
    overload = next(one for one in found.findings if one.id == "overload")
    assert overload.severity == "warning"
    assert "50 %" in overload.why


def test_settings_of_a_sweep_stand_side_by_side(command: Command, tmp_path: Path) -> None:
    done = command("doctor", ROOT / "scenarios/edge-vs-host.toml", "--set", "network.access.per_edge=10")
    assert "5 KB: 4 | 10 KB: 9 | 20 KB: 19 packets wait, by ns2" in " ".join(done.stdout.split())
    assert "[unpaced | edge 10 ms | qlbp]" in done.stdout
    assert "60 runs: 12 settings under 5 seeds each" in done.stdout


def test_json(command: Command, tiny: Path) -> None:
    done = command("doctor", tiny, "--json", "--seed", "7")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["seed"] == 7
    assert told["settings"][0]["core"]["name"] == "core"
    finding = told["findings"][0]
    assert set(finding) == {"id", "severity", "where", "what", "why", "instead", "everywhere", "settings"}
    assert told == json.loads(pl.doctor(tiny, 7).to_json())


def test_the_seed_draws(tiny: Path) -> None:
    first, other = (pl.doctor(tiny, seed).settings[0]["rtt_s"] for seed in (1, 2))
    assert first != other
    assert first == pl.doctor(tiny).settings[0]["rtt_s"]


def test_exit_codes(command: Command, sound: Path) -> None:
    bad = ("--set", "network.core.buffer=1 packet")
    assert command("doctor", sound, "--strict").returncode == 0
    assert "Nothing odd found." in command("doctor", sound).stdout
    assert command("doctor", sound, *bad).returncode == 0
    assert command("doctor", sound, *bad, "--strict").returncode == 1
    note = ("--set", "traffic.0.start=0 s")
    assert command("doctor", sound, *note, "--strict").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--set", "network.core.bufer=5 KB"), '--set network.core.bufer: unknown key; did you mean "buffer"?'),
        (("--seed", "x"), '--seed: "x" is not a seed'),
        (("--seed", "-1"), "--seed: -1 is not a seed"),
        (
            ("--set", "network.core.buffer=1 packets", "--set", "network.counts=ns2"),
            '--set network.core.buffer: "1 packet" takes no packet at all',
        ),
    ],
)
def test_wrong_input(command: Command, tiny: Path, arguments: tuple[str, ...], line: str) -> None:
    done = command("doctor", tiny, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"paceline: {line}")
    assert done.stderr.count("\n") == 1


def test_colours_only_on_a_terminal(command: Command, tiny: Path) -> None:
    assert "\x1b" not in command("doctor", tiny, FORCE_COLOR="1").stdout
    assert "\x1b[" in on_a_terminal(tiny, {})
    assert "\x1b[" not in on_a_terminal(tiny, {"NO_COLOR": "1"})


def on_a_terminal(path: Path, environment: dict[str, str]) -> str:
    """What it writes where standard output is a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    base = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    environment = base | {"COLUMNS": "100", "TERM": "xterm"} | environment
    with subprocess.Popen(
        [sys.executable, "-m", "paceline", "doctor", str(path)], stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            written += chunk
    os.close(ours)
    assert process.returncode == 0
    return written.decode()


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_colours_change_no_letter(tiny: Path, terminal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", terminal)
    diagnosis = pl.doctor(tiny)
    bare = re.sub(r"\x1b\[[0-9;]*m", "", as_text(diagnosis, 90, colour=True))
    assert [line.rstrip() for line in bare.splitlines()] == as_text(diagnosis, 90).splitlines()


def test_python_takes_a_scenario_or_its_file(tiny: Path) -> None:
    assert pl.doctor(tiny).findings == pl.doctor(pl.Scenario.load(tiny)).findings
    assert pl.doctor(tiny).worst == "warning"
    with pytest.raises(pl.InputError, match="duration"):
        pl.doctor(pl.Scenario({"network": {}}))
