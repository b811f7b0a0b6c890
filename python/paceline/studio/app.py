"""What the studio answers: its page, states to run, packets, lessons, sweeps in full, captures and their reports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import tomllib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from paceline import _core
from paceline.errors import InputError, PacelineError
from paceline.results.tables import to_json
from paceline.scenario import Scenario
from paceline.studio.captures import MOST_BYTES, analysed
from paceline.studio.choices import choices
from paceline.studio.findings import metrics
from paceline.studio.full_runs import FullRun, sweep_of
from paceline.studio.guard import REPORT_POLICY
from paceline.studio.lessons import LESSONS
from paceline.studio.links import decoded, encoded
from paceline.studio.packets import start_of, traced
from paceline.studio.refinement import Costs, Work, WorkCancelledError, new_pool, refine
from paceline.studio.worlds import scenario_of, state_of, worlds_of

STATIC = Path(__file__).parent / "static"
_MOST_BODY = 1 << 20
_PROGRESS_S = 0.2


class Studio:
    """The state of one server: whose runs go on, and what can be looked at."""

    def __init__(self, start: Scenario, results: Path) -> None:
        self._start = start
        self._results = results
        self._costs = Costs()
        self._pool = new_pool()
        self._packets_pool = new_pool()
        self._work: dict[str, Work] = {}
        self._full: dict[str, FullRun] = {}
        self._reports: dict[str, Path] = {}
        self._uploads = tempfile.TemporaryDirectory(prefix="paceline-studio-", ignore_cleanup_errors=True)

    def app(self) -> Starlette:
        """Everything by its path, the token's part aside."""
        posts = {
            "read": self.read,
            "toml": self.toml,
            "run": self.run,
            "packets": self.packets,
            "json": self.results_json,
            "full": self.run_in_full,
            "capture": self.capture,
        }
        routes = [Route(f"/api/{name}", _answering(what), methods=["POST"]) for name, what in posts.items()]
        return Starlette(
            routes=[
                Route("/", lambda _: FileResponse(STATIC / "index.html")),
                Route("/api/start", self.start),
                Route("/api/full/{name}", self.full_progress),
                Route("/api/full/{name}/stop", _answering(self.stop_full), methods=["POST"]),
                Route("/reports/{name}", self.show_report),
                Route("/report.css", lambda _: FileResponse(STATIC.parent.parent / "report" / "style.css")),
                *routes,
                Mount("/static", StaticFiles(directory=STATIC)),
            ],
            exception_handlers={HTTPException: _refused},
        )

    def stop(self) -> None:
        """Ends all runs, and so all answers that wait for one."""
        for work in list(self._work.values()):
            work.cancel()
        for full in list(self._full.values()):
            full.stop()

    def close(self) -> None:
        """The same, and gives back threads and files."""
        self.stop()
        for pool in (self._pool, self._packets_pool):
            pool.shutdown(wait=False, cancel_futures=True)
        self._uploads.cleanup()

    async def start(self, _request: Request) -> Response:
        """What the page begins with."""
        facts = {"metrics": metrics(), "choices": choices(), "lessons": [lesson.shown() for lesson in LESSONS]}
        document = self._start.to_dict()
        return JSONResponse(facts | {"document": document, "title": self._start.title, "version": _core.version()})

    async def read(self, request: Request) -> Response:
        """A scenario's text, or a link, as the state that the studio begins with."""
        body = await _body(request)
        text = str(body.get("text", ""))
        if "link" in body:
            scenario = Scenario(decoded(str(body["link"])))
        else:
            try:
                scenario = Scenario(tomllib.loads(text), text=text)
            except (ValueError, RecursionError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(f"broken TOML: {error}", "scenario") from None
        state = state_of(scenario)
        await run_in_threadpool(worlds_of, state)
        return JSONResponse({"document": state.to_dict(), "title": state.title})

    async def toml(self, request: Request) -> Response:
        """The state's TOML, and what stands behind an address to share it."""
        scenario = scenario_of(await _body(request))
        return JSONResponse({"toml": scenario.to_toml(), "link": encoded(scenario.to_dict())})

    async def run(self, request: Request) -> Response:
        """Runs a state and refines it, a line of JSON for each thing that is known; ends what the page ran before."""
        body = await _body(request)
        page = str(body.get("page", ""))
        if tracing := self._work.pop(_tracing(page), None):  # of a state that is no more
            tracing.cancel()
        work = self._new_work(page)
        return StreamingResponse(self._lines(scenario_of(body), work), media_type="application/x-ndjson")

    async def packets(self, request: Request) -> Response:
        """A window of both worlds' events; none where the page has asked for something else meanwhile."""
        body = await _body(request)
        work = self._new_work(_tracing(str(body.get("page", ""))))
        asked = body.get("from_s")
        if asked is not None and not isinstance(asked, (int, float)):
            raise InputError("from_s: give seconds, or nothing", "studio")
        work_pool = self._packets_pool
        try:
            loop = asyncio.get_running_loop()
            worlds = await loop.run_in_executor(work_pool, worlds_of, scenario_of(body))
            from_s = start_of(worlds[1], work, None if asked is None else float(asked))
            both = [loop.run_in_executor(work_pool, traced, world, work, from_s) for world in worlds]
            # as text from other threads: a megabyte of numbers made here would keep all other answers waiting
            content = f'{{"worlds": [{", ".join(await asyncio.gather(*both))}]}}'
            return Response(content, media_type="application/json")
        except WorkCancelledError:  # another state, or another window, is wanted
            return JSONResponse({"worlds": []})
        finally:
            work.cancel()

    async def results_json(self, request: Request) -> Response:
        """What `paceline run --json` prints for each world, and the scenario that it is given."""
        body = await _body(request)
        work = Work(self._pool, self._costs)
        worlds = await run_in_threadpool(worlds_of, scenario_of(body))
        found: dict[str, Any] = {}
        try:
            async for answer in refine(worlds[1].scenario, work):
                if answer["kind"] == "run" and answer["length"] == 1.0:
                    found[answer["world"]] = answer["run"]
                if len(found) == len(worlds):
                    break
        finally:
            work.cancel()
        scenarios = {world.name: world.scenario.to_toml() for world in worlds}
        return JSONResponse({"json": {name: to_json([run]) for name, run in found.items()}, "toml": scenarios})

    async def run_in_full(self, request: Request) -> Response:
        """Begins a sweep of the state; `full_progress` tells of it."""
        body = await _body(request)
        scenario = sweep_of(scenario_of(body), body.get("seeds", 5), body.get("buffers"))
        full = await run_in_threadpool(FullRun, scenario, self._results)
        name = str(len(self._full) + 1)
        self._full[name] = full
        self._reports[f"run-{name}"] = full.report
        full.start()
        return JSONResponse({"name": name, "report": f"reports/run-{name}", "directory": str(full.directory)})

    async def full_progress(self, request: Request) -> Response:
        """A line of JSON for each step, to its end."""
        full = self._full.get(request.path_params["name"])
        if full is None:
            raise HTTPException(404, "there is no such run")

        async def lines() -> AsyncIterator[bytes]:
            told = None
            while True:
                now = full.progress()
                if now != told:
                    told = now
                    yield _line(now)
                if "done" in now or "error" in now:
                    return
                await asyncio.sleep(_PROGRESS_S)

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def stop_full(self, request: Request) -> Response:
        """Ends a sweep."""
        full = self._full.get(request.path_params["name"])
        if full is None:
            raise HTTPException(404, "there is no such run")
        full.stop()
        return JSONResponse({})

    async def capture(self, request: Request) -> Response:
        """Analyses a capture that was dropped on the page; its bytes are the body."""
        name = Path(request.query_params.get("name", "capture.pcap")).name
        pacers = request.query_params.getlist("pacer")
        if not _core.is_capture_name(name):
            raise InputError("is no capture; drop a .pcap or .pcapng, .gz or .zst after that or not", name)
        path = Path(tempfile.mkdtemp(dir=self._uploads.name)) / name
        size = 0
        with path.open("wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > MOST_BYTES:
                    raise InputError(f"has more than {MOST_BYTES >> 20} MiB; use paceline analyse {name}", name)
                file.write(chunk)
        try:
            found = await run_in_threadpool(analysed, path, pacers)
        except InputError as error:
            path.unlink()
            raise InputError(error.message, name if error.source == str(path) else error.source) from None
        report = f"capture-{len(self._reports) + 1}"
        self._reports[report] = found.report
        return JSONResponse({"report": f"reports/{report}", "notes": found.notes, "rows": found.rows})

    async def show_report(self, request: Request) -> Response:
        """A report as it was written."""
        path = self._reports.get(request.path_params["name"])
        if path is None or not path.exists():
            raise HTTPException(404, "there is no such report yet")
        return FileResponse(path, headers={"content-security-policy": REPORT_POLICY}, media_type="text/html")

    def _new_work(self, page: str) -> Work:
        if before := self._work.pop(page, None):
            before.cancel()
        self._work[page] = Work(self._pool, self._costs)
        return self._work[page]

    async def _lines(self, state: Scenario, work: Work) -> AsyncIterator[bytes]:
        try:
            async with contextlib.aclosing(refine(state, work)) as answers:
                async for answer in answers:
                    yield _line(answer)
        except WorkCancelledError:
            yield _line({"kind": "cancelled"})
        except PacelineError as error:
            yield _line({"kind": "error", "errors": _messages(error)})
        finally:
            work.cancel()


def _tracing(page: str) -> str:
    """What a page's tracing is known by."""
    return f"packets {page}"


def _answering(what: Any) -> Any:
    """What is wrong with a request comes back in words."""

    async def answer(request: Request) -> Response:
        try:
            response: Response = await what(request)
            return response
        except WorkCancelledError:
            return JSONResponse({"errors": ["cancelled"]}, 409)
        except PacelineError as error:
            return JSONResponse({"errors": _messages(error)}, 422)

    return answer


def _messages(error: PacelineError) -> list[str]:
    return [str(one) for one in (error, *getattr(error, "others", ()))]


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(f"paceline studio: {error.detail}\n", error.status_code)


async def _body(request: Request) -> Mapping[str, Any]:
    """The JSON object of a request. Raises `InputError`."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MOST_BODY:
            raise InputError(f"the request has more than {_MOST_BODY >> 20} MiB", "studio")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError("the request is no JSON", "studio") from None
    if not isinstance(body, dict):
        raise InputError("the request is no JSON object", "studio")
    return body


def _line(facts: Mapping[str, Any]) -> bytes:
    return json.dumps(facts, allow_nan=False).encode() + b"\n"
