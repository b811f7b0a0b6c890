"""Fig. 9 to 12, section IV-A: one TCP flow, or one at a constant rate, through a pacer at a router's entry."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from paceline._palette import COLOURS
from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp import variation
from paceline.results import Result, Results
from paceline.scenario import Scenario

PATH = """\
title    = "One flow through a QLBP pacer at a router's entry"
duration = "15 s"
warmup   = "5 s"
seed     = 1

[network]
template = "path"
links = [
  { name = "entry", rate = "1 Gbit/s", delay = "1 us" },
  { name = "bottleneck", rate = "10 Mbit/s", delay = "50 ms", buffer = "16 packets" },
]

[[traffic]]
name  = "flow"
kind  = "bulk"
start = "0 s .. 100 ms"

[traffic.tcp]
profile    = "linux"
variant    = "newreno"
max_window = "45 packets"          # 64 KiB of 1448 B each

[pacing]
method = "none"
mu_min = "1.2 Mbit/s"
mu_max = "200 Mbit/s"
q_max  = "100 packets"
at     = "entry"

[probes]
departures     = { links = ["entry"], from = "10 s", to = "11 s" }
bursts         = { links = "entry" }
rate_variation = { links = "entry", finest = "10 ms", coarsest = "10 ms" }
"""

PACING = {"pacing.method": ["none", "qlbp"]}
#: A tenth of the round trip.
SCALE_S = 0.01
RTT_S = 0.1
#: Constant rates by the name of their sweep.
RATES = {"cbr-200k": "200 kbit/s", "cbr-3m": "3 Mbit/s"}
THROUGHPUT = "links.entry.throughput_bps"
#: A constant rate counts as kept if it moves by no more than this share: a packet or two at the window's ends.
KEPT = 1e-3

ASSUMPTIONS = (
    Assumption(
        "Which TCP the hosts of the testbed ran, with which window.",
        "Linux's timers and acknowledgements, NewReno, and a window of 64 KiB.",
        "64 KiB is the most without window scaling. The verdict does not hang on it: with no such limit "
        "(why-unlimited) the flow fills the 16 packets and halves now and then, and the paced one is the smoother.",
    ),
    Assumption(
        "How fast the links are beside that of 10 Mbit/s.",
        "1 Gbit/s.",
        "The pacer's mu_max of 200 Mbit/s is a rate of the link at which it stands at most.",
    ),
    Assumption(
        "How large the packets of the constant rates are.",
        "1500 bytes.",
        "As the TCP's. A packet of another size changes the gaps, not whether the rate is kept.",
    ),
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """TCP; the two constant rates; TCP without a limit to its window. Each without and with the pacer."""
    tcp = Scenario(tomllib.loads(PATH)).over(PACING).seeds(length.seed_count(5, 5))
    table = {"name": "flow", "kind": "cbr", "packet": "1500 B", "start": "0 s .. 100 ms"}
    found = {"tcp": tcp}
    for name, rate in RATES.items():
        found[name] = tcp.set("traffic", [table | {"rate": rate}])
    found["why-unlimited"] = tcp.set("traffic.flow.tcp.max_window", "10000 packets")
    return found


def check(runs: Runs) -> Verdict:
    """TCP: less variation within a round trip, no bursts, shorter silence. Constant rates: kept."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for name in ("tcp", "why-unlimited"):
        before, after = (at(runs, name, method) for method in ("none", "qlbp"))
        counts = name == "tcp"
        words = "TCP" if counts else "TCP without a limit to its window"
        rows = [
            variation.falls(
                f"fall of the coefficient of variation at 10 ms, {words}",
                variation.by_seed(before, SCALE_S),
                variation.by_seed(after, SCALE_S),
            ),
            variation.falls(f"fall of the mean burst, {words}, packets", bursts(before), bursts(after)),
        ]
        if counts:
            rows.append(
                variation.falls(
                    f"fall of the longest silence in a round trip, {words}, s", silence(before), silence(after)
                )
            )
        evidence += rows if counts else [informing(row) for row in rows]
        for method, results in (("unpaced", before), ("paced", after)):
            ours[f"cv at 10 ms, {words}, {method}"] = round(variation.mean(variation.by_seed(results, SCALE_S)).mean, 3)
            ours[f"mean burst, {words}, {method}"] = round(variation.mean(bursts(results)).mean, 3)
    for method in ("none", "qlbp"):
        ours[f"longest silence in a round trip, {method}, ms"] = round(
            1e3 * variation.mean(silence(at(runs, "tcp", method))).mean, 1
        )
    for name, words in RATES.items():
        shift = criteria.difference(at(runs, name, "qlbp"), at(runs, name, "none"), THROUGHPUT, relative=True)
        size = Interval(abs(shift.mean), shift.half, shift.count)
        evidence.append(criteria.below(f"shift of the rate of {words} by the pacer", size, KEPT, "of it"))
        ours[f"rate of {words} behind the pacer, bit/s"] = round(criteria.mean(at(runs, name, "qlbp"), THROUGHPUT).mean)
    theirs = {
        "tcp": "bursts at the beginning of each round trip unpaced, spread over it with the pacer",
        "constant rates": "departures as arrivals, at 200 kbit/s and at 3 Mbit/s",
    }
    quiet = [ours[f"longest silence in a round trip, {method}, ms"] for method in ("none", "qlbp")]
    varied = [ours[f"cv at 10 ms, TCP, {method}"] for method in ("unpaced", "paced")]
    note = (
        "Unpaced, a window leaves as a train at the beginning of each round trip, and the link is silent for "
        f"{quiet[0]:.0f} of 100 ms; paced, for {quiet[1]:.0f} at most. At 10 ms the coefficient of variation is "
        f"{varied[0]:.2f} unpaced and {varied[1]:.2f} paced. A constant rate leaves as it came."
    )
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def at(runs: Runs, name: str, method: str) -> Results:
    """The runs of one sweep with or without the pacer."""
    return runs[name].where({"pacing.method": method})


def bursts(results: Results) -> dict[int, float]:
    """Mean number of packets that leave back to back, by seed."""
    found = {}
    for run in results:
        curve = run.instrument("burst_size")
        size, share = (np.asarray(curve[name].to_pylist(), float) for name in ("x", "y"))
        found[run.seed] = float(np.sum(size * np.diff(share, prepend=0.0)))
    return found


def silence(results: Results) -> dict[int, float]:
    """The longest gap between departures in a round trip, mean over the round trips recorded, seconds, by seed."""
    return {run.seed: silence_s(run) for run in results}


def silence_s(run: Result) -> float:
    """The same of one run."""
    times = departures(run)
    turns = np.floor((times[1:] - times[0]) / RTT_S).astype(int)
    gaps = np.diff(times)
    return float(np.mean([gaps[turns == turn].max() for turn in np.unique(turns)[:-1]]))


def departures(run: Result) -> npt.NDArray[np.float64]:
    """When packets left the router's entry, seconds."""
    series = run.series
    assert series is not None
    times = zip(series["link"], series["kind"], series["time_ns"], strict=True)
    return (
        np.asarray(sorted(time for link, kind, time in times if link == "entry" and kind == "departure"), float) / 1e9
    )


def informing(row: Evidence) -> Evidence:
    """A row that does not count."""
    return Evidence(row.statistic, row.value, row.interval, "another window", None)


def draw(runs: Runs) -> Sequence[Picture]:
    """Packets by time, as the paper's Fig. 9 and 10: a tick a packet, half a second of each."""
    figure, (ax,) = drawing.axes(1, (5.8, 2.4))
    rows = [("tcp", "none", "TCP, unpaced"), ("tcp", "qlbp", "TCP, paced"), ("cbr-3m", "qlbp", "3 Mbit/s, paced")]
    for row, (name, method, _words) in enumerate(rows):
        times = departures(at(runs, name, method)[0])
        shown = 1e3 * (times - times[0])
        ax.vlines(shown[shown < 500], row + 0.1, row + 0.9, color=COLOURS[row], linewidth=0.8)
    ax.set_yticks([row + 0.5 for row in range(len(rows))], [words for *_, words in rows])
    ax.set_ylim(len(rows), 0)
    ax.set_xlim(0, 500)
    ax.grid(visible=False)
    ax.set_xlabel("packets that leave the router's entry: time, ms; a round trip is 100 ms")
    caption = (
        "Five round trips in the steady state. The paper's Fig. 9 has a bunch at the beginning of each without pacing, "
        "its Fig. 10 packets all along it; its Fig. 11 and 12 a constant rate that stays."
    )
    return [drawing.picture(figure, "fig9-12", caption)]


CLAIM = Claim(
    id="qlbp-fig9-12",
    paper="qlbp",
    where="Fig. 9-12, IV-A",
    kind="shape",
    says="Without pacing a TCP flow's packets leave as a bunch at the beginning of each round trip; with it they are "
    "spread over it. Constant rates of 200 kbit/s and 3 Mbit/s, below and above mu_min, are kept.",
    printed={},
    assumptions=ASSUMPTIONS,
    sweeps=sweeps,
    check=check,
    draw=draw,
)
