"""What is public in Python says what it takes, what it returns, and how it is used: by an example that runs."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paceline as pl
import pytest
from paceline import plot

ROOT = Path(__file__).parent.parent
#: Needs a library that Paceline does not bring: its example is shown, and not run.
NOT_RUN = {"Analysis.to_pandas", "Results.to_pandas", "Results.to_polars", "Results.to_xarray"}


def public() -> Iterator[tuple[str, Any]]:
    """Every public name, and every public method and property of those that are classes."""
    for name in pl.__all__:
        yield name, (thing := getattr(pl, name))
        if inspect.isclass(thing):
            for member in dict.fromkeys(member for base in thing.__mro__ for member in vars(base)):
                inherited = next(base for base in thing.__mro__ if member in vars(base))
                if member.startswith("_") or not inherited.__module__.startswith("paceline"):
                    continue
                value = inspect.getattr_static(thing, member)
                if isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value):
                    yield f"{name}.{member}", getattr(value, "fget", None) or getattr(value, "__func__", value)
    for name in ("against_buffer", "queue", "raster"):
        yield f"plot.{name}", getattr(plot, name)


PUBLIC = dict(public())


def missing(name: str, thing: Any) -> list[str]:
    """What a reader would ask, and the docstring does not say."""
    text = inspect.getdoc(thing) or ""
    lacks = [] if ">>> " in text else ["an example"]
    if name not in NOT_RUN and "+SKIP" in text:
        lacks.append("an example that is run")
    if inspect.isclass(thing):
        fields = dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ()
        return lacks + [field.name for field in fields if not field.name.startswith("_") and named(field.name, text)]
    parameters = [one for one in inspect.signature(thing).parameters.values() if one.name not in ("self", "cls")]
    lacks += [one.name for one in parameters if named(one.name, text)]
    body = inspect.getsource(thing).replace(text, "")
    return lacks + (["what it raises"] if re.search(r"\braise \w*Error", body) and "Raises" not in text else [])


def named(name: str, text: str) -> bool:
    """Whether no entry of a list in the docstring is of that name."""
    return not re.search(rf"^ *(?:[\w*]+, )*\**{name}(?:, \w+)*: \S", text, re.MULTILINE)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_explained(name: str) -> None:
    assert missing(name, PUBLIC[name]) == []


def test_what_is_missing_is_seen() -> None:
    def silent(size: int) -> None:
        raise ValueError(size)

    def partly(size: int) -> None:
        """Takes a size.

        Args:
            size: bytes.

        Examples:
            >>> 1  # doctest: +SKIP
            1
        """

    @dataclasses.dataclass
    class Pair:
        """Two.

        Attributes:
            first, second: bytes.

        Examples:
            >>> 1
            1
        """

        first: int
        second: int
        third: int

    assert missing("silent", silent) == ["an example", "size", "what it raises"]
    assert missing("partly", partly) == ["an example that is run"]
    assert missing("Pair", Pair) == ["third"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as the examples expect it: the scenarios, and a capture of one flow."""
    directory = tmp_path_factory.mktemp("examples")
    (directory / "scenarios").symlink_to(ROOT / "scenarios")
    one_flow = pl.Scenario.load(ROOT / "scenarios" / "one-flow.toml").set("pacing", "none")
    pl.run(one_flow, trace=directory / "flow.pcap")
    return directory


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_run(name: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name, globs={"pl": pl, "plot": plot}):
        runner.run(example, out=said.append)
    assert not said, "".join(said)
