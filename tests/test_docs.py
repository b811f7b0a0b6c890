"""The site of docs/, without the program that builds it (`make docs`): navigation, links, names, generated pages."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import click.testing
import paceline as pl
import pyarrow.parquet as pq
import pytest
from conftest import Command
from paceline import _core, theory
from paceline.cli.main import paceline
from paceline.cli.reference_page import page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
OUTSIDE = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
_FENCE = re.compile(r"^(```+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")


def prose(file: Path) -> str:
    """A page without its blocks of code."""
    return _FENCE.sub("", file.read_text())


@cache
def anchors(file: Path) -> frozenset[str]:
    """What can be linked to in a page: its headings, where the site and the code host give them one name."""
    heads = re.findall(r"^#+ (.+)$", prose(file), re.MULTILINE)
    bare = [re.sub(r"[^\w\s-]", "", head).strip().lower() for head in heads]
    return frozenset(re.sub(r"\s", "-", head) for head in bare) & frozenset(
        re.sub(r"[-\s]+", "-", head) for head in bare
    )


def test_every_page_has_its_place() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    listed = re.findall(r"([\w/-]+\.md)$", navigation, re.MULTILINE)
    assert sorted(listed) == PAGES


@pytest.mark.parametrize("name", [*OUTSIDE, *(f"docs/{one}" for one in PAGES)])
def test_relative_links_resolve(name: str) -> None:
    file = ROOT / name
    for target in re.findall(r"\]\(([^)\s]+)\)", _CODE.sub("", prose(file))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = (file.parent / path).resolve() if path else file
        assert other.exists(), target
        inside = name.startswith("docs/")
        assert not inside or other.is_relative_to(DOCS), f"{target}: outside of the site"
        if anchor and other.suffix == ".md":
            assert anchor in anchors(other), target


@pytest.mark.parametrize("name", [one for one in PAGES if "![" in (DOCS / one).read_text()])
def test_pictures_have_captions(name: str) -> None:
    """In italics below: who sees the picture does not see its alternative text."""
    text = prose(DOCS / name)
    assert re.findall(r"!\[[^\]]+\]\([^)]+\)(?!\n\n\*[^*])", text) == []


def test_public_names_are_in_the_reference() -> None:
    reference = (DOCS / "reference" / "python.md").read_text()
    named = re.findall(r"^::: paceline\.([\w.]+)$", reference, re.MULTILINE)
    assert sorted(name for name in named if "." not in name) == sorted(set(pl.__all__) - {"advise", "doctor"})
    assert [name for name in named if "." in name] == [
        *("plot.against_buffer", "plot.queue", "plot.raster", "plot.paper", "plot.save"),
        "advise.advise",  # the package has the function's name
        "doctor.doctor",
    ]
    modules = re.findall(r"^::: paceline\.theory\.(\w+)$", (DOCS / "reference" / "theory.md").read_text(), re.MULTILINE)
    assert sorted(modules) == sorted(theory.__all__)


def test_the_command_line_page_is_current() -> None:
    """`python -m paceline.cli.reference_page` writes it again."""
    assert (DOCS / "reference" / "cli.md").read_text() == page()
    assert all(f"\n## paceline {name}" in page() for name in paceline.commands)


def test_help_says_each_command_in_a_whole_line() -> None:
    told = click.testing.CliRunner().invoke(paceline, ["--help"], terminal_width=80).output
    assert "\n  analyse " in told
    assert "..." not in told.partition("\nCommands:\n")[2]


def commands(text: str) -> list[list[str]]:
    """What follows `paceline` in blocks of code of no language."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join(block for language, block in blocks if not language).replace("\\\n", " ").splitlines()
    found = [re.search(r"(?:^|[\s/])paceline ([a-z]+(?: [^|>#]*|$))", line) for line in lines]
    return [shlex.split(one[1]) for one in found if one]


@pytest.mark.parametrize("name", [one for one in PAGES if commands((DOCS / one).read_text())])
def test_commands_on_pages_have_options_that_exist(name: str) -> None:
    for verb, *arguments in commands((DOCS / name).read_text()):
        assert verb in paceline.commands, verb
        command = paceline.commands[verb]
        if isinstance(command, click.Group) and arguments:
            command = command.commands[arguments[0]]
        options = {
            option
            for one in command.params
            if isinstance(one, click.Option)
            for option in (*one.opts, *one.secondary_opts)
        } | {"--help", "--version"}
        unknown = [one for one in arguments if one.startswith("--") and one.partition("=")[0] not in options]
        assert not unknown, (verb, unknown)


TUTORIALS = [one for one in PAGES if one.startswith("tutorial/")]


def test_tutorials_print_what_they_show(tmp_path: Path, command: Command) -> None:
    """Their commands and Python, but what needs root or minutes, print every line shown; a line may leave words out."""
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    text = "\n".join((DOCS / one).read_text() for one in sorted(TUTORIALS, key=lambda name: "researcher" not in name))
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    compared = 0
    for (kind, block), (_, shown) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "toml":
            (tmp_path / "mine.toml").write_text(block)
            continue
        words = (
            [sys.executable, "-c", block]
            if kind == "python"
            else shlex.split(block.partition(" > ")[0].replace("\\\n", " "))
        )
        if words[:1] == ["paceline"] and words[1] in ("run", "doctor", "analyse", "explain", "pace"):
            printed = command(*words[1:]).stdout
        elif words[:1] in (["grep"], [sys.executable]):
            printed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        else:
            continue
        if re.match(r"(paceline|grep) ", shown) or ">" in block.splitlines()[-1] or "--trace" in words:
            continue
        lines = [line.replace(",", " ").split() for line in printed.splitlines()]
        for line in filter(None, shown.splitlines()):
            if not line.startswith("paceline: "):
                assert any(_within(line.replace(",", " ").split(), one) for one in lines), (words, line, printed)
                compared += 1
    assert compared > 40


def _within(some: list[str], all_of_it: list[str]) -> bool:
    """Whether the words stand in the line in this order."""
    left = iter(all_of_it)
    return all(word in left for word in some)


def test_both_locks_agree() -> None:
    def pinned(name: str) -> set[tuple[str, str]]:
        return set(re.findall(r"^([\w-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))

    development, documents = pinned("requirements-dev.lock"), pinned("requirements-docs.lock")
    both = {name for name, _ in development} & {name for name, _ in documents}
    assert "click" in both
    assert {one for one in development if one[0] in both} == {one for one in documents if one[0] in both}


def test_every_column_is_in_the_reference(tmp_path: Path) -> None:
    scenario = pl.Scenario.load(ROOT / "scenarios" / "one-flow.toml").set("duration", "1 s").set("warmup", "500 ms")
    results = pl.sweep(scenario, out=tmp_path)
    reference = (DOCS / "reference" / "results.md").read_text()
    keys = {key for run in results.to_dicts() for part in ("flows", "engine") for key in run[part]}
    keys |= set(results.to_dicts()[0]["links"]["bottleneck"])
    for table in ("flows", "series", "instruments"):
        columns = pq.read_schema(tmp_path / f"{table}.parquet").names
        keys |= {name for name in columns if not name.startswith("settings.")}
    assert len(keys) > 50
    assert [key for key in sorted(keys) if f"`{key}`" not in reference] == []


def test_pacers_and_queues_of_the_lists_are_in_the_reference() -> None:
    """Queue disciplines as the core's list has them (`_core.queues()`), pacers by name and parameter."""
    keys = (DOCS / "scenarios.md").read_text()
    queues = re.search(r"<!-- queues -->\n\n(.*?)\n<!-- /queues -->", keys, re.DOTALL)
    assert queues
    assert queues[1] == _core.queues()
    pacing = keys.partition("\n## Pacing")[2].partition("\n## ")[0]
    named = re.findall(r"\| +`([\w-]+)` \|", _core.pacers())
    assert len(named) > 10
    assert [one for one in named if f"`{one}`" not in pacing] == []


SOURCES = [
    path.relative_to(ROOT).as_posix()
    for folder in ("crates", "python", "tests", "benches")
    for path in (ROOT / folder).rglob("*.*")
    if path.suffix in (".rs", ".py", ".txt")
]
DEFINED = frozenset(
    name
    for path in SOURCES
    if path.startswith("crates/") and path.endswith(".rs")
    for name in re.findall(
        r"\b(?:fn|struct|enum|trait|type|const|mod|macro_rules!) +(\w+)|^\s+(?:pub(?:\(\w+\))? )?(\w+)(?:: |,|\()",
        (ROOT / path).read_text(),
        re.MULTILINE,
    )
    for name in name
    if name
)


@pytest.mark.parametrize(
    "name", ["ARCHITECTURE.md", *(f"docs/{one}" for one in PAGES if one.startswith(("design/", "adr/")))]
)
def test_code_that_pages_name_exists(name: str) -> None:
    """A file by the end of its path; a function, type or field of the crates by its name."""
    for code in re.findall(r"`([^`\n]+)`", prose(ROOT / name)):
        if re.fullmatch(r"[\w/.-]+\.(?:rs|py|txt)", code):
            assert any(f"/{path}".endswith(f"/{code.removeprefix('/')}") for path in SOURCES), code
        elif re.fullmatch(r"[A-Z]\w*::\w+", code):
            assert set(code.split("::")) <= DEFINED, code


def test_walks_name_functions_that_exist() -> None:
    walks = prose(DOCS / "design" / "walks.md")
    assert walks.count("\n## ") == 6
    functions = re.findall(r"`([a-z]\w+)`", walks)
    options = {"ties", "counts", "timer_tick"}  # keys of a scenario
    assert len(functions) > 40
    assert [one for one in functions if one not in DEFINED and one not in options] == []
    placed = re.findall(r"`(?:\w+::)?(\w+)`\s+\(`([\w/]+\.rs)`", walks)
    assert len(placed) > 20
    for name, file in placed:
        source = (ROOT / "crates" / file).read_text()
        assert re.search(rf"\b(?:fn|enum|struct) {name}\b", source), (name, file)
