"""The abstract, one flow: a buffer of 25 to 40 % of a BDP fills the link, where Reno needs all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.spang.network import BUFFER, HOSTS_OF_TODAY, ONE_PATH, TCPS, VARIANT, one
from paceline.results import Result, Results
from paceline.scenario import Scenario

PARTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 2.0)
QUICK_PARTS = (0.1, 0.25, 0.4, 1.0, 2.0)
LEAST, MOST, RENO = 0.25, 0.40, 1.0
PRINTED = {"smaller_percent": [60, 75], "reno_bdp": RENO}
#: Of what the flow carries over a buffer of two BDP.
FULL = 0.999
#: A window of four packets is ProbeRTT; so long before and after a sample is left out, s.
PROBING, BEFORE, AFTER, STEP = 8.0, 1.0, 1.5, 0.5

FULL_LINK = Assumption(
    "What full utilisation is, of BBR too, which empties the pipe every ten seconds by itself.",
    "99.9 % of what the flow carries over a buffer of two BDP, without the time around ProbeRTT.",
    "The rule is for a link that is never idle for want of buffer; no buffer fills it while BBR drains.",
)
SEARCH = Assumption(
    "How the smallest buffer is found.",
    "From 17 buffers of 0.05 to 2 BDP: the least that is enough, by a straight line between two of them, seed by seed.",
    "One flow's utilisation rises with the buffer, up to what seeds scatter; what lies within 0.05 BDP counts as the "
    "printed share.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Buffers by TCP."""
    parts = [f"{part:g} BDP" for part in length.choose(PARTS, QUICK_PARTS)]
    over = {VARIANT: list(TCPS.values()), BUFFER: parts}
    return {"main": one(length).over(over).seeds(length.seed_count())}


def check(runs: Runs, full: float = FULL) -> Verdict:
    """Reno's need is a BDP, CUBIC's and BBR v1's a quarter to two fifths of it; BBR v3's informs."""
    needs = {name: need(runs["main"].where({VARIANT: variant}), full) for name, variant in TCPS.items()}
    evidence = [criteria.probability("smallest buffer for a full link, Reno, BDP", needs["Reno"], RENO)]
    for name in ("CUBIC", "BBR v1"):
        found = needs[name]
        low, high = LEAST - criteria.PROBABILITY, MOST + criteria.PROBABILITY
        words = f"{LEAST:g} to {MOST:g}, within 0.05"
        ends = None if found.half is None else (found.low, found.high)
        row = f"smallest buffer for a full link, {name}, BDP"
        evidence.append(Evidence(row, found.mean, ends, words, low <= found.mean <= high))
    outcome = criteria.judge(evidence)
    words = "published later, and not in the abstract"
    evidence.append(criteria.inform("smallest buffer for a full link, BBR v3, BDP", needs["BBR v3"], words))
    for name in TCPS:
        for part in (0.1, 0.25, 0.4, 1.0):
            words = f"utilisation outside ProbeRTT, {name}, {part:g} BDP"
            evidence.append(criteria.inform(words, utilised(runs, name, part), "of 50 Mbit/s"))
    ours = {f"{name}, BDP": round(found.mean, 2) for name, found in needs.items()}
    theirs = {"Reno, BDP": RENO, "CUBIC, BDP": f"{LEAST:g} to {MOST:g}", "BBR v1, BDP": f"{LEAST:g} to {MOST:g}"}
    return Verdict(outcome, ours, theirs, note(needs, utilised(runs, "BBR v1", LEAST)), evidence)


def note(needs: Mapping[str, Interval], over: Interval) -> str:
    """What each needs, and by which cut of the window."""
    return (
        f"Reno needs {needs['Reno'].mean:.2f} BDP, CUBIC {needs['CUBIC'].mean:.2f}, BBR v1 {needs['BBR v1'].mean:.2f}. "
        "A window that is cut to β of itself leaves the link full if the buffer holds (1 − β) / β of a BDP: all of it "
        "for Reno's half, 0.43 for CUBIC's 0.7, less the 0.05 that a threshold of 99.9 % forgives near the end of so "
        "flat a curve; at 99.99 % Reno's need is the printed one (docs/deciding-choices.md). BBR v1 puts a quarter "
        f"of a BDP into the buffer as it probes, and more while a loss of its own holds it back: over {LEAST:g} BDP it "
        f"has {100 * over.mean:.1f} % of the link. BBR v3 is not judged: {needs['BBR v3'].mean:.2f} BDP is where it "
        "carries "
        "what it carries at most, which is less than the link."
    )


def utilised(runs: Runs, name: str, part: float) -> Interval:
    """Utilisation outside ProbeRTT over so many BDP of buffer."""
    some = runs["main"].where({VARIANT: TCPS[name], BUFFER: f"{part:g} BDP"})
    return over_seeds([carried(run) for run in some])


def over_seeds(values: Sequence[float]) -> Interval:
    """Mean over seeds."""
    found = interval(values)
    assert found is not None
    return found


def carried(run: Result) -> float:
    """Utilisation of the core, without the time around ProbeRTT."""
    cwnd, core = run.instrument("cwnd"), run.instrument("carried")
    times = cwnd["x"].to_numpy()
    low = times[cwnd["y"].to_numpy() <= PROBING]
    starts = np.arange(run.window_s[0], run.window_s[1] - STEP + 1e-9, STEP)
    x, so_far = core["x"].to_numpy(), core["y"].to_numpy()
    rate = (np.interp(starts + STEP, x, so_far) - np.interp(starts, x, so_far)) * 8 / STEP
    apart = np.array([not np.any((low > start - BEFORE) & (low < start + AFTER)) for start in starts])
    return float(np.mean(rate[apart] if apart.any() else rate)) / 50e6


def need(results: Results, full: float = FULL) -> Interval:
    """The smallest buffer that is enough, BDP, over seeds."""
    curves: dict[int, list[tuple[float, float]]] = {}
    for run in results:
        curves.setdefault(run.seed, []).append((float(run.settings[BUFFER].split()[0]), carried(run)))
    return over_seeds([smallest(sorted(points), full) for points in curves.values()])


def smallest(points: Sequence[tuple[float, float]], full: float = FULL) -> float:
    """The least buffer that carries that share of what the largest does."""
    enough = full * points[-1][1]
    first = next(place for place, (_, used) in enumerate(points) if used >= enough)
    if not first:
        return points[0][0]
    (low, below), (high, above) = points[first - 1], points[first]
    return low + (high - low) * (enough - below) / (above - below)


def draw(runs: Runs) -> Sequence[Picture]:
    """Utilisation against the buffer."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    for slot, (name, variant) in enumerate(TCPS.items()):
        some = runs["main"].where({VARIANT: variant})
        parts = sorted({float(run.settings[BUFFER].split()[0]) for run in some})
        values = [over_seeds([100 * carried(run) for run in some.where({BUFFER: f"{part:g} BDP"})]) for part in parts]
        drawing.curve(ax, parts, values, name, slot)
    drawing.printed(ax, LEAST, 100, "", offset=(0, 0))
    drawing.printed(ax, MOST, 100, "paper: 0.25 to 0.4", offset=(6, -14))
    drawing.logarithmic(ax, "x", (0.05, 0.1, 0.25, 0.5, 1, 2))
    ax.set_xlabel("buffer, BDP")
    ax.set_ylabel("utilisation outside ProbeRTT, %")
    drawing.legend(ax, loc="lower right")
    return [drawing.picture(figure, "one-flow", "One flow over 50 Mbit/s: what the link carries against its buffer.")]


CLAIM = Claim(
    id="spang-one-flow",
    paper="spang",
    where="Abstract, one flow",
    kind="number",
    says="One flow of CUBIC or BBR fills the link from a buffer that is 60 to 75 % smaller than the BDP that Reno "
    "needs.",
    printed=PRINTED,
    assumptions=(HOSTS_OF_TODAY, ONE_PATH, FULL_LINK, SEARCH),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
