"""The page "What still holds": its tables and picture are of the runs, between marks that the page has."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from paceline.cli import what_still_holds
from paceline.papers import Runs, select
from paceline.papers.today import tables
from paceline.papers.today.network import SELF_PACED, TCPS
from test_today import like_the_papers

PAGE = Path(__file__).parents[2] / "docs" / "what-still-holds.md"


@pytest.fixture(scope="module")
def runs() -> dict[str, Runs]:
    return {variant: synthetic.runs(select([f"today-{variant}"])[0], like_the_papers()) for variant in TCPS}


def cells(text: str, row: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {row} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_numbers_are_those_of_the_runs(runs: dict[str, Runs]) -> None:
    # 40 flows of 10 Mbit/s (1 + gain), and by seed a deviation of 0.0016 of the gain
    assert cells(tables.small_buffer(runs), "CUBIC") == [
        "400",
        "480 ± 0 (+20 %)",
        "560 ± 0 (+40 %)",
        "520 ± 0 (+30 %)",
    ]
    assert cells(tables.small_buffer(runs), "BBR v1")[1] == "paces itself"
    # utilisation is 0.6 and half of the gain in small buffers, 0.6 in the large one: never enough from some size on
    assert cells(tables.buffers(runs), "CUBIC") == ["> 500 / > 500"] * 4
    assert cells(tables.shares(runs), "DCTCP") == ["1.00; 100 ms", "1.00; 100 ms", "1.00; 90 ms", "1.00; 100 ms"]
    assert cells(tables.queues(runs), "Prague, a step of marks")[2].startswith("80.0 %; 1.00")
    assert "+40 % / +40 %" in cells(tables.trains(runs), "Prague, edge")


def of_cubic(**change: object) -> list[str]:
    """The answers of one made-up TCP."""
    numbers = like_the_papers(**change)  # type: ignore[arg-type]
    return cells(tables.plain_answers({"cubic": synthetic.runs(select(["today-cubic"])[0], numbers)}), "CUBIC")


def test_answers_follow_the_numbers() -> None:
    pace, where, room = of_cubic()
    assert pace == "yes: at best +40 % at 5, +40 % at 10, +40 % at 20 packets"
    beside = ", ".join(f"+17 % at {size}" for size in (5, 10, 20))
    assert where == f"at the edge or by QLBP over 20 packets or fewer (edges beside hosts: {beside})"
    assert room == "for 90 % of the link, packets: " + ", ".join(
        f"{name} more than 500" for name in ("unpaced", "hosts", "edge", "QLBP")
    )
    assert of_cubic(gains={"none": 0.0, "host": 0.4, "edge": 0.4, "qlbp": 0.4})[1] == "at hosts: edges add nothing"
    assert of_cubic(gains={"none": 0.0, "host": 0.01, "edge": 0.01, "qlbp": 0.01})[0].startswith(
        "no: at best +1 % at 5"
    )
    assert of_cubic(unfair=5.0)[1].startswith("at hosts; not at edges: Jain's index falls from 1.00 to 0.")


def test_each_conclusion_has_a_word_for_each_tcp(runs: dict[str, Runs]) -> None:
    text = tables.conclusions(runs)
    found = cells(text, "Edge pacing gains more than pacing at hosts. (Edge versus Host Pacing, Fig. 3 and 5)")
    assert found == [tables.NOTHING if variant in SELF_PACED else "holds, 6 of 6" for variant in TCPS]


def test_the_page_has_a_place_for_every_part(runs: dict[str, Runs], tmp_path: Path) -> None:
    page, picture = tmp_path / "page.md", tmp_path / "images" / "page.svg"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    for _ in range(2):
        what_still_holds.write(runs, page, picture)
        text = page.read_text(encoding="utf-8")
        for name, part in tables.PARTS.items():
            assert f"<!-- {name} -->\n\n{part(runs)}\n\n<!-- /{name} -->" in text
    assert picture.read_text().count("<svg") == 1
    # what was written by hand stays
    outside = text.partition("<!-- answers -->")[0]
    assert outside == PAGE.read_text(encoding="utf-8").partition("<!-- answers -->")[0]


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="no lines <!-- cost --> and <!-- /cost -->"):
        what_still_holds.put("no marks", "cost", "text")
