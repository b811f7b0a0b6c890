"""Random scenarios in both engines: their results are the same bytes."""

from __future__ import annotations

import re
import time

from attack import Attack, Turn, cargo_tests

#: Scenarios that take about ten seconds.
FIRST = 300


def equality(turn: Turn) -> None:
    """Drawn from the system's entropy, more of them as time allows. One that fails is left as a small file."""
    cases = FIRST
    while turn.goes_on():
        began = time.monotonic()
        code, text, again = cargo_tests("paceline-sim", "--test", "equality", PACELINE_CASES=str(cases))
        turn.count += sum(map(int, re.findall(r": (\d+) scenarios, \d+ of them in windows", text)))
        if code:
            kept = re.findall(r"the scenario is in (\S+)", text)
            turn.problems.append(f"{', '.join(kept) or text[-500:]} ({again})")
        took_s = time.monotonic() - began
        left_s = turn.seconds - (time.monotonic() - turn.began)
        cases = max(FIRST, min(20 * cases, int(0.9 * cases * left_s / took_s)))


ATTACKS = [Attack("random scenarios in both engines", 0.2, "scenarios", equality)]
