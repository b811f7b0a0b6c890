"""Whatever lies in a store: it is taken for a run only if it is that run, and nothing else hangs, blows up or tears."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import paceline as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Command
from paceline.files import atomic_writes
from paceline.files.atomic_writes import AtomicFiles
from paceline.store import Store, run_archive
from test_store import started, taken, wait_for

Parts = dict[str, bytes]
#: More than any of these may take.
MOST_S = 30.0


def parts_of(path: Path) -> Parts:
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def zipped(parts: Parts, how: int = zipfile.ZIP_STORED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", how) as opened:
        for name, data in parts.items():
            opened.writestr(zipfile.ZipInfo(name), data, how)
    return sink.getvalue()


def changed_json(name: str, change: Callable[[dict[str, object]], object]) -> Callable[[Parts], bytes]:
    def craft(parts: Parts) -> bytes:
        entry = json.loads(parts[name])
        text = json.dumps(change(entry))
        return zipped(parts | {name: text.encode()})

    return craft


def with_run(**changes: object) -> Callable[[Parts], bytes]:
    return changed_json("run.json", lambda run: run | changes)


def repeated_rows(parts: Parts) -> bytes:
    """A table of a thousand million equal rows, which take a few KB."""
    sink = io.BytesIO()
    rows = pa.table({"link": pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), ["core"]).take([0] * 1_000_000)})
    with pq.ParquetWriter(sink, rows.schema, compression="zstd") as writer:
        for _ in range(200):
            writer.write_table(rows)
    return zipped(parts | {"series.parquet": sink.getvalue()})


def encrypted(parts: Parts) -> bytes:
    data = bytearray(zipped(parts))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(mark, at + 4)
    return bytes(data)


def lying_about_sizes(parts: Parts) -> bytes:
    data = bytearray(zipped(parts))
    at = data.rfind(b"PK\x01\x02")
    struct.pack_into("<II", data, at + 20, 2**32 - 2, 2**32 - 2)
    return bytes(data)


def ending_too_soon(parts: Parts) -> bytes:
    """The last table begins where it should and ends behind the file."""
    data = bytearray(zipped(parts))
    at = data.rfind(b"PK\x01\x02")
    behind = len(data) - data.find(b"PK\x01\x02") + 50
    (size,) = struct.unpack_from("<I", data, at + 20)
    struct.pack_into("<II", data, at + 20, size + behind, size + behind)
    return bytes(data)


CRAFTED: dict[str, Callable[[Parts], bytes]] = {
    "another key": changed_json("about.json", lambda about: about | {"key": "0" * 64}),
    "another seed": changed_json("about.json", lambda about: about | {"seed": 7}),
    "another core": changed_json("about.json", lambda about: about | {"core": "0.1.0+0123456789abcdef"}),
    "a run of another seed": with_run(seed=7),
    "no about": lambda parts: zipped({name: data for name, data in parts.items() if name != "about.json"}),
    "deflated, a thousand million zeros": lambda parts: zipped(
        parts | {"run.json": b" " * 300_000_000 + parts["run.json"]}, zipfile.ZIP_DEFLATED
    ),
    "encrypted": encrypted,
    "sizes that lie": lying_about_sizes,
    "an end that is missing": ending_too_soon,
    "repeated rows": repeated_rows,
    "twice the same name": lambda parts: zipped(parts)[:-22] + zipped(parts),
    "a list": lambda parts: zipped(parts | {"run.json": b"[1]"}),
    "ten thousand lists": lambda parts: zipped(parts | {"run.json": b"[" * 100_000 + b"]" * 100_000}),
    "not a number": lambda parts: zipped(
        parts | {"run.json": parts["run.json"].replace(b'"jain": ', b'"jain": NaN, "x": ')}
    ),
    "no window": with_run(window_s=None),
    "a window of texts": with_run(window_s=["a", "b"]),
    "links in a list": with_run(links=[]),
    "a link of text": with_run(links={"core": "fast"}),
    "a link's lists": with_run(links={"core": {"loss_ratio": [1, 2]}}),
    "flows of text": with_run(flows={"jain": "\x1b[31m"}),
    "groups of numbers": with_run(groups={"paced": 5}),
    "an engine of text": with_run(engine="fast"),
    "an engine's tables": with_run(engine={"kind": "simulation", "cpu_s": {}}),
    "no table": lambda parts: zipped(parts | {"flows.parquet": b"PAR1"}),
    "a table of text": lambda parts: zipped(parts | {"flows.parquet": b"name,source\n" * 1000}),
}


@pytest.fixture(name="store")
def _store(tiny: Path) -> Path:
    """A directory with one run."""
    out = tiny.parent / "out"
    pl.sweep(tiny, out=out)
    return out


def archived(store: Path) -> Path:
    (path,) = (store / "store").glob("*.zip")
    return path


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_archive_is_run_again(tiny: Path, store: Path, name: str) -> None:
    path = archived(store)
    flows = parts_of(path)["flows.parquet"]
    results = pl.sweep(tiny, out=store)[0]
    path.write_bytes(CRAFTED[name](parts_of(path)))
    begun = time.monotonic()
    again = pl.sweep(tiny, out=store)[0]
    assert time.monotonic() - begun < MOST_S
    assert again.to_dict() | {"engine": 0} == results.to_dict() | {"engine": 0}
    mended = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    assert mended.read("flows.parquet") == flows
    assert pl.sweep(tiny, out=store)[0].to_dict() == again.to_dict()


def test_a_table_whose_end_is_missing_is_damaged(store: Path) -> None:
    """Python 3.11's zipfile says EOFError."""
    data = ending_too_soon(parts_of(archived(store)))
    with pytest.raises(ValueError, match=r"^damaged"):
        run_archive.unpack_table(data, run_archive.TABLES[-1])


@pytest.mark.parametrize("kind", ["fifo", "zero", "loop", "nowhere"])
def test_what_is_no_regular_file_is_not_opened(command: Command, tiny: Path, store: Path, kind: str) -> None:
    """In the place of each file that a store has; the FIFO's other end stays without a partner."""
    for name in (archived(store).name, ".leases", ".tables", "core-version", "scenario", ".x.partial"):
        path = store / "store" / name
        kept = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to({"zero": "/dev/zero", "loop": path, "nowhere": store / "nowhere"}[kind])
        begun = time.monotonic()
        done = command("run", tiny, "--out", store)
        assert time.monotonic() - begun < MOST_S, name
        assert done.returncode in (0, 1, 2), name
        assert "Traceback" not in done.stderr, name
        if name.endswith(".zip"):
            assert done.returncode == 0, done.stderr
        path.unlink(missing_ok=True)
        if kept is not None:
            path.write_bytes(kept)


def test_a_file_that_never_ends_is_no_archive(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_archive, "MOST_BYTES", 1000)
    assert Store(store).get(archived(store).stem, 1) is None


def test_a_rebuilt_core_does_not_take_another_builds_numbers(
    tiny: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(-debug)?\+[0-9a-f]{16}", pl._core.fingerprint())
    monkeypatch.setattr(pl._core, "fingerprint", lambda: "0.1.0+0123456789abcdef")
    pl.sweep(tiny, out=store)
    assert len(list((store / "store").glob("*.zip"))) == 2


@pytest.mark.parametrize("step", range(17))
def test_tables_of_one_sweep_take_their_places_together(tiny: Path, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever rename or flush is the last that happens, what is there afterwards is of one sweep."""
    out = tiny.parent / "out"
    pl.sweep(tiny, out=out)
    steps = iter(range(100))

    class Killed(BaseException):
        pass

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            if next(steps) >= step:
                raise Killed
            return real(*arguments, **named)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(atomic_writes, "flush", counted(atomic_writes.flush))
        patched.setattr(Path, "replace", counted(Path.replace))
        patched.setattr(Path, "rename", counted(Path.rename))
        patched.setattr(atomic_writes.shutil, "rmtree", lambda *_, **__: None)  # nor would the dead clear away
        scenario, store = pl.Scenario.load(tiny), Store(out)
        points = scenario.seeds(1).points()
        runs = [{"settings": {}} | (store.get(points[0].key, points[0].seed) or {})] * 2
        killed = False
        try:
            with store.exclusive():
                store.consolidate(scenario.set("title", "second"), [points[0]] * 2, runs)
        except Killed:
            killed = True
    assert killed == (step < 16), "as many steps as there are"
    Store(out)
    second = 'title = "second"' in (out / "scenario.toml").read_text()
    assert pq.read_metadata(out / "runs.parquet").num_rows == 1 + second
    flows = pq.read_table(out / "flows.parquet")["run"].unique().to_pylist()
    assert flows == list(range(1 + second))
    assert ("second" in (out / "store" / "scenario").read_text()) == second
    assert not (out / "store" / "tables").exists()
    pl.sweep(tiny, out=out)
    assert pq.read_metadata(out / "runs.parquet").num_rows == 1


def test_a_driver_that_waits_says_for_whom(tiny: Path) -> None:
    first = started(tiny.parent, tiny, "--set", "duration=1000000 s", "--out", "out")
    lock = tiny.parent / "out" / "store" / ".leases"
    key = pl.Scenario.load(tiny).set("duration", "1000000 s").points()[0].key
    wait_for(lambda: lock.exists() and not taken(lock, key), first)
    second = started(tiny.parent, tiny, "--set", "duration=1000000 s", "--out", "out")
    try:
        assert second.stderr
        line = next(line for line in second.stderr if " so far" not in line)  # how long it has been at work
        expected = rf"paceline: out: waiting for 1 run of process {first.pid} on \S+ since \d\d:\d\d:\d\d\n"
        assert re.fullmatch(expected, line)
    finally:
        for process in (second, first):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert not list((tiny.parent / "out").rglob("*.partial"))


def test_together_is_all_or_nothing(tmp_path: Path) -> None:
    together = AtomicFiles(tmp_path / "ready", {"a": tmp_path / "a", "b": tmp_path / "b"})

    def fail() -> None:
        with together.replacing() as opened:
            opened("a").close()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list(tmp_path.iterdir())
