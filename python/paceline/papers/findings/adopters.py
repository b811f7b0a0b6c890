"""Does the first host that paces lose by it? The papers say so, for one TCP behind slow access links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host.curves import BUFFER
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, dumbbell, patched
from paceline.papers.findings import seen
from paceline.results import Results
from paceline.scenario import Scenario

SIZES = (5, 10)
SHARE = 0.3
PACED, UNPACED = "groups.paced.goodput_mean_bps", "groups.unpaced.goodput_mean_bps"
ACCESS = {"slow": "8 Mbit/s .. 12 Mbit/s", "fast": "100 Mbit/s"}
METHOD = {"method": "host", "rule": "ideal", "share": SHARE}


class Tcp(NamedTuple):
    """A TCP, and what early adopters of it are expected to get, by the access links: -1 less, 1 more."""

    words: str
    expected: Mapping[str, int]


TCPS = {
    "reno": Tcp("Reno", {"slow": -1, "fast": 1}),
    "sack1": Tcp("SACK", {"slow": -1, "fast": -1}),
    "cubic": Tcp("CUBIC", {"slow": -1, "fast": -1}),
}
SIGNS = {-1: "less", 1: "more"}

STATISTIC = Assumption(
    "The statistic.",
    "Mean goodput of the 300 of 1000 hosts that pace over that of the others, less one, at 5 and at 10 KB of buffer: "
    "of "
    "the expected sign with its interval over seeds, for each of six pairs of TCP and access.",
    "One number a setting, in one network with both kinds of flow; the two buffers are where pacing matters at all.",
)
HOSTS = Assumption(
    "The hosts.",
    "Reno and SACK as in ns-2 2.28 with the patch that paces, where all flows halve what is in flight; CUBIC as in "
    "Linux. Paced by a packet each smoothed round trip over the window.",
    "So that paced and unpaced flows differ in nothing but pacing.",
)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """A sweep each TCP and access; for Reno more shares beside."""
    found = {f"{tcp}-{access}": network(length, tcp, access) for tcp in TCPS for access in ACCESS}
    if not length.quick:
        for access in ACCESS:
            shares = [METHOD | {"share": share} for share in (0.05, 0.7)]
            found[f"why-share-{access}"] = network(length, "reno", access).over({"pacing": shares, BUFFER: ["5 KB"]})
    return found


def network(length: Length, tcp: str, access: str) -> Scenario:
    """300 of 1000 hosts pace."""
    if tcp == "cubic":
        flows = {"profile": "linux", "variant": "cubic", "payload": "1000 B", "max_window": "1000 packets"}
        scenario = dumbbell().set("traffic.bulk.tcp", flows)
    else:
        scenario = patched().set("traffic.bulk.tcp.variant", tcp)
    scenario = scenario.set("title", f"Early adopters of pacing: {TCPS[tcp].words}, {access} access")
    scenario = scenario.set("network.access.rate", ACCESS[access])
    duration, warmup = length.choose(("130 s", "40 s"), ("40 s", "15 s"))
    scenario = scenario.set("duration", duration).set("warmup", warmup)
    sizes = [f"{size} KB" for size in SIZES]
    return scenario.over({"pacing": [METHOD], BUFFER: sizes}).seeds(length.seed_count(5, 3))


def check(runs: Runs) -> Verdict:
    """The expected sign, for each TCP, access and buffer."""
    evidence: list[Evidence] = []
    ours: dict[str, float] = {}
    for tcp, (words, expected) in TCPS.items():
        for access, sign in expected.items():
            for size in SIZES:
                found = gap(runs[f"{tcp}-{access}"], size)
                ours[f"{words}, {access} access, {size} KB"] = round(found.mean, 4)
                what = f"goodput, {words}, {access} access, {size} KB: paced over unpaced − 1"
                evidence.append(criteria.order(what, found, sign=float(sign)))
    for access in ACCESS:
        for label in labels(runs, access):
            some = runs[f"why-share-{access}"].where({"pacing": label})
            what = f"goodput, Reno, {access} access, 5 KB: paced over unpaced − 1"
            evidence.append(criteria.inform(what, gap(some, 5), label))
    theirs = {
        f"{tcp.words}, {access} access": SIGNS[sign] for tcp in TCPS.values() for access, sign in tcp.expected.items()
    }
    return Verdict(criteria.judge(evidence), ours, theirs, note(runs, evidence, ours), evidence)


def labels(runs: Runs, access: str) -> list[str]:
    """Other shares that were run."""
    results = runs.get(f"why-share-{access}")
    return [] if results is None else list(dict.fromkeys(run.settings["pacing"] for run in results))


def gap(results: Results, size: int) -> Interval:
    """Mean goodput of paced over that of unpaced flows, less 1, seed by seed."""
    some = results.where({BUFFER: f"{size} KB"})
    paced, unpaced = criteria.by_seed(some, PACED), criteria.by_seed(some, UNPACED)
    found = interval(paced[seed] / unpaced[seed] - 1 for seed in sorted(paced.keys() & unpaced.keys()))
    if found is None:
        raise ValueError(f"{size} KB: no run has groups of paced and unpaced flows")
    return found


def note(runs: Runs, evidence: Sequence[Evidence], ours: Mapping[str, float]) -> str:
    """The answer in two sentences, and how far it holds."""

    def both(words: str, access: str) -> str:
        return " and ".join(f"{ours[f'{words}, {access} access, {size} KB']:+.1%}" for size in SIZES)

    told = "; ".join(
        f"{tcp.words} {both(tcp.words, 'slow')} behind slow access, {both(tcp.words, 'fast')} behind fast"
        for tcp in TCPS.values()
    )
    failed = [row.statistic.partition(":")[0].removeprefix("goodput, ") for row in evidence if row.ok is False]
    shares = "; ".join(
        f"{access} access, {float(label.rpartition(' ')[2]):.0%} paced: "
        f"{gap(runs[f'why-share-{access}'].where({'pacing': label}), 5).mean:+.1%}"
        for access in ACCESS
        for label in labels(runs, access)
    )
    return (
        "Whether early adopters lose hangs on their TCP and their access links: what paced hosts get over the others, "
        f"less 1, at 5 and 10 KB: {told}. "
        + (f"Not as expected: {'; '.join(failed)}. " if failed else "All is as expected. ")
        + "How far: 300 of 1000 hosts, over 100 Mbit/s and round trips of 250 ms"
        + ("; Reno at 5 KB with " if shares else "")
        + f"{shares}."
    )


def draw(runs: Runs) -> Sequence[Picture]:
    """What paced hosts get more than the others, by TCP, a panel an access."""
    figure, panels = drawing.axes(2)
    for ax, access in zip(panels, ACCESS, strict=True):
        for slot, size in enumerate(SIZES, 1):
            found = [gap(runs[f"{tcp}-{access}"], size) for tcp in TCPS]
            scaled = [Interval(100 * one.mean, 100 * (one.half or 0.0), one.count) for one in found]
            places = [row + 0.1 * (2 * slot - 3) for row in range(len(TCPS))]
            drawing.curve(ax, places, scaled, f"{size} KB", slot, linestyle="none")
        ax.axhline(0, color=drawing.INK, linewidth=0.8)
        ax.set_xticks(range(len(TCPS)), [tcp.words for tcp in TCPS.values()])
        ax.set_title(f"{access} access", fontsize="medium", loc="left", color=drawing.INK)
        ax.set_ylabel("goodput, paced over unpaced − 1, %")
    drawing.legend(panels[0], loc="upper right")
    caption = (
        "What 300 of 1000 hosts that pace get more than the others, behind access links of 8 to 12 Mbit/s and of 100: "
        "means over seeds with 95 % intervals."
    )
    return [drawing.picture(figure, "adopters", caption)]


CLAIM = Claim(
    id="finding-early-adopters",
    paper="findings",
    where="early adopters",
    kind="order",
    question="Does the host that paces first lose by it?",
    says="Reno's early adopters get less than others behind slow access links and more behind fast ones; those of SACK "
    "and of CUBIC get less behind both.",
    printed={},
    assumptions=(
        seen(
            "Single runs of 200 s at 5 KB: Reno −6.6 % behind slow and +5.9 % behind fast access; SACK and CUBIC less."
        ),
        STATISTIC,
        HOSTS,
        *ASSUMPTIONS[:2],
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
