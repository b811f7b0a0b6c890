"""Section IV: a thousand TCP flows over a small buffer are taken to be Poisson; large buffers synchronise them.

Criteria were fixed from the text before the runs that judge them: "the aggregated traffic from a large number of TCP
flows sharing a small buffer (up to 50 Kilobytes) is approximately Poisson", so that in a millisecond, a dozen packets,
its coefficient of variation is that of Poisson packets, within the 5 % of all numbers, at five buffers up to 50 KB; and
"large bottleneck buffers cause TCP flows to synchronise, whereas small buffers break this synchrony", so that over a
round trip, in which flows that rise and fall together show, arrivals vary more over a buffer of a whole round trip
than over each of the five.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host.curves import BUFFER
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, dumbbell
from paceline.papers.qlbp import variation
from paceline.results import Results
from paceline.scenario import Scenario
from paceline.theory import variation as theory

SMALL, QUICK = (5, 10, 20, 30, 50), (5, 50)
#: A round trip of the core's rate, KB.
LARGE = 3125
#: Intervals: a dozen packets, and about a round trip.
SHORT_S, LONG_S = 1e-3, 0.256
RATE, PACKET_BITS = 100e6, 8 * 1040
#: What may decide, in words.
WHY: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "why-fast-access": ("access links of 100 Mbit/s", {"network.access.rate": "100 Mbit/s"}),
    "why-fast-edges": ("edge links of 10 Gbit/s", {"network.edge.rate": "10 Gbit/s"}),
    "why-100-flows": ("100 flows", {"network.access.per_edge": 10}),
}


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Unpaced flows over small buffers and a large one; the small ones under other choices."""
    scenario = dumbbell().set("title", "Arrivals of a thousand flows at the core")
    duration, warmup = length.choose(("200 s", "100 s"), ("40 s", "20 s"))
    scenario = scenario.set("duration", duration).set("warmup", warmup)
    scenario = scenario.set("probes", {"rate_variation": {"at": "arrival", "finest": "1 ms", "coarsest": "256 ms"}})
    small = [f"{size} KB" for size in length.choose(SMALL, QUICK)]
    found = {"main": scenario.over({BUFFER: [*small, f"{LARGE} KB"]}).seeds(length.seed_count(5, 3))}
    if not length.quick:
        for name, (_, changes) in WHY.items():
            other = scenario
            for path, value in changes.items():
                other = other.set(path, value)
            found[name] = other.over({BUFFER: small}).seeds(length.seed_count(3))
    return found


def check(runs: Runs) -> Verdict:
    """As variable as Poisson packets in a millisecond; more so over a large buffer in a round trip."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    large = at(runs["main"], LARGE)
    for size in sizes(runs["main"]):
        found = over_poisson(runs["main"], size, SHORT_S)
        ours[f"variation in 1 ms over Poisson's, {size} KB"] = round(found.mean, 3)
        evidence.append(criteria.within(f"coefficient of variation in 1 ms over Poisson's, {size} KB", found, 1.0))
    for size in sizes(runs["main"]):
        before, after = (variation.by_seed(one, LONG_S) for one in (large, at(runs["main"], size)))
        what = f"coefficient of variation in 256 ms: {LARGE} KB − {size} KB"
        evidence.append(variation.falls(what, before, after))
    for size in (*sizes(runs["main"]), LARGE):
        found = over_poisson(runs["main"], size, LONG_S)
        ours[f"variation in 256 ms over Poisson's, {size} KB"] = round(found.mean, 3)
        words = "coefficient of variation in 256 ms over Poisson's"
        evidence.append(criteria.inform(f"{words}, {size} KB", found, "in a round trip"))
    for name, (words, _) in WHY.items():
        for size in sizes(runs[name]) if name in runs else ():
            found = over_poisson(runs[name], size, SHORT_S)
            evidence.append(
                criteria.inform(f"coefficient of variation in 1 ms over Poisson's, {size} KB", found, words)
            )
    theirs = {"up to 50 KB": "approximately Poisson", "large buffers": "flows synchronise"}
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs), evidence)


def sizes(results: Results) -> list[int]:
    """Small buffers that were run, KB."""
    found = {int(run.settings[BUFFER].split()[0]) for run in results}
    return sorted(found - {LARGE})


def at(results: Results, size: int) -> Results:
    """The runs of one buffer, KB."""
    return results.where({BUFFER: f"{size} KB"})


def over_poisson(results: Results, size: int, scale_s: float) -> Interval:
    """The coefficient of variation of arrivals over that of as many Poisson packets."""
    some = at(results, size)
    used, lost = (criteria.mean(some, f"links.core.{name}").mean for name in ("utilisation", "loss_ratio"))
    told = float(theory.poisson(used / (1 - lost) * RATE / PACKET_BITS, scale_s))
    return variation.mean({seed: value / told for seed, value in variation.by_seed(some, scale_s).items()})


def note(runs: Runs) -> str:
    """How near to Poisson packets, in short and in long, and what moves it."""

    def each(name: str, scale_s: float, *more: int) -> str:
        buffers = (*sizes(runs[name]), *more)
        return ", ".join(f"{over_poisson(runs[name], size, scale_s).mean:.2f} ({size} KB)" for size in buffers)

    short = [over_poisson(runs["main"], size, SHORT_S).mean for size in sizes(runs["main"])]
    synchronised = over_poisson(runs["main"], LARGE, LONG_S).mean
    text = (
        f"In 1 ms arrivals over small buffers vary by {min(short):.2f} to {max(short):.2f} of what as many Poisson "
        f"packets do, and in a round trip over {LARGE} KB by {synchronised:.2f}. "
        f"Over the coefficient of variation of as many Poisson packets arrivals have {each('main', SHORT_S)} in 1 ms, "
        f"and in 256 ms, about a round trip, {each('main', LONG_S, LARGE)}."
    )
    between = {
        scale: max(over_poisson(runs["main"], size, scale).mean for size in sizes(runs["main"]))
        for scale in variation.scales(runs["main"])
    }
    worst = max(between, key=lambda scale: between[scale])
    text += f" Over the small buffers it is up to {between[worst]:.2f}, in {1e3 * worst:g} ms."
    told = [f"with {words} {each(name, SHORT_S)}" for name, (words, _) in WHY.items() if name in runs]
    return f"{text} In 1 ms it is, {'; '.join(told)}." if told else text


def draw(runs: Runs) -> Sequence[Picture]:
    """The coefficient of variation over Poisson's, by the length of intervals, a curve a buffer."""
    figure, (ax,) = drawing.axes(1, (5.8, 3.8))
    scales = [scale for scale in variation.scales(runs["main"]) if SHORT_S * 0.999 <= scale <= LONG_S * 1.001]
    for slot, size in enumerate((*sizes(runs["main"]), LARGE)):
        words = f"{size} KB" if size != LARGE else "3.1 MB"
        found = [over_poisson(runs["main"], size, scale) for scale in scales]
        drawing.curve(ax, [1e3 * scale for scale in scales], found, words, slot)
    ax.axhline(1, color=drawing.INK, linewidth=0.8, linestyle=":")
    drawing.logarithmic(ax, "x", (1, 4, 16, 64, 256))
    drawing.from_zero(ax)
    ax.set_xlabel("length of intervals, ms")
    ax.set_ylabel("variation of arrivals over Poisson's")
    drawing.legend(ax)
    caption = (
        "How much arrivals of a thousand unpaced flows at the core vary, beside as many Poisson packets, dotted; by "
        "buffer: means over seeds with 95 % intervals."
    )
    return [drawing.picture(figure, "poisson", caption)]


CLAIM = Claim(
    id="edge-poisson",
    paper="edge-vs-host",
    where="IV, aggregate of many flows",
    kind="number",
    says="A thousand TCP flows over a buffer of up to 50 KB are Poisson, about; large buffers synchronise them, and "
    "small ones break this synchrony.",
    printed={"most_kb": SMALL[-1]},
    assumptions=(
        *ASSUMPTIONS[:2],
        Assumption(
            "How one sees that an aggregate is Poisson, or that flows are in step.",
            "By the coefficient of variation of what arrives at the core: in 1 ms, a dozen packets, beside as many "
            "Poisson packets; and in 256 ms, about a round trip, over a buffer of a whole round trip beside the small "
            "ones.",
            "The section refers to traces of a buffer in an earlier paper, on short time scales; flows in step rise "
            "and fall over round trips.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
