"""The studio's server: who may ask, and that it answers what the command line does."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import TINY, Command
from paceline.errors import InputError
from paceline.scenario import Scenario
from paceline.studio.links import decoded, encoded
from paceline.studio.packets import traced
from paceline.studio.refinement import DRAWN_S, Costs, Work, WorkCancelledError, new_pool
from paceline.studio.worlds import state_of, worlds_of
from studio_server import Server, served

ROOT = Path(__file__).parent.parent
PACED = TINY.replace('method = "none"', 'method = "edge"\ndelay = "5 ms"')


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("studio")
    (folder / "paced.toml").write_text(PACED)
    with served(folder, "paced.toml") as server:
        yield server


@pytest.fixture(scope="module")
def document(server: Server) -> dict[str, Any]:
    status, content = server.ask("GET", f"/{server.token}/api/start")
    assert status == 200
    found: dict[str, Any] = json.loads(content)["document"]
    return found


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "paceline.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": None},
        {"Origin": "http://paceline.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": None},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_page_starts_no_run(server: Server, document: dict[str, Any], headers: dict[str, str | None]) -> None:
    status, content = server.ask("POST", f"/{server.token}/api/run", {"document": document, "page": "x"}, headers)
    assert status in (400, 403)
    assert b'"kind"' not in content


@pytest.mark.parametrize("token", ["", "x", "x" * 32])
@pytest.mark.parametrize("path", ["", "api/start", "api/run", "static/app.js", "reports/run-1"])
def test_without_the_token_there_is_nothing(server: Server, token: str, path: str) -> None:
    for method in ("GET", "POST"):
        status, content = server.ask(method, f"/{token}/{path}".replace("//", "/"), b"{}")
        assert status == 403
        assert b"token" in content


def test_nobody_beyond_loopback_is_heard(server: Server) -> None:
    port = int(server.host.partition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 5):
        pass
    others = {"127.0.0.2", "::1"}  # and this machine's own addresses
    with contextlib.suppress(OSError):
        others |= {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), port)}
    for address in others - {"127.0.0.1"}:
        with pytest.raises(OSError, match=r"."):
            socket.create_connection((address, port), 5).close()


def test_what_is_served_is_allowed_no_scripts_from_elsewhere(server: Server) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", int(server.host.split(":")[1])))) as connection:
        connection.sendall(
            f"GET /{server.token}/ HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    head, _, page = answer.partition("\r\n\r\n")
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in head
    assert "unsafe" not in head
    assert '<script type="module" src=' in page
    assert "javascript:" not in page
    assert not re.search(r"\son\w+=|style=|<style", page)


def test_files_outside_the_page_are_not_served(server: Server) -> None:
    for path in ("static/../app.py", "static/%2e%2e/app.py", "static/..%2fapp.py", "reports/..%2f..%2fetc%2fpasswd"):
        assert server.ask("GET", f"/{server.token}/{path}")[0] == 404


def _numbers(text: str) -> str:
    """The contract's text without what is about the run alone."""
    return text.partition(', "engine": ')[0]


def test_results_are_the_command_lines_to_the_byte(
    server: Server, document: dict[str, Any], command: Command, tmp_path: Path
) -> None:
    answer = server.post("json", {"document": document, "page": "json"})
    assert set(answer["json"]) == {"unpaced", "paced"}
    for world, text in answer["json"].items():
        file = tmp_path / f"{world}.toml"
        file.write_text(answer["toml"][world])
        done = command("run", file, "--json")
        assert done.returncode == 0, done.stderr
        assert _numbers(done.stdout) == _numbers(text)
        assert '"links"' in _numbers(text)
    assert _numbers(answer["json"]["unpaced"]) != _numbers(answer["json"]["paced"])


def test_a_state_is_answered_and_refined(server: Server, document: dict[str, Any]) -> None:
    answers = list(server.lines("run", {"document": document, "page": "refined"}))
    kinds = [answer["kind"] for answer in answers]
    assert kinds[0] == "network"
    assert {answer["world"] for answer in answers[1:3]} == {"unpaced", "paced"}
    assert kinds[-1] == "rest"
    seeds = [answer["seeds"] for answer in answers if answer["kind"] == "compared"]
    assert seeds == list(range(1, answers[-1]["seeds"] + 1))
    for answer in answers:
        if answer["kind"] == "compared":
            halves = [row["difference"]["half"] for row in answer["rows"] if row["difference"]]
            assert halves
            assert all((half is None) == (answer["seeds"] < 5) for half in halves)


def test_a_run_that_every_seed_repeats_has_no_interval(server: Server) -> None:
    document = state_of(Scenario.load(ROOT / "scenarios" / "one-flow.toml").set("duration", "10 s")).to_dict()
    answers = list(server.lines("run", {"document": document, "page": "repeated"}))
    assert answers[-1] == {"kind": "rest", "seeds": 5, "repeated": True}
    rows = answers[-2]["rows"]
    halves = [row[name]["half"] for row in rows for name in ("unpaced", "paced", "difference") if row[name]]
    assert len(halves) > 10
    assert set(halves) == {None}


def test_another_state_ends_the_one_before(server: Server, document: dict[str, Any]) -> None:
    long = document | {"duration": "20000 s"}
    answers = server.lines("run", {"document": long, "page": "same"})
    assert next(answers)["kind"] == "network"
    after = list(server.lines("run", {"document": document, "page": "same"}))
    assert after[-1]["kind"] == "rest"
    before = list(answers)
    assert before[-1]["kind"] == "cancelled"
    assert all(answer.get("length", 0) < 1 for answer in before)


def _spent_s(process: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_page_that_goes_leaves_nothing_running(server: Server, document: dict[str, Any]) -> None:
    answers = server.lines("run", {"document": document | {"duration": "20000 s"}, "page": "gone"})
    assert next(answers)["kind"] == "network"
    assert next(answers)["kind"] == "run"
    answers.close()
    until = time.monotonic() + 20
    while time.monotonic() < until:
        before = _spent_s(server.process.pid)
        time.sleep(0.5)
        if _spent_s(server.process.pid) == before:
            return
    pytest.fail("it goes on")


def test_what_is_wrong_with_a_state_is_said(server: Server, document: dict[str, Any]) -> None:
    wrong = document | {"duration": "4"}
    (answer,) = server.lines("run", {"document": wrong, "page": "wrong"})
    assert answer == {"kind": "error", "errors": ['duration: "4" has no unit; write for example "4 s"']}
    for body, words in (({"text": "a = "}, "broken TOML"), ({"text": PACED.replace("core =", "cor =")}, "line 7")):
        status, content = server.ask("POST", f"/{server.token}/api/read", body)
        assert status == 422
        assert words in json.loads(content)["errors"][0]
    assert server.ask("POST", f"/{server.token}/api/run", b"[")[0] == 422
    assert server.ask("POST", f"/{server.token}/api/run", b'"' + b"x" * (1 << 20) + b'"')[0] == 422


@pytest.mark.parametrize(
    ("pacing", "said"),
    [
        ('method = "edge"\nbufer = 3', "pacing.bufer: unknown key"),
        ('method = "edg"', "is no pacing method; did you mean"),
        ('method = "none"\nbufer = 3', "pacing.bufer: unknown key"),
    ],
)
def test_what_is_wrong_with_a_files_pacing_is_said(server: Server, pacing: str, said: str) -> None:
    """As `paceline check` says it: no other pacing, and none, takes its place."""
    text = TINY.replace('method = "none"', pacing)
    status, content = server.ask("POST", f"/{server.token}/api/read", {"text": text})
    assert (status, said in content.decode()) == (422, True), content


def test_packets_are_those_of_the_trace(
    server: Server, document: dict[str, Any], command: Command, tmp_path: Path
) -> None:
    answer = server.post("packets", {"document": document, "page": "packets", "from_s": 1.5})
    (tmp_path / "paced.toml").write_text(PACED)
    assert command("run", "paced.toml", "--trace", "paced.csv", "--json").returncode == 0
    rows = [line.split(",") for line in (tmp_path / "paced.csv").read_text().splitlines()[1:]]
    paced = answer["worlds"][1]
    places, kinds, events = paced["places"], paced["kinds"], paced["events"]
    until = paced["from_ns"] + paced["until_ns"]
    expected = sorted(row[:7] for row in rows if paced["from_ns"] <= int(row[0]) < until)
    columns = [paced[name] for name in ("time_ns", "event", "place", "flow", "kind", "seq", "bytes")]
    found = sorted(
        [str(time + paced["from_ns"]), events[event], places[place], str(flow), kinds[kind], str(seq), str(size)]
        for time, event, place, flow, kind, seq, size in zip(*columns, strict=True)
        if time < paced["until_ns"]
    )
    assert found == expected
    assert len(found) > 1000


def test_a_sweep_in_full_leaves_a_report(server: Server, document: dict[str, Any]) -> None:
    begun = server.post(
        "full", {"document": document, "seeds": 2, "buffers": {"network.core.buffer": ["5 KB", "10 KB"]}}
    )
    status, content = server.ask("GET", f"/{server.token}/api/full/{begun['name']}")
    told = [json.loads(line) for line in content.splitlines()]
    assert status == 200
    assert told[-1]["done"]
    assert told[-1]["finished"] == told[-1]["runs"] == 8
    status, report = server.ask("GET", f"/{server.token}/{begun['report']}")
    assert status == 200
    assert all(words in report for words in (b"5 ms", b"5 KB", b"10 KB", b"</svg>"))
    wrong = {"document": document, "seeds": 0}
    assert server.ask("POST", f"/{server.token}/api/full", wrong)[0] == 422


def test_a_capture_is_analysed(server: Server, command: Command, tmp_path: Path) -> None:
    (tmp_path / "paced.toml").write_text(PACED)
    assert command("run", "paced.toml", "--trace", "flow.pcap", "--json").returncode == 0
    path = f"/{server.token}/api/capture?name=flow.pcap&pacer=edge%2010%20ms"
    status, content = server.ask("POST", path, (tmp_path / "flow.pcap").read_bytes())
    assert status == 200, content
    found = json.loads(content)
    assert any("edge 10 ms" in cell for row in found["rows"] for cell in row)
    assert server.ask("GET", f"/{server.token}/{found['report']}")[0] == 200
    assert server.ask("POST", f"/{server.token}/api/capture?name=notes.txt", b"x")[0] == 422
    for _ in range(2):  # the second as the first, and neither says where this machine keeps it
        status, content = server.ask("POST", f"/{server.token}/api/capture?name=notes.pcap", b"words")
        assert (status, json.loads(content)["errors"]) == (
            422,
            ["notes.pcap: not a pcap or pcapng capture: it is text"],
        )


def test_a_link_holds_the_scenario() -> None:
    document = state_of(Scenario.load(ROOT / "scenarios" / "one-flow.toml")).to_dict()
    link = "http://127.0.0.1:8765/" + encoded(document)
    assert decoded(link) == document
    bomb = urlsafe_b64encode(zlib.compress(b'"' + b" " * (8 << 20) + b'"')).decode()
    for broken in (link[:-9], "http://127.0.0.1:8765/#s=", f"http://127.0.0.1:8765/#s={bomb}", "http://a/#s=%"):
        with pytest.raises(InputError, match="not whole"):
            decoded(broken)


def test_a_missing_package_names_the_extra(tmp_path: Path) -> None:
    program = "import sys; sys.modules['starlette'] = None; from paceline.cli.main import main; main(['studio'])"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert 'pip install "paceline[studio]"' in done.stderr


def test_wrong_options_are_refused(command: Command, tmp_path: Path, server: Server) -> None:
    (tmp_path / "paced.toml").write_text(PACED)
    taken = server.host.partition(":")[2]
    for arguments, words in (
        (["--port", "70000"], "--port"),
        (["--port", taken], f"--port {taken}"),
        (["nowhere.toml"], "no such file"),
        (["--set", "duration=5 s"], "name one"),
        (["http://127.0.0.1:8765/#s=x"], "not whole"),
    ):
        done = command("studio", "--no-browser", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_an_interrupt_is_how_it_ends(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        document = json.loads(server.ask("GET", f"/{server.token}/api/start")[1])["document"]
        answers = server.lines("run", {"document": document | {"duration": "20000 s"}, "page": "x"})
        assert next(answers)["kind"] == "network"
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 0
        assert list(answers)[-1]["kind"] == "cancelled"
        assert server.process.stderr is not None
        (said,) = server.process.stderr.read().splitlines()
        assert said.endswith("Ctrl-C ends it")


def test_packets_of_a_cancelled_request_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace that ends as its state changes: the next state's first answer would wait for its megabyte of numbers."""
    pool = new_pool()
    work = Work(pool, Costs())
    world = worlds_of(state_of(Scenario(tomllib.loads(PACED))))[1]
    simulate = Work.simulate
    assert json.loads(traced(world, work, 1.0))["time_ns"]

    def simulated(*arguments: Any) -> Any:
        try:
            return simulate(*arguments)
        finally:
            work.cancel()

    monkeypatch.setattr(Work, "simulate", simulated)
    with pytest.raises(WorkCancelledError):
        traced(world, work, 1.9)
    pool.shutdown()


def test_the_browser_has_the_processors_once_both_worlds_are_there(server: Server, document: dict[str, Any]) -> None:
    came = {}
    for answer in server.lines("run", {"document": document, "page": "drawn"}):
        came.setdefault((answer["kind"], answer.get("world")), time.monotonic())
        if answer["kind"] == "compared":
            break
    assert came["compared", None] - max(came["run", "unpaced"], came["run", "paced"]) > DRAWN_S / 2
