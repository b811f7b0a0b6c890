"""CoDel and FQ-CoDel: as their RFCs written out a second time, and that, with what ns-3 does otherwise, as ns-3."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "benches" / "peers")]

import disciplines  # noqa: E402
from red import arrivals  # noqa: E402

HEADERS = Path("/usr/include/ns3/codel-queue-disc.h")


def distinct(seed: int) -> disciplines.Arrivals:
    return [(at + place, size, flow) for place, (at, size, flow) in enumerate(arrivals(seed, 3000))]


@pytest.mark.parametrize("name", disciplines.WRITTEN_OUT)
@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("seed", [20, 21, 22])
def test_it_drops_and_marks_what_the_rfc_does(name: str, seed: int, marks: bool) -> None:
    packets = distinct(seed)
    both = disciplines.Both(name, {"discipline": name}, "", marks)
    ours = disciplines.by_paceline(both, packets, seed)
    written = disciplines.written_out(name, packets, as_ns3=False, marks=marks)
    assert (ours["dropped"], ours["marked"]) == (written["dropped"], written["marked"])
    assert written["marked" if marks else "dropped"] > 40
    assert ours["delay_mean_s"] == pytest.approx(written["delay_mean_s"], rel=2e-3)  # of what is on the wire at the end


@pytest.mark.skipif(not HEADERS.exists() or shutil.which("g++") is None, reason="needs libns3-dev and g++")
def test_what_parts_it_from_ns3_is_known(tmp_path: Path) -> None:
    program = disciplines.compiled(tmp_path)
    packets = distinct(24)  # the limit is reached, too
    for both in disciplines.CASES[1:5]:
        theirs = disciplines.by_ns3(program, both, packets, 0)
        written = disciplines.written_out(both.ours["discipline"], packets, as_ns3=True, marks=both.ecn)
        assert [written[key] for key in ("dropped", "marked")] == [theirs[key] for key in ("dropped", "marked")]
