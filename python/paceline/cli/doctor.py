"""`paceline doctor`: what a scenario really does, and what is odd about it."""

from __future__ import annotations

import sys

import click

from paceline._arguments import typed
from paceline.cli.options import FILE, MOST_S, QUIET, SET, checked_scenario
from paceline.terminal.output import DONE, FAILED, columns_of, print_data, print_styled, takes_styles


@click.command(short_help="Say what a scenario really does, and what is odd.")
@FILE
@SET
@click.option("--seed", metavar="N", help="Whose draws to look at.  [default: the scenario's first]")
@click.option("--json", "as_json", is_flag=True, help="Print it all as one JSON object.")
@click.option("--strict", is_flag=True, help="Exit 1 where there is a warning or an error.")
@QUIET
def doctor(file: str, sets: tuple[str, ...], seed: str | None, as_json: bool, strict: bool) -> int:
    """Say what the scenario in FILE really does, and what is odd about it, without running it.

    Every kind of path, hop by hop, with what each queue holds and who paces; round trips, bandwidth-delay products,
    fair windows, expected cost; and the classic mistakes. docs/doctor.md lists the checks.

    \b
    paceline doctor scenarios/edge-vs-host.toml
    paceline doctor scenarios/one-flow.toml --set "network.links.bottleneck.buffer=2 packets"
    paceline doctor scenarios/one-flow.toml --json | jq -r '.findings[].id'
    """
    from paceline.doctor import doctor as look_at
    from paceline.doctor.text_report import MOST_WIDTH, PLAIN_WIDTH, as_text
    from paceline.scenario.sweep_axes import check_seed
    from paceline.terminal.progress import phase

    drawn = None if seed is None else check_seed(typed(seed), "--seed")
    scenario, _ = checked_scenario(file, sets, (), None, within_s=MOST_S / 5)
    with phase("looking at it"):
        diagnosis = look_at(scenario, drawn)
    if as_json:
        print_data(diagnosis.to_json())
    else:
        columns = columns_of(sys.stdout)
        width = PLAIN_WIDTH if columns is None else min(columns, MOST_WIDTH)
        print_styled(as_text(diagnosis, width, colour=takes_styles(sys.stdout)))
    return FAILED if strict and diagnosis.worst in ("error", "warning") else DONE
