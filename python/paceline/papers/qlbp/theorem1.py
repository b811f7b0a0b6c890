"""Theorem 1, section III-A: the pacing delay of a steady source is never above Q_max / mu_max.

"No matter how big" the rate is: case 4 of the proof, a source beyond the link's own rate that overflows the queue, has
no pacing delay at all. Its criterion was fixed from the appendix before the runs that judge it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp import steady
from paceline.scenario import Scenario
from paceline.theory import qlbp


class Case(NamedTuple):
    """A set-up that the paper prints a bound for."""

    setting: steady.Setting
    q_max_bytes: float
    printed_ms: float
    words: str


CASES = {
    "oc12-300": Case(
        steady.Setting("600 Mbit/s", "1500 B", "60 Mbit/s", "300 Mbit/s", "150 KB", delay="1 ms"),
        150e3,
        4,
        "150 KB, 300 Mbit/s",
    ),
    "oc12-600": Case(
        steady.Setting("600 Mbit/s", "1500 B", "60 Mbit/s", "600 Mbit/s", "150 KB", delay="1 ms"),
        150e3,
        2,
        "150 KB, 600 Mbit/s",
    ),
    "table2": Case(
        steady.Setting("15 Mbit/s", "1000 B", "2 Mbit/s", "10 Mbit/s", "10 packets", links=2, q_lim="1000 packets"),
        10e3,
        8,
        "10 packets, 10 Mbit/s",
    ),
}
#: Rates of the source over mu_max: below mu_min, between, at its brink on both sides, beyond; up to the link's.
_FULL = (0.05, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0, 1.001, 1.1, 1.25, 1.5, 1.75, 2.0)
_QUICK = (0.05, 0.25, 0.5, 0.75, 0.9, 1.0, 1.001, 1.25, 1.5, 2.0)
#: Case 4: rates beyond the link's, over C, into this set-up with a queue of Q_lim, with the pacer and without.
BEYOND, SATURATED = (1.1, 1.25, 1.5, 2.0), "beyond-c"
Q_LIM = "300 KB"
#: The unsteady source of the experiment: over mu_max, of Table II's pacer.
_UNSTEADY = (0.1, 0.3, 0.6, 0.9)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Each case over its rates; and Poisson arrivals, which are not steady."""
    seeds = length.seed_count()
    found = {}
    for name, case in CASES.items():
        fastest, link = steady.megabits(case.setting.mu_max), steady.megabits(case.setting.link)
        rates = [f"{share * fastest:.6g} Mbit/s" for share in length.choose(_FULL, _QUICK) if share * fastest <= link]
        slow = name == "table2"
        duration, warmup = ("20 s", "10 s") if slow else length.choose(("2 s", "1 s"), ("0.6 s", "0.4 s"))
        found[name] = steady.scenario(case.setting, rates, duration=duration, warmup=warmup).seeds(seeds)
    duration, warmup = length.choose(("2 s", "1 s"), ("0.6 s", "0.4 s"))
    found[SATURATED] = saturated(duration, warmup).seeds(seeds)
    rates = [f"{share * 10:.6g} Mbit/s" for share in _UNSTEADY]
    poisson = steady.scenario(CASES["table2"].setting, rates, duration="60 s", warmup="10 s")
    document = poisson.to_dict()
    document["traffic"][0]["kind"] = "poisson"
    found["why-steady"] = Scenario(document).seeds(seeds)
    return found


def saturated(duration: str, warmup: str) -> Scenario:
    """Sources faster than the link: both queues hold Q_lim."""
    setting = dataclasses.replace(CASES["oc12-300"].setting, q_lim=Q_LIM)
    rates = [f"{share * steady.megabits(setting.link):.6g} Mbit/s" for share in BEYOND]
    document = steady.scenario(setting, rates, duration=duration, warmup=warmup).to_dict()
    document["network"]["links"][-1]["buffer"] = Q_LIM
    return Scenario(document)


def check(runs: Runs) -> Verdict:
    """The bound holds at every rate, is nearly met at mu_max, and is what the paper prints."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for name, case in CASES.items():
        results = runs[name]
        bound = 1e3 * float(qlbp.delay_bound(case.q_max_bytes, case.setting.mu_max))
        evidence.append(criteria.within(f"Q_max / mu_max, {case.words}, ms", bound, case.printed_ms, "ms"))
        delays = {rate: steady.largest_delay(results, rate) for rate in steady.rates(results)}
        worst = max(delays, key=lambda rate: delays[rate].mean)
        evidence += [
            criteria.below(f"longest pacing delay at {rate}, {case.words}, ms", delay, bound, "ms")
            for rate, delay in delays.items()
        ]
        evidence.append(
            criteria.within(f"largest of all, {case.words}, at {worst}, ms", delays[worst], case.printed_ms, "ms")
        )
        ours[case.words] = round(delays[worst].mean, 4)
    setting = CASES["oc12-300"].setting
    packet_ms = 1500 * 8 / steady.megabits(setting.link) / 1e3
    bound = CASES["oc12-300"].printed_ms
    beyond = {rate: steady.mean_delay(runs[SATURATED], rate) for rate in steady.rates(runs[SATURATED])}
    for rate, delay in beyond.items():
        evidence += [
            criteria.below(f"pacing delay at {rate}, beyond C, ms", delay, bound, "ms"),
            criteria.below(f"pacing delay at {rate}, beyond C, ms: none to a packet", abs(delay.mean), packet_ms, "ms"),
        ]
    drained = 1e3 * float(qlbp.drain_time("1000 B", 10, "2 Mbit/s", "10 Mbit/s", 10, "15 Mbit/s"))
    exceeded = []
    unsteady = runs["why-steady"]
    for rate in steady.rates(unsteady):
        longest = steady.largest_delay(unsteady, rate)
        exceeded.append(longest.mean)
        evidence.append(
            criteria.inform(
                f"longest pacing delay of Poisson arrivals at {rate}, ms", longest, "8 ms bind no such source"
            )
        )
    near = max(abs(ours[case.words] / case.printed_ms - 1) for case in CASES.values())
    words = ", ".join(f"{value:.3g} ms" for value in ours.values())
    note = (
        f"The longest delays, {words}, lie within {near:.1%} of the three bounds. A bound "
        "is met just above mu_max, where Q_max packets wait behind the slowest source that fills the queue. Sources "
        "beyond the link's rate, which fill any queue, are delayed by "
        f"{1e3 * max(abs(delay.mean) for delay in beyond.values()):.3g} µs more than by a plain queue. It is a "
        "bound for steady sources alone, as the theorem says: packets of a Poisson source wait up to "
        f"{max(exceeded):.3g} ms in Table II's pacer. What a source leaves there as it falls silent drains ever "
        f"slower, ten packets in {drained:.3g} ms."
    )
    theirs = {case.words: case.printed_ms for case in CASES.values()}
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def draw(runs: Runs) -> Sequence[Picture]:
    """Delays against the rate over mu_max, in units of the bound's own ms."""
    figure, (ax,) = drawing.axes(1, size=(5.6, 3.6))
    for slot, (name, case) in enumerate(CASES.items(), start=1):
        fastest = steady.megabits(case.setting.mu_max)
        rates = steady.rates(runs[name])
        x = [steady.megabits(rate) / fastest for rate in rates]
        drawing.curve(ax, x, [steady.largest_delay(runs[name], rate) for rate in rates], case.words, slot)
        ax.axhline(case.printed_ms, color=drawing.PRINTED, linewidth=0.9, linestyle=":")
        words = f"{case.printed_ms:g} ms"
        ax.annotate(
            words,
            (0, case.printed_ms),
            (0, 3),
            textcoords="offset points",
            fontsize="small",
            color=drawing.PRINTED,
        )
    ax.set_xlabel("rate of the source over mu_max")
    ax.set_ylabel("longest pacing delay, ms")
    ax.set_ylim(0, 11)
    drawing.legend(ax, loc="upper right")
    caption = (
        "The longest that QLBP holds a packet of a constant source, beyond what a plain queue would, for the paper's "
        "three set-ups; dotted, Q_max / mu_max as printed."
    )
    return [drawing.picture(figure, "theorem1", caption)]


CLAIM = Claim(
    id="qlbp-theorem1",
    paper="qlbp",
    where="Theorem 1",
    kind="number",
    says="Pacing delays a steady source by Q_max / mu_max at most: by 4 ms for 150 KB and 300 Mbit/s, 2 ms for 600 "
    "Mbit/s, 8 ms for Table II's ten packets and 10 Mbit/s; and one faster than the link not at all.",
    printed={case.words: case.printed_ms for case in CASES.values()},
    assumptions=(
        *steady.ASSUMPTIONS,
        Assumption(
            "mu_min of the two set-ups on a 600 Mbit/s link.",
            "60 Mbit/s, a tenth of the link.",
            "The bound is met at mu_max, where mu_min plays no part (theory.qlbp.steady_delay).",
        ),
        Assumption(
            "How much the queue holds of a source faster than the link.",
            "300 KB, twice Q_max, with the pacer and without.",
            "Case 4 of the proof compares Q_lim / C with Q_lim / C, whatever Q_lim is.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
