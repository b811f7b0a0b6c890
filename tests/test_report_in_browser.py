"""The report in a real browser: nothing fetched, no complaint, nothing wider than the window; dark; printed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import paceline as pl
import pytest
import report_samples as samples
from conftest import TINY
from paceline.report import write
from report_browser import CONTRAST, Browser, found
from test_instruments import PROBES

pytestmark = pytest.mark.skipif(found() is None, reason="no Chromium to look with")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(samples.directory(tmp_path_factory.mktemp("demo"), groups=True))


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Path:
    methods = [f"edge_with_an_endless_name_that_nothing_can_break_{n}" for n in range(12)]
    return write(samples.directory(tmp_path_factory.mktemp("wild"), methods=methods, seeds=1, title="W" * 300))


@pytest.fixture(scope="module")
def instruments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("instruments")
    pl.sweep(pl.Scenario(tomllib.loads(TINY + PROBES)), {"pacing": ["none", "host"]}, seeds=2, out=folder)
    return write(folder)


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
@pytest.mark.parametrize("page", ["demo", "wild", "instruments"])
def test_fits_the_window_and_is_quiet(browser: Browser, request: pytest.FixtureRequest, page: str, width: int) -> None:
    path = request.getfixturevalue(page)
    browser.open(path, width)
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.requests() == [path.resolve().as_uri()]
    assert browser.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("page", ["demo", "instruments"])
def test_text_is_legible_in_light_and_dark(
    browser: Browser, request: pytest.FixtureRequest, page: str, dark: bool
) -> None:
    browser.open(request.getfixturevalue(page), 1280, dark=dark)
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark
    contrast, where = browser.value(CONTRAST)
    assert contrast >= 4.5, where


def test_print_is_light_and_shows_the_wide_pictures(browser: Browser, demo: Path) -> None:
    browser.open(demo, 1000, dark=True, media="print")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.value("document.querySelector('.wide-only').getClientRects().length") == 1
    assert browser.value("document.querySelector('.narrow-only').getClientRects().length") == 0


def test_what_scrolls_can_be_reached_by_keyboard(browser: Browser, demo: Path) -> None:
    browser.open(demo, 360)
    unreachable = "[...document.querySelectorAll('.scroll, pre')].filter(e => e.tabIndex !== 0).length"
    assert browser.value(unreachable) == 0
    assert browser.value("document.querySelectorAll('.scroll').length") > 2
