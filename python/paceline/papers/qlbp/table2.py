"""Table II, section IV-B: queue and delay of the pacer at eight constant rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp import steady
from paceline.scenario import Scenario
from paceline.theory import qlbp

SETTING = steady.Setting("15 Mbit/s", "1000 B", "2 Mbit/s", "10 Mbit/s", "10 packets", links=2, q_lim="1000 packets")
PRINTED: Mapping[str, list[float]] = {
    "rate_mbps": [1, 2, 4, 6, 8, 10, 12, 15],
    "queue_pkts": [0, 0, 2, 4, 7, 9, 10, 10],
    "delay_ms": [0, 0, 4, 5.33, 7, 7.2, 6.67, 5.3],
}
#: The table's delays end here: a printed 0 is less than half of it.
_LAST_DIGIT_MS = 0.01


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Each row with the pacer and without it."""
    rates = [f"{rate} Mbit/s" for rate in PRINTED["rate_mbps"]]
    duration, warmup = length.choose(("20 s", "10 s"), ("4 s", "2 s"))
    scenario = steady.scenario(SETTING, rates, duration=duration, warmup=warmup)
    return {"main": scenario.seeds(length.seed_count())}


def check(runs: Runs) -> Verdict:
    """Each queue within a packet, each delay within 5 %."""
    results = runs["main"]
    evidence: list[Evidence] = []
    queues, delays = [], []
    rows = zip(steady.rates(results), PRINTED["queue_pkts"], PRINTED["delay_ms"], strict=True)
    for rate, packets, delay in rows:
        waiting, held = steady.queue(results, rate, 1000), steady.mean_delay(results, rate)
        evidence.append(criteria.packets(f"queue at {rate}, packets", waiting, packets))
        evidence.append(_delay(f"pacing delay at {rate}, ms", held, delay))
        queues.append(round(waiting.mean, 3))
        delays.append(round(held.mean, 4))
    rule = [float(qlbp.steady_packets(rate, SETTING.mu_min, SETTING.mu_max, 10)) for rate in steady.rates(results)]
    off = max(abs(ours - theory) for ours, theory in zip(queues, rule, strict=True))
    evidence.append(
        criteria.inform("queue: largest distance from the closed form, packets", off, "both in the theorem's fluid")
    )
    ours = {"rate_mbps": PRINTED["rate_mbps"], "queue_pkts": queues, "delay_ms": delays}
    note = (
        "The queue is the largest whole number below (rate − mu_min) / (mu_max − mu_min) · Q_max, and Q_max above "
        f"mu_max; the delay is that queue over the rate. The simulated queues lie within {off:.2g} packets of this "
        "rule, the largest distance where a rate is on the edge between two queues (6 and 15 Mbit/s)."
    )
    return Verdict(criteria.judge(evidence), ours, PRINTED, note, evidence)


def draw(runs: Runs) -> Sequence[Picture]:
    """Both columns against the rate, with the fluid's curve."""
    results = runs["main"]
    rates = steady.rates(results)
    x = [steady.megabits(rate) for rate in rates]
    figure, (left, right) = drawing.axes(2)
    fine = [0.5 + 0.05 * k for k in range(291)]
    fluid = [float(qlbp.steady_delay(r * 1e6, SETTING.mu_min, SETTING.mu_max, 10_000, SETTING.link)) for r in fine]
    held = [float(qlbp.steady_queue(r * 1e6, SETTING.mu_min, SETTING.mu_max, 10_000)) / 1000 for r in fine]
    drawing.law(left, fine, held, "fluid", 3)
    drawing.curve(left, x, [steady.queue(results, rate, 1000) for rate in rates], "simulated", 2, linestyle="none")
    drawing.law(right, fine, [1e3 * one for one in fluid], "fluid", 3)
    drawing.curve(right, x, [steady.mean_delay(results, rate) for rate in rates], "simulated", 2, linestyle="none")
    for ax, values in ((left, PRINTED["queue_pkts"]), (right, PRINTED["delay_ms"])):
        drawing.printed(ax, x[0], values[0], "paper", offset=(-4, 8))
        for rate, value in zip(x[1:], values[1:], strict=True):
            drawing.printed(ax, rate, value, "")
        ax.set_xlabel("source, Mbit/s")
    right.axhline(8, color=drawing.PRINTED, linewidth=0.8, linestyle=":")
    right.annotate(
        "Q_max / mu_max", (0.5, 8), (0, 3), textcoords="offset points", fontsize="small", color=drawing.PRINTED
    )
    left.set_ylabel("pacing queue, packets")
    right.set_ylabel("pacing delay, ms")
    left.set_ylim(-0.4, 11)  # crosses at 0 are not cut
    right.set_ylim(-0.4, 9)
    drawing.legend(left, loc="lower right")
    caption = (
        "Queue and delay of a constant source in QLBP (mu_min 2, mu_max 10 Mbit/s, Q_max 10 packets of 1000 B): "
        "simulated points, the paper's rows as crosses, and a fluid's curve, which packets stay one below."
    )
    return [drawing.picture(figure, "table2", caption)]


def _delay(statistic: str, ours: Interval, printed: float) -> Evidence:
    if printed:
        return criteria.within(statistic, ours, printed, "ms")
    return criteria.below(statistic, ours, _LAST_DIGIT_MS / 2, "ms, printed as 0")


CLAIM = Claim(
    id="qlbp-table2",
    paper="qlbp",
    where="Table II, IV-B",
    kind="number",
    says="A source that is slower than mu_min is not held. Above, its packets wait in a queue that grows with its "
    "rate up to Q_max, for the queue over the rate: longest, 7.2 ms, at mu_max, and less beyond it.",
    printed=PRINTED,
    assumptions=steady.ASSUMPTIONS,
    sweeps=sweeps,
    check=check,
    draw=draw,
)
