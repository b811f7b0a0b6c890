"""The papers' experiments on this machine's kernel, each beside the simulator: `make bench-kernel`, as root.

A row a setting: the core's utilisation in both worlds, and how far they are apart; then what the papers claim, world
by world. With names, only the files of these names. With `--seeds 3`, medians over so many seeds, and their range; the
simulator may have more (`--simulated 8`). With `--out DIR` runs are kept, and the same command goes on where it was
stopped. A seed takes half an hour; a machine with other work makes runs that are not valid, and they are marked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from paceline.emulate.choices import Choices
from paceline.emulate.kernel_sweep import ENGINE, carry_out
from paceline.errors import PacelineError
from paceline.papers.qlbp import fig9
from paceline.results import Result, Results
from paceline.runs.execute import execute
from paceline.scenario import Point, Scenario
from paceline.store import Store
from paceline.terminal.output import say
from paceline.terminal.progress import progress

SCENARIOS = Path(__file__).parent.parent.parent / "scenarios" / "kernel"
WORLDS = ("simulation", "kernel")
#: Points of utilisation that the worlds may differ by.
NEAR = 0.05
Measure = Callable[[Result], float]


def utilisation(run: Result) -> float:
    """Of the core."""
    assert run.core is not None
    return run.links[run.core].utilisation or 0.0


def first_loss_s(run: Result) -> float:
    """When ssthresh was first set."""
    table = run.instrument("ssthresh")
    times = [x for x, y in zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True) if y < 5000]
    return float(min(times, default=float("nan")))


def delivered_by(run: Result, time_s: float) -> float:
    """Payload that had arrived by then, MB."""
    table = run.instrument("delivered")
    at = int(np.searchsorted(table["x"].to_numpy(), time_s, "right")) - 1
    return float(table["y"][at].as_py()) / 1e6


def call_mean_s(run: Result) -> float:
    """How long a call takes."""
    return run.flows.fct_mean_s or float("nan")


def call_p99_s(run: Result) -> float:
    """How long it takes at most, but for one in a hundred."""
    return run.flows.fct_p99_s or float("nan")


def retransmitted(run: Result, *, by_largest: bool) -> float:
    """Share of the packets that were sent again, of the flow that sent most, or of all others."""
    assert run.per_flow is not None
    sent, again = (np.asarray(run.per_flow[key]) for key in ("sent_packets", "retransmits"))
    largest = np.arange(sent.size) == sent.argmax()
    those = largest if by_largest else ~largest
    return float(again[those].sum() / sent[those].sum())


def of(runs: Results, **settings: str) -> list[Result]:
    """The runs, a seed each, under settings that end so: ``of(runs, pacing="host", buffer="5 KB")``."""
    found = [
        run
        for run in runs
        if settings.items() <= {path.split(".")[-1]: label for path, label in run.settings.items()}.items()
    ]
    if not found:
        raise KeyError(settings)
    return found


def middle(runs: Sequence[Result], measure: Measure = utilisation) -> float:
    """The median over seeds."""
    return float(np.median([measure(run) for run in runs]))


def spread(values: Sequence[float], form: str) -> str:
    """The median, and the range in brackets if there are several."""
    if len(values) == 1:
        return format(values[0], form)
    return f"{np.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def one_flow(runs: Results) -> list[str]:
    rows = []
    for pacing in ("none", "host"):
        those = of(runs, pacing=pacing)
        losses, sooner = [first_loss_s(run) for run in those], [delivered_by(run, 2.0) for run in those]
        rows.append(f"{pacing}: first loss at {spread(losses, '.2f')} s, {spread(sooner, '.2f')} MB after 2 s")
    paced, unpaced = of(runs, pacing="host"), of(runs, pacing="none")
    later = middle(paced, first_loss_s) > middle(unpaced, first_loss_s)
    pairs = [delivered_by(one, 2.0) > delivered_by(other, 2.0) for one, other in zip(paced, unpaced, strict=True)]
    return [
        *rows,
        f"paced, the first loss comes later: {later}; throughput is there sooner: {sum(pairs)} of {len(pairs)} seeds",
    ]


def many_flows(runs: Results) -> list[str]:
    paced, unpaced = of(runs, pacing="host"), of(runs, pacing="none")
    lost = middle(unpaced) - middle(paced)
    jain = [middle(those, lambda run: run.flows.jain or 0.0) for those in (unpaced, paced)]
    return [f"pacing costs {lost * 100:.1f} points of utilisation; Jain {jain[0]:.3f} unpaced, {jain[1]:.3f} paced"]


def base_cases(runs: Results) -> list[str]:
    rows = []
    for who, calls in (("right.0", "one call at a time"), ("right", "two calls at a time")):
        said = []
        for pacing in ("none", "host", "host rule = ideal"):
            those = of(runs, pacing=pacing, **{"from": who})
            mean, p99 = middle(those, call_mean_s) * 1e3, middle(those, call_p99_s) * 1e3
            said.append(f"{pacing} {middle(those):.1%}, a call {mean:.0f} ms, 99 % in {p99:.0f} ms")
        rows.append(f"{calls}: {'; '.join(said)}")
    return rows


def below_and_above(runs: Results) -> list[str]:
    rows = []
    for count in ("2", "4", "12", "24"):
        ahead = middle(of(runs, pacing="host", count=count)) - middle(of(runs, pacing="none", count=count))
        rows.append(f"{4 * int(count)} flows, N* = 29: paced {ahead * 100:+.1f} points of utilisation")
    return [*rows, *who_loses(Results(of(runs, pacing="none")))]


def who_loses(runs: Results) -> list[str]:
    rows = []
    for count in ("12", "24"):
        those = of(runs, count=count)
        largest, others = (
            spread([100 * retransmitted(run, by_largest=by_largest) for run in those], ".2f")
            for by_largest in (True, False)
        )
        rows.append(f"{4 * int(count)} flows, unpaced: the largest sends again {largest} %, the others {others} %")
    return rows


def edge_above_host(runs: Results) -> list[str]:
    rows = []
    for buffer in ("3 KB", "5 KB", "8 KB"):
        settings = ("none", "host", "edge 10 ms")
        none, host, edge = (middle(of(runs, pacing=pacing, buffer=buffer)) for pacing in settings)
        order = f"none {none:.1%}, host {host:.1%}, edge {edge:.1%}"
        rows.append(f"{buffer}: {order}; none < host < edge: {none < host < edge}")
    return rows


def spread_over_the_round_trip(runs: Results) -> list[str]:
    rows = []
    for method in ("none", "qlbp"):
        those = of(runs, method=method)
        silent = spread([1e3 * fig9.silence_s(run) for run in those], ".1f")
        varies = spread([variation_at_10_ms(run) for run in those], ".2f")
        rows.append(f"{method}: silent for {silent} of 100 ms; coefficient of variation at 10 ms {varies}")
    silences = [middle(of(runs, method=method), fig9.silence_s) for method in ("none", "qlbp")]
    return [*rows, f"paced, packets leave all along the round trip: {silences[1] < silences[0] / 3}"]


def variation_at_10_ms(run: Result) -> float:
    """Coefficient of variation of the packets that leave the router's entry in 10 ms."""
    times = fig9.departures(run)
    counts, _ = np.histogram(times, np.arange(times[0], times[-1], fig9.SCALE_S))
    return float(counts.std() / counts.mean())


CLAIMS: Mapping[str, Callable[[Results], list[str]]] = {
    "cs244-one-flow": one_flow,
    "cs244-many-flows": many_flows,
    "datacentre-base": base_cases,
    "datacentre-flows": below_and_above,
    "phase-effects": who_loses,
    "edge-vs-host": edge_above_host,
    "qlbp-one-flow": spread_over_the_round_trip,
}


def compare(name: str, runs: Results, claims: Callable[[Results], list[str]]) -> None:
    """Prints one scenario's rows, and what they say of the claims."""
    print(f"\n{name}")
    by_world = {world: runs.where({ENGINE: world}) for world in WORLDS}
    settings = [{path: label for path, label in run.settings.items() if path != ENGINE} for run in runs]
    for setting in [one for number, one in enumerate(settings) if one not in settings[:number]]:
        here, there = ([run for run in by_world[world] if setting.items() <= run.settings.items()] for world in WORLDS)
        apart = (middle(there) - middle(here)) * 100
        labels = ", ".join(f"{path.split('.')[-1]} {label}" for path, label in setting.items())
        worlds = (spread([utilisation(run) for run in those], ".1%") for those in (here, there))
        row = f"  {labels:40} " + "  ".join(f"{world} {said}" for world, said in zip(WORLDS, worlds, strict=True))
        row += f"  {apart:+5.1f}"
        if abs(apart) > NEAR * 100:
            row += "  far apart"
        for engine in (run.to_dict()["engine"] for run in there):
            if not engine["valid"]:
                row += f"  NOT VALID: {'; '.join(engine['doubts'])}"
        print(row, flush=True)
    for world, of_world in by_world.items():
        for line in claims(of_world):
            print(f"  {world}: {line}", flush=True)


def points(scenario: Scenario, world: str, seeds: int) -> list[Point]:
    """The runs that a scenario asks for, under so many seeds, with the world among their settings."""
    return [replace(one, settings={ENGINE: world} | dict(one.settings)) for one in scenario.seeds(seeds).check()]


def main() -> int:
    parser = argparse.ArgumentParser(description="The papers' experiments on this machine's kernel.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CLAIMS))
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="so many runs of each setting")
    parser.add_argument("--simulated", type=int, metavar="N", help="so many of the simulator's; as many unless given")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep runs there, and run none twice")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in CLAIMS]:
        parser.error(f"there is no {unknown[0]}; write {', '.join(CLAIMS)}")
    simulated = asked.simulated or asked.seeds
    code, unsound = 0, False
    for name, claims in CLAIMS.items():
        if asked.names and name not in asked.names:
            continue
        try:
            scenario = Scenario.load(SCENARIOS / f"{name}.toml")
            store = Store(asked.out / name) if asked.out else None
            here = execute(points(scenario, "simulation", simulated), store=store, keep_columns=True)
            with progress(name) as watch:
                there = carry_out(
                    scenario, points(scenario, "kernel", asked.seeds), Choices(), store=store, watch=watch
                )
        except PacelineError as error:
            return say(str(error), 2)
        for point, why in [*here.failures, *there.failures]:
            code = say(f"{name}: {dict(point.settings)}: {why}", 1)
        if not code:
            compare(name, Results([*here.results, *there.results]), claims)
            unsound = unsound or any(run["engine"].get("valid") is False for run in there.runs if run)
    return max(code, int(unsound))


if __name__ == "__main__":
    sys.exit(main())
