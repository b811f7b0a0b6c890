"""ns-2's own traces of TCP/Linux over a drop-tail queue (test-suite-tcpLinux.tcl): each cut of the congestion window.

The suite traces windows, not packets. In ns-2 a window comes down packet by packet; `cwnd` here is what it comes down
to. Compared are the 60 s in which the first flow is alone, with the algorithms that are ours.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

import paceline as pl
import pytest
from ns2_suites import PLACES

ALONE_S = 60

Cut = tuple[float, float, float]  # s, packets before, packets after


def cuts(windows: Iterable[tuple[float, float]]) -> list[Cut]:
    """Where the window falls, in one step or in several."""
    found: list[Cut] = []
    began: tuple[float, float] | None = None
    before = (0.0, 0.0)
    for now in windows:
        if now[1] < before[1] and began is None:
            began = (now[0], before[1])
        elif now[1] > before[1] and began is not None:
            found.append((*began, before[1]))
            began = None
        before = now
    return found


def ns2(path: Path) -> list[Cut]:
    """Of the first flow: its windows stand before those of the second, from which a line without a time parts them."""
    windows: list[tuple[float, float]] = []
    with gzip.open(path, "rt") as file:
        for line in file:
            words = line.split()
            if len(words) == 2 and float(words[0]) < ALONE_S and (not windows or float(words[0]) > windows[-1][0]):
                windows.append((float(words[0]), float(words[1])))
    return cuts(windows)


def paceline(variant: str, file: Path) -> list[Cut]:
    """The same of ours."""
    link = '\n[[link]]\nfrom = "{}"\nto = "{}"\nrate = "{} Mbit/s"\ndelay = "{} ms"\n'
    nodes = {"s1": "host", "r1": "router", "r2": "router", "s3": "host"}
    text = f'duration = "{ALONE_S} s"\n[network]\ntemplate = "graph"\ncounts = "ns2"\n'
    text += "".join(f'[[node]]\nname = "{name}"\nkind = "{kind}"\n' for name, kind in nodes.items())
    text += link.format("s1", "r1", 100, 2) + link.format("r1", "r2", 30, 30) + 'buffer = "100 packets"\n'
    text += link.format("r2", "s3", 100, 4)
    text += f"""
[[traffic]]
name = "flow"
kind = "bulk"
from = "s1"
to = "s3"
start = "100 ms"

[traffic.tcp]
profile = "ns2"
variant = "{variant}"
max_window = "30000 packets"
delayed_ack = "100 ms"
delayed_syn_ack = true
min_rto = "1 s"
data_with_syn = true

[probes]
window = [{{ flows = [0], every = "change" }}]
"""
    file.write_text(text)
    found = pl.run(file).instruments
    rows = zip(found["instrument"], found["x"], found["y"], strict=True)
    return cuts((float(time), float(window)) for name, time, window in rows if name == "cwnd")


@pytest.mark.parametrize("variant", ["cubic", "bic"])
def test_the_window_is_cut_when_and_as_in_ns2(variant: str, tmp_path: Path) -> None:
    paths = [place / "test-output-tcpLinux" / f"tcpLinuxDropTail_{variant}.gz" for place in PLACES]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        pytest.skip(f"ns-2's examples are not here ({PLACES[0]}): install the Debian package ns2-examples")
    ours, theirs = paceline(variant, tmp_path / "case.toml"), ns2(path)
    assert len(ours) == len(theirs) >= 8, (ours, theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine[0] == pytest.approx(other[0], abs=2e-3), (ours, theirs)
        assert mine[1:] == pytest.approx(other[1:], abs=1), (ours, theirs)
