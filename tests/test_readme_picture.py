"""README's picture and table are of the same stored runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import report_samples as samples
from paceline.cli import readme_picture
from paceline.report.metrics import BY_KEY
from paceline.report.study_sources import load

ROOT = Path(__file__).parent.parent


def test_one_command_makes_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = samples.directory(tmp_path / "results")
    readme, picture = tmp_path / "README.md", tmp_path / "images" / "pacing.svg"
    readme.write_text("before\n<!-- demo -->\nold\n<!-- /demo -->\nafter\n")
    words = ["--results", str(results), "--readme", str(readme), "--picture", str(picture)]
    for _ in range(2):
        readme_picture.main(words)
        page = readme.read_text()
        assert page.startswith(
            "before\n<!-- demo -->\n\n| core buffer | unpaced | host pacing | edge pacing 10 ms | QLBP |"
        )
        assert page.endswith("over 5 seeds.\n\n<!-- /demo -->\nafter\n")
    assert picture.is_file()
    study = load(results)
    for series in study.series:
        for buffer in study.positions:
            setting = study.setting(series, buffer)
            assert setting
            found = study.estimate(setting, BY_KEY["goodput"])
            assert found
            row = next(line for line in page.splitlines() if line.startswith(f"| {buffer} |"))
            cell = row.split(" | ")[1 + study.series.index(series)]
            assert float(cell.split()[0]) == pytest.approx(found.mean / 1e3, abs=0.051)
    assert re.search(r"\| 5 KB \|.*\| 82 / 82 / 93 \|", page), "what the paper's Fig. 3(b) has"


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no marks")
    with pytest.raises(ValueError, match="no lines <!-- demo --> and <!-- /demo -->"):
        readme_picture.put(page, "text")
    assert page.read_text() == "no marks"
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("<!-- demo -->") == 1
