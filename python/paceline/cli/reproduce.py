"""`paceline reproduce`: every figure and table of the papers, rerun and judged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline import _arguments
from paceline._optional import needed
from paceline.cli import completion
from paceline.cli.options import DASK, JOBS, QUIET, cluster_at, jobs_of, opened_store
from paceline.errors import InputError
from paceline.runs.interrupted import Interrupted
from paceline.terminal.output import DONE, FAILED, INTERRUPTED, print_data, print_table, say

if TYPE_CHECKING:
    from paceline.cli.claim_runs import Reproduction
    from paceline.papers import Claim, Length
    from paceline.papers.verdicts import Record
    from paceline.store import Store

DEFAULT_OUT = "results/papers"


def _names() -> list[str]:
    from paceline.papers import claims, papers

    return ["all", *(paper.name for paper in papers()), *(claim.id for claim in claims())]


@click.command(short_help="Rerun figures and tables of the papers, and judge them.")
@click.argument("names", nargs=-1, metavar="[ID…|PAPER…|all]", shell_complete=completion.words(_names))
@click.option("--list", "as_list", is_flag=True, help="Show claims with their last verdict; run nothing.")
@click.option("--quick", is_flag=True, help="Shorter runs and fewer seeds: minutes in all. A verdict may differ.")
@click.option("--seeds", metavar="N", help="Seeds for each setting.  [default: each claim's own, 5 or more]")
@click.option("--first-seed", metavar="N", help="Count seeds from here; verdicts are kept beside.  [default: 1]")
@JOBS
@DASK
@click.option(
    "--out",
    metavar="DIR",
    shell_complete=completion.directories,
    help=f"Where runs, verdicts and pictures go.  [default: {DEFAULT_OUT}]",
)
@click.option("--gallery", "as_site", is_flag=True, help="Make the gallery too, in DIR/gallery (see paceline gallery).")
@click.option("--json", "as_json", is_flag=True, help="Print verdicts as JSON only.")
@QUIET
def reproduce(
    names: tuple[str, ...],
    as_list: bool,
    quick: bool,
    seeds: str | None,
    first_seed: str | None,
    jobs: str | None,
    address: str | None,
    out: str | None,
    as_site: bool,
    as_json: bool,
) -> int:
    """Rerun figures and tables of the papers, and judge each against what its paper says.

    A claim is named by its id, all of a paper's by the paper, and all there are by all. What --out has already is not
    run again, and runs that claims share are run once. A verdict is reproduced, partly or not reproduced; a quick
    one is undecided where two seeds cannot judge.

    \b
    paceline reproduce --list
    paceline reproduce edge-fig3-goodput
    paceline reproduce edge-vs-host qlbp-table2 --quick
    paceline reproduce findings --first-seed 1001
    paceline reproduce all --out results/papers
    paceline reproduce all --dask tcp://127.0.0.1:8786
    paceline reproduce all --json | jq -r '.[] | [.id, .verdict] | @tsv'
    """
    from paceline.papers import Length, select

    if not names and not as_list:
        raise InputError("names nothing to reproduce; write ids of claims, names of papers, or all (see --list)")
    chosen = select(names or ("all",))
    length = Length(quick, _seed_count(seeds), _first_seed(first_seed))
    if as_list:
        _print_list(chosen, Path(out or DEFAULT_OUT), quick, as_json)
        return DONE
    at_a_time = jobs_of(jobs)
    store = opened_store(out, Path(DEFAULT_OUT))
    with cluster_at(address) as client:
        code = _run(chosen, length, store, {"jobs": at_a_time, "executor": client, "tell": say}, as_json)
    if as_site and code != INTERRUPTED:
        from paceline.gallery import write
        from paceline.terminal.progress import phase

        with phase("making the gallery"):
            site = write(store.directory, store.directory / "gallery")
        say(f"gallery: {site}")
    return code


def _run(chosen: Sequence[Claim], length: Length, store: Store, how: dict[str, Any], as_json: bool) -> int:
    from paceline.cli import claim_runs
    from paceline.terminal.progress import phase, progress

    needed("matplotlib", "paceline reproduce")  # not only when runs are done, and pictures are due
    with phase("planning runs"):
        plans = claim_runs.plan(chosen, length)
    try:
        with progress("running") as watch:
            done = claim_runs.run(plans, store, watch=watch, **how)
    except Interrupted as error:
        kept = f"kept in {store.directory}; the same command goes on from there"
        return say(f"interrupted: {len(error.results)} of {error.total} runs had finished, {kept}", INTERRUPTED)
    with progress("judging", "claims") as watch:
        outcome = claim_runs.judge(plans, done, length, store, watch)
    for path in done.damaged:
        say(f"{path}: damaged; ran that one again")
    if as_json:
        _print_json([(claim, outcome.records.get(claim.id)) for claim in chosen], outcome.failures)
    else:
        _print_verdicts([(claim, outcome.records[claim.id]) for claim in chosen if claim.id in outcome.records])
    _say_totals(outcome, len(done.points), done.reused, store.directory)
    if length.quick:
        say("a quick look: short runs and few seeds; verdicts in full length may differ")
    for name, why in outcome.failures.items():
        say(f"{name}: {why}", FAILED)
    return FAILED if outcome.failures else DONE


def _seed_count(text: str | None) -> int | None:
    return None if text is None else _arguments.whole(_arguments.typed(text), "--seeds", "number of seeds", 1, 4096)


def _first_seed(text: str | None) -> int:
    # the core's seeds are of 64 bits; so many from here on always are
    return 1 if text is None else _arguments.whole(_arguments.typed(text), "--first-seed", "seed", 1, 2**32)


def _print_list(chosen: Sequence[Claim], out: Path, quick: bool, as_json: bool) -> None:
    """Claims with their last verdict: of full length, else of a quick look."""
    from paceline.papers import Length, verdicts
    from paceline.terminal.progress import phase

    found = []
    with phase("reading verdicts"):
        for claim in chosen:
            record = None if quick else verdicts.load(out, claim, Length())
            found.append((claim, record or verdicts.load(out, claim, Length(quick=True))))
    if as_json:
        _print_json(found)
        return
    rows = [
        [claim.id, claim.paper, claim.where, claim.kind, "–" if record is None else _outcome(record)]
        for claim, record in found
    ]
    print_table(["id", "paper", "where", "kind", "last verdict"], rows, 5)


def _outcome(record: Record) -> str:
    how = [] if record.length == "full" else [record.length.removeprefix("full-")]
    how += [f"seeds {record.seeds}"] if record.seeds else []
    return record.verdict.verdict + (f" ({', '.join(how)})" if how else "")


def _print_verdicts(found: Sequence[tuple[Claim, Record]]) -> None:
    rows = []
    for claim, record in found:
        criteria = [bool(row.ok) for row in record.verdict.evidence if row.ok is not None or row.undecided]
        rows.append(
            [claim.id, claim.where, _outcome(record), f"{sum(criteria)} of {len(criteria)}", f"{record.cpu_s:.1f}"]
        )
    if rows:
        print_table(["id", "where", "verdict", "criteria met", "CPU time, s"], rows, 3)


def _print_json(found: Sequence[tuple[Claim, Record | None]], failures: Mapping[str, str] | None = None) -> None:
    """The contract: an object a claim; what is not known is null, and the note of one that failed says why."""
    lines = []
    for claim, record in found:
        entry: dict[str, Any] = {"id": claim.id, "paper": claim.paper, "where": claim.where}
        verdict = record.verdict if record else None
        entry |= {key: getattr(verdict, key, None) for key in ("verdict", "ours", "theirs", "note")}
        entry["note"] = (failures or {}).get(claim.id, entry["note"])
        entry["cpu_s"] = record.cpu_s if record else None
        lines.append(json.dumps(entry, allow_nan=False))
    print_data("[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n")


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def _say_totals(outcome: Reproduction, runs: int, reused: int, out: Path) -> None:
    from paceline.papers.claim import NS2_PACKET_S, OUTCOMES

    counts = Counter(record.verdict.verdict for record in outcome.records.values())
    told = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name])
    again = f", {reused} of them there already" if reused else ""
    say(f"{told or 'no verdict'}; {runs} runs{again}; kept in {out}")
    if outcome.core_packets:
        ours, theirs = _duration(outcome.cpu_s), _duration(outcome.core_packets * NS2_PACKET_S)
        packets, cost = f"{outcome.core_packets / 1e6:.1f} million packets", f"{NS2_PACKET_S * 1e6:g} us a packet"
        say(f"{ours} of CPU time for {packets}; ns-2 would take about {theirs} ({cost}, docs/fidelity.md)")
