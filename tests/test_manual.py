"""What a wheel takes along, as links to the files: documentation, scenarios, notebooks. `paceline open`; the manual."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import Command
from paceline.cli.main import paceline
from paceline.cli.man import page as manual_page
from paceline.manual import pages

ROOT = Path(__file__).parent.parent


def test_every_link_is_there() -> None:
    """`python packaging/links.py` makes them."""
    spec = importlib.util.spec_from_file_location("links", ROOT / "packaging" / "links.py")
    assert spec
    assert spec.loader
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    wanted = {link: os.path.relpath(file, link.parent) for link, file in links.wanted()}
    there = [path for folder in (links.SHIPPED, links.MANUAL) for path in folder.rglob("*") if path.is_symlink()]
    assert {path: str(path.readlink()) for path in there} == wanted
    assert len(wanted) > 90


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert pages.write(folder) == folder / "index.html"
    return folder


def test_every_page_is_there(site: Path) -> None:
    docs = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(pages.names()) == docs
    assert {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")} == docs


def test_links_and_pictures_resolve_and_nothing_is_fetched(site: Path) -> None:
    for file in site.rglob("*.html"):
        text = file.read_text()
        for target in re.findall(r'(?:href|src)="([^"#]+)[^"]*"', text):
            if not re.match(r"[a-z]+:", target):
                assert (file.parent / target).exists(), (file.name, target)
        assert not re.search(r'(?:src|<link[^>]*href)="https?:', text), file.name


def test_objects_are_described(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text()
    assert ":::" not in text
    assert "Runs a scenario once, under one seed" in text
    assert re.search(r'<h4 id="over">', text)


def test_open_says_where(command: Command, tmp_path: Path) -> None:
    done = command("open", "howto/install", "--no-browser", "--out", "site")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'site' / 'howto' / 'install.html'}\n")
    wrong = command("open", "scenario", "--no-browser")
    assert (wrong.returncode, wrong.stderr) == (2, 'paceline: PAGE: "scenario" is no page; did you mean "scenarios"?\n')


def test_the_page_of_the_manual_is_current() -> None:
    """`python -m paceline.cli.man` writes it again."""
    assert (ROOT / "packaging/paceline.data/data/share/man/man1/paceline.1").read_text() == manual_page(paceline)


def test_the_page_of_the_manual_has_every_command() -> None:
    page = manual_page(paceline)
    for name in paceline.commands:
        assert f".SS paceline {name}" in page.replace("\\-", "-"), name


def test_groff_reads_it(command: Command) -> None:
    try:
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z"],
            input=command("man").stdout,
            capture_output=True,
            text=True,
            check=True,
        )
    except FileNotFoundError:
        pytest.skip("needs groff")
    assert done.stderr == ""
