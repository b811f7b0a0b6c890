"""Serves the studio to this machine alone, until it is interrupted."""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from paceline.errors import InputError
from paceline.scenario import Scenario
from paceline.studio.app import Studio
from paceline.studio.guard import Guard, new_token

#: Loopback, and never anything else.
HOST = "127.0.0.1"
#: Tried first, so that an address of today leads somewhere tomorrow.
DEFAULT_PORT = 8765


def serve(
    start: Scenario,
    *,
    port: int | None,
    results: Path,
    tell: Callable[[str], object],
    browser: bool,
) -> None:
    """Listens, tells the address, and serves until Ctrl-C.

    Args:
        start: the state that the page begins with.
        port: of loopback; 0 is any that is free, and ``None`` the default one, or any where that is taken.
        results: where sweeps that the page asks for are kept.
        tell: gets the address.
        browser: whether to open it too.

    Raises:
        InputError: the port cannot be had.
    """
    listening = _listen(port)
    with contextlib.closing(listening):
        number = int(listening.getsockname()[1])
        token = new_token()
        studio = Studio(start, results)
        config = uvicorn.Config(
            Guard(studio.app(), token, number),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        address = f"http://{HOST}:{number}/{token}/"
        try:
            tell(address)
            if browser:
                webbrowser.open(address)
            _Server(config, studio).run(sockets=[listening])
        except KeyboardInterrupt:  # how it is meant to end
            pass
        finally:
            studio.close()


class _Server(uvicorn.Server):
    """One whose answers end with it: those that wait for a run do not keep it."""

    def __init__(self, config: uvicorn.Config, studio: Studio) -> None:
        super().__init__(config)
        self._studio = studio

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._studio.stop()
        super().handle_exit(sig, frame)


def _listen(port: int | None) -> socket.socket:
    for number in (port,) if port is not None else (DEFAULT_PORT, 0):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if sys.platform != "win32":  # where it would let others listen there too
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, number))
        except OSError as error:
            listening.close()
            if port is None and error.errno == errno.EADDRINUSE:
                continue
            raise InputError(
                f"{error.strerror or error}; choose another, or leave it out", f"--port {number}"
            ) from None
        listening.listen(128)
        return listening
    raise InputError("no port of 127.0.0.1 is free", "--port")
