"""Wrong input: one line that says where and what to write instead, exit 2, and nothing has run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from conftest import TINY, Command


def refused(command: Command, *arguments: str | Path, code: int = 2) -> str:
    done = command("run", *arguments)
    assert done.stdout == ""
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("paceline: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("paceline: ").rstrip("\n")


@pytest.mark.parametrize(
    ("old", "new", "where", "remedy"),
    [
        ("buffer =", "bufer =", "network.core.bufer", 'did you mean "buffer"?'),
        ('"10 KB"', "10", "network.core.buffer", "10"),
        ('"10 KB"', '"10 ms"', "network.core.buffer", "write"),
        ('"10 Mbit/s"', '"-10 Mbit/s"', "network.core.rate", "-10"),
        ('"10 Mbit/s"', '"10 mph"', "network.core.rate", "mph"),
        ('"10 KB"', '"100 B"', "network.core.buffer", "100 B"),
        ('method = "none"', 'method = "edge"\ndelay = "1 ms"\nshare = 1.5', "pacing.share", "1"),
        ('method = "none"', 'method = "egde"', "pacing.method", 'did you mean "edge"?'),
        ('start = "0 s .. 1 s"', 'from = "left.0"\nto = "nowhere"', "traffic[0].to", "nowhere"),
        ("[pacing]", "[paicng]", "paicng", 'did you mean "pacing"?'),
        ('"4 s"', "4", "duration", "no unit; write"),
        ('"4 s"', "2020-01-01", "duration", "date"),
        ('title = "tiny"', "seed = -1", "seed", "whole number"),
        ("[pacing]", "[sweep]\nseed = [3, 4]\n[pacing]", "sweep.seed", "use --seeds 3,4"),
        ("[pacing]", '[sweep]\ntitle = ["a", "b"]\n[pacing]', "sweep.title", "not a setting"),
    ],
)
def test_a_wrong_value_is_named_by_file_and_path(
    command: Command, tiny: Path, old: str, new: str, where: str, remedy: str
) -> None:
    tiny.write_text(TINY.replace(old, new, 1))
    line = refused(command, tiny, "--json")
    assert line.startswith(f"{tiny}: {where}: ")
    assert remedy in line


def test_a_flow_without_a_route(command: Command, tiny: Path) -> None:
    tiny.write_text(
        """
duration = "1 s"
[network]
template = "graph"
node = [{ name = "a" }, { name = "b" }, { name = "c" }]
link = [{ from = "a", to = "b", rate = "1 Mbit/s", delay = "1 ms" }]
[[traffic]]
kind = "bulk"
from = "a"
to = "c"
"""
    )
    wrong = command("run", tiny, "--json").stderr
    assert [line.split(": ")[2] for line in wrong.splitlines()] == ["node", "network.node", "network.link"]
    tables = tiny.read_text().replace('[network]\ntemplate = "graph"\n', "").replace('duration = "1 s"\n', "")
    tables = tables.replace('{ name = "a" }', '{ name = "a", kind = "host" }').replace("[[traffic]]", "").strip()
    node, link, *traffic = tables.splitlines()
    node = node.replace('"b" }', '"b", kind = "router" }').replace('"c" }', '"c", kind = "host" }')
    rest = "\n".join(line for line in traffic if line)
    tiny.write_text(f'duration = "1 s"\n{node}\n{link}\nnetwork = {{ template = "graph" }}\n[[traffic]]\n{rest}\n')
    assert "no way from a to c" in refused(command, tiny, "--json")


def test_unreadable_files(command: Command, tmp_path: Path) -> None:
    assert refused(command, "nowhere.toml").startswith("nowhere.toml: no such file; paceline init writes one to start")
    assert refused(command, "mine/rpc.toml") == "mine/rpc.toml: no such file; paceline init rpc writes one"
    (tmp_path / "mine.toml").write_text("")
    misspelt = tmp_path / "mien.toml"
    assert refused(command, misspelt) == f'{misspelt}: no such file; did you mean "{tmp_path / "mine.toml"}"?'
    assert refused(command, tmp_path).startswith(f"{tmp_path}: a directory")
    broken = tmp_path / "broken.toml"
    broken.write_text('title = "x"\nduration = \n')
    assert "line 2" in refused(command, broken)
    broken.write_bytes(b"title = '\xff'")
    assert "UTF-8" in refused(command, broken)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission(command: Command, tiny: Path) -> None:
    tiny.chmod(0)
    assert "ermission" in refused(command, tiny)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--threads", "no"), '--threads: "no" is not a number of threads; write a whole number from 1 to 1024'),
        (("--engine", "window"), '--engine: "window" is no engine; write auto, windowed or reference'),
        (("--set", "network.cor.buffer=5 KB"), '--set network.cor.buffer: network has no "cor"; did you mean "core"?'),
        (("--set", "network.core.bufer=5 KB"), '--set network.core.bufer: unknown key; did you mean "buffer"?'),
        (("--set", "network.edge.count=2"), "--set network.edge.count: "),
        (("--set", "traffic.1.kind=bulk"), '--set traffic.1.kind: traffic has no entry "1"'),
        (("--set", "duration.x=1"), "--set duration.x: duration is a value, not a table"),
        (("--set", "traffic.bulk.tcp.variant=fast"), "--set traffic[0].tcp.variant: "),
        (("--set", "duration"), "--set: duration has no PATH and VALUE"),
        (("--set", "pacing={ method"), "--set pacing: { method is not TOML"),
        (("--set", "network..core=1"), "--set network..core: not a path"),
        (("--sweep", "network.core.buffer="), "--sweep network.core.buffer: "),
        (("--sweep", "network.core.buffer=5 KB,5 KB"), "--sweep network.core.buffer: 5 KB is there twice"),
        (("--sweep", "network.core.buffer=5 KB,5"), "--sweep network.core.buffer: "),
        (("--sweep", "duration=5 s,6 s", "--sweep", "duration=7 s"), "--sweep duration: is there twice; leave one out"),
        (("--set", "duration=5 s", "--sweep", "duration=7 s"), "--sweep duration: is there twice; leave one out"),
        (("--sweep", "seed=3,4"), "--sweep seed: a seed is not a setting; use --seeds 3,4"),
        (("--sweep", "seeds=3,4"), "--sweep seeds: a seed is not a setting; use --seeds 3,4"),
        (("--sweep", "title=a,b"), "--sweep title: not a setting"),
        (("--set", "sweep.seed=[3, 4]"), "--set seed: a seed is not a setting; use --seeds 3,4"),
        (("--sweep", "network.core.buffer=5 KB,5", "--seeds", "5"), "--sweep network.core.buffer: "),
        (("--sweep", "network.cor.buffer=5 KB,9 KB", "--seeds", "5"), "--sweep network.cor.buffer: network has no"),
        (
            ("--sweep", "traffic.bulc.kind=bulk", "--seeds", "5"),
            '--sweep traffic.bulc.kind: traffic has no entry "bulc"',
        ),
        (("--sweep", "traffic.bulk.tcp.variant=fast", "--seeds", "5"), "--sweep traffic[0].tcp.variant: "),
        (("--seeds", "0"), "--seeds: 0 is not a number of seeds"),
        (("--seeds", "many"), '--seeds: "many" is not a number of seeds'),
        (("--seeds", "1,1"), "--seeds: must be different seeds"),
        (("--jobs", "0"), "--jobs: 0 is not a number of runs at a time; write a whole number from 1 to 4096"),
        (("--jobs", "-1"), "--jobs: -1 is not a number of runs"),
        (("--trace", "x.txt"), "--trace: x.txt: the name must end in .csv, .parquet, .pcap or .pcapng"),
        (("--trace", "x.csv", "--seeds", "2"), "--trace: the scenario has 2 runs; narrow it to one"),
        (("--no-such-option",), "--no-such-option: no such option; see"),
    ],
)
def test_wrong_options(command: Command, tiny: Path, arguments: tuple[str, ...], line: str) -> None:
    assert refused(command, tiny, *arguments).startswith(line)
    assert sorted(path.name for path in tiny.parent.iterdir()) == ["tiny.toml"]


def test_where_nothing_can_be_written_is_said_before_anything_runs(command: Command, tiny: Path) -> None:
    for out in (tiny, tiny / "x", "/proc/x", ""):
        line = refused(command, tiny, "--out", out)
        assert line.startswith("--out: ")
        assert ("can be written" if out else "names no directory; write one") in line
    (tiny.parent / "x.csv").mkdir()
    for trace in (tiny / "x.csv", "/proc/x.csv", "nowhere/x.pcap", "x.csv"):
        line = refused(command, tiny, "--trace", trace, "--json")
        assert line.startswith(f"--trace: {trace}")
        assert "; name a file" in line
    (tiny.parent / "results").write_text("")
    assert "by --out" in refused(command, tiny)


def test_check_says_what_would_run(command: Command, tiny: Path) -> None:
    done = command("check", tiny, "--sweep", "network.core.buffer=5 KB,20 KB", "--seeds", "2")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "tiny: 4 runs",
        "  network.core.buffer = 5 KB, seed 1",
        "  network.core.buffer = 5 KB, seed 2",
        "  network.core.buffer = 20 KB, seed 1",
        "  network.core.buffer = 20 KB, seed 2",
    ]
    assert command("check", tiny, "--set", "duration=1").returncode == 2


def test_check_summarises_many_runs_at_once(command: Command, tiny: Path) -> None:
    sweep = ("--sweep", "network.core.buffer=5 KB,20 KB", "--seeds")
    started = time.monotonic()
    done = command("check", tiny, *sweep, "1000000")
    assert time.monotonic() - started < 5
    assert done.stdout.splitlines() == [
        "tiny: 2000000 runs: 2 settings, 1000000 seeds each",
        "  network.core.buffer = 5 KB, seeds 1 to 1000000",
        "  network.core.buffer = 20 KB, seeds 1 to 1000000",
    ]
    many = ",".join(f"{size} KB" for size in range(5, 105))
    done = command("check", tiny, "--sweep", f"network.core.buffer={many}", "--seeds", "3,9")
    lines = done.stdout.splitlines()
    assert lines[0] == "tiny: 200 runs: 100 settings, 2 seeds each"
    assert lines[1] == "  network.core.buffer = 5 KB, seeds 3, 9"
    assert lines[11] == "  … 80 more"
    assert lines[-1] == "  network.core.buffer = 104 KB, seeds 3, 9"
    assert command("doctor", tiny, "--set", "sweep.seeds=1000000").returncode == 0
    assert "seed: " in command("check", tiny, "--set", f"seed={2**63 - 2}", "--seeds", "5").stderr


def test_a_number_of_very_many_digits(command: Command, tiny: Path) -> None:
    tiny.write_text(f"duration = {'1' * 5000}\n" + tiny.read_text())
    assert refused(command, tiny).partition(": ")[2].startswith("broken TOML: ")


def test_all_that_is_wrong_is_said_at_once_with_its_lines(command: Command, tiny: Path) -> None:
    wrong = TINY.replace('"4 s"', "4").replace("buffer =", "bufer =").replace('"reno"', '"renno"')
    tiny.write_text(wrong.replace('method = "none"', 'method = "egde"'))
    for verb in ("check", "run", "doctor"):
        done = command(verb, tiny)
        assert (done.returncode, done.stdout) == (2, "")
        said = [line.removeprefix(f"paceline: {tiny}: ") for line in done.stderr.splitlines()]
        assert [(line.partition(": ")[0], line[-9:]) for line in said] == [
            ("duration", " (line 2)"),
            ("network.core.bufer", " (line 7)"),
            ("traffic[0].tcp.variant", "(line 13)"),
            ("pacing.method", "(line 17)"),
        ]
        assert 'write for example "4 s"' in said[0]
        assert 'did you mean "edge"?' in said[3]


def test_what_an_option_puts_there_has_its_name_and_no_line(command: Command, tiny: Path) -> None:
    tiny.write_text(TINY.replace("buffer =", "bufer ="))
    done = command("run", tiny, "--set", "duration=4", "--sweep", "pacing=none,egde")
    first = [line.split(": ")[1] for line in done.stderr.splitlines()]
    assert sorted(first) == ["--set duration", "--sweep pacing.method", str(tiny)]
    assert done.stderr.count("(line") == 1


def test_what_a_sweep_of_the_file_puts_there_has_its_line(command: Command, tiny: Path) -> None:
    tiny.write_text(TINY + '\n[sweep]\n"network.core.buffer" = ["5 KB", 5000, 9000]\n')
    done = command("run", tiny)
    assert [line[-10:] for line in done.stderr.splitlines()] == [" (line 20)"] * 2
    assert '5000 has no unit; write for example "5 KB" or "5000 packets"' in done.stderr


def test_a_byte_order_mark_is_read(command: Command, tiny: Path) -> None:
    tiny.write_bytes(b"\xef\xbb\xbf" + TINY.encode())
    assert command("check", tiny).returncode == 0
    tiny.write_bytes(b"\xef\xbb\xbf" + TINY.replace('"4 s"', "4").encode())
    assert "(line 2)" in refused(command, tiny)
