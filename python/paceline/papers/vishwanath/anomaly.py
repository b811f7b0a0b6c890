"""The abstract: in a range of buffer size, losses of real-time traffic increase as the buffer becomes larger.

The criterion was fixed from the abstract's words before the runs that judge it: among buffers of at most 50 packets
("few tens of packets") there is one with more loss than a smaller one. Which two is chosen by half of the seeds and
judged by the other half, so that no pair is picked by what it is to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.small_buffers.network import BUFFER, dumbbell, label
from paceline.results import Result, Results
from paceline.scenario import Scenario

FULL, QUICK = (2, 3, 5, 8, 12, 16, 20, 25, 30, 40, 50), (2, 5, 8, 12, 20, 30, 50)
NAME = "real-time"
#: Five per cent of the core, in the mean.
RATE, PACKET = "10 Mbit/s", "200 B"
#: What is varied: words, kind of access, packet, rate.
WHY: Mapping[str, tuple[str, str, str, str]] = {
    "why-fast-access": ("access of 1 Gbit/s", "fast", PACKET, RATE),
    "why-large-packets": ("real-time packets of 1000 B", "slow", "1000 B", RATE),
    "why-more": ("four times as much real-time traffic", "slow", PACKET, "40 Mbit/s"),
}

NETWORK = Assumption(
    "The network: the abstract names none.",
    "1000 Reno flows behind access links of 10 Mbit/s over a core of 200 Mbit/s, round trips of 102 to 150 ms, buffers "
    "in packets.",
    "Two of the authors print it for their study of very small buffers (2007); fast access: why-fast-access.",
)
TRAFFIC = Assumption(
    "The real-time traffic.",
    "Poisson packets of 200 B, 10 Mbit/s, a twentieth of the core.",
    "The abstract speaks of synthetic traffic and of video; a small fraction, says that of the conference paper "
    "(2008). "
    "Larger packets and a larger share: why-large-packets, why-more.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Buffers with both kinds of traffic; other packets, shares and access links beside."""
    sizes = length.choose(FULL, QUICK)
    found = {"main": over(length, "slow", PACKET, RATE, sizes, length.seed_count(10, 4))}
    if not length.quick:
        for name, (_, access, packet, rate) in WHY.items():
            found[name] = over(length, access, packet, rate, sizes[1::2], length.seed_count(4))
    return found


def over(length: Length, access: str, packet: str, rate: str, sizes: Sequence[int], seeds: int) -> Scenario:
    """Real-time traffic of one host beside all TCP flows."""
    document = dumbbell(access).to_dict()
    document["title"] = "Real-time traffic beside TCP in very small buffers"
    document["duration"], document["warmup"] = length.choose(("60 s", "20 s"), ("25 s", "12 s"))
    hosts = document["network"]["access"] | {"name": "tcp"}
    document["network"]["access"] = [hosts, hosts | {"name": NAME, "hosts": 1, "rate": "1 Gbit/s"}]
    (bulk,) = document["traffic"]
    real_time = {"name": NAME, "kind": "poisson", "packet": packet, "rate": rate, "from": NAME}
    document["traffic"] = [bulk | {"from": "tcp"}, real_time]
    return Scenario(document).over({BUFFER: [label(size) for size in sizes]}).seeds(seeds)


def check(runs: Runs) -> Verdict:
    """A larger buffer with more loss, chosen by some seeds and judged by the others."""
    losses = loss_by_seed(runs["main"])
    found = anomaly(losses)
    evidence: list[Evidence] = []
    if found is None:
        words = "loss of real-time traffic falls with every buffer up to 50 packets"
        evidence.append(Evidence(words, None, None, "some larger buffer loses more", False))
        ours: dict[str, float | None] = {"from_packets": None, "to_packets": None}
        note = "Loss of real-time traffic falls with each step of the buffer: there is no anomaly in this set-up."
    else:
        low, high, rise = found
        words = f"loss of real-time traffic, %: {high} packets − {low} packets"
        evidence.append(criteria.order(words, rise))
        ours = {"from_packets": low, "to_packets": high, "rise_percent": round(rise.mean, 4)}
        means = {size: float(np.mean(list(by.values()))) for size, by in losses.items()}
        note = (
            f"From {low} to {high} packets of buffer the loss of real-time traffic rises by {rise.mean:.3f} percentage "
            f"points ({means[low]:.2f} and {means[high]:.2f} % of its packets), "
            + ("outside the interval." if evidence[0].ok else "which may be none: the interval holds 0.")
        )
    told = {}
    for name, results in runs.items():
        words = WHY[name][0] if name in WHY else "as assumed"
        some = loss_by_seed(results)
        for size, by in some.items():
            value = interval(by.values())
            assert value is not None
            evidence.append(criteria.inform(f"loss of real-time traffic at {size} packets, %", value, words))
        for size in some:
            used = criteria.mean(results.where({BUFFER: label(size)}), "links.core.utilisation")
            evidence.append(criteria.inform(f"utilisation at {size} packets", used, words))
        if name in WHY:
            told[words] = worst(some)
    if told:
        note += " The largest rise from a smaller buffer to a larger one, by the means: " + "; ".join(
            f"{words} {rise}" for words, rise in told.items()
        )
        note += "."
    return Verdict(criteria.judge(evidence), ours, {"loss": "rises with the buffer in a range"}, note, evidence)


def loss_by_seed(results: Results) -> dict[int, dict[int, float]]:
    """Loss of real-time packets by buffer and seed, %."""
    found: dict[int, dict[int, float]] = {}
    for run in results:
        found.setdefault(int(run.settings[BUFFER].split()[0]), {})[run.seed] = loss(run)
    return dict(sorted(found.items()))


def loss(run: Result) -> float:
    """Of the real-time packets sent those that did not arrive, %."""
    flows = run.per_flow
    assert flows is not None
    place = [str(name).startswith(NAME) for name in flows["name"]]
    sent, received = (float(np.asarray(flows[key], float)[place].sum()) for key in ("sent_packets", "received_packets"))
    return 100 * (1 - received / sent)


def anomaly(losses: Mapping[int, Mapping[int, float]]) -> tuple[int, int, Interval] | None:
    """A smaller and a larger buffer chosen by every other seed for the largest rise, and the rise under the others."""
    seeds = sorted(set.intersection(*(set(by) for by in losses.values())))
    choose, judge = (seeds[::2], seeds[1::2]) if len(seeds) > 1 else (seeds, seeds)
    means = {size: float(np.mean([by[seed] for seed in choose])) for size, by in losses.items()}
    pairs = [(low, high) for low in means for high in means if low < high and means[high] > means[low]]
    if not pairs:
        return None
    low, high = max(pairs, key=lambda pair: means[pair[1]] - means[pair[0]])
    rise = interval(losses[high][seed] - losses[low][seed] for seed in judge)
    assert rise is not None
    return low, high, rise


def worst(losses: Mapping[int, Mapping[int, float]]) -> str:
    """The largest rise of the mean loss, in words."""
    means = {size: float(np.mean(list(by.values()))) for size, by in losses.items()}
    rise, low, high = max((means[high] - means[low], low, high) for low in means for high in means if low < high)
    return f"{rise:.3f} percentage points from {low} to {high} packets" if rise > 0 else "none"


def draw(runs: Runs) -> Sequence[Picture]:
    """Loss of real-time traffic over the buffer."""
    figure, (ax,) = drawing.axes(1, (5.6, 3.8))
    for slot, (name, results) in enumerate(runs.items()):
        some = loss_by_seed(results)
        values = [interval(by.values()) or Interval(0.0, None, 0) for by in some.values()]
        words = WHY[name][0] if name in WHY else "as assumed"
        drawing.curve(ax, list(some), values, words, slot)
    ax.set_xlabel("buffer of the core link, packets")
    ax.set_ylabel("loss of real-time packets, %")
    drawing.logarithmic(ax, "y", (4, 5, 6, 8, 10, 12, 15, 20))
    drawing.legend(ax)
    caption = (
        "Loss of real-time packets that share the core's buffer with 1000 TCP flows: means over seeds with 95 % "
        "intervals. The abstract: in a range of very small buffers it rises with the buffer."
    )
    return [drawing.picture(figure, "anomaly", caption)]


CLAIM = Claim(
    id="vishwanath-anomaly",
    paper="vishwanath",
    where="Abstract",
    kind="shape",
    says="In a specific range of very small buffers, of a few tens of packets, losses of real-time traffic increase as "
    "the buffer becomes larger.",
    printed={},
    assumptions=(NETWORK, TRAFFIC),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
