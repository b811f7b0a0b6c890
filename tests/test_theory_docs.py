"""The examples of docs/theory.md, and its picture."""

from __future__ import annotations

import doctest
from pathlib import Path

from paceline import theory
from paceline.theory import pictures

PAGE = Path(__file__).parent.parent / "docs" / "theory.md"


def test_the_examples_print_what_the_page_says() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 20
    assert found.failed == 0


def test_every_formula_is_on_the_page() -> None:
    text = PAGE.read_text()
    for name in theory.__all__:
        assert f"`{name}`" in text or f"`{name}." in text, name
        module = getattr(theory, name)
        functions = [
            one
            for one, value in vars(module).items()
            if not one.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__
        ]
        missing = [one for one in functions if one[0].islower() and f"`{one}`" not in text and f".{one}`" not in text]
        assert not missing, name


def test_the_picture_can_be_drawn(tmp_path: Path) -> None:
    pictures.draw(tmp_path / "theory.svg")
    assert "<svg" in (tmp_path / "theory.svg").read_text()
