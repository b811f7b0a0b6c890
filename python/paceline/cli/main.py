"""The command `paceline`.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 a run failed or its results could
not be written, 2 the input is wrong, 130 interrupted. What is not needed for a command is not imported for it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from paceline import _core, _optional
from paceline._interrupt import exit_interrupted
from paceline.cli import usage
from paceline.cli.advise import advise
from paceline.cli.analyse import analyse
from paceline.cli.check import check
from paceline.cli.compare import compare
from paceline.cli.doctor import doctor
from paceline.cli.emulate import emulate
from paceline.cli.explain import explain
from paceline.cli.figure import figure
from paceline.cli.gallery import gallery
from paceline.cli.init import init
from paceline.cli.man import man
from paceline.cli.open import open_page
from paceline.cli.pace import pace
from paceline.cli.reproduce import reproduce
from paceline.cli.run import run
from paceline.cli.schema import schema
from paceline.cli.studio import studio
from paceline.cli.table import table
from paceline.errors import InputError, PacelineError
from paceline.runs.interrupted import Interrupted
from paceline.terminal.letters import speak_its_letters
from paceline.terminal.output import DONE, FAILED, INTERRUPTED, WRONG_INPUT, forget_output, print_data, say

_EXIT_CODES = "Exit codes: 0 done, 1 a run failed, 2 the input is wrong, 130 interrupted (finished runs are kept)."


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command and leaves with its exit code."""
    # JSON's, where a pipe would have a code page's
    speak_its_letters(sys.stdout, "utf-8" if sys.platform == "win32" else None)
    speak_its_letters(sys.stderr)
    try:
        # A shell starts what it runs in the background with it ignored; finished runs are to be kept there too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = paceline.main(arguments, "paceline", standalone_mode=False) or DONE
        print_data("")
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        code = WRONG_INPUT
    except click.UsageError as error:
        code = say(usage.said(error, paceline, sys.argv[1:] if arguments is None else arguments), WRONG_INPUT)
    except click.ClickException as error:
        code = say(error.format_message(), WRONG_INPUT)
    except InputError as error:
        for one in (error, *error.others):
            code = say(str(one), WRONG_INPUT)
    except UnicodeEncodeError as error:
        code = say(f'"{error.object[:80]}" is not UTF-8; write text that is', WRONG_INPUT)
    except ModuleNotFoundError as error:
        if error.name not in _optional.EXTRAS:
            raise
        code = say(str(error), WRONG_INPUT)
    except (PacelineError, _core.RunError) as error:  # the core's own: a panic that its guard has caught
        code = say(str(error), FAILED)
    except OSError as error:
        code = say(f"{error.filename or 'standard output'}: {error.strerror or error}", FAILED)
        forget_output()
    except (KeyboardInterrupt, click.Abort) as error:
        with contextlib.suppress(KeyboardInterrupt):
            code = say(str(error) if isinstance(error, Interrupted) else "interrupted", INTERRUPTED)
        code = INTERRUPTED
    signal.signal(signal.SIGINT, exit_interrupted)  # what is left to do is the interpreter's
    sys.exit(code)


@click.group(
    no_args_is_help=True,
    epilog=_EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(_core.version(), "-V", "--version", message="paceline %(version)s")
def paceline() -> None:
    """Simulate pacing in networks with small buffers.

    \b
    paceline init edge-vs-host
    paceline run edge-vs-host.toml
    paceline studio one-flow.toml
    paceline advise --rate "10 Gbit/s" --rtt "5 ms .. 80 ms" --flows 2000
    paceline reproduce --list
    paceline check edge-vs-host.toml
    paceline doctor edge-vs-host.toml
    paceline analyse traffic.pcap --pacer "edge 10 ms"
    paceline explain tcp --profile linux
    paceline pace --in eth1 --out eth2 --method edge --delay 10ms
    """


@paceline.command()
def version() -> int:
    """Print the version."""
    print_data(f"paceline {_core.version()}\n")
    return DONE


_COMMANDS = (
    *(init, run, advise, check, doctor, compare, table, figure, reproduce, gallery, analyse, emulate, pace),
    *(studio, explain, schema, open_page, man),
)
for command in _COMMANDS:
    paceline.add_command(command)
