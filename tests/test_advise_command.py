"""`paceline advise` as it is used: on a terminal, interrupted, over a cluster, beside the kernel; and nonsense."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import paceline as pl
import pytest
from conftest import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from paceline.advise import page, verify, view
from paceline.advise.answer import Row, Verdict
from paceline.advise.evidence import Run
from paceline.advise.network import Length
from paceline.advise.reading import KEYS, read_question
from paceline.emulate import capabilities, programs

ASKED: dict[str, Any] = {"rate": "1 Gbit/s", "rtt": "10 ms .. 50 ms", "flows": 20, "within": "600 min"}
SMALL = ("advise", "--rate", "5 Mbit/s", "--rtt", "5 ms .. 15 ms", "--flows", "4")
ONE = ("--pacing", "none", "--no-changes")


def test_a_terminal_is_asked_for_what_is_missing_and_again_where_it_is_nonsense(tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [sys.executable, "-m", "paceline", "advise", "--flows", "4", *ONE]
    with subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=tmp_path, env=environment | {"COLUMNS": "80"}
    ) as process:
        os.close(terminal)
        said = until(controller, "How fast is the bottleneck")
        assert "10 Gbit/s" in said, "an example"
        os.write(controller, b"fast\n")
        assert "fast" in until(controller, "How fast is the bottleneck")
        os.write(controller, b"5 Mbit/s\n")
        until(controller, "Round-trip times")
        os.write(controller, b"5 ms .. 15 ms\n")
        rest = until(controller, None)
    assert process.returncode == 0, rest
    assert "How many flows" not in rest, "it was given"
    assert re.search(r"Give the core|Not settled|give the core", rest)
    assert max(map(len, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", rest).replace("\r", "\n").split("\n"))) <= 80


def until(terminal: int, words: str | None) -> str:
    """What is written to a terminal until it has these words, or to its end."""
    said = b""
    while words is None or words.encode() not in said:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not chunk:
            break
        said += chunk
    return said.decode()


def test_killed_and_resumed_it_answers_as_if_it_had_not_been(command: Command, tmp_path: Path) -> None:
    """Of a search that was interrupted the best so far is said, and every run is kept."""
    asked: tuple[str, ...] = (
        "advise",
        "--rate",
        "20 Mbit/s",
        "--rtt",
        "5 ms .. 15 ms",
        "--flows",
        "8",
        "--within",
        "600 min",
    )
    asked += ("--jobs", "1", "--no-changes")
    process = subprocess.Popen(
        [sys.executable, "-m", "paceline", *asked, "--out", "far"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        deadline = time.monotonic() + 120
        while len(list((tmp_path / "far" / "store").glob("[!.]*.zip"))) < 7:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    last = errors.splitlines()[-1]
    assert re.search(r"interrupted, so far: \d+ packets, .*; what has run is kept in far, and the same command", last)
    kept = len(list((tmp_path / "far" / "store").glob("[!.]*.zip")))
    answers = []
    for out in ("far", "near"):
        done = command(*asked, "--out", out, "--json")
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        answers.append({name: value for name, value in answer.items() if name not in ("cpu_s", "wall_s")})
    assert answers[0] == answers[1]
    assert 7 <= kept < answers[0]["runs"]
    stored = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "far" / "store").glob("[!.]*.zip")}
    again = command(*asked, "--out", "far", "--json")
    assert json.loads(again.stdout)["sentence"] == answers[0]["sentence"]
    now = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "far" / "store").glob("[!.]*.zip")}
    assert now == stored, "what was asked before is answered without a run"


def test_a_cluster_answers_the_same(command: Command, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs dask.distributed")
    asked = (*SMALL, *ONE, "--within", "600 min", "--json")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp://", dashboard_address=None
    ) as cluster:
        far = command(*asked, "--dask", cluster.scheduler_address)
    near = command(*asked)
    assert far.returncode == near.returncode == 0, far.stderr + near.stderr
    answers = [json.loads(one.stdout) for one in (far, near)]
    assert answers[0]["best"] == answers[1]["best"]
    assert answers[0]["tried"] == answers[1]["tried"]


def test_what_cannot_be_run_on_the_kernel_is_said(command: Command, tmp_path: Path) -> None:
    asked = ("advise", "--rate", "1 Gbit/s", "--rtt", "2 ms", "--flows", "20", *ONE, "--verify", "--json")
    done = command(*asked, "--within", "3 s")
    assert done.returncode == 0, done.stderr
    kernel = json.loads(done.stdout)["kernel"]
    assert kernel["status"] == "not run"
    assert kernel["said"].startswith("Not run on the kernel: 1 Gbit/s and 20 flows are more than a machine emulates")


@pytest.mark.parametrize(
    ("measured", "status"),
    [
        (((0.98, 0.97, 0.98), (0.90, 0.91, 0.90)), "held"),
        (((0.90, 0.91, 0.90), (0.98, 0.97, 0.98)), "reversed"),
        (((0.98, 0.90, 0.94), (0.93, 0.95, 0.96)), "open"),
    ],
)
def test_the_kernel_holds_an_order_only_beyond_its_noise(measured: Any, status: str) -> None:
    question = read_question(ASKED | {"buffer": ["5 packets", "50 packets"], "pacing": "none"})
    small, large = question.candidates
    found = {
        (kind, one): dict(enumerate(values))
        for kind in ("kernel", "simulation")
        for one, values in zip((large, small), measured, strict=True)
    }
    verified = verify.judged("utilisation", large, small, found)
    assert verified.status == status
    assert "50 packets without pacing, against 5 packets without pacing: " in verified.said


@pytest.mark.parametrize(
    ("late", "status", "said"),
    [
        (set(), "held", "3 seeds each"),
        ({(2, 1)}, "held", "3 seeds each"),  # made once more, and then in time
        ({(2, 1), (2, 2)}, "held", "2 seeds each; in 1 more the machine could not keep up"),
        (
            {(1, 1), (1, 2), (3, 1), (3, 2)},
            "not run",
            "could not keep up in 2 of 3 seeds, twice in each: packets were late by 900 us (p99, of 200 us at most). "
            "End what else runs on it, or ask on one with two idle processors of its own, as root.",
        ),
    ],
)
def test_runs_that_were_late_do_not_count(
    monkeypatch: pytest.MonkeyPatch, late: set[tuple[int, int]], status: str, said: str
) -> None:
    """Of the larger buffer, under a seed (1 to 3), at the first or the second time."""
    asked = ASKED | {"rate": "10 Mbit/s", "flows": 4, "buffer": ["1 packets", "40 packets"], "pacing": "none"}
    question = read_question(asked | {"bounds": ["utilisation >= 90 %"]})
    _, large = question.candidates
    times: dict[tuple[int, int], int] = {}

    def carry_out(scenario: Any, points: Any, *_: Any, **__: Any) -> Any:
        buffer = int(scenario.to_dict()["network"]["core"]["buffer"].split()[0])
        seed = points[0].seed
        times[buffer, seed] = times.get((buffer, seed), 0) + 1
        is_late = buffer == 40 and (seed, times[buffer, seed]) in late
        why = ["packets were late by 900 us (p99, of 200 us at most)"] if is_late else []
        core = {"utilisation": 0.99 if buffer == 40 else 0.8 + seed / 1000, "loss_ratio": 0.0, "queue_mean_bytes": 0}
        run = {"engine": {"valid": not is_late, "doubts": why}, "links": {"core": core}, "flows": {}}
        return SimpleNamespace(failures=[], runs=[run])

    monkeypatch.setattr("paceline.emulate.kernel_sweep.carry_out", carry_out)
    monkeypatch.setattr("paceline.emulate.capabilities.require", lambda *_: None)
    monkeypatch.setattr(verify, "_fitting", lambda _: Length(1.0, 19.0))
    simulated = Run({"utilisation": 0.9})
    monkeypatch.setattr(verify, "Simulator", lambda *_, **__: lambda pairs: dict.fromkeys(pairs, simulated))
    row = Row(large, {}, 6, True, True)
    verdict = Verdict("settled", row, None, None, None, [], [], [row], [], [], (True,))
    verified = verify.verify(question, verdict)
    assert verified.status == status
    assert said in verified.said


def _why_not() -> str:
    try:
        capabilities.require()
        for name in ("paceline-wires", "paceline-traffic"):
            programs.find(name)
    except pl.InputError as error:
        return str(error)
    return ""


@pytest.mark.skipif(bool(_why_not()), reason=_why_not() or "can")
def test_the_kernel_has_the_winner_ahead_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty packets against one: far enough apart for short runs."""
    monkeypatch.setattr(verify, "LASTS_S", 10.0)
    monkeypatch.setattr(verify, "SEEDS", 2)
    asked = {"rate": "10 Mbit/s", "rtt": "20 ms", "flows": 2, "pacing": "none", "buffer": ["1 packets", "40 packets"]}
    advice = pl.advise(asked | {"bounds": ["utilisation >= 95 %"], "edges": 0, "tcp": "newreno"}, verify=True)
    kernel = advice.to_dict()["kernel"]
    assert advice.to_dict()["best"]["buffer_packets"] == 40
    assert kernel["status"] in ("held", "not run"), kernel
    if kernel["status"] == "held":
        winner, other = kernel["kernel"]
        assert winner["mean"] > other["mean"]
        assert "The order holds on this machine's kernel" in str(advice)
    else:  # the machine was too busy for real time
        assert "could not keep up" in kernel["said"]


#: What a person may write by mistake: signs, units, emptiness, and numbers that are none.
TEXTS = (
    "|nan|inf|-inf|-1 Gbit/s|0 bit/s|1e400 Gbit/s|nan ms|-5 ms|0 ms .. 0 ms|5 ms .. |.. 5 ms|9 ms .. 1 ms|5 packets .."
    "|0 packets|nan packets|1.2.3 packets|nan %|utilisation >= nan %|loss <= -1 %|wait <= nan ms|wait <= 0 ms|delay"
    "|>= 3|edge|edge 0|99999999999999999999|host, gain = nan|bbr9|1 B|drop-tail |\x00|10 Gbit/s|" + "é" * 300
).split("|")
NONSENSE = st.one_of(
    st.sampled_from(TEXTS),
    st.floats(),
    st.integers(-(10**20), 10**20),
    st.booleans(),
    st.none(),
    st.lists(st.sampled_from(["1 ms", "x", "", "5 packets", "none"]), max_size=3),
    st.dictionaries(st.sampled_from(["cubic", "method", "pareto", "share"]), st.floats() | st.text(max_size=3)),
)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(sorted(set(KEYS) - {"from"})), NONSENSE, min_size=1, max_size=3))
def test_any_nonsense_is_a_question_or_one_line(changes: dict[str, Any]) -> None:
    try:
        question = read_question(ASKED | changes)
    except pl.InputError as error:
        said = str(error)
        assert said, changes
        assert "\n" not in said
        assert len(said) < 600
    else:
        assert question.candidates
        assert 0 < question.rate_bps < float("inf")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"access": "10 Mbit/s"}, "utilisation cannot be 98 %, since 20 flows behind access of 10 Mbit/s fill 20 %"),
        ({"goal": "loss", "bounds": ["delay <= 2 ms"]}, "delay cannot be 2 ms, since one way alone takes 5 ms"),
        (
            {"rate": "1000 Gbit/s", "rtt": "2 s", "access": "1000 Gbit/s"},
            "packets, of 5e+08 at most; write a lower rate",
        ),
        ({"tcp": {"cubic": float("nan"), "bbr": 1.0}}, "the shares come to nan, not 1"),
        ({"buffer": "1.2.3 packets"}, 'buffer: "1.2.3 packets"'),
    ],
)
def test_contradictions_are_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(pl.InputError) as error:
        read_question(ASKED | changes)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_huge_numbers_of_flows_are_refused(command: Command, tmp_path: Path) -> None:
    done = command("advise", "--rate", "1 Gbit/s", "--rtt", "5 ms", "--flows", "100000000")
    assert done.returncode == 2
    assert done.stderr == ('paceline: --flows: "100000000" is none; write a whole number from 1 to 100000\n')


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rate", "10 Mbit/s"), '--rtt: must be given; write as --rtt "5 ms .. 80 ms"'),
        (
            ("--rate", "10 Mbit/s", "--rtt", "0 ms", "--flows", "5"),
            '"0 ms" is not above zero; write for example "20 ms"',
        ),
        (("--rate", "10 Mbit/s", "--rtt", "9 ms", "--flows", "5", "--tcp", "nosuch"), '--tcp: "nosuch" is unknown'),
        (("--rate", "10 Mbit/s", "--rtt", "9 ms", "--flows", "5", "--size", "0 B"), '--size: "0 B" is no size at all'),
        (("--rate", "10 Mbit/s", "--rtt", "9 ms", "--flows", "5", "--think", "1 s"), 'write as --size "50 KB"'),
    ],
)
def test_what_is_wrong_with_an_option_is_said_of_the_option(
    command: Command, options: tuple[str, ...], said: str
) -> None:
    """Not of a key of a file, or of the scenario that is made from it."""
    done = command("advise", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_scenario_is_no_question(command: Command, tiny: Path) -> None:
    done = command("advise", str(tiny))
    assert done.returncode == 2
    assert f"{tiny}: a scenario and no question; paceline advise --help says what to ask" in done.stderr


def test_pacing_is_named_in_words_and_the_bound_is_in_the_picture() -> None:
    asked = {"rate": "5 Mbit/s", "rtt": "5 ms .. 15 ms", "flows": 4, "buffer": ["20 packets", "30 packets"]}
    advice = pl.advise(asked | {"pacing": ["none", "host"], "bounds": ["utilisation >= 60 %"], "within": "10 s"})
    shown = page.render(advice)
    assert ">none<" not in shown
    assert ">host<" not in shown
    assert {row[0] for row in view.rows(advice)} <= {"unpaced", "host pacing"}
    chart = shown[shown.index("<svg") : shown.index("</svg>")]
    assert 'data-name="bound"' in chart
    assert chart.count("line guide") == 2, "in its plane, and beside its name"
