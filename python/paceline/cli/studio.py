"""`paceline studio`: a page that answers while a slider moves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from paceline._arguments import typed, whole
from paceline.cli import completion
from paceline.cli.options import QUIET, SET
from paceline.errors import InputError
from paceline.terminal.output import DONE, print_data, say

if TYPE_CHECKING:
    from paceline.scenario import Scenario


@click.command(short_help="Open a page that answers while a slider moves.")
@click.argument("file", required=False, shell_complete=completion.files)
@SET
@click.option("--port", metavar="N", help="Of 127.0.0.1.  [default: 8765, or a free one where that is taken]")
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@click.option(
    "--out",
    metavar="DIR",
    shell_complete=completion.directories,
    help="Where sweeps that the page runs in full go.  [default: results/studio]",
)
@QUIET
def studio(file: str | None, sets: tuple[str, ...], port: str | None, no_browser: bool, out: str | None) -> int:
    """Open a page with the network of FILE: move a slider, and see what pacing does.

    FILE is a scenario, or a link that the page made; without it the page begins with its first lesson. What is paced
    and what is not runs side by side, under the same seeds. The page is served to this machine alone, at an
    address with a token, until Ctrl-C.

    \b
    paceline studio
    paceline studio scenarios/one-flow.toml
    paceline studio scenarios/edge-vs-host.toml --set pacing="edge 5 ms" --no-browser
    """
    number = None if port is None else whole(typed(port), "--port", "port", 0, 65535)
    try:
        from paceline.studio.server import serve
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("starlette", "uvicorn"):
            raise
        raise InputError(
            f'paceline studio needs {package}, which is not installed; pip install "paceline[studio]"'
        ) from None
    start = _start(file, sets)

    def tell(address: str) -> None:
        print_data(f"{address}\n")
        say("the studio is at this address, for this machine alone; Ctrl-C ends it")

    serve(start, port=number, results=Path(out or "results/studio"), tell=tell, browser=not no_browser)
    return DONE


def _start(file: str | None, sets: tuple[str, ...]) -> Scenario:
    """The state that the page begins with, checked."""
    from paceline.cli.options import checked_scenario
    from paceline.scenario import Scenario
    from paceline.studio.lessons import LESSONS
    from paceline.studio.links import decoded, is_link
    from paceline.studio.worlds import state_of, worlds_of

    if file is not None and not is_link(file):
        scenario, _ = checked_scenario(file, sets, (), None, within_s=0.0)
    elif sets:
        raise InputError("changes a scenario file; name one", "--set")
    else:
        scenario = Scenario(LESSONS[0].document if file is None else decoded(file))
    state = state_of(scenario).placed()
    worlds_of(state)
    return state
