"""The studio in a notebook: its Python side by messages, and its page in Chromium over a model that passes them on."""

from __future__ import annotations

import json
import queue
import shutil
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from conftest import TINY
from report_browser import NAMES

pytest.importorskip("anywidget")
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)
CELL = "http://cell.test/"
TIMEOUT_S = 120

#: What a front end gives a widget: a model of traits and messages, here passed on by the test.
HOST = """async (text) => {
  const listeners = new Set();
  globalThis.hear = (told, pieces) => listeners.forEach((one) =>
    one(told, pieces.map((piece) => new DataView(Uint8Array.from(atob(piece), (c) => c.charCodeAt(0)).buffer))));
  const model = {
    get: (name) => ({ height: 900 })[name],
    on: (event, listener) => event === "msg:custom" && listeners.add(listener),
    off: (event, listener) => listeners.delete(listener),
    send: (told, _callbacks, buffers) =>
      tell(told, (buffers ?? []).map((b) => String.fromCharCode(...new Uint8Array(b)))),
  };
  const module = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  globalThis.end = await module.default.render({ model, el: document.body });
}"""


class Sent(queue.Queue[tuple[dict[str, Any], list[bytes]]]):
    """What a widget sends, in the place of a front end."""

    def __call__(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        self.put((content, buffers or []))


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    widget = pl.widget(pl.Scenario(tomllib.loads(TINY)), height=900)
    sent = Sent()
    monkeypatch.setattr(widget, "send", sent)
    widget.sent = sent
    yield widget
    widget.close()


def ask(widget: Any, path: str, body: Any = None, number: int = 1) -> tuple[int, bytes]:
    """Status and content of an answer."""
    told = {"kind": "ask", "number": number, "path": path, "method": "GET" if body is None else "POST"}
    widget._hear(widget, told, [memoryview(json.dumps(body).encode())] if body is not None else [])
    status, content = 0, b""
    while True:
        said, pieces = widget.sent.get(timeout=TIMEOUT_S)
        assert said["number"] == number
        status, content = said.get("status", status), content + b"".join(pieces)
        if said.get("ends"):
            return status, content


def test_a_state_is_run_in_this_process(shown: Any) -> None:
    status, content = ask(shown, "api/start")
    document = json.loads(content)["document"]
    assert (status, document) == (200, shown.document)
    told: list[str] = []
    shown.observe(lambda change: told.append(change["new"]["network"]["core"]["buffer"]), "document")
    document["network"]["core"]["buffer"] = "7 KB"
    status, content = ask(shown, "api/run", {"page": "1", "document": document}, number=2)
    answers = [json.loads(line) for line in content.splitlines()]
    assert {one["world"] for one in answers if one["kind"] == "run"} == {"unpaced", "paced"}
    assert answers[-1]["kind"] == "rest"
    assert told == ["7 KB"]
    assert shown.scenario.to_dict()["network"]["core"]["buffer"] == "7 KB"


def test_its_runs_are_those_of_the_command_line(shown: Any) -> None:
    _, content = ask(shown, "api/json", {"page": "1", "document": shown.document})
    found = json.loads(content)
    scenario = pl.Scenario(tomllib.loads(found["toml"]["unpaced"]))
    assert (
        json.loads(found["json"]["unpaced"])[0]["flows"] == json.loads(json.dumps(pl.run(scenario).to_dict()))["flows"]
    )


def test_what_is_wrong_is_said(shown: Any, tmp_path: Path) -> None:
    assert ask(shown, "api/read", {"text": "a = ["})[0] == 422
    assert ask(shown, "static/app.js")[0] == 404
    assert ask(shown, "api/../etc")[0] == 404
    assert ask(shown, "reports/run-9")[0] == 404
    with pytest.raises(pl.InputError, match="height"):
        pl.widget(pl.template("one-flow"), height=10)
    with pytest.raises(pl.InputError, match="nowhere"):
        pl.widget(tmp_path / "nowhere.toml")


def test_an_answer_that_is_not_wanted_ends(shown: Any) -> None:
    told = {"kind": "ask", "number": 5, "path": "api/run", "method": "POST"}
    document = shown.document | {"duration": "2000 s"}
    shown._hear(shown, told, [json.dumps({"page": "1", "document": document}).encode()])
    assert shown.sent.get(timeout=TIMEOUT_S)[0]["status"] == 200
    assert shown._asked
    shown._hear(shown, {"kind": "stop", "number": 5}, [])
    end = time.monotonic() + TIMEOUT_S
    while shown._asked and time.monotonic() < end:
        time.sleep(0.05)
    assert not shown._asked


def test_a_scenario_that_is_set_goes_to_the_page(shown: Any) -> None:
    from paceline.studio.links import decoded

    shown.scenario = shown.scenario.set("network.core.buffer", "9 KB")
    told, _ = shown.sent.get(timeout=1)
    assert told["kind"] == "link"
    assert decoded(told["link"]) == shown.document
    assert shown.document["network"]["core"]["buffer"] == "9 KB"


def test_what_says_a_scenario_may_be_set(shown: Any, tmp_path: Path) -> None:
    """As everywhere: the name of a file, whose own files lie beside it, or tables."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "cell.up").write_text("1\n2\n3\n")
    text = TINY.replace('"tiny"', '"cell"').replace('rate = "10 Mbit/s"', 'rate = { trace = "cell.up" }')
    (tmp_path / "other" / "cell.toml").write_text(text)
    shown.scenario = "other/cell.toml"
    assert shown.scenario.title == "cell"
    status, content = ask_after_link(shown, "api/json", {"page": "1", "document": shown.document})
    assert status == 200, content
    shown.scenario = tomllib.loads(TINY)
    assert shown.scenario.title == "tiny"
    with pytest.raises(pl.InputError, match="nowhere"):
        shown.scenario = "nowhere.toml"
    other = pl.widget("other/cell.toml")
    assert Path(other.document["network"]["core"]["rate"]["trace"]).is_absolute()
    other.close()


def ask_after_link(widget: Any, path: str, body: Any) -> tuple[int, bytes]:
    """`ask`, once the link that setting a scenario sends is out of the way."""
    assert widget.sent.get(timeout=TIMEOUT_S)[0]["kind"] == "link"
    return ask(widget, path, body)


def test_who_lacks_the_packages_is_told_of_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(
        ModuleNotFoundError, match=r'paceline\.widget needs anywidget.*pip install "paceline\[notebook\]"'
    ):
        pl.widget(pl.template("one-flow"))


def test_it_says_what_it_is_where_no_kernel_runs(shown: Any) -> None:
    data, _ = shown._repr_mimebundle_()
    assert data["text/plain"].startswith("The studio of ")
    assert "application/vnd.jupyter.widget-view+json" in data


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to look with")
@pytest.mark.parametrize(("width", "dark"), [(1000, False), (390, True)])
def test_the_page_answers_in_a_cell(shown: Any, width: int, dark: bool) -> None:
    from base64 import b64encode

    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 950}, color_scheme="dark" if dark else "light")
        complaints: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        heard: list[tuple[dict[str, Any], list[bytes]]] = []
        page.expose_function("tell", lambda told, pieces: heard.append((told, [p.encode("latin-1") for p in pieces])))
        page.route(CELL, lambda route: route.fulfill(body="", content_type="text/html"))
        page.goto(CELL)  # what a notebook's server sends has an address, which the frame of a cell has not
        page.evaluate(HOST, shown._esm)

        def until(there: Callable[[], bool]) -> None:
            end = time.monotonic() + TIMEOUT_S
            while not there():
                assert time.monotonic() < end, complaints
                while heard:
                    shown._hear(shown, *heard.pop(0))
                while not shown.sent.empty():
                    told, pieces = shown.sent.get()
                    page.evaluate("([t, p]) => hear(t, p)", [told, [b64encode(piece).decode() for piece in pieces]])
                page.wait_for_timeout(20)

        frame = page.frames[1]
        until(lambda: frame.query_selector("#play") is not None)
        assert frame.locator("nav button").all_inner_texts() == ["TOML", "Run it in full"]
        field = frame.locator("[aria-label='Buffer of core']")
        field.fill("3 KB")
        field.press("Enter")
        until(lambda: shown.scenario.to_dict()["network"]["core"]["buffer"] == "3 KB")
        shown.scenario = shown.scenario.set("network.core.buffer", "8 KB")
        until(lambda: field.input_value() == "8 KB" and frame.query_selector(".first-look") is None)
        assert frame.evaluate("document.documentElement.scrollWidth") <= width
        paper = frame.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") != dark
        page.screenshot(path="widget.png")
        assert complaints == []
        assert [url for url in asked if not url.startswith(("blob:", "data:"))] == [CELL]
        page.evaluate("end()")
        until(lambda: not heard)
        browser.close()
