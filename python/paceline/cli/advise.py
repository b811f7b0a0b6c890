"""`paceline advise`: how much buffer, which pacing, where, with which parameters."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline.cli import completion
from paceline.cli.options import (
    DASK,
    JOBS,
    QUIET,
    cluster_at,
    jobs_of,
    opened_store,
    refuse_results_of_others,
)
from paceline.errors import InputError, RunError
from paceline.terminal.output import DONE, INTERRUPTED, columns_of, print_data, say

if TYPE_CHECKING:
    from paceline.advise.question import Question

#: Options that are keys of a question, and what a terminal asks for where they are missing.
_ASKED = {
    "rate": ("How fast is the bottleneck", "10 Gbit/s"),
    "rtt": ("Round-trip times, a range or one", "5 ms .. 80 ms"),
    "flows": ("How many flows at a time", "2000"),
}
_MANY = ("rtt", "pacing", "queue", "bound")
#: Options that the question calls otherwise.
_KEYS = {"bound": "bounds", "capture": "from"}
#: `size = "50 KB"`, as a file has it.
_AS_KEY = re.compile(r'\b([a-z]+) = ("[^"]*"|[0-9]+)')


@click.command(short_help="Say how much buffer and which pacing a network needs.")
@click.argument("file", required=False, shell_complete=completion.files)
@click.option(
    "--from",
    "capture",
    metavar="FILE",
    shell_complete=completion.files,
    help="A capture (pcap, pcapng) whose traffic it is: flows, sizes, round trips, rate.",
)
@click.option("--rate", metavar="RATE", help="Of the bottleneck: 10 Gbit/s.")
@click.option("--rtt", metavar="TIME", multiple=True, help='Round trips: "5 ms .. 80 ms"; or several, as measured.')
@click.option("--flows", metavar="N", help="Flows at a time.")
@click.option("--access", metavar="RATE", help="Of each host's link.  [default: 1 Gbit/s, or to fill the core twice]")
@click.option("--edges", metavar="N", help="Links that gather the hosts on each side.  [default: about 10]")
@click.option("--tcp", metavar="NAME", help="What the flows run, as bbr.  [default: cubic]")
@click.option("--size", metavar="SIZE", help="Users fetch files of this size, 50 KB.  [default: flows last]")
@click.option("--think", metavar="TIME", help="How long they think between two.")
@click.option("--buffer", metavar="RANGE", help='What may be: "5 packets .. 1 BDP", the default; KB too.')
@click.option(
    "--pacing", metavar="PACING", multiple=True, help='A method that may be: none, host, "edge 2 ms"; repeat.'
)
@click.option(
    "--queue", metavar="NAME", multiple=True, help="A queue discipline that may be; repeat.  [default: drop-tail]"
)
@click.option("--goal", metavar="NAME", help="buffer (the least), utilisation, loss, wait, delay, fct or fairness.")
@click.option(
    "--bound",
    metavar="BOUND",
    multiple=True,
    help='What must hold: "utilisation >= 98 %", or without the sign; repeat.',
)
@click.option("--sure", metavar="SHARE", help="Confidence of intervals.  [default: 95 %]")
@click.option("--precision", metavar="SHARE", help="Of what is stated, half an interval.  [default: 0.5 %]")
@click.option("--within", metavar="TIME", help="How long it may take.  [default: 60 s]")
@click.option(
    "--runs", metavar="N", help="Of the search, at most.  [default: a twelfth of all settings under 24 seeds]"
)
@click.option("--seed", metavar="N", help="The first seed.  [default: 1]")
@JOBS
@DASK
@click.option(
    "--out",
    metavar="DIR",
    shell_complete=completion.directories,
    help="Where runs and the report go.  [default: results/advise-<question>]",
)
@click.option("--changes/--no-changes", default=True, help="Look how it bears other flows, round trips, TCPs.")
@click.option("--verify", is_flag=True, help="Run the winner and the runner-up on this machine's own TCP too; as root.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as one JSON object; write files only with --out."
)
@QUIET
def advise(
    file: str | None,
    jobs: str | None,
    address: str | None,
    out: str | None,
    changes: bool,
    verify: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Say how much buffer a bottleneck needs, and which pacing, where, with which parameters.

    Theory proposes, simulation decides: settings compete under the same seeds until the order is settled, and the
    winner is run again under fresh ones. FILE is the question in TOML; options go before it. On a terminal, what is
    missing is asked for. Prints the answer, one sentence first, and writes report.html, advice.json and the advised
    setting as scenario.toml. docs/advise.md has the keys.

    \b
    paceline advise --rate "10 Gbit/s" --rtt "5 ms .. 80 ms" --flows 2000
    paceline advise --rate "100 Mbit/s" --rtt "20 ms" --flows 50 --bound "utilisation 99 %" --bound "wait 5 ms"
    paceline advise question.toml --within "10 min" --json | jq -r .sentence
    """
    question = _question(file, given)
    store = None
    if out is not None or not as_json:
        store = opened_store(out, Path("results") / f"advise-{question.key}")
        refuse_results_of_others(store.directory, "advice.json", out)
    from paceline.advise.asking import answer, on_kernel
    from paceline.terminal.progress import progress

    best = ""

    def tell(said: str) -> None:
        nonlocal best
        best = f", {said}" if said.startswith("so far") else best
        say(said)

    how: dict[str, Any] = {"store": store, "jobs": jobs_of(jobs), "tell": tell, "with_changes": changes}
    try:
        with cluster_at(address) as client, progress("looking for the best") as watch:
            advice = answer(question, executor=client, watch=watch, **how)
        if verify:
            best = f", {advice.sentence}"
            with progress("running both on the kernel") as watch:
                advice = on_kernel(advice, store=store, tell=say, watch=watch)
    except KeyboardInterrupt:
        where = f"; what has run is kept in {store.directory}, and the same command goes on from there" if store else ""
        return say(f"interrupted{best}{where}", INTERRUPTED)
    if as_json:
        print_data(advice.to_json() + "\n")
    else:
        from paceline.advise.view import as_text

        print_data(as_text(advice, columns_of(sys.stdout)))
    if store:
        try:
            with store.exclusive():
                report = advice.save(store.directory)
        except OSError as error:
            raise RunError(f"{error.filename or store.directory}: {error.strerror or error}") from None
        say(f"report: {report}; to run the advised setting: paceline run {store.directory / 'scenario.toml'}")
    return DONE


def _read_as(key: str) -> Callable[[str], str]:
    """What a terminal is told of an answer that is none; it is asked again."""

    def read(text: str) -> str:
        from paceline.advise.reading import check_key

        try:
            check_key(key, text)
        except InputError as error:
            raise click.UsageError(error.message.removeprefix(f"{key}: ")) from None
        return text

    return read


def _question(file: str | None, given: dict[str, Any]) -> Question:
    """From the file, the options, and what a terminal is asked for."""
    from paceline.advise.reading import load_question, read_question

    tables: dict[str, Any] = {}
    for name, value in given.items():
        if value is None or value == ():
            continue
        key = _KEYS.get(name, name)
        tables[key] = list(value) if name in _MANY else value
    if (
        file is None
        and "from" not in tables
        and sys.stdin.isatty()
        and sys.stdout.isatty()
        and not os.environ.get("CI")
    ):
        for key, (words, example) in _ASKED.items():
            if key not in tables:
                tables[key] = click.prompt(words, default=example, err=True, value_proc=_read_as(key))
    if file is not None:
        return load_question(file, tables)
    try:
        return read_question(tables)
    except InputError as error:
        key, colon, rest = error.message.partition(": ")
        if colon and key.partition(".")[0] in {*given, *_KEYS.values()}:
            option = "--bound" if key == "bounds" else f"--{key.partition('.')[0]}"
            raise InputError(_AS_KEY.sub(r"--\1 \2", rest), option) from None
        raise
