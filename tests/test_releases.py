"""One version in all places that name it, and a changelog by release (docs/reference/versions.md)."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path

import paceline as pl

ROOT = Path(__file__).parent.parent


def test_one_version_everywhere() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited
    newest = re.search(r"^## (\d\S*) — ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert {version, cited[1], newest[1]} == {pl.__version__}


def test_the_changelog_is_by_release() -> None:
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] == "Unreleased"
    releases = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) — (\d{4}-\d\d-\d\d)", head) for head in heads[1:]]
    assert releases
    assert all(releases), heads
    dated = [(tuple(map(int, one.groups()[:3])), datetime.date.fromisoformat(one[4])) for one in releases if one]
    assert dated == sorted(set(dated), reverse=True), "newest first"
