"""What goes with a wheel: the texts of the licences of everything that is compiled into it."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = ROOT / "THIRD-PARTY-LICENSES.txt"


def script(name: str) -> Any:
    """A script of `packaging/`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_licences_of_all_that_is_compiled_in_are_there() -> None:
    licenses = script("licenses")
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


def test_the_wheel_has_what_it_takes_along() -> None:
    names = {path.as_posix() for path in metadata.files("paceline") or []}
    for name in (
        "paceline/scenario/shipped/kernel/one-flow.toml",
        "paceline/scenario/shipped/notebooks/first-steps.ipynb",
        "paceline/manual/docs/howto/install.md",
        "paceline/manual/docs/mkdocs.yml",
    ):
        assert name in names
    assert any(name.endswith("share/man/man1/paceline.1") for name in names)


def test_the_page_of_a_package_index_needs_no_other_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / project["readme"]).read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https:)[^)]*\)", text) == []
    for extra in project["optional-dependencies"]:
        assert f"paceline[{extra}]" in text


def test_an_address_is_written_where_an_index_and_a_citation_show_it(tmp_path: Path) -> None:
    """Twice, of which the second stands in the place of the first; and every file that it names is there."""
    kept = ("pyproject.toml", "CITATION.cff", "README.md", "packaging/index.md")
    (tmp_path / "packaging").mkdir()
    for name in kept:
        shutil.copy(ROOT / name, tmp_path / name)
    address = script("address")
    address.write(tmp_path, "https://example.org/old", "https://example.org/old/raw/v9")
    once = {name: len((tmp_path / name).read_text(encoding="utf-8").splitlines()) for name in kept}
    url, files = "https://example.com/someone/paceline", "https://example.com/someone/paceline/raw/v0"
    address.write(tmp_path, url, files)
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name in kept}
    assert {name: len(text.splitlines()) for name, text in texts.items()} == once
    assert not any("example.org" in text for text in texts.values())
    urls = tomllib.loads(texts["pyproject.toml"])["project"]["urls"]
    assert urls["Repository"] == url
    assert tomllib.loads(texts["pyproject.toml"])["project"]["scripts"]
    assert f"\nrepository-code: {url}\nurl: {url}\n" in texts["CITATION.cff"]
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]*)\)", texts["packaging/index.md"])
    for one in (picture, urls["Documentation"], urls["Changelog"]):
        assert (ROOT / one.removeprefix(f"{files}/")).is_file(), one


@pytest.mark.parametrize("wrong", ["example.org/paceline", "http://example.org/paceline", "git@example.org:paceline"])
def test_what_is_no_address_is_not_written(wrong: str) -> None:
    command = [sys.executable, ROOT / "packaging" / "address.py", wrong]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{wrong!r} is no address")
    assert done.stderr.count("\n") == 1
    assert "[project.urls]" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_a_run_needs_no_extra(tiny: Path) -> None:
    """Nor the report beside it."""
    program = "import sys; sys.modules |= dict.fromkeys(('matplotlib', 'distributed'));"
    program += (
        f"from paceline.cli.main import main; main(['run', {str(tiny)!r}, '--out', {str(tiny.parent / 'out')!r}])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tiny.parent / "out" / "report.html").is_file()


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    released = re.search(rf"^## {re.escape(version)} — (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released
    assert f"\nversion: {version}\n" in text
    assert f"\ndate-released: {released[1]}\n" in text


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_source_distribution_has_all_that_a_wheel_is_made_of(tmp_path: Path) -> None:
    """Files in the place of links: what is unpacked elsewhere leads nowhere else."""
    maturin = Path(sys.executable).parent / "maturin"
    made = subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        members = {one.name.partition("/")[2]: one for one in archive.getmembers() if not one.isdir()}
    assert [name for name, one in members.items() if not one.isfile()] == []
    needed = {"Cargo.toml", "Cargo.lock", "LICENSE", TEXTS.name, "packaging/index.md", "pyproject.toml"}
    needed |= {"CHANGELOG.md", "CITATION.cff"}
    for folder in ("python", "packaging/paceline.data", *(path.as_posix() for path in (ROOT / "crates").glob("*/src"))):
        files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        needed |= {path.relative_to(ROOT).as_posix() for path in files if path.suffix not in (".pyc", ".so")}
    assert needed - set(members) == set()
    assert "crates/sim/build.rs" in members


def test_the_wheels_of_a_release_are_for_the_platforms_that_the_documentation_names() -> None:
    wheels = script("wheels")
    systems = {"linux": "Linux", "apple": "macOS", "pc": "Windows"}
    built = set()
    for target in wheels.TARGETS:
        processor, *rest = target.split("-")
        system = next(name for word, name in systems.items() if word in rest)
        built.add((system, {"x86_64": "x86-64"}.get(processor, "arm64" if system == "macOS" else processor)))
    for page in ("docs/howto/install.md", "packaging/index.md"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        said = re.search(r"Wheels are for (.*? Windows on \S+)", text)
        assert said, page
        named = re.findall(r"(Linux|macOS|Windows) on ([\w-]+)(?: and ([\w-]+))?", said[1])
        assert {(system, one) for system, *processors in named for one in processors if one} == built, page
    assert all((ROOT / "scenarios" / f"{name}.toml").is_file() for name in wheels.TRIED)


def test_what_git_leaves_out_is_not_sent_to_the_container_s_build() -> None:
    def names(file: str) -> set[str]:
        lines = (ROOT / file).read_text().splitlines()
        return {line.removeprefix("**/").strip("/") for line in lines if line and not line.startswith("#")}

    assert names(".gitignore") <= names(".dockerignore")
