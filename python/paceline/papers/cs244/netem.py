"""TCP Pacing, the set-up: netem keeps a packet until it has left the link, so B_new = B_old + link_delay × link_rate.

Criteria were fixed from the page's words before the runs that judge them. That it "had to increase" the buffer: with
B_old a flow in slow start loses sooner in the emulator than over the simulator's link. That this formula makes up for
it: once the link has been busy for its delay, B_new leaves as many places as B_old, within one packet. And that "the
bottleneck router can handle more burstiness", so that "slow-start incurs its first packet loss later": with B_new an
unpaced flow first loses later than over the simulator's link with B_old.

Until the first loss both links send each packet at the same instant, so the flow is the same: the arrivals of a run
that loses nothing say what either would have dropped first, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.cs244.network import METHODS, NONE, PACED, PACER, PACING, PATH, TCP, dumbbell, with_linux
from paceline.results import Result, Results
from paceline.scenario import Scenario

#: The core: bit/s, s, and packets that its buffer holds.
RATE, DELAY, B_OLD = 100e6, 0.04, 312
#: The link before it: the time of a byte, s, and its delay, s.
BEFORE, BEFORE_BYTE_S, BEFORE_DELAY = "access.l.0", 8 / 400e6, 0.005
#: A packet on the wire, bytes.
PACKET = 1040
#: Delays that an emulated link could stand for, s: of the core alone, or of all of the path's 50 ms one way.
DELAYS = (0.01, 0.02, 0.04, 0.05)
NAMES = {"original": "the original's TCP", "rerun": "the rerun's TCP"}


class Arrivals(NamedTuple):
    """At the core, in order.

    Attributes:
        times: s.
        ends: when each has left the core's wire if none is lost, s.
    """

    times: NDArray[np.float64]
    ends: NDArray[np.float64]


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Both TCPs over a core that drops nothing, until slow start has filled it."""
    endless = dumbbell(length).set("duration", "3 s").set("network.core.buffer", "100000 packets")
    endless = endless.set("traffic.bulk.start", "0 s .. 100 ms")
    endless = endless.set("probes", {"departures": {"links": [BEFORE, "core"], "from": "0 s"}})
    seeds = length.seed_count()
    return {
        "original": endless.over({PACING: METHODS}).seeds(seeds),
        "rerun": with_linux(endless).over({PACING: METHODS}).seeds(seeds),
    }


def arrivals(run: Result) -> Arrivals:
    """Of one run, those that have left the core by its end."""
    assert run.series is not None
    link, time, size = (np.asarray(run.series[name]) for name in ("link", "time_ns", "bytes"))
    came, went = link == BEFORE, link == "core"
    number = int(went.sum())
    times = time[came][:number] * 1e-9 + size[came][:number] * BEFORE_BYTE_S + BEFORE_DELAY
    return Arrivals(times, time[went] * 1e-9 + size[went] * 8 / RATE)


def first_refused(found: Arrivals, limit: int, held_for: float | None) -> float:
    """When the first packet finds `limit` others, s; the end of what is known where none does.

    With `held_for` none, these are packets that wait; else all that came and have not left the link with its delay of
    so many seconds, as in netem, which takes a packet from its queue only then (net/sched/sch_netem.c).
    """
    # of those before a packet, the ones that have left: they leave in order
    leave = found.ends - PACKET * 8 / RATE if held_for is None else found.ends + held_for
    left = np.searchsorted(leave, found.times, side="right")
    there = np.arange(len(found.times)) - np.minimum(left, np.arange(len(found.times)))
    refused = np.flatnonzero(there >= limit)
    return float(found.times[refused[0]] if len(refused) else found.times[-1])


def enlarged(delay: float = DELAY) -> int:
    """B_new, packets."""
    return B_OLD + round(delay * RATE / 8 / PACKET)


def places(delay: float = DELAY) -> int:
    """Packets that wait in B_new when the first is refused, at arrivals 2 % faster than the link: they fill it late."""
    service = PACKET * 8 / RATE
    number = 100 * B_OLD
    times = np.arange(number, dtype=np.float64) * (service / 1.02)
    ends = np.arange(1, number + 1, dtype=np.float64) * service  # the link is busy from the first packet on
    busy = Arrivals(times, ends)
    refused = first_refused(busy, enlarged(delay), delay)
    started = np.searchsorted(ends - service, refused, side="right")
    return int(np.searchsorted(times, refused)) - int(started)


def later(results: Results, pacing: str, limit: int, delay: float | None) -> Interval:
    """By how much the first loss is later than over the simulator's link with B_old, ms, over seeds."""
    found = interval(
        1e3 * (first_refused(came, limit, delay) - first_refused(came, B_OLD, None))
        for came in (arrivals(run) for run in results.where({PACING: pacing}))
    )
    assert found is not None
    return found


def check(runs: Runs) -> Verdict:
    """The places that B_new leaves, and the first loss with and without the formula."""
    evidence: list[Evidence] = [
        criteria.packets("places that B_new leaves, of a link that is busy, packets", float(places()), B_OLD)
    ]
    ours: dict[str, float] = {"places that B_new leaves": places()}
    for name, words in NAMES.items():
        unchanged = later(runs[name], NONE, B_OLD, DELAY)
        what = f"first loss, unpaced, netem with B_old − the simulator with B_old, ms, {words}"
        evidence.append(criteria.below(what, unchanged, 0, "ms"))
        gained = later(runs[name], NONE, enlarged(), DELAY)
        what = f"first loss, unpaced, netem with B_new − the simulator with B_old, ms, {words}"
        evidence.append(criteria.above(what, gained, 0, "ms"))
        ours |= {f"{words}, B_old, ms": round(unchanged.mean, 1), f"{words}, B_new, ms": round(gained.mean, 1)}
    for name, words in NAMES.items():
        paced = later(runs[name], PACED, enlarged(), DELAY)
        evidence.append(criteria.inform(f"the same, paced, with B_new, ms, {words}", paced, "the page: of NewReno"))
        for delay in DELAYS:
            some = later(runs[name], NONE, enlarged(delay), delay)
            told = f"B_new = {enlarged(delay)} packets"
            evidence.append(criteria.inform(f"the same, unpaced, a link of {1e3 * delay:g} ms, {words}", some, told))
    theirs = {"B_new": "comparable graphs", "first loss": "later than in ns-2"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(ours), evidence)


def note(ours: Mapping[str, float]) -> str:
    """What the formula does."""
    told = "; ".join(
        f"{words} {ours[f'{words}, B_old, ms']:+.0f} ms without the formula and {ours[f'{words}, B_new, ms']:+.0f} ms "
        "with it"
        for words in NAMES.values()
    )
    return (
        f"B_new of {enlarged()} packets leaves {ours['places that B_new leaves']:.0f} places once the link has been "
        f"busy for its delay of {1e3 * DELAY:g} ms. By how much the first loss of unpaced slow start comes later than "
        f"over the simulator's link with {B_OLD}: {told}. Until the link has been busy for that long, the places "
        "that the formula gives to the delay are free for a burst."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """What each link holds of unpaced slow start, over time."""
    figure, panels = drawing.axes(2)
    for ax, (name, words) in zip(panels, NAMES.items(), strict=True):
        came = arrivals(runs[name].where({PACING: NONE})[0])
        until = first_refused(came, enlarged(), DELAY) + 0.05
        seconds = np.linspace(max(until - 0.5, 0.0), until, 400)
        so_far = np.searchsorted(came.times, seconds, side="right")
        service = PACKET * 8 / RATE
        held = so_far - np.searchsorted(came.ends + DELAY, seconds, side="right")
        wait = so_far - np.searchsorted(came.ends - service, seconds, side="right")
        for slot, (what, values) in enumerate((("wait", wait), ("held by netem", held))):
            drawing.curve(ax, list(seconds), [float(one) for one in values], what, slot, marker="none", capsize=0)
        for limit in (B_OLD, enlarged()):
            ax.axhline(limit, color=drawing.INK, linewidth=0.8, linestyle=":")
        ax.set_xlabel(f"time, s; {words}")
    panels[0].set_ylabel("packets at the core")
    drawing.legend(panels[0], loc="upper left")
    caption = (
        "One unpaced flow in slow start over an unbounded queue: what would wait, and what netem would "
        f"hold. Dotted, B_old of {B_OLD} packets, from which on the simulator's link drops, and B_new of {enlarged()}, "
        "from which on netem does."
    )
    return [drawing.picture(figure, "netem", caption)]


CLAIM = Claim(
    id="cs244-netem",
    paper="cs244",
    where="Simulation Topology",
    kind="number",
    says="An emulated link that keeps a packet until it has left the wire and its delay needs a buffer larger by "
    "delay × rate; with that it leaves as many places, and takes more of a burst, so that slow start loses later.",
    printed={"formula": "B_new = B_old + link_delay × link_rate"},
    assumptions=(
        PATH,
        PACER,
        TCP,
        Assumption(
            "The delay of the emulated link.",
            "40 ms, that of the core.",
            "The page prints none; other delays stand beside.",
        ),
        Assumption(
            "When netem takes a packet from its queue.",
            "When it has been sent and delayed.",
            "The page's own words; in Linux its queue's length counts until then, and a packet that finds the limit is "
            "dropped (net/sched/sch_netem.c, netem_enqueue).",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
