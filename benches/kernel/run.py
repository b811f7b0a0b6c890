"""The papers' experiments on this machine's kernel, each beside the simulator: `make bench-kernel`, as root.

A row a setting: the core's utilisation in both worlds, and how far they are apart; then what the papers claim, world
by world. With arguments, only the files of these names. Takes half an hour; a machine with other work makes runs that
are not valid, and they are marked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from paceline.console import say
from paceline.emulate.choices import Choices
from paceline.emulate.study import ENGINE, carry_out
from paceline.errors import PacelineError
from paceline.progress import progress
from paceline.results import Result, Results
from paceline.scenario import Scenario

SCENARIOS = Path(__file__).parent.parent.parent / "scenarios" / "kernel"
WORLDS = ("simulation", "kernel")
#: Points of utilisation that the worlds may differ by.
NEAR = 0.05


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


def of(runs: Results, **settings: str) -> Result:
    """The one run under settings that end so: ``of(runs, pacing="host", buffer="5 KB")``."""
    for run in runs:
        last = {path.split(".")[-1]: label for path, label in run.settings.items()}
        if settings.items() <= last.items():
            return run
    raise KeyError(settings)


def one_flow(runs: Results) -> list[str]:
    rows = []
    for pacing in ("none", "host"):
        run = of(runs, pacing=pacing)
        rows.append(f"{pacing}: first loss at {first_loss_s(run):.2f} s, {delivered_by(run, 2.0):.2f} MB after 2 s")
    paced, unpaced = of(runs, pacing="host"), of(runs, pacing="none")
    later = first_loss_s(paced) > first_loss_s(unpaced)
    sooner = delivered_by(paced, 2.0) > delivered_by(unpaced, 2.0)
    return [*rows, f"paced, the first loss comes later: {later}; throughput is there sooner: {sooner}"]


def many_flows(runs: Results) -> list[str]:
    paced, unpaced = of(runs, pacing="host"), of(runs, pacing="none")
    lost = utilisation(unpaced) - utilisation(paced)
    jain = f"Jain {unpaced.flows.jain:.3f} unpaced, {paced.flows.jain:.3f} paced"
    return [f"pacing costs {lost * 100:.1f} points of utilisation; {jain}"]


def base_cases(runs: Results) -> list[str]:
    rows = []
    for who, calls in (("right.0", "one call at a time"), ("right", "two calls at a time")):
        said = []
        for pacing in ("none", "host", "host rule = ideal"):
            run = of(runs, pacing=pacing, **{"from": who})
            mean, p99 = (run.flows.fct_mean_s or 0) * 1e3, (run.flows.fct_p99_s or 0) * 1e3
            said.append(f"{pacing} {utilisation(run):.1%}, a call {mean:.0f} ms, 99 % in {p99:.0f} ms")
        rows.append(f"{calls}: {'; '.join(said)}")
    return rows


def below_and_above(runs: Results) -> list[str]:
    rows = []
    for count in ("2", "4", "12", "24"):
        ahead = utilisation(of(runs, pacing="host", count=count)) - utilisation(of(runs, pacing="none", count=count))
        rows.append(f"{4 * int(count)} flows, N* = 29: paced {ahead * 100:+.1f} points of utilisation")
    return rows


def edge_above_host(runs: Results) -> list[str]:
    rows = []
    for buffer in ("3 KB", "5 KB", "8 KB"):
        settings = ("none", "host", "edge 10 ms")
        none, host, edge = (utilisation(of(runs, pacing=pacing, buffer=buffer)) for pacing in settings)
        order = f"none {none:.1%}, host {host:.1%}, edge {edge:.1%}"
        rows.append(f"{buffer}: {order}; none < host < edge: {none < host < edge}")
    return rows


CLAIMS: Mapping[str, Callable[[Results], list[str]]] = {
    "cs244-one-flow": one_flow,
    "cs244-many-flows": many_flows,
    "datacentre-base": base_cases,
    "datacentre-flows": below_and_above,
    "edge-vs-host": edge_above_host,
}


def compare(name: str, runs: Results, claims: Callable[[Results], list[str]]) -> None:
    """Prints one scenario's rows, and what they say of the claims."""
    print(f"\n{name}")
    by_world = {world: runs.where({ENGINE: world}) for world in WORLDS}
    for simulated, real in zip(*by_world.values(), strict=True):
        swept = [(path.split(".")[-1], label) for path, label in simulated.settings.items() if path != ENGINE]
        settings = ", ".join(f"{key} {label}" for key, label in swept)
        here, there = utilisation(simulated), utilisation(real)
        apart = (there - here) * 100
        row = f"  {settings:40} simulation {here:6.1%}  kernel {there:6.1%}  {apart:+5.1f}"
        if abs(there - here) > NEAR:
            row += "  far apart"
        engine = real.to_dict()["engine"]
        if not engine["valid"]:
            row += f"  NOT VALID: {'; '.join(engine['doubts'])}"
        print(row, flush=True)
    for world, of_world in by_world.items():
        for line in claims(of_world):
            print(f"  {world}: {line}", flush=True)


def main() -> int:
    code = 0
    for name, claims in CLAIMS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        scenario = Scenario.load(SCENARIOS / f"{name}.toml")
        try:
            with progress(name) as watch:
                done = carry_out(scenario, scenario.check(), Choices(), and_simulate=True, watch=watch)
        except PacelineError as error:
            return say(str(error), 2)
        for point, why in done.failures:
            code = say(f"{name}: {dict(point.settings)}: {why}", 1)
        if not done.failures:
            compare(name, done.results, claims)
            code = max(code, int(any(run["engine"].get("valid") is False for run in done.runs if run)))
    return code


if __name__ == "__main__":
    sys.exit(main())
