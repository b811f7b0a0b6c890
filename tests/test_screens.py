"""Screens of docs/: each that `make screens` takes is there, is small, and is shown on a page."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from paceline.cli import screens, screens_of_studio

DOCS = Path(__file__).parent.parent / "docs"
WIDTHS = {one.name: one.width for one in screens_of_studio.SCREENS} | {one.name: one.size[0] for one in screens.SCREENS}
#: Of all of them, bytes.
MOST = 1_500_000


@pytest.mark.parametrize("name", WIDTHS)
def test_a_screen_is_there_and_shown(name: str) -> None:
    data = (DOCS / "images" / f"{name}.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])  # IHDR (PNG, section 11.2.2)
    assert 300 < width <= WIDTHS[name]
    assert height > 100
    assert any(f"images/{name}.png" in page.read_text() for page in DOCS.rglob("*.md"))


def test_screens_are_small() -> None:
    assert sum((DOCS / "images" / f"{name}.png").stat().st_size for name in WIDTHS) < MOST
    assert {390, 1280} == set(WIDTHS.values())


def test_what_there_is_none_of_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    monkeypatch.setattr("shutil.which", lambda name: "/bin/true")
    with pytest.raises(SystemExit, match="'gallry'; there are advice, gallery, report, studio"):
        screens.main(["gallry"])
