"""The notebooks of docs/notebooks run, here in a quick form; `make notebooks` runs them in full for their pages."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
#: In the place of what the cell tagged ``parameters`` says.
QUICK = {
    "first-steps": 'DURATION = "10 s"',
    "sweep": 'DURATION, WARMUP, SEEDS = "6 s", "2 s", 2',
    "papers-claim": 'DURATION, WARMUP, SEEDS = "20 s", "10 s", 1',
    "capture": 'DURATION = "8 s"',
    "theory": 'DURATION, SEEDS = "30 s", 2',
    "advise": 'QUESTION = {"rate": "10 Mbit/s", "rtt": "20 ms", "flows": 10, "pacing": "none", "within": "4 s"}',
}


def cells(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.ipynb").read_text())["cells"]
    return found


def test_there_are_six() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(QUICK)


@pytest.mark.parametrize("name", QUICK)
def test_it_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cell by cell, as one program; what a cell ends with can be shown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(name):
        if cell["cell_type"] != "code":
            continue
        program = ast.parse("".join(cell["source"]))
        if "parameters" in cell["metadata"].get("tags", ()):
            program.body += ast.parse(QUICK[name]).body
        last = program.body.pop() if isinstance(program.body[-1], ast.Expr) else None
        exec(compile(program, name, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
            if value is not None:
                shows = [getattr(value, how, lambda: None) for how in ("_repr_html_", "_repr_png_", "__repr__")]
                assert any(show() for show in shows), cell
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", QUICK)
def test_it_is_kept_without_outputs(name: str) -> None:
    for cell in cells(name):
        assert cell.get("outputs", []) == [], name
        assert cell.get("execution_count") is None, name
    assert [cell["metadata"].get("tags") for cell in cells(name)].count(["parameters"]) == 1


@pytest.mark.parametrize("name", QUICK)
def test_its_page_has_its_words_and_its_code(name: str) -> None:
    """`make notebooks` writes the pages again."""
    page = (FOLDER / f"{name}.md").read_text()
    for cell in cells(name):
        assert "".join(cell["source"]) in page, name
