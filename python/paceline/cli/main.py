"""The command `paceline`.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 a run failed or its results could
not be written, 2 the input is wrong, 130 interrupted. What is not needed for a command is not imported for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from paceline import _core
from paceline._arguments import typed, whole
from paceline._interrupt import exit_interrupted
from paceline.cli.analyse import analyse
from paceline.cli.emulate import emulate
from paceline.cli.explain import explain
from paceline.cli.gallery import gallery
from paceline.cli.options import FILE, MOST_S, QUIET, SEEDS, SET, SWEEP, checked_scenario, say_what_is_unchecked
from paceline.cli.pace import pace
from paceline.cli.reproduce import reproduce
from paceline.cli.run import run
from paceline.errors import InputError, PacelineError
from paceline.runs.interrupted import Interrupted
from paceline.terminal.output import DONE, FAILED, INTERRUPTED, WRONG_INPUT, columns_of, print_text
from paceline.terminal.output import forget_output as _forget_output
from paceline.terminal.output import print_data as _print
from paceline.terminal.output import print_styled as _print_styled
from paceline.terminal.output import say as _say

_EXIT_CODES = "Exit codes: 0 done, 1 a run failed, 2 the input is wrong, 130 interrupted (finished runs are kept)."


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and leaves with its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        # A shell starts what it runs in the background with it ignored; finished runs are to be kept there too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = paceline.main(arguments, "paceline", standalone_mode=False) or DONE
        _print("")
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        code = WRONG_INPUT
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else _called(arguments)
        code = _say(f"{error.format_message().rstrip('.')}; see {command} --help", WRONG_INPUT)
    except click.ClickException as error:
        code = _say(error.format_message(), WRONG_INPUT)
    except InputError as error:
        for one in (error, *error.others):
            code = _say(str(one), WRONG_INPUT)
    except UnicodeEncodeError as error:
        code = _say(f'"{error.object[:80]}" is not UTF-8; write text that is', WRONG_INPUT)
    except (PacelineError, _core.RunError) as error:  # the core's own: a panic that its guard has caught
        code = _say(str(error), FAILED)
    except OSError as error:
        code = _say(f"{error.filename or 'standard output'}: {error.strerror or error}", FAILED)
        _forget_output()
    except (KeyboardInterrupt, click.Abort) as error:
        with contextlib.suppress(KeyboardInterrupt):
            code = _say(str(error) if isinstance(error, Interrupted) else "interrupted", INTERRUPTED)
        code = INTERRUPTED
    signal.signal(signal.SIGINT, exit_interrupted)  # what is left to do is the interpreter's
    sys.exit(code)


def _called(arguments: Sequence[str] | None) -> str:
    """The command as far as it is known where Click does not say."""
    verb = next(iter(sys.argv[1:] if arguments is None else arguments), "")
    return f"paceline {verb}" if verb in paceline.commands else "paceline"


@click.group(
    no_args_is_help=True,
    epilog=_EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(_core.version(), message="paceline %(version)s")
def paceline() -> None:
    """Simulate pacing in networks with small buffers.

    \b
    paceline run scenarios/edge-vs-host.toml
    paceline reproduce --list
    paceline check scenarios/edge-vs-host.toml
    paceline doctor scenarios/edge-vs-host.toml
    paceline analyse traffic.pcap --pacer "edge 10 ms"
    paceline explain tcp --profile linux
    paceline pace --in eth1 --out eth2 --method edge --delay 10ms
    """


@paceline.command(short_help="Check a scenario and list its runs.")
@FILE
@SET
@SWEEP
@SEEDS
@QUIET
def check(file: str, sets: tuple[str, ...], sweeps: tuple[str, ...], seeds: str | None) -> int:
    """Check the scenario in FILE and print what it would run, without running it.

    \b
    paceline check scenarios/edge-vs-host.toml
    """
    from paceline.cli.check import listing

    scenario, checked = checked_scenario(file, sets, sweeps, seeds, within_s=MOST_S)
    text = listing(scenario.title, scenario.counts()[0], scenario.labels(), scenario.seed_numbers())
    for line in text.removesuffix("\n").split("\n"):  # a title may hold other line ends
        print_text(line, "    ")
    say_what_is_unchecked(scenario, checked)
    return DONE


@paceline.command(short_help="Say what a scenario really does, and what is odd.")
@FILE
@SET
@click.option("--seed", metavar="N", help="Whose draws to look at.  [default: the scenario's first]")
@click.option("--json", "as_json", is_flag=True, help="Print it all as one JSON object.")
@click.option("--strict", is_flag=True, help="Exit 1 where there is a warning or an error.")
@QUIET
def doctor(file: str, sets: tuple[str, ...], seed: str | None, as_json: bool, strict: bool) -> int:
    """Say what the scenario in FILE really does, and what is odd about it, without running it.

    Every kind of way hop by hop, with what each queue holds and who paces; round trips, bandwidth-delay products, fair
    windows, expected cost; and the classic mistakes. docs/doctor.md lists the checks.

    \b
    paceline doctor scenarios/edge-vs-host.toml
    paceline doctor scenarios/one-flow.toml --set "network.links.bottleneck.buffer=2 packets"
    paceline doctor scenarios/one-flow.toml --json | jq -r '.findings[].id'
    """
    from paceline.doctor import doctor as look_at
    from paceline.doctor.text_report import MOST_WIDTH, PLAIN_WIDTH, as_text
    from paceline.terminal.progress import phase

    drawn = None if seed is None else whole(typed(seed), "--seed", "seed", 0, 2**63 - 1)
    scenario, _ = checked_scenario(file, sets, (), None, within_s=MOST_S / 5)
    with phase("looking at it"):
        diagnosis = look_at(scenario, drawn)
    if as_json:
        _print(diagnosis.to_json())
    else:
        columns = columns_of(sys.stdout)
        width = PLAIN_WIDTH if columns is None else min(columns, MOST_WIDTH)
        _print_styled(as_text(diagnosis, width, colour=columns is not None and not os.environ.get("NO_COLOR")))
    return FAILED if strict and diagnosis.worst in ("error", "warning") else DONE


@paceline.command()
def version() -> int:
    """Print the version."""
    _print(f"paceline {_core.version()}\n")
    return DONE


paceline.add_command(run)
paceline.add_command(reproduce)
paceline.add_command(gallery)
paceline.add_command(analyse)
paceline.add_command(emulate)
paceline.add_command(explain)
paceline.add_command(pace)
