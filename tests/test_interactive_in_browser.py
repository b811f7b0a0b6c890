"""The script of report and gallery: values read, planes zoomed, lines hidden, tables sorted; and pages without it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import gallery_samples
import numpy as np
import pytest
import report_samples
from paceline.gallery import pictures
from paceline.gallery import write as write_gallery
from paceline.report import script, write
from paceline.report.line_plot import Axis, Line, line_plot
from report_browser import Browser, found

pytestmark = pytest.mark.skipif(found() is None, reason="no Chromium to look with")

#: The first chart against the axis, a row of the table, and what is read.
CHART = "section:has(#plots) svg.picture"
READ = "[...document.querySelectorAll('.reading:not([hidden]) > *')].map(e => e.textContent)"
STYLE = Path(script.__file__).with_name("style.css")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(60) as browser:
        yield browser


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(report_samples.directory(tmp_path_factory.mktemp("demo"), groups=True))


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two pictures of known functions: 3 x up to 100 s, and 100 / x on logarithmic axes."""
    x = np.linspace(0, 100, 301)
    across = np.geomspace(1e-3, 10, 200)
    straight = line_plot(
        "Straight",
        "",
        [Line("three times", 1, x, 3 * x, np.full(301, 30.0)), Line("itself", 2, x, x, steps=True)],
        Axis("Time", "s"),
        Axis("", "packets", low=0.0),
    )
    falling = line_plot(
        "Falling",
        "",
        [Line("a hundredth", 3, across, 0.01 / across)],
        Axis("Scale", "s", logarithmic=True),
        Axis("", "number", logarithmic=True),
    )
    path = tmp_path_factory.mktemp("lines") / "lines.html"
    pictures = "".join(f"<figure>{picture.markup()}</figure>" for picture in (straight, falling))
    page = f"<!DOCTYPE html><style>{STYLE.read_text()}figure {{ width: 600px }}</style><header></header>{pictures}"
    path.write_text(page + f"<script>{script.text()}</script>", encoding="utf-8")
    return path


class Mouse:
    """Acts in a picture, at places given as shares of the box of its first plane."""

    def __init__(self, browser: Browser, chart: str, plane: int = 0) -> None:
        self.browser = browser
        browser.value(f"document.querySelector({chart!r}).scrollIntoView({{block: 'center'}})")
        self.left, self.top, self.right, self.bottom = browser.value(
            f"(() => {{ const svg = document.querySelector({chart!r}), m = svg.getScreenCTM();"
            f"const b = svg.querySelectorAll('.plane')[{plane}].dataset.box.split(' ').map(Number);"
            "const at = (x, y) => new DOMPoint(x, y).matrixTransform(m); const a = at(b[0], b[1]), z = at(b[2], b[3]);"
            "return [a.x, a.y, z.x, z.y] })()"
        )

    def act(self, kind: str, x: float, y: float, **more: Any) -> None:
        across, down = self.left + x * (self.right - self.left), self.top + y * (self.bottom - self.top)
        self.browser.call("Input.dispatchMouseEvent", type=kind, x=across, y=down, **more)

    def read(self, x: float, y: float = 0.5) -> list[str]:
        self.act("mouseMoved", x, y)
        shown: list[str] = self.browser.value(READ)
        return shown

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.act("mousePressed", *start, button="left", clickCount=1)
        self.act("mouseMoved", *end, button="left")
        self.act("mouseReleased", *end, button="left", clickCount=1)

    def double_click(self, x: float, y: float) -> None:
        for count in (1, 2):
            self.act("mousePressed", x, y, button="left", clickCount=count)
            self.act("mouseReleased", x, y, button="left", clickCount=count)


def press(browser: Browser, key: str, code: int = 0) -> None:
    text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)


def ticks(browser: Browser, way: str, chart: str = "svg.picture") -> list[str]:
    shown: list[str] = browser.value(
        f"[...document.querySelector({chart!r}).querySelectorAll('.tick-{way}')]"
        ".filter(t => t.style.display !== 'none').map(t => t.querySelector('text')?.textContent).filter(Boolean)"
    )
    return shown


def amount(text: str) -> float:
    return float(re.split(r"[\u00a0 ]", text.replace("\u202f", ""))[0])


def column(browser: Browser, number: int) -> list[list[str]]:
    """A column of the first table of results, section by section."""
    rows: list[list[str]] = browser.value(
        "[...document.querySelector('table.results').tBodies].map(b => [...b.rows].filter(r => !r.matches('.place'))"
        f".map(r => r.cells[{number}].textContent))"
    )
    return rows


def test_a_point_says_what_the_page_says_of_it(browser: Browser, demo: Path) -> None:
    told = re.findall(r"<title>([^<]+): ([^<]+)</title>", unescape(demo.read_text(encoding="utf-8")))
    expected = {place: value for place, value in told if "Mbit/s" in value}
    browser.open(demo, 1280)
    mouse = Mouse(browser, CHART)
    head, *read = mouse.read(0.4)
    assert head == "Core buffer: 10 KB"
    names = ["edge pacing 10 ms", "QLBP", "unpaced", "host pacing"]
    assert read == [name + expected[f"{name}, 10 KB"] for name in names]  # from top to bottom
    assert mouse.read(0.05)[0] == "Core buffer: 5 KB"
    mouse.act("mouseMoved", -3, 0.5)
    assert browser.value(READ) == []


@pytest.mark.parametrize("share", [0.1, 0.37, 0.8])
def test_values_between_points_are_those_of_the_line(browser: Browser, lines: Path, share: float) -> None:
    browser.open(lines, 1280)
    head, three, itself = Mouse(browser, "svg.picture").read(share)
    at = amount(head.removeprefix("Time: "))
    assert at == pytest.approx(100 * share, abs=0.3)
    value, low, high = map(float, re.findall(r"[\d.]+", three.removeprefix("three times")))
    assert value == pytest.approx(3 * at, abs=0.5)
    assert (low, high) == (pytest.approx(max(value - 30, 0), abs=0.8), pytest.approx(min(value + 30, 330), abs=0.8))
    assert amount(itself.removeprefix("itself")) == pytest.approx(at, abs=0.6)
    head, falling = Mouse(browser, "figure + figure svg").read(share)
    seconds = amount(head.removeprefix("Scale: ")) * (1e-3 if head.endswith("ms") else 1)
    assert seconds == pytest.approx(1e-3 * 10 ** (4 * share), rel=0.02)
    assert amount(falling.removeprefix("a hundredth")) == pytest.approx(0.01 / seconds, rel=0.03)


def test_a_drag_zooms_and_a_double_click_shows_all_of_it(browser: Browser, lines: Path) -> None:
    browser.open(lines, 1280)
    before = browser.value("[...document.querySelectorAll('.series path')].map(p => p.getAttribute('d'))")
    names = ticks(browser, "x"), ticks(browser, "y")
    mouse = Mouse(browser, "svg.picture")
    mouse.drag((0.4, 0.9), (0.5, 0.5))
    across = [float(text) for text in ticks(browser, "x")]
    assert 39 < min(across) <= 42
    assert 48 <= max(across) < 51
    assert max(float(text) for text in ticks(browser, "y")) < 170
    assert browser.value("document.querySelector('.series').hasAttribute('clip-path')")
    assert amount(mouse.read(0.5)[0].removeprefix("Time: ")) == pytest.approx(45, abs=0.3)
    assert browser.value("!document.querySelector('.whole').hidden")
    mouse.double_click(0.5, 0.5)
    assert browser.value("[...document.querySelectorAll('.series path')].map(p => p.getAttribute('d'))") == before
    assert (ticks(browser, "x"), ticks(browser, "y")) == names
    assert browser.value("document.querySelector('.whole').hidden")


def test_a_drag_along_one_axis_zooms_that_axis(browser: Browser, lines: Path) -> None:
    browser.open(lines, 1280)
    up = ticks(browser, "y")
    Mouse(browser, "svg.picture").drag((0.2, 0.5), (0.6, 0.51))
    assert ticks(browser, "y") == up
    assert float(ticks(browser, "x")[0]) >= 19


def test_the_wheel_is_the_pages_until_a_chart_is_chosen(browser: Browser, lines: Path) -> None:
    browser.open(lines, 1280, 1600)  # nothing to scroll, which would go on for a while
    mouse = Mouse(browser, "svg.picture")
    names = ticks(browser, "x")
    mouse.act("mouseWheel", 0.5, 0.5, deltaX=0, deltaY=-200)
    assert ticks(browser, "x") == names
    browser.value("document.querySelector('svg.picture').focus()")
    mouse.act("mouseWheel", 0.5, 0.5, deltaX=0, deltaY=-400)
    assert float(ticks(browser, "x")[0]) > 10
    assert amount(mouse.read(0.5)[0].removeprefix("Time: ")) == pytest.approx(50, abs=0.5)
    for _ in range(8):
        mouse.act("mouseWheel", 0.5, 0.5, deltaX=0, deltaY=400)
    assert ticks(browser, "x") == names


def test_a_name_hides_its_line_by_mouse_and_by_keyboard(browser: Browser, demo: Path) -> None:
    browser.open(demo, 1280)
    mouse = Mouse(browser, CHART)
    key = f"document.querySelector('{CHART} .key[data-name=unpaced]')"
    browser.value(f"{key}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert browser.value(f"{key}.getAttribute('aria-pressed')") == "false"
    assert [one for one in mouse.read(0.4) if one.startswith("unpaced")] == []
    browser.value(f"{key}.focus()")
    press(browser, "Enter", 13)
    assert browser.value(f"{key}.getAttribute('aria-pressed')") == "true"
    assert len([one for one in mouse.read(0.4) if one.startswith("unpaced")]) == 1


def test_names_above_many_charts_hide_a_line_in_all(browser: Browser, tmp_path: Path) -> None:
    methods = [f"token-bucket {n} Mbit/s" for n in range(1, 11)]
    page = write(report_samples.directory(tmp_path, methods=methods, seeds=2))
    browser.open(page, 1280)
    name = browser.value("document.querySelector('.legend button').textContent.trim()")
    hidden = f"[...document.querySelectorAll('.series[data-name=\"{name}\"]')].map(s => s.style.display)"
    charts = browser.value("document.querySelectorAll('section:has(#plots) svg.picture').length")
    browser.value("document.querySelector('.legend button').click()")
    assert browser.value(hidden).count("none") == charts > 1
    browser.value("document.querySelector('.legend button').click()")
    assert browser.value(hidden).count("none") == 0


def test_by_keyboard_a_chart_is_read_aloud_and_zoomed(browser: Browser, demo: Path) -> None:
    browser.open(demo, 1280)
    browser.value(f"document.querySelector('{CHART}').focus()")
    aloud = f"document.querySelector('{CHART} ~ .spoken').textContent"
    for place in ("5 KB", "10 KB", "20 KB"):
        press(browser, "ArrowRight", 39)
        assert browser.value(aloud).startswith(f"Core buffer: {place}")
        assert browser.value(aloud).count("Mbit/s") == 4
    before = ticks(browser, "y", CHART)
    press(browser, "+")
    assert ticks(browser, "y", CHART) != before
    press(browser, "0")
    assert ticks(browser, "y", CHART) == before


def test_a_screen_reader_finds_buttons_heads_and_names(browser: Browser, demo: Path) -> None:
    browser.open(demo, 1280)
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    browser.call("Accessibility.disable")
    said = [(one["role"]["value"], one.get("name", {}).get("value", "")) for one in nodes if not one.get("ignored")]
    assert ("button", "host pacing") in said
    assert ("button", "Loss %") in said or ("button", "Loss%") in said
    assert any(role == "group" and name.startswith("Throughput against") for role, name in said)
    assert ("StaticText", "8.0") not in said  # a tick


def test_a_column_is_sorted_up_down_and_back(browser: Browser, demo: Path) -> None:
    browser.open(demo, 1280)
    before = [column(browser, number) for number in range(3)]
    click = "document.querySelectorAll('table.results thead button')[{}].click()"
    sort = "document.querySelectorAll('table.results thead th')[{}].ariaSort"
    browser.value(click.format(1))
    assert browser.value(sort.format(1)) == "ascending"
    for rows in column(browser, 1):
        values = [amount(text) for text in rows]
        assert values == sorted(values)
    browser.value(click.format(1))
    for rows in column(browser, 1):
        values = [amount(text) for text in rows]
        assert values == sorted(values, reverse=True)
    assert [sorted(rows) for rows in column(browser, 0)] == [sorted(rows) for rows in before[0]]
    browser.value(click.format(1))
    assert [column(browser, number) for number in range(3)] == before
    browser.value(click.format(2))  # against unpaced: signed, and a dash in each section
    assert [rows[-1] for rows in column(browser, 2)] == ["—"] * 3
    assert [rows[0][0] for rows in column(browser, 2)] == ["\N{MINUS SIGN}"] * 3


def test_units_and_words_are_sorted_for_what_they_are(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "table.html"
    cells = [
        "2\u00a0ms ± 1",
        "900\u00a0us",
        "—",
        "1.5\u00a0s",
        "\N{MINUS SIGN}1\u00a0s",
        "1\u202f200\u00a0ms",
        "3 minutes",
    ]
    names = ["b 10", "b 9", "a", "c 5 ms, 2", "e", "d", "c 200 us, 30"]
    body = "".join(f"<tr><th>{name}</th><td>{cell}</td></tr>" for name, cell in zip(names, cells, strict=True))
    table = f"<table><thead><tr><th>Name</th><th>Time</th></tr></thead><tbody>{body}</tbody></table>"
    page.write_text(f"<!DOCTYPE html><meta charset=utf-8>{table}<script>{script.text()}</script>", encoding="utf-8")
    browser.open(page, 800)
    first = "[...document.querySelectorAll('tbody th')].map(e => e.textContent).join('|')"
    browser.value("document.querySelectorAll('thead button')[1].click()")
    assert browser.value(first) == "e|b 9|b 10|d|c 5 ms, 2|c 200 us, 30|a"
    browser.value("document.querySelectorAll('thead button')[1].click()")
    assert browser.value(first) == "c 200 us, 30|c 5 ms, 2|d|b 10|b 9|e|a"
    browser.value("document.querySelectorAll('thead button')[0].click()")
    assert browser.value(first) == "a|b 9|b 10|c 200 us, 30|c 5 ms, 2|d|e"


def test_on_a_phone_the_first_column_stays_and_a_finger_reads(browser: Browser, demo: Path) -> None:
    browser.open(demo, 390)
    place = "document.querySelector('table.results tbody tr:not(.place) th').getBoundingClientRect().left"
    before = browser.value(place)
    assert (
        browser.value(
            "(() => { const s = document.querySelector('.scroll'); s.scrollLeft = 200; return s.scrollLeft })()"
        )
        > 100
    )
    assert browser.value(place) == pytest.approx(before, abs=1)
    mouse = Mouse(browser, CHART)
    at = {"x": (mouse.left + mouse.right) / 2, "y": (mouse.top + mouse.bottom) / 2}
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[at])
    assert browser.value(READ)[0].startswith("Core buffer: ")
    right = "document.querySelector('.reading:not([hidden])').getBoundingClientRect().right"
    assert browser.value(right) <= 390
    browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    assert browser.value("document.documentElement.scrollWidth") <= 390


def test_no_other_script_runs_in_a_page(browser: Browser, demo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    text = demo.read_text(encoding="utf-8")
    other.write_text(text.replace("</header>", "<script>window.other = 1</script></header>", 1), encoding="utf-8")
    browser.open(other, 1280)
    assert browser.value("typeof window.other") == "undefined"
    assert browser.value("document.querySelectorAll('.interactive').length") > 3
    assert len([one for one in browser.complaints() if "Content Security Policy" in one]) == 1


def test_without_the_script_a_page_says_the_same(browser: Browser, demo: Path) -> None:
    words = "[...document.querySelectorAll('header, main, footer')].map(e => e.innerText.replace(/\\s+/g, ' ')).join()"
    browser.open(demo, 1280)
    browser.value("document.querySelector('.help').remove()")
    with_it = browser.value(words)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(demo, 1280)
        assert browser.value("document.querySelectorAll('.interactive').length") == 0
        assert browser.value(words) == with_it
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_curves_of_a_claim_are_read_zoomed_and_hidden(browser: Browser, tmp_path: Path) -> None:
    site = write_gallery(gallery_samples.directory(tmp_path / "results"), tmp_path / "site").parent
    browser.open(site / "edge-vs-host.html", 1280)
    chart = "#edge-fig3-goodput .drawn"
    mouse = Mouse(browser, chart, 1)
    head, curve = mouse.read(0.36)
    assert head == "buffer 1: 5.000\u00a0KB"
    assert curve == "a curve with a long name92.400"
    mouse.drag((0.1, 0.02), (0.5, 0.3))
    assert mouse.read(0.6)[1] == "a curve with a long name92.400"
    first, second = (
        browser.value(f"document.querySelectorAll('{chart} .plane')[{n}].querySelectorAll('clipPath').length")
        for n in (0, 1)
    )
    assert first < second
    browser.value(f"document.querySelector('{chart} .key').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert mouse.read(0.6)[1:] == []
    assert browser.complaints() == []


def test_a_curve_that_lacks_a_value_is_read(browser: Browser, tmp_path: Path) -> None:
    """Of an interval that is not known a path without data is left; it stopped the page's whole script."""
    drawn = str(pictures.within(pictures.themed(gallery_samples.gapped().svg), "curve", "gapped"))
    assert re.search(r"<path (?![^>]*\bd=)", drawn)
    table = "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>2</td></tr><tr><td>1</td></tr></tbody></table>"
    page = tmp_path / "page.html"
    html = f"<!DOCTYPE html><meta charset=utf-8><figure>{drawn}</figure>{table}<script>{script.text()}</script>"
    page.write_text(html, encoding="utf-8")
    browser.open(page, 800)
    assert browser.complaints() == []
    assert Mouse(browser, ".drawn").read(0.9)[1:] == ["a curve93.000"]
    assert browser.value("document.querySelectorAll('.sortable button').length") == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_claims_are_sorted_on_a_phone_too(browser: Browser, tmp_path: Path, width: int) -> None:
    site = write_gallery(gallery_samples.directory(tmp_path / "results"), tmp_path / "site").parent
    browser.open(site / "index.html", width)
    box = browser.value(
        "(() => { const r = [...document.querySelectorAll('.claims thead button')].at(-1)"
        ".getBoundingClientRect(); return [r.width, r.height] })()"
    )
    assert min(box) > 15
    browser.value("[...document.querySelectorAll('.claims thead button')].at(-1).click()")
    costs = browser.value(
        "[...document.querySelector('.claims tbody').rows].slice(1).map(r => r.cells[4].innerText.split('\\n').at(-1))"
    )
    known = [cost.removeprefix("CPU time").strip() for cost in costs]
    assert known[0] != "—" != known[1]
    assert set(known[2:]) == {"—"}
