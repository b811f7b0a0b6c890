"""Critical mass, and any number of edges, of the edge paper: verdicts follow the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import synthetic
from paceline.papers import Length, select
from paceline.papers.edge_vs_host import any_edges, critical_mass
from paceline.papers.edge_vs_host.curves import GOODPUT
from paceline.theory import edge_delay

MASS, EDGES = (select([f"edge-{name}"])[0] for name in ("critical-mass", "any-edges"))


# --- critical mass


def grouped(paced: Callable[[float], float], unpaced: Callable[[float], float]) -> synthetic.Numbers:
    """Goodput of both groups over 80 kbit/s by the share that paces; of all where there is but one group."""

    def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        label = settings["pacing"]
        part = 0.0 if label == "none" else float(label.rpartition("share ")[2]) if "share" in label else 1.0
        base, noise = 80e3 + seed, 10.0 * (seed % 2)
        return {
            GOODPUT: base if part == 0 else base * (1 + paced(1.0)) + noise,
            "groups.paced.goodput_mean_bps": base * (1 + paced(part)) + noise,
            "groups.unpaced.goodput_mean_bps": base * (1 + unpaced(part)) + noise,
        }

    return one


def mass(hosts: Callable[[float], float], unpaced: Callable[[float], float], edges: float = 0.1) -> Any:
    edge = grouped(lambda part: edges, lambda part: 0.0)
    names = MASS.sweeps(Length())
    return MASS.check(
        synthetic.runs(MASS, {name: edge if name == "edge" else grouped(hosts, unpaced) for name in names})
    )


def test_above_the_critical_share_all_gain_and_below_it_early_adopters_lose() -> None:
    verdict = mass(lambda part: 0.1 * (part - 0.45), lambda part: 0.1 * part + 0.05)
    assert verdict.verdict == "reproduced"
    assert verdict.ours["hosts, 5 KB, critical share"] == 0.5
    assert "all gain from 50% on" in verdict.note


def test_a_loss_at_every_share_is_no_critical_mass_nor_is_a_gain_from_the_first_host_on() -> None:
    never = mass(lambda part: -0.02, lambda part: 0.01)
    assert never.verdict == "partly"
    assert never.ours["hosts, 5 KB, critical share"] is None
    assert [row.ok for row in never.evidence if row.statistic.startswith("share of hosts")] == [False, False]
    always = mass(lambda part: 0.05, lambda part: 0.01)
    assert always.ours["hosts, 5 KB, critical share"] == critical_mass.SHARES[0]
    assert [row.ok for row in always.evidence if row.statistic.startswith("share of hosts")] == [False, False]
    costly = mass(lambda part: 0.1 * (part - 0.45), lambda part: 0.1 * part + 0.05, edges=-0.01)
    failed = [row.statistic for row in costly.evidence if row.ok is False]
    assert len(failed) == 2 * (len(critical_mass.SHARES) + 1)
    assert all("of edges" in statistic for statistic in failed)


def test_a_gain_that_all_hosts_together_lose_again_is_none() -> None:
    assert (
        mass(lambda part: -0.01 if part == 1 else 0.05, lambda part: 0.05).ours["hosts, 5 KB, critical share"] is None
    )


# --- any number of edges


def lossy(factor: Callable[[int], float]) -> Mapping[str, synthetic.Numbers]:
    """So many times eq. (3)'s bound by the number of edges."""

    def numbers(name: str) -> synthetic.Numbers:
        head, _, load = name.partition("-")
        count = int(name.rpartition("-")[2] if head == "why" else head)
        rate = any_edges.LOADS[0] if head == "why" else float(load)

        def one(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
            bound = float(edge_delay.loss_bound(rate, int(settings[any_edges.HELD].split()[0])))
            lost = factor(count) * bound * (1 + 1e-4 * seed)
            return {"links.core.loss_ratio": lost, "flows.network_delay_mean_s": 0.01}

        return one

    return {name: numbers(name) for name in EDGES.sweeps(Length())}


def test_the_bound_must_hold_at_each_number_of_edges() -> None:
    kept = EDGES.check(synthetic.runs(EDGES, lossy(lambda count: 0.5)))
    assert kept.verdict == "reproduced"
    assert kept.note.startswith("At 0 of 70 points more is lost than eq. (3) allows. ")
    broken = EDGES.check(synthetic.runs(EDGES, lossy(lambda count: 1.2 if count >= 300 else 0.5)))
    assert broken.verdict == "partly"
    failed = [row for row in broken.evidence if row.ok is False]
    assert len(failed) == 2 * len(any_edges.LOADS) * len(any_edges.DELAYS)
    assert "the first: 300 edges" in broken.note


def test_loss_must_fall_at_each_step_of_the_delay() -> None:
    flat = {
        name: (lambda settings, seed: {"links.core.loss_ratio": 1e-4 * (1 + 1e-3 * (seed % 2)), **_DELAY})
        for name in EDGES.sweeps(Length())
    }
    failed = [row.statistic for row in EDGES.check(synthetic.runs(EDGES, flat)).evidence if row.ok is False]
    assert len(failed) == len(any_edges.EDGES) * len(any_edges.LOADS) * (len(any_edges.DELAYS) - 1)
    assert all(statistic.startswith("fall of loss") for statistic in failed)


_DELAY = {"flows.network_delay_mean_s": 0.01}


def test_pictures_are_drawn() -> None:
    runs = synthetic.runs(EDGES, lossy(lambda count: 0.5))
    assert EDGES.draw(runs)[0].svg.startswith("<svg")
    numbers = grouped(lambda part: 0.05, lambda part: 0.01)
    made = synthetic.runs(MASS, dict.fromkeys(MASS.sweeps(Length()), numbers))
    assert MASS.draw(made)[0].svg.startswith("<svg")
