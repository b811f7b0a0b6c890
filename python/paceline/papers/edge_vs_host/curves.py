"""What most figures of the paper are: a number against the core's buffer, a curve a pacing method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paceline.papers import criteria, drawing
from paceline.papers.claim import Evidence, Length
from paceline.papers.edge_vs_host.network import EDGE, HOST, NONE
from paceline.results import Results
from paceline.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PACING, BUFFER = "pacing", "network.core.buffer"
THROUGHPUT, LOSS = "links.core.throughput_bps", "links.core.loss_ratio"
GOODPUT = "flows.goodput_mean_bps"
KBPS, MBPS = 1e3, 1e6
LABELS = (NONE, HOST, EDGE)
#: Where edge pacing leads, by the paper, KB.
REGION = (5, 15)


def sweep(
    scenario: Scenario, length: Length, sizes: Sequence[int], methods: Sequence[Mapping[str, Any]], seeds: int = 5
) -> Scenario:
    """Every method over every buffer in KB; quick: 40 s in place of the paper's 400 s, and three seeds."""
    if length.quick:
        scenario = scenario.set("duration", "40 s").set("warmup", "15 s")
    return scenario.over({PACING: methods, BUFFER: [f"{size} KB" for size in sizes]}).seeds(length.seed_count(seeds, 3))


def at(results: Results, pacing: str, size: int) -> Results:
    """The runs of one method, by its label, and one buffer in KB. Raises `KeyError` where there are none."""
    found = results.where({PACING: pacing, BUFFER: f"{size} KB"})
    if not found:
        raise KeyError(f"no run has {pacing} at {size} KB")
    return found


def sizes(results: Results, least: float = 0, most: float = float("inf")) -> list[int]:
    """The buffers that were run, KB."""
    found = {int(run.settings[BUFFER].split()[0]) for run in results}
    return sorted(size for size in found if least <= size <= most)


def labels(results: Results) -> list[str]:
    """The methods that were run, in their order."""
    return list(dict.fromkeys(run.settings[PACING] for run in results))


def leads(results: Results, one: str, other: str, buffers: Sequence[int], *, what: str = "") -> list[Evidence]:
    """Points of an order: `one` above `other` at each buffer, in throughput and in goodput."""
    return [
        criteria.ahead(
            f"{what}{name}: {one} − {other} at {size} KB, {unit}",
            at(results, one, size),
            at(results, other, size),
            path,
            scale,
        )
        for name, path, scale, unit in (
            ("throughput", THROUGHPUT, MBPS, "Mbit/s"),
            ("goodput", GOODPUT, KBPS, "kbit/s"),
        )
        for size in buffers
    ]


def held(evidence: Sequence[Evidence]) -> str:
    """How many criteria hold, in words."""
    counted = [row for row in evidence if row.ok is not None]
    return f"{sum(bool(row.ok) for row in counted)} of {len(counted)}"


def lines(
    ax: Axes,
    results: Results,
    path: str,
    scale: float,
    *,
    only: Sequence[str] | None = None,
    names: Mapping[str, str] | None = None,
    slot: int = 0,
    **style: Any,
) -> None:
    """A curve a method; those of the paper's three keep their colours, others take the next from `slot` on."""
    for number, pacing in enumerate(only or labels(results)):
        found = [(size, results.where({PACING: pacing, BUFFER: f"{size} KB"})) for size in sizes(results)]
        points = [(size, criteria.mean(runs, path, scale)) for size, runs in found if runs]
        place = LABELS.index(pacing) if pacing in LABELS else slot + number
        name = (names or {}).get(pacing, pacing)
        drawing.curve(ax, [size for size, _ in points], [value for _, value in points], name, place, **style)
    ax.set_xlabel("buffer of the core link, KB")
