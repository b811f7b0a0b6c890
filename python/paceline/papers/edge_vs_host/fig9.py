"""Fig. 9, eq. (1) to (4): throughput against the pacer's delay, by the paper's model, and with losses simulated.

Criteria were fixed from the text before the runs that judge them. The loads are its own: 90 % with a small buffer and
99.9 % with a large one (section IV), not such as lie to either side of the formula's own switch. The model must rise
and fall with every ms, be convex where it rises, and what is simulated of its own set-up must do the same in the end.
Its round trip is RTT₀ + d, for pacing "adds roughly d/2 delay to each packet on average in each direction": at both
loads and each d the mean delay that the simulated pacer adds must be half of d, within the 5 % of every number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.results import Results
from paceline.scenario import Scenario
from paceline.theory import edge_delay

LOSS, DELAY = "links.core.loss_ratio", "flows.network_delay_mean_s"
_LOAD, _HELD = "traffic.poisson.rate", "pacing.delay"
#: Light and heavy load, by the text: that of 5 KB and that of 50 KB of buffer.
LIGHT, HEAVY = 0.9, 0.999
#: Loads and delays (ms) that are simulated.
SIMULATED = (0.85, LIGHT, 0.95, 0.99, HEAVY)
_FULL = (0, 1, 2, 5, 10, 15, 20, 30, 40, 60, 80, 100)
_QUICK = (0, 2, 5, 10, 20, 40, 70, 100)
BASE_MS = 200
#: Of d, what pacing adds in each direction in the mean.
ADDED = 0.5
#: The experiment: with few packets within d a pacer has little to hold back. Loads, and delays, ms.
WHY, SPARSE, SPARSE_DELAYS = "why-sparse", (0.005, 0.02, 0.1, 0.5), (10, 100)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Poisson packets of 1 ms each through an edge pacer into a link without a buffer: eq. (3)'s own set-up."""
    duration, warmup = length.choose(("210 s", "10 s"), ("65 s", "5 s"))
    document = {
        "title": "Loss of paced Poisson packets in a link without a buffer",
        "duration": duration,
        "warmup": warmup,
        "network": {
            "template": "path",
            "core": "core",
            "links": [
                {"name": "edge", "rate": "1 Gbit/s", "delay": "0 ms"},
                {"name": "core", "rate": "8 Mbit/s", "delay": "0 ms", "buffer": "0 packets"},
            ],
        },
        "traffic": [{"name": "poisson", "kind": "poisson", "packet": "1000 B", "rate": "4 Mbit/s"}],
        "pacing": {"method": "edge", "at": "edge", "delay": "10 ms"},
    }
    loads = [_rate(load) for load in SIMULATED]
    delays = [f"{delay} ms" for delay in length.choose(_FULL, _QUICK)]
    scenario = Scenario(document)
    few = {_LOAD: [_rate(load) for load in SPARSE], _HELD: [f"{delay} ms" for delay in SPARSE_DELAYS]}
    return {
        "main": scenario.over({_LOAD: loads, _HELD: delays}).seeds(length.seed_count(5, 3)),
        WHY: scenario.over(few).seeds(length.seed_count(5, 3)),
    }


def _rate(load: float) -> str:
    """Of a load, as scenarios write it."""
    return f"{8 * load:g} Mbit/s"


def check(runs: Runs) -> Verdict:
    """Eq. (4) rises or falls over all of 0-100 ms, as its set-up simulated does; eq. (3) bounds the loss simulated."""
    light_steps, heavy_steps = _steps(LIGHT), _steps(HEAVY)
    evidence = [
        criteria.above(f"eq. (4), load {LIGHT:g}: least step a ms", float(light_steps.min()), 0),
        criteria.above(
            f"eq. (4), load {LIGHT:g}: least growth of a step, convex", float(np.diff(light_steps).min()), 0
        ),
        criteria.below(f"eq. (4), load {HEAVY:g}: largest step a ms", float(heavy_steps.max()), 0),
        *_losses(runs),
        criteria.order(f"eq. (1) with simulated loss, load {LIGHT:g}: from d 0 to 100 ms", _gain(runs, LIGHT, 0, 100)),
        criteria.order(
            f"eq. (1) with simulated loss, load {HEAVY:g}: from d 0 to 100 ms", _gain(runs, HEAVY, 0, 100), sign=-1.0
        ),
        *_delayed(runs),
        *_simulated(runs),
    ]
    rising, falling = edge_delay.switch_loads(f"{BASE_MS} ms", "100 ms")
    evidence.append(criteria.inform("load below which eq. (4) rises with every d", rising, "the formula's own switch"))
    evidence.append(
        criteria.inform("load above which eq. (4) falls to d = 100 ms", falling, "the formula's own switch")
    )
    packets, _ = edge_delay.switch_loads(f"{BASE_MS} ms", "100 ms", unit=1040 * 8 / 100e6)
    evidence.append(criteria.inform("load below which it rises, d in packets of 83.2 us", packets, "as eq. (3) counts"))
    least, light, middle, _, heavy = (_gain(runs, load, 0, 100) for load in SIMULATED)
    late = _gain(runs, HEAVY, 10, 100)
    note = (
        f"The closed form rises with d below a load of {rising:.4f} and falls up to 100 ms above {falling:.4f}, with "
        "d and the round trip both counted in ms, as the figure does. Eq. (3) wants d in times that the link spends "
        f"on a packet; at 100 Mbit/s with 1040 B the same curve rises up to a load of {packets:.3f}. Simulated where "
        "both units agree (a packet takes 1 ms, no buffer), losses keep eq. (3)'s bound at every load and d, and are "
        f"far below it. With these losses eq. (1) changes from 0 to 100 ms by {least.mean:+.0%} at load "
        f"{SIMULATED[0]:g}, {light.mean:+.0%} at {LIGHT:g}, {middle.mean:+.0%} at {SIMULATED[2]:g} and "
        f"{heavy.mean:+.0%} at {HEAVY:g}, there by {late.mean:+.0%} from 10 ms on. A few packet times of delay help at "
        f"any load, which the bound, near 1 at heavy load, does not see. {_waits(runs)}"
    )
    ours = {"rises_below_load": round(rising, 4), "falls_above_load": round(falling, 4)}
    ours |= {f"added_over_d, load {load:g}, d {d} ms": round(_added(runs, load, d).mean, 3) for load, d in _paced(runs)}
    theirs = {"light load": "rises with every d, convex", "heavy load": "falls with every d", "added_over_d": ADDED}
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def draw(runs: Runs) -> Sequence[Picture]:
    """The paper's two panels, and what the simulated losses make of them."""
    figure, (light, heavy, real) = drawing.axes(3, size=(12.6, 3.6))
    delays = np.linspace(0, 100, 101)
    for ax, loads, words in ((light, (0.85, 0.88, LIGHT), "light"), (heavy, (0.925, 0.95, HEAVY), "heavy")):
        for slot, load in enumerate(loads, 1):
            curve = edge_delay.throughput_measure(load, delays * 1e-3) * BASE_MS
            drawing.law(ax, list(delays), list(curve), f"load {load:g}", slot)
        ax.set_title(f"eq. (4), {words} load", loc="left", fontsize="medium", color=drawing.INK)
    for slot, load in enumerate(SIMULATED, 1):
        points = [_relative(runs, load, delay) for delay in _delays(runs)]
        drawing.curve(real, _delays(runs), points, f"load {load:g}", slot)
    real.set_title("eq. (1), losses simulated", loc="left", fontsize="medium", color=drawing.INK)
    for ax in (light, heavy, real):
        ax.set_xlabel("delay of the pacer, ms")
        drawing.legend(ax)
    real.set_yscale("log")
    drawing.legend(real, loc="upper left")
    real.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    light.set_ylabel("throughput over that at d = 0")
    heavy.axhline(1, color=drawing.INK, linewidth=0.6, linestyle=":")
    caption = (
        "Throughput by the paper's model against the pacer's delay, RTT₀ 200 ms: it rises at light load and falls at "
        "heavy load. Last, the same with losses of simulated Poisson packets, 1 ms each, in a link without a buffer."
    )
    return [drawing.picture(figure, "fig9", caption)]


def _steps(load: float) -> np.ndarray:
    """Steps of eq. (4) over its value at d = 0, ms by ms from 0 to 100."""
    steps: np.ndarray = np.diff(edge_delay.throughput_measure(load, np.arange(101) * 1e-3, f"{BASE_MS} ms")) * BASE_MS
    return steps


def _losses(runs: Runs) -> list[Evidence]:
    """Eq. (3) is a bound, d in packet times, which are ms here."""
    found = []
    for load in SIMULATED:
        for delay in _delays(runs):
            bound = float(edge_delay.loss_bound(load, delay))
            loss = criteria.mean(_at(runs, load, delay), LOSS)
            found.append(criteria.below(f"loss simulated, load {load:g}, d {delay:g} ms", loss, bound))
    return found


def _delayed(runs: Runs) -> list[Evidence]:
    """The mean delay that the pacer adds is half of its bound; and what it is of sparse packets."""
    found = [
        criteria.within(f"delay added over d, load {load:g}, d {delay} ms", _added(runs, load, delay), ADDED)
        for load, delay in _paced(runs)
    ]
    return found + [
        criteria.inform(
            f"delay added over d, load {load:g}, d {delay} ms", _sparse(runs, load, delay), f"{load * delay:g} within d"
        )
        for load in SPARSE
        for delay in SPARSE_DELAYS
    ]


def _paced(runs: Runs) -> list[tuple[float, int]]:
    """Loads of the text and delays by which packets are held."""
    return [(load, delay) for load in (LIGHT, HEAVY) for delay in _delays(runs) if delay]


def _added(runs: Runs, load: float, delay: int) -> Interval:
    """Mean delay beyond that without pacing, over d, seed by seed."""
    return criteria.difference(_at(runs, load, delay), _at(runs, load, 0), DELAY, 1e-3 * delay)


def _sparse(runs: Runs, load: float, delay: int) -> Interval:
    """The same of the experiment: a packet takes 1 ms over the core, and nothing else delays it."""
    some = runs[WHY].where({_LOAD: _rate(load), _HELD: f"{delay} ms"})
    found = interval((1e3 * held - 1) / delay for held in criteria.by_seed(some, DELAY).values())
    assert found is not None
    return found


def _waits(runs: Runs) -> str:
    """What part of d packets wait, and how it goes with their number."""
    shares = [_added(runs, load, delay).mean for load, delay in _paced(runs)]
    settings = sorted(((load, d) for load in SPARSE for d in SPARSE_DELAYS), key=lambda one: one[0] * one[1])
    sparse = ", ".join(f"{_sparse(runs, load, d).mean:.2f} ({load * d:g})" for load, d in settings)
    return (
        f"At the text's loads a packet is held for {min(shares):.2f} to {max(shares):.2f} of d in the mean, where the "
        f"text has half: the more packets there are within d, the longer. Of sparser ones: {sparse} ({WHY})."
    )


def _simulated(runs: Runs) -> list[Evidence]:
    """What eq. (1) makes of simulated losses at other loads, and from 10 ms on."""
    return [
        criteria.inform(
            f"eq. (1) with simulated loss, load {load:g}: from d {start} to {end} ms",
            _gain(runs, load, start, end),
            words,
        )
        for load, start, end, words in (
            (SIMULATED[0], 0, 100, "rises, by the model"),
            (SIMULATED[2], 0, 100, "falls, by the model"),
            (SIMULATED[3], 0, 100, "falls, by the model"),
            (HEAVY, 10, 100, "falls, by the model"),
        )
    ]


def _gain(runs: Runs, load: float, start: int, end: int) -> Interval:
    """Change of eq. (1) from one delay to another, of 1, seed by seed."""
    before, after = _throughputs(runs, load, start), _throughputs(runs, load, end)
    found = interval(after[seed] / before[seed] - 1 for seed in sorted(before.keys() & after.keys()))
    if found is None:
        raise ValueError(f"load {load}: no seed lost packets at both delays")
    return found


def _relative(runs: Runs, load: float, delay: int) -> Interval:
    """Eq. (1) over that at d = 0."""
    change = _gain(runs, load, 0, delay)
    return Interval(change.mean + 1, change.half, change.count)


def _throughputs(runs: Runs, load: float, delay: int) -> dict[int, float]:
    """Eq. (1) by seed: loss simulated, and the delay that the pacer added, once, as the paper's d in both ways."""
    results = _at(runs, load, delay)
    losses = criteria.by_seed(results, LOSS)
    held = criteria.by_seed(results, DELAY)
    # a link without a buffer adds nothing but its own millisecond to the pacer's delay
    return {seed: 1 / ((BASE_MS + 1e3 * held[seed] - 1) * math.sqrt(loss)) for seed, loss in losses.items() if loss > 0}


def _at(runs: Runs, load: float, delay: int) -> Results:
    return runs["main"].where({_LOAD: _rate(load), _HELD: f"{delay} ms"})


def _delays(runs: Runs) -> list[int]:
    """Delays that were run, ms."""
    return sorted({int(run.settings[_HELD].split()[0]) for run in runs["main"]})


CLAIM = Claim(
    id="edge-fig9-analysis",
    paper="edge-vs-host",
    where="Fig. 9, eq. (1)-(4)",
    kind="shape",
    says="By the model, TCP's throughput rises with the pacer's delay at light load, for lower losses outweigh the "
    "longer round trip, and falls at heavy load. A packet is held for half of d in the mean.",
    printed={"added_over_d": ADDED},
    assumptions=(
        Assumption(
            "Which loads are light and heavy: the figure's are not told.",
            "0.9 and 0.999.",
            "Section IV: the load is about 90 % with a small buffer and over 99.9 % with a large one; the figure's "
            "panels "
            "are named by these buffers.",
        ),
        Assumption(
            "In what d is counted: eq. (3) wants packet times, the figure's axis is in ms.",
            "ms, for d and RTT₀ alike.",
            "Counted in packet times at 100 Mbit/s, the curve of every load up to 0.97 would rise.",
        ),
        Assumption(
            "What is simulated beside the closed form.",
            "Poisson packets of 1 ms each, one edge pacer, a link without a buffer.",
            "Eq. (3) is derived for these; with 1 ms a packet both units are one.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
