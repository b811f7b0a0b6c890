"""What goes with a wheel: the texts of the licences of everything that is compiled into it."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = ROOT / "THIRD-PARTY-LICENSES.txt"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_licences_of_all_that_is_compiled_in_are_there() -> None:
    spec = importlib.util.spec_from_file_location("licenses", ROOT / "packaging" / "licenses.py")
    assert spec
    assert spec.loader
    licenses = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(licenses)
    packages = licenses.packages()
    assert len(packages) > 30
    assert {one["name"] for one in licenses.scripts()} >= {"preact", "htm", "@preact/signals", "uplot"}
    headings = re.findall(r"-{80}\n(.*)", TEXTS.read_text(encoding="utf-8"))
    remedy = "run python packaging/licenses.py"
    assert headings == [licenses.heading(one) for one in (*packages, *licenses.scripts())], remedy


def test_every_licence_is_one_that_is_allowed() -> None:
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))["licenses"]["allow"])
    for name, choices in re.findall(r"-{80}\n(\S+) \S+: (.*)", TEXTS.read_text(encoding="utf-8")):
        for part in choices.replace("(", "").replace(")", "").split(" AND "):
            assert set(re.split(r" OR |/", part)) & allowed, name


def test_programs_lead_to_functions() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert set(scripts) == {"paceline", "paceline-pace"}
    for target in scripts.values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function)), target


def test_the_wheel_has_them() -> None:
    names = {path.name for path in metadata.files("paceline") or []}
    assert {"LICENSE", TEXTS.name} <= names


def test_the_wheel_has_the_studios_page() -> None:
    static = Path("python") / "paceline" / "studio" / "static"
    page = {path.relative_to(ROOT / "python").as_posix() for path in (ROOT / static).rglob("*") if path.is_file()}
    assert page <= {path.as_posix() for path in metadata.files("paceline") or []}
    assert "paceline/studio/static/vendor/preact.js" in page
