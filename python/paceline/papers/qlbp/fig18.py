"""Fig. 18, section IV-D: utilisation of the core against its buffer, by Q_max, beside host pacing.

Beside the figure the section prints a number of a formula: one session has 2.5 Mbit/s at most, a window of 32 packets
of 1000 bytes each 100 ms. Its criterion is the 5 % of every number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp.dumbbell import ASSUMPTIONS, SHORTER, UTILISATION, at, method, over_buffers, sizes
from paceline.scenario import Scenario

#: Buffers of each method, packets.
MAIN: Mapping[str, tuple[int, ...]] = {
    "none": (5, 20, 40, 100),
    "host": (5, 10, 20, 30, 40, 50, 60, 80, 100),
    "qlbp-10": (5, 20, 40, 100),
    "qlbp-40": (5, 20, 100),
    "qlbp-80": (5, 20, 40, 50, 60, 80, 100),
    "qlbp-160": (5, 10, 20, 50, 100),
}
#: The same with shorter links to the receivers, to explain.
WHY: Mapping[str, tuple[int, ...]] = {
    "none": (5, 20),
    "host": (5, 10, 20, 40, 50, 60, 80, 100),
    "qlbp-10": (5,),
    "qlbp-40": (20,),
    "qlbp-80": (40, 50, 60, 80, 100),
    "qlbp-160": (5, 10, 20, 50, 100),
}
WORDS = {
    "none": "unpaced",
    "host": "host pacing",
    "qlbp-10": "Q_max 10",
    "qlbp-40": "Q_max 40",
    "qlbp-80": "Q_max 80",
    "qlbp-160": "Q_max 160",
}
WHY_PREFIX = "why-receivers-"
#: "Improve utilisation by nearly 100 %": at least this ratio.
NEARLY_DOUBLE = 1.8
#: Where Q_max 80 is to lead: beyond this buffer, packets.
BEYOND = 30
#: The most that one session has, Mbit/s, of a window of so many bits in a round trip, s.
MOST_MBPS, WINDOW_BITS, ROUND_TRIP_S = 2.5, 32 * 1000 * 8, 0.1


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep over buffers for each method; and again with shorter links to the receivers."""
    found = {name: over_buffers(method(name), buffers, length) for name, buffers in MAIN.items()}
    for name, buffers in WHY.items():
        found[WHY_PREFIX + name] = over_buffers(method(name, SHORTER), buffers, length, full=3)
    return found


def check(runs: Runs) -> Verdict:
    """Three orders: Q_max 10 nearly doubles at 5 packets, 80 leads host pacing beyond 30, 160 everywhere."""
    evidence = [*doubling(runs, ""), *leads(runs, "", "qlbp-80", BEYOND), *leads(runs, "", "qlbp-160", 0)]
    most = WINDOW_BITS / ROUND_TRIP_S / 1e6
    evidence.append(criteria.within("a window each round trip, Mbit/s", most, MOST_MBPS, "Mbit/s"))
    outcome = criteria.judge(evidence)
    other = [*leads(runs, WHY_PREFIX, "qlbp-80", BEYOND), *leads(runs, WHY_PREFIX, "qlbp-160", 0)]
    ours = {
        f"{WORDS[name]}, {size} packets": round(criteria.mean(at(runs[name], size), UTILISATION).mean, 4)
        for name in MAIN
        for size in sizes(runs[name])
    }
    ours["a window each round trip, Mbit/s"] = most
    theirs = {
        "a window each round trip, Mbit/s": MOST_MBPS,
        "Q_max 10, 5 packets": "nearly twice the unpaced",
        "Q_max 80": "above host pacing beyond 30 packets",
        "Q_max 160": "above host pacing everywhere",
    }
    informing = [Evidence(row.statistic, row.value, row.interval, "an experiment", None) for row in other]
    informing += [
        Evidence(row.statistic, row.value, row.interval, "an experiment", None) for row in doubling(runs, WHY_PREFIX)
    ]
    words = "All three orders hold." if outcome == "reproduced" else note(runs, evidence, other)
    return Verdict(outcome, ours, theirs, words, evidence + informing)


def doubling(runs: Runs, prefix: str) -> list[Evidence]:
    """Q_max 10 against no pacing at 5 packets."""
    paced, unpaced = at(runs[f"{prefix}qlbp-10"], 5), at(runs[f"{prefix}none"], 5)
    gain = criteria.difference(paced, unpaced, UTILISATION, relative=True)
    ratio = Interval(1 + gain.mean, gain.half, gain.count)
    words = ", receivers nearer" if prefix else ""
    return [criteria.above(f"utilisation at 5 packets, Q_max 10 over unpaced{words}", ratio, NEARLY_DOUBLE)]


def leads(runs: Runs, prefix: str, name: str, beyond: int) -> list[Evidence]:
    """The order of a Q_max and host pacing at each buffer above `beyond` that both have."""
    words = ", receivers nearer" if prefix else ""
    mine, host = runs[prefix + name], runs[f"{prefix}host"]
    return [
        criteria.ahead(
            f"utilisation at {size} packets, {WORDS[name]} − host pacing{words}",
            at(mine, size),
            at(host, size),
            UTILISATION,
        )
        for size in sizes(mine)
        if size > beyond and size in sizes(host)
    ]


def note(runs: Runs, evidence: Sequence[Evidence], other: Sequence[Evidence]) -> str:
    """What decides, from the runs."""

    def won(rows: Sequence[Evidence], name: str) -> str:
        found = [row for row in rows if f", {WORDS[name]} −" in row.statistic]
        return f"{sum(bool(row.ok) for row in found)} of {len(found)}"

    flat = criteria.mean(at(runs["qlbp-160"], 100), UTILISATION).mean
    host = criteria.mean(at(runs["host"], 100), UTILISATION).mean
    nearer = criteria.mean(at(runs[WHY_PREFIX + "qlbp-160"], 100), UTILISATION).mean
    near_host = criteria.mean(at(runs[WHY_PREFIX + "host"], 50), UTILISATION).mean
    return (
        f"With the delays as stated Q_max 80 leads host pacing at {won(evidence, 'qlbp-80')} buffers beyond 30 packets "
        f"and Q_max 160 at {won(evidence, 'qlbp-160')}. What decides is the round trip beside the windows: 40 windows "
        "of 32 packets fill 106 ms of the link, and the stated delays are 102. So the pacer's 13 ms with Q_max 160 "
        f"leave the link idle: without a loss, at every buffer, utilisation is windows over round trip, {flat:.1%}. "
        f"Host pacing adds no delay and reaches {host:.1%}. Table III belongs to a round trip 7 ms shorter (see "
        "qlbp-table3). With links to the receivers of 1 to 3 instead of 1 to 10 ms the windows overfill the link: host "
        f"pacing pays in losses and has {near_host:.1%} at 50 packets, while Q_max 160 takes up just the excess and "
        f"has {nearer:.1%} at 100. Then it leads at {won(other, 'qlbp-160')} buffers, and Q_max 80 at "
        f"{won(other, 'qlbp-80')} beyond 30."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """As in the paper, and beside it with the receivers nearer."""
    figure, axes = drawing.axes(2, (10.4, 4.0))
    for ax, prefix, title in zip(axes, ("", WHY_PREFIX), ("delays as stated", "receivers at 1 to 3 ms"), strict=True):
        for slot, (name, words) in enumerate(WORDS.items()):
            results = runs[prefix + name]
            values = [criteria.mean(at(results, size), UTILISATION, 0.01) for size in sizes(results)]
            drawing.curve(ax, sizes(results), values, words, slot)
        ax.set_title(title, fontsize="medium", loc="left", color=drawing.INK)
        ax.set_ylim(0, 103)
        ax.set_xlabel("buffer of the core link, packets")
        ax.set_ylabel("utilisation of the core, %")
        unpaced = criteria.mean(at(runs[f"{prefix}none"], 5), UTILISATION, 0.01).mean
        drawing.printed(ax, 5, 2 * unpaced, "twice the unpaced")
    drawing.legend(axes[0], loc="lower right")
    caption = (
        "40 TCP flows over 100 Mbit/s: means over seeds with 95 % intervals. The paper says: at 5 packets Q_max 10 "
        "nearly doubles the unpaced utilisation (cross: twice it); Q_max 80 is above host pacing beyond 30 packets, "
        "Q_max 160 everywhere."
    )
    return [drawing.picture(figure, "fig18", caption)]


CLAIM = Claim(
    id="qlbp-fig18",
    paper="qlbp",
    where="Fig. 18, IV-D",
    kind="order",
    says="With 5 packets of buffer a Q_max of 10 nearly doubles utilisation. A Q_max of 80 beats host pacing beyond 30 "
    "packets of buffer, one of 160 everywhere.",
    printed={"window_mbps": MOST_MBPS},
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            "How much 'nearly 100 %' more is.",
            "80 % at least, interval included.",
            "No number is printed; the order itself is much clearer than its interval.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
