"""The rooms of python/paceline: which imports which, without circles, and what is public (docs/adr/0008-rooms.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "paceline"
SOURCES = sorted(PACKAGE.rglob("*.py"))
#: Every room, lowest first, and what it imports: nothing else, and no less.
ROOMS: Mapping[str, set[str]] = {
    "_core": set(),
    "_interrupt": set(),
    "_extent": set(),
    "_optional": set(),
    "_palette": set(),
    "_statistics": set(),
    "_units": set(),
    "errors": set(),
    "_arguments": {"errors"},
    "files": set(),
    "terminal": set(),
    "theory": {"_core", "_palette", "_statistics", "errors"},
    "scenario": {"_arguments", "_core", "_units", "errors", "files"},
    "results": {"_arguments", "_core", "_optional", "_statistics", "errors", "files", "scenario"},
    "capture": {"_arguments", "_core", "_units", "errors", "terminal"},
    "manual": set(),
    "doctor": {"_core", "_units", "errors", "scenario", "terminal"},
    "papers": {"_core", "_extent", "_palette", "_statistics", "errors", "files", "results", "scenario", "theory"},
    "report": {"_core", "_extent", "_statistics", "_units", "capture", "results", "scenario", "terminal"},
    "plot": {"_arguments", "_optional", "_palette", "_statistics", "errors", "report", "results"},
    "gallery": {"_core", "_palette", "errors", "papers", "report"},
    "store": {"_core", "errors", "files", "results", "scenario"},
    "runs": {"_arguments", "_core", "_statistics", "errors", "files", "results", "scenario", "store", "terminal"},
    "emulate": {"_arguments", "_core", "errors", "results", "runs", "scenario", "store", "terminal"},
    "advise": {
        "_arguments",
        "_core",
        "_statistics",
        "_units",
        "capture",
        "emulate",
        "errors",
        "report",
        "results",
        "runs",
    }
    | {"scenario", "store", "terminal", "theory"},
    "studio": {
        "_arguments",
        "_core",
        "_optional",
        "_statistics",
        "capture",
        "errors",
        "report",
        "results",
        "runs",
        "scenario",
        "store",
    },
    "cli": {
        "_arguments",
        "_core",
        "_interrupt",
        "_optional",
        "_palette",
        "_units",
        "advise",
        "capture",
        "doctor",
        "emulate",
        "errors",
        "gallery",
        "manual",
    }
    | {"papers", "plot", "report", "results", "runs", "scenario", "store", "studio", "terminal"},
}
#: What judges and what draws: it takes runs as they are.
JUDGES = ("theory", "doctor", "papers", "report", "plot", "gallery")
RUNS = {"store", "runs", "emulate", "advise", "studio", "cli"}


def room_of(module: str) -> str:
    """The room of a module by its name within the package; `__init__` and `__main__` are above all rooms."""
    return module.partition(".")[0]


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def imports(source: str, module: str) -> Iterator[tuple[str, str]]:
    """Module and name of everything that is imported from the package: at the top, in functions, for types alone."""
    above = module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root, _, rest = alias.name.partition(".")
                if root == "paceline":
                    yield rest, ""
        elif isinstance(node, ast.ImportFrom):
            root, _, rest = (node.module or "").partition(".")
            if node.level:
                rest = ".".join([*above[: len(above) - node.level + 1], *filter(None, [node.module])])
            elif root != "paceline":
                continue
            for alias in node.names:
                yield (rest, alias.name) if rest else (alias.name, "")


@cache
def graph() -> dict[str, set[str]]:
    """What each room imports of others."""
    found: dict[str, set[str]] = {"_core": set()}
    for file in SOURCES:
        module = module_of(file)
        if module not in ("__init__", "__main__"):
            room = room_of(module)
            rooms = {room_of(other) for other, _ in imports(file.read_text(), module)}
            found.setdefault(room, set()).update(rooms - {room})
    return found


def circle(rooms: Mapping[str, set[str]]) -> list[str]:
    """A circle of imports, if there is one."""
    try:
        TopologicalSorter(rooms).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def reached(rooms: Mapping[str, set[str]], start: str) -> set[str]:
    """What a room imports, by however many steps."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = rooms[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_imports_are_seen_wherever_they_stand() -> None:
    source = """
import paceline
import paceline.report.page
from typing import TYPE_CHECKING
from paceline import _core, errors
if TYPE_CHECKING:
    from paceline.runs.execute import Execution
def later():
    from . import case
    from ..store import Store
"""
    assert list(imports(source, "doctor.cost")) == [
        ("", ""),
        ("report.page", ""),
        ("_core", ""),
        ("errors", ""),
        ("runs.execute", "Execution"),
        ("doctor", "case"),
        ("store", "Store"),
    ]


def test_circles_and_detours_are_seen() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    assert reached({"a": {"b"}, "b": {"c"}, "c": set()}, "a") == {"b", "c"}


def test_no_circle_between_rooms() -> None:
    assert circle(graph()) == []


def test_each_room_imports_what_is_said_here() -> None:
    assert graph() == ROOMS


def test_no_room_imports_a_higher_one() -> None:
    order = list(ROOMS)
    for room, others in graph().items():
        assert [other for other in others if order.index(other) >= order.index(room)] == [], room


@pytest.mark.parametrize("room", JUDGES)
def test_what_judges_or_draws_runs_nothing(room: str) -> None:
    assert reached(graph(), room) & RUNS == set()


def test_papers_judge_without_the_report() -> None:
    assert reached(graph(), "papers") & {"report", "plot", "gallery"} == set()


def test_what_is_public_says_so() -> None:
    """A module beside `__init__` is public or has an underscore; the reference says which are public."""
    reference = (ROOT / "docs" / "reference" / "python.md").read_text()
    modules = {file.stem for file in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert {name for name in modules if not name.startswith("_")} == {"errors", "plot"}
    assert all(f"`paceline.{name}`" in reference for name in ("errors", "plot", "theory"))


def test_an_underscored_name_stays_in_its_module() -> None:
    for file in SOURCES:
        module = module_of(file)
        taken = [(other, name) for other, name in imports(file.read_text(), module) if name.startswith("_")]
        assert taken == [], module


def test_no_file_is_long() -> None:
    lengths = {module_of(file): len(file.read_text().splitlines()) for file in SOURCES}
    assert {module: length for module, length in lengths.items() if length > 400} == {}
