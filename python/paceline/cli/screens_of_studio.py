"""Writes the screens of docs/studio.md: ``python -m paceline.cli.studio_screens``, in a source tree, with Chromium.

Each is the page as it is served, on a desktop or a phone, in light or dark, in as few colours as it needs.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_TARGET = Path("docs/images")
_COLOURS = 256
_READY_MS = 120_000
_MOVE = "(e, value) => { e.value = value; e.dispatchEvent(new Event('input', { bubbles: true })); }"


def _desk(page: Page) -> bytes:
    return page.screenshot()


def _part(selector: str) -> Callable[[Page], bytes]:
    return lambda page: page.locator(selector).screenshot()


def _packets(page: Page) -> bytes:
    """In the midst of a window, with one flow followed and a packet's life below."""
    page.locator("#time").evaluate(_MOVE, 430)
    page.wait_for_timeout(300)
    page.locator("canvas.packets").nth(1).scroll_into_view_if_needed()
    box = page.locator("canvas.packets").nth(1).bounding_box()
    assert box is not None
    for share in range(30, 72, 2):  # along the core, until a packet is hit
        page.mouse.click(box["x"] + box["width"] * share / 100, box["y"] + box["height"] / 2)
        page.wait_for_timeout(50)
        if page.locator(".life").count():
            break
    page.wait_for_timeout(200)
    return page.locator(".packets-section").screenshot()


def _full(page: Page) -> bytes:
    page.click("text=Run it in full")
    return page.screenshot()


@dataclass(frozen=True, slots=True)
class Screen:
    """One picture: its name, the window, and what is taken of the page once that rests."""

    name: str
    take: Callable[[Page], bytes]
    width: int = 1280
    height: int = 860
    dark: bool = False


SCREENS = (
    Screen("studio", _desk),
    Screen("studio-dark", _desk, dark=True),
    Screen("studio-figures", _part("section:has(.figures)")),
    Screen("studio-curves", _part("section:has(#curves-title)")),
    Screen("studio-packets", _packets),
    Screen("studio-packets-dark", _packets, dark=True),
    Screen("studio-full", _full),
    Screen("studio-phone", _desk, 390, 844),
    Screen("studio-phone-network", _part("section:has(.picture.network)"), 390, 844),
    Screen("studio-phone-packets", _packets, 390, 844, dark=True),
)


def _taken(browser: Browser, address: str, screen: Screen) -> bytes:
    size = {"width": screen.width, "height": screen.height}
    context = browser.new_context(viewport=size, color_scheme="dark" if screen.dark else "light")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(_READY_MS)
    page.goto(address)
    page.wait_for_selector("#play")
    page.wait_for_selector("#standing:has-text('20 seeds.')")
    page.wait_for_timeout(500)
    picture = screen.take(page)
    context.close()
    return picture


def _small(picture: bytes) -> bytes:
    from PIL import Image

    reduced = Image.open(io.BytesIO(picture)).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    written = io.BytesIO()
    reduced.save(written, "PNG", optimize=True)
    return written.getvalue()


def main() -> None:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None or not _TARGET.is_dir():
        sys.exit("paceline: run this at the root of a source tree, with chromium installed")
    command = [sys.executable, "-m", "paceline", "studio", "--no-browser", "--port", "0", "--quiet"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 (a fixed command)
    with server, sync_playwright() as playwright:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for screen in SCREENS:
            file = _TARGET / f"{screen.name}.png"
            file.write_bytes(_small(_taken(browser, address, screen)))
            print(f"{file}: {file.stat().st_size / 1000:.0f} KB")
        browser.close()
        server.terminate()


if __name__ == "__main__":
    main()
