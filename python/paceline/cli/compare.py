"""`paceline compare`: two directories of results, setting by setting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from paceline._units import STEPS, step_for
from paceline.cli import completion
from paceline.cli.options import QUIET
from paceline.cli.usage import Argument
from paceline.errors import InputError
from paceline.terminal.output import DONE, FAILED, print_data, print_table, say
from paceline.terminal.progress import phase

if TYPE_CHECKING:
    from paceline.results.comparison import Comparison, Difference


@click.command(short_help="Compare two directories of results.")
@click.argument("a", cls=Argument, what="a directory of results", shell_complete=completion.directories)
@click.argument("b", cls=Argument, what="another to compare with it", shell_complete=completion.directories)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="PATH",
    help="Of this number, as flows.jain.  [default: seven of them]",
)
@click.option(
    "--fail-above", "limit", metavar="2%", help="Differences of at most this share of A's mean count as none."
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON: an object.")
@QUIET
def compare(a: str, b: str, metrics: tuple[str, ...], limit: str | None, as_json: bool) -> int:
    """Compare the results in B with those in A, each a directory that paceline run --out wrote, or its runs.parquet.

    Settings are aligned by what was swept; what has one value in each is left aside, and said. Differences, B - A, have
    95 % intervals: paired over the seeds that both have, else Welch's. One seed, which is compared with the same seed,
    or seeds that give the same run, give no interval, and any difference counts. Exits with 0 where nothing differs,
    with 1 where something does, or a setting is only in one of them, with 2 where the input is wrong.

    \b
    paceline compare results/before results/after
    paceline compare results/before results/after --metric flows.jain --fail-above 2% --quiet
    paceline compare results/before results/after --json | jq '.differences[] | select(.differs)'
    """
    from paceline.results import Results, comparison

    allowed = 0.0 if limit is None else _share(limit)
    try:
        with phase("comparing"):
            found = comparison.compare(Results.load(a), Results.load(b), metrics, allowed)
    except InputError as error:
        raise InputError(error.message, "--metric") if error.source == "metric" else error from None
    if as_json:
        rows = [row.to_dict() for row in found.rows]
        settings: dict[str, Any] = {
            "only_a": [dict(one) for one in found.only_a],
            "only_b": [dict(one) for one in found.only_b],
            "unpaired_a": list(found.unpaired_a),
            "unpaired_b": list(found.unpaired_b),
        }
        about = {"a": a, "b": b, "fail_above": allowed, "differs": found.differs, "apart": found.apart}
        print_data(json.dumps(about | settings | {"differences": rows}, allow_nan=False) + "\n")
    else:
        head, cells, names = table_of(found)
        print_table(head, cells, names)
        _say_what_is_apart(found, a, b)
    return FAILED if found.differs else DONE


def table_of(found: Comparison) -> tuple[list[str], list[list[str]], int]:
    """Head and rows, and how many columns name a row. A number has one unit over all settings."""
    from paceline.results.quantities import unit_of

    paths = list(dict.fromkeys(path for row in found.rows for path in row.settings if path not in found.apart))
    paths = [path for path in paths if len({row.settings.get(path) for row in found.rows}) > 1]
    head = [*paths, "metric", "unit", "A", "B", "B - A", "of A", "differs"]
    rows = []
    for row in found.rows:
        largest = max(abs(value or 0.0) for one in found.rows if one.metric == row.metric for value in (one.a, one.b))
        factor, unit = step_for(largest, STEPS.get(unit_of(row.metric) or "", ((1.0, "–"),)))
        share = "–" if row.relative is None else f"{100 * row.relative:+.2f} %"
        numbers = [_number(row.a, factor), _number(row.b, factor), _difference(row, factor)]
        named = [*(row.settings.get(path, "–") for path in paths), row.metric, unit]
        rows.append([*named, *numbers, share, "yes" if row.differs else "no"])
    return head, rows, len(paths) + 2


def _number(value: float | None, factor: float) -> str:
    return "–" if value is None else f"{value / factor:.6g}"


def _difference(row: Difference, factor: float) -> str:
    if row.difference is None:
        return "–"
    mean, half = row.difference.mean, row.difference.half
    return (_signed(mean / factor) if mean else "0") + (f" ± {_places(half / factor, 2)}" if half else "")


def _signed(value: float) -> str:
    return ("-" if value < 0 else "+") + _places(abs(value), 3)


def _places(value: float, digits: int) -> str:
    """So many digits that count, and never an exponent for what is large: 490, and not 4.9e+02."""
    rounded = f"{value:.{digits}g}"
    return f"{float(rounded):.0f}" if float(rounded) >= 10**digits else rounded


def _say_what_is_apart(found: Comparison, a: str, b: str) -> None:
    for name, other, seeds in ((a, b, found.unpaired_a), (b, a, found.unpaired_b)):
        if seeds:
            more = f" and {len(seeds) - 6} more" if len(seeds) > 6 else ""
            which = f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds[:6]))}{more}"
            say(f"left aside: {which} of {name}, which {other} does not have")
    if any(row.method == "welch" for row in found.rows):
        why = "intervals are Welch's; the same seeds give narrower ones"
        say(f"{a} and {b} have fewer than two seeds in common: {why}")
    if any(row.differs and row.difference and row.difference.half is None for row in found.rows):
        say("a difference without an interval counts, however small: its runs do not tell what is chance")
    for path, (first, second) in found.apart.items():
        say(f"{path}: {first or 'not swept'} in {a}, {second or 'not swept'} in {b}")
    for name, other, some in ((a, b, found.only_a), (b, a, found.only_b)):
        if some:
            more = f" and {len(some) - 3} more" if len(some) > 3 else ""
            say(f"only in {name}, not in {other}: {'; '.join(map(_words, some[:3]))}{more}")


def _words(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{path} = {label}" for path, label in settings.items()) or "the only setting"


def _share(text: str) -> float:
    number, sign, rest = text.partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not sign or rest.strip() or not 0 <= share < 1e6:
        raise InputError(f'"{text}" is no share of a mean; write as 2% or 0.5%', "--fail-above")
    return share
