"""One version in all places that name it, a changelog by release (docs/reference/versions.md), one list of checks."""

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


def test_the_oldest_compiler_is_the_same_everywhere() -> None:
    oldest = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    assert f"Rust {oldest} or later" in (ROOT / "Makefile").read_text()
    pinned = tomllib.loads((ROOT / "rust-toolchain.toml").read_text())["toolchain"]["channel"]
    assert [int(part) for part in pinned.split(".")[:2]] >= [int(part) for part in oldest.split(".")]


def test_a_commit_is_checked_as_lint_checks_it() -> None:
    """Each program of `make lint` with its options is a hook of .pre-commit-config.yaml; files are added there."""
    recipes = re.findall(r"^(?:lint|style):.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    lines = [line for recipe in recipes for line in recipe.splitlines()]
    commands = [line.strip().replace("$(BIN)", ".venv/bin").removesuffix(" .") for line in lines]
    hooks = re.findall(r"^ +entry: (.*)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert len(commands) == 6
    assert [one for one in commands if not any(hook.startswith(one) for hook in hooks)] == []
