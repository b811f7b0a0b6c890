"""`paceline reproduce`: claims list themselves, share runs, and keep what it takes to recompute a verdict."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import paceline as pl
import pyarrow.parquet as pq
import pytest
from conftest import TINY, Command, without_progress
from paceline.cli import claim_runs as reproducing
from paceline.papers import (
    Assumption,
    Claim,
    Evidence,
    Length,
    Picture,
    Runs,
    Verdict,
    claims,
    criteria,
    papers,
    select,
    verdicts,
)
from paceline.store import Store

#: Every claim; an id is for ever.
IDS = (
    "edge-fig3-goodput edge-fig3-loss edge-fig3-region edge-fig4-100-flows",
    "edge-fig5-fast-access edge-fig5-region edge-fig5-buffer-for-90kbps edge-fig6-short-flows edge-fig7-variants",
    "edge-fig8-non-bottleneck edge-fig9-analysis edge-fig10-delay edge-fig11-delays",
    "edge-empty-buffer edge-fig12-partial edge-fig13-early-adopters edge-critical-mass edge-any-edges",
    "edge-optimality edge-burstiness edge-poisson edge-cost",
    "zhao-fig2 zhao-fig3 zhao-share",
    "qlbp-table2 qlbp-theorem1 qlbp-theorem2 qlbp-fig9-12",
    "qlbp-fig15 qlbp-fig16 qlbp-fig18 qlbp-table3",
    "qlbp-fig19 qlbp-response qlbp-rule qlbp-in-a-row qlbp-cost",
    "dc-base-under dc-base-over dc-poi dc-fig7 dc-fig8-clustering dc-fig9-sync dc-port-pacing",
    "dc-aggarwal dc-kulik dc-setups dc-timeouts dc-binomial dc-fairness",
    "cs244-single-flow cs244-many-flows cs244-buffer-sizing cs244-netem",
    "aggarwal-some aggarwal-often aggarwal-mixed aggarwal-short vishwanath-anomaly",
    "finding-edges finding-early-adopters finding-buffer-near-100 finding-closed-loop finding-port-cap",
    "finding-rule-of-thumb finding-inflection finding-same-instant",
    "today-cubic today-bbr today-bbr3 today-dctcp today-prague",
    "ware-share ware-model ware-cap spang-one-flow spang-sqrt-n spang-exceptions",
)
#: A claim that costs milliseconds.
CHEAP = "qlbp-table2"


def tiny_claim(name: str, **change: Any) -> Claim:
    """A claim on the tiny network, whose check wants a goodput above zero."""

    def sweeps(length: Length) -> Mapping[str, pl.Scenario]:
        import tomllib

        scenario = pl.Scenario(tomllib.loads(TINY)).over({"pacing": ["none", "host"]})
        return {"main": scenario.seeds(length.seed_count(3, 2))}

    def check(runs: Runs) -> Verdict:
        assert {len(run.per_flow or {}) > 0 for run in runs["main"]} == {True}
        rows = [
            criteria.above("goodput", criteria.mean(group, "flows.goodput_mean_bps"), 0)
            for _, group in runs["main"].by_settings()
        ]
        return Verdict(criteria.judge(rows), {"goodput": rows[0].value}, {"above": 0}, "As it should be.", rows)

    fields: dict[str, Any] = {
        "id": name,
        "paper": "edge-vs-host",
        "where": "nowhere",
        "kind": "number",
        "says": "Something arrives.",
        "printed": {},
        "assumptions": [Assumption("what", "this", "why not")],
        "sweeps": sweeps,
        "check": check,
        "draw": lambda runs: [Picture("one", f"<svg>{len(runs['main'])}</svg>", "A picture.")],
    }
    return Claim(**(fields | change))


def reproduce(chosen: list[Claim], out: Path, length: Length | None = None) -> tuple[reproducing.Reproduction, int]:
    """The outcome, and how many different runs there were."""
    store = Store(out)
    plans = reproducing.plan(chosen, length or Length())
    done = reproducing.run(plans, store)
    return reproducing.judge(plans, done, length or Length(), store), len(done.points)


def test_every_claim_is_told_apart_and_has_what_a_page_needs() -> None:
    assert {claim.id for claim in claims()} == set(" ".join(IDS).split())
    names = {paper.name for paper in papers()}
    beside = {paper.name for paper in papers() if paper.beside}
    assert names - beside == {"edge-vs-host", "small-buffers", "qlbp", "datacentre", "cs244"}
    assert beside == {"aggarwal", "vishwanath", "today", "ware", "spang", "findings"}
    assert sum(claim.paper not in beside for claim in claims()) == 55  # as docs/papers.md says
    for claim in claims():
        assert claim.paper in names
        assert claim.kind in ("number", "order", "shape")
        assert claim.says.endswith(".")
        assert all(one.open and one.chosen and one.why for one in claim.assumptions)
        for length in (Length(), Length(quick=True)):
            for scenario in claim.sweeps(length).values():
                assert scenario.points()


def test_a_claim_in_full_has_five_seeds_or_draws_nothing() -> None:
    for claim in claims():
        for name, scenario in claim.sweeps(Length()).items():
            seeds = {point.seed for point in scenario.points()}
            assert len(seeds) == 1 or len(seeds) >= 5 or name.startswith("why-"), claim.id


def test_files_of_sweeps_have_names_of_their_own() -> None:
    for claim in claims():
        names = [re.sub(r"[^\w.-]+", "-", name) for name in claim.sweeps(Length())]
        assert len(set(names)) == len(names), claim.id


def test_claims_are_chosen_by_id_by_paper_and_all() -> None:
    assert select(["all"]) == claims()
    qlbp = select(["qlbp"])
    assert {claim.paper for claim in qlbp} == {"qlbp"}
    assert select([CHEAP, "qlbp", CHEAP]) == qlbp
    assert select([]) == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("qlbp-tabel2",), r'no claim or paper is called "qlbp-tabel2"; did you mean qlbp-table2.*\?'),
        (("qlpb",), r'no claim or paper is called "qlpb"; did you mean qlbp.*\?'),
        (("zzzzzzzz",), r'no claim or paper is called "zzzzzzzz"; see paceline reproduce --list'),
        ((), r"names nothing to reproduce; write ids of claims, names of papers, or all \(see --list\)"),
        ((CHEAP, "--seeds", "0"), r"--seeds: 0 is not a number of seeds; write a whole number from 1 to 4096"),
        ((CHEAP, "--jobs", "x"), r'--jobs: "x" is not a number of runs at a time; write a whole number from 1 to 4096'),
        ((CHEAP, "--out", ""), r"--out: names no directory; write one, as .*"),
        ((CHEAP, "--out", "/dev/null/x"), r"--out: /dev/null/x.*: Not a directory; name another directory, .*"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(command: Command, arguments: tuple[str, ...], message: str) -> None:
    done = command("reproduce", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"paceline: {message}\n", done.stderr), done.stderr


def test_json_is_the_contract_and_the_list_knows_the_verdict(command: Command) -> None:
    done = command("reproduce", CHEAP, "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads(done.stdout)
    assert list(entry) == ["id", "paper", "where", "verdict", "ours", "theirs", "note", "cpu_s"]
    assert (entry["id"], entry["paper"], entry["verdict"]) == (CHEAP, "qlbp", "reproduced")
    listed = command("reproduce", "--list", "--json", "--out", "out")
    entries = json.loads(listed.stdout)
    assert [one["id"] for one in entries] == [claim.id for claim in claims()]
    assert [one for one in entries if one["verdict"]] == [entry]
    lines = command("reproduce", "--list", "qlbp", "--out", "out").stdout.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith(CHEAP)] == ["reproduced"]
    assert all(line.endswith("–") for line in lines[1:] if not line.startswith(CHEAP))


def test_a_verdict_is_recomputed_from_what_is_kept(command: Command, tmp_path: Path) -> None:
    assert command("reproduce", CHEAP, "--quick", "--out", "out").returncode == 0
    (claim,) = select([CHEAP])
    place = tmp_path / "out" / "quick" / CHEAP
    entry = json.loads((place / "verdict.json").read_text())
    for name, file in entry["sweeps"].items():
        again = command("run", place / file, "--json", "--out", "again")
        assert again.returncode == 0, again.stderr
        kept = pq.read_table(place / "runs.parquet").to_pylist()
        mine = [row for row in kept if row["sweep"] == name]
        runs = json.loads(again.stdout)
        assert len(mine) == len(runs)
        for run in runs:
            settings = {f"settings.{path}": label for path, label in run["settings"].items()} | {"seed": run["seed"]}
            (row,) = [row for row in mine if settings.items() <= row.items()]
            for key, value in run["flows"].items():
                assert row.get(f"flows.{key}") == value, key
        assert {row["key"] for row in mine} <= {path.stem for path in (tmp_path / "again" / "store").glob("*.zip")}
        assert {row["key"] for row in mine} <= {path.stem for path in (tmp_path / "out" / "store").glob("*.zip")}
    again_record = verdicts.read(place / "verdict.json")
    assert again_record is not None
    assert again_record.verdict.verdict == entry["verdict"]
    for picture in entry["pictures"]:
        assert (place / picture["file"]).read_text().startswith("<svg")
        assert picture["caption"]
    assert claim.id == entry["id"]


def test_claims_share_runs_and_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    both = [tiny_claim("one"), tiny_claim("two")]
    outcome, runs = reproduce(both, tmp_path)
    assert runs == 6
    assert list(outcome.records) == ["one", "two"]
    first = outcome.records["one"]
    assert (first.runs, first.length, first.verdict.verdict) == (6, "full", "reproduced")
    assert outcome.core_packets == first.core_packets == outcome.records["two"].core_packets
    assert len(list((tmp_path / "store").glob("*.zip"))) == 6
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").glob("*.zip")}
    again, _ = reproduce(both, tmp_path)
    assert again.records == outcome.records
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").glob("*.zip")} == written


def test_a_quick_verdict_stands_beside_the_full_one(tmp_path: Path) -> None:
    claim = tiny_claim("one")
    reproduce([claim], tmp_path)
    reproduce([claim], tmp_path, Length(quick=True))
    full, quick = (verdicts.load(tmp_path, claim, Length(quick=is_quick)) for is_quick in (False, True))
    assert full is not None
    assert quick is not None
    assert (full.runs, quick.runs) == (6, 4)
    assert verdicts.load(tmp_path, claim, Length(seeds=3)) == full


def test_a_check_that_fails_is_one_claims_failure(tmp_path: Path) -> None:
    def broken(_: Runs) -> Verdict:
        raise ZeroDivisionError("division\nby zero")

    outcome, _ = reproduce([tiny_claim("bad", check=broken), tiny_claim("good")], tmp_path)
    assert list(outcome.records) == ["good"]
    (why,) = outcome.failures.values()
    assert re.fullmatch(r"its check failed: ZeroDivisionError: division by zero \(test_reproduce\.py:\d+\)", why)


def test_a_wrong_scenario_names_its_claim(tmp_path: Path) -> None:
    wrong = tiny_claim("bad", sweeps=lambda length: {"main": pl.Scenario({"duration": "1"})})
    with pytest.raises(pl.InputError, match=r"^bad: "):
        reproduce([wrong], tmp_path)


def test_an_interrupt_keeps_what_has_finished(command: Command, tmp_path: Path) -> None:
    arguments = ("reproduce", "edge-fig3-loss", "--quick", "--out", "out")
    run = [sys.executable, "-m", "paceline", *arguments, "--jobs", "1"]
    with subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 240
        while not list((tmp_path / "out" / "store").glob("[!.]*.zip")):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    told = re.fullmatch(
        r"paceline: interrupted: (\d+) of \d+ runs had finished, kept in out; .*\n", without_progress(errors)
    )
    assert told, errors
    assert len(list((tmp_path / "out" / "store").glob("*.zip"))) == int(told[1]) >= 1


def test_verdicts_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="is no verdict"):
        Verdict("maybe", {}, {}, "")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs a note"):
        Verdict("partly", {}, {}, " ")


def test_numbers_of_any_kind_are_kept_as_json(tmp_path: Path) -> None:
    ours = {"int": np.int64(3), "nan": float("nan"), "list": np.array([1.5, np.inf]), "tuple": (1, None), "text": "a"}
    verdict = Verdict("reproduced", ours, {}, "", [Evidence("a", np.float32(0.5), (0.0, np.nan), "b", np.True_)])
    outcome, _ = reproduce([tiny_claim("one", check=lambda _: verdict)], tmp_path, Length(seeds=1))
    kept = verdicts.load(tmp_path, tiny_claim("one"), Length())
    assert kept == outcome.records["one"]
    assert kept.seeds == 1
    assert kept.verdict.ours == {"int": 3, "nan": None, "list": [1.5, None], "tuple": [1, None], "text": "a"}
    assert kept.verdict.evidence[0].value == 0.5
    assert kept.verdict.evidence[0].ok is True


def evidence(ok: bool | None) -> Evidence:
    return Evidence("a", 1.0, None, "b", ok)


@pytest.mark.parametrize(
    ("oks", "outcome"),
    [
        ([True, True], "reproduced"),
        ([True, None], "reproduced"),
        ([True, False], "partly"),
        ([False, False, None], "not reproduced"),
        ([None], "not reproduced"),
        ([], "not reproduced"),
    ],
)
def test_a_verdict_follows_from_the_evidence(oks: list[bool | None], outcome: str) -> None:
    assert criteria.judge([evidence(ok) for ok in oks]) == outcome


def test_criteria_are_those_stated() -> None:
    assert criteria.within("", 100.0, 105.0).ok
    assert not criteria.within("", 100.0, 105.1).ok
    assert criteria.within("", -100.0, -96.0).ok
    assert criteria.packets("", 9.0, 10).ok
    assert not criteria.packets("", 8.9, 10).ok
    assert criteria.probability("", 0.76, 0.8).ok
    assert not criteria.probability("", 0.74, 0.8).ok
    assert not criteria.above("", pl.Interval(1.0, 0.2, 5), 0.9).ok
    assert criteria.above("", pl.Interval(1.0, 0.05, 5), 0.9).ok
    assert not criteria.below("", pl.Interval(1.0, 0.2, 5), 1.1).ok
    assert criteria.below("", 1.0, 1.1).ok


def test_fresh_seeds_are_other_runs_kept_beside(tmp_path: Path) -> None:
    """``--first-seed``: the same scenarios from another seed on, and a verdict that replaces none."""
    claim = tiny_claim("edge-tiny-fresh")
    ordinary, _ = reproduce([claim], tmp_path)
    before = verdicts.load(tmp_path, claim, Length())
    fresh, count = reproduce([claim], tmp_path, Length(first_seed=1001))
    assert not ordinary.failures
    assert not fresh.failures
    assert count == 6
    again = verdicts.load(tmp_path, claim, Length(first_seed=1001))
    assert verdicts.load(tmp_path, claim, Length()) == before
    assert again is not None
    assert again.length == "full-from-1001"
    seeds = pq.read_table(tmp_path / "full-from-1001" / claim.id / "runs.parquet").column("seed").to_pylist()
    assert sorted(set(seeds)) == [1001, 1002, 1003]
