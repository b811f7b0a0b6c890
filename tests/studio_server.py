"""A studio's server in a process of its own, and requests to it as its page sends them, or another's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class Server:
    """One that runs. `address` is the page's, `host` its host and port."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address
        self.host = urlsplit(address).netloc
        self.token = urlsplit(address).path.strip("/")

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str | None] | None = None
    ) -> tuple[int, bytes]:
        """Status and body. The page's own headers are sent unless others are given; `None` takes one away."""
        connection = HTTPConnection(self.host, timeout=60)
        sent: dict[str, str | None] = {"Host": self.host, "Origin": f"http://{self.host}", **(headers or {})}
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.putrequest(method, path, skip_host=True)
        for name, value in (sent | {"Content-Length": str(len(content or b""))}).items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(content)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    def post(self, path: str, body: Any) -> Any:
        """What the page gets; the request must succeed."""
        status, content = self.ask("POST", f"/{self.token}/api/{path}", body)
        assert status == 200, content
        return json.loads(content)

    def lines(self, path: str, body: Any) -> Generator[dict[str, Any], None, None]:
        """The answers of a stream, one after another."""
        connection = HTTPConnection(self.host, timeout=60)
        origin = {"Origin": f"http://{self.host}"}
        connection.request("POST", f"/{self.token}/api/{path}", json.dumps(body), origin)
        answer = connection.getresponse()
        assert answer.status == 200
        try:
            while line := answer.readline():
                yield json.loads(line)
        finally:
            connection.close()


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[Server]:
    """`paceline studio` with these arguments, in this folder, on a free port."""
    command = [sys.executable, "-m", "paceline", "studio", "--no-browser", "--port", "0", *arguments]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=folder, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, **streams)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, process.communicate()
        yield Server(process, address)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
