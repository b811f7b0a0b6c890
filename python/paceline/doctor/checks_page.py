"""docs/doctor.md from the list of checks: ``python -m paceline.doctor.checks_page``."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from paceline.doctor.checks import CHECKS
from paceline.doctor.finding import Check

DEFAULT = Path("docs/doctor.md")

_HEAD = """\
# The doctor

`paceline doctor FILE.toml` says what a scenario really does, without running it, and what is odd about it:

- every kind of path, a line a hop: rate, delay, who paces there, and how many packets each buffer lets wait;
- round trips, bandwidth-delay products (with the harmonic mean of the round trips), the buffer beside them and beside
  BDP/√n, the load of unresponsive sources;
- each flow's fair window: its max-min fair share over a round trip of one packet alone (propagation and
  serialisation), and whether losses then end in timeouts or in fast recovery;
- every pacing method with the parameters in effect, on how many of how many, and how many packets come within its
  delay; what a run costs, within a factor of three;
- findings: what, where in the file, why it matters, what to write.

```
paceline doctor scenarios/edge-vs-host.toml
paceline doctor scenarios/one-flow.toml --set "network.links.bottleneck.buffer=2 packets" --seed 3
paceline doctor scenarios/one-flow.toml --json | jq -r '.findings[] | .severity + " " + .id'
paceline doctor scenarios/edge-vs-host.toml --strict
```

Of a sweep, what differs between settings stands side by side, and a finding says in which of them it holds. The exit
code is 0, whatever is found; with `--strict` 1 where there is a warning or an error; 2 where the scenario is wrong. In
Python, `pl.doctor(scenario)` returns the same as an object with `findings` and `settings`.

Shares are an estimate: TCP is not max-min fair. Flows with short round trips get more than their share, flows in
timeouts less. Transfers of some size count by their mean rate, and sources without feedback come first.

## What it foresees

Load and losses of each link, packets, and what a run costs come from a fixed point (`forecast.py`): each link has a
queue and a loss ratio, flows send what TCP sends over such a path (handshake, slow start, growth, timeouts), and what
think or wait for an answer send less while that takes longer. Over 400 random scenarios of every kind of traffic,
rates from 50 kbit/s to 200 Mbit/s and buffers from two packets on, these are within a factor of three of the run:

| what | of those that it says | counted from |
|---|---|---|
| packets of the core | 99 % (95 at least) | 20 packets |
| packets that reach links, which the time is for | 99 % (95 at least) | 80 packets |
| load of a link | 94 % (90 at least) | 20 packets |
| losses of a link | 81 % (75 at least) | a ratio of 1 % and 20 packets lost |

Where a run hangs on a few draws (transfers with a heavy tail, long times on or off), on a timeout that is long beside
the run, or on which flow wins a place in a small buffer, and where BBR sends, whose rate losses do not set, it says
*not foreseeable*, and its JSON has null: of these scenarios, 7 % as a whole. It misses most where flows are locked
out in step ([`phase-locked`](#phase-locked), [`rates-in-step`](#rates-in-step)), in the load of one flow's links
behind a full one, in acknowledgements or answers of flows that an overload starves, and in losses of a few large
bursts. Nor does it foresee sources with fixed times on and off that start together, which lose in step as constant
rates do; a source that overloads a link and stops before statistics are taken, for one mean is of the whole run;
dialogues that take turns over several full queues without limit, where the fixed point may swing and not settle; and
connections of which each loses most of its first window in a buffer of two or three packets, and waits for the timer
again and again. Measured by `make foresee`.

## Checks

An **error**: the results cannot mean what they seem to. A **warning**: probably not what was meant, and it moves the
results. A **note**: as it may well be meant, and worth knowing. The ids are stable.

| id | severity | finds |
|---|---|---|
"""

_NOTICE = "*Written by `python -m paceline.doctor.checks_page` from `paceline.doctor.checks`; change it there.*\n"


def page() -> str:
    """The page, Markdown."""
    rows = "".join(f"| [`{one.id}`](#{one.id}) | {', '.join(one.severities)} | {one.title} |\n" for one in CHECKS)
    return f"{_HEAD}{rows}\n{''.join(_entry(one) for one in CHECKS)}{_NOTICE}"


def _entry(check: Check) -> str:
    text = f"*{check.title}* ({' or '.join(check.severities)}). {check.doc}"
    lines = textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"### {check.id}", "", *lines, "", ""])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    target.write_text(page(), encoding="utf-8")
