"""Nobody waits long without a word: lines in a pipe, a bar on a terminal, a cell's output in a notebook; or --quiet."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from conftest import TINY, Command
from hypothesis import given
from hypothesis import strategies as st
from paceline.runs.driver import Costs

QUIET_VERBS: dict[str, tuple[str, ...]] = {
    "run": ("tiny.toml", "--seeds", "5", "--threads", "2"),
    "check": ("tiny.toml",),
    "doctor": ("tiny.toml",),
    "analyse": ("tiny.pcap", "--out", "analysis"),
    "reproduce": ("qlbp-theorem2", "--quick", "--out", "papers"),
}


@pytest.fixture
def capture(command: Command, tiny: Path) -> Path:
    assert command("run", tiny, "--json", "--trace", "tiny.pcap").returncode == 0
    return tiny.parent / "tiny.pcap"


@pytest.mark.parametrize("verb", QUIET_VERBS)
def test_quiet_leaves_results_alone(command: Command, capture: Path, verb: str) -> None:
    for quiet in ("--quiet", "-q"):
        done = command(verb, *QUIET_VERBS[verb], quiet)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
    if verb == "reproduce":
        done = command("gallery", "papers", "-q")
        assert (done.returncode, done.stderr, done.stdout) == (0, "", "papers/gallery/index.html\n")


def test_quiet_still_says_what_went_wrong(command: Command, tiny: Path) -> None:
    done = command("run", tiny, "--quiet", "--set", "duration=4")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("paceline: --set duration: ")
    tiny.write_text(TINY.replace('kind = "bulk"', 'kind = "pcap"\nfile = "nowhere.pcap"'))
    assert "nowhere.pcap" in command("run", tiny, "--quiet").stderr


def slow(*arguments: str, **how: Any) -> tuple[subprocess.Popen[bytes], int]:
    """`paceline analyse` of an input that does not come, and where to close that."""
    read, write = os.pipe()
    command = [sys.executable, "-m", "paceline", "analyse", "-", *arguments]
    process = subprocess.Popen(command, stdin=read, **how)
    os.close(read)
    return process, write


def test_a_line_every_two_seconds_where_there_is_no_terminal() -> None:
    process, input_end = slow(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr
    began, times, lines = time.monotonic(), [], []
    for _ in range(3):
        lines.append(process.stderr.readline())
        times.append(time.monotonic())
    assert all(line.startswith(b"paceline: -: ") and line.endswith(b" so far\n") for line in lines)
    assert max(after - before for before, after in zip([began, *times], times, strict=False)) < 3
    os.close(input_end)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (2, b"")
    assert b"\r" not in err
    assert b"\x1b" not in err


def test_quiet_tells_of_no_progress() -> None:
    process, input_end = slow("--quiet", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(3)
    os.close(input_end)
    _, err = process.communicate(timeout=20)
    assert err.count(b"\n") == 1  # the error


def test_a_bar_on_a_terminal_that_goes_away() -> None:
    ours, theirs = pty.openpty()
    process, input_end = slow(stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"TERM": "xterm"})
    os.close(theirs)
    shown, began = b"", time.monotonic()
    while b"so far" not in shown:
        shown += os.read(ours, 4096)
    assert time.monotonic() - began < 3
    os.close(input_end)
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    process.communicate(timeout=20)
    assert b"\x1b[2K" in shown  # erased
    assert shown.rstrip().splitlines()[-1].startswith(b"paceline: ") or b"\x1b[2Kpaceline: " in shown


class Shown:
    """What a notebook's cell shows: each text that it has had."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def display(self, both: dict[str, str], **how: Any) -> Shown:
        assert how == {"raw": True, "display_id": True}
        return self.update(both, raw=True)

    def update(self, both: dict[str, str], raw: bool) -> Shown:
        assert "<progress" in both["text/html"]
        self.texts.append(both["text/plain"])
        return self


def test_a_notebook_shows_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown()
    ipython = types.ModuleType("IPython")
    screen = types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    screen.display = shown.display  # type: ignore[attr-defined]
    (tmp_path / "slow.toml").write_text(TINY.replace('"4 s"', '"400 s"'))
    scenario = pl.Scenario.load(tmp_path / "slow.toml")
    monkeypatch.setattr("paceline.terminal.progress._BAR_AFTER_S", 0.01)
    pl.sweep(scenario, seeds=2)
    assert shown.texts == [], "a script is told nothing"
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", screen)
    pl.sweep(scenario, seeds=4, jobs=1)
    assert all(text.startswith("tiny: ") for text in shown.texts)
    assert any("of 4 runs" in text for text in shown.texts)
    assert shown.texts[-1].startswith("tiny: done in ")
    count = len(shown.texts)
    pl.run(scenario.set("duration", "8000 s"))
    assert len(shown.texts) > count


@pytest.mark.parametrize("verb", [["check", "tiny.toml"], ["run", "tiny.toml"], ["pace", "--help"], ["explain", "tcp"]])
def test_ctrl_c_while_it_loads(tiny: Path, verb: list[str]) -> None:
    """From the first line of ours on: what the interpreter does before (10 to 20 ms) is its own."""
    for module in ("click", "json", "dataclasses", "paceline.scenario", "paceline.terminal.output", "paceline.cli.run"):
        hook = (
            "import importlib.abc, os, signal, sys\n"
            "class Hook(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path, target=None):\n"
            f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
            "sys.meta_path.insert(0, Hook())\n"
            f"sys.modules.pop({module!r}, None)\n"
            f"sys.argv = ['paceline', *{verb!r}]\n"
            "from paceline.cli.main import main\n"
            "main()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", hook], cwd=tiny.parent, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (130, "paceline: interrupted\n"), module


def test_a_program_that_imports_paceline_keeps_its_handler() -> None:
    code = "import signal, paceline; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert signal.getsignal(signal.SIGINT) is not None


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.data())
def test_what_is_done_is_counted_by_time(wanted: list[int], data: st.DataObject) -> None:
    """Against sums that are made anew each time; settings of which no run has finished count as the mean of all."""
    costs = Costs()
    for setting in wanted:
        costs.expect(str(setting))
    finished: list[tuple[int, float]] = []
    for setting in wanted[: data.draw(st.integers(0, len(wanted)))]:
        finished.append((setting, data.draw(st.floats(0.01, 100))))
        costs.learn(str(setting), finished[-1][1])
        spent = {one: [cost for name, cost in finished if name == one] for one in set(wanted)}
        mean = sum(cost for _, cost in finished) / len(finished)
        total = sum(sum(spent[one]) / len(spent[one]) if spent[one] else mean for one in wanted)
        assert costs.share(0.5) == pytest.approx(min(1.0, (sum(cost for _, cost in finished) + 0.5 * mean) / total))
        assert costs.of("none such") == pytest.approx(mean)
    if len(finished) == len(wanted):
        assert costs.share(0) == pytest.approx(1.0)


def test_a_look_at_what_is_done_costs_the_same_in_a_large_sweep() -> None:
    """Ten looks a second are made: of 100,000 settings one took seconds, and runs waited for it."""
    costs = Costs()
    for setting in range(20_000):
        costs.expect(str(setting))
    calls = 0

    def count(_frame: types.FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    for setting in range(10_000):
        costs.learn(str(setting), 1.0)
    sys.setprofile(count)
    try:
        done = costs.share(1.0)
    finally:
        sys.setprofile(None)
    assert done == pytest.approx(0.50005)
    assert calls < 20
