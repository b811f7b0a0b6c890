"""Writes the screens of docs/: ``make screens``, or ``python -m paceline.cli.screens [WHAT ...]``, with Chromium.

WHAT is ``studio``, ``report``, ``gallery``, ``advice``; all of them without it. Reports, verdicts and advice are made
for it, short ones, in a scratch directory: a screen shows what a page looks like, and its numbers count for nothing.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.cli import screens_of_studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TARGET = Path("docs/images")
_COLOURS = 256
_DESK, _PHONE = (1280, 860), (390, 844)
_CLAIMS = ("edge-fig3-goodput", "edge-fig3-region", "edge-fig5-fast-access", "qlbp-fig18")
#: What is run for each kind of page, in the directory of `--out`, and where its page then is.
_MADE = {
    "report": (
        ("run", "scenarios/edge-vs-host.toml", "--seeds", "3", "--set", "duration=40 s", "--set", "warmup=15 s"),
        "report.html",
    ),
    "gallery": (("reproduce", *_CLAIMS, "--quick", "--gallery"), "gallery/should-i-pace.html"),
    "advice": (
        ("advise", "--rate", "20 Mbit/s", "--rtt", "40 ms", "--flows", "20", "--pacing", "none", "--pacing", "host"),
        "report.html",
    ),
}


@dataclass(frozen=True, slots=True)
class Screen:
    """One picture of a page that is a file: what is done to the page before, and the window."""

    name: str
    page: str
    size: tuple[int, int] = _DESK
    dark: bool = False
    before: Callable[[Page], None] | None = None


def _read(page: Page) -> None:
    """The pointer over the first chart of a report."""
    _pointed(page, "section:has(#plots) svg.picture", 0.22)


def _read_claim(page: Page) -> None:
    page.goto(page.url.replace("should-i-pace.html", "edge-vs-host.html#edge-fig3-goodput"))
    _pointed(page, "#edge-fig3-goodput .drawn", 0.12)


def _pointed(page: Page, picture: str, share: float) -> None:
    chart = page.locator(picture).first
    chart.evaluate("e => e.closest('section').scrollIntoView()")
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * 0.5)


def _table(page: Page) -> None:
    """A table that is sorted and pushed aside."""
    page.locator("section:has(#winner) thead button").nth(1).dispatch_event("click")
    page.locator("section:has(#winner)").evaluate("e => e.scrollIntoView()")
    page.locator("section:has(#winner) .scroll").first.evaluate("e => { e.scrollLeft = 90; }")


SCREENS = (
    Screen("report", "report"),
    Screen("report-read", "report", before=_read),
    Screen("report-dark", "report", dark=True, before=_read),
    Screen("report-phone", "report", _PHONE, before=_table),
    Screen("gallery-question", "gallery"),
    Screen("gallery-claim", "gallery", before=_read_claim),
    Screen("gallery-phone", "gallery", _PHONE, dark=True),
    Screen("advice", "advice"),
    Screen("advice-phone", "advice", _PHONE),
)


def _files(browser: Browser, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as scratch:
        places: dict[str, Path] = {}
        for kind in wanted & set(_MADE):
            words, place = _MADE[kind]
            command = [sys.executable, "-m", "paceline", *words, "--out", f"{scratch}/{kind}"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
            places[kind] = Path(scratch) / kind / place
        for screen in SCREENS:
            if screen.page not in places:
                continue
            width, height = screen.size
            scheme = "dark" if screen.dark else "light"
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            page.goto(places[screen.page].resolve().as_uri())
            if screen.before:
                screen.before(page)
            page.wait_for_timeout(300)
            yield screen.name, page.screenshot()
            context.close()


def _small(picture: bytes) -> bytes:
    from PIL import Image

    reduced = Image.open(io.BytesIO(picture)).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    written = io.BytesIO()
    reduced.save(written, "PNG", optimize=True)
    return written.getvalue()


def main(names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None or not TARGET.is_dir():
        sys.exit("paceline: run this at the root of a source tree, with chromium installed")
    known = {"studio", *_MADE}
    if unknown := set(names) - known:
        sys.exit(f"paceline: no screens are called {min(unknown)!r}; there are {', '.join(sorted(known))}")
    wanted = set(names) or known
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        _write(_files(browser, wanted))
        if "studio" in wanted:
            _write(screens_of_studio.taken(browser))
        browser.close()


def _write(found: Iterator[tuple[str, bytes]]) -> None:
    for name, picture in found:
        file = TARGET / f"{name}.png"
        file.write_bytes(_small(picture))
        print(f"{file}: {file.stat().st_size / 1000:.0f} KB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
