"""Who may talk to the studio: this machine's browser, from the studio's own page, with the token of its address.

The server listens on loopback alone. A page from elsewhere may still make a browser send requests there. So each must
name one of the server's own addresses (``Host``, against names that are rebound to 127.0.0.1); whatever a browser says
of its origin must be that address (``Origin``, ``Sec-Fetch-Site``); and the path begins with a token that only the
printed address has. What starts something (any method but GET and HEAD) must say its origin.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paceline.report import script

#: Scripts and styles are files of the package; nothing is fetched from, framed by, or sent to anywhere else.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: Reports are one file with a style sheet and a script of their own; it runs in a page that belongs to nobody.
REPORT_POLICY = f"{script.policy()}; frame-ancestors 'none'; sandbox allow-scripts"
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_READING = ("GET", "HEAD")


def new_token() -> str:
    """A token of 192 random bits, as it stands in an address."""
    return secrets.token_urlsafe(24)


class Guard:
    """Lets through what comes from the studio's own page, and gives every answer the headers of `HEADERS`."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # no web sockets here
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in given)]
            await send(message)

        if refusal := self._refusal(scope["method"], scope["path"], headers):
            await PlainTextResponse(refusal + "\n", 403)(scope, receive, send_with_headers)
            return
        # Starlette takes the part of the path behind this
        inner = dict(scope) | {"root_path": "/" + scope["path"].split("/")[1]}
        await self._app(inner, receive, send_with_headers)

    def _refusal(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        """Why a request is refused, in a line; ``None`` where it may pass."""
        if headers.get("host") not in self._hosts:
            return "paceline studio: this is no address of it; open the one that the command has printed"
        origins = [f"http://{host}" for host in self._hosts]
        origin = headers.get("origin")
        if origin not in origins and (origin is not None or method not in _READING):
            return "paceline studio: this request comes from another page"
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "paceline studio: this request comes from another page"
        given = path.split("/")[1] if path.startswith("/") else ""
        if not secrets.compare_digest(given.encode(), self._token):
            return "paceline studio: the token is missing; open the whole address that the command has printed"
        return None
