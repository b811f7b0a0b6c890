"""Whole answers of `paceline advise`, by runs, and the bench that judges them."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from click.testing import CliRunner
from paceline.advise.answer import FRESH
from paceline.advise.evidence import Evidence, Run
from paceline.advise.measures import values_of
from paceline.advise.question import Candidate
from paceline.advise.reading import read_question
from paceline.advise.running import Simulator
from paceline.cli.main import main

ROOT = Path(__file__).parent.parent
SMALL: dict[str, Any] = {"rate": "5 Mbit/s", "rtt": "5 ms .. 15 ms", "flows": 4, "pacing": ["none", "host"]}


def test_an_answer_by_runs(tmp_path: Path) -> None:
    """All of it on a small network: what is stated comes again by a run of the scenario; the store has every run."""
    asked = SMALL | {"within": "600 min"}
    advice = pl.advise(asked, out=tmp_path)
    again = pl.advise(asked, out=tmp_path)
    assert again.sentence == advice.sentence
    assert again.runs == advice.runs
    report = advice.save(tmp_path)
    answer = json.loads((tmp_path / "advice.json").read_text())
    assert answer["sentence"] == advice.sentence
    assert answer["best"]["fresh"]
    assert answer["best"]["buffer_bytes"] == answer["best"]["buffer_packets"] * 1500
    assert report.read_text().count("<script") == 1
    assert advice.sentence.partition("; ")[0] in report.read_text().replace("&#39;", "'").replace("\xa0", " ")
    runs = pl.sweep(tmp_path / "scenario.toml", seeds=[FRESH + 1 + number for number in range(answer["best"]["seeds"])])
    question = read_question(asked)
    values = [values_of(run.to_dict(), question)["utilisation"] for run in runs]
    assert math.fsum(values) / len(values) == pytest.approx(answer["best"]["intervals"]["utilisation"]["mean"])
    assert advice._repr_html_().startswith("<p><b>")
    assert str(advice).startswith(advice.sentence[:40])


def test_the_command_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--rate", "5 Mbit/s", "--rtt", "5 ms", "--flows", "4", "--pacing", "none", "--no-changes", "--quiet"]
    result = CliRunner().invoke(main.__globals__["paceline"], ["advise", *options, "--json"], standalone_mode=False)
    assert result.exception is None
    answer = json.loads(result.stdout)
    assert answer["sentence"].startswith(("Give the core", "Not settled"))
    assert answer["theory"][0]["rule"] == "BDP"
    assert not (tmp_path / "results").exists()


def _bench() -> Any:
    spec = importlib.util.spec_from_file_location("bench_advise", ROOT / "benches" / "advise.py")
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    return bench


def test_the_bench_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has run is read, and only what is missing runs; of another core's runs none are used."""
    bench = _bench()
    kept = bench.Kept(3_000_000, tmp_path, 1)
    some = kept.question.candidates[:2]
    first = kept.evidence("exhaustive", some, 2)
    assert not kept.is_answered
    asked: list[Any] = []

    class Counting(Simulator):
        def __call__(self, pairs: Sequence[tuple[Candidate, int]]) -> Mapping[tuple[Candidate, int], Run]:
            asked.extend(pairs)
            return super().__call__(pairs)

    monkeypatch.setattr(bench, "Simulator", Counting)
    again = bench.Kept(3_000_000, tmp_path, 1)
    assert again.evidence("exhaustive", some, 2).runs == first.runs
    assert asked == []
    again.evidence("exhaustive", some, 3)
    assert [one for one, _ in asked] == some
    file = tmp_path / "3000000.json"
    file.write_text(file.read_text().replace('"core":"', '"core":"0'))
    bench.Kept(3_000_000, tmp_path, 1).evidence("exhaustive", some[:1], 1)
    assert len(asked) == 3
    assert bench._ranges([0, 1, 2, 5, 7, 8]) == "0 to 2, 5, 7 to 8"


def test_drawn_questions_are_answered_as_well_as_by_an_exhaustive_search() -> None:
    """The quick form of `make bench-advise`, on questions that it does not ask: small spaces, six seeds."""
    bench = _bench()
    for number in (3_000_000, 3_000_006):
        asked = bench.drawn(number)
        question = read_question(asked)
        advice = pl.advise(asked)
        best = advice.to_dict()["best"]
        every = Evidence(question)
        every.gather(Simulator(question), [(one, 500_000 + seed) for one in question.candidates for seed in range(6)])
        top = max(question.candidates, key=every.worth)
        advised = next(
            one
            for one in question.candidates
            if (one.buffer, one.pacing.name) == (best["buffer_packets"], best["pacing"])
        )
        assert bench.utility(question, every, advised, top) >= 0.98
