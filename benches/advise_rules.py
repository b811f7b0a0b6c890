"""Advice on questions that a paper or a rule answers, and what that says.

    python benches/advise_rules.py                  # some minutes
    python benches/advise_rules.py --write-docs     # and puts the table into docs/advise.md

Appenzeller, Keslassy, McKeown 2004: the buffer of n long flows falls as 1/√n. Enachescu et al. 2006: where hosts' links
cannot fill the core, a few packets do. Zhao, Vishwanath, Sivaraman: 90 % of the core takes 5 packets behind slow access
links and 15 behind fast ones, unpaced, as ns-2 counts them: one less as they are counted here. Ghobadi and Ganjali
2013: hosts' pacing pays below N* = C RTT / B flows, and beyond 2 N* not.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paceline.advise.advice import Advice
from paceline.advise.asking import answer
from paceline.advise.reading import read_question

sys.path.insert(0, str(Path(__file__).parent))
import tables

HEAD = ("question", "the rule", "advised")
#: As ns-2 has them in the papers.
NS2 = {"variant": "reno", "profile": "ns2", "max_window": "1000 packets"}
ZHAO: dict[str, Any] = {"rate": "200 Mbit/s", "rtt": "102 ms .. 150 ms", "flows": 1000, "edges": 0, "tcp": NS2}
ZHAO |= {"pacing": "none", "bounds": ["utilisation >= 90 %"], "buffer": [f"{one} packets" for one in range(2, 21)]}


def asked(**question: Any) -> Advice:
    return answer(read_question({"within": "60 min", **question}), with_changes=False)


def buffer_of(advice: Advice) -> int:
    return int(advice.to_dict()["best"]["buffer_packets"])


def rows() -> Iterator[tuple[str, str, str]]:
    """What is asked, what the rule says, and what is advised."""
    found = {}
    for flows in (25, 100, 400):
        about: dict[str, Any] = {"rate": "100 Mbit/s", "rtt": "80 ms .. 120 ms", "flows": flows, "tcp": "newreno"}
        found[flows] = buffer_of(asked(**about, pacing="none", bounds=["utilisation >= 98 %"]))
        said = f"{833 / math.sqrt(flows):.0f} packets, BDP/√n"
        yield f"least buffer for 98 %, {flows} flows over 833 packets of BDP", said, f"{found[flows]} packets"
    ratio = found[25] / found[400]
    yield "25 flows over 400", "4, by 1/√n", f"{ratio:.1f}"
    slow = {"rate": "100 Mbit/s", "rtt": "80 ms .. 120 ms", "flows": 80, "access": "1 Mbit/s", "tcp": "newreno"}
    tiny = asked(**slow, pacing="none", bounds=["utilisation >= 72 %"])
    yield (
        "80 hosts of 1 Mbit/s into 100, 90 % of what they can",
        "fewer than twenty packets",
        f"{buffer_of(tiny)} packets",
    )
    for access, says in (("10 Mbit/s", 5), ("1 Gbit/s", 15)):
        advised = buffer_of(asked(**ZHAO, access=access))
        yield (
            f"90 % of 200 Mbit/s behind access of {access}",
            f"{says} packets in ns-2",
            f"{advised + 1} as ns-2 counts",
        )
    for flows, says in ((8, "pace at hosts"), (480, "pacing does not pay")):
        about = {"rate": "200 Mbit/s", "rtt": "28 ms .. 32 ms", "flows": flows, "buffer": "13 KB", "bounds": []}
        advice = asked(**about, pacing=["none", "host"], goal="utilisation")
        yield f"{flows} flows where N* is 58", says, f"{advice.to_dict()['best']['pacing']} ({advice.status})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write-docs", action="store_true", help="rewrite the table in docs/advise.md")
    options = parser.parse_args()
    found = []
    for what, says, advised in rows():
        print(f"{what:<58} {says:<28} {advised}", flush=True)
        found.append([what, says, advised])
    if options.write_docs:
        page = Path(__file__).parent.parent / "docs" / "advise.md"
        tables.put_between(page, "rules", tables.markdown(HEAD, found) + "\n")


if __name__ == "__main__":
    main()
