"""The screens of the studio: the page as it is served, on a desktop or a phone, in light or dark (``screens.py``)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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


def taken(browser: Browser) -> Iterator[tuple[str, bytes]]:
    """Name and PNG of each screen, of a studio that is started for it."""
    command = [sys.executable, "-m", "paceline", "studio", "--no-browser", "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 (a fixed command)
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        for screen in SCREENS:
            yield screen.name, _taken(browser, address, screen)
        server.terminate()
