"""TCP Pacing, one flow: cumulative throughput and windows (Aggarwal's Fig. 3 and 4, and their rerun).

The rerun's own words decide which TCP it ran: "both flows enter fast recovery", where the original's time out. So ours
has SACK, as Linux's reno had, and that neither flow times out is a criterion. So is, of the original, that "both flows
timeout after the initial slow-start": one timeout or more in each run, paced and unpaced. That one was taken from the
text after a look at runs of 20 s, which had one each.

The page's second difference is of slopes: "our congestion window sawtooths for NewReno exhibit decreasing slopes as
RTTs increase due to the queue on the bottleneck link becoming full, as one would expect. Pacing does not decrease as
much in slope. Interestingly, in the paper there is no clear difference between NewReno and Pacing in this regard." Its
three criteria are of the growth of the window a second, in the last third of a tooth over its first: below one unpaced
and larger paced in the rerun, and not clearly different in the original, which is 0.05 apart at most, as shares are
judged. They were fixed from these words before a look at any slope, but for one: larger was to be above 0, which
0.0002 kept in the first runs. The page sets it against no clear difference, so it is to be clear: above 0.05.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from paceline._statistics import interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.cs244.network import (
    LINUX,
    LINUX_PACED,
    METHODS,
    NONE,
    PACED,
    PACER,
    PACING,
    PATH,
    TCP,
    dumbbell,
    with_linux,
)
from paceline.results import Result, Results
from paceline.results.instruments import Numbers
from paceline.scenario import Scenario

#: When cumulative throughput is compared, s: slow start and the recovery from its end take both about 4 s.
TIMES = (5, 10, 14)
#: Before that, s: told, not judged.
RECOVERING = 3
#: A sawtooth has so many teeth after that, each a cut by a fifth or more.
TEETH, TOOTH, SETTLED = 2, 0.2, 10
#: A third of a tooth begins so long after a cut, s: recovery is over by then. What is further apart is clear.
RECOVERED, CLEAR = 1.0, criteria.PROBABILITY
FIRST_AFTER = "rerun, unpaced first cut after the original's, s"
#: What is varied to explain, by name.
EXPERIMENTS = {
    "why-newreno": "the rerun without SACK",
    "why-rule": "the rerun by Linux's present rule of pacing",
    "why-slow-access": "access as fast as the core",
}
#: Long enough for them, s: a window grows by a packet a round trip, or in two with delayed acknowledgements.
DURATION = 400
#: Of which so many are drawn of what was carried, s.
SHOWN = 20

STATISTIC = Assumption(
    "What rising sooner and a sawtooth are.",
    "Paced has carried more by 5, 10 and 14 s, and first cuts its window later. For a sawtooth, each window is cut "
    "by a fifth or more at least twice after 10 s, in a run of 400 s.",
    "The page speaks of the initial period; at 3 s the paced flow, later into slow start, is still recovering from "
    "its end. A tooth takes 80 s, or twice that with delayed acknowledgements.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """The original in ns-2's terms and the rerun in Linux's."""
    watched = (
        dumbbell(length).set("duration", f"{DURATION} s").set("probes.window", {"flows": ["bulk.0"], "every": "50 ms"})
    )
    watched = watched.set("traffic.bulk.start", "0 s .. 100 ms")
    seeds = length.seed_count()
    found = {
        "original": watched.over({PACING: METHODS}).seeds(seeds),
        "rerun": with_linux(watched).over({PACING: METHODS}).seeds(seeds),
    }
    if not length.quick:
        found["why-newreno"] = with_linux(watched, "newreno").over({PACING: METHODS}).seeds(2)
        found["why-rule"] = with_linux(watched).over({PACING: [METHODS[0], LINUX]}).seeds(seeds)
        slow = watched.set("network.access.rate", "100 Mbit/s")
        found["why-slow-access"] = slow.over({PACING: METHODS}).seeds(2)
    return found


def check(runs: Runs) -> Verdict:
    """Carried so far, the time of the first cut, and cuts with growth between them, in both set-ups."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for name in ("original", "rerun"):
        unpaced, paced = both(runs[name])
        for second in TIMES:
            ahead = interval(carried(b, second) - carried(a, second) for a, b in zip(unpaced, paced, strict=True))
            assert ahead is not None
            ours[f"{name}, MB ahead at {second} s"] = round(ahead.mean, 2)
            evidence.append(criteria.above(f"{name}: carried, paced − unpaced, at {second} s, MB", ahead, 0, "MB"))
        pause = interval(carried(b, RECOVERING) - carried(a, RECOVERING) for a, b in zip(unpaced, paced, strict=True))
        assert pause is not None
        words = "both recover from the end of slow start"
        evidence.append(criteria.inform(f"{name}: carried, paced − unpaced, at {RECOVERING} s, MB", pause, words))
        later = interval(first_cut(b) - first_cut(a) for a, b in zip(unpaced, paced, strict=True))
        assert later is not None
        ours[f"{name}, first cut later, s"] = round(later.mean, 3)
        evidence.append(criteria.above(f"{name}: first cut, paced − unpaced, s", later, 0, "s"))
        for pacing, some in ((NONE, unpaced), (PACED, paced)):
            fewest = min(teeth(run) for run in some)
            words = f"{name}: cuts of the window after {SETTLED} s, {pacing}, fewest of the seeds"
            evidence.append(Evidence(words, float(fewest), None, f"{TEETH} or more", fewest >= TEETH))
    for pacing, some in zip((NONE, PACED), both(runs["rerun"]), strict=True):
        most = max(run.flows.timeouts or 0 for run in some)
        evidence.append(Evidence(f"rerun: timeouts, {pacing}, most of a seed", float(most), None, "0", most == 0))
        ours[f"rerun, timeouts, {pacing}"] = most
    for pacing, some in zip((NONE, PACED), both(runs["original"]), strict=True):
        fewest = min(run.flows.timeouts or 0 for run in some)
        words = f"original: timeouts, {pacing}, fewest of a seed"
        evidence.append(Evidence(words, float(fewest), None, "1 or more", fewest >= 1))
        ours[f"original, timeouts, {pacing}"] = fewest
    for second in TIMES:
        more = interval(
            carried(b, second) - carried(a, second) - (carried(d, second) - carried(c, second))
            for a, b, c, d in zip(*both(runs["original"]), *both(runs["rerun"]), strict=True)
        )
        assert more is not None
        # "we have not observed as large a difference between the two cumulative throughputs as shown in the paper"
        evidence.append(criteria.above(f"lead of paced, original − rerun, at {second} s, MB", more, 0, "MB"))
    # "in our simulation NewReno slow-start incurs its first packet loss later than in the paper"
    after = interval(
        first_cut(b) - first_cut(a) for a, b in zip(both(runs["original"])[0], both(runs["rerun"])[0], strict=True)
    )
    assert after is not None
    ours[FIRST_AFTER] = round(after.mean, 3)
    evidence.append(criteria.above("first cut of the window unpaced, rerun − original, s", after, 0, "s"))
    evidence += slopes(runs, ours)
    evidence += experiments(runs)
    theirs = {
        "order": "paced carries more, and loses first later",
        "lead": "smaller in the rerun than in the original",
        "slope": "in the rerun falls along a tooth, less so paced; no clear difference in the original",
        "original": "both time out",
        "rerun": "both recover fast",
    }
    return Verdict(criteria.judge(evidence), ours, theirs, _note(runs, ours), evidence)


def _note(runs: Runs, ours: Mapping[str, float]) -> str:
    def ahead(name: str) -> str:
        return ", ".join(f"{ours[f'{name}, MB ahead at {second} s']:+.2f} MB by {second} s" for second in TIMES)

    told = ""
    for name, words in EXPERIMENTS.items():
        if name in runs:
            gained = interval(carried(b, TIMES[0]) - carried(a, TIMES[0]) for a, b in _pairs(runs[name]))
            assert gained is not None
            told += f" {words[0].upper()}{words[1:]}: {gained.mean:+.2f} MB by {TIMES[0]} s ({name})."
    return (
        "Unpaced, slow start sends bursts of twice the bottleneck's rate and loses at a window well below what path "
        "and "
        "buffer hold; paced, it goes on to that, if access is faster than the core. The first cut comes later by "
        f"{ours['original, first cut later, s']:.2f} s in the original and {ours['rerun, first cut later, s']:.2f} s "
        "in "
        "the rerun. Unpaced, it comes in the rerun "
        f"{abs(ours[FIRST_AFTER]):.2f} s {'after' if ours[FIRST_AFTER] > 0 else 'before'} the original's; the page's "
        "queue also holds what netem delays. "
        f"Carried paced, less unpaced: {ahead('original')} in the original, {ahead('rerun')} in the rerun. "
        "Slow start ends in many losses at once; how they are repaired decides who is ahead. The rerun has at most "
        f"{ours[f'rerun, timeouts, {NONE}']:.0f} (unpaced) and {ours[f'rerun, timeouts, {PACED}']:.0f} (paced) "
        "timeouts a "
        f"run, where the page has none. {_slopes_told(ours)}{told}"
    )


def _slopes_told(ours: Mapping[str, float]) -> str:
    def kept(name: str) -> str:
        return " and ".join(
            f"{ours[f'{name}, slope kept, {pacing}']:.2f} {words}"
            for pacing, words in ((NONE, "unpaced"), (PACED, "paced"))
            if f"{name}, slope kept, {pacing}" in ours
        )

    return (
        "A window grows by a packet each round trip, or each second one, and the round trip with the queue. The slope "
        f"of the last third of a tooth over that of its first is {kept('rerun') or 'not known'} in the rerun, and "
        f"{kept('original') or 'not known'} in the original."
    )


def experiments(runs: Runs) -> list[Evidence]:
    """Without SACK, by another rule, and with access links that cannot send faster than the bottleneck."""
    rows = []
    for name, words in EXPERIMENTS.items():
        if name in runs:
            pairs = list(_pairs(runs[name]))
            for second in TIMES:
                ahead = interval(carried(b, second) - carried(a, second) for a, b in pairs)
                assert ahead is not None
                rows.append(criteria.inform(f"carried, paced − unpaced, at {second} s, MB: {words}", ahead, name))
            later = interval(first_cut(b) - first_cut(a) for a, b in pairs)
            assert later is not None
            rows.append(criteria.inform(f"first cut, paced − unpaced, s: {words}", later, name))
    return rows


def slopes(runs: Runs, ours: dict[str, float]) -> list[Evidence]:
    """What of the window's growth is left at the end of a tooth: falls in the rerun, less so paced."""
    rows = []
    for name in ("original", "rerun"):
        some = both(runs[name])
        left = [{run.seed: slope for run in each if (slope := slope_kept(run)) is not None} for each in some]
        for pacing, found in zip((NONE, PACED), left, strict=True):
            kept = interval(found.values())
            words = f"{name}: slope of the last third of a tooth over the first, {pacing}"
            if kept is None:
                rows.append(Evidence(words, "no tooth", None, "of whole teeth", False))
                continue
            ours[f"{name}, slope kept, {pacing}"] = round(kept.mean, 3)
            judged = (name, pacing) == ("rerun", NONE)
            rows.append(
                criteria.below(words, kept, 1) if judged else criteria.inform(words, kept, "beside the rerun's")
            )
        gap = interval(left[1][seed] - left[0][seed] for seed in left[0] if seed in left[1])
        words = f"{name}: slope kept, paced − unpaced"
        if gap is None:
            rows.append(Evidence(words, "no tooth", None, "of whole teeth", False))
        elif name == "rerun":
            rows.append(criteria.above(words, gap, CLEAR))
        else:
            rows.append(Evidence(words, gap.mean, (gap.low, gap.high), f"0 within {CLEAR:g}", abs(gap.mean) <= CLEAR))
    return rows


def slope_kept(run: Result) -> float | None:
    """Growth of the window a second in the last third of a tooth over that in its first, the mean of its teeth."""
    times, windows = window(run)
    cuts = times[1:][(np.diff(windows) < -TOOTH * windows[:-1]) & (times[1:] > SETTLED)]
    found = []
    for start, end in itertools.pairwise(cuts):
        third = (end - start - RECOVERED) / 3
        parts = [
            (times >= since) & (times <= since + third) & (times < end) for since in (start + RECOVERED, end - third)
        ]
        if all(part.sum() > 2 for part in parts):
            first, last = (float(np.polyfit(times[part], windows[part], 1)[0]) for part in parts)
            found.append(last / first)
    return float(np.mean(found)) if found else None


def _pairs(results: Results) -> Iterator[tuple[Result, Result]]:
    """Unpaced and paced runs of one seed, whatever the rule."""
    labels = list(dict.fromkeys(run.settings[PACING] for run in results))
    paced = next(label for label in (PACED, LINUX_PACED) if label in labels)
    return zip(results.where({PACING: NONE}), results.where({PACING: paced}), strict=True)


def both(results: Results) -> tuple[Results, Results]:
    """Unpaced and paced runs."""
    return results.where({PACING: NONE}), results.where({PACING: PACED})


def carried(run: Result, second: float) -> float:
    """What the core has carried by then, MB."""
    table = run.instrument("carried")
    return float(np.interp(second, table["x"].to_numpy(), table["y"].to_numpy())) / 1e6


def first_cut(run: Result) -> float:
    """When the window first fell, s."""
    times, windows = window(run)
    falls = np.flatnonzero(np.diff(windows) < 0)
    return float(times[falls[0] + 1]) if len(falls) else float(times[-1])


def teeth(run: Result) -> int:
    """How often the window was cut once slow start and the recovery from it were over."""
    times, windows = window(run)
    cut = np.diff(windows) < -TOOTH * windows[:-1]
    return int(np.count_nonzero(cut & (times[1:] > SETTLED)))


def window(run: Result) -> tuple[Numbers, Numbers]:
    """Times, s, and windows, packets."""
    table = run.instrument("cwnd")
    return table["x"].to_numpy(), table["y"].to_numpy()


def draw(runs: Runs) -> Sequence[Picture]:
    """For each set-up what was carried, and windows, of the first seed."""
    pictures = []
    for name in ("original", "rerun"):
        figure, (left, right) = drawing.axes(2)
        for slot, some in enumerate(both(runs[name])):
            label = (NONE, PACED)[slot]
            seconds = [float(second) for second in np.linspace(0, SHOWN, 101)]
            so_far = [carried(some[0], second) for second in seconds]
            drawing.curve(left, seconds, so_far, label, slot, marker="none", capsize=0)
            times, windows = (column[::10] for column in window(some[0]))
            drawing.curve(right, list(times), list(windows), label, slot, marker="none", capsize=0)
        left.set_xlabel("time, s")
        left.set_ylabel("carried by the core, MB")
        right.set_xlabel("time, s")
        right.set_ylabel("window, packets")
        for ax in (left, right):
            drawing.from_zero(ax)
        drawing.legend(left, loc="upper left")
        words = {"original": "ns-2's NewReno", "rerun": "Linux's reno, with SACK"}[name]
        caption = (
            f"One flow, {words}: 1250 packets a round trip, room for 312. The paper: paced is ahead after slow start."
        )
        pictures.append(drawing.picture(figure, name, caption))
    return pictures


CLAIM = Claim(
    id="cs244-single-flow",
    paper="cs244",
    where="TCP Pacing, one flow",
    kind="shape",
    says="One paced flow carries more, sooner, because its slow start meets the first loss later; both windows are "
    "sawtooths, of which the rerun's flatten as the queue fills, less so paced.",
    printed={},
    assumptions=(PATH, PACER, TCP, STATISTIC),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
