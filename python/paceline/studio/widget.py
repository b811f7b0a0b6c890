"""The studio in a notebook: an `anywidget` that holds the page, and answers it in the kernel's own process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from paceline.scenario import Scenario, Source, loaded
from paceline.studio.app import STATIC, Studio
from paceline.studio.links import encoded
from paceline.studio.worlds import state_of, worlds_of

#: What the page may ask for.
_PATHS = ("api/", "reports/")


@cache
def _module() -> str:
    """The widget's JavaScript: the page's own modules and styles as texts, and what loads them."""
    names = [path.relative_to(STATIC).as_posix() for path in sorted(STATIC.rglob("*.js"))]
    files = {name: (STATIC / name).read_text(encoding="utf-8") for name in names if name != "widget.js"}
    styles = (STATIC.parent.parent / "report" / "style.css", STATIC / "vendor" / "uplot.css", STATIC / "studio.css")
    files["styles"] = "\n".join(path.read_text(encoding="utf-8") for path in styles)
    return f"const FILES = {json.dumps(files)};\n{(STATIC / 'widget.js').read_text(encoding='utf-8')}"


class Widget(anywidget.AnyWidget):
    """The studio of a scenario in a cell: two worlds side by side, unpaced and paced, that follow the sliders.

    Attributes:
        document: the tables of the scenario that is shown, as `Scenario.to_dict` has them; follows the page.
        height: px.
    """

    document = traitlets.Dict()
    height = traitlets.Int(720, min=200).tag(sync=True)

    def __init__(self, scenario: Scenario, results: Path, height: int) -> None:
        state = state_of(scenario).placed()
        worlds_of(state)  # refused here rather than in the page
        self._studio = Studio(state, results)
        self._app = self._studio.app()
        self._asked: dict[int, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="paceline-widget", daemon=True).start()
        super().__init__(_esm=_module(), document=state.to_dict(), height=height)
        self.on_msg(self._hear)

    @property
    def scenario(self) -> Scenario:
        """What is shown now; to be set, too, by whatever says a scenario.

        Raises:
            InputError: a scenario that has no two worlds.
        """
        return Scenario(self.document)

    @scenario.setter
    def scenario(self, scenario: Source) -> None:
        state = state_of(loaded(scenario)).placed()
        worlds_of(state)
        self.document = state.to_dict()
        self.send({"kind": "link", "link": encoded(self.document)})

    def close(self) -> None:
        """Ends what runs, and takes the page away."""
        self._loop.call_soon_threadsafe(self._studio.close)
        super().close()

    def _repr_mimebundle_(self, **more: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        shown = super()._repr_mimebundle_(**more)
        words = f"The studio of {self.scenario.title or 'a scenario'}: it is seen where a kernel runs this cell."
        for bundle in (shown or ())[:1]:
            bundle["text/plain"] = words
        return shown

    def _hear(self, _widget: Any, told: Mapping[str, Any], buffers: list[Any]) -> None:
        """A message of the page: a request, or that its answer is no longer wanted."""
        kind, number = told.get("kind"), told.get("number")
        if kind == "close":
            self._loop.call_soon_threadsafe(self._studio.stop)
        elif kind == "stop" and isinstance(number, int):
            self._loop.call_soon_threadsafe(self._stop, number)
        elif kind == "ask" and isinstance(number, int):
            path, body = str(told.get("path", "")), bytes(buffers[0]) if buffers else b""
            if path == "api/run":
                self._follow(body)
            method = "POST" if told.get("method") == "POST" else "GET"
            self._loop.call_soon_threadsafe(self._begin, number, method, path, body)

    def _follow(self, body: bytes) -> None:
        """The state that the page asks to run is the one that is shown."""
        try:
            document = json.loads(body)["document"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return  # the answer says what is wrong
        if isinstance(document, dict):
            self.document = document

    def _begin(self, number: int, method: str, path: str, body: bytes) -> None:
        task = self._loop.create_task(self._answer(number, method, path, body))
        self._asked[number] = task
        task.add_done_callback(lambda _: self._asked.pop(number, None))

    def _stop(self, number: int) -> None:
        if task := self._asked.get(number):
            task.cancel()

    async def _answer(self, number: int, method: str, path: str, body: bytes) -> None:
        """Gives the studio a request as a server would (ASGI 3.0), and sends on what it answers."""
        known = path.startswith(_PATHS)
        path, _, query = path.partition("?")
        scope: dict[str, Any] = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "headers": []}
        scope |= {"method": method, "path": f"/{path}" if known else "/none", "query_string": query.encode()}
        scope |= {"root_path": "", "scheme": "http", "server": None, "client": None}
        gone = asyncio.Event()
        given = False

        async def receive() -> dict[str, Any]:
            nonlocal given
            if given:
                await gone.wait()
                return {"type": "http.disconnect"}
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.send({"number": number, "status": message["status"]})
            elif message["type"] == "http.response.body":
                piece = bytes(message.get("body", b""))
                self.send({"number": number, "ends": not message.get("more_body", False)}, [piece] if piece else [])

        try:
            await self._app(scope, receive, send)
        finally:
            gone.set()
