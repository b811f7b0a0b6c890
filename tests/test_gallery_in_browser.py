"""The gallery in a real browser: nothing fetched from elsewhere, no complaint, on a phone, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import gallery_samples as samples
import pytest
from matplotlib.image import imread
from paceline.gallery import write
from report_browser import CONTRAST, Browser, found

pytestmark = pytest.mark.skipif(found() is None, reason="no Chromium to look with")

PAGES = ("index", "should-i-pace", "edge-vs-host", "datacentre", "cs244")
#: Every picture loaded, those below the window too; the ones that cannot be shown.
BROKEN = """(async () => {
  document.querySelectorAll("img").forEach(i => { i.loading = "eager"; });
  await Promise.all([...document.images].map(i => i.decode().catch(() => 0)));
  return [...document.images].filter(i => !i.naturalWidth).map(i => i.src);
})()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(120) as browser:  # room for a busy machine
        yield browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of verdicts of every kind, opened from a directory whose name needs escaping."""
    results = samples.directory(tmp_path_factory.mktemp("results"))
    return write(results, tmp_path_factory.mktemp("site") / "made of #1 & 50 %").parent


def broken(browser: Browser) -> list[str]:
    answer = browser.call("Runtime.evaluate", expression=BROKEN, awaitPromise=True, returnByValue=True)
    found: list[str] = answer["result"]["value"]
    return found


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("page", PAGES)
def test_fits_the_window_and_is_quiet(browser: Browser, site: Path, page: str, width: int) -> None:
    browser.open(site / f"{page}.html", width)
    browser.value("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert broken(browser) == []
    asked = browser.requests()
    assert asked[0] == (site / f"{page}.html").resolve().as_uri()
    assert [one for one in asked if not one.startswith((site.resolve().as_uri() + "/", "data:,"))] == []
    assert browser.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("page", PAGES)
def test_text_is_legible_in_light_and_dark(browser: Browser, site: Path, page: str, dark: bool) -> None:
    browser.open(site / f"{page}.html", 1280, dark=dark)
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark
    browser.value("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    contrast, where = browser.value(CONTRAST)
    assert contrast >= 4.5, where


@pytest.mark.parametrize("dark", [False, True])
def test_pictures_follow_light_and_dark(browser: Browser, site: Path, tmp_path: Path, dark: bool) -> None:
    """Both as the page shows them, and opened alone."""
    browser.open(site / "edge-vs-host.html", 1280, dark=dark)
    assert broken(browser) == []
    browser.value("document.body.replaceChildren(document.querySelector('#edge-fig3-goodput img'))")
    browser.picture(tmp_path / "page.png")
    shades = imread(tmp_path / "page.png")[..., :3].mean(axis=2)
    picture = shades[60:260, 60:700]
    paper, ink = float(picture[-1, -1]), float(picture.min() if not dark else picture.max())
    assert (paper > 0.9) != dark
    assert abs(paper - ink) > 0.6
    browser.open(site / "pictures/edge-fig3-goodput/curves.svg", 800, dark=dark)
    ink_alone = browser.value("getComputedStyle(document.documentElement).color")
    assert (ink_alone == "rgb(20, 25, 31)") != dark


def test_a_phone_gets_panels_one_below_the_other(browser: Browser, site: Path) -> None:
    shown = "document.querySelector('#edge-fig3-goodput img').currentSrc.split('/').pop()"
    browser.open(site / "edge-vs-host.html", 390)
    assert broken(browser) == []
    assert browser.value(shown) == "curves-tall.svg"
    assert browser.value("document.querySelector('#edge-fig3-goodput img').getBoundingClientRect().height") > 600
    browser.open(site / "edge-vs-host.html", 1280)
    assert broken(browser) == []
    assert browser.value(shown) == "curves.svg"


def test_words_of_wide_pictures_can_be_read_and_numbers_are_whole(browser: Browser, tmp_path: Path) -> None:
    """Beside text, a picture of three panels had words of 6 px; a column that is narrow cut a number in two."""
    numbers = {f"CV, {count} pacers, Q_max 40, 5 packets": 0.51260 + count / 7 for count in range(4)}
    results = tmp_path / "results"
    samples.keep(results, "qlbp-table2", panels_of=3, ours=numbers, theirs={"each more": "less variation, less loss"})
    write(results, tmp_path / "site")
    browser.open(tmp_path / "site" / "qlbp.html", 1280)
    sizes = browser.value(
        "[...document.querySelectorAll('svg.drawn')].map(s => "
        "s.getBoundingClientRect().width / s.viewBox.baseVal.width * "
        "Math.min(...[...s.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize))))"
    )
    assert len(sizes) == 2
    assert min(sizes) >= 8
    for width in (1280, 800):
        browser.open(tmp_path / "site" / "qlbp.html", width)
        placed = browser.value("getComputedStyle(document.querySelector('.said > figure')).position")
        assert placed == "relative", "what is read of a picture is placed in its figure"
    browser.open(tmp_path / "site" / "qlbp.html", 390)
    lines = browser.value(
        "[...document.querySelectorAll('.beside td')].filter(c => /^[\\d.]+$/.test(c.textContent)).map(c => {"
        "const r = document.createRange(); r.selectNodeContents(c); return r.getClientRects().length; })"
    )
    assert lines == [1] * 4
    assert "Q_max 40" in browser.value("document.querySelector('.beside').textContent")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_board_leads_to_each_claim(browser: Browser, site: Path, width: int) -> None:
    """By keyboard, with targets that a finger hits; the claim is then in the window."""
    browser.open(site / "index.html", width)
    sizes = browser.value(
        "[...document.querySelectorAll('.board li a')].map(a => a.getBoundingClientRect())"
        ".map(r => Math.min(r.width, r.height))"
    )
    assert min(sizes) >= 24
    link = browser.value("document.querySelector('.board a[href$=\"#dc-poi\"]').getAttribute('href')")
    named = browser.value("document.querySelector('.board a[href$=\"#dc-poi\"]').textContent.trim()")
    assert named == "Fig. 4-6, IV-C: partly"
    browser.open(site / link.split("#")[0], width)
    browser.value("location.hash = 'dc-poi'")
    assert browser.value("document.querySelector('#dc-poi').getBoundingClientRect().top") < 100


def test_headings_go_down_by_steps_and_what_scrolls_can_be_reached(browser: Browser, site: Path) -> None:
    for page in PAGES:
        browser.open(site / f"{page}.html", 390)
        levels = browser.value("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1])")
        assert levels.count(1) == 1
        assert max(b - a for a, b in pairwise(levels)) <= 1, page
        assert browser.value("[...document.querySelectorAll('pre')].filter(e => e.tabIndex !== 0).length") == 0


def test_print_is_light(browser: Browser, site: Path) -> None:
    browser.open(site / "datacentre.html", 1000, dark=True, media="print")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
