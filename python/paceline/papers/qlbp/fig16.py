"""Fig. 16, section IV-C2: variation of self-similar traffic over time scales, by Q_max.

The paper replays an hour of a campus link with Tmix: TCP connections that say what the recorded ones said. That trace
is not public any more. Ours is web-like traffic over TCP with heavy-tailed sizes, set to what is known of the trace.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence

import numpy as np

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp import variation
from paceline.results import Results
from paceline.scenario import Scenario

WEB = """\
title    = "Self-similar TCP traffic through a QLBP pacer"
duration = "3660 s"
warmup   = "60 s"
seed     = 1

[network]
template = "dumbbell"
counts   = "ns2"
core     = { rate = "1 Gbit/s", delay = "0.1 ms", buffer = "500 packets" }
access   = [
  { name = "wide", hosts = 390, rate = "1 Gbit/s", delay = "2 ms .. 25 ms" },
  { name = "narrow", hosts = 390, rate = "1 Gbit/s", delay = "2 ms .. 25 ms" },
]

[[traffic]]
name  = "wide"
kind  = "closed-loop"
from  = "wide"
start = "0 s .. 5 s"
size  = { pareto = { mean = "18 KB", shape = 1.1 } }
think = { exponential = "5 s" }
tcp   = { profile = "ns2", variant = "newreno", payload = "1460 B", delayed_ack = "100 ms", max_window = "44 packets" }

[[traffic]]
name  = "narrow"
kind  = "closed-loop"
from  = "narrow"
start = "0 s .. 5 s"
size  = { pareto = { mean = "18 KB", shape = 1.1 } }
think = { exponential = "5 s" }
tcp   = { profile = "ns2", variant = "newreno", payload = "1460 B", delayed_ack = "100 ms", max_window = "12 packets" }

[pacing]
method = "none"

[probes]
rate_variation = { links = "core", finest = "5 ms" }
throughput     = { links = "core", every = "1 s" }
"""

#: The other surrogate: no TCP, but a rate that follows fractional Gaussian noise within the trace's range.
NOISE = {
    "name": "noise",
    "kind": "self-similar",
    "from": "left.0",
    "packet": "1500 B",
    "mean": "16 Mbit/s",
    "min": "10 Mbit/s",
    "max": "35 Mbit/s",
    "hurst": 0.95,
}
QUEUES = (5, 10, 40, 160, 320)
PRINTED = {"cv_cut_at_5ms": 0.5}
#: 5 ms · 2^s for s of 0, 4, 9 and 10.
FINEST_S, MIDDLE_S, WIDE_S = 0.005, 0.08, (2.56, 5.12)
THROUGHPUT = "links.core.throughput_bps"
WHY = {
    "why-wide": "all windows 44 packets",
    "why-narrow": "all windows 12 packets",
    "why-noise": "no TCP, only its rate",
}

ASSUMPTIONS = (
    Assumption(
        "The trace: inbound.cvec of Weigle et al., an hour, H 0.95, 16 Mbit/s in the mean, between 10 and 35.",
        "780 users who fetch files of Pareto sizes (shape 1.1, mean 18 KB) over TCP and think for 5 s in the mean.",
        "Sizes of shape 1.1 give H = (3 - 1.1) / 2 = 0.95; users are as many as give 16 Mbit/s; 18 KB is the mean "
        "response in the sample that ns-2 ships from the same place (sample-orig.cvec, 340 connections).",
    ),
    Assumption(
        "Windows and round trips of the connections.",
        "Half of the users have windows of 44 packets, half of 12; round trips are 8 to 100 ms.",
        "In that sample 64240 B = 44 · 1460 is the commonest window and 17520 B = 12 · 1460 the second, and the median "
        "round trip is 50 ms. why-wide and why-narrow have one of them for all.",
    ),
    Assumption(
        "The TCP: the paper follows the script in ns-2's manual.",
        "NewReno, 1460 B, delayed acknowledgements within 100 ms, links of 1 Gbit/s, 500 packets of buffer.",
        "That script is ns-2's tcl/ex/tmix/test-tmix.tcl. The traffic outbound has links of its own and is left out.",
    ),
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """The surrogate unpaced and over Q_max; parts of it with other windows and without TCP."""
    web = Scenario(tomllib.loads(WEB))
    if length.quick:
        web = web.set("duration", "360 s")
    shorter = web if length.quick else web.set("duration", "1260 s")
    wide = shorter.set("traffic.narrow.tcp.max_window", "44 packets")
    narrow = shorter.set("traffic.wide.tcp.max_window", "12 packets")
    noise = shorter.set("traffic", [NOISE])
    found = {"none": web.seeds(length.seed_count(5, 3)), "paced": paced(web, QUEUES).seeds(length.seed_count(5, 3))}
    for name, scenario in (("why-wide", wide), ("why-narrow", narrow), ("why-noise", noise)):
        found[f"{name}-none"] = scenario.seeds(length.seed_count(3, 2))
        found[f"{name}-paced"] = paced(scenario, (5, 10, 320)[: 3 if name == "why-noise" else 2]).seeds(
            length.seed_count(3, 2)
        )
    return found


def paced(scenario: Scenario, queues: Sequence[int]) -> Scenario:
    """With a pacer before the core link, over these Q_max in packets."""
    pacing = {"method": "qlbp", "mu_min": "1 Mbit/s", "mu_max": "35 Mbit/s", "q_max": "5 packets", "at": "core"}
    return scenario.set("pacing", pacing).over({"pacing.q_max": [label(size) for size in queues]})


def label(packets: int) -> str:
    """A Q_max as scenarios write it."""
    return f"{packets} packets"


def check(runs: Runs) -> Verdict:
    """The cut at 5 ms; that it fades with scale for small Q_max and grows with Q_max, up to seconds."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for size in (5, 10):
        near = variation.mean(cut(runs, size, FINEST_S))
        statistic = f"cut of the coefficient of variation at 5 ms, Q_max {size}"
        evidence.append(criteria.within(statistic, near, PRINTED["cv_cut_at_5ms"]))
        ours[f"cv_cut_at_5ms, Q_max {size}"] = round(near.mean, 4)
    for size in (5, 10):
        evidence.append(
            variation.falls(
                f"fall of the cut from 5 ms to 2.56 s, Q_max {size}",
                cut(runs, size, FINEST_S),
                cut(runs, size, WIDE_S[0]),
            )
        )
    for less, more in itertools.pairwise(QUEUES):
        evidence.append(
            variation.falls(
                f"growth of the cut at 80 ms, Q_max {less} to {more}",
                cut(runs, more, MIDDLE_S),
                cut(runs, less, MIDDLE_S),
            )
        )
    for size in (160, 320):
        for scale in WIDE_S:
            far = cut(runs, size, scale)
            evidence.append(variation.falls(f"cut at {scale:g} s, Q_max {size}", far, dict.fromkeys(far, 0.0)))
            ours[f"cut at {scale:g} s, Q_max {size}"] = round(variation.mean(far).mean, 4)
    outcome = criteria.judge(evidence)
    words = "The cuts are as printed." if outcome == "reproduced" else note(runs)
    return Verdict(outcome, ours, PRINTED, words, evidence + surrogate(runs) + explained(runs))


def cut(runs: Runs, size: int, scale_s: float, prefix: str = "") -> dict[int, float]:
    """The share of the unpaced coefficient of variation that is gone at a scale, by seed."""
    unpaced = runs[f"{prefix}-none" if prefix else "none"]
    results = runs[f"{prefix}-paced" if prefix else "paced"].where({"pacing.q_max": label(size)})
    left = variation.ratio(variation.by_seed(results, scale_s), variation.by_seed(unpaced, scale_s))
    return {seed: 1 - share for seed, share in left.items()}


def surrogate(runs: Runs) -> list[Evidence]:
    """What the surrogate is like, beside what is known of the trace."""
    lowest, highest = zip(*(extremes(runs["none"])), strict=True)
    return [
        criteria.inform("mean rate unpaced, Mbit/s", criteria.mean(runs["none"], THROUGHPUT, 1e6), "the trace: 16"),
        criteria.inform("Hurst exponent by variance and time, 0.3 to 25 s", hurst(runs["none"]), "the trace: 0.95"),
        criteria.inform("least rate in a second, Mbit/s", _over(lowest), "the trace: 10, over a time not given"),
        criteria.inform("greatest rate in a second, Mbit/s", _over(highest), "the trace: 35, over a time not given"),
    ]


def hurst(results: Results) -> Interval:
    """One more than the slope of log CV over log scale."""
    found = []
    for run in results:
        curve = run.instrument("rate_variation")
        scale, cv = (np.asarray(curve[name].to_pylist(), float) for name in ("x", "y"))
        kept = (scale >= 0.3) & (scale <= 25)
        found.append(1 + float(np.polyfit(np.log(scale[kept]), np.log(cv[kept]), 1)[0]))
    return _over(found)


def extremes(results: Results) -> list[tuple[float, float]]:
    """Least and greatest rate in a second after the warm-up, Mbit/s, of each run."""
    found = []
    for run in results:
        curve = run.instrument("carried")
        time, carried = (np.asarray(curve[name].to_pylist(), float) for name in ("x", "y"))
        rates = np.diff(carried[time >= run.window_s[0]]) * 8 / 1e6
        found.append((float(rates.min()), float(rates.max())))
    return found


def explained(runs: Runs) -> list[Evidence]:
    """The cut at 5 ms with other traffic."""
    rows = [
        criteria.inform(
            f"cut at 5 ms, Q_max {size}, {words}", variation.mean(cut(runs, size, FINEST_S, name)), "beside 0.5"
        )
        for name, words in WHY.items()
        for size in (5, 10)
    ]
    for scale in WIDE_S:
        value = variation.mean(cut(runs, 320, scale, "why-noise"))
        rows.append(
            criteria.inform(f"cut at {scale:g} s, Q_max 320, {WHY['why-noise']}", value, "beside the same over TCP")
        )
    slower = slowed(runs)
    rows.append(criteria.inform("relative change of the mean rate, Q_max 320", slower, "TCP under the pacer's delay"))
    return rows


def slowed(runs: Runs) -> Interval:
    """How much of the mean rate is lost with a Q_max of 320, seed by seed; below zero."""
    largest = runs["paced"].where({"pacing.q_max": label(320)})
    return criteria.difference(largest, runs["none"], THROUGHPUT, relative=True)


def note(runs: Runs) -> str:
    """Which property of the traffic decides, from the runs."""
    main = [variation.mean(cut(runs, size, FINEST_S)).mean for size in (5, 10)]
    why = {name: [variation.mean(cut(runs, size, FINEST_S, name)).mean for size in (5, 10)] for name in WHY}
    far = [variation.mean(cut(runs, 320, scale)).mean for scale in WIDE_S]
    open_loop = variation.mean(cut(runs, 320, WIDE_S[0], "why-noise")).mean
    return (
        "With our surrogate for the trace, which is not public, Q_max of 5 and 10 packets cut the variation at 5 ms "
        f"by {main[0]:.0%} and {main[1]:.0%}: nearly one half, but not both within 5 % of it. What decides is how long "
        "the trains are that TCP sends, by its window, because the pacer spreads only what is in its queue: with "
        f"windows of 44 packets for all it is {why['why-wide'][0]:.0%} and {why['why-wide'][1]:.0%}, of 12 packets "
        f"{why['why-narrow'][0]:.0%} and {why['why-narrow'][1]:.0%}. Self-similar traffic without trains, by its rate "
        f"alone, is cut by no more than {why['why-noise'][1]:.1%}, so the figure shows TCP's trains rather than "
        "self-similarity. As printed, the cut of small Q_max fades with the scale, and a Q_max of 320 still cuts "
        f"{far[0]:.0%} and {far[1]:.0%} at 2.5 and 5 s, far beyond its own delay of 0.1 s. That is TCP's answer to the "
        f"delay: the mean rate changes by {slowed(runs).mean:.1%}, and without TCP the cut at 2.5 s is {open_loop:.1%}."
    )


def _over(values: Sequence[float]) -> Interval:
    found = interval(values)
    assert found is not None
    return found


def draw(runs: Runs) -> Sequence[Picture]:
    """As in the paper, on logarithmic scales, which are named in seconds and not in powers of 2."""
    figure, (ax,) = drawing.axes(1, (5.6, 4.2))
    unpaced = runs["none"]
    curves = [("unpaced", unpaced)]
    curves += [(f"Q_max {size}", runs["paced"].where({"pacing.q_max": label(size)})) for size in QUEUES]
    for slot, (words, results) in enumerate(curves):
        lengths = variation.scales(results)
        values = [variation.mean(variation.by_seed(results, scale)) for scale in lengths]
        drawing.curve(ax, lengths, values, words, slot, markersize=3)
    half = (1 - PRINTED["cv_cut_at_5ms"]) * variation.mean(variation.by_seed(unpaced, FINEST_S)).mean
    drawing.printed(ax, FINEST_S, half, "half of the unpaced", offset=(4, -14))
    drawing.logarithmic(ax, "x", (0.01, 0.1, 1, 10, 100))
    drawing.logarithmic(ax, "y", (0.1, 0.2, 0.5, 1))
    ax.set_xlabel("length of an interval, s")
    ax.set_ylabel("coefficient of variation of bytes in an interval")
    drawing.legend(ax, loc="upper right")
    caption = (
        "Web-like TCP traffic of 16 Mbit/s through a QLBP pacer: means over seeds with 95 % intervals. The cross is "
        "what the paper says of Q_max 5 and 10 at 5 ms: nearly 50 % less than unpaced."
    )
    return [drawing.picture(figure, "fig16", caption)]


CLAIM = Claim(
    id="qlbp-fig16",
    paper="qlbp",
    where="Fig. 16, IV-C2",
    kind="number",
    says="On self-similar Internet traffic a Q_max of 5 or 10 packets cuts the coefficient of variation at 5 ms by "
    "nearly one half; a larger one reaches wider time scales, and 160 to 320 packets even 2.5 to 5 s.",
    printed=PRINTED,
    assumptions=ASSUMPTIONS,
    sweeps=sweeps,
    check=check,
    draw=draw,
)
