"""Section IV: load against the buffer, 1 - exp(-B/B*).

Criteria were fixed from the text before the runs that judge them: B* is "a constant" of 2 to 10 KB that depends on link
rates, flows and round trips, and not on the buffer, so that one network has one B*: that of each load alone must be the
fitted one, within the 5 % of every printed number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Length, Picture, Runs, Verdict
from paceline.papers.edge_vs_host.network import ASSUMPTIONS, dumbbell
from paceline.results import Results
from paceline.scenario import Scenario
from paceline.theory import empty_buffer

UTILISATION = "links.core.utilisation"
_BUFFER = "network.core.buffer"
#: KB; those up to 30 are also Fig. 3's.
_FULL = (2, 3, 5, 8, 10, 15, 20, 30, 50)
_QUICK = (2, 3, 5, 9, 15, 50)
#: B* that the paper found, KB.
RANGE = (2, 10)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """1000 unpaced flows over the core's buffers; and over fast access links, another network with another B*."""
    scenario = dumbbell()
    if length.quick:
        scenario = scenario.set("duration", "40 s").set("warmup", "15 s")
    pacing = [{"method": "none"}]
    buffers = [f"{size} KB" for size in length.choose(_FULL, _QUICK)]
    main = scenario.over({"pacing": pacing, _BUFFER: buffers}).seeds(length.seed_count(5, 3))
    fast = scenario.set("network.access.rate", "100 Mbit/s").over(
        {"pacing": pacing, _BUFFER: ["5 KB", "10 KB", "20 KB"]}
    )
    return {"main": main, "why-network": fast.seeds(length.seed_count())}


def check(runs: Runs) -> Verdict:
    """B* within 2 to 10 KB, 90 % at 5 KB within 5 %, over 99.9 % at 50 KB; each load gives the same B*."""
    main = runs["main"]
    fitted = fit(main)
    low, high = (fitted.scale_bytes - fitted.half_bytes) / 1e3, (fitted.scale_bytes + fitted.half_bytes) / 1e3
    evidence = [
        criteria.above("B* by least squares, its interval's lower end, KB", low, RANGE[0], "KB"),
        criteria.below("B* by least squares, its interval's upper end, KB", high, RANGE[1], "KB"),
        criteria.within("load at 5 KB", criteria.mean(_at(main, 5), UTILISATION), 0.9),
        criteria.above("load at 50 KB", criteria.mean(_at(main, 50), UTILISATION), 0.999),
    ]
    lone = scales(main)
    evidence += [
        criteria.above("least B* of a load alone, KB", min(lone.values()), RANGE[0], "KB"),
        criteria.below("largest B* of a load alone, KB", max(lone.values()), RANGE[1], "KB"),
    ]
    constant = round(fitted.scale_bytes / 1e3, 3)
    evidence += [
        criteria.within(f"B* of the load at {size} KB alone, KB: that of all", value, constant, "KB")
        for size, value in lone.items()
    ]
    far = [
        abs(
            float(empty_buffer.load(size * 1e3, fitted.scale_bytes)) / criteria.mean(_at(main, size), UTILISATION).mean
            - 1
        )
        for size in sizes(main)
    ]
    worst = int(np.argmax(far))
    evidence.append(
        criteria.inform(f"largest distance from the curve, at {sizes(main)[worst]} KB", far[worst], "of the load")
    )
    evidence.append(criteria.inform("root mean square distance from the curve", fitted.residual, "of a load of 1"))
    other = fit(runs["why-network"]).scale_bytes / 1e3
    evidence.append(criteria.inform("B* with access links of 100 Mbit/s, KB", other, "B* is of the network"))
    ours = {
        "B*, KB": round(fitted.scale_bytes / 1e3, 3),
        "half of B*'s interval, KB": round(fitted.half_bytes / 1e3, 3),
        "load_at_5_kb": round(criteria.mean(_at(main, 5), UTILISATION).mean, 4),
        "load_at_50_kb": round(criteria.mean(_at(main, 50), UTILISATION).mean, 5),
    }
    theirs = {"B*, KB": f"{RANGE[0]} to {RANGE[1]}", "load_at_5_kb": 0.9, "load_at_50_kb": "above 0.999"}
    note = (
        f"Least squares over {len(sizes(main))} buffers give B* = {fitted.scale_bytes / 1e3:.2f} ± "
        f"{fitted.half_bytes / 1e3:.2f} KB. Loads lie up to {far[worst]:.1%} off that law (at {sizes(main)[worst]} "
        "KB). "
        f"The B* of each load alone lies between {min(lone.values()):.2f} and {max(lone.values()):.2f} KB within this "
        f"one network ({_drift(lone)}); a constant would be the same at each. With access links of 100 Mbit/s B* is "
        f"{other:.2f} KB."
    )
    return Verdict(criteria.judge(evidence), ours, theirs, note, evidence)


def _drift(lone: Mapping[int, float]) -> str:
    return ", ".join(f"{value:.2f} at {size}" for size, value in lone.items())


def draw(runs: Runs) -> Sequence[Picture]:
    """Load, and the share of time without load on a logarithmic scale, where the law is a straight line."""
    main = runs["main"]
    fitted = fit(main)
    figure, (left, right) = drawing.axes(2)
    fine = np.linspace(0.01, 50, 400)
    law = empty_buffer.load(fine * 1e3, fitted.scale_bytes)
    words = f"1 − exp(−B / {fitted.scale_bytes / 1e3:.2f} KB)"
    loads = [criteria.mean(_at(main, size), UTILISATION) for size in sizes(main)]
    drawing.law(left, list(fine), list(law), words, 3)
    drawing.curve(left, sizes(main), loads, "simulated, unpaced", 0, linestyle="none")
    drawing.printed(left, 5, 0.9, "paper: about 90 %", offset=(6, -14))
    drawing.printed(left, 50, 0.999, "over 99.9 %", offset=(-66, -14))
    for scale, dots in zip(RANGE, (":", "-."), strict=True):
        ends = list(1 - empty_buffer.load(fine, scale))
        drawing.law(
            right, list(fine), ends, f"B* = {scale} KB, the paper's range", 3, linestyle=dots, color=drawing.PRINTED
        )
    drawing.law(right, list(fine), list(1 - law), words, 3)
    drawing.curve(right, sizes(main), [1 - one.mean for one in loads], "simulated, unpaced", 0, linestyle="none")
    right.set_yscale("log")
    right.set_ylim(1e-4, 1)
    left.set_ylim(0, 1.02)
    left.set_ylabel("load of the core, of 1")
    right.set_ylabel("1 − load")
    for ax in (left, right):
        ax.set_xlabel("buffer of the core link, KB")
        drawing.legend(ax)
    caption = (
        "Load of the core under 1000 unpaced flows against its buffer, with the paper's law fitted; and how much of it "
        "is missing, on a logarithmic scale: a law with one B* would be a straight line."
    )
    return [drawing.picture(figure, "empty-buffer", caption)]


def fit(results: Results) -> empty_buffer.Fit:
    """B* over all buffers that were run, a row of loads a seed."""
    by_size = [criteria.by_seed(_at(results, size), UTILISATION) for size in sizes(results)]
    seeds = sorted(set.intersection(*(set(one) for one in by_size)))
    rows = [[one[seed] for one in by_size] for seed in seeds]
    return empty_buffer.fit([size * 1e3 for size in sizes(results)], np.asarray(rows))


def scales(results: Results) -> dict[int, float]:
    """The B* that gives the load at each buffer alone, KB; none where the core never rested."""
    loads = {size: criteria.mean(_at(results, size), UTILISATION).mean for size in sizes(results)}
    return {size: size / float(empty_buffer.buffer_for(load, 1.0)) for size, load in loads.items() if 0 < load < 1}


def sizes(results: Results) -> list[int]:
    """Buffers that were run, KB."""
    return sorted({int(run.settings[_BUFFER].split()[0]) for run in results})


def _at(results: Results, size: int) -> Results:
    return results.where({_BUFFER: f"{size} KB"})


CLAIM = Claim(
    id="edge-empty-buffer",
    paper="edge-vs-host",
    where="IV",
    kind="number",
    says="Load rises with the buffer as 1 − exp(−B/B*), with a constant B* of 2 to 10 KB: about 90 % at 5 KB, over "
    "99.9 % at 50.",
    printed={"B*, KB": RANGE, "load_at_5_kb": 0.9, "load_at_50_kb_above": 0.999},
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            "What load is: the paper speaks of the probability that the buffer is empty.",
            "The core link's utilisation: the share of time in which it sends.",
            "A link without input has an empty buffer, and 1 − load of its time is idle.",
        ),
        Assumption(
            "Which network B* is of.",
            "That of section III-A, unpaced.",
            "The paper's 5 KB and 50 KB are the buffers of Fig. 10, which uses this network.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
