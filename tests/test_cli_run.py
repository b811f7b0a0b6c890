"""What `paceline run` prints and writes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from conftest import Command

LINK = {
    "throughput_bps",
    "utilisation",
    "arrived_packets",
    "dropped_packets",
    "loss_ratio",
    "tied_packets",
    "tied_drops",
    "queue_mean_bytes",
    "queue_p99_bytes",
}
FLOWS = {
    "count",
    "goodput_mean_bps",
    "goodput_p05_bps",
    "goodput_active_bps",
    "jain",
    "retransmits",
    "timeouts",
    "window_cuts",
    "transfers",
    "fct_mean_s",
    "fct_p99_s",
    "fct_data_mean_s",
    "fct_data_p99_s",
    "delay_mean_s",
    "delay_p99_s",
    "network_delay_mean_s",
}
ENGINE = {"kind", "method", "threads", "wall_s", "cpu_s", "core_packets"}


def runs(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)
    assert isinstance(parsed, list)
    return parsed


def without_engine(found: list[dict[str, Any]]) -> str:
    return json.dumps([{key: value for key, value in run.items() if key != "engine"} for run in found])


def test_json_keeps_its_contract(command: Command, tiny: Path) -> None:
    (run,) = runs(command("run", tiny, "--json"))
    assert list(run) == ["settings", "seed", "window_s", "links", "flows", "groups", "engine"]
    assert (run["settings"], run["seed"], run["window_s"]) == ({}, 1, [1.0, 4.0])
    assert "core" in run["links"]
    assert all(set(link) == LINK for link in run["links"].values())
    assert set(run["flows"]) == FLOWS
    assert set(run["engine"]) == ENGINE
    core = run["links"]["core"]
    assert 0 < core["utilisation"] <= 1
    assert core["throughput_bps"] == core["utilisation"] * 10e6
    assert core["loss_ratio"] == core["dropped_packets"] / core["arrived_packets"]
    assert run["flows"]["count"] == 4
    assert sorted(tiny.parent.iterdir()) == [tiny], "--json alone writes nothing"


def test_what_does_not_exist_is_null(command: Command, tiny: Path) -> None:
    (run,) = runs(command("run", tiny, "--json"))
    assert run["flows"]["fct_mean_s"] is None
    assert run["flows"]["goodput_active_bps"] is None
    assert run["groups"].get("paced") is None
    (idle,) = runs(command("run", tiny, "--json", "--set", "traffic.bulk.start=3.999 s", "--set", "warmup=0 s"))
    assert idle["flows"]["delay_mean_s"] is None
    assert idle["links"]["core"]["loss_ratio"] is None


def test_groups_where_a_share_is_paced(command: Command, tiny: Path) -> None:
    pacing = 'pacing={ method = "host", share = 0.5 }'
    (run,) = runs(command("run", tiny, "--json", "--set", pacing))
    assert set(run["groups"]) == {"paced", "unpaced"}
    assert all(set(group) == FLOWS for group in run["groups"].values())
    assert [run["groups"][name]["count"] for name in ("paced", "unpaced")] == [2, 2]


def test_a_sweep_runs_every_combination_in_order(command: Command, tiny: Path) -> None:
    found = runs(
        command(
            "run",
            tiny,
            "--json",
            "--sweep",
            "pacing=none,{ method = 'edge', delay = '5 ms' }",
            "--sweep",
            "network.core.buffer=5 KB,20 KB",
            "--seeds",
            "2",
        )
    )
    assert [(*run["settings"].values(), run["seed"]) for run in found] == [
        (pacing, buffer, seed) for pacing in ("none", "edge 5 ms") for buffer in ("5 KB", "20 KB") for seed in (1, 2)
    ]
    assert list(found[0]["settings"]) == ["pacing", "network.core.buffer"]


def test_the_number_of_workers_changes_nothing(command: Command, tiny: Path) -> None:
    sweep = ("run", tiny, "--json", "--sweep", "network.core.buffer=5 KB,20 KB", "--seeds", "3", "--jobs")
    assert without_engine(runs(command(*sweep, "1"))) == without_engine(runs(command(*sweep, "2")))


def test_engines_change_nothing(command: Command, tiny: Path) -> None:
    found = {engine: runs(command("run", tiny, "--json", "--engine", engine)) for engine in ("windowed", "reference")}
    assert [run["engine"]["method"] for one in found.values() for run in one] == ["windowed", "reference"]
    assert without_engine(found["windowed"]) == without_engine(found["reference"])
    traces = {}
    for engine in found:
        trace = tiny.parent / f"{engine}.csv"
        traced = runs(command("run", tiny, "--json", "--engine", engine, "--trace", trace))
        assert (traced[0]["engine"]["method"], without_engine(traced)) == (engine, without_engine(found[engine]))
        traces[engine] = trace.read_bytes()
    assert traces["windowed"] == traces["reference"]
    no_time = ("--set", "network.core.delay=0 ms", "--set", "network.access.delay=0 ms")
    refused = command("run", tiny, "--json", "--engine", "windowed", *no_time)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "the windowed engine cannot run this" in refused.stderr


def test_threads_change_nothing(command: Command, tiny: Path) -> None:
    wide = ("run", tiny, "--json", "--engine", "windowed", "--set", "network.access.hosts=200", "--set", "probes={}")
    results = {n: command(*wide, "--threads", str(n)) for n in (1, 2)}
    found = {n: runs(result) for n, result in results.items()}
    assert [run["engine"]["threads"] for one in found.values() for run in one] == [1, 2]
    assert without_engine(found[1]) == without_engine(found[2])
    on_one = command("run", tiny, "--json", "--engine", "reference", "--threads", "2")
    assert "--threads: 1 of 1 runs used one thread" in on_one.stderr


def test_results_are_written_and_found_again(command: Command, tiny: Path) -> None:
    arguments = ("run", tiny, "--out", "out", "--seeds", "2", "--sweep", "pacing=none,host")
    first = command(*arguments)
    assert first.returncode == 0, first.stderr
    out = tiny.parent / "out"
    table = pq.read_table(out / "runs.parquet")
    assert table.num_rows == 4
    assert table["settings.pacing"].to_pylist() == ["none", "none", "host", "host"]
    assert table["seed"].to_pylist() == [1, 2, 1, 2]
    assert "links.core.throughput_bps" in table.column_names
    flows = pq.read_table(out / "flows.parquet")
    assert flows.num_rows == 16
    assert flows["run"].to_pylist() == [run for run in range(4) for _ in range(4)]
    assert {"time_ns", "link", "kind", "bytes"} <= set(pq.read_table(out / "series.parquet").column_names)
    assert {"instrument", "x", "y"} <= set(pq.read_table(out / "instruments.parquet").column_names)
    assert "--seeds" not in (out / "scenario.toml").read_text()
    assert "host" in (out / "scenario.toml").read_text()
    again = command(*arguments)
    assert "4 of 4 runs were in out already" in again.stderr
    assert again.stdout == first.stdout
    more = command("run", tiny, "--out", "out", "--seeds", "3", "--sweep", "pacing=none,host", "--json")
    assert "4 of 6 runs were in out already" in more.stderr
    assert [run["seed"] for run in runs(more)] == [1, 2, 3] * 2


def test_results_stay_where_they_are_by_default(command: Command, tiny: Path) -> None:
    assert command("run", tiny).returncode == 0
    assert (tiny.parent / "results" / "tiny" / "runs.parquet").is_file()


def test_a_pipe_gets_plain_text(command: Command, tiny: Path) -> None:
    done = command("run", tiny, "--seeds", "3")
    assert "\x1b" not in done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2, "a head and a row"
    assert "core throughput" in lines[0]
    assert "±" in lines[1]
    assert "\r" not in done.stderr


def test_a_terminal_shows_progress_and_keeps_to_no_color(tiny: Path) -> None:
    output = on_terminal(tiny, {"NO_COLOR": "1"})
    assert "core throughput" in re.sub(r"\s+", " ", output)
    assert not re.search(r"\x1b\[[0-9;]*3[0-8]", output), "a colour"
    assert "tiny" in output


def on_terminal(scenario: Path, environment: dict[str, str]) -> str:
    """All that the command writes to a terminal of 200 columns."""
    controller, terminal = pty.openpty()
    environment = os.environ | {"COLUMNS": "200", "TERM": "xterm-256color"} | environment
    arguments = [sys.executable, "-m", "paceline", "run", str(scenario), "--set", "duration=60 s", "--seeds", "2"]
    with subprocess.Popen(
        arguments, stdout=terminal, stderr=terminal, stdin=terminal, env=environment, cwd=scenario.parent
    ) as process:
        os.close(terminal)
        chunks = []
        while True:
            try:
                chunk = os.read(controller, 65536)
            except OSError:  # how Linux says that the other side is closed
                break
            if not chunk:
                break
            chunks.append(chunk)
    os.close(controller)
    assert process.returncode == 0, b"".join(chunks)
    return b"".join(chunks).decode()


def test_a_reader_that_stops_is_no_failure(tiny: Path) -> None:
    script = f"{sys.executable} -m paceline run {tiny} --json --quiet --seeds 20 | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_is_a_failure_in_one_line(tiny: Path) -> None:
    script = f"{sys.executable} -m paceline run {tiny} --json --quiet > /dev/full"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == "paceline: standard output: No space left on device\n"


def test_json_needs_little_memory(tiny: Path) -> None:
    # From a small process: a child's maximum counts what its parent held before it began.
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    arguments = [sys.executable, "-c", script, sys.executable, "-m", "paceline", "run", str(tiny), "--json"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 60_000, "kB"


def test_the_command_starts_without_what_it_does_not_need() -> None:
    heavy = {"numpy", "pyarrow", "matplotlib", "rich", "jinja2", "pandas"}
    script = "import sys, paceline.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.split())


def test_help_has_examples(command: Command) -> None:
    assert "paceline run scenarios/one-flow.toml" in command("run", "--help").stdout
    assert command("--help").returncode == 0
    assert command("version").stdout.startswith("paceline ")
