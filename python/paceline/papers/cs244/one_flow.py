"""TCP Pacing, one flow: cumulative throughput and windows (Aggarwal's Fig. 3 and 4, and their rerun)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paceline._statistics import interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.cs244.network import METHODS, NONE, PACED, PACER, PACING, PATH, TCP, dumbbell, with_linux
from paceline.results import Result, Results
from paceline.results.instruments import Numbers
from paceline.scenario import Scenario

#: When cumulative throughput is compared, s: slow start and the recovery from its end take both about 4 s.
TIMES = (5, 10, 14)
#: Before that, s: told, not judged.
RECOVERING = 3
#: A sawtooth has so many teeth after that, each a cut by a fifth or more.
TEETH, TOOTH, SETTLED = 2, 0.2, 10
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
        found["why-sack"] = with_linux(watched, "rfc6675").over({PACING: METHODS}).seeds(2)
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
    evidence += experiments(runs)
    theirs = {"order": "paced carries more, and loses first later"}
    return Verdict(criteria.judge(evidence), ours, theirs, NOTE, evidence)


NOTE = (
    "Unpaced, slow start sends bursts of twice the bottleneck's rate and loses at a window well below what path and "
    "buffer hold; paced, it goes on to that, if access is faster than the core (why-slow-access). So the first cut "
    "comes later, and the window after it is larger. It shows once both have recovered: after 4 s in the original, "
    "by 10 s in the rerun. With SACK (why-sack) an unpaced Linux repairs the many losses at the end of slow start in "
    "a few round trips and the order turns: the gain is one over slow recovery, and may be why the page saw less of "
    "it than the paper."
)


def experiments(runs: Runs) -> list[Evidence]:
    """With SACK, and with access links that cannot send faster than the bottleneck."""
    rows = []
    for name, words in (("why-sack", "the rerun with SACK"), ("why-slow-access", "access as fast as the core")):
        if name in runs:
            unpaced, paced = both(runs[name])
            ahead = interval(carried(b, 5) - carried(a, 5) for a, b in zip(unpaced, paced, strict=True))
            later = interval(first_cut(b) - first_cut(a) for a, b in zip(unpaced, paced, strict=True))
            if ahead and later:
                rows.append(criteria.inform(f"carried, paced − unpaced, at 5 s, MB: {words}", ahead, name))
                rows.append(criteria.inform(f"first cut, paced − unpaced, s: {words}", later, name))
    return rows


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
            ax.set_ylim(bottom=0)
        drawing.legend(left, loc="upper left")
        words = {"original": "ns-2's NewReno", "rerun": "Linux's NewReno"}[name]
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
    "sawtooths.",
    printed={},
    assumptions=(PATH, PACER, TCP, STATISTIC),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
